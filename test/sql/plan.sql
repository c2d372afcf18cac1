-- What the planner offloads and what it refuses, and why. Only plans: the other tests compare answers.
CREATE SCHEMA plan;
SET search_path = plan, public;
SET client_min_messages = warning;
CREATE TABLE fact (id int NOT NULL, a int, b int8, n numeric(12,2), x float4, y float8, d date, ts timestamp, ok bool, s text COLLATE "C", c char(4), k int, k2 int8);
INSERT INTO fact SELECT i, i % 10, i, i / 4.0, i / 4.0, i / 8.0, date '2024-01-01' + i % 50, timestamp '2024-01-01', i % 2 = 0, 's' || i % 7, 'c' || i % 3, i % 100, i % 20 FROM generate_series(1, 5000) i;
CREATE TABLE dim (k int PRIMARY KEY, name varchar(10) COLLATE "C", grp int, w numeric(12,2));
INSERT INTO dim SELECT i, 'name' || i % 5, i % 4, i FROM generate_series(0, 99) i;
CREATE TABLE other (k bigint PRIMARY KEY, t text COLLATE "C");
INSERT INTO other SELECT i, 't' || i % 3 FROM generate_series(0, 19) i;
CREATE TEMP TABLE small AS SELECT i AS k FROM generate_series(0, 9) i;
CREATE TABLE loose (n numeric, i interval, f real);
CREATE TABLE parted (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
VACUUM (FREEZE, ANALYZE) fact;
VACUUM (FREEZE, ANALYZE) dim;
VACUUM (FREEZE, ANALYZE) other;
ANALYZE small;
SET max_parallel_workers_per_gather = 0;
SET gpuscan.offload = force;
SET gpuscan.device = host;

-- one node for the scans, the filters, all joins and the aggregation
EXPLAIN (COSTS OFF) SELECT count(*) FROM fact;
EXPLAIN (COSTS OFF) SELECT dim.name, t, sum(n * w), avg(a) FILTER (WHERE ok), max(s) FROM fact JOIN dim USING (k) JOIN other ON k2 = other.k WHERE t <> 't1' AND a < 5 AND (grp = 1 OR name LIKE '%4') GROUP BY 1, 2 HAVING count(*) > 3 ORDER BY 3 DESC;
EXPLAIN (COSTS OFF) SELECT a + 1, (a + 1) * 2, sum(b) + 1 FROM fact GROUP BY a + 1;
-- columns that depend functionally on the key become keys
EXPLAIN (COSTS OFF) SELECT dim.k, name, count(*) FROM fact JOIN dim USING (k) GROUP BY dim.k;
-- a join clause that is no equality runs after the join
EXPLAIN (COSTS OFF) SELECT count(*) FROM fact JOIN dim ON fact.k = dim.k AND fact.a > dim.grp;
-- conditions that can raise errors keep their place
EXPLAIN (COSTS OFF) SELECT count(*) FROM fact WHERE 100 / a > 20 AND a <> 0 AND id = 7;
-- CPU plans feed the device
EXPLAIN (COSTS OFF) SELECT sum(b) FROM fact JOIN small USING (k);
EXPLAIN (COSTS OFF) SELECT sum(b * g) FROM fact JOIN generate_series(1, 5) g ON g = a;
EXPLAIN (COSTS OFF) SELECT q.m, count(*) FROM fact JOIN (SELECT grp, max(k) AS m FROM dim GROUP BY grp) q ON q.m = fact.k GROUP BY q.m;
-- the fallback
EXPLAIN (COSTS OFF, VERBOSE) SELECT a, sum(b) + 1 FROM fact GROUP BY a HAVING max(id) > 10;
EXPLAIN (COSTS OFF, VERBOSE) SELECT min(k) FROM dim;

-- every place where a query level can stand: the range table of the level does not begin at 1
EXPLAIN (COSTS OFF) SELECT sum(a) FROM fact UNION ALL SELECT sum(grp) FROM dim;
EXPLAIN (COSTS OFF) WITH w AS MATERIALIZED (SELECT k, sum(b) AS z FROM fact GROUP BY k) SELECT max(z) FROM w JOIN dim USING (k);
SET gpuscan.enable_decorrelation = off;
EXPLAIN (COSTS OFF) SELECT name, (SELECT sum(b) FROM fact WHERE fact.k = dim.k) FROM dim WHERE k < 3;
RESET gpuscan.enable_decorrelation;
CREATE VIEW summary AS SELECT name, sum(n) AS total FROM fact JOIN dim USING (k) WHERE a < 3 GROUP BY name;
EXPLAIN (COSTS OFF) SELECT * FROM summary WHERE name = 'name1';
CREATE VIEW barrier WITH (security_barrier) AS SELECT b, s FROM fact WHERE a < 4;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT s FROM fact WHERE id < 100 LIMIT 5) q JOIN dim ON q.s = dim.name;

