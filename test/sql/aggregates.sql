-- Aggregates beyond sum and its like: bits and booleans, variances, FILTER, DISTINCT, SELECT DISTINCT; of all types that have
-- them, with NULLs, without rows, of one row, of extremes.
CREATE SCHEMA aggregates;
SET search_path = aggregates, public;
CREATE TABLE t (id int NOT NULL, g int, b bool, c bool NOT NULL, i2 int2, i4 int4, i8 int8, n numeric(9,2), m numeric(20,4), w numeric(36,10), f4 float4, f8 float8, s text, p char(5), d date, ts timestamp);
INSERT INTO t
    SELECT i, nullif(i % 11, 4), CASE i % 5 WHEN 0 THEN NULL ELSE i % 7 < 5 END, i % 13 <> 0, nullif(i * 37 % 201 - 100, 13), nullif(i * 1009 % 1999 - 1000, 77), nullif(i % 50, 9) * 10000000019 - 100,
           nullif(i % 90, 8) / 4.0, i * 1234567.8912 - 500000000, CASE WHEN i % 3 <> 0 THEN i * 98765432109.0123456789 END, nullif(i % 16, 2) / 2.0, nullif(i % 60, 4) / 8.0 - 3, nullif('s' || i * 13 % 25, 's7'), 'p' || i % 7,
           date '2024-02-20' + i % 30, timestamp '2024-02-28 22:00' + i % 50 * interval '1 hour'
    FROM generate_series(1, 3000) i;
CREATE TABLE one AS SELECT * FROM t WHERE id = 7;
CREATE TABLE hollow (LIKE t);
-- every number at an end of its range, and a group (g = 2) of NULLs only
CREATE TABLE edge (LIKE t);
INSERT INTO edge VALUES (1, 1, true, true, 32767, 2147483647, 9223372036854775807, 9999999.99, 9999999999999999.9999, 99999999999999999999999999.9999999999, 'NaN', 'NaN', '', '', 'infinity', '-infinity'),
    (2, 1, false, false, -32768, -2147483648, -9223372036854775808, -9999999.99, -9999999999999999.9999, -99999999999999999999999999.9999999999, 'Infinity', '-Infinity', ' ', ' ', '-infinity', 'infinity'),
    (3, 1, NULL, true, 0, 0, 0, 0, 0, 0, '-0', '0', 'a', 'a', '2000-01-01', '2000-01-01'), (6, NULL, true, true, -1, -1, -1, -0.01, -0.0001, -0.0000000001, '0', '-0', 'a', 'a ', '2000-01-01', '2000-01-01'),
    (7, 3, false, false, 1, 1, 1, 0.01, 0.0001, 0.0000000001, 1, 1, 'b', 'b', '2000-01-02', '2000-01-01');
INSERT INTO edge (id, g, c) VALUES (4, 2, true), (5, 2, false);
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) one;
VACUUM (FREEZE, ANALYZE) edge;

