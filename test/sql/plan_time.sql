-- What PostgreSQL's own plans take: the steps that are counted (gpuscan.explain_cost, component "steps"), and what is decided by them.
CREATE SCHEMA plan_time;
SET search_path = plan_time, public;
SET max_parallel_workers_per_gather = 0;
SET gpuscan.device = host;
CREATE TABLE f (id int PRIMARY KEY, k int NOT NULL, v int NOT NULL, n numeric(12, 2) NOT NULL, t text NOT NULL) WITH (autovacuum_enabled = off);
INSERT INTO f SELECT i, i % 100, i % 1000, i % 7777, 'text ' || i % 10 FROM generate_series(1, 100000) i;
CREATE TABLE d (k int PRIMARY KEY, name text) WITH (autovacuum_enabled = off);
INSERT INTO d SELECT i, 'name ' || i FROM generate_series(0, 99) i;
VACUUM (FREEZE, ANALYZE) f, d;

CREATE FUNCTION steps(query text) RETURNS TABLE (step text, amount float8) LANGUAGE sql AS $$
    SELECT work, c.amount FROM gpuscan.explain_cost(query) c WHERE alternative = 'postgresql' AND component = 'steps'
$$;
CREATE FUNCTION ms(query text) RETURNS float8 LANGUAGE sql AS $$
    SELECT ms FROM gpuscan.explain_cost(query) c WHERE alternative = 'postgresql' AND component = 'total'
$$;

-- A scan's pages, rows and the group's, columns on the way to the last one that is needed, a condition and an addition for each row.
SELECT step, round(amount) = CASE step WHEN 'page_in_order' THEN pg_relation_size('f') / 8192 WHEN 'attribute' THEN 300000 WHEN 'tuple' THEN 100001 END AS exact, CASE step WHEN 'operation' THEN round(amount / 1000) END AS thousands
FROM steps('SELECT count(*) FROM f WHERE v <> -1') ORDER BY 1;
-- Conditions are asked of the rows that the ones before have left.
SELECT round(amount / 1000) AS thousands FROM steps('SELECT id FROM f WHERE v = 5 AND k = 5') WHERE step = 'operation';
-- Rows are sorted for their groups by as many comparisons as these have different keys: log2(10) each, not log2(100,000).
SET enable_hashagg = off;
SELECT amount < 100000 * 5 AS few_comparisons FROM steps('SELECT t, sum(v) FROM f GROUP BY t') WHERE step = 'text';
RESET enable_hashagg;
-- Numerics and texts have steps of their own, of which a product takes several. (What a pattern takes is tried: tried_time.sql.)
SELECT step FROM steps('SELECT sum(n * 2) FROM f WHERE n > 5 AND t = ''text 1'' AND t LIKE ''%x%''') ORDER BY 1;
SELECT step, round(amount / 1000) AS thousands FROM steps('SELECT sum(n * 2) FROM f WHERE t NOT LIKE ''%x%x%x%''') WHERE step IN ('numeric', 'text') ORDER BY 1;
SELECT ms('SELECT sum(n), sum(n * 2), sum(n + 1) FROM f') > 2 * ms('SELECT sum(v), sum(v * 2), sum(v + 1) FROM f') AS numerics_take_longer;
-- Joins by hash, by merge, and by index.
SELECT step FROM steps('SELECT count(*) FROM f JOIN d USING (k)') ORDER BY 1;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT step FROM steps('SELECT count(*) FROM f JOIN d USING (k)') ORDER BY 1;
SET enable_mergejoin = off;
SET enable_nestloop = on;
SET enable_memoize = off;
SET enable_material = off;
SET enable_seqscan = off;
SELECT step, round(amount) FROM steps('SELECT count(*) FROM d JOIN f ON f.id = d.k WHERE d.k >= 0') WHERE step IN ('index_started', 'index_entry') ORDER BY 1;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_memoize;
RESET enable_material;
RESET enable_seqscan;
-- A subquery for each row, a subquery once, and one whose rows are kept.
SELECT ms('SELECT count(*) FROM f WHERE v > (SELECT max(k) FROM d WHERE d.k <= f.v)') > 10 * ms('SELECT count(*) FROM f WHERE v > (SELECT max(k) FROM d)') AS for_each_row;
SELECT step FROM steps('WITH x AS MATERIALIZED (SELECT v FROM f) SELECT count(*) FROM x, x y WHERE x.v = y.v') WHERE step = 'row_kept';
-- LIMIT: what is done before the first row is done in full, a team of workers is started or an index for whatever few rows, and the rest is
-- done for those that are wanted.
CREATE FUNCTION step(query text, name text) RETURNS float8 LANGUAGE sql AS $$ SELECT amount FROM steps(query) WHERE step = name $$;
SELECT step('SELECT id FROM f ORDER BY id LIMIT 10', 'index_started') AS started, round(step('SELECT id FROM f ORDER BY id LIMIT 10', 'index_entry')) AS entries,
       round(step('SELECT id FROM f ORDER BY id OFFSET 500 LIMIT 10', 'index_entry')) AS entries_behind_others;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT round(step('SELECT name FROM f JOIN d USING (k) LIMIT 10', 'row_hashed')) AS hashed;
