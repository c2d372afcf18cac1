-- Values that are only handed through (jsonb, arrays, ranges, name, character without a length, numerics without a form) as group keys:
-- the device groups those of the same bytes, and PostgreSQL's plan answers where equal ones have different bytes.
CREATE SCHEMA groups_by_bytes;
SET search_path = groups_by_bytes, public;
SET client_min_messages = warning;
SET gpuscan.offload = force;
CREATE TABLE t (id int PRIMARY KEY, k int, j jsonb, x int[], s text[], r int4range, rn numrange, n name, b bpchar, f float8, m numeric, a text, ts timestamptz, p point, doc json);
INSERT INTO t SELECT i, i % 7, jsonb_build_object('k', i % 5, 'l', jsonb_build_array(i % 3, 'x')), ARRAY[i % 4, NULL, i % 3], ARRAY['a' || i % 6, 'b'], int4range(i % 5, i % 5 + i % 3), numrange(i % 4, i % 4 + 1.5), 'n' || i % 20, 'b' || i % 8,
    i % 9 / 8.0, i % 11 + 0.25, 'a,' || i % 5 || ',c', timestamptz '2024-01-01 00:00+00' + i * interval '7 hours', point(i % 3, 1), json_build_object('id', i) FROM generate_series(1, 3000) i;
INSERT INTO t (id, k) VALUES (3001, 1), (3002, NULL);
INSERT INTO t VALUES (3003, 2, 'null', '{}', '{}', 'empty', '(,)', '', '', 'Infinity', 1e30, '', 'infinity', '(Infinity,0)', '[]'), (3004, 3, '[]', '[0:1]={1,2}', '{NULL,""}', '(,5]', 'empty', repeat('n', 63), repeat('b', 3000), 'NaN', 0, 'ßä€', '-infinity', '(NaN,0)', 'null'),
    (3005, 4, jsonb_build_object('long', repeat('x', 9000)), (SELECT array_agg(i) FROM generate_series(1, 3000) i), ARRAY[repeat('y', 9000)], NULL, NULL, NULL, NULL, -1e300, -1e-20, NULL, NULL, NULL, to_json(repeat('z', 9000)));
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) t;
SELECT check_matrix('SELECT %1$s, count(*), sum(k), min(id), count(%1$s) FROM t %2$s GROUP BY 1', '{j,x,s,r,rn,n,b}', '{"","WHERE k > 2","WHERE id < 0","WHERE id > 3000","WHERE k IS NULL"}');
SELECT check_matrix('SELECT %s, %s, count(*) FROM t GROUP BY 1, 2', '{j,x,r,n,b}', '{k,n,s,a,rn}');
SELECT check_matrix('SELECT DISTINCT %s FROM t WHERE %s', '{j,"x, k","r, rn","n, b"}', '{"id > 0","k = 3"}');
SELECT check_matrix('SELECT j, x, %s, count(DISTINCT a) FROM t GROUP BY %s', '{sum(k)}', '{"1, 2","ROLLUP (1, 2)","GROUPING SETS ((1, 2), (2), (1), ())"}');
-- no group is dropped by the device, since another one may be a part of it
SELECT check_matrix('SELECT %s, count(*) FROM t GROUP BY 1 HAVING %s', '{j,x,n,b}', '{"count(*) > 100","sum(k) > 1000 AND min(id) < 5","max(id) > 3000"}');
SELECT check_matrix('SELECT %1$s, min(id) FROM t GROUP BY 1 ORDER BY %2$s LIMIT 4', '{j,x,n,b}', '{"2","count(*), 2 DESC","2 DESC"}', expect => 'any');
-- joined, and as what outer joins add
SELECT check_matrix('SELECT l.%s, r.k, count(*), count(r.j) FROM t l %s JOIN (SELECT * FROM t WHERE id %% 2 = 0) r ON l.id = r.id GROUP BY 1, 2', '{j,x,n,b}', '{"",LEFT,FULL,RIGHT}');
SELECT check_matrix('SELECT r.%s, count(*) FROM t l %s JOIN (SELECT * FROM t WHERE id %% 2 = 0) r ON l.id = r.id GROUP BY 1', '{j,x,n,b}', '{"",LEFT}');
-- columns that depend on the keys, of types without equality
SELECT check_query('SELECT l.id, l.doc, l.p, l.j, count(*) FROM t l JOIN t r ON l.k = r.k AND r.id < 30 GROUP BY l.id'), check_query('SELECT id, p, doc, sum(k) FROM t GROUP BY id HAVING sum(k) > 5', 'any');

