-- Set operations, and aggregations over UNION ALL: each side on a device, as rows, sets or groups, and PostgreSQL's answer.
CREATE SCHEMA setops;
SET client_min_messages = warning;
SET search_path = setops, public;
SET gpuscan.device = host;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE a AS SELECT i AS id, nullif(i % 20, 7) AS k, nullif('text ' || i % 13, 'text 7') AS t, (i % 50 / 4.0)::numeric(10,2) AS n, date '2024-01-01' + i % 9 AS d, (i % 8)::float8 / 4 AS x, (i % 6)::int2 AS s, (i * 1000000007::bigint) % 1000 AS b, i % 3 = 0 AS f, ('c' || i % 4)::char(3) AS c, i::numeric / 3 AS free FROM generate_series(1, 4000) i;
CREATE TABLE b AS SELECT i AS id, nullif(i % 25, 9) AS k, nullif('text ' || i % 17, 'text 5') AS t, (i % 60 / 4.0)::numeric(10,2) AS n, date '2024-01-01' + i % 11 AS d, (i % 9)::float8 / 4 AS x, (i % 7)::int2 AS s, (i * 1000000007::bigint) % 900 AS b, i % 2 = 0 AS f, ('c' || i % 5)::char(3) AS c, i::numeric / 3 AS free FROM generate_series(1, 3000) i;
CREATE TABLE c AS SELECT * FROM a WHERE id < 50;
CREATE TABLE empty (LIKE a);
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 4 AS name FROM generate_series(0, 22) i;
CREATE TABLE parts (LIKE a) PARTITION BY LIST (s);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0, 1, 2);
CREATE TABLE parts_1 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM a WHERE id % 2 = 0;
VACUUM (FREEZE, ANALYZE);

-- a column that is declared NOT NULL, and NULL by an outer join
CREATE TABLE declared (k int NOT NULL);
INSERT INTO declared SELECT generate_series(0, 9);
VACUUM (ANALYZE) declared;
SELECT check_matrix('SELECT x.k FROM a %1$s JOIN declared x ON a.k = x.k %2$s SELECT x.k FROM b %1$s JOIN declared x ON b.k = x.k', '{LEFT,FULL,INNER}', '{INTERSECT,EXCEPT,UNION}', expect => 'any');

-- a constant that is an error, in a column that nobody needs
SELECT check_query('SELECT k::text, count(*), min(k::text) FROM (SELECT k, ''1e141''::float8::int8 AS o FROM a WHERE (SELECT max(id) FROM b) > id UNION ALL SELECT k, ''1e141''::float8::int8 FROM a WHERE (SELECT max(id) FROM b) > id) s GROUP BY k::text', 'any');

