-- Variances, covariances and regressions of floating-point numbers, up to the order of their additions: values close to
-- each other, far from zero, all the same, not finite, of one row and of none; NULLs on either side; errors.
CREATE SCHEMA aggregates_float;
SET search_path = aggregates_float, public;
CREATE TABLE t (id int NOT NULL, g int, x float8, y float8, z float8 NOT NULL, f float4, i int, n numeric(9,2));
INSERT INTO t SELECT i, nullif(i % 11, 4), CASE WHEN i % 13 <> 0 THEN sqrt(i) * 10 END, CASE WHEN i % 17 <> 3 THEN sin(i) * 100 + i / 7.0 END, 10 + i % 97 / 3.0,
           nullif(i % 50, 7) / 3.0::float4, nullif(i % 30, 2), nullif(i % 90, 8) / 4.0 FROM generate_series(1, 3000) i;
CREATE TABLE one AS SELECT * FROM t WHERE id = 7;
CREATE TABLE hollow (LIKE t);
CREATE TABLE same (id int, g int, x float8, y float8);
-- the same number again and again: of which PostgreSQL's own roundings make a variance of zero or of little more
INSERT INTO same SELECT i, 1 + i % 7, (ARRAY[0.1, 1, 1e6, 0.3, -2.5, 1e-5, 12345.678])[1 + i % 7], CASE WHEN i % 2 = 0 THEN 0.7 ELSE i % 5 / 3.0 END FROM generate_series(1, 300) i;
CREATE TABLE odd (id int, g int, x float8, y float8);
INSERT INTO odd VALUES (1, 1, 'NaN', 1), (2, 1, 2, 2), (3, 2, 'Infinity', 1), (4, 2, 3, 7), (5, 3, '-Infinity', 4), (6, 3, 'Infinity', 5), (7, 4, 1, 'NaN'), (8, 4, 2, 3), (9, 5, 'Infinity', NULL), (10, 5, 1, 2), (11, 5, 2, 5),
    (12, 6, 'Infinity', 1), (13, 7, NULL, 'NaN'), (14, 8, 0, '-0'), (15, 8, '-0', 0), (16, 9, 'NaN', 'Infinity'), (17, 10, 1, 'Infinity'), (18, 10, 1, 3), (19, 11, NULL, NULL);
CREATE TABLE huge (id int, x float8, y float8);
INSERT INTO huge VALUES (1, 1e200, 1), (2, 2e200, 2), (3, 1e-200, 1e-200), (4, 3e-200, 2e-200), (5, 1e153, 1), (6, 3e153, 2), (7, 1e155, 3), (8, -1e155, 4), (9, 1.7e308, 1), (10, 4.9e-324, 1), (11, 0, 1);
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) one;
VACUUM (FREEZE, ANALYZE) same;
VACUUM (FREEZE, ANALYZE) odd;
VACUUM (FREEZE, ANALYZE) huge;