-- what PostgreSQL evaluates for the cache; twice, since the second time it comes from there
CREATE TABLE made (e text);
INSERT INTO made VALUES ('j -> ''k'''), ('j - ''k'''), ('j || ''{"m": 1}'''), ('jsonb_strip_nulls(j)'), ('string_to_array(a, '','')'), ('regexp_match(a, ''[0-9]'')'), ('regexp_split_to_array(a, '','')'), ('int4range(k, k + 3, ''[]'')'), ('numrange(-1, m)'), ('tstzrange(ts, ''infinity'')'),
    ('name(a)'), ('n::bpchar'), ('b || n'), ('x || k'), ('f::numeric'), ('m::float4::numeric'), ('sqrt(abs(m))'), ('ln(abs(m) + 1)'), ('power(m, 0.5 * (k % 2))'), ('log(2, abs(m) + 1)'), ('exp(k::numeric)'), ('CASE WHEN k > 3 THEN j END'), ('x[1:2]'),
    ('date_trunc(''month'', ts, ''America/New_York'')'), ('timetz(ts)'), ('NULLIF(x, ''{}'')'), ('COALESCE(j -> ''k'', ''0'')'), ('jsonb_build_object(''k'', k)'), ('to_jsonb(ts)'), ('array_remove(x, 1)');