-- sets; the same with duplicates; rows of UNION ALL
SELECT check_matrix('SELECT k, t FROM a %s SELECT k, t FROM b', '{UNION,INTERSECT,EXCEPT,UNION ALL,INTERSECT ALL,EXCEPT ALL}');
SELECT check_matrix('SELECT %2$s FROM a %1$s SELECT %2$s FROM b', '{UNION,INTERSECT,EXCEPT,EXCEPT ALL}', '{k,t,n,d,s,b,f,c,"id, n, d","k, t, n, d, x","id, f, c",free,"upper(t)","t || ''!'', k + 1","x","k, ''constant''","NULL::int, s"}');
SELECT check_matrix('SELECT k, t FROM a %s SELECT k, t FROM %s', '{UNION,INTERSECT,EXCEPT,UNION ALL,INTERSECT ALL,EXCEPT ALL}', '{"a WHERE n > 5",empty,parts,"b WHERE id > 100000","b JOIN dim USING (k) WHERE name <> ''name 1''","(SELECT DISTINCT k, t FROM b) q","b GROUP BY k, t","a LIMIT 0"}');
SELECT check_matrix('%s', '{"SELECT k FROM a UNION (SELECT k FROM b EXCEPT ALL SELECT k FROM c)", "SELECT k FROM a EXCEPT (SELECT k FROM b UNION ALL SELECT k FROM c)", "(SELECT k FROM a INTERSECT ALL SELECT k FROM b) EXCEPT SELECT k FROM c", "SELECT k FROM a EXCEPT ALL (SELECT k FROM b INTERSECT SELECT k FROM c)", "(SELECT k FROM a EXCEPT ALL SELECT k FROM b) UNION SELECT k FROM c", "SELECT k, t FROM a UNION SELECT k, t FROM b UNION SELECT k, t FROM c ORDER BY 1, 2 LIMIT 7",
    "SELECT s FROM a UNION SELECT k FROM b", "SELECT s FROM a INTERSECT SELECT b FROM b", "SELECT c FROM a UNION SELECT t FROM b", "SELECT t FROM a EXCEPT SELECT c FROM b", "SELECT d FROM a UNION SELECT d + interval ''1 hour'' FROM b", "SELECT x FROM a UNION SELECT s FROM b", "SELECT n FROM a UNION SELECT free FROM b WHERE id < 100", "SELECT count(*) FROM (SELECT k, t FROM a UNION SELECT k, t FROM b) u",
    "SELECT u.k, count(*) FROM (SELECT k FROM a UNION SELECT k FROM b) u JOIN a USING (k) GROUP BY u.k", "SELECT k FROM a UNION SELECT k FROM dim UNION VALUES (1), (1000), (NULL)", "SELECT id % 5, count(*) FROM a GROUP BY 1 UNION SELECT k, 200 FROM b", "WITH u AS (SELECT k FROM a UNION SELECT k FROM b) SELECT count(*), sum(k) FROM u", "SELECT name FROM dim WHERE k IN (SELECT k FROM a INTERSECT SELECT k FROM b)", "SELECT (SELECT count(*) FROM (SELECT k FROM a EXCEPT SELECT k FROM b) e), count(*) FROM a",
    "SELECT DISTINCT k FROM (SELECT k, t FROM a UNION ALL SELECT k, t FROM b) u", "SELECT k FROM parts UNION SELECT k FROM parts_1 UNION SELECT k FROM b", "SELECT row_number() OVER (ORDER BY k), k FROM (SELECT k FROM a UNION SELECT k FROM b) u"}'::text[]);
