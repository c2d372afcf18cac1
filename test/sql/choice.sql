-- What is chosen by cost, at the built-in costs, where the choice is not close: a device that would have to read a whole table for
-- a few of its rows against an index, and an index against a device for most rows.
CREATE SCHEMA choice;
SET search_path = choice, public;
SET client_min_messages = warning;
SET gpuscan.device = host;
CREATE TABLE points (id int, x int, y float8) WITH (autovacuum_enabled = off);
INSERT INTO points SELECT i, i % 2000, i * 7919::bigint % 8000 / 8.0 FROM generate_series(1, 1000000) i;
CREATE INDEX points_id ON points (id);
CREATE INDEX points_x ON points (x);
VACUUM (ANALYZE) points;

-- device, index, device and index, or neither
CREATE FUNCTION chosen(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    words text[] := '{}';
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    IF plan @? '$.** ? (@."Custom Plan Provider" == "GpuScan")' THEN
        words := words || 'device'::text;
    END IF;
    IF plan @? '$.** ? (@."Index Name" != "")' THEN
        words := words || 'index'::text;
    END IF;
    RETURN CASE WHEN words = '{}' THEN 'neither' ELSE array_to_string(words, ' and ') END;
END $$;

-- Nothing is in the device's cache: the self-joins of few rows that heterodb/pg-strom#1054 and #1055 tell of stay on the index.
SELECT gpuscan.evict('points') >= 0 AS evicted;
SELECT chosen('SELECT a.x, sum(a.y * b.y) FROM points a JOIN points b ON a.id = b.id WHERE a.id < 1000 GROUP BY a.x');
SELECT chosen('SELECT a.x, sum(a.y * b.y) FROM points a JOIN points b ON a.id = b.id WHERE a.x = 42 GROUP BY a.x');
SELECT chosen('SELECT x, sum(y) FROM points WHERE id BETWEEN 5000 AND 6000 GROUP BY x');
SELECT chosen('SELECT * FROM points WHERE id = 4711');
-- most of the table, cached or not
SELECT chosen('SELECT a.x, sum(a.y * b.y) FROM points a JOIN points b ON a.id = b.id WHERE a.id > 1000 GROUP BY a.x');
SELECT chosen('SELECT x, sum(y) FROM points GROUP BY x');

-- An expression's subquery takes as long in a subquery in FROM as in the query itself.
CREATE FUNCTION planned_ms(query text) RETURNS float8 LANGUAGE sql AS
    $$SELECT ms FROM gpuscan.explain_cost(query) WHERE alternative = 'chosen' AND component = 'total'$$;
SELECT planned_ms('SELECT x, sum(y) AS y FROM points WHERE id > 850000 AND y > (SELECT avg(y) FROM points WHERE id > 940000) GROUP BY x')
    / planned_ms('SELECT count(*) FROM (SELECT x, sum(y) AS y FROM points WHERE id > 850000 AND y > (SELECT avg(y) FROM points WHERE id > 940000) GROUP BY x OFFSET 0) AS f')
    BETWEEN 0.95 AND 1.05 AS alike;

-- cached: one row is an index's still, the table the device's
SELECT gpuscan.prewarm('points') > 0 AS cached;
SELECT chosen('SELECT * FROM points WHERE id = 4711');
SELECT chosen('SELECT sum(y) FROM points WHERE id = 4711');
SELECT chosen('SELECT x, sum(y) FROM points GROUP BY x');

-- A correlated subquery: how many executions there will be is not known when it is planned. Its CPU plan answers until that has taken as long as
-- bringing the columns takes, then the device does; where the columns are cached, or the device is forced, from the first execution on.
CREATE FUNCTION executed(query text, OUT cpu bool, OUT device bool, OUT plans bigint) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    scan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    scan := jsonb_path_query_first(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuScan")');
    cpu := (scan ->> 'CPU Executions')::bigint > 0;
    device := scan ? 'Rows In';
    plans := (scan ->> 'Actual Loops')::bigint;
END $$;
CREATE TABLE few AS SELECT i % 2000 AS x, i FROM generate_series(1, 400) i;
VACUUM (ANALYZE) few;
PREPARE asked AS SELECT sum(i) FROM few WHERE i > (SELECT min(y) FROM points WHERE points.x BETWEEN few.x AND few.x + 20 AND y > few.i - 500);
SELECT gpuscan.evict('points') > 0 AS evicted;
SELECT * FROM executed('EXECUTE asked');
SELECT * FROM executed('EXECUTE asked');
SELECT gpuscan.evict('points') > 0 AS evicted;
EXECUTE asked;
SET gpuscan.offload = off;
EXECUTE asked;
RESET gpuscan.offload;
-- few executions: the device is not worth it
SELECT gpuscan.evict('points') >= 0 AS evicted;
SELECT device FROM executed('SELECT sum(i) FROM few WHERE few.i = 7 AND i > (SELECT min(y) FROM points WHERE points.x BETWEEN few.x AND few.x + 20 AND y > few.i - 500)');
SET gpuscan.offload = force;
SELECT * FROM executed('SELECT sum(i) FROM few WHERE few.i = 7 AND i > (SELECT min(y) FROM points WHERE points.x BETWEEN few.x AND few.x + 20 AND y > few.i - 500)');
RESET gpuscan.offload;
-- ... until they have taken as long in all, in one statement after the other
DO $$ DECLARE
    cpu bool := true;
BEGIN
    PERFORM gpuscan.evict('points');
    FOR i IN 1..1000 LOOP
        SELECT e.cpu INTO cpu FROM executed('SELECT sum(i) FROM few WHERE few.i = 7 AND i > (SELECT min(y) FROM points WHERE points.x BETWEEN few.x AND few.x + 20 AND y > few.i - 500)') e;
        EXIT WHEN cpu IS NULL;
    END LOOP;
    RAISE WARNING 'on the device: %', cpu IS NULL;
END $$;
-- A plan that takes far longer than expected, since two conditions depend on each other: what it has really taken pays for the columns.
CREATE TABLE dependent (a int, b int, k int, pad text) WITH (autovacuum_enabled = off);
INSERT INTO dependent SELECT i % 25, i % 25, i * 7919::bigint % 100000, repeat('x', 100) FROM generate_series(1, 500000) i;
CREATE INDEX ON dependent (a, b);
CREATE TABLE looked_up (k int PRIMARY KEY, v int, pad text) WITH (autovacuum_enabled = off);
INSERT INTO looked_up SELECT i, i, repeat('y', 300) FROM generate_series(0, 99999) i;
VACUUM (ANALYZE) dependent, looked_up;
SET max_parallel_workers_per_gather = 0;
DO $$ DECLARE
    query text := 'SELECT count(*), sum(v) FROM dependent JOIN looked_up USING (k) WHERE a = 3 AND b = 3';
BEGIN
    FOR i IN 1..3 LOOP
        RAISE WARNING '%', chosen(query);
        EXECUTE query;
    END LOOP;
    -- executions that end with an error have taken time as well
    PERFORM gpuscan.evict('dependent'), gpuscan.evict('looked_up');
    FOR i IN 1..2 LOOP
        RAISE WARNING '%', chosen(query);
        BEGIN
            EXECUTE replace(query, 'sum(v)', 'sum(v) / (count(*) - count(*))');
        EXCEPTION WHEN division_by_zero THEN
            RAISE WARNING '%', SQLERRM;
        END;
    END LOOP;
END $$;
RESET max_parallel_workers_per_gather;
-- An execution that is expected to take longer than bringing the columns is none to wait for.
SELECT gpuscan.evict('points') > 0 AS evicted;
SELECT * FROM executed('SELECT (SELECT count(*) FROM (SELECT p.x, q.x, count(*) FROM points p JOIN points q USING (y) WHERE p.x < few.i AND p.id < 50000 GROUP BY 1, 2) g) FROM few WHERE few.i = 7');
-- A CPU plan with workers of which not all rows are fetched
SELECT gpuscan.evict('points') > 0 AS evicted;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM few WHERE i = ANY (SELECT id FROM points WHERE id > few.i - 3);
RESET ALL;
SET search_path = choice, public;
SET gpuscan.device = host;

-- Pages that each query has to read row by row for now, here because of changes that are not committed: a part of a table is an index's then.
SELECT gpuscan.prewarm('points') > 0 AS cached;
SELECT chosen('SELECT sum(y) FROM points WHERE id BETWEEN 10000 AND 60000');
BEGIN;
UPDATE points SET y = y + 1 WHERE id % 100 = 0;
SELECT count(*) FROM points WHERE y >= 0;
SELECT chosen('SELECT sum(y) FROM points WHERE id BETWEEN 10000 AND 60000');
ROLLBACK;
SELECT chosen('SELECT sum(y) FROM points WHERE id BETWEEN 10000 AND 60000');

SET client_min_messages = warning;
DROP SCHEMA choice CASCADE;
