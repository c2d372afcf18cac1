-- The node itself: what EXPLAIN says in every format, and where a table's pages come from (the cache, decoded now, row by
-- row) as the table changes. Needs support.
CREATE SCHEMA exec;
SET search_path = exec, public;
SET gpuscan.device = host;
SET gpuscan.offload = force;
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = notice;
\set SHOW_CONTEXT never

CREATE TABLE fact (id int NOT NULL, k int, amount numeric(12,2), note text) WITH (autovacuum_enabled = off);
INSERT INTO fact SELECT i, i % 7, i / 4.0, 'note ' || i % 3 FROM generate_series(1, 5000) i;
CREATE TABLE dim (k int, name text, region text) WITH (autovacuum_enabled = off);
INSERT INTO dim SELECT i, 'name ' || i, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END FROM generate_series(0, 5) i;
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) fact, dim;

-- EXPLAIN in what all versions print
CREATE FUNCTION explained(options text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (COSTS OFF, %s) %s', options, query) LOOP
        FOR line IN SELECT regexp_split_to_table(line, E'\n') LOOP
            line := regexp_replace(line, 'rows=(\d+)\.00', 'rows=\1');
            CONTINUE WHEN line ~ 'Disabled|Async|Parallel.Aware|Buffers:|Planning|Execution Time';
            RETURN NEXT regexp_replace(line, '[\d.]+ ms|\d+ bytes', 'N', 'g');
        END LOOP;
    END LOOP;
END $$;

-- plans
EXPLAIN (COSTS OFF) SELECT count(*) FROM fact;
EXPLAIN (COSTS OFF)
SELECT d.name, sum(f.amount), avg(f.id) FROM fact f JOIN dim d ON f.k = d.k
WHERE d.region = 'even' AND f.id > 10 AND f.amount < 1000 GROUP BY d.name HAVING count(*) > 1 ORDER BY d.name;
EXPLAIN (COSTS OFF, VERBOSE) SELECT k, min(note) FROM fact WHERE id < 4000 GROUP BY k;
SELECT explained('FORMAT YAML', 'SELECT d.name, sum(f.amount) FROM fact f JOIN dim d ON f.k = d.k WHERE f.id > 10 GROUP BY d.name');
SELECT explained('FORMAT JSON', 'SELECT d.name, sum(f.amount) FROM fact f JOIN dim d ON f.k = d.k GROUP BY d.name');
SELECT explained('FORMAT XML', 'SELECT k, count(*) FROM fact WHERE id > 10 GROUP BY k');
SET gpuscan.device = none;
EXPLAIN (COSTS OFF) SELECT count(*) FROM fact;
SET gpuscan.device = host;


-- executions (what a table in the device looks like and how long things take comes with TIMING)
SELECT explained('ANALYZE, TIMING OFF', 'SELECT d.name, sum(f.amount) FROM fact f JOIN dim d ON f.k = d.k GROUP BY d.name');
SELECT x FROM explained('ANALYZE', 'SELECT count(*) FROM fact') x WHERE x LIKE '%Device Work%';

-- where the pages come from: {cached, decoded, by row}
CREATE FUNCTION pages(query text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    node jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    node := jsonb_path_query_first(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuScan")');
    IF node ? 'Fallback' THEN
        RAISE NOTICE 'fallback: %', node->>'Fallback';
    END IF;
    RETURN ARRAY[node->'Pages Cached', node->'Pages Decoded', node->'Pages Rowwise']::int[];
END $$;
SELECT relpages FROM pg_class WHERE oid = 'fact'::regclass;
SELECT pages('SELECT sum(k) FROM fact');
SELECT pages('SELECT sum(k) FROM fact');
-- a new column of the same chunk, alone
SELECT pages('SELECT sum(k), max(id) FROM fact');
-- one page changes, and one gets the new row: the others stay (others' snapshots decide whether the two can be cached)
UPDATE fact SET k = k + 1 WHERE id = 3;
SELECT p[1] AS cached, p[2] + p[3] AS others FROM pages('SELECT sum(k) FROM fact') p;
SELECT check_query('SELECT k, count(*), sum(id) FROM fact GROUP BY k');
BEGIN;
DELETE FROM fact WHERE id BETWEEN 2000 AND 2010;
SELECT check_query('SELECT k, count(*), sum(id) FROM fact GROUP BY k');
SAVEPOINT s;
INSERT INTO fact SELECT i, i % 7, i, 'new' FROM generate_series(5001, 5500) i;
SELECT check_query('SELECT k, count(*), sum(id) FROM fact GROUP BY k');
ROLLBACK TO s;
SELECT check_query('SELECT k, count(*), sum(id) FROM fact GROUP BY k');
ROLLBACK;
SELECT check_query('SELECT k, count(*), sum(id) FROM fact GROUP BY k');
-- row locks (and foreign keys, which take them) change nothing that others see; from 17 on the locked page is decoded again
SELECT wait_for_snapshots();
VACUUM (FREEZE) fact;
SELECT (pages('SELECT sum(k) FROM fact'))[3] AS by_row;
SELECT pages('SELECT sum(k) FROM fact');
BEGIN;
SELECT count(*) FROM (SELECT FROM fact WHERE id = 3 FOR KEY SHARE) x;
COMMIT;
SELECT p[2] <= 1 AS at_most_one_decoded, p[3] AS by_row FROM pages('SELECT sum(k) FROM fact') p;

-- tables that no cache may hold
CREATE TEMP TABLE t AS SELECT i, i % 3 AS k, 'x' || i % 4 AS s FROM generate_series(1, 3000) i;
SELECT check_query('SELECT k, count(*), sum(i), min(s) FROM t GROUP BY k', 'any');
CREATE UNLOGGED TABLE u AS SELECT i, i % 3 AS k, 'x' || i % 4 AS s FROM generate_series(1, 3000) i;
SELECT wait_for_snapshots();
VACUUM (FREEZE) u;
SELECT check_query('SELECT k, count(*), sum(i), min(s) FROM u GROUP BY k', 'any');
BEGIN;
CREATE TABLE own (i int, k int);
COPY own FROM PROGRAM 'for i in 1 2 3; do echo "$i,$i"; done' (FORMAT csv, FREEZE);
SELECT (pages('SELECT sum(k) FROM own'))[1:2];
INSERT INTO own VALUES (4, 4);
SELECT check_query('SELECT k, count(*) FROM own GROUP BY k');
ROLLBACK;

-- texts out of line and compressed
CREATE TABLE wide (id int, k int, s text) WITH (autovacuum_enabled = off);
ALTER TABLE wide ALTER s SET STORAGE EXTERNAL;
INSERT INTO wide SELECT i, i % 5, CASE i % 3 WHEN 0 THEN repeat('w' || i % 4, 3000) WHEN 1 THEN 'short' END FROM generate_series(1, 300) i;
SELECT check_query('SELECT s, count(*), sum(k) FROM wide GROUP BY s');
SELECT wait_for_snapshots();
VACUUM (FREEZE) wide;
SELECT check_query('SELECT s, count(*), sum(k) FROM wide GROUP BY s');
SELECT check_query('SELECT k, count(*), max(s), min(s) FROM wide WHERE s LIKE ''w%'' OR s IS NULL GROUP BY k');
ALTER TABLE wide ALTER s SET STORAGE MAIN;
UPDATE wide SET s = s || '';
SELECT check_query('SELECT s, count(*), sum(k) FROM wide GROUP BY s');

-- prewarming
SELECT gpuscan.evict('fact') > 0 AS evicted;
SELECT gpuscan.prewarm('fact') = (SELECT relpages FROM pg_class WHERE oid = 'fact'::regclass) AS all_pages;
SELECT (pages('SELECT note, count(*), sum(amount), max(id), max(k) FROM fact GROUP BY note'))[2:3];
SELECT gpuscan.prewarm('u');
CREATE VIEW v AS SELECT 1 AS one;
SELECT gpuscan.prewarm('v');
SET gpuscan.device = none;
SELECT gpuscan.prewarm('fact');
SET gpuscan.device = host;
CREATE ROLE exec_nobody;
GRANT USAGE ON SCHEMA exec TO exec_nobody;
SET ROLE exec_nobody;
SELECT gpuscan.prewarm('fact');
RESET ROLE;
REVOKE USAGE ON SCHEMA exec FROM exec_nobody;
DROP ROLE exec_nobody;

-- serializable transactions read by the CPU
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT pages('SELECT sum(k) FROM fact');
COMMIT;

-- rescans: with and without changed parameters
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SELECT check_query('SELECT d.k, x.n, x.s FROM dim d, LATERAL (SELECT count(*) AS n, sum(id) AS s FROM fact f WHERE f.k = d.k OFFSET 0) x', 'any');
SELECT check_query('SELECT d.k, (SELECT max(f.note) FROM fact f WHERE f.k = d.k AND f.id < d.k * 100) FROM dim d', 'any');
SELECT check_query('SELECT d.k, x.k, x.n FROM dim d LEFT JOIN (SELECT k, count(*) AS n FROM fact GROUP BY k) x ON x.k >= d.k', 'any');
RESET ALL;

SET client_min_messages = warning;
DROP SCHEMA exec CASCADE;
