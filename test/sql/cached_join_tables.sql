-- The planner knows which join tables the device has kept: it estimates no work for them, as long as they can be found. What has to
-- be built is told in rows; what else things cost is not asked here.
CREATE SCHEMA cached_join_tables;
SET search_path = cached_join_tables, public;
SET gpuscan.device = host;
SET gpuscan.offload = force;
CREATE TABLE fact (a int, b int, c text);
INSERT INTO fact SELECT i, i % 1000, 'name ' || i % 300 FROM generate_series(1, 40000) i;
CREATE TABLE dim (k int, g int, d date, name text);
INSERT INTO dim SELECT i, i % 20, date '2020-01-01' + i, 'name ' || i % 300 FROM generate_series(1, 1000) i;
CREATE TABLE part (g int, label text, filler text);
INSERT INTO part SELECT i, 'label ' || i, repeat('x', 200) FROM generate_series(1, 100) i;
CREATE TABLE parted (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (501);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (501) TO (1001);
INSERT INTO parted SELECT i, i % 7 FROM generate_series(1, 1000) i;
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) fact, dim, part, parted;

CREATE FUNCTION rows_to_build(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || query INTO plan;
    RETURN coalesce(sum((work ->> 'Amount')::numeric), 0) FROM jsonb_path_query(plan, 'strict $.**."Estimated Work"[*]') work WHERE work ->> 'Work' = 'row_built';
END $$;
CREATE FUNCTION tables_reused(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE before bigint; ignored text;
BEGIN
    SELECT tables_reused INTO before FROM gpuscan.stat;
    EXECUTE format('SELECT string_agg(q::text, $q$ $q$) FROM (%s) q', query) INTO ignored;
    RETURN (SELECT tables_reused FROM gpuscan.stat) - before;
END $$;
CREATE TABLE queries (number int PRIMARY KEY, about text, query text);
INSERT INTO queries VALUES
    (1, 'a key alone', 'SELECT sum(a) FROM fact JOIN dim ON b = k'),
    (2, 'carries a number', 'SELECT g, sum(a) FROM fact JOIN dim ON b = k GROUP BY g'),
    (3, 'carries a text', 'SELECT name, sum(a) FROM fact JOIN dim ON b = k GROUP BY name'),
    (4, 'numbers', 'SELECT sum(a) FROM fact JOIN dim ON b = k WHERE g < 5'),
    (5, 'dates', 'SELECT sum(a) FROM fact JOIN dim ON b = k WHERE d BETWEEN date ''2020-02-01'' AND date ''2020-02-01'' + interval ''1 year'''),
    (6, 'a list', 'SELECT sum(a) FROM fact JOIN dim ON b = k WHERE g IN (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 2, 4)'),
    (7, 'texts', 'SELECT sum(a) FROM fact JOIN dim ON b = k WHERE name LIKE ''name 1%'' AND name <> ''name 17'''),
    (8, 'texts as keys', 'SELECT sum(a) FROM fact JOIN dim ON c = name'),
    (9, 'a semi join', 'SELECT sum(a) FROM fact WHERE EXISTS (SELECT FROM dim WHERE k = b AND g = 3)'),
    (10, 'an anti join', 'SELECT sum(a) FROM fact WHERE NOT EXISTS (SELECT FROM dim WHERE k = b AND g = 3)'),
    (11, 'a full join', 'SELECT sum(a), count(k) FROM fact FULL JOIN dim ON b = k'),
    (12, 'tables in tables', 'SELECT label, sum(a) FROM fact LEFT JOIN (dim JOIN part USING (g)) ON b = k GROUP BY label'),
    (13, 'partitions', 'SELECT v, sum(a) FROM fact JOIN parted ON b = k GROUP BY v'),
    (14, 'rows', 'SELECT a, label FROM fact JOIN part ON b = g WHERE a < 5000'),
    (15, 'sorted groups', 'SELECT a, g, count(*) FROM fact JOIN dim ON b = k GROUP BY a, g ORDER BY a, g'),
    (16, 'what is stable', 'SELECT sum(a) FROM fact JOIN dim ON b = k WHERE d < current_date'),
    (17, 'rows of a plan', 'SELECT sum(a) FROM fact JOIN (SELECT k, max(g) AS g FROM dim GROUP BY k LIMIT 500) dim ON b = k'),
    (18, 'other texts meet them', 'SELECT sum(a) FROM fact JOIN dim ON lower(c) = name');
CREATE TABLE estimates AS SELECT number, 0 AS at, rows_to_build(query) AS rows FROM queries;
CREATE PROCEDURE note(moment int) LANGUAGE sql AS $$ INSERT INTO estimates SELECT number, moment, rows_to_build(query) FROM queries $$;

-- Nothing is kept.
SELECT number FROM estimates WHERE rows = 0;
SELECT sum(tables_reused(query)) >= 0 AS run FROM queries;
CALL note(1);
-- What was kept is found, and no work is estimated for it.
SELECT number, about, rows > 0 AS builds, tables_reused(query) AS reused FROM queries JOIN estimates USING (number) WHERE at = 1 ORDER BY number;
-- Another constant is another table.
SELECT rows_to_build(replace(query, '5', '6')) > 0 AS builds FROM queries WHERE number = 4;
SELECT rows_to_build(replace(query, '17', '18')) > 0 AS builds FROM queries WHERE number = 7;
-- As a planner who has not been told a value must think.
SET plan_cache_mode = force_generic_plan;
PREPARE generic(int) AS SELECT sum(a) FROM fact JOIN dim ON b = k WHERE g < $1;
EXECUTE generic(5);
SELECT rows_to_build('EXECUTE generic(5)') > 0 AS builds;
RESET plan_cache_mode;
SELECT rows_to_build('EXECUTE generic(5)') > 0 AS builds;

-- Rows have come: the tables of the old ones are changed by them.
INSERT INTO dim SELECT 1000 + i, i, date '2020-01-01', 'new' FROM generate_series(1, 5) i;
SELECT number, tables_reused(query) AS reused FROM queries WHERE number IN (1, 12, 13) ORDER BY number;
-- Who had to build one anew, because there are new texts to look up, is taken to have to again until it has been found.
SELECT wait_for_snapshots();
SELECT sum(tables_reused(query)) >= 0 AS run FROM queries;
CALL note(2);
SELECT string_agg(number::text, ' ' ORDER BY number) AS rebuilt FROM estimates one JOIN estimates two USING (number) WHERE one.at = 1 AND two.at = 2 AND one.rows = 0 AND two.rows > 0;
SELECT sum(tables_reused(query)) >= 0 AS run FROM queries;
CALL note(3);
SELECT one.number FROM estimates one JOIN estimates three USING (number) WHERE one.at = 1 AND three.at = 3 AND (one.rows > 0) <> (three.rows > 0);
-- The large table is the one that is built, of its few rows that pass, and keeps changing, and the table with it.
CREATE FUNCTION planned(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; build text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        build := coalesce(build, substring(line FROM 'Join 1: (\w+)'));
    END LOOP;
    RETURN build || CASE WHEN rows_to_build(query) > 0 THEN ' is built' ELSE ' is there' END;
END $$;
CREATE PROCEDURE look(moment text, change bool) LANGUAGE plpgsql AS $$
DECLARE query text := 'SELECT g, sum(a) FROM dim JOIN fact ON k = a WHERE c = ''name 7'' GROUP BY g';
BEGIN
    IF change THEN
        INSERT INTO fact VALUES (7, 7, 'name 7');
    END IF;
    COMMIT;
    RAISE NOTICE '%: %, % found', moment, planned(query), tables_reused(query);
END $$;
CALL look('first', false);
CALL look('second', false);
CALL look('changed', true);
CALL look('changed', true);
CALL look('changed', true);
CALL look('stays', false);
CALL look('stays', false);
-- Memory that is given back.
SELECT gpuscan.evict('dim') > 0 AS evicted;
CALL note(4);
SELECT number, about, rows > 0 AS builds FROM queries JOIN estimates USING (number) WHERE at = 4 AND number IN (1, 12, 13) ORDER BY number;
SELECT gpuscan.evict() > 0 AS evicted;
CALL note(5);
SELECT number FROM estimates WHERE at = 5 AND rows = 0;

-- A table that another one's build probes, of which so many rows have changed that it is not told by its rows: the other is made anew.
CREATE TABLE probing (a int);
INSERT INTO probing SELECT i % 3000 FROM generate_series(1, 60000) i;
CREATE TABLE middle (k int, j int);
INSERT INTO middle SELECT i, i % 2000 FROM generate_series(0, 2999) i;
CREATE TABLE leaf (j int, n int) WITH (fillfactor = 20);
INSERT INTO leaf SELECT i, 1 FROM generate_series(0, 1999) i;
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) probing, middle, leaf;
CREATE FUNCTION check_nested() RETURNS text LANGUAGE sql AS $$SELECT check_query('SELECT count(*), sum(leaf.n) FROM probing JOIN (middle JOIN leaf USING (j)) ON probing.a = middle.k')$$;
SELECT check_nested();
BEGIN;
UPDATE leaf SET n = n + 1 WHERE j < 1000;
SELECT check_nested();
UPDATE leaf SET n = n + 1 WHERE j < 1000;
SELECT check_nested();
UPDATE leaf SET n = 1 WHERE j < 1000;
SELECT check_nested();
ROLLBACK;
SELECT check_nested();

SET client_min_messages = warning;
DROP SCHEMA cached_join_tables CASCADE;