-- row-level security: the policy is a filter like others
CREATE ROLE gpuscan_plan_reader;
GRANT USAGE ON SCHEMA plan TO gpuscan_plan_reader;
GRANT SELECT ON fact TO gpuscan_plan_reader;
ALTER TABLE fact ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON fact USING (a < 3);
SET ROLE gpuscan_plan_reader;
EXPLAIN (COSTS OFF) SELECT count(*) FROM fact WHERE s > 's2';
RESET ROLE;
ALTER TABLE fact DISABLE ROW LEVEL SECURITY;
-- a function that the user may not execute
REVOKE EXECUTE ON FUNCTION int4mul(int, int) FROM PUBLIC;
SET ROLE gpuscan_plan_reader;
SELECT sum(a * k) FROM fact;
RESET ROLE;
GRANT EXECUTE ON FUNCTION int4mul(int, int) TO PUBLIC;

-- plans that are kept
PREPARE kept(int, text) AS SELECT a, count(*) FROM fact WHERE id < $1 AND s = $2 GROUP BY a ORDER BY a LIMIT 2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE kept(100, 's1');
EXECUTE kept(100, 's1');
ALTER TABLE fact ADD COLUMN extra int DEFAULT 3;
ALTER TABLE fact ALTER id TYPE int8;
EXECUTE kept(100, 's1');
EXECUTE kept(NULL, 's1');
SET ROLE gpuscan_plan_reader;
EXECUTE kept(100, 's1');
RESET ROLE;
RESET plan_cache_mode;

-- GEQO drops its memory after every tour
SET geqo_threshold = 2;
SET geqo_seed = 0.5;
EXPLAIN (COSTS OFF) SELECT t, sum(b) FROM fact JOIN dim USING (k) JOIN other ON k2 = other.k JOIN small s ON s.k = dim.grp GROUP BY t;
RESET geqo_threshold;

