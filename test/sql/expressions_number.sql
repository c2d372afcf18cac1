-- Rounding, absolute values, remainders, casts of numerics, GREATEST and LEAST, and sums of numerics of several scales.
CREATE SCHEMA expressions_number;
SET search_path = expressions_number, public;
CREATE TABLE t (id int, g int, a int, b int2, c int8, n numeric(9,2), m numeric(20,4), w numeric(30,10), f float8, r float4, s text);
INSERT INTO t
    SELECT i, i % 4, nullif(i % 50, 3) - 20, nullif(i % 30, 5) - 15, i * 1000003::int8 - 500000000, nullif(i % 700, 8) / 8.0 - 40, i * 12345.6789 - 5000000, (i - 600) * 123456789.0123456789,
           nullif(i % 60, 4) / 8.0 - 3, nullif(i % 16, 2) / 2.0 - 4, nullif('s' || i % 7, 's3')
    FROM generate_series(1, 1200) i;
CREATE TABLE edge (id int, a int, b int2, c int8, n numeric(9,2), m numeric(20,4), f float8);
INSERT INTO edge VALUES (1, 2147483647, 32767, 9223372036854775807, 9999999.99, 9999999999999999.9999, 'Infinity'), (2, -2147483648, -32768, -9223372036854775808, -9999999.99, -9999999999999999.9999, '-Infinity'),
    (3, 0, 0, 0, 0, 0, 'NaN'), (4, NULL, NULL, NULL, NULL, NULL, NULL), (5, 1, 1, 1, 0.5, 0.0001, '-0'), (6, -1, -1, -1, -0.5, -0.0001, 0.5), (7, 2, 2, 2, 1.5, 2.5, 1e300), (8, -2, -2, -2, -1.5, -2.5, -1e-300);
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) edge;

SELECT check_matrix('SELECT g, min(%1$s), max(%1$s), count(%1$s) FROM t GROUP BY g', ARRAY['abs(a)', 'abs(b)', 'abs(c)', 'abs(n)', 'abs(m)', 'sign(n)', 'sign(w)', 'round(n)', 'round(n, 1)', 'round(m, 2)', 'round(w, 3)', 'round(n, 4)', 'trunc(n)', 'trunc(m, 1)', 'ceil(n)', 'ceiling(m)', 'floor(n)', 'floor(w)', 'mod(n, 7.5)', 'mod(m, 13)', 'mod(a, 7)', 'm % 0.33',
    'n::int', 'm::int8', 'n::int2', 'n::numeric(9,1)', 'm::numeric(18,2)', 'n::numeric(12,4)', 'w::numeric(22,2)', 'abs(f) + 1', 'ceil(f) + 0.5', 'floor(f) + 0.5', 'round(f) + 0.5', 'trunc(f) + 0.5', 'sqrt(abs(f)) + 1', 'degrees(f) + 1', 'radians(f) + 1', 'sign(f) + 2', 'greatest(a, b)', 'least(a, c)', 'greatest(n, 3.25)', 'least(f, 1.5) - 10', 'greatest(a, NULL, 7)']);