-- bits and booleans
SELECT check_matrix('SELECT %s FROM %s', ARRAY(SELECT format(k, f || '(' || a || ')') FROM unnest('{bit_and,bit_or,bit_xor}'::text[]) f, unnest('{i2,i4,i8,"i4 + i2",coalesce(i8\,5)}'::text[]) a, unnest(ARRAY['%s', 'count(*), sum(id), %s', 'max(n), min(s), %s']) k), '{t,one,hollow,edge,t GROUP BY g,edge GROUP BY g,"t GROUP BY id",one GROUP BY s}');
SELECT check_matrix('SELECT %s FROM %s', '{bool_and(b),bool_or(b),every(b),bool_and(c),bool_or(c),"bool_and(b OR c), bool_or(NOT b AND c), every(i4 > -2000)",bool_or(s LIKE ''s1%''),"count(*), bool_and(i4 > i2)"}', '{t,one,hollow,edge,t GROUP BY g,edge GROUP BY g,"t GROUP BY g, s"}');
-- variances of integers and numerics are exact; sums of squares beyond 128 bits are PostgreSQL's business
SELECT check_matrix('SELECT %s FROM %s', ARRAY(SELECT f || '(' || a || ')' FROM unnest('{stddev,stddev_pop,stddev_samp,variance,var_pop,var_samp}'::text[]) f, unnest('{i2,i4,i8,n,m,i4 * 1000,n - 20,n * n,-i8}'::text[]) a), '{t,one,hollow,t GROUP BY g,"t GROUP BY g, s",t GROUP BY id}');
SELECT check_matrix('SELECT %s FROM %s', ARRAY(SELECT f || '(' || a || ')' FROM unnest('{stddev,stddev_pop,var_pop,var_samp}'::text[]) f, unnest('{i2,i4,i8,n,m,w}'::text[]) a), '{edge,edge GROUP BY g,edge GROUP BY id}', 'any');
SELECT check_query('SELECT variance(w) FROM edge', 'fallback');
SELECT check_query('SELECT g, count(i4), sum(i4), avg(i4), stddev(i4), var_pop(i4), max(i4), sum(n), stddev(n), stddev(n + 1) FROM t GROUP BY g');
SELECT check_matrix('SELECT %s FROM t', '{"round(stddev(i4), 2), variance(n) / 2, 1 + var_pop(i8)",approx(stddev(f8)),approx(var_pop(f4)),stddev(w),stddev(1)}', expect => 'any');
SELECT check_query('SELECT g, stddev(n) FROM t GROUP BY g HAVING stddev(n) > 6.4 AND count(*) > 3');
-- FILTER: errors only of rows that pass
SELECT check_matrix('SELECT g, %s FROM t GROUP BY g', ARRAY(SELECT a || ' FILTER (WHERE ' || f || ')' FROM unnest('{count(*),count(i4),sum(i4),avg(n),min(s),max(d),stddev(i8),bool_and(b),bit_xor(i4),min(f8),sum(i8)}'::text[]) a, unnest('{b,"NOT c",i4 > 0 AND b,s LIKE ''s2%'',false,i4 IS NULL,g IS NULL OR i2 > 3}'::text[]) f));
SELECT check_matrix('SELECT count(*), %s FROM edge', '{sum(1000 / i4) FILTER (WHERE i4 <> 0),sum(i8 + 1) FILTER (WHERE i8 < 9),count(DISTINCT 10 / i2) FILTER (WHERE i2 <> 0),bit_or(i4 + 1) FILTER (WHERE i4 < 5),stddev(i2 * 2::int2) FILTER (WHERE abs(i2) < 5)}', expect => 'any');
SELECT check_matrix('SELECT count(*), %s FROM edge', '{sum(1000 / i4),sum(i8 + 1),count(DISTINCT 10 / i2),bit_or(i4 + 1)}', expect => 'any');
-- aggregates of DISTINCT values, alone and beside others
SELECT check_matrix('SELECT %s FROM %s', ARRAY(SELECT f || '(DISTINCT ' || a || ')' FROM unnest('{count,sum,avg}'::text[]) f, unnest('{i2,i4,i8,n,m,w,"i4 % 7",i4 + n}'::text[]) a), '{t,one,hollow,t GROUP BY g,"t GROUP BY g, b"}');
SELECT check_matrix('SELECT %s FROM %s', ARRAY(SELECT 'count(*), count(DISTINCT ' || a || ')' FROM unnest('{b,i2,i4,i8,n,m,w,f4,f8,s,p,d,ts,id,g,i4 > 0,f8 * 2,"coalesce(s, ''x'')"}'::text[]) a), '{t,one,hollow,edge,t GROUP BY g,edge GROUP BY g,"t WHERE id < 0 GROUP BY g"}', 'any');
SELECT check_matrix('SELECT %s FROM %s', '{count(DISTINCT f8),count(DISTINCT s),count(DISTINCT p),count(DISTINCT d),count(DISTINCT b)}', '{t,edge,t GROUP BY g,edge GROUP BY g}');
SELECT check_matrix('SELECT %s FROM edge', '{sum(DISTINCT i2),sum(DISTINCT i4),sum(DISTINCT i8),sum(DISTINCT n),avg(DISTINCT m),avg(DISTINCT i8),"sum(DISTINCT w), count(*)"}');
SELECT check_matrix('SELECT g, %s FROM t GROUP BY g', ARRAY['count(DISTINCT i4), count(*), sum(n)', 'count(DISTINCT i4), count(DISTINCT s), count(DISTINCT d), count(*), avg(n), stddev(i4), bool_or(b), bit_xor(i8), min(f8), max(s)', 'sum(DISTINCT i4), avg(DISTINCT i4), count(DISTINCT i4), sum(i4), count(i4)',
    'count(DISTINCT g), count(DISTINCT g + 1), sum(DISTINCT g)', 'count(DISTINCT s) FILTER (WHERE b), count(DISTINCT s), count(s) FILTER (WHERE b)', 'max(DISTINCT i4), min(DISTINCT s), bool_and(DISTINCT b), bit_or(DISTINCT i4), count(*)', 'count(DISTINCT i4) * 2 + 1, round(avg(DISTINCT n), 1)']);
