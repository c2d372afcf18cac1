\echo Use "CREATE EXTENSION gpuscan" to load this file. \quit

-- Whoever owns the schema can add functions that others would call by the extension's names.
DO $$ BEGIN
    IF NOT (SELECT r.rolsuper FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
            WHERE n.nspname OPERATOR(pg_catalog.=) 'gpuscan') THEN
        RAISE EXCEPTION 'schema "gpuscan" is not owned by a superuser'
            USING ERRCODE = 'insufficient_privilege', HINT = 'Give it to a superuser, or drop it, before CREATE EXTENSION.';
    END IF;
END $$;

GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

-- The devices and the process that drives them. Works in any state of the server, to say what is missing.
CREATE FUNCTION device_rows(
    OUT kind text, OUT name text, OUT state text, OUT memory_total bigint, OUT memory_limit bigint,
    OUT memory_used bigint, OUT cache_bytes bigint, OUT note text, OUT pid integer)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL SAFE ROWS 2
AS 'MODULE_PATHNAME', 'gpuscan_device_rows';

CREATE VIEW devices AS
SELECT kind, name, state, memory_total, memory_limit, memory_used, cache_bytes, note, pid
FROM device_rows();

COMMENT ON VIEW devices IS 'devices of gpuscan, their state and memory';

-- The last ends of the device process that nobody ordered, with what was running. It shows queries of others, so it is for
-- monitoring roles.
CREATE FUNCTION death_rows(
    OUT died_at timestamptz, OUT pid integer, OUT signal integer, OUT exit_code integer, OUT requests integer,
    OUT command text, OUT backend_pid integer, OUT query text, OUT refused boolean)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL SAFE ROWS 16
AS 'MODULE_PATHNAME', 'gpuscan_death_rows';

CREATE VIEW deaths AS
SELECT died_at, pid, signal, exit_code, requests, command, backend_pid, query, refused
FROM death_rows();

COMMENT ON VIEW deaths IS 'the last deaths of the device process of gpuscan, and what was running';

REVOKE ALL ON FUNCTION death_rows() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION death_rows() TO pg_monitor;
GRANT SELECT ON deaths TO pg_monitor;

-- What has been done since the server's start (or since stat_reset), in all databases.
CREATE FUNCTION stat_row(
    OUT fragments bigint, OUT fallbacks bigint, OUT row_errors bigint, OUT cancelled bigint,
    OUT pages_cached bigint, OUT pages_decoded bigint, OUT pages_rowwise bigint, OUT rows_in bigint,
    OUT groups_out bigint, OUT tables_reused bigint, OUT chunks_built bigint, OUT chunks_evicted bigint, OUT kernels_compiled bigint,
    OUT link_bytes bigint, OUT device_ms float8, OUT restarts bigint)
RETURNS record LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'gpuscan_stat_row';

CREATE VIEW stat AS
SELECT fragments, fallbacks, row_errors, cancelled, pages_cached, pages_decoded, pages_rowwise, rows_in, groups_out,
    tables_reused, chunks_built, chunks_evicted, kernels_compiled, link_bytes, device_ms, restarts
FROM stat_row();

COMMENT ON VIEW stat IS 'counters of gpuscan since the start of the server';

CREATE FUNCTION stat_reset()
RETURNS void LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'gpuscan_stat_reset';

REVOKE ALL ON FUNCTION stat_reset() FROM PUBLIC;

-- The column cache, of all databases: it shows which tables others use, so it is for monitoring roles.
CREATE FUNCTION cache_rows(
    OUT tablespace oid, OUT database oid, OUT relfilenode oid, OUT attnum integer, OUT device text,
    OUT chunks bigint, OUT pages bigint, OUT bytes bigint, OUT hits bigint)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'gpuscan_cache_rows';

-- Names are known for relations of this database only.
CREATE VIEW cached_columns AS
SELECT c.database AS datid, d.datname, k.oid AS relid, n.nspname AS schemaname, k.relname, c.relfilenode, c.attnum, a.attname, c.device,
    c.chunks, c.pages, c.bytes, c.hits
