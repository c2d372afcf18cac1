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
    OUT pages_cached bigint, OUT pages_decoded bigint, OUT pages_rowwise bigint, OUT pages_compared bigint, OUT rows_in bigint,
    OUT groups_out bigint, OUT tables_reused bigint, OUT chunks_built bigint, OUT chunks_evicted bigint, OUT kernels_compiled bigint,
    OUT link_bytes bigint, OUT device_ms float8, OUT restarts bigint)
RETURNS record LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'gpuscan_stat_row';

CREATE VIEW stat AS
SELECT fragments, fallbacks, row_errors, cancelled, pages_cached, pages_decoded, pages_rowwise, pages_compared, rows_in, groups_out,
    tables_reused, chunks_built, chunks_evicted, kernels_compiled, link_bytes, device_ms, restarts
FROM stat_row();

COMMENT ON VIEW stat IS 'counters of gpuscan since the start of the server';

CREATE FUNCTION stat_reset()
RETURNS void LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'gpuscan_stat_reset';

REVOKE ALL ON FUNCTION stat_reset() FROM PUBLIC;

-- The column cache, of all databases: it shows which tables others use, so it is for monitoring roles.
CREATE FUNCTION cache_rows(
    OUT tablespace oid, OUT database oid, OUT relfilenode oid, OUT attnum integer, OUT expression pg_node_tree, OUT device text,
    OUT chunks bigint, OUT pages bigint, OUT bytes bigint, OUT hits bigint)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'gpuscan_cache_rows';

CREATE FUNCTION cached_expression(pg_node_tree, oid)
RETURNS text LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'gpuscan_cached_expression';

-- Names are known for relations of this database only.
CREATE VIEW cached_columns AS
SELECT c.database AS datid, d.datname, k.oid AS relid, n.nspname AS schemaname, k.relname, c.relfilenode, c.attnum, a.attname,
    @extschema@.cached_expression(c.expression, k.oid) AS expression, c.device,
    c.chunks, c.pages, c.bytes, c.hits
FROM cache_rows() c
LEFT JOIN pg_catalog.pg_database d ON d.oid = c.database
LEFT JOIN pg_catalog.pg_class k ON k.oid =
    CASE WHEN d.datname = pg_catalog.current_database() THEN pg_catalog.pg_filenode_relation(c.tablespace, c.relfilenode) END
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = k.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = k.oid AND a.attnum = c.attnum;

COMMENT ON VIEW cached_columns IS 'columns in the cache of gpuscan';

