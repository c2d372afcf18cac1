-- float4 and float8: NaN, infinities, -0.0, denormals, the order that PostgreSQL gives them, and its overflow errors.
CREATE SCHEMA types_float;
SET search_path = types_float, public;
CREATE TABLE t (id int, g int, f4 float4, f8 float8);
-- multiples of 1/8: every sum is exact in any order
INSERT INTO t SELECT i, i % 5, nullif(i % 100, 9) / 8.0, nullif(i % 77, 5) * 1024 + i / 8.0 FROM generate_series(1, 1200) i;
CREATE TABLE odd (id int, g int, f4 float4, f8 float8);
INSERT INTO odd VALUES (1, 1, 'NaN', 'NaN'), (2, 1, 'Infinity', 'Infinity'), (3, 2, '-Infinity', '-Infinity'), (4, 2, 0, 0),
    (5, 3, '-0', '-0'), (6, 3, 1e-45, 4.9e-324), (7, 4, -1e-45, -4.9e-324), (8, 4, 3.4028235e38, 1.7976931348623157e308),
    (9, 5, NULL, NULL), (10, 5, 1.5, 1.5), (11, 6, NULL, NULL), (12, 7, 'NaN', 'Infinity'), (13, 7, 'Infinity', 'NaN'),
    (14, 8, '-0', '-0'), (15, 8, '0', '0'), (16, 9, '0', '0'), (17, 9, '-0', '-0');
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) odd;

SELECT check_matrix('SELECT count(%1$s), min(%1$s), max(%1$s), avg(%1$s) FROM t WHERE %2$s', '{f4,f8}', '{f4 > 3,f8 < 0,f4 < 9 AND f4 > 0}');
SELECT check_matrix('SELECT g, count(%1$s), min(%1$s), max(%1$s), avg(%1$s), sum(f8) FROM t WHERE f4 <> 0 GROUP BY g', '{f4,f8}');
-- of a smallest value 0 PostgreSQL knows whether it is -0
SELECT check_matrix('SELECT g, min(%1$s), max(%1$s) FROM t GROUP BY g', '{f4,f4 - 1000000}', expect => 'forced');
SELECT check_matrix('SELECT approx(sum(%1$s)), approx(avg(%1$s)) FROM t', ARRAY['f8 / 3', 'f8 * 0.1', 'f8 + f4', 'f8 * f8', 'f8 - 1e10', 'f4::float8 / 7']);
-- additions of float4 round at every step, so their order matters too much
SELECT check_query('SELECT sum(f4) FROM t', 'cpu');
BEGIN;
SET LOCAL gpuscan.exact_float = on;
SELECT check_matrix('SELECT %s(f8) FROM t', '{sum,avg}', expect => 'cpu');
SELECT check_query('SELECT min(f8), max(f4), count(f8) FROM t');
COMMIT;

-- NaN is greater than everything and equal to itself; -0 equals 0
SELECT check_matrix('SELECT count(*), sum(id) FROM odd WHERE %s', ARRAY(
    SELECT format('%s %s %s', a, op, b) FROM unnest('{f4,f8}'::text[]) a, unnest('{=,<>,<,<=,>,>=}'::text[]) op,
           unnest(ARRAY['f4', 'f8', '''NaN''', '''Infinity''', '''-Infinity''', '0', '''-0''', '1.5', '4.9e-324']) b));
SELECT check_matrix('SELECT g, count(*), min(%1$s), max(%1$s) FROM odd WHERE g < 8 GROUP BY g', '{f4,f8}', expect => 'forced');
SELECT check_matrix('SELECT g, count(*), min(%1$s), max(%1$s) FROM odd WHERE g NOT IN (2, 3, 8, 9) GROUP BY g', '{f4,f8}');
SELECT check_matrix('SELECT min(%1$s), max(%1$s) FROM odd WHERE g = %2$s', '{f4,f8}', '{1,2,3,4,5,6,7,8,9}', 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM odd WHERE %s', ARRAY['f8 IN (1.5, ''NaN'')', 'f8 IS NULL OR f4 = f8', 'f8 BETWEEN 0 AND 2', '-f8 < 0', 'f8 - f8 = 0', 'f4::float8 = f8', 'f8 + f8 = f8', 'f4 + 1 > f8']);
-- sums with NaN and infinities do not depend on order
SELECT g, check_query('SELECT sum(f8), avg(f8), avg(f4) FROM odd WHERE g = ' || g, 'forced') FROM generate_series(1, 9) g;
-- a sum of nothing but -0 is -0, an average is 0
SELECT check_query('SELECT id, sum(f8), avg(f8), avg(f4) FROM odd WHERE f8 = 0 GROUP BY id', 'forced');
SELECT check_query('SELECT sum(f8), avg(f8), sum(f8) FILTER (WHERE id = 4) FROM odd WHERE id IN (5, 14)', 'forced');
-- -0 and 0 are one group with two spellings
SELECT check_query('SELECT f8, count(*) FROM odd GROUP BY f8', 'any');

-- errors: overflow, underflow, division by zero, out of range casts; the same words as PostgreSQL's
SELECT e, check_query('SELECT count(*) FROM odd WHERE ' || e || ' > 1', 'any') FROM unnest(ARRAY['f8 * 10', 'f8 * 1e-10', 'f4 * 10::float4', 'f4 * 1e-10::float4', 'f8 / 0',
    'f8 / f8', '1 / f8', 'f8 + 1.7976931348623157e308', 'f8::float4', 'f8::int4', 'f4::int2', 'f8::int8', 'f8 * f8', '0 / f8', 'f8 - f4']) e;
CREATE TABLE huge AS SELECT i AS id, 1e308::float8 AS f8, 3e38::float4 AS f4 FROM generate_series(1, 4) i;
SELECT e, check_query('SELECT ' || e || ' FROM huge') FROM unnest(ARRAY['sum(f8)', 'avg(f8)', 'avg(f4)', 'sum(-f8)', 'max(f8)']) e;
INSERT INTO huge VALUES (5, 'Infinity', 'NaN');
SELECT e, check_query('SELECT ' || e || ' FROM huge') FROM unnest(ARRAY['sum(f8)', 'avg(f8)', 'avg(f4)', 'max(f8)']) e;
