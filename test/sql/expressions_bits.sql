-- Bits of integers; the order of oids and enums; groups and joins by floats.
CREATE SCHEMA expressions_bits;
SET search_path = expressions_bits, public;
CREATE TYPE size AS ENUM ('small', 'medium', 'large', 'huge');
CREATE TYPE grown AS ENUM ('small', 'large');
ALTER TYPE grown ADD VALUE 'medium' BEFORE 'large';
CREATE TABLE t (id int NOT NULL, a int2, b int4, c int8, d int4 NOT NULL, o oid, s size, w grown, x float8, f float4);
INSERT INTO t SELECT i, nullif(i * 37 % 65536 - 32768, 5), nullif(i * 1009 % 4001 - 2000, 77) * 1000003, nullif(i % 50, 9) * 10000000019 - 100, i % 40, (nullif(i % 60, 9)::int8 * 70000000)::oid,
           (ARRAY['medium', 'small', NULL, 'huge', 'large'])[1 + i % 5]::size, (ARRAY['large', 'small', NULL, 'medium'])[1 + i % 4]::grown, CASE WHEN i % 9 > 0 THEN CASE i % 11 WHEN 3 THEN 'NaN' WHEN 4 THEN '-Infinity' ELSE i % 31 / 8.0 - 1 END END, nullif(i % 17, 3) / 4.0 FROM generate_series(1, 2000) i;
CREATE TABLE edge (id int, a int2, b int4, c int8);
INSERT INTO edge VALUES (1, 32767, 2147483647, 9223372036854775807), (2, -32768, -2147483648, -9223372036854775808), (3, 0, 0, 0), (4, -1, -1, -1), (5, 1, 1, 1), (6, NULL, NULL, NULL), (7, 16384, 1073741824, 4611686018427387904);
CREATE TABLE zeros (id int, x float8, f float4);
INSERT INTO zeros VALUES (1, 0, 0), (2, '-0', '-0'), (3, 'NaN', 'NaN'), (4, '-NaN', 'NaN'), (5, 1, 1), (6, NULL, NULL), (7, 'Infinity', '-Infinity');
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) edge;
VACUUM (FREEZE, ANALYZE) zeros;

SELECT check_matrix('SELECT id, %1$s FROM %2$s', ARRAY(SELECT format('%1$s %2$s %1$s, %1$s %2$s 5::%3$s, -7::%3$s %2$s %1$s, ~ %1$s', a, op, u) FROM (VALUES ('a', 'int2'), ('b', 'int4'), ('c', 'int8')) v (a, u), unnest('{&,|,#}'::text[]) op), '{t,edge}');
SELECT check_matrix('SELECT id, %1$s FROM %2$s', ARRAY(SELECT format('%1$s %2$s %3$s', a, op, n) FROM unnest('{a,b,c}'::text[]) a, unnest('{<<,>>}'::text[]) op, unnest('{0,1,7,15,16,31}'::text[]) n) || '{c << 40,c >> 63,"c << 63"}', '{t,edge}');
SELECT check_matrix('SELECT sum((%s)::numeric) FROM edge', '{a << 32,b << 32,b >> 40,c << 64,a << -1,c >> -3,b << 33}', expect => 'forced');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', '{b & 1 = 0,c # b = 0,(a & b) > 3,(1 << d) > 1000,(d >> 2) = 3,~ d < -20,b & 6 IN (2\, 4),"(d & 12) = 12 OR d | 1 = d"}', expect => 'forced');
SELECT check_query('SELECT d & 7, bit_or(b & 255), sum(c # 3), count(*) FROM t GROUP BY 1');
-- oids are unsigned; the values of an enum have an order if their oids have one
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY(SELECT 'o ' || op || ' ' || c FROM unnest('{<,<=,>,>=}'::text[]) op, unnest('{0,700000000,2147483648,4130000000}'::text[]) c) || ARRAY(SELECT 's ' || op || ' ''' || c || '''' FROM unnest('{<,<=,>,>=}'::text[]) op, unnest('{small,medium,huge}'::text[]) c));
SELECT check_matrix('SELECT %1$s FROM %2$s', '{"min(o), max(o)","min(s), max(s)","min(o) FILTER (WHERE d > 4), max(s) FILTER (WHERE false)"}', '{t,t GROUP BY d,"t WHERE id < 0"}');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', '{"greatest(o, 700000000) = o","least(s, ''medium'') = s","s BETWEEN ''medium'' AND ''large''","coalesce(s, ''huge'') > ''medium''"}');
SELECT check_matrix('SELECT %s FROM t', '{"min(w), max(w)",count(*) FILTER (WHERE w > ''small''),"count(*) FILTER (WHERE w = ''medium'')"}', expect => 'any');
SELECT check_prepared('device', 'SELECT count(*), min(s) FROM t WHERE s > $1', '(size)', '(''small'')', '(''large'')', '(NULL)');
-- groups and joins by floats; of 0 and -0 PostgreSQL shows what came first
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM t GROUP BY %1$s', '{x,f,"f, x",x * 2,f + 1,"d & 1, x"}');
SELECT check_query('SELECT f, x, count(*) FROM t GROUP BY ROLLUP (f, x)');
SELECT check_matrix('SELECT DISTINCT %s FROM t', '{x,"f, d & 1"}');
SELECT check_matrix('SELECT %1$s, count(*) FROM zeros WHERE id <> 2 GROUP BY 1', '{x,f}');
SELECT check_matrix('SELECT %1$s, count(*) FROM zeros GROUP BY 1', '{x,f}', expect => 'fallback');
SELECT check_matrix('SELECT count(*), sum(a.id), sum(b.id) FROM %2$s ON a.%1$s WHERE b.id < 200', '{x = b.x,f = b.f,x = b.f,f = b.x}', '{t a JOIN t b,t a JOIN zeros b,zeros a JOIN zeros b}');
SELECT check_query('SELECT count(*), count(b.id) FROM t a LEFT JOIN zeros b ON a.x = b.x');
SELECT check_query('SELECT count(*), sum(id) FROM t WHERE x IN (SELECT x FROM zeros)');
