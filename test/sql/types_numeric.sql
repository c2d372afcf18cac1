-- numeric: scaled integers of 18 and 36 digits, mixed and negative scales, display scales, NaN, infinities, no typmod.
CREATE SCHEMA types_numeric;
SET search_path = types_numeric, public;
CREATE TABLE t (id int, g int, n5 numeric(5,2), n18 numeric(18,4), n9 numeric(9), n36 numeric(36,6), n4 numeric(4,-2), i int, i8 int8);
INSERT INTO t
    SELECT i, i % 6, nullif(i * 7 % 1999 - 1000, 66) / 10.0, nullif(i % 300, 8) * 12345678901.2345 - 1e12, i * 1000003 % 999999999 - 500000000,
           (i - 700) * 123456789012345678901234.567891, i * 700, nullif(i % 11, 3), i * 100000007::int8
    FROM generate_series(1, 1300) i;
CREATE TABLE edge (id int, n18 numeric(18,4), n36 numeric(36,6), n38 numeric(38,0), n5 numeric(5,5));
INSERT INTO edge VALUES (1, 99999999999999.9999, 999999999999999999999999999999.999999, 99999999999999999999999999999999999999, 0.99999),
    (2, -99999999999999.9999, -999999999999999999999999999999.999999, -99999999999999999999999999999999999999, -0.99999),
    (3, 0, 0, 0, 0), (4, NULL, NULL, NULL, NULL), (5, 0.0001, 0.000001, 1, 0.00001), (6, -0.0001, -0.000001, -1, -0.00001),
    (7, 99999999999999.9999, 999999999999999999999999999999.999999, 99999999999999999999999999999999999999, 0.1);
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) edge;

SELECT check_matrix('SELECT count(%1$s), sum(%1$s), avg(%1$s), min(%1$s), max(%1$s) FROM t %2$s', '{n5,n18,n9,n36}', '{"","WHERE n5 > 3","WHERE false","WHERE n18 IS NULL"}', 'any');
SELECT check_matrix('SELECT count(%1$s), sum(%1$s), avg(%1$s), min(%1$s), max(%1$s) FROM t %2$s', '{n5,n18,n9}', '{"","WHERE n5 > 3","WHERE n18 IS NULL"}');
SELECT check_query('SELECT count(n36), sum(n36), min(n36), max(n36) FROM t');
SELECT check_query('SELECT sum(n4), avg(n4), min(n4), max(n4) FROM t', 'any');
SELECT check_matrix('SELECT g, count(%1$s), sum(%1$s), avg(%1$s), min(%1$s), max(%1$s) FROM t GROUP BY g', '{n5,n18,n9,n36}');
SELECT check_matrix('SELECT %1$s, count(*), sum(n18) FROM t GROUP BY %1$s', '{n5,n18,n9}');
SELECT check_matrix('SELECT %1$s, count(*), sum(i) FROM t GROUP BY %1$s', '{n36,n4}', expect => 'any');
SELECT check_matrix('SELECT count(%1$s), min(%1$s), max(%1$s), sum(%1$s), avg(%1$s) FROM edge', '{n18,n36,n38,n5}', expect => 'any');

-- comparisons between scales and with constants that a scale cannot hold
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY(
    SELECT format('%s %s %s', a, op, b) FROM unnest('{n5,n18,n9}'::text[]) a, unnest('{=,<>,<,<=,>,>=}'::text[]) op,
           unnest('{n5,n18,n9,i,i8,1.5,1.50,1.500,1.005,0.005,-3,12345678901.23,99999999,-99.999}'::text[]) b));
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY(
    SELECT format('n36 %s %s', op, b) FROM unnest('{=,<>,<,>=}'::text[]) op, unnest('{n5,n18,n36,1.5,1e29,1.00000001,1e60}'::text[]) b), expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['n5 IN (1.1, 2.2, 3.30, 4.444)', 'n5 BETWEEN -1.05 AND 1.05',
    'n5 IS NULL', 'n5 > 0.1 * 3', '-n5 > 1', 'n5 + n18 > 5', 'n5 - i = 0.4', 'n5 * 2 > n9', 'n5 * i > 1.23', 'coalesce(n5, 0) = 0',
    'CASE WHEN n5 > 0 THEN n18 > 0 ELSE n18 < 0 END']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['n5 = ''NaN''', 'n5 < ''Infinity''', 'n5 > ''-Infinity''', 'n5 < ''NaN''', 'n5 / 3 > 1.23', 'n5 % 3 = 1',
    'n5::int = 4', 'n5::float8 > 1.1', 'round(n5, 1) = 4.4', 'trunc(n5) = 3', 'abs(n5) > 3', 'n5::numeric(4,1) = 1.1', 'n5::numeric = 1.1', 'n5 > i8::numeric', 'n5 > id::float8', 'n5::text = ''1.10'''], expect => 'any');