CREATE FUNCTION top(query text) RETURNS text LANGUAGE plpgsql AS $$ -- whose node the topmost one is
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN COALESCE(plan #>> '{0,Plan,Custom Plan Provider}', 'PostgreSQL');
END $$;
SELECT top(format('SELECT %1$s AS v, count(%1$s), sum(k) FROM t GROUP BY 1', e)), count(*) FROM (SELECT * FROM made UNION SELECT unnest('{j,x,s,r,rn,n,b}'::text[])) s GROUP BY 1;
SELECT e, check_query(format('SELECT %s AS v, count(*), sum(k), max(id) FROM t WHERE id <= 3000 GROUP BY 1', e), 'any') AS first, check_query(format('SELECT %s AS v, count(*) FROM t WHERE id < 2900 GROUP BY 1', e)) AS again FROM made;
-- ... and only whether there is something
SELECT check_matrix('SELECT count(%1$s), count(%1$s) FILTER (WHERE k > 2), count(*) FROM t WHERE id < 3001 %2$s', ARRAY(SELECT e FROM made) || '{"point(f, k)",k::bit(8),"parse_ident(n)","daterange(ts::date, ts::date + 1)"}', '{"","GROUP BY k"}');
SELECT check_matrix('SELECT l.k, count(%s) FROM t l %s JOIN (SELECT * FROM t WHERE id %% 3 = 0) r ON l.id = r.id GROUP BY 1', '{"r.j -> ''k''","int4range(r.k, r.k + 1)","r.x || r.k","concat(r.n)","COALESCE(r.j -> ''k'', ''0'')"}', '{"",LEFT}', expect => 'any');
SELECT check_query('SELECT count(int4range(k, 3)) FROM t', 'any'), check_query('SELECT count(int4range(k, 3)) FROM t WHERE k < 3', 'any');
SET TimeZone = 'Asia/Kathmandu';
SELECT check_query('SELECT timetz(ts), date_trunc(''day'', ts, ''Europe/Berlin''), count(*) FROM t WHERE id < 2900 GROUP BY 1, 2');
RESET TimeZone;

-- Equal values in different bytes: PostgreSQL's plan, and the next time it is not tried.
CREATE TABLE tied (id int, j jsonb, f float8[], b bpchar, m numeric, k int);
INSERT INTO tied SELECT i, ('{"v": ' || CASE i % 3 WHEN 0 THEN '1' WHEN 1 THEN '1.0' ELSE '2' END || '}')::jsonb, ARRAY[CASE i % 4 WHEN 0 THEN '-0'::float8 ELSE i % 4 END], 'x' || CASE i % 5 WHEN 0 THEN '  ' WHEN 1 THEN ' ' ELSE i % 5 || ' ' END, CASE i % 3 WHEN 0 THEN 4 WHEN 1 THEN 4.00 END, i % 2
    FROM generate_series(1, 600) i;
INSERT INTO tied VALUES (601, NULL, '{0}', NULL, NULL, 0);
VACUUM (FREEZE, ANALYZE) tied;
CREATE FUNCTION fallbacks(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE before bigint := (SELECT fallbacks FROM gpuscan.stat); answer text := check_query(query, 'any');
BEGIN
    RETURN format('%s, %s', answer, (SELECT fallbacks FROM gpuscan.stat) - before);
END $$;
SELECT fallbacks('SELECT count(*) FROM (SELECT f, count(*) AS n FROM tied WHERE id < 601 GROUP BY f HAVING count(*) > 140) s'); -- no tie
SELECT fallbacks(q) AS first, fallbacks(q) AS again FROM unnest(ARRAY['SELECT count(*) FROM (SELECT j FROM tied GROUP BY j) s',
    'SELECT count(*), min(n) FROM (SELECT f, count(*) AS n FROM tied GROUP BY f HAVING count(*) > 150) s', -- {-0} and {0} are 151 rows
    'SELECT b || ''.'', n FROM (SELECT b, count(*) AS n FROM tied GROUP BY b ORDER BY n DESC LIMIT 1) s',
    'SELECT k, trim_scale(r), n FROM (SELECT sqrt(m) AS r, k, count(*) AS n FROM tied GROUP BY ROLLUP (1, 2)) s',
    'SELECT v = ''1'', n FROM (SELECT j -> ''v'' AS v, count(DISTINCT k) AS n FROM tied GROUP BY 1) s']) q;
-- (a value of the column is enough for rows to be delivered, also where this query has no tie)
SELECT check_query('SELECT j -> ''v'' = ''2'', n FROM (SELECT j, count(*) AS n FROM tied WHERE id % 3 = 2 GROUP BY 1) s', 'any');

-- ... or under a collation by which texts are equal that are not the same; rows of a plan; a key that is NULL.
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE cases AS SELECT i AS id, ARRAY[CASE i % 3 WHEN 0 THEN 'x' WHEN 1 THEN 'X' ELSE 'y' END] AS a, ARRAY[CASE i % 3 WHEN 0 THEN 'x' WHEN 1 THEN 'X' ELSE 'y' END] COLLATE blind AS b FROM generate_series(1, 300) i;
VACUUM (FREEZE, ANALYZE) cases;
SELECT check_matrix('SELECT %s, n FROM (SELECT %s AS v, count(*) AS n FROM cases GROUP BY 1) s', '{"lower(v[1])"}', '{a,b,a COLLATE blind,"b COLLATE \"C\"",a || ARRAY[''z'' COLLATE blind]}', expect => 'any');
SELECT refusals('SELECT a COLLATE blind AS v, count(*) FROM cases GROUP BY 1');
SELECT check_query('SELECT j, count(*) FROM (SELECT id, j FROM tied ORDER BY id LIMIT 500) s JOIN cases USING (id) GROUP BY 1 HAVING count(*) > 1', 'any'), check_query('SELECT NULL::jsonb AS v, count(*) FROM cases GROUP BY 1', 'any');

-- Types whose equality is a user's, or calls one, stay with PostgreSQL.
CREATE TYPE colour AS ENUM ('red', 'green');
CREATE TYPE pair AS (a int, b text);
CREATE TABLE own AS SELECT i AS id, ARRAY[(ARRAY['red', 'green'])[1 + i % 2]::colour] AS c, ROW(i % 3, 'x')::pair AS q, point(i % 3, i % 4) AS p, path '((0,0),(1,1))' AS h FROM generate_series(1, 500) i;
CREATE FUNCTION same_x(point, point) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1[0] = $2[0]';
CREATE FUNCTION hash_x(point) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT hashfloat8($1[0])';
CREATE OPERATOR === (LEFTARG = point, RIGHTARG = point, FUNCTION = same_x, HASHES);
CREATE OPERATOR CLASS by_x DEFAULT FOR TYPE point USING hash AS OPERATOR 1 ===, FUNCTION 1 hash_x(point);
VACUUM (FREEZE, ANALYZE) own;
SELECT check_query('SELECT c, count(*) FROM own GROUP BY 1', 'any'), check_query('SELECT q, count(*) FROM own GROUP BY 1', 'any'), check_query('SELECT count(*) FROM (SELECT p FROM own GROUP BY 1) s', 'any');
SELECT count(*) AS groups FROM (SELECT p FROM own GROUP BY 1) s;
SELECT r FROM refusals('SELECT c, count(*) FROM own GROUP BY 1') r UNION SELECT r FROM refusals('SELECT p, count(*) FROM own GROUP BY 1') r ORDER BY 1;
DROP OPERATOR CLASS by_x USING hash;
DROP OPERATOR FAMILY by_x USING hash;

-- Who may not compare the keys gets PostgreSQL's error; whoever may not see rows learns nothing of their keys.
CREATE ROLE bytes_reader;
GRANT USAGE ON SCHEMA groups_by_bytes TO bytes_reader;
GRANT SELECT ON t, tied TO bytes_reader;
REVOKE EXECUTE ON FUNCTION jsonb_eq(jsonb, jsonb) FROM PUBLIC;
ALTER TABLE tied ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON tied FOR SELECT TO bytes_reader USING (id % 3 < 2 AND id < 20);
SET ROLE bytes_reader;
SELECT j, count(*) FROM t GROUP BY 1;
SELECT f, count(*) FROM tied GROUP BY 1 ORDER BY 1;
RESET ROLE;
GRANT EXECUTE ON FUNCTION jsonb_eq(jsonb, jsonb) TO PUBLIC;

-- Partitions share the dictionary; a cursor, a prepared statement, rows of one's own.
CREATE TABLE parts (id int, j jsonb, x int[]) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE part2 (x int[], spare int, j jsonb, id int);
ALTER TABLE part2 DROP COLUMN spare;
ALTER TABLE parts ATTACH PARTITION part2 FOR VALUES FROM (1000) TO (9000);
INSERT INTO parts SELECT id, j, x FROM t WHERE id < 3000;
VACUUM (FREEZE, ANALYZE) parts;
SELECT check_matrix('SELECT %s, count(*) FROM parts GROUP BY 1', '{j,x,"j -> ''l''","x || id % 3"}', '{""}');
SELECT check_prepared('device', 'SELECT j, count(*) FROM parts WHERE id < $1 GROUP BY 1', '(int)', '(100)', '(2000)');
BEGIN;
INSERT INTO parts VALUES (1, '{"k": 1.0}', '{7}'), (2, '{"k": 1.0}', '{7}');
SELECT check_query('SELECT j, count(*) FROM parts GROUP BY 1'), check_query('SELECT x, count(*) FROM parts GROUP BY 1');
ROLLBACK;
DROP SCHEMA groups_by_bytes CASCADE;
DROP ROLE bytes_reader;