-- refusals, with the reason
SET client_min_messages = notice;
CREATE FUNCTION refusal(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP plan := plan || line; END LOOP;
    RETURN concat_ws('; not ', CASE WHEN plan LIKE '%GpuScan%' THEN 'offloaded' ELSE 'not offloaded' END, (SELECT string_agg(r, '; not ') FROM refusals(query) r));
END $$;
\set VERBOSITY terse
SELECT refusal('SELECT count(*) FROM fact LEFT JOIN (dim FULL JOIN fact f USING (k)) ON fact.a = coalesce(dim.grp, f.a)');
SELECT refusal('SELECT count(*) FROM fact LEFT JOIN LATERAL (SELECT dim.grp + fact.a AS z FROM dim LIMIT 1) q ON true');
SELECT refusal('SELECT count(*) FROM fact WHERE EXISTS (SELECT FROM dim WHERE dim.k = fact.k AND 10 / dim.grp > 1)');
SELECT refusal('SELECT count(DISTINCT a), sum(DISTINCT n), max(DISTINCT s) FROM fact');
SELECT refusal('SELECT variance(DISTINCT a) FROM fact');
SELECT refusal('SELECT stddev(x) FROM fact');
SELECT refusal('SELECT string_agg(s, '','') FROM fact');
SELECT refusal('SELECT array_agg(a ORDER BY b) FROM fact');
SELECT refusal('SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY y) FROM fact');
SELECT refusal('SELECT a, sum(b) FROM fact GROUP BY ROLLUP (a)');
SELECT refusal('SELECT sum(x) FROM fact');
SELECT refusal('SELECT y, count(*) FROM fact GROUP BY y');
SELECT refusal('SELECT max(CASE WHEN ok THEN n ELSE 0 END) FROM fact');
SELECT refusal('SELECT max(CASE WHEN k > 3 THEN n ELSE 0 END) FROM fact');
SELECT refusal('SELECT sum(n) FROM loose');
SELECT refusal('SELECT max(i) FROM loose');
SELECT refusal('SELECT count(fact) FROM fact');
SELECT refusal('SELECT count(*) FROM fact WHERE ctid > ''(1,1)''');
SELECT refusal('SELECT count(*) FROM fact WHERE s ~ ''(x''');
SELECT refusal('SELECT s || ok, count(*) FROM fact GROUP BY 1');
SELECT refusal('SELECT count(*) FROM fact WHERE random() < 0.5');
SELECT refusal('SELECT count(*) FROM fact WHERE refusal(s) = ''x''');
SELECT refusal('SELECT count(*) FROM fact JOIN (SELECT k, random() FROM dim OFFSET 0) d ON fact.k = d.k');
SELECT refusal('SELECT count(*) FROM fact TABLESAMPLE SYSTEM (10)');
SELECT refusal('SELECT sum(v) FROM parted');
SELECT refusal('SELECT count(*) FROM small');
SELECT refusal('SELECT count(*) FROM pg_class');
SELECT refusal('SELECT count(*) FROM fact WHERE id > (SELECT max(grp) FROM dim)');
SELECT refusal('SELECT count(*) FROM fact WHERE n > (SELECT avg(k) FROM dim)');
SELECT refusal('SELECT sum(b) FROM barrier WHERE s = ''s1''');
SELECT refusal('SELECT d.k, q.z FROM dim d, LATERAL (SELECT sum(f.a + v.z) AS z FROM fact f, LATERAL (SELECT f.a + d.k AS z OFFSET 0) v) q');
SELECT refusal('INSERT INTO small SELECT sum(a) FROM fact');
SELECT refusal('UPDATE fact SET a = 1 WHERE k IN (SELECT k FROM dim)');
SELECT refusal('DELETE FROM fact WHERE id > (SELECT max(grp) FROM dim)');
SELECT refusal('MERGE INTO fact USING dim ON dim.k = fact.k WHEN MATCHED THEN DELETE');
SELECT refusal('WITH w AS (UPDATE fact SET a = 2 RETURNING k) SELECT count(*) FROM w');
SELECT refusal('SELECT rank() OVER (ORDER BY b) FROM fact');
SELECT refusal('SELECT string_agg(s, '','') OVER (ORDER BY b) FROM fact');
SELECT refusal('SELECT a, rank() OVER (ORDER BY count(*)) FROM fact GROUP BY a');
SELECT refusal('SELECT rank() OVER (ORDER BY b) FROM fact WHERE random() < 0.5');
SELECT refusal('SELECT 1');
SELECT refusal('SELECT count(*) FROM generate_series(1, 10)');
SELECT refusal('SELECT sum(y) FROM fact');
SET gpuscan.exact_float = on;
SELECT refusal('SELECT sum(y) FROM fact');
RESET gpuscan.exact_float;
-- no reason is told for what no device was asked to do
SET gpuscan.device = none;
SELECT refusal('SELECT sum(x) FROM fact');
SET gpuscan.device = host;
SET gpuscan.offload = off;
SELECT refusal('SELECT sum(x) FROM fact');
-- auto: a small table stays on PostgreSQL
SET gpuscan.offload = auto;
SELECT refusal('SELECT grp, sum(w) FROM dim GROUP BY grp');
-- ... and so do texts of which a dictionary would be too large, which the statistics tell
CREATE TABLE wide AS SELECT 's' || i AS s FROM generate_series(1, 3000) i;
ANALYZE wide;
UPDATE pg_statistic SET stawidth = 1000000 WHERE starelid = 'wide'::regclass;
SELECT refusal('SELECT count(*) FROM wide, wide b WHERE wide.s LIKE ''%7'' AND b.s LIKE ''%7''');
-- ... and tables of which none is worth a look may have joins that are: these are then searched once more, for the device
CREATE TABLE fan AS SELECT i AS id, i % 10 AS k, i % 7 AS v FROM generate_series(1, 1000) i;
CREATE TABLE leaf AS SELECT i AS k FROM generate_series(0, 7) i;
ANALYZE fan, leaf;
EXPLAIN (COSTS OFF) SELECT x.v, sum(y.v) FROM fan x JOIN fan y USING (k) GROUP BY x.v;
SELECT x.v, sum(y.v) FROM fan x JOIN fan y USING (k) GROUP BY x.v ORDER BY x.v;
EXPLAIN (COSTS OFF) SELECT x.id, y.id FROM fan x LEFT JOIN leaf ON leaf.k = x.k JOIN fan y ON x.k = y.k WHERE x.v * y.v > 20;
SET join_collapse_limit = 1;
EXPLAIN (COSTS OFF) SELECT x.v, sum(y.v) FROM fan x JOIN leaf USING (k) JOIN fan y USING (k) GROUP BY x.v;
RESET join_collapse_limit;

SET client_min_messages = warning;
DROP SCHEMA plan CASCADE;
DROP ROLE gpuscan_plan_reader;