SELECT check_matrix('SELECT sum(%1$s), avg(%1$s) FROM t', ARRAY['abs(n)', 'round(n, 1)', 'round(m)', 'round(n, 4)', 'trunc(m, 2)', 'floor(n)', 'ceil(n)', 'mod(n, 0.75)', 'n::int', 'n::numeric(9,1)', 'sign(n)', 'greatest(n, m)', 'least(n, 0)']);
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM t GROUP BY 1', ARRAY['abs(a)', 'round(n)', 'floor(n)', 'ceil(m)', 'sign(n)', 'n::int', 'n::numeric(9,1)', 'trunc(n, 1)', 'greatest(a, 0)', 'least(b, a)', 'greatest(n, 0.50)']);
SELECT check_matrix('SELECT count(*), sum(id) FROM %2$s WHERE %1$s', ARRAY['abs(a) < 10', 'abs(b) > 3', 'abs(c) > 5', 'round(n) = 2', 'round(n, 1) > 0.4', 'floor(m) < 0', 'ceil(n) = 0', 'trunc(m) = 0', 'mod(n, 2) = 0.5', 'sign(m) = -1', 'n::int = 2', 'm::int8 > 5', 'n::int2 < 3', 'm::numeric(6,1) < 3', 'abs(f) > 1', 'sqrt(f) < 2', 'degrees(f) < 2', 'radians(f) > 0.01', 'ceil(f) = 0', 'round(f) = 0', 'sign(f) = 1', 'greatest(a, b, c) > 0', 'least(n, m) < 0', 'mod(n, 0) = 1'], '{t,edge}', 'any');
SELECT check_prepared('device', 'SELECT max(least($1, $2, id)), min(greatest(id, $2, $1)), max(CASE WHEN $1 < $2 THEN $1 ELSE $2 END + id) FROM t', '(int, int)', '(-1000000000, 5)', '(7, 2147400000)', '(NULL, -2147483648)');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['abs(a) < 10', 'round(n) = 2', 'n::int = 2', 'mod(n, 2) = 0.5', 'floor(f) = 0', 'greatest(a, b, c) > 0']);
-- common divisors and multiples, hundreds, and casts that are few
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM t GROUP BY 1', ARRAY['gcd(a, g)', 'gcd(c, 1000)', 'lcm(a, g)', 'lcm(c, 12)', 'gcd(a, 0)', 'lcm(b, a)', 'abs(r)', '@ r', 'round(n, -1)', 'round(m, -2)', 'trunc(n, -1)', 'trunc(w, -9)', 'round(n, -12)', 'a::bool', '(a > 3)::text', '(a > 3 OR n > 1)::text', 'abs(c)::oid', 'width_bucket(f, -2, 2, 10)', 'width_bucket(f, 1.5, -1.25, 7)', 'width_bucket(a, 0, 30, 30)', 'width_bucket(id / 12.0, 0, 100, 100)', 'width_bucket(f, -1, nullif(a, -1), 4 + g)']);
SELECT check_matrix('SELECT %1$s FROM edge WHERE id = %2$s', ARRAY['gcd(a, 0)', 'gcd(c, c)', 'gcd(c, 6)', 'lcm(a, 7)', 'lcm(c, 0)', 'lcm(c, 3)', 'lcm(a, a)', 'round(n, -7)', 'round(m, -16)', 'trunc(m, -3)', 'round(m, -18)', 'round(n, -40)', 'abs(f::float4)', 'c::oid', 'a::bool', 'width_bucket(f, 0, 1, 3)', 'width_bucket(0, f, 1, 3)', 'width_bucket(1, 0, f, 3)', 'width_bucket(0.5, 0, 1, a)', 'width_bucket(f, -1.7e308, 1.7e308, 2147483647)', 'width_bucket(1, 1, 1, 1)', 'width_bucket(f, 0, 5e-324, 3)', '(a = 0)::text'], '{1,2,3,4,5,6,7,8}', 'any');
-- left to PostgreSQL: what libm rounds, and digits that are not constant
SELECT check_matrix('SELECT count(*) FROM t WHERE %s', ARRAY['power(f, 2) > 4', 'exp(f) > 1', 'ln(abs(f) + 1) > 0', 'round(n, a) > 0', 'round(n, -1) > 0', 'n / 3 > 1', 'sin(f) > 0', 'n::float4 > 1', 'f::numeric > 1'], expect => 'any');

-- sums and averages over values that PostgreSQL shows with different scales
SELECT check_matrix('SELECT g, sum(%1$s), avg(%1$s), count(*) FROM t GROUP BY g', ARRAY['CASE WHEN s = ''s1'' THEN n * m ELSE 0 END', 'CASE WHEN g = 1 THEN n ELSE 0 END', 'CASE WHEN g = 1 THEN m WHEN g = 2 THEN n END', 'coalesce(n, 0)', 'coalesce(n, m)', 'CASE WHEN a > 0 THEN n ELSE 0 END * (1 - m)', 'CASE WHEN a > 0 THEN n ELSE 0 END + b', '- CASE WHEN g = 3 THEN n ELSE 1 END', 'CASE WHEN g = 0 THEN NULL WHEN g = 1 THEN 1.500 ELSE n END', 'greatest(n, 0)', 'CASE WHEN s LIKE ''s%'' THEN coalesce(n, 0) ELSE 0.12345 END', 'CASE WHEN id < 0 THEN n ELSE 0 END']);
SELECT check_matrix('SELECT sum(%1$s), avg(%1$s) FROM t %2$s', ARRAY['CASE WHEN s = ''s1'' THEN n ELSE 0 END', 'coalesce(n, 0)', 'round(CASE WHEN g = 1 THEN m ELSE 0 END, 1)'], '{"","WHERE id < 0","WHERE n IS NULL","WHERE g = 2"}');
SELECT check_query('SELECT g, sum(CASE WHEN a > 0 THEN n ELSE 0 END) FILTER (WHERE b > 0), sum(CASE WHEN a > 0 THEN n ELSE 0 END), 100.00 * sum(CASE WHEN s LIKE ''s1%'' THEN n ELSE 0 END) / sum(n) FROM t GROUP BY g');
SELECT check_matrix('SELECT g, %s FROM t GROUP BY g', ARRAY['min(CASE WHEN a > 0 THEN n ELSE 0 END)', 'max(coalesce(n, 0))'], expect => 'any');
