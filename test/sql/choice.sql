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
SELECT gpuscan_evict('points') >= 0 AS evicted;
SELECT chosen('SELECT a.x, sum(a.y * b.y) FROM points a JOIN points b ON a.id = b.id WHERE a.id < 1000 GROUP BY a.x');
SELECT chosen('SELECT a.x, sum(a.y * b.y) FROM points a JOIN points b ON a.id = b.id WHERE a.x = 42 GROUP BY a.x');
SELECT chosen('SELECT x, sum(y) FROM points WHERE id BETWEEN 5000 AND 6000 GROUP BY x');
SELECT chosen('SELECT * FROM points WHERE id = 4711');
-- most of the table, cached or not
SELECT chosen('SELECT a.x, sum(a.y * b.y) FROM points a JOIN points b ON a.id = b.id WHERE a.id > 1000 GROUP BY a.x');
SELECT chosen('SELECT x, sum(y) FROM points GROUP BY x');

-- A subquery's index would do if it were alone; but the query brings the same columns, which then serve both.
SELECT chosen('SELECT avg(y) FROM points WHERE id > 930000') AS alone,
    chosen('SELECT x, sum(y) FROM points WHERE id > 5 AND y > (SELECT avg(y) FROM points WHERE id > 930000) GROUP BY x') AS together,
    chosen('SELECT x, sum(y) FROM points WHERE id = 5 AND y > (SELECT avg(y) FROM points WHERE id > 930000) GROUP BY x') AS not_brought,
    chosen('WITH few AS MATERIALIZED (SELECT avg(y) AS y FROM points WHERE id > 930000) SELECT x, sum(points.y) FROM points, few WHERE id > 5 AND points.y > few.y GROUP BY x') AS expression;
-- one in FROM is planned before the query around it, too
SELECT chosen('SELECT x, avg(y) AS y FROM points WHERE id > 960000 GROUP BY x') AS alone,
    chosen('SELECT points.x, sum(points.y) FROM points JOIN (SELECT x, avg(y) AS y FROM points WHERE id > 960000 GROUP BY x) AS few ON points.x = few.x AND points.y > few.y WHERE id > 5 GROUP BY points.x') AS together,
    chosen('SELECT points.x, sum(points.y) FROM points JOIN (SELECT x, avg(y) AS y FROM points WHERE id > 960000 GROUP BY x) AS few ON points.x = few.x AND points.y > few.y WHERE id = 5 GROUP BY points.x') AS not_brought;
-- What it has brought for both owes nothing: without these columns (a new file has none) the subquery alone is the index's as before.
SELECT count(*) FROM (SELECT points.x, sum(points.y) FROM points JOIN (SELECT x, avg(y) AS y FROM points WHERE id > 960000 GROUP BY x) AS few ON points.x = few.x AND points.y > few.y WHERE id > 5 GROUP BY points.x) AS both_levels;
VACUUM FULL points;
VACUUM (ANALYZE) points;
SELECT chosen('SELECT x, avg(y) AS y FROM points WHERE id > 960000 GROUP BY x') AS alone;
-- An expression's subquery takes as long in a subquery in FROM as in the query itself.
CREATE FUNCTION planned_ms(query text) RETURNS float8 LANGUAGE sql AS
    $$SELECT ms FROM gpuscan_explain_cost(query) WHERE alternative = 'chosen' AND component = 'total'$$;
SELECT planned_ms('SELECT x, sum(y) AS y FROM points WHERE id > 850000 AND y > (SELECT avg(y) FROM points WHERE id > 940000) GROUP BY x')
    / planned_ms('SELECT count(*) FROM (SELECT x, sum(y) AS y FROM points WHERE id > 850000 AND y > (SELECT avg(y) FROM points WHERE id > 940000) GROUP BY x OFFSET 0) AS f')
    BETWEEN 0.95 AND 1.05 AS alike;

-- cached: one row is an index's still, the table the device's
SELECT gpuscan_prewarm('points') > 0 AS cached;
SELECT chosen('SELECT * FROM points WHERE id = 4711');
SELECT chosen('SELECT sum(y) FROM points WHERE id = 4711');
SELECT chosen('SELECT x, sum(y) FROM points GROUP BY x');