-- as joins: chains, sides that are sets already, columns of every nullability, joins within a side
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN small AS int CHECK (VALUE < 1000000);
CREATE TABLE p (id int NOT NULL, k int, e mood, u uuid, iv interval, v small, w numeric(30,4), z timestamptz, o oid, m money, ba bytea);
INSERT INTO p SELECT i, nullif(i % 30, 3), (ARRAY['sad','ok',NULL]::mood[])[i % 3 + 1], nullif(('00000000-0000-0000-0000-0000000000' || 10 + i % 40)::uuid, '00000000-0000-0000-0000-000000000020'), CASE WHEN i % 5 > 0 THEN (i % 4 * 30) * interval '1 day' END, nullif(i % 12, 4), nullif(i % 9, 2) * 12345678901234567890.5, '2024-01-01'::timestamptz + i % 7 * interval '1 hour', nullif(i % 6, 0), i % 4, decode(lpad(to_hex(i % 20), 2, '0'), 'hex') FROM generate_series(0, 999) i;
CREATE TABLE q (LIKE p);
INSERT INTO q SELECT id + 300, nullif(k, 5), nullif(e, 'ok'), u, CASE WHEN id % 5 > 1 THEN (id % 3) * interval '1 month' END, v + 3, w, z + interval '3 hours', o, m, ba || '' FROM p WHERE id % 7 > 2;
VACUUM (FREEZE, ANALYZE) p, q;
SELECT check_matrix('SELECT %2$s FROM p %1$s SELECT %2$s FROM q', '{UNION,INTERSECT,EXCEPT}', '{id,k,e,u,v,w,z,o,m,ba,"id, k","k, e","u, k, w","k, v, w, z","e, k, u, v, w, z, o","k, id > 500","k IS NULL, e","coalesce(k, 0), v","k, 7 AS seven, NULL::int","id, NULL::text","1 AS one"}');
SELECT check_matrix('SELECT %2$s FROM p %1$s SELECT %2$s FROM q', '{UNION,INTERSECT,EXCEPT}', '{iv}', expect => 'any');
SELECT check_matrix('%s', '{"SELECT k FROM p EXCEPT SELECT k FROM q EXCEPT SELECT k FROM a", "SELECT k FROM p EXCEPT (SELECT k FROM q UNION SELECT k FROM a UNION ALL SELECT id FROM c)", "SELECT id FROM p INTERSECT SELECT id FROM q INTERSECT SELECT id FROM a", "SELECT id FROM p INTERSECT (SELECT id FROM q EXCEPT SELECT k FROM a)", "SELECT id FROM p INTERSECT (SELECT id FROM q EXCEPT ALL SELECT k FROM a)", "SELECT id FROM p EXCEPT (SELECT id FROM q EXCEPT SELECT id FROM a WHERE id < 500)", "(SELECT k FROM p UNION SELECT k FROM q) EXCEPT SELECT k FROM c",
    "SELECT k FROM p UNION (SELECT id FROM q INTERSECT SELECT id FROM c) UNION SELECT id FROM a WHERE id < 60", "SELECT k FROM a UNION SELECT k FROM b UNION SELECT k FROM c UNION SELECT k FROM p UNION SELECT k FROM q", "(SELECT k FROM p EXCEPT SELECT k FROM q) UNION ALL (SELECT k FROM q EXCEPT SELECT k FROM p) ORDER BY 1", "(SELECT DISTINCT k FROM p) EXCEPT SELECT DISTINCT k FROM q", "(SELECT DISTINCT k FROM p) INTERSECT ALL (SELECT k FROM q)", "(SELECT DISTINCT ON (k) k FROM p ORDER BY k) UNION SELECT k FROM q", "(SELECT id FROM p INTERSECT SELECT id FROM q) EXCEPT ALL SELECT id FROM a WHERE id < 400",
    "SELECT p.k, name FROM p JOIN dim USING (k) WHERE id > 10 INTERSECT SELECT q.k, name FROM q JOIN dim ON dim.k = q.k WHERE w > 0", "SELECT p.k, name FROM p LEFT JOIN dim USING (k) EXCEPT SELECT q.k, name FROM q JOIN dim ON dim.k = q.k", "SELECT id, id FROM p INTERSECT SELECT k, id FROM a", "SELECT k, k FROM p EXCEPT SELECT k, v::int FROM q", "SELECT id FROM p EXCEPT SELECT id FROM p", "SELECT k FROM p UNION SELECT k FROM p", "SELECT k FROM p INTERSECT SELECT k FROM q ORDER BY k DESC NULLS LAST LIMIT 5", "SELECT id + 1 FROM p EXCEPT SELECT k FROM q", "SELECT id FROM p WHERE 100 / (id + 1) > 2 EXCEPT SELECT k FROM q",
    "SELECT k FROM p INTERSECT SELECT k FROM q WHERE k > (SELECT min(k) FROM c)", "SELECT k, (SELECT count(*) FROM (SELECT id FROM a WHERE a.k = dim.k EXCEPT SELECT id FROM b WHERE b.k = dim.k) x) FROM dim", "SELECT count(*), sum(k) FROM (SELECT k, e FROM p EXCEPT SELECT k, e FROM q) x", "SELECT x.k, count(*) FROM (SELECT k FROM p UNION SELECT k FROM q) x JOIN a USING (k) GROUP BY x.k", "SELECT k FROM parts EXCEPT SELECT k FROM p", "SELECT id FROM p EXCEPT SELECT id FROM parts", "SELECT id FROM p INTERSECT VALUES (1), (2), (NULL)", "SELECT id FROM p TABLESAMPLE SYSTEM (100) EXCEPT SELECT id FROM q"}'::text[], expect => 'any');
SELECT check_prepared('device', 'SELECT k, e FROM p WHERE id < $1 INTERSECT SELECT k, e FROM q WHERE w > $2', '(int, numeric)', '(500, 1)', '(NULL, 0)', '(1000, -5)');
SELECT check_prepared('device', 'SELECT k FROM p WHERE id < $1 UNION SELECT k FROM q WHERE id > $2', '(int, int)', '(500, 900)', '(0, NULL)', '(0, 0)');
BEGIN;
CREATE ROLE setops_guest;
GRANT USAGE ON SCHEMA setops TO setops_guest;
GRANT SELECT ON p, q TO setops_guest;
ALTER TABLE q ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON q TO setops_guest USING (id < 400);
SET LOCAL ROLE setops_guest;
SELECT check_matrix('SELECT id FROM p %s SELECT id FROM q', '{UNION,INTERSECT,EXCEPT}');
PREPARE difference AS SELECT count(*) FROM (SELECT id FROM p EXCEPT SELECT id FROM q) x;
SET LOCAL plan_cache_mode = force_generic_plan;
EXECUTE difference;
RESET ROLE;
EXECUTE difference;
REVOKE SELECT ON q FROM setops_guest;
SET LOCAL ROLE setops_guest;
EXECUTE difference;
ROLLBACK;
DEALLOCATE difference;
-- NULLs are equal, and so are all rows without columns
SELECT check_matrix('SELECT nullif(k, k), t FROM a WHERE t IS NULL %s SELECT nullif(k, k), t FROM b WHERE t IS NULL OR k = 3', '{UNION,INTERSECT,EXCEPT,UNION ALL,INTERSECT ALL,EXCEPT ALL}');
SELECT check_matrix('SELECT FROM c %s SELECT FROM c WHERE id < 9', '{UNION ALL,INTERSECT ALL,EXCEPT ALL}', expect => 'any');