FROM cache_rows() c
LEFT JOIN pg_catalog.pg_database d ON d.oid = c.database
LEFT JOIN pg_catalog.pg_class k ON k.oid =
    CASE WHEN d.datname = pg_catalog.current_database() THEN pg_catalog.pg_filenode_relation(c.tablespace, c.relfilenode) END
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = k.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = k.oid AND a.attnum = c.attnum;

COMMENT ON VIEW cached_columns IS 'columns in the cache of gpuscan';

REVOKE ALL ON FUNCTION cache_rows() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cache_rows() TO pg_monitor;

GRANT SELECT ON devices, stat TO PUBLIC;
GRANT SELECT ON cached_columns TO pg_monitor;

-- What is on, what is missing, and the command that mends it: a row for each item.
CREATE FUNCTION status(OUT item text, OUT state text, OUT detail text, OUT remedy text)
RETURNS SETOF record LANGUAGE sql STABLE PARALLEL SAFE ROWS 9
SET search_path = pg_catalog, @extschema@, pg_temp
AS $$
WITH preload AS (
    SELECT NOT EXISTS (SELECT FROM devices WHERE state = 'not preloaded') AS done,
        current_setting('shared_preload_libraries') AS libraries),
setting AS (
    SELECT current_setting('gpuscan.offload') AS offload, current_setting('gpuscan.cache_size') AS cache_size,
        current_setting('transaction_isolation') AS isolation
    FROM preload WHERE done),
written AS (
    SELECT c.oid::regclass::text AS name, c.relpages, 1 - least(c.relallvisible, c.relpages)::float8 / c.relpages AS share
    FROM pg_class c, setting
    WHERE c.relkind IN ('r', 'm') AND c.relpages >= 1000 AND c.relallvisible < 0.9 * c.relpages AND c.relpersistence = 'p'
    ORDER BY c.relpages - c.relallvisible DESC, 1 LIMIT 3)
SELECT 'preload', CASE WHEN done THEN 'ok' ELSE 'missing' END, format('shared_preload_libraries = %L', libraries),
    CASE WHEN NOT done THEN format('ALTER SYSTEM SET shared_preload_libraries = %s; then restart the server',
                                   concat_ws(', ', nullif(libraries, ''), 'gpuscan')) END
FROM preload
UNION ALL
SELECT CASE d.kind WHEN 'host' THEN 'CPU engine' ELSE 'GPU' END, CASE d.state WHEN 'ready' THEN 'ok' ELSE d.state END,
    concat_ws('; ', nullif(d.name, 'host'), coalesce(d.note, CASE d.state WHEN 'ready' THEN 'ready' END)),
    CASE WHEN d.state = 'off' THEN 'ALTER SYSTEM SET gpuscan.device = auto; SELECT pg_reload_conf()'
         WHEN d.state = 'failed' AND d.kind = 'cuda'
         THEN 'none is needed without a GPU; else install what is missing, then restart the server' END
FROM devices d, setting
UNION ALL
SELECT 'offload', CASE offload WHEN 'off' THEN 'off' ELSE 'ok' END, format('gpuscan.offload = %s', offload),
    CASE offload WHEN 'off' THEN 'SET gpuscan.offload = auto' END
FROM setting
UNION ALL
SELECT 'isolation', CASE isolation WHEN 'serializable' THEN 'off' ELSE 'ok' END, format('transaction_isolation = %L', isolation),
    CASE isolation WHEN 'serializable' THEN 'use repeatable read: serializable transactions run in PostgreSQL' END
FROM setting
UNION ALL
SELECT CASE d.kind WHEN 'host' THEN 'CPU engine''s cache' ELSE 'GPU''s cache' END, CASE WHEN s.chunks_evicted > 0 THEN 'full' ELSE 'ok' END,
    format('%s %s, %s chunks evicted', coalesce(pg_size_pretty(d.cache_bytes) || ' used of', 'at most'),
           CASE d.kind WHEN 'host' THEN cache_size ELSE pg_size_pretty(d.memory_limit) END, s.chunks_evicted),
    CASE WHEN s.chunks_evicted > 0 AND d.kind = 'host'
         THEN 'ALTER SYSTEM SET gpuscan.cache_size = SIZE; SELECT pg_reload_conf()' END