-- More parallel workers than the table gets by its size: where the limit is above 2, and its rows take long (here by what they cost).
CREATE TABLE rows (a int) WITH (autovacuum_enabled = off);
INSERT INTO rows SELECT generate_series(1, 20000);
VACUUM (ANALYZE) rows;
CREATE FUNCTION workers(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN jsonb_path_query_first(plan, 'strict $.**."Workers Planned"');
END $$;
SET cpu_tuple_cost = 10;
SET max_parallel_workers_per_gather = 4;
SELECT workers('SELECT count(ctid) FROM rows') AS as_many, workers('SELECT count(ctid) FROM rows WHERE a < 10 ORDER BY 1') AS as_many_again, workers('SELECT a FROM rows FOR UPDATE') AS not_safe;
SET gpuscan.more_workers = off;
SELECT workers('SELECT count(ctid) FROM rows') AS off;
RESET gpuscan.more_workers;
SET max_parallel_workers_per_gather = 2;
SELECT workers('SELECT count(ctid) FROM rows') AS usual_limit;
SET max_parallel_workers_per_gather = 4;
SET gpuscan.exact_float = on;
SELECT workers('SELECT count(ctid) FROM rows') AS in_order;
RESET gpuscan.exact_float;
RESET cpu_tuple_cost;
SELECT workers('SELECT count(ctid) FROM rows') AS takes_no_time;
-- Rows from workers count for what they take, which is less than they cost: here all rows come through, each after some arithmetic.
SET cpu_operator_cost = 0.2;
SET parallel_tuple_cost = 2;
SELECT workers('SELECT ctid FROM rows WHERE ' || string_agg('a * 1.1 <> ' || -i, ' AND ')) AS rows_by_time FROM generate_series(1, 3) i;
SET gpuscan.more_workers = off;
SET min_parallel_table_scan_size = 0;
SELECT workers('SELECT ctid FROM rows WHERE ' || string_agg('a * 1.1 <> ' || -i, ' AND ')) AS rows_by_cost FROM generate_series(1, 3) i;
RESET gpuscan.more_workers;
RESET min_parallel_table_scan_size;
SHOW parallel_tuple_cost;
SHOW min_parallel_table_scan_size;
-- And they stay the session's after an error in a function that has settings of its own, while the statement is planned once more.
SET cpu_tuple_cost = 10;
SET cpu_operator_cost = 1;
CREATE SEQUENCE plannings;
CREATE FUNCTION planned_once(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql SET min_parallel_table_scan_size = '16MB' SET parallel_tuple_cost = 7 AS $$
BEGIN
    IF nextval('plannings') > 1 THEN
        RAISE EXCEPTION 'planned again, with min_parallel_table_scan_size = %', current_setting('min_parallel_table_scan_size');
    END IF;
    RETURN a;
END $$;
EXPLAIN (COSTS OFF) SELECT count(ctid) FROM rows WHERE a < planned_once(50);
SHOW parallel_tuple_cost;
SHOW min_parallel_table_scan_size;
-- A statement is not planned once more where planning takes long beside it.
RESET cpu_operator_cost;
SET cpu_tuple_cost = 0.6;
CREATE TABLE parts (a int) PARTITION BY HASH (a);
DO $$ BEGIN
    FOR i IN 0..599 LOOP
        EXECUTE format('CREATE TABLE part%s PARTITION OF parts FOR VALUES WITH (MODULUS 600, REMAINDER %s)', i, i);
    END LOOP;
END $$;
INSERT INTO parts SELECT * FROM rows;
VACUUM (ANALYZE) parts;
CREATE FUNCTION noted(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('plannings');
    RETURN a;
END $$;
CREATE FUNCTION times_planned(query text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    PERFORM setval('plannings', 1);
    EXECUTE 'EXPLAIN ' || query;
    RETURN currval('plannings') - 1;
END $$;
SELECT times_planned('SELECT count(ctid) FROM rows WHERE a > noted(0)') AS one,
    times_planned('SELECT count(ctid) FROM parts WHERE a > noted(0)') AS many;
SET cpu_tuple_cost = 50;
SELECT times_planned('SELECT count(ctid) FROM parts WHERE a > noted(0)') AS that_take_longer;

SET client_min_messages = warning;
DROP SCHEMA choice CASCADE;