RESET enable_nestloop;
RESET enable_mergejoin;
SELECT step('SELECT v, count(*) FROM f GROUP BY v LIMIT 10', 'page_in_order') = step('SELECT v, count(*) FROM f GROUP BY v', 'page_in_order') AS all_of_the_table;
-- A window's first row waits for its first partition, if its frame does.
SELECT f, round(step(format('SELECT id, %s FROM f LIMIT 10', f), 'row_kept')) AS rows_of_100000
FROM unnest('{count(*) OVER (),row_number() OVER (),sum(n) OVER (ROWS UNBOUNDED PRECEDING),ntile(4) OVER (),ntile(4) OVER (ORDER BY id)}'::text[]) f;
SELECT round(step('SELECT id, count(*) OVER (PARTITION BY k) FROM f LIMIT 10', 'row_kept') - step('SELECT id, row_number() OVER (PARTITION BY k) FROM f LIMIT 10', 'row_kept')) AS rows_of_1000_without_10;
-- ... of one input after the other: the second one is not sorted.
SELECT step FROM steps('(SELECT id FROM f) UNION ALL (SELECT k FROM f ORDER BY v) LIMIT 10') WHERE step IN ('row_kept', 'page_in_order') ORDER BY 1;
SELECT step FROM steps('(SELECT id FROM f) UNION ALL (SELECT k FROM f ORDER BY v) LIMIT 100010') WHERE step IN ('row_kept', 'page_in_order') ORDER BY 1;
-- What a node keeps, it reads again in other executions, and does not make again.
SET enable_material = off;
SELECT step('WITH x AS MATERIALIZED (SELECT k FROM d) SELECT count(*) FROM f, x WHERE f.v < x.k', 'row_kept') AS kept;
RESET enable_material;
-- Prices of the processor's work are followed: ten times the cost is ten times the time.
SELECT round(ms('SELECT count(*) FROM f WHERE v <> -1')) AS ms \gset before_
SET cpu_operator_cost = 0.25;
SELECT ms('SELECT count(*) FROM f WHERE v <> -1') > 5 * :before_ms AS dearer;
RESET cpu_operator_cost;
-- Rows of the alternatives add up, in cost and in time.
SELECT alternative, abs(sum(ms) FILTER (WHERE component <> 'total') / sum(ms) FILTER (WHERE component = 'total') - 1) < 1e-3 AS times_add_up
FROM gpuscan.explain_cost('SELECT name, sum(n) FROM f JOIN d USING (k) GROUP BY name ORDER BY 2 LIMIT 3') WHERE alternative IN ('postgresql', 'host') GROUP BY 1 ORDER BY 1;