FROM devices d, stat s, setting WHERE d.state = 'ready'
UNION ALL
SELECT 'fallbacks', CASE WHEN fallbacks > 0 THEN 'look' ELSE 'ok' END,
    format('%s of %s fragments were answered by PostgreSQL', fallbacks, fragments),
    CASE WHEN fallbacks > 0 THEN 'ALTER SYSTEM SET gpuscan.log_fallbacks = on; SELECT pg_reload_conf(); reasons are in the log then' END
FROM stat, setting
UNION ALL
SELECT 'device process', CASE WHEN restarts > 0 THEN 'look' ELSE 'ok' END, format('%s deaths', restarts),
    CASE WHEN restarts > 0 THEN 'SELECT * FROM gpuscan.deaths' END
FROM stat, setting
UNION ALL
SELECT 'vacuum', 'look', format('%s: %s %% of its %s pages cannot be cached', name, round((100 * share)::numeric), relpages),
    format('VACUUM %s', name)
FROM written
UNION ALL
SELECT 'vacuum', 'ok', 'of each table of 8 MB or more at least 90 % of the pages can be cached', NULL
FROM setting WHERE NOT EXISTS (SELECT FROM written)
$$;

COMMENT ON FUNCTION status() IS 'what of gpuscan is on, what is missing, and how to mend it';

-- Maintenance of the cache; each checks the caller's rights on the relation. Neither is ever necessary.
CREATE FUNCTION evict(relation regclass DEFAULT NULL)
RETURNS bigint LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'gpuscan_evict';

COMMENT ON FUNCTION evict(regclass) IS 'drops a relation from the cache of gpuscan (NULL: all); returns bytes';

CREATE FUNCTION prewarm(relation regclass)
RETURNS bigint LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'gpuscan_prewarm';

COMMENT ON FUNCTION prewarm(regclass) IS 'reads a relation into the cache of gpuscan; returns pages';

-- Why a plan was chosen. Checks the privileges that EXPLAIN checks, and executes nothing.
CREATE FUNCTION explain_cost(query text, OUT alternative text, OUT component text, OUT work text, OUT tier text, OUT pattern text,
                                     OUT amount float8, OUT unit text, OUT ms float8, OUT cost float8)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'gpuscan_explain_cost';

COMMENT ON FUNCTION explain_cost(text) IS 'what a query would cost PostgreSQL alone and each device, by tier and pattern';

-- What work costs on this machine: the file that gpuscan.cost_profile_file names, as the server has read it. `price`: of one now, in ns, on the
-- device that this session's plans would get.
CREATE FUNCTION profile_rows(OUT device text, OUT name text, OUT value float8, OUT default_value float8, OUT price float8,
                                     OUT unit text, OUT meaning text)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'gpuscan_profile_rows';

CREATE VIEW cost_profile AS
SELECT device, name, value, default_value, price, unit, meaning FROM profile_rows();

COMMENT ON VIEW cost_profile IS 'weights of the device costs in force';

GRANT SELECT ON cost_profile TO PUBLIC;

CREATE FUNCTION set_cost_profile(profile text)
RETURNS void LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'gpuscan_set_profile';

COMMENT ON FUNCTION set_cost_profile(text) IS 'writes the file of gpuscan.cost_profile_file, and keeps the one that was there; pg_reload_conf() puts it in force';

REVOKE ALL ON FUNCTION set_cost_profile(text) FROM PUBLIC;

-- (No error: whoever restores a dump may preload the library later.)
DO $$ BEGIN
    IF EXISTS (SELECT FROM @extschema@.devices WHERE state OPERATOR(pg_catalog.=) 'not preloaded') THEN
        RAISE WARNING 'gpuscan is not preloaded, so no query runs on a device'
            USING HINT = 'Add gpuscan to shared_preload_libraries and restart the server; gpuscan.status() shows the command.';
    END IF;
END $$;
