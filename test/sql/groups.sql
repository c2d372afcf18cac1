-- GROUP BY: one group, none, very many; expressions as keys; HAVING, FILTER, DISTINCT, ORDER BY, LIMIT; sets of groupings.
CREATE SCHEMA groups;
SET search_path = groups, public;
CREATE TABLE t (id int, a int, b int2, c int8, n numeric(10,2), s text, d date);
INSERT INTO t SELECT i, i % 1000, nullif(i % 3, 1), i * 7919 % 100000 * 1000000007::int8, i % 500 / 4.0, 's' || i % 40, date '2022-01-01' + i % 400 FROM generate_series(1, 110000) i;
CREATE TABLE few AS SELECT * FROM t WHERE id <= 2000;
CREATE TABLE hollow (LIKE t);
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) few;

-- 100,000 groups, dense and sparse keys
SELECT check_matrix('SELECT %1$s, count(*), sum(n), min(id), max(s) FROM t GROUP BY %1$s', '{id,c}');
SELECT check_query('SELECT a, b, s, count(*), sum(c) FROM t GROUP BY a, b, s');
SELECT check_query('SELECT count(*), sum(id), sum(c), avg(n), min(s), max(d) FROM t');
-- none and one
SELECT check_matrix('SELECT %s', ARRAY['a, count(*) FROM hollow GROUP BY a', 'count(*), sum(a), avg(n), min(s) FROM hollow', 'a, count(*) FROM few WHERE id < 0 GROUP BY a', 'count(*), sum(a) FROM few WHERE id < 0', 'a, count(*) FROM few WHERE a = 5 GROUP BY a', 'b, count(*), sum(id) FROM few WHERE b IS NULL GROUP BY b', 'count(*) FROM hollow']);
SELECT check_query('SELECT count(*) FROM few HAVING count(*) > 5000', 'any');
SELECT check_query('SELECT count(*), sum(a) FROM few GROUP BY ()', 'any');
-- HAVING and expressions over aggregates are PostgreSQL's
SELECT check_matrix('SELECT %s', ARRAY['a, count(*) FROM few GROUP BY a HAVING count(*) > 1', 'b, sum(n) FROM few GROUP BY b HAVING b = 2 OR sum(n) > 10', 's, sum(n) / count(*), round(avg(n), 3), max(id) - min(id) FROM few GROUP BY s', 's || ''!'', upper(min(s)), sum(n) + 1 FROM few GROUP BY s',
    's FROM few GROUP BY s HAVING min(d) > ''2022-01-05'' AND max(s) < ''s30''', 'sum(n) * 2, count(*) + 1, coalesce(max(a), 0) FROM few', 'b, count(*) FROM few GROUP BY b ORDER BY count(*) DESC, b LIMIT 2', 's, sum(id) FROM few GROUP BY s ORDER BY s LIMIT 5 OFFSET 3']);