-- groups of unions
SELECT check_matrix('SELECT %s FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u', '{"count(*)", "count(k), count(t), sum(k), sum(s), sum(b), sum(n)", "avg(k), avg(s), avg(b), avg(n)", "min(k), max(t), min(d), max(n), min(c), max(b)", "bool_and(f), bool_or(f), every(k > 0), bit_and(k), bit_or(b), bit_xor(s)", "count(*) FILTER (WHERE f), sum(n) FILTER (WHERE t LIKE ''%1''), avg(k) FILTER (WHERE false)", "sum(k) + 1, avg(n) * 2, max(t) || ''!''", "approx(sum(x))", "count(DISTINCT k)", "stddev(k), sum(k)", "min(x), max(x)", "sum(free), avg(free)", "string_agg(t, '','' ORDER BY id)", "sum(CASE WHEN f THEN n END), count(nullif(k, 3))"}'::text[]);
SELECT check_matrix('SELECT %2$s FROM (SELECT * FROM a WHERE n > 3 UNION ALL SELECT * FROM b UNION ALL SELECT * FROM c) u WHERE k <> 5 %1$s', '{"GROUP BY k", "GROUP BY k HAVING count(*) > 300 AND avg(n) > 5", "GROUP BY k ORDER BY k NULLS FIRST LIMIT 3", "GROUP BY 1 HAVING bool_or(f)"}', '{"k, count(*), sum(n), avg(b)", "k, max(t), min(d)"}');
SELECT check_matrix('SELECT %s FROM (SELECT id, k, t, n, x, c, f FROM a UNION ALL SELECT id, k, t, n, x, c, f FROM b) u GROUP BY %1$s', '{t,"k, t",c,f,"upper(t)","k % 3","n","CASE WHEN f THEN t ELSE ''none'' END","x","round(n)"}');
SELECT check_matrix('SELECT %s', '{"t, count(*), grouping(t), sum(k) FROM (SELECT k, t FROM a UNION ALL SELECT k, t FROM b) u GROUP BY ROLLUP (t)", "t, k, count(*), rank() OVER (ORDER BY count(*), k, t) FROM (SELECT k, t FROM a UNION ALL SELECT k, t FROM b) u GROUP BY t, k", "DISTINCT count(*) FROM (SELECT k, t FROM a UNION ALL SELECT k, t FROM b) u GROUP BY t, k", "name, count(*), sum(n) FROM (SELECT name, n FROM a JOIN dim USING (k) UNION ALL SELECT name, n FROM b JOIN dim USING (k) WHERE f) u GROUP BY name",
    "src, count(*), sum(n) FROM (SELECT ''a''::text AS src, n FROM a UNION ALL SELECT ''b'', n FROM b) u GROUP BY src", "k, count(*) FROM (SELECT k, n FROM a UNION ALL SELECT k, n FROM parts UNION ALL SELECT k, n FROM empty) u WHERE n < 9 GROUP BY k", "k, sum(v) FROM (SELECT k, n AS v FROM a UNION ALL SELECT s, b FROM b) u GROUP BY k", "k, sum(c) FROM (SELECT k, count(*) AS c FROM a GROUP BY k UNION ALL SELECT k, id FROM b LIMIT 100000) u GROUP BY k",
    "k, sum(c) FROM (SELECT k, count(*) AS c FROM a GROUP BY k UNION ALL SELECT k, max(id) FROM b GROUP BY k) u GROUP BY k", "name, u.c FROM dim JOIN (SELECT k, count(*) AS c FROM (SELECT k FROM a UNION ALL SELECT k FROM b) v GROUP BY k) u USING (k)", "k, (SELECT sum(n) FROM (SELECT k, n FROM a UNION ALL SELECT k, n FROM b) u WHERE u.k = dim.k) FROM dim", "k, (SELECT count(*) FROM (SELECT FROM a WHERE a.k = dim.k UNION ALL SELECT FROM b WHERE b.k = dim.k + 1) u) FROM dim WHERE k < 4",
    "count(*) FROM (SELECT k FROM a UNION ALL SELECT k FROM b) u WHERE k IN (SELECT k FROM dim WHERE name = ''name 2'')", "count(*), max(k) FROM (SELECT k FROM a UNION ALL SELECT k FROM b) u WHERE k > (SELECT avg(k) FROM dim)", "u, count(*) FROM (SELECT k, t FROM c UNION ALL SELECT k, t FROM c) u GROUP BY u", "count(*) FROM (SELECT k, t FROM a UNION ALL SELECT k, t FROM b) u HAVING sum(k) > 1e9", "k, random() < 2, count(*) FROM (SELECT k FROM a UNION ALL SELECT k FROM b) u GROUP BY k",
    "g, count(*) FROM (SELECT k, generate_series(1, 2) AS g FROM c UNION ALL SELECT k, 7 FROM b) u GROUP BY g", "k + 1, sum(n) FROM (SELECT k, n FROM a UNION ALL SELECT k, n FROM b) u GROUP BY k + 1 HAVING k + 1 > 3", "count(*) FROM (SELECT k FROM a UNION ALL (SELECT k FROM b UNION ALL SELECT k FROM c)) u"}'::text[], expect => 'any');
