-- The planner knows what the device has cached: a query costs less once its columns are there, and as much as before when they are
-- gone. What costs are is not asked here.
CREATE SCHEMA resident;
SET search_path = resident, public;
SET gpuscan.device = host;
SET gpuscan.offload = force;
CREATE TABLE t (a int, b int, c text);
INSERT INTO t SELECT i, i % 10, 'text ' || i % 7 FROM generate_series(1, 40000) i;
CREATE TABLE parted (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (20001);
CREATE TABLE parted_2 (b int, gone int, a int);
ALTER TABLE parted_2 DROP gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (20001) TO (40001);
INSERT INTO parted SELECT a, b FROM t;
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) t, parted;
SELECT gpuscan.evict() >= 0; -- what the INSERT has read

CREATE FUNCTION cost(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan #>> '{0,Plan,Total Cost}';
END $$;
CREATE TABLE queries (number int PRIMARY KEY, query text);
INSERT INTO queries VALUES (1, 'SELECT sum(a) FROM t'), (2, 'SELECT sum(a) FROM t WHERE b = 3'), (3, 'SELECT c, count(*) FROM t GROUP BY c'),
    (4, 'SELECT count(*) FROM t'), (5, 'SELECT sum(b) FROM parted'), (6, 'SELECT sum(b) FROM parted WHERE a <= 20000'), (7, 'SELECT sum(x.a) FROM t x JOIN parted y ON x.a = y.a');
CREATE TABLE costs AS SELECT number, 'nothing' AS cached, cost(query) FROM queries;
CREATE PROCEDURE note(what text) LANGUAGE sql AS $$ INSERT INTO costs SELECT number, what, cost(query) FROM queries $$;

SELECT sum(a) FROM t;
CALL note('t.a');
SELECT count(*) FROM t WHERE b = 3 AND c > 'text 3';
SELECT sum(b) FROM parted_1;
CALL note('t, parted_1.b');
SELECT sum(a), sum(b) FROM parted;
CALL note('everything');
SELECT gpuscan.evict('parted') > 0;
CALL note('t');
CREATE INDEX ON t (a);
CLUSTER t USING t_a_idx;
SELECT wait_for_snapshots();
VACUUM (FREEZE) t;
CALL note('an old file of t');
SELECT gpuscan.evict('t') >= 0;

SELECT queries.number, query, string_agg(format('%s: %s', cached, CASE sign(costs.cost - nothing.cost) WHEN -1 THEN 'less' WHEN 0 THEN 'the same' ELSE 'MORE' END), ', ' ORDER BY array_position('{t.a,"t, parted_1.b",everything,t,"an old file of t"}', cached)) AS "than with nothing cached"
    FROM queries JOIN costs USING (number) JOIN (SELECT number, cost FROM costs WHERE cached = 'nothing') nothing USING (number) WHERE cached <> 'nothing' GROUP BY queries.number, query ORDER BY 1;
-- one column of two is none: the page has to be read; half of the partitions is half
SELECT number, one.cost > all_of_it.cost AS "part of it costs more" FROM costs one JOIN costs all_of_it USING (number) WHERE all_of_it.cached = 'everything' AND one.cached = 't, parted_1.b' AND number IN (5, 7) ORDER BY 1;

-- Rent or buy: an index scan costs less than bringing the columns, and more than a device that has them. It is taken for some
-- time, but not for ever; and once they are gone, it begins anew. EXPLAIN does not move that. (An execution that takes longer
-- than expected credits more. Rows are expected to be so expensive here that none does.)
SET gpuscan.offload = auto;
SET cpu_tuple_cost = 0.5;
CREATE TABLE wide (a int PRIMARY KEY, b int, filler text) WITH (fillfactor = 10);
INSERT INTO wide SELECT i, i % 10, repeat('x', 60) FROM generate_series(1, 40000) i;
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) wide;
CREATE FUNCTION runs_on(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN CASE WHEN plan::text LIKE '%GpuScan%' THEN 'the device' ELSE 'PostgreSQL' END;
END $$;
CREATE FUNCTION runs_until_device(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
    FOR run IN 0 .. 500 LOOP
        IF runs_on(query) = 'the device' THEN
            RETURN run;
        END IF;
        EXECUTE query INTO result;
    END LOOP;
END $$;
CREATE VIEW question AS SELECT 'SELECT sum(b) FROM wide WHERE a BETWEEN 1 AND 500' AS query;
SELECT count(*) AS explained, runs_on AS "on" FROM question, generate_series(1, 1000), runs_on(query || substr('', generate_series::int)) GROUP BY 2;
CREATE TABLE runs AS SELECT runs_until_device(query) AS first FROM question;
SELECT first > 1 AS "not at once" FROM runs;
SELECT sum(b) FROM wide WHERE a BETWEEN 1 AND 500;
SELECT runs_on(query) AS "from now on" FROM question;
SELECT gpuscan.evict('wide') > 0 AS evicted;
SELECT runs_on(query) AS "once it is gone" FROM question;
SELECT abs(runs_until_device(query) - first) <= 2 AS "as often as before" FROM question, runs;
-- Giving the memory back on purpose forgets what has been saved so far.
SELECT gpuscan.evict('wide') >= 0 AS evicted;
DO $$
DECLARE result bigint;
BEGIN
    FOR run IN 2 .. (SELECT first FROM runs) LOOP
        EXECUTE (SELECT query FROM question) INTO result;
    END LOOP;
END $$;
SELECT gpuscan.evict('wide') >= 0 AS evicted;
SELECT abs(runs_until_device(query) - first) <= 2 AS "as often again" FROM question, runs;
RESET cpu_tuple_cost;

-- gpuscan.prewarm brings every column in the form in which queries ask for it: they decode no page.
CREATE TABLE kinds AS SELECT i AS id, i / 7.0 AS n, (i / 7.0)::numeric(30,2) AS wide, i / 4.0::float8 AS f, jsonb_build_object('k', i % 9) AS j, ARRAY[i % 3] AS a, 'text ' || i % 5 AS t, md5((i % 9)::text)::uuid AS u, make_interval(days => i % 9) AS iv, i % 2 = 0 AS b, ('c' || i % 4)::char(5) AS c, date '2024-01-01' + i % 50 AS d FROM generate_series(1, 0) i;
INSERT INTO kinds SELECT i AS id, i / 7.0 AS n, (i / 7.0)::numeric(30,2) AS wide, i / 4.0::float8 AS f, jsonb_build_object('k', i % 9) AS j, ARRAY[i % 3] AS a, 'text ' || i % 5 AS t, md5((i % 9)::text)::uuid AS u, make_interval(days => i % 9) AS iv, i % 2 = 0 AS b, ('c' || i % 4)::char(5) AS c, date '2024-01-01' + i % 50 AS d FROM generate_series(1, 3000) i;
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) kinds;
SELECT gpuscan.prewarm('kinds') = pg_relation_size('kinds') / 8192 AS "all pages";
CREATE FUNCTION pages_of(query text) RETURNS SETOF text LANGUAGE plpgsql SET gpuscan.offload = force AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Pages:' THEN
            RETURN NEXT regexp_replace(line, 'cached=[1-9]\d*', 'cached=all');
        END IF;
    END LOOP;
END $$;
SELECT c, pages_of(format('SELECT %I FROM kinds WHERE id > 0', c)) FROM unnest(ARRAY['id', 'n', 'wide', 'f', 'j', 'a', 't', 'u', 'iv', 'b', 'c', 'd']) AS c;

SET client_min_messages = warning;
DROP SCHEMA resident CASCADE;