SELECT check_matrix('SELECT g, %s FROM t GROUP BY g', '{bit_xor(DISTINCT i4),stddev(DISTINCT i4),sum(DISTINCT f8),sum(DISTINCT f4),"string_agg(DISTINCT s, '','')","count(DISTINCT (g, i4))",array_agg(DISTINCT i2),min(DISTINCT f8)}', expect => 'any');
SELECT check_query('SELECT s, count(DISTINCT i4) FROM t GROUP BY s HAVING count(DISTINCT i4) > 100 AND count(*) > 10 ORDER BY 2, 1 LIMIT 5');
SELECT check_query('SELECT x.g, count(DISTINCT y.s), count(DISTINCT x.i2), count(*), sum(y.n) FROM t x JOIN t y ON x.id = y.id WHERE y.i4 > -900 GROUP BY x.g');
SELECT check_query('SELECT count(DISTINCT c), count(DISTINCT id), sum(DISTINCT id) FROM (SELECT id, count(DISTINCT s) AS c FROM t GROUP BY id) x', 'any');
-- keys of many digits
SELECT check_matrix('SELECT %1$s, count(*), sum(n), count(DISTINCT g) FROM %2$s GROUP BY %1$s', '{m,w,"m, w",m * 2,"g, w"}', '{t,edge}');
-- rows without duplicates
SELECT check_matrix('SELECT DISTINCT %s FROM %s', '{b,i2,i4,n,s,p,d,ts,"g, b","s, g",i4 % 5,"b, c, i4 > 0","g, 1"}', '{t,one,hollow,edge,t WHERE i4 > 0,"t WHERE false"}', 'any');
SELECT check_matrix('SELECT DISTINCT %s', '{s FROM t,"g, b FROM t","i4 % 5 AS x, d FROM t","g, s FROM t ORDER BY s, g","g FROM t ORDER BY g DESC LIMIT 3"}');
SELECT check_query('SELECT DISTINCT x.s, y.g FROM t x JOIN t y USING (id) WHERE y.b');
SELECT check_query('SELECT count(*), sum(g) FROM (SELECT DISTINCT g, s FROM t) x');
SELECT check_matrix('SELECT %s', '{"DISTINCT ON (g) g, id FROM t ORDER BY g, id","DISTINCT f8 FROM t","DISTINCT g, count(*) FROM t GROUP BY g, s","DISTINCT g, row_number() OVER (ORDER BY id) FROM t","DISTINCT generate_series(1, g) FROM t"}', expect => 'any');
-- sets of groupings
SELECT check_matrix('SELECT %2$s, count(*), sum(n), min(s), grouping(g), grouping(b, g) FROM t GROUP BY %1$s', '{"ROLLUP (g, b)","CUBE (g, b)","GROUPING SETS ((g), (b), ())","g, ROLLUP (b)","GROUPING SETS ((g, b), (g, b), (g))","ROLLUP ((g, b))","DISTINCT ROLLUP (g, b), ROLLUP (g)"}', '{"g, b","g, b, stddev(i4), count(DISTINCT i2)"}');
SELECT check_query('SELECT g + 1, 5::int8, count(*), sum(n), grouping(g + 1) FROM t GROUP BY GROUPING SETS ((g + 1, 5::int8), (5::int8), ())', 'any');
SELECT check_query('SELECT g, b, count(*), grouping(g) FROM t GROUP BY CUBE (g, b) HAVING g IS NULL OR grouping(g, b) = 1 ORDER BY 1, 2, 3');
SELECT check_query('SELECT x.s, y.b, y.c, count(*), avg(x.n), count(DISTINCT x.i2) FROM t x JOIN t y USING (id) GROUP BY CUBE (x.s, (y.b, y.c))');
SELECT check_matrix('SELECT %s', '{"count(*), sum(n) FROM t GROUP BY GROUPING SETS ((), ())","count(*), g FROM t WHERE false GROUP BY GROUPING SETS ((), (g))","count(*), g FROM hollow GROUP BY ROLLUP (g)","DISTINCT g, count(*) FROM t GROUP BY ROLLUP (g)","g, count(*), rank() OVER (ORDER BY count(*), g) FROM t GROUP BY ROLLUP (g)"}', expect => 'any');
-- what no device does runs above the rows that it delivers
SELECT check_matrix('SELECT g, %s FROM t GROUP BY g', ARRAY['string_agg(s, '','' ORDER BY id)', 'array_agg(i4 ORDER BY id)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY i4)', 'mode() WITHIN GROUP (ORDER BY s)', 'rank(3) WITHIN GROUP (ORDER BY i4)', 'count(DISTINCT i4), string_agg(s, '','' ORDER BY id)']);
-- one state serves several aggregates, with parameters and in prepared statements
SELECT check_prepared('device', 'SELECT g, count(DISTINCT i4 + $1), sum(DISTINCT i4), stddev(i4 + $1), bit_or(i4) FILTER (WHERE i2 > $1) FROM t WHERE id > $1 GROUP BY g', '(int)', '(0)', '(100)', '(NULL)');
-- many groups of many values, in little memory
SELECT check_query('SELECT id % 1000, count(DISTINCT i4), count(DISTINCT id), sum(DISTINCT m), count(*) FROM t GROUP BY id % 1000');
SET work_mem = '64kB';
SELECT check_query('SELECT id, count(DISTINCT s), stddev(n) FROM t GROUP BY id');
RESET work_mem;