-- over views, with the privileges of their owners
CREATE VIEW both_tables AS SELECT id, k, t, n FROM a UNION ALL SELECT id, k, t, n FROM b;
CREATE VIEW guarded WITH (security_barrier) AS SELECT id, k, t, n FROM a WHERE k < 9 UNION ALL SELECT id, k, t, n FROM b;
SELECT check_matrix('SELECT k, count(*), sum(n), min(t) FROM %s GROUP BY k', '{both_tables,guarded}');
CREATE ROLE setops_reader;
GRANT USAGE ON SCHEMA setops TO setops_reader;
GRANT SELECT (k, n) ON both_tables TO setops_reader;
SET ROLE setops_reader;
SELECT check_matrix('SELECT %s FROM both_tables GROUP BY 1', '{"k, sum(n)"}');
SELECT check_matrix('SELECT %s FROM both_tables GROUP BY 1', '{"k, max(t)"}', expect => 'any');
SELECT check_query('SELECT k FROM a UNION SELECT k FROM b', 'any');
RESET ROLE;
DROP OWNED BY setops_reader;
DROP ROLE setops_reader;

-- parameters, row security
SELECT check_prepared('device', 'SELECT k, sum(n) FROM (SELECT k, n FROM a WHERE id < $1 UNION ALL SELECT k, n FROM b WHERE t = $2) u WHERE k > $3 GROUP BY k', '(int, text, int)', '(100, ''text 3'', 2)', '(0, NULL, 0)', '(9999, ''text 1'', NULL)');
SELECT check_prepared('device', 'SELECT k, t FROM a WHERE id < $1 EXCEPT SELECT k, t FROM b WHERE id > $2', '(int, int)', '(100, 50)', '(5000, 0)', '(NULL, 3)');