-- A key of two columns has no more values than its table has rows, whatever the product of its columns' says. PostgreSQL takes 400 of these 40,000
-- rows to have a partner. (The tables' 44,000 rows are handed on, too.)
CREATE TABLE parts (p int, s int, x int, PRIMARY KEY (p, s)) WITH (autovacuum_enabled = off);
INSERT INTO parts SELECT i % 2000, (i / 2000 + i % 2000 * 7) % 100, i FROM generate_series(0, 3999) i;
CREATE TABLE items (id int, p int, s int) WITH (autovacuum_enabled = off);
INSERT INTO items SELECT i, i % 2000, (i / 2000 % 2 + i % 2000 * 7) % 100 FROM generate_series(0, 39999) i;
VACUUM (FREEZE, ANALYZE) parts, items;
SELECT count(*) FROM items JOIN parts USING (p, s);
SELECT round(amount, -3) FROM (SELECT amount::numeric FROM steps('SELECT x, id FROM items JOIN parts USING (p, s)') WHERE step = 'tuple') s;
-- Where a foreign key is declared, PostgreSQL knows.
ALTER TABLE items ADD FOREIGN KEY (p, s) REFERENCES parts;
SELECT round(amount, -3) FROM (SELECT amount::numeric FROM steps('SELECT x, id FROM items JOIN parts USING (p, s)') WHERE step = 'tuple') s;

-- Parallel workers meet each page for the first time: of a table that they share each its part (1 of 1.7, PostgreSQL says), all of one that they look up.
SET max_parallel_workers_per_gather = 1;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SELECT step, round(amount / (pg_relation_size('f') / 8192) * 10) AS tenths_of_the_table FROM steps('SELECT count(*) FROM f WHERE v <> -1') WHERE step IN ('page_touched', 'page_in_order') ORDER BY 1;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SELECT round(10 * amount / (pg_relation_size('items') / 8192 / 1.7 + pg_relation_size('f') / 8192 + pg_relation_size('f_pkey') / 8192)) AS tenths_of_all_pages
FROM steps('SELECT count(f.v) FROM items JOIN f ON f.id = items.id') WHERE step = 'page_touched';
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_memoize;
SELECT step('SELECT id FROM f WHERE v <> -1 LIMIT 10', 'team_started') AS teams, step('SELECT id FROM f WHERE v <> -1 LIMIT 10', 'page_in_order') < 1 AS few_pages;
-- Each worker sorts its part, and keeps ten rows of it.
SELECT step, round(amount / 1000) AS thousands FROM steps('SELECT id FROM f ORDER BY v, id LIMIT 10') WHERE step IN ('tuple', 'row_kept', 'operation') ORDER BY 1;
-- However few rows it finds.
SELECT round(step('SELECT id FROM f WHERE v = -5 AND k = -7', 'page_in_order') / (pg_relation_size('f') / 8192) * 10) AS tenths_of_the_table;
-- A partition without workers is one process's: the plan takes as long as its largest, or as the processes' parts of all.
CREATE TABLE p (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (90000) WITH (parallel_workers = 0, autovacuum_enabled = off);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (90000) TO (100000) WITH (parallel_workers = 1, autovacuum_enabled = off);
INSERT INTO p SELECT i, i FROM generate_series(0, 99999) i;
VACUUM (FREEZE, ANALYZE) p;
CREATE FUNCTION scanned(query text) RETURNS numeric LANGUAGE sql AS $$ SELECT round(step(query, 'page_in_order')::numeric / (pg_relation_size('p1') + pg_relation_size('p2')) * 8192, 2) $$;
SELECT scanned('SELECT count(*) FROM p WHERE v <> -1') AS largest, round(pg_relation_size('p1')::numeric / (pg_relation_size('p1') + pg_relation_size('p2')), 2) AS expected;
ALTER TABLE p1 RESET (parallel_workers);
SELECT scanned('SELECT count(*) FROM p WHERE v <> -1') AS shared, round(1 / 1.7, 2) AS expected;
SET parallel_leader_participation = off;
SELECT scanned('SELECT count(*) FROM p WHERE v <> -1') AS of_one_worker;
RESET parallel_leader_participation;
SET max_parallel_workers_per_gather = 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET min_parallel_index_scan_size;

-- A plan by index is compared with a device by what it takes, its pages being in shared buffers. By its cost it would lose to a device that
-- has to read the whole table.
CREATE TABLE points (id int, x int, y float8) WITH (autovacuum_enabled = off);
INSERT INTO points SELECT i, i % 2000, i * 7919::bigint % 8000 / 8.0 FROM generate_series(1, 400000) i;
CREATE INDEX ON points (id);
CREATE INDEX ON points (x);
VACUUM (FREEZE, ANALYZE) points;
SELECT gpuscan.evict('points') >= 0 AS evicted;
SET random_page_cost = 6;
SELECT c.cost * 0.004 > 5 * c.ms AS less_than_by_cost
FROM gpuscan.explain_cost('SELECT sum(a.y * b.y) FROM points a JOIN points b ON a.id = b.id WHERE a.x = 42') c WHERE alternative = 'postgresql' AND component = 'total';
EXPLAIN (COSTS OFF) SELECT sum(a.y * b.y) FROM points a JOIN points b ON a.id = b.id WHERE a.x = 42;
RESET random_page_cost;

SET client_min_messages = warning;
DROP SCHEMA plan_time CASCADE;
