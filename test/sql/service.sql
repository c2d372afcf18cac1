-- The service as users see it: settings, views, privileges. (Its life and death: test/tap/service_lifecycle.sh.)
\set SHOW_CONTEXT never

-- What is on. (A machine may have a GPU; counters and tables are those of other tests.)
SELECT item, state, remedy FROM gpuscan.status() WHERE item IN ('preload', 'CPU engine', 'gpuscan.offload', 'transaction_isolation')
ORDER BY item COLLATE "C";
CREATE TABLE written AS SELECT i FROM generate_series(1, 400000) i;
CREATE UNLOGGED TABLE unlogged AS SELECT i FROM generate_series(1, 400000) i;
SELECT item, state, regexp_replace(detail, '[0-9]+ pages', 'N pages') AS detail FROM gpuscan.status() WHERE detail ~ 'written|unlogged' ORDER BY 1;
SELECT item, state IN ('ok', 'look') AS known, detail ~ 'has a snapshot that is \d+ transactions.* old' AS detail FROM gpuscan.status() WHERE item IN ('old snapshots', 'vacuum');
SET gpuscan.offload = off;
SET gpuscan.device = none;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT item, state, remedy FROM gpuscan.status() WHERE state = 'off' AND item <> 'GPU' ORDER BY item COLLATE "C";
COMMIT;
RESET gpuscan.device;
RESET gpuscan.offload;
CREATE ROLE service_reader;
GRANT SELECT ON written TO service_reader;
SET ROLE service_reader;
SELECT item, state, detail FROM gpuscan.status() WHERE item IN ('preload', 'unlogged') ORDER BY item COLLATE "C";
RESET ROLE;
DROP TABLE written, unlogged;
DROP ROLE service_reader;

-- Settings
SELECT name, CASE name WHEN 'gpuscan.cache_size' THEN 'the machine''s' ELSE boot_val END AS boot_val, unit, context, vartype
FROM pg_settings
WHERE name IN ('gpuscan.cache_size', 'gpuscan.device', 'gpuscan.device_memory_share', 'gpuscan.exact_float',
    'gpuscan.explain_refusals', 'gpuscan.host_threads', 'gpuscan.max_concurrent_fragments', 'gpuscan.offload')
ORDER BY name COLLATE "C";
SELECT name FROM pg_settings WHERE name LIKE 'gpuscan.%' AND short_desc = '';
SET gpuscan.offload = sometimes;
SET gpuscan.device = tpu;
SET gpuscan.cache_size = '1GB';
\set VERBOSITY terse
ALTER SYSTEM SET gpuscan.cache_size = '2047GB'; -- more than the machine has
\set VERBOSITY default
SET gpuscan.no_such_setting = 1;
ALTER SYSTEM SET gpuscan.cost_profile_file = '../elsewhere';
ALTER SYSTEM SET gpuscan.cost_profile_file = '/etc/passwd';
ALTER SYSTEM SET gpuscan.cost_profile_file = 'costs/../../elsewhere';

-- Both devices are listed, the CPU engine works, and both belong to one process.
DO $$
BEGIN
    FOR i IN 1..3000 LOOP
        EXIT WHEN EXISTS (SELECT FROM gpuscan.devices WHERE kind = 'host' AND state = 'ready');
        PERFORM pg_sleep(0.01);
    END LOOP;
END $$;
SELECT kind, state = 'ready' AS ready FROM gpuscan.devices WHERE kind = 'host';
SELECT count(*) AS devices, count(DISTINCT pid) AS processes FROM gpuscan.devices;
SELECT kind FROM gpuscan.devices WHERE state <> 'ready' AND note IS NULL;

-- No plan is made for a GPU that is not there, unless somebody insists.
CREATE TABLE service_rows AS SELECT i AS a, i % 10 AS b FROM generate_series(1, 300000) i;
VACUUM (ANALYZE) service_rows;
CREATE FUNCTION planned_for(kind text, offload text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    PERFORM set_config('gpuscan.device', kind, true), set_config('gpuscan.offload', offload, true);
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) SELECT b, count(*), sum(a) FROM service_rows GROUP BY b' INTO plan;
    RETURN plan::text LIKE '%GpuScan%';
END $$;
SELECT planned_for('host', 'auto') AS host, planned_for('cuda', 'auto') = EXISTS (SELECT FROM gpuscan.devices WHERE kind = 'cuda' AND state = 'ready') AS cuda_as_there_is_one, planned_for('cuda', 'force') AS cuda_forced;
DROP TABLE service_rows;
DROP FUNCTION planned_for;

-- Views
SELECT attrelid::regclass AS view, array_agg(attname ORDER BY attnum) AS columns
FROM pg_attribute
WHERE attrelid IN ('gpuscan.cached_columns'::regclass, 'gpuscan.devices'::regclass, 'gpuscan.stat'::regclass) AND attnum > 0
GROUP BY attrelid ORDER BY attrelid::regclass::text COLLATE "C";
SELECT gpuscan.stat_reset();
SELECT count(*) FROM gpuscan.stat WHERE fragments >= 0 AND restarts = 0;

-- gpuscan.evict
CREATE TABLE service_plain (a int PRIMARY KEY);
CREATE TABLE service_parts (a int) PARTITION BY RANGE (a);
CREATE TABLE service_part PARTITION OF service_parts DEFAULT;
CREATE VIEW service_view AS SELECT 1;
SELECT gpuscan.evict('service_plain') AS plain, gpuscan.evict('service_parts') AS partitioned;
SELECT gpuscan.evict() >= 0 AS everything;
SELECT gpuscan.evict('service_view');
SELECT gpuscan.evict('service_plain_pkey');
SELECT gpuscan.evict(0);

-- Privileges
CREATE ROLE regress_gpuscan_user;
CREATE ROLE regress_gpuscan_monitor IN ROLE pg_monitor;
SET ROLE regress_gpuscan_user;
SELECT count(*) FROM gpuscan.devices;
SELECT count(*) FROM gpuscan.stat;
SELECT count(*) FROM gpuscan.cached_columns;
SELECT count(*) FROM gpuscan.cache_rows();
SELECT gpuscan.stat_reset();
SELECT gpuscan.evict();
SELECT gpuscan.evict('service_plain');
SET gpuscan.cache_size = '1GB';
SET ROLE regress_gpuscan_monitor;
SELECT count(*) >= 0 AS visible FROM gpuscan.cached_columns;
RESET ROLE;
ALTER TABLE service_plain OWNER TO regress_gpuscan_user;
SET ROLE regress_gpuscan_user;
SELECT gpuscan.evict('service_plain');
RESET ROLE;

DROP VIEW service_view;
DROP TABLE service_plain, service_parts;
DROP ROLE regress_gpuscan_user, regress_gpuscan_monitor;