-- what the device's nodes deliver: the whole, each side as a set, or groups
CREATE FUNCTION device_nodes(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT format('%s of %s%s%s', CASE WHEN n ? 'Group Key' THEN 'groups' ELSE 'rows' END, n #>> '{Steps,0,Source}', ' where ' || (n #>> '{Steps,0,Filter}'), (SELECT string_agg(format(', %s join with %s', lower(s ->> 'Join Type'), s ->> 'Source'), '') FROM jsonb_array_elements(n -> 'Steps') s WHERE s ? 'Join Type'))
        FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuScan")') n;
END $$;
SET gpuscan.offload = force;
SELECT device_nodes('SELECT k, t FROM a INTERSECT SELECT k, t FROM b');
SELECT device_nodes('SELECT k FROM a UNION SELECT k FROM b WHERE f');
SELECT device_nodes('SELECT k FROM p EXCEPT (SELECT id FROM q UNION SELECT k FROM a)');
SELECT device_nodes('SELECT id, k, t, n, d FROM a INTERSECT SELECT id, k, t, n, d FROM b');
SELECT device_nodes('SELECT k + 1 FROM a EXCEPT SELECT k FROM b');
SELECT device_nodes('SELECT k FROM a EXCEPT ALL SELECT k FROM b');
SELECT device_nodes('SELECT x FROM a EXCEPT SELECT x FROM b');
SELECT device_nodes('SELECT k, t FROM a UNION ALL SELECT k, upper(t) FROM b');
SELECT device_nodes('SELECT k FROM a UNION (SELECT k FROM b EXCEPT ALL SELECT k FROM c)');
SELECT device_nodes('SELECT k FROM a EXCEPT (SELECT k FROM b UNION ALL SELECT k FROM c)');
SELECT device_nodes('SELECT k, count(*), avg(n) FROM (SELECT * FROM a UNION ALL SELECT * FROM b WHERE f) u WHERE t > ''text 3'' GROUP BY k HAVING count(*) > 5');
SELECT device_nodes('SELECT s, sum(c) FROM (SELECT 1 AS s, id AS c FROM a UNION ALL SELECT 2, id FROM b) u GROUP BY s');
SELECT device_nodes('SELECT k, count(DISTINCT t) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY k');
SELECT refusals('SELECT k, count(DISTINCT t) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY k');
SELECT device_nodes('SELECT x, count(*) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY x');
SELECT refusals('SELECT x, count(*) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY x');
SELECT device_nodes('SELECT w, count(*) FROM (SELECT d - timestamp ''2024-01-01'' AS w FROM a UNION ALL SELECT d - timestamp ''2023-01-01'' FROM b) u GROUP BY w');
SELECT refusals('SELECT w, count(*) FROM (SELECT d - timestamp ''2024-01-01'' AS w FROM a UNION ALL SELECT d - timestamp ''2023-01-01'' FROM b) u GROUP BY w');
SELECT device_nodes('SELECT d - timestamp ''2024-01-01'' FROM a EXCEPT SELECT d - timestamp ''2023-01-01'' FROM b');
SELECT refusals('SELECT d - timestamp ''2024-01-01'' FROM a EXCEPT SELECT d - timestamp ''2023-01-01'' FROM b');
SELECT device_nodes('SELECT k, sum(x) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY k');
SELECT refusals('SELECT k, sum(x) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY k');
SET gpuscan.exact_float = on;
SELECT device_nodes('SELECT k, sum(x) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY k');
SELECT refusals('SELECT k, sum(x) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) u GROUP BY k');
RESET gpuscan.exact_float;
-- by cost, of what is cached: a set first where it is small
SET gpuscan.offload = auto;
CREATE TABLE large AS SELECT i AS id, i % 10 AS k FROM generate_series(1, 200000) i;
VACUUM (FREEZE, ANALYZE) large;
SELECT gpuscan.prewarm('large') > 0 AS cached;
SELECT device_nodes('SELECT k, count(*) FROM (SELECT * FROM large UNION ALL SELECT * FROM large) u GROUP BY k');
SELECT device_nodes('SELECT k FROM large EXCEPT SELECT id FROM c');
SELECT device_nodes('SELECT id FROM large EXCEPT SELECT id FROM c');
SELECT device_nodes('SELECT id FROM c EXCEPT SELECT k FROM c');
-- ... a table of all rows only where it is not large beside the sets
CREATE TABLE wide AS SELECT i AS id, i % 10 AS k FROM generate_series(1, 300000) i;
ALTER TABLE wide ALTER id SET NOT NULL;
VACUUM (FREEZE, ANALYZE) wide;
SELECT gpuscan.prewarm('wide') > 0 AS cached;
SELECT device_nodes('SELECT id FROM wide EXCEPT SELECT id FROM large');
SELECT device_nodes('SELECT id FROM wide INTERSECT SELECT id FROM large');
SELECT device_nodes('SELECT id FROM wide INTERSECT SELECT id FROM c');
SELECT device_nodes('SELECT k FROM wide UNION SELECT k FROM large');
SET temp_file_limit = '1GB';
SELECT device_nodes('SELECT k FROM large WHERE id < 5 EXCEPT SELECT id FROM c');
RESET temp_file_limit;
RESET gpuscan.offload;
DROP SCHEMA setops CASCADE;