REVOKE ALL ON FUNCTION cache_rows() FROM PUBLIC;
REVOKE ALL ON FUNCTION cached_expression(pg_node_tree, oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cached_expression(pg_node_tree, oid) TO pg_monitor;
GRANT EXECUTE ON FUNCTION cache_rows() TO pg_monitor;

GRANT SELECT ON devices, stat TO PUBLIC;
GRANT SELECT ON cached_columns TO pg_monitor;

-- What is on, what is missing, and the command that mends it: a row for each item. (pg_settings hides from plain users what they may not
-- see.)
CREATE FUNCTION status(OUT item text, OUT state text, OUT detail text, OUT remedy text)
RETURNS SETOF record LANGUAGE sql VOLATILE PARALLEL RESTRICTED ROWS 10
SET search_path = pg_catalog, @extschema@, pg_temp
AS $$
WITH server AS (
    SELECT NOT EXISTS (SELECT FROM devices WHERE state = 'not preloaded') AS preloaded,
        (SELECT setting FROM pg_settings WHERE name = 'shared_preload_libraries') AS libraries),
-- Settings that can keep queries from a device: the values that do, and what takes each back where it comes from.
setting AS (
    SELECT s.name, s.setting AS value,
        CASE s.name WHEN 'gpuscan.offload' THEN s.setting = 'off'
            WHEN 'gpuscan.device' THEN s.setting = 'none' OR s.setting IN (SELECT kind FROM devices WHERE devices.state <> 'ready')
            WHEN 'transaction_isolation' THEN s.setting = 'serializable'
            ELSE s.setting <> '-1' END AS is_off,
        CASE WHEN s.name = 'transaction_isolation' THEN 'use repeatable read: serializable transactions run in PostgreSQL'
            WHEN s.name = 'old_snapshot_threshold' THEN 'ALTER SYSTEM SET old_snapshot_threshold = -1; then restart the server'
            WHEN s.source = 'session' THEN format('SET %s = auto', s.name)
            WHEN s.source = 'database' THEN format('ALTER DATABASE %I RESET %s, for new sessions', current_database(), s.name)
            WHEN s.source = 'user' THEN format('ALTER ROLE %I RESET %s, for new sessions', session_user, s.name)
            WHEN s.source = 'database user'
            THEN format('ALTER ROLE %I IN DATABASE %I RESET %s, for new sessions', session_user, current_database(), s.name)
            ELSE format('ALTER SYSTEM SET %s = auto; SELECT pg_reload_conf()', s.name) END AS remedy
    FROM pg_settings s, server
    WHERE preloaded AND s.name IN ('gpuscan.offload', 'gpuscan.device', 'transaction_isolation', 'old_snapshot_threshold')),
big AS (
    SELECT c.oid::regclass::text AS name, c.relpersistence, pg_relation_size(c.oid) / 8192 AS pages, c.oid
    FROM pg_class c, server
    WHERE preloaded AND c.relkind IN ('r', 'm') AND c.relnamespace <> 'pg_catalog'::regnamespace AND (pg_has_role(c.relowner, 'USAGE') OR pg_has_role('pg_read_all_stats', 'USAGE'))
        AND c.relpersistence <> 't' AND pg_relation_size(c.oid) >= 8 * 1024 * 1024),
-- In recovery only the visibility map tells which pages can be cached.
worst AS (
    SELECT name, pages, greatest(pages - c.relallvisible, 0) AS hidden FROM big JOIN pg_class c USING (oid)
    WHERE pg_is_in_recovery() AND big.relpersistence = 'p' AND pages - c.relallvisible > 0.1 * pages ORDER BY hidden DESC, name LIMIT 3),
-- Elsewhere a page is not cached from a change on until no snapshot is older than that.
oldest AS (
    SELECT * FROM (SELECT age(backend_xmin), xact_start, format('session %s', pid), format('SELECT pg_terminate_backend(%s)', pid) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL
        UNION ALL SELECT age(transaction), prepared, format('prepared transaction %L', gid), format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts
        UNION ALL SELECT age(xmin), NULL, format('replication slot %L', slot_name), format('SELECT pg_drop_replication_slot(%L)', slot_name) FROM pg_replication_slots WHERE xmin IS NOT NULL) s(age, since, who, remedy)
    ORDER BY age DESC, since LIMIT 1),
old AS (SELECT *, age > 100000 OR (age > 0 AND since < clock_timestamp() - interval '5 minutes') AS is_old FROM oldest)
SELECT 'preload', CASE WHEN preloaded THEN 'ok' ELSE 'missing' END, coalesce('shared_preload_libraries = ' || quote_literal(libraries), CASE WHEN preloaded THEN 'gpuscan is preloaded' END),
    CASE WHEN NOT preloaded THEN format('ALTER SYSTEM SET shared_preload_libraries = %s; then restart the server',
                                        concat_ws(', ', 'gpuscan', nullif(libraries, ''))) END
FROM server
UNION ALL
SELECT CASE d.kind WHEN 'host' THEN 'CPU engine' ELSE 'GPU' END, CASE WHEN d.state = 'ready' THEN 'ok' WHEN d.note ~ 'libcuda' THEN 'none' ELSE d.state END,
    concat_ws('; ', nullif(d.name, 'host'), coalesce(d.note, CASE d.state WHEN 'ready' THEN 'ready' END)),
    CASE WHEN d.state = 'off' THEN 'ALTER SYSTEM SET gpuscan.device = auto; SELECT pg_reload_conf()'
         WHEN d.state = 'starting' THEN 'wait a moment; if it stays so, look into the server''s log'
         WHEN d.state = 'not started'
         THEN format('ALTER SYSTEM SET max_worker_processes = %s; then restart the server', current_setting('max_worker_processes')::int + 8)
         WHEN d.state = 'failed' AND d.kind = 'cuda'
         THEN 'nothing is needed without a GPU; else install what is missing, then restart the server' END
FROM devices d, server WHERE preloaded
UNION ALL
SELECT name, CASE WHEN is_off THEN 'off' ELSE 'ok' END, format('%s = %L', name, value), CASE WHEN is_off THEN remedy END
FROM setting WHERE is_off OR name IN ('gpuscan.offload', 'gpuscan.device')
UNION ALL
SELECT CASE d.kind WHEN 'host' THEN 'CPU engine''s cache' ELSE 'GPU''s cache' END, CASE WHEN c.is_full THEN 'full' ELSE 'ok' END,
    format('%s %s, %s chunks evicted', coalesce(pg_size_pretty(d.cache_bytes) || ' used of', 'at most'), pg_size_pretty(c.most), s.chunks_evicted),
    CASE WHEN c.is_full AND d.kind = 'host' THEN 'ALTER SYSTEM SET gpuscan.cache_size = SIZE; SELECT pg_reload_conf()' END
FROM devices d, stat s, server,
    LATERAL (SELECT CASE d.kind WHEN 'host' THEN pg_size_bytes(current_setting('gpuscan.cache_size')) ELSE d.memory_limit / 100 * 80 END) m(most),
    LATERAL (SELECT m.most, d.cache_bytes > CASE WHEN s.chunks_evicted > 0 THEN 0.8 ELSE 0.95 END * m.most) c(most, is_full)
WHERE preloaded AND d.state = 'ready'
UNION ALL
-- A chunk (32,672 pages) is cached with all of its columns that a query reads, of some 4 bytes a value, or not at all.
SELECT 'cache size', 'look', format('%s: all columns of a chunk take some %s, more than the cache has; what does not fit is read again by each query', name, pg_size_pretty(bytes)),
    format('ALTER SYSTEM SET gpuscan.cache_size = ''%s MB''; SELECT pg_reload_conf()', ceil(1.25 * bytes / 1048576))
FROM (SELECT big.name, (c.reltuples * least(1, 32672.0 / greatest(c.relpages, 1)) * c.relnatts * 4)::bigint AS bytes
      FROM big JOIN pg_class c USING (oid) WHERE big.relpersistence = 'p' ORDER BY 2 DESC, 1 LIMIT 3) t
WHERE bytes > pg_size_bytes(current_setting('gpuscan.cache_size')) AND NOT EXISTS (SELECT FROM devices WHERE kind = 'cuda' AND state = 'ready')
UNION ALL
SELECT 'fallbacks', CASE WHEN fallbacks > 0 THEN 'look' ELSE 'ok' END,
    format('%s of %s fragments were answered by PostgreSQL', fallbacks, fragments),
    CASE WHEN fallbacks > 0 THEN CASE current_setting('gpuscan.log_fallbacks') WHEN 'on' THEN 'the reasons are in the server''s log'
        ELSE 'ALTER SYSTEM SET gpuscan.log_fallbacks = on; SELECT pg_reload_conf(); reasons are in the log then' END END
FROM stat, server WHERE preloaded
UNION ALL
SELECT 'device process', CASE WHEN restarts > 0 THEN 'look' ELSE 'ok' END, format('%s deaths', restarts),
    CASE WHEN restarts > 0 THEN 'SELECT * FROM gpuscan.deaths' END
FROM stat, server WHERE preloaded
UNION ALL
SELECT 'vacuum', 'look', format('%s: %s %% of its %s pages cannot be cached by a standby', name, 100 * hidden / pages, pages), format('VACUUM %s, on the primary', name)
FROM worst
UNION ALL
SELECT 'old snapshots', CASE WHEN is_old THEN 'look' ELSE 'ok' END,
    format('%s has a snapshot that is %s transactions%s old; pages that changed since are read row by row', who, age, ' and ' || date_trunc('second', clock_timestamp() - since)),
    CASE WHEN is_old THEN remedy END
FROM old, server WHERE preloaded AND NOT pg_is_in_recovery()
UNION ALL
SELECT 'unlogged', 'look', format('%s, with %s pages, is unlogged, so each query compares all of them with the cache', name, pages), format('ALTER TABLE %s SET LOGGED', name)
FROM (SELECT * FROM big WHERE relpersistence = 'u' ORDER BY pages DESC, name LIMIT 3) u
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

-- In sentences. Checks the privileges that EXPLAIN checks, and executes nothing.
CREATE FUNCTION advise(query text, OUT part text, OUT runs_on text, OUT why text, OUT change text)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'gpuscan_advise';

COMMENT ON FUNCTION advise(text) IS 'what of a query runs where and why, and what could be changed';

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