-- of one variable
SELECT check_matrix('SELECT approx(%1$s), count(*) FROM %2$s', ARRAY(SELECT f || '(' || a || ')' FROM unnest('{stddev,stddev_pop,stddev_samp,variance,var_pop,var_samp}'::text[]) f, unnest('{x,z,f,x / 3 + y,i::float8,"coalesce(x, 0)"}'::text[]) a), '{t,one,hollow,t GROUP BY g,t GROUP BY id}');
SELECT check_matrix('SELECT g, approx(%1$s), count(*), sum(id) FROM t GROUP BY g', '{stddev(x) FILTER (WHERE i > 4),var_pop(y) FILTER (WHERE false),variance(f) FILTER (WHERE g IS NULL)}');
SELECT check_query('SELECT g, approx(stddev(x) + var_pop(x)), approx(variance(x)), min(x), approx(avg(x)), count(x), approx(stddev(f)) FROM t GROUP BY g');
-- of two
SELECT check_matrix('SELECT approx(%1$s), count(*) FROM %2$s', ARRAY(SELECT f || '(' || a || ')' FROM unnest('{corr,covar_pop,covar_samp,regr_avgx,regr_avgy,regr_count,regr_intercept,regr_r2,regr_slope,regr_sxx,regr_sxy,regr_syy}'::text[]) f, unnest('{"y, x","x, y","z, x","x, z","f, x","y, i"}'::text[]) a), '{t,one,hollow,t GROUP BY g}');
SELECT check_query('SELECT g, regr_count(y, x), regr_count(x, y), regr_count(y, 5), regr_count(NULL, x), regr_count(z, id), count(x) FROM t GROUP BY g');
SELECT check_query('SELECT g, approx(corr(y, x)), approx(regr_slope(y, x)), approx(regr_intercept(y, x)), approx(covar_pop(y, x) FILTER (WHERE i > 3)), approx(regr_r2(x, y)), regr_count(y, x), approx(stddev(x)), approx(avg(y)) FROM t GROUP BY g');
SELECT check_query('SELECT g, i, approx(corr(y, x)), approx(stddev(z)) FROM t GROUP BY ROLLUP (g, i)', 'any');
SELECT check_query('SELECT a.g, approx(regr_slope(a.y, b.x)), approx(stddev(b.y)) FROM t a JOIN t b ON a.id = b.id GROUP BY a.g HAVING corr(a.y, b.x) > -2');
SELECT check_query('SELECT id % 1000, approx(stddev(y)), regr_count(y, x) FROM t GROUP BY id % 1000');
-- numbers that are all the same, bit for bit
SELECT check_matrix('SELECT g, %s, count(*) FROM same GROUP BY g', '{stddev(x),var_pop(x),var_samp(x),"regr_sxx(x, x)","regr_sxx(y, x)","regr_syy(x, y)","corr(x, x)","regr_r2(x, x)"}');
SELECT check_matrix('SELECT g, %s, count(*) FROM same WHERE g IN (2, 3, 5) GROUP BY g', '{"corr(y, x)","corr(x, y)","regr_slope(y, x)","regr_sxy(y, x)","covar_pop(x, y)","regr_r2(x, y)"}');
SELECT check_query('SELECT approx(corr(y, x)), g FROM same GROUP BY g', 'forced');
SELECT check_query('SELECT stddev(x), var_pop(x) FROM (SELECT 1e9 + id / 1e7 AS x FROM t WHERE id < 5) s', 'any');
SELECT check_query('SELECT count(*) FROM (SELECT stddev(z + 1e15) FROM t) s', 'any');
-- what is not finite
SELECT check_matrix('SELECT g, %s FROM odd GROUP BY g', ARRAY(SELECT f || '(y, x)' FROM unnest('{corr,covar_pop,covar_samp,regr_avgx,regr_avgy,regr_count,regr_intercept,regr_r2,regr_slope,regr_sxx,regr_sxy,regr_syy}'::text[]) f) || '{stddev(x),var_pop(x),variance(y),stddev_pop(y)}', expect => 'forced');
SELECT check_matrix('SELECT %s FROM odd WHERE g = %s', '{"stddev(x), var_pop(y)","corr(y, x), regr_slope(y, x), covar_samp(x, y)","regr_sxx(y, x), regr_syy(y, x), regr_sxy(y, x)"}', '{1,2,3,4,5,6,7,8,9,10,11}', 'forced');
-- what is too large or too small for a square, and errors of an argument
SELECT check_matrix('SELECT %s FROM huge WHERE %s', '{var_pop(x),stddev(x),"corr(y, x)","regr_sxx(y, x)","regr_avgx(y, x)","regr_count(y, x)"}', '{id < 3,"id IN (3, 4)","id IN (5, 6)","id IN (7, 8)",id = 9,id = 10,id > 8,true,id = 11}', 'forced');
SELECT check_matrix('SELECT %s FROM t', '{stddev(1 / (i - 4.0::float8)),"regr_count(x, 1 / (i - 4.0::float8))","regr_avgx(1 / (i - 4.0::float8), x)","corr(1 / (i - 4.0::float8), NULL)"}', expect => 'forced');
-- refused: other orders of addition, DISTINCT
BEGIN;
SET LOCAL gpuscan.exact_float = on;
SELECT check_matrix('SELECT %s FROM t', '{stddev(x),"corr(y, x)","regr_avgx(y, x)"}', expect => 'cpu');
SELECT check_query('SELECT regr_count(y, x) FROM t');
COMMIT;
SELECT check_matrix('SELECT approx(%s) FROM t', '{stddev(DISTINCT f),"corr(DISTINCT y, x)",stddev(n)}', expect => 'any');
SELECT check_prepared('device', 'SELECT g, approx(stddev(x + $1)), regr_count(y, x + $1) FROM t WHERE id > $1 GROUP BY g', '(float8)', '(0)', '(100)', '(NULL)');
