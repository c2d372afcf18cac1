-- Division of numerics: PostgreSQL's number of decimals, which each row's operands decide, its rounding, and its errors.
CREATE SCHEMA quotients;
SET search_path = quotients, public;
SET client_min_messages = warning;
-- Every magnitude, and first digits that are equal, just less and just more.
CREATE TABLE n (id int, g int, a numeric(9,2), b numeric(9,2), c numeric(5,4), m numeric(12,0), f numeric(14,6), z numeric(4,1), i int, j bigint, s int2);
INSERT INTO n SELECT i, i % 7, x * 10 ^ (i % 7) / 100, (x + i % 3 - 1) * 10 ^ (i / 7 % 7) / 100, (i % 50000) / 10000.0, x * 10 ^ (i % 9), x * 10 ^ (i / 9 % 9) / 1e6, i % 11 - 5, x * i, x * 10 ^ (i % 14), i % 100 + 1
    FROM generate_series(1, 6000) i, LATERAL (SELECT (ARRAY[1, 2, 3, 5, 7, 10, 11, 19, 20, 33, 50, 99])[i % 12 + 1] * CASE WHEN i % 5 = 0 THEN -1 ELSE 1 END) v(x);
INSERT INTO n (id) VALUES (0);
INSERT INTO n VALUES (-1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1), (-2, 1, 0, 9999999, 1, 0, 0, 1, 0, 0, 1);
UPDATE n SET b = 0.01 WHERE b = 0;
VACUUM (FREEZE, ANALYZE) n;
-- sums, averages: value and number of decimals
SELECT check_matrix('SELECT %s(%s), count(*) FROM n', '{sum,avg,count}', '{a / b,b / nullif(a\, 0),a / 100,a / 7,a / 3.00,-a / 0.7,7 / b,1.5 / b,a / s,i / 3.0,i::numeric / s,j / 1024.0,j / 1024.0 / 1024.0,c / 3,a / (c + 1),f / s,a / nullif(f\, 0),m / s,f / 1e6,a / b * 100,a / b + b / 3,a * (1 - c / 100),(a - b) / b,abs(a / b),-(a / b),a / (1 + c / 100),a / b / 7,s / (b / 3),m / 365.25,a / 1000000000}', 'forced');
SELECT check_matrix('SELECT g, sum(%1$s), avg(%1$s), sum(%1$s) FILTER (WHERE i > 500), count(%1$s) FROM n WHERE b <> 0 AND c <> 0 GROUP BY g', '{a / b,a / 100,a / c,a / nullif(z\, 0),coalesce(a / nullif(z\, 0)\, 0),CASE WHEN z > 0 THEN a / z END,CASE WHEN z > 0 THEN a / z ELSE b END,greatest(a / b\, c),least(a / 7\, 1)}');
-- values of a fixed scale: groups, smallest and largest, DISTINCT
SELECT check_matrix('SELECT %1$s, count(*), sum(i) FROM n GROUP BY 1', '{"round(a / b, 2)", "trunc(a / b, 2)", "round(a / b)", "(a / b)::numeric(20,3)", "round(a / 7, 15)", "trunc(a / 3, 18)", "round(i / 3.0, 25)", "ceil(a / 7)", "floor(a / 7)", "(a / 7)::int", "sign(a / b)", "round(a / 100, 1) % 3", "round(a / 7, 2) = trunc(a / 7, 2)"}');
SELECT check_matrix('SELECT %s%s) FROM n', '{min(,max(,"count(DISTINCT ","sum(DISTINCT "}', '{"round(a / b, 4)","trunc(a / 7, 10)","(a / 7)::numeric(20,3)"}');
SELECT check_matrix('SELECT count(*), sum(id) FROM n WHERE %s', '{a / b > 0.5,a / b = 1,a / b <= b / 7,a / b BETWEEN 0.1 AND 0.3,a / b IN (0.5\, 1\, 2),a / 7 <> trunc(a / 7\, 3),round(a / 3\, 2) = a / 3,a / b > c,a / b IS NULL,a / b > 100 OR c / 3 < 1,a / b > i,a / nullif(z\, 0) IS NOT NULL,a / b > (SELECT avg(a / b) FROM n)}'::text[]);
SELECT check_query('SELECT count(*) FROM n x JOIN n y ON x.a / 7 = y.b / 7 WHERE x.g = 1 AND y.g = 2');
SELECT check_prepared('device', 'SELECT count(*), sum(a / 7) FROM n WHERE a / b > $1', '(numeric)', '(0.5)', '(1e-20)', '(0.33333333333333333333)', '(-3)');
-- what is shown by the rows' own order or number of decimals stays
SELECT check_matrix('SELECT %s FROM n', '{round(min(a / b)\, 3),round(max(a / 100)\, 9),stddev(a / b),round(sum(DISTINCT a / b)\, 9)}', '{""}', 'any');
SELECT check_query('SELECT a / 100, count(*) FROM n GROUP BY 1', 'any');
SELECT check_query('SELECT DISTINCT a / 7 FROM n', 'any');
SELECT check_query('SELECT g FROM n GROUP BY g HAVING sum(a) / sum(b) > 0.7');
SELECT check_query('SELECT g, sum(a / b) FROM n GROUP BY g HAVING sum(a / b) > 70 AND avg(a / b) > 0.01');
SELECT check_query('SELECT g FROM n GROUP BY g ORDER BY sum(a / b) DESC LIMIT 2');
SELECT check_query('SELECT g, sum(a / b) FROM n GROUP BY ROLLUP (g)');
SELECT check_query('SELECT id, a / b FROM n ORDER BY a / b, id', 'any');
-- errors
SELECT check_matrix('SELECT sum(a / %s) FROM n', '{z,(b - b),(a - a),0,c,(i - i)}', '{""}', 'forced');
SELECT check_matrix('SELECT sum(CASE WHEN z <> 0 THEN a / z ELSE 0 END), count(*) FROM n WHERE %s', '{true,z <> 0 OR a / z > 1,z <> 0 AND a / z > 1,z = 0 OR a / z > 1}'::text[], '{""}', 'forced');
-- more digits than a device has room for: PostgreSQL's plan
CREATE TABLE wide (id int, a numeric(30,2), b numeric(30,2), t numeric(38,30));
INSERT INTO wide SELECT i, 10::numeric ^ (i % 25) * (i % 7 + 1), 10::numeric ^ (i / 25 % 25) * (i % 5 + 1) / 100, 1 / (10::numeric ^ (i % 28) * (i % 7 + 1)) FROM generate_series(1, 700) i;
VACUUM (FREEZE, ANALYZE) wide;
SELECT check_matrix('SELECT sum(%1$s), avg(%1$s), count(*) FROM wide WHERE id = %2$s', '{a / b,b / a,a / 7,1 / a,a / 1e10}', ARRAY(SELECT (i * 17)::text FROM generate_series(1, 40) i), 'forced');
SELECT check_matrix('SELECT sum(%s) FROM wide WHERE id < 20', '{b / a,t / 3,a / t}', '{""}', 'any');
SELECT check_query('SELECT sum(a / b) FROM wide', 'fallback');
-- sums beyond 128 bits with 28 decimals
CREATE TABLE large AS SELECT (i % 1000 + 1)::numeric(12,2) AS a, 0.01::numeric(12,2) AS b, 0.03::numeric(12,2) AS c, i % 3 AS g FROM generate_series(1, 200000) i;
UPDATE large SET a = 9000000 + a;
VACUUM (FREEZE, ANALYZE) large;
SELECT check_query('SELECT g, sum(a / b), avg(a / c), sum(-a / c), sum(a / b) FILTER (WHERE a > 9000500) FROM large GROUP BY g');
SELECT check_query('SELECT sum(a / c * a) FROM large WHERE a < 9000002', 'forced');
-- Mod, round and trunc of columns
SELECT check_matrix('SELECT sum(%s), count(*) FROM n', '{a % 7,a % 0.3,mod(m\, 7),a % s,f % 1.5,round(f\, 3),trunc(f\, 3),round(f\, 8),round(a\, 0)}'::text[]);
SELECT check_query('SELECT sum(a % z) FROM n', 'forced');
DROP SCHEMA quotients CASCADE;
