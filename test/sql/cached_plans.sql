-- Plans that PostgreSQL keeps: a prepared statement's and a function's come to a device when their executions have paid for what it lacks.
CREATE SCHEMA cached_plans;
SET search_path = cached_plans, public;
CREATE TABLE docs AS SELECT i AS id, jsonb_build_object('k', i % 100, 'text', repeat('x', i % 50)) AS doc FROM generate_series(1, 60000) i;
VACUUM (FREEZE, ANALYZE) docs;
CREATE FUNCTION fragments() RETURNS bigint LANGUAGE sql AS 'SELECT fragments FROM gpuscan.stat';
CREATE FUNCTION place_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
        IF line ~ 'GpuScan' THEN
            RETURN 'device';
        END IF;
    END LOOP;
    RETURN 'PostgreSQL';
END $$;
-- Executes it until a device does; how often.
CREATE FUNCTION executions(statement text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE before bigint := fragments();
BEGIN
    FOR n IN 1..40 LOOP
        EXECUTE statement;
        IF fragments() > before THEN
            RETURN n;
        END IF;
    END LOOP;
END $$;
CREATE FUNCTION counted() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    SELECT count(*) INTO n FROM docs WHERE doc ->> 'text' = 'xxx';
    RETURN n;
END $$;
SET gpuscan.offload = auto;
PREPARE statement AS SELECT count(*) FROM docs WHERE id > 45000 AND doc ->> 'k' = '7';
SELECT place_of('EXECUTE statement');
-- what is only explained pays for nothing
SELECT count(place_of('EXECUTE statement')) FROM generate_series(1, 40);
SELECT place_of('EXECUTE statement');
SELECT executions('EXECUTE statement') BETWEEN 2 AND 39 AS "after some", place_of('EXECUTE statement');
EXECUTE statement;
SELECT executions('SELECT counted()') BETWEEN 1 AND 39 AS "after some", counted();
-- a plan that nobody keeps owes nothing twice
SET gpuscan.offload = off;
EXECUTE statement;
RESET gpuscan.offload;
DEALLOCATE statement;
-- A plan for any values of the parameters expects few rows between two bounds. Where an index gives it many instead, plans for given values go on.
CREATE TABLE facts AS SELECT i AS id, i % 50 AS shop, i % 1000 AS amount FROM generate_series(1, 400000) i;
CREATE INDEX ON facts (id);
VACUUM (FREEZE, ANALYZE) facts;
SELECT sum(id) + sum(shop) + sum(amount) AS cached FROM facts;
SET max_parallel_workers_per_gather = 0;
PREPARE wide(int, int) AS SELECT shop, count(*), sum(amount) FROM facts WHERE id BETWEEN $1 AND $2 GROUP BY shop ORDER BY 3 DESC, 1 LIMIT 2;
PREPARE narrow(int, int) AS SELECT count(*), sum(amount) FROM facts WHERE id BETWEEN $1 AND $2;
DO $$ BEGIN
    FOR i IN 1..12 LOOP
        EXECUTE 'EXECUTE wide(1, 350000)';
        EXECUTE 'EXECUTE narrow(7, 9)';
    END LOOP;
END $$;
EXECUTE wide(1, 350000);
SELECT place_of('EXECUTE wide(1, 350000)'), place_of('EXECUTE narrow(7, 9)');
SELECT name, generic_plans, custom_plans FROM pg_prepared_statements ORDER BY name DESC;
RESET max_parallel_workers_per_gather;
-- A plan that is kept follows a device that is switched off, and on again.
SET plan_cache_mode = force_generic_plan;
PREPARE kept AS SELECT shop, sum(amount) FROM facts GROUP BY shop;
SELECT place_of('EXECUTE kept');
SET gpuscan.offload = off;
SELECT place_of('EXECUTE kept');
RESET gpuscan.offload;
SELECT place_of('EXECUTE kept');
BEGIN;
SET LOCAL gpuscan.device = 'none';
SELECT place_of('EXECUTE kept');
ROLLBACK;
SELECT place_of('EXECUTE kept');
RESET plan_cache_mode;
DEALLOCATE ALL;
SET client_min_messages = warning;
DROP SCHEMA cached_plans CASCADE;
