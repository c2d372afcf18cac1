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
SET client_min_messages = warning;
DROP SCHEMA cached_plans CASCADE;