-- sums of expressions: the scale that PostgreSQL shows, no rounding, products beyond 18 and 36 digits
SELECT check_matrix('SELECT sum(%1$s), min(%1$s), max(%1$s) FROM t', ARRAY['n5 * n5', 'n5 * n18', 'n5 + n18', 'n18 - n5', 'n5 * i', 'n9 * i', 'n5 + 1', 'n5 * 0.25', '-n18',
    'n5 * (1 - n5)', 'n18 * n18', 'n9 * n9', 'n9 * n18 * n5', 'i8 * n9', 'n5 * n5 * n5']);
SELECT check_matrix('SELECT g, sum(%1$s), avg(%1$s) FROM t GROUP BY g', ARRAY['n36 * n5', 'n36 * n36', 'n36 * n18 * n9', 'n5 / 7', 'n18 / n5', 'i8 * n36', 'n5 + 1e20', 'n5 * 1e-20'], expect => 'any');
SELECT check_matrix('SELECT %s FROM edge', ARRAY['sum(n18 * n18)', 'sum(n36 * 10)', 'sum(n36 * n36)', 'sum(n36 + n36)', 'sum(n38 * n5)', 'sum(n38 * n38)', 'sum(n38), avg(n38)', 'min(n38 - 1)', 'sum(n18 * 1000000)'], expect => 'any');

-- joins on numeric, also between scales
SELECT check_query('SELECT count(*), sum(a.n18) FROM t a JOIN t b ON a.n5 = b.n5 WHERE b.id < 200');
SELECT check_query('SELECT count(*), sum(a.n18) FROM t a JOIN t b ON a.n9 = b.n9');
SELECT check_query('SELECT count(*), sum(b.id) FROM t a JOIN (SELECT id, i::numeric(6,1) AS n FROM t) b ON a.n5 = b.n WHERE a.id < 300', 'any');
SELECT check_query('SELECT count(*), sum(b.id) FROM t a JOIN t b ON a.n5 = b.i WHERE a.id < 300', 'any');

-- NaN where digits were expected; infinities and mixed scales in a column without typmod
CREATE TABLE nan AS SELECT * FROM t LIMIT 300;
INSERT INTO nan (id, g, n5, n18) VALUES (2001, 1, 'NaN', 'NaN'), (2002, 7, 'NaN', 1), (2003, 2, 1, 'NaN');
CREATE TABLE free (id int, g int, n numeric);
INSERT INTO free SELECT i, i % 4, i / 4.0 FROM generate_series(1, 100) i;
INSERT INTO free VALUES (101, 5, 'NaN'), (102, 6, 'Infinity'), (103, 6, '-Infinity'), (104, 7, '1e500'), (105, 8, '1.10'), (106, 8, '1.100'), (107, 9, '-Infinity'), (108, 0, NULL);
SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(n5), avg(n5), min(n5), max(n5) FROM nan', 'g, count(n5), sum(n18), avg(n18) FROM nan GROUP BY g', 'n5, count(*) FROM nan GROUP BY n5',
    'count(*), sum(id) FROM nan WHERE n5 > 5', 'count(*), sum(id) FROM nan WHERE n5 = ''NaN''', 'count(*) FROM nan a JOIN nan b ON a.n5 = b.n5'], expect => 'any');
VACUUM (FREEZE, ANALYZE) nan;
SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(n5), avg(n5), min(n5), max(n5) FROM nan', 'g, count(n5), sum(n18), avg(n18) FROM nan GROUP BY g', 'n5, count(*) FROM nan GROUP BY n5',
    'count(*), sum(id) FROM nan WHERE n5 > 5', 'count(*), sum(id) FROM nan WHERE n5 = ''NaN''', 'count(*) FROM nan a JOIN nan b ON a.n5 = b.n5'], expect => 'any');
SELECT check_matrix('SELECT %s', ARRAY['sum(n), avg(n), min(n), max(n) FROM free', 'g, sum(n), avg(n) FROM free GROUP BY g', 'n, count(*) FROM free GROUP BY n', 'count(*) FROM free WHERE n > 1.1', 'sum(n * 2) FROM free WHERE g = 8'], expect => 'any');
-- the columns that are wanted decide, not the others
SELECT check_query('SELECT g, count(*), sum(id) FROM free GROUP BY g');

-- a column that changed its type without being rewritten
CREATE TABLE widened (id int, n numeric(6,2));
INSERT INTO widened SELECT i, i / 4.0 FROM generate_series(1, 500) i;
VACUUM (FREEZE, ANALYZE) widened;
SELECT check_query('SELECT sum(n), min(n), max(n) FROM widened');
ALTER TABLE widened ALTER n TYPE numeric(12,2);
INSERT INTO widened VALUES (501, 1234567890.12);
SELECT check_query('SELECT sum(n), min(n), max(n) FROM widened');
ALTER TABLE widened ALTER n TYPE numeric;
INSERT INTO widened VALUES (502, 1.2345);
SELECT check_query('SELECT sum(n), min(n), max(n) FROM widened', 'any');
ALTER TABLE widened ALTER n TYPE numeric(14,4);
SELECT check_query('SELECT sum(n), min(n), max(n) FROM widened');