-- expressions as keys
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM few GROUP BY %1$s', ARRAY['a % 10', 'a + b', 'id / 100', 'a > 500', 'coalesce(b, -1)', 'CASE WHEN a < 10 THEN 1 WHEN a < 100 THEN 2 END', 'd + 1', 'n * 2', 'a % 10, b, s', '-c']);
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM few GROUP BY %1$s', ARRAY['s || ''x''', 'extract(month from d)', 'n / 3', 'a::text', 'length(s)', 'd::timestamp', 'a::float8', 'round(n)'], expect => 'any');
-- many integers are one double
CREATE TABLE large AS SELECT 9007199254740990 + i AS c, i FROM generate_series(0, 20) i;
VACUUM (ANALYZE) large;
SELECT check_matrix('SELECT %1$s AS k, count(*), sum(i) FROM large GROUP BY %1$s', ARRAY['c::float8', '(c + 1)::float8', 'CASE WHEN i > 3 THEN c END::float8', 'i::float8', 'c::float4', 'i::float4'], expect => 'any');
-- NULLs without a column
SELECT check_matrix('SELECT %s FROM few', ARRAY['DISTINCT NULL::text', 'DISTINCT NULL::bytea, b', 'DISTINCT NULL::numeric, NULL::uuid', 'max(NULL::text)', 'count(DISTINCT NULL::char(3)), count(NULL::text)', 'max(s) FILTER (WHERE NULL::text IN (s, ''s1'')), max(nullif(s, NULL))'], expect => 'any');
-- keys without aggregates, the same aggregate twice, keys that are not shown
SELECT check_matrix('SELECT %s', ARRAY['count(*), count(*), sum(a), sum(a) FROM few GROUP BY b', 'max(id) FROM few GROUP BY a, b', 'b, b, count(*) FROM few GROUP BY b', 'count(b), count(*), count(1) FROM few']);
SELECT check_matrix('SELECT %s', ARRAY['b FROM few GROUP BY b', 'DISTINCT b, s FROM few', 'DISTINCT count(*) FROM few GROUP BY a', '1 FROM few GROUP BY b', 'count(*) FROM (SELECT DISTINCT a, b FROM few) x', 's, count(*) FROM (SELECT s, a FROM few GROUP BY s, a) x GROUP BY s'], expect => 'any');
-- FILTER, DISTINCT, ordered and other aggregates
SELECT check_matrix('SELECT b, %s FROM few GROUP BY b', ARRAY['count(*) FILTER (WHERE a > 100)', 'sum(n) FILTER (WHERE s LIKE ''s1%''), count(*)', 'count(DISTINCT a)', 'sum(DISTINCT a)', 'string_agg(s, '','' ORDER BY id)', 'array_agg(a ORDER BY id)', 'stddev(a)', 'var_pop(n)', 'percentile_cont(0.5) WITHIN GROUP (ORDER BY a)',
    'bit_or(a)', 'approx(corr(a, id))', 'min(n) FILTER (WHERE n > 1000)', 'mode() WITHIN GROUP (ORDER BY a)', 'regr_count(a, id)'], expect => 'any');
SELECT check_matrix('SELECT a %% 5, b, count(*), sum(n) FROM few GROUP BY %s', ARRAY['ROLLUP (a % 5, b)', 'CUBE (a % 5, b)', 'GROUPING SETS ((a % 5), (b), ())'], expect => 'any');
-- two keys of which the planner makes the same one
SELECT check_matrix('SELECT b AS x, CASE WHEN true THEN b END AS y, s AS z, s COLLATE "default" AS w, count(*), sum(n) FROM few GROUP BY %s', ARRAY['CUBE (1, 2, 3, 4)', 'GROUPING SETS ((1, 3), (2), (4, 1))', '1, 2, 3, 4', '1, ROLLUP (3, 4), 2'], expect => 'any');
-- PostgreSQL tests HAVING of grouping sets as it is written, of other groups by cost
SELECT check_matrix('SELECT b, count(*) FROM few GROUP BY %s HAVING (1 / (count(*) - 2000) > 0 OR sum(n) + 1 > 0) AND count(*) > count(*)', ARRAY['b', 'ROLLUP (b)'], expect => 'any');
SELECT check_matrix('SELECT %s', ARRAY['a, count(*), rank() OVER (ORDER BY count(*), a) FROM few GROUP BY a', 'sum(x.c) FROM (SELECT count(*) AS c FROM few GROUP BY s) x', 'x.s, x.c, y.m FROM (SELECT s, count(*) AS c FROM few GROUP BY s) x JOIN (SELECT s, max(id) AS m FROM few GROUP BY s) y USING (s)',
    'count(*) FROM few UNION ALL SELECT sum(a) FROM few', '(SELECT sum(a) FROM few), (SELECT max(s) FROM few)'], expect => 'any');
-- groups beyond work_mem go to a temporary file, from which rescans and cursors read them again
SET gpuscan.offload = force;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT check_query('SELECT id, count(*), sum(c), min(s), sum(n), avg(n) FROM t GROUP BY id');
DO $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) SELECT id, count(*) FROM t GROUP BY id' INTO plan;
    RAISE NOTICE 'spills groups: %', jsonb_path_exists(plan::jsonb, '$.**."Groups Spilled" ? (@ > 0)');
END $$;
SET temp_file_limit = '100MB';
SELECT check_query('SELECT id, count(*) FROM t GROUP BY id', 'fallback');
RESET temp_file_limit;
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT check_query('SELECT x, count(*), sum(g.n), max(g.id) FROM (VALUES (0), (1), (2)) v(x) LEFT JOIN (SELECT id, count(*) AS n FROM t GROUP BY id) g ON g.id % 3 = v.x GROUP BY x');
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
BEGIN;
DECLARE part CURSOR FOR SELECT id, sum(a) FROM t GROUP BY id;
MOVE 109990 IN part;
SELECT 1 / 0;
ROLLBACK;
BEGIN;
DECLARE part CURSOR WITH HOLD FOR SELECT id, sum(a) FROM t GROUP BY id;
MOVE 100000 IN part;
COMMIT;
MOVE ALL IN part;
CLOSE part;
RESET work_mem;
RESET hash_mem_multiplier;
RESET gpuscan.offload;

-- A primary key that child tables do not have: PostgreSQL groups by it alone. So it does for a key that is newer than the snapshot.
CREATE TABLE parent (id int PRIMARY KEY, v int);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT i, i FROM generate_series(1, 100) i;
INSERT INTO child SELECT i, 1000 + i FROM generate_series(1, 100) i;
SELECT check_query('SELECT count(*), sum(n) FROM (SELECT id, v IS NULL, count(*) AS n FROM parent GROUP BY id) g', 'any'),
    check_query('SELECT id, count(*) FROM parent GROUP BY id HAVING v + count(*) > 0', 'any'),
    check_query('SELECT id, v, count(*) FROM ONLY parent GROUP BY id');

-- NOT of a key is simplified to something else of the key's columns, which are no keys for that.
CREATE TABLE simplified AS SELECT i % 10 AS k, nullif(i % 4, 0) AS n, i AS v, ('{"k": ' || i % 3 || '}')::jsonb AS j FROM generate_series(1, 1000) i;
VACUUM (FREEZE, ANALYZE) simplified;
SELECT check_query(q, 'any') FROM unnest(ARRAY[
    'SELECT NOT (k > 5), count(*) FROM simplified GROUP BY k > 5', 'SELECT k > 5, count(*) FROM simplified GROUP BY 1 HAVING NOT (k > 5) OR count(*) > 0',
    'SELECT k0, n FROM (SELECT k > 5 AS k0, count(*) AS n FROM simplified GROUP BY 1) x WHERE k0 = false OR n > 1', 'SELECT count(*) FROM simplified GROUP BY k > 5 ORDER BY NOT (k > 5)',
    'SELECT n IS NULL, count(*) FROM simplified GROUP BY 1 HAVING NOT (n IS NULL) OR count(*) > 1', 'SELECT CASE WHEN NOT (k > n) THEN 1 ELSE 2 END, sum(v) FROM simplified GROUP BY k > n',
    'SELECT NOT (j->''k'' = ''2''), count(*) FROM simplified GROUP BY j->''k'' = ''2''', 'SELECT sum(n) FROM (SELECT NOT (k > 5) AS b, count(*) AS n FROM simplified GROUP BY k > 5) s WHERE b']) q;
