\echo Use "CREATE EXTENSION gpuscan" to load this file. \quit

-- The devices and the process that drives them. Works in any state of the server, to say what is missing.
CREATE FUNCTION gpuscan_device_rows(
    OUT kind text, OUT name text, OUT state text, OUT memory_total bigint, OUT memory_limit bigint,
    OUT memory_used bigint, OUT cache_bytes bigint, OUT note text, OUT pid integer)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL SAFE ROWS 2
AS 'MODULE_PATHNAME', 'gpuscan_device_rows';

CREATE VIEW gpuscan_device AS
SELECT kind, name, state, memory_total, memory_limit, memory_used, cache_bytes, note, pid
FROM gpuscan_device_rows();

COMMENT ON VIEW gpuscan_device IS 'devices of gpuscan, their state and memory';

-- The last ends of the device process that nobody ordered, with what was running. It shows queries of others, so it is for
-- monitoring roles.
CREATE FUNCTION gpuscan_death_rows(
    OUT died_at timestamptz, OUT pid integer, OUT signal integer, OUT exit_code integer, OUT requests integer,
    OUT command text, OUT backend_pid integer, OUT query text, OUT refused boolean)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL SAFE ROWS 16
AS 'MODULE_PATHNAME', 'gpuscan_death_rows';

CREATE VIEW gpuscan_death AS
SELECT died_at, pid, signal, exit_code, requests, command, backend_pid, query, refused
FROM gpuscan_death_rows();

COMMENT ON VIEW gpuscan_death IS 'the last deaths of the device process of gpuscan, and what was running';

REVOKE ALL ON FUNCTION gpuscan_death_rows() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION gpuscan_death_rows() TO pg_monitor;
GRANT SELECT ON gpuscan_death TO pg_monitor;

-- What has been done since the server's start (or since gpuscan_stat_reset), in all databases.
CREATE FUNCTION gpuscan_stat_row(
    OUT fragments bigint, OUT fallbacks bigint, OUT row_errors bigint, OUT cancelled bigint,
    OUT pages_cached bigint, OUT pages_decoded bigint, OUT pages_by_row bigint, OUT rows_in bigint,
    OUT groups_out bigint, OUT tables_reused bigint, OUT chunks_built bigint, OUT chunks_evicted bigint, OUT kernels_compiled bigint,
    OUT link_bytes bigint, OUT device_us bigint, OUT restarts bigint)
RETURNS record LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'gpuscan_stat_row';

CREATE VIEW gpuscan_stat AS
SELECT fragments, fallbacks, row_errors, cancelled, pages_cached, pages_decoded, pages_by_row, rows_in, groups_out,
    tables_reused, chunks_built, chunks_evicted, kernels_compiled, link_bytes, device_us, restarts
FROM gpuscan_stat_row();

COMMENT ON VIEW gpuscan_stat IS 'counters of gpuscan since the start of the server';

CREATE FUNCTION gpuscan_stat_reset()
RETURNS void LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'gpuscan_stat_reset';

REVOKE ALL ON FUNCTION gpuscan_stat_reset() FROM PUBLIC;

-- The column cache, of all databases: it shows which tables others use, so it is for monitoring roles.
CREATE FUNCTION gpuscan_cache_rows(
    OUT tablespace oid, OUT database oid, OUT relfilenode oid, OUT attnum integer, OUT device text,
    OUT chunks bigint, OUT pages bigint, OUT bytes bigint, OUT hits bigint)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'gpuscan_cache_rows';

-- Names are known for relations of this database only.
CREATE VIEW gpuscan_cache AS
SELECT relation, database, relfilenode, a.attname AS column_name, device, chunks, pages, bytes, hits
FROM gpuscan_cache_rows() c
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN c.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
        THEN pg_catalog.pg_filenode_relation(c.tablespace, c.relfilenode)
    END AS relation) r
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = r.relation AND a.attnum = c.attnum;

COMMENT ON VIEW gpuscan_cache IS 'columns in the cache of gpuscan';

REVOKE ALL ON FUNCTION gpuscan_cache_rows() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION gpuscan_cache_rows() TO pg_monitor;

GRANT SELECT ON gpuscan_device, gpuscan_stat TO PUBLIC;
GRANT SELECT ON gpuscan_cache TO pg_monitor;

-- Maintenance of the cache; each checks the caller's rights on the relation. Neither is ever necessary.
CREATE FUNCTION gpuscan_evict(relation regclass DEFAULT NULL)
RETURNS bigint LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'gpuscan_evict';

COMMENT ON FUNCTION gpuscan_evict(regclass) IS 'drops a relation from the cache of gpuscan (NULL: all); returns bytes';

CREATE FUNCTION gpuscan_prewarm(relation regclass)
RETURNS bigint LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'gpuscan_prewarm';

COMMENT ON FUNCTION gpuscan_prewarm(regclass) IS 'reads a relation into the cache of gpuscan; returns pages';

-- Why a plan was chosen. Checks the privileges that EXPLAIN checks, and executes nothing.
CREATE FUNCTION gpuscan_explain_cost(query text, OUT alternative text, OUT component text, OUT work text, OUT tier text, OUT pattern text,
                                     OUT amount float8, OUT unit text, OUT ms float8, OUT cost float8)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'gpuscan_explain_cost';

COMMENT ON FUNCTION gpuscan_explain_cost(text) IS 'what a query would cost PostgreSQL alone and each device, by tier and pattern';

-- What work costs on this machine: the file that gpuscan.profile names, as the server has read it. `price`: of one now, in ns, on the
-- device that this session's plans would get.
CREATE FUNCTION gpuscan_profile_rows(OUT device text, OUT name text, OUT value float8, OUT default_value float8, OUT price float8,
                                     OUT unit text, OUT meaning text)
RETURNS SETOF record LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'gpuscan_profile_rows';

CREATE VIEW gpuscan_profile AS
SELECT device, name, value, default_value, price, unit, meaning FROM gpuscan_profile_rows();

COMMENT ON VIEW gpuscan_profile IS 'weights of the device costs in force';

GRANT SELECT ON gpuscan_profile TO PUBLIC;

CREATE FUNCTION gpuscan_set_profile(profile text)
RETURNS void LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'gpuscan_set_profile';

COMMENT ON FUNCTION gpuscan_set_profile(text) IS 'writes the file of gpuscan.profile, and keeps the one that was there; pg_reload_conf() puts it in force';

REVOKE ALL ON FUNCTION gpuscan_set_profile(text) FROM PUBLIC;
