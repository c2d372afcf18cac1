-- int2, int4, int8: comparisons, arithmetic, casts and aggregates of all pairs of widths, NULLs and the extreme values.
CREATE SCHEMA types_int;
SET search_path = types_int, public;
CREATE TABLE t (id int NOT NULL, i2 int2, i4 int4, i8 int8, j2 int2, j4 int4, j8 int8);
INSERT INTO t
    SELECT i, nullif(i * 37 % 201 - 100, 13), nullif(i * 1009 % 1999 - 1000, 77), nullif(i % 50, 9) * 10000000019 - 100,
           1 + i % 7, -1 - i % 90, nullif(1 + i * 31 % 64, 5)
    FROM generate_series(1, 1500) i;
CREATE TABLE edge (id int, i2 int2, i4 int4, i8 int8);
INSERT INTO edge VALUES (1, 32767, 2147483647, 9223372036854775807), (2, -32768, -2147483648, -9223372036854775808),
    (3, 0, 0, 0), (4, NULL, NULL, NULL), (5, -1, -1, -1), (6, 32767, 2147483647, 9223372036854775807),
    (7, 32767, 2147483647, 9223372036854775807), (8, 1, 1, 1);
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) edge;

-- aggregates
SELECT check_matrix('SELECT count(%1$s), sum(%1$s), avg(%1$s), min(%1$s), max(%1$s) FROM %2$s', '{i2,i4,i8}', '{t,edge}');
SELECT check_matrix('SELECT %2$s, count(*), count(%1$s), sum(%1$s), avg(%1$s), min(%1$s), max(%1$s) FROM t GROUP BY %2$s',
                    '{i2,i4,i8,j8}', '{i2,i4,i8,j2,j8,"i2, j2","j4, i8","i8, i4, j2"}');
SELECT check_matrix('SELECT %2$s, count(*), sum(%1$s), avg(%1$s) FROM edge GROUP BY %2$s', '{i2,i4,i8}', '{i2,i4,i8}');

-- comparisons of all widths, with columns, constants and values that the other width cannot hold
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY(
    SELECT format('%s %s %s', a, op, b) FROM unnest('{i2,i4,i8}'::text[]) a, unnest('{=,<>,<,<=,>,>=}'::text[]) op,
           unnest('{j2,j4,j8,5,-70000,-10000000119}'::text[]) b));
SELECT check_matrix('SELECT count(*), sum(id) FROM edge WHERE %s', ARRAY(
    SELECT format('%s %s %s', a, op, b) FROM unnest('{i2,i4,i8}'::text[]) a, unnest('{=,<>,<,<=,>,>=}'::text[]) op,
           unnest('{i2,i4,i8,32767,2147483647,9223372036854775807,-32768,-2147483648,"(-9223372036854775808)"}'::text[]) b));

-- arithmetic
SELECT check_matrix('SELECT count(*), sum(%1$s), min(%1$s), max(%1$s) FROM t WHERE j8 IS NOT NULL', ARRAY(
    SELECT format('%s %s %s', a, op, b) FROM unnest('{i2,i4,i8}'::text[]) a, unnest('{+,-,*,/,%}'::text[]) op,
           unnest('{j2,j4,j8,7}'::text[]) b));
SELECT check_matrix('SELECT count(*), sum(%s) FROM t', '{-i2,-i4,-i8,+i4,(i4 + i2) * 2 - i8 / j4,i4 * i4 % (j2 + 1),i8 / 10000000019}');
-- the most negative value has pitfalls of its own: its negation, its quotient and remainder by -1
SELECT e, check_query('SELECT sum(' || e || ') FROM edge')
    FROM unnest('{i2 % -1::int2,i4 % -1,i8 % -1::int8,i2 / -1::int2,i4 / -1,i8 / -1::int8,-i2,-i4,-i8}'::text[]) e;

-- predicates
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY[
    'i4 IN (1, 2, 3, -4, 500)', 'i4 NOT IN (1, 2, 3)', 'i2 IN (1, NULL)', 'i2 NOT IN (1, NULL)', 'i8 BETWEEN 0 AND 200000000000',
    'i4 IS NULL', 'i4 IS NOT NULL', 'i4 IS NULL OR i2 > 50', 'NOT (i4 > 10 AND i2 < 5)', 'NOT (i4 IS NULL)',
    '(i4 > 0) = (i2 > 0)', '(i4 > 0) IS TRUE', '(i4 > 0) IS NOT TRUE', '(i4 > 0) IS UNKNOWN', '(i4 > 0) IS NOT FALSE',
    'i4 + 1 > i2', 'i4 * 2 = j4 * 4', 'CASE WHEN i4 > 0 THEN i2 > 0 ELSE i2 < 0 END', 'CASE i2 WHEN 1 THEN true WHEN 2 THEN NULL END',
    'coalesce(i4, i2, 0) > 3', 'true', 'i4 = i4', 'NOT false AND i2 = 1']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['false', 'i4 > NULL', 'i4 > 0 AND i4 IS NULL'], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY[
    'i4 IS DISTINCT FROM i2', 'i4 IS NOT DISTINCT FROM i2', 'nullif(i4, 5) IS NULL', 'greatest(i4, i2) > 5', 'least(i4, i2, j2) < 5',
    'abs(i4) < 100', 'i4 & 3 = 1', 'i4 | 1 = 5', 'i4 # 3 = 6', '~i4 > 0', 'i4 << 2 > 50', 'i4 >> 2 > 50', 'mod(i4, 7) = 3',
    'i4 = ANY (ARRAY[1, 2, 3])', 'i4 < ALL (ARRAY[100, 200])', '(i4, i2) < (5, 5)', 'i4::text = ''5''', 'i4::bool'], expect => 'any');

-- casts
SELECT check_matrix('SELECT count(*), sum(%1$s), max(%1$s) FROM t', '{i2::int4,i2::int8,i4::int8,i4::int2,(i4 / 2)::int2,(i8 / 1000)::int4,i4::float8,i8::float8,i2::float4::float8,(i4 / 3.0::float8)::int4,(i4 + 0.5::float8)::int4,(i4 / 4.0::float8)::int2}');
SELECT e, check_query('SELECT sum(' || e || ') FROM edge')
    FROM unnest('{i8::int4,i4::int2,i8::int2,(i8::float8)::int8,(i4::float8)::int4,(i4::float8 + 1)::int4}'::text[]) e;
