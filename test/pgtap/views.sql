-- What a user sees of gpuscan: the views with their columns and privileges, what their numbers do when queries run,
-- gpuscan.prewarm and gpuscan.evict, and the settings.
\set QUIET 1
\ir ../sql/support.sql
SELECT plan(69);

-- the objects
SELECT has_view('gpuscan', 'devices', 'there is gpuscan.devices');
SELECT has_view('gpuscan', 'stat', 'there is gpuscan.stat');
SELECT has_view('gpuscan', 'cached_columns', 'there is gpuscan.cached_columns');
SELECT columns_are('gpuscan', 'devices', ARRAY['kind', 'name', 'state', 'memory_total', 'memory_limit', 'memory_used', 'cache_bytes', 'note', 'pid']);
SELECT columns_are('gpuscan', 'stat', ARRAY['fragments', 'fallbacks', 'row_errors', 'cancelled', 'pages_cached', 'pages_decoded', 'pages_rowwise', 'pages_compared', 'rows_in', 'groups_out', 'tables_reused',
                                         'chunks_built', 'chunks_evicted', 'kernels_compiled', 'link_bytes', 'device_ms', 'restarts']);
SELECT columns_are('gpuscan', 'cached_columns', ARRAY['datid', 'datname', 'relid', 'schemaname', 'relname', 'relfilenode', 'attnum', 'attname', 'expression', 'device', 'chunks', 'pages', 'bytes', 'hits']);
SELECT has_function('gpuscan', 'prewarm', ARRAY['regclass']);
SELECT has_function('gpuscan', 'evict', ARRAY['regclass']);
SELECT has_function('gpuscan', 'explain_cost', ARRAY['text']);
SELECT function_returns('gpuscan', 'prewarm', ARRAY['regclass'], 'bigint');
SELECT function_returns('gpuscan', 'evict', ARRAY['regclass'], 'bigint');

-- the settings: defaults, kinds, refused values
SELECT results_eq($$SELECT name, context, vartype, CASE name WHEN 'gpuscan.cache_size' THEN 'of the machine' ELSE boot_val END FROM pg_settings WHERE name LIKE 'gpuscan.%' ORDER BY name COLLATE "C"$$,
    $$VALUES ('gpuscan.cache_size', 'sighup', 'integer', 'of the machine'), ('gpuscan.cost_profile_file', 'sighup', 'string', 'gpuscan.profile'), ('gpuscan.device', 'user', 'enum', 'auto'), ('gpuscan.device_memory_share', 'sighup', 'integer', '80'),
             ('gpuscan.device_timeout', 'sighup', 'integer', '30000'), ('gpuscan.enable_decorrelation', 'user', 'bool', 'on'), ('gpuscan.exact_float', 'user', 'bool', 'off'), ('gpuscan.explain_refusals', 'user', 'bool', 'off'),
             ('gpuscan.hashagg_write_page_cost', 'user', 'real', '-1'), ('gpuscan.host_threads', 'sighup', 'integer', '0'), ('gpuscan.log_fallbacks', 'superuser', 'bool', 'off'), ('gpuscan.max_concurrent_fragments', 'postmaster', 'integer', '-1'),
             ('gpuscan.max_feed_workers', 'user', 'integer', '-1'), ('gpuscan.offload', 'user', 'enum', 'auto'), ('gpuscan.plan_cache_size', 'user', 'integer', '8192'), ('gpuscan.random_read_page_cost', 'user', 'real', '-1'), ('gpuscan.random_write_page_cost', 'user', 'real', '-1'),
             ('gpuscan.seq_read_page_cost', 'user', 'real', '-1'), ('gpuscan.seq_write_page_cost', 'user', 'real', '-1')$$, 'settings');
SELECT results_eq($$SELECT enumvals FROM pg_settings WHERE name IN ('gpuscan.device', 'gpuscan.offload') ORDER BY name$$, $$VALUES ('{auto,cuda,host,none}'::text[]), ('{off,auto,force}')$$, 'spellings');
SELECT is((SELECT count(*) FROM pg_settings WHERE name LIKE 'gpuscan.%' AND short_desc = ''), 0::bigint, 'every setting is described');
SELECT throws_ok('SET gpuscan.offload = sometimes', '22023');
SELECT throws_ok('SET gpuscan.device = abacus', '22023');
SELECT throws_ok('SET gpuscan.no_such_setting = 1', '42602');
SELECT throws_ok('SET gpuscan.cache_size = ''1GB''', '55P02');
SELECT lives_ok('SET gpuscan.offload = on');
SELECT is(current_setting('gpuscan.offload'), 'auto', 'on is a spelling of auto');
RESET gpuscan.offload;

-- the host device is there
SELECT is((SELECT count(*) FROM gpuscan.devices), 2::bigint, 'two kinds of devices');
SELECT is((SELECT state FROM gpuscan.devices WHERE kind = 'host'), 'ready', 'the host device is ready');
SELECT ok((SELECT name <> '' AND memory_total > 0 AND memory_limit <= memory_total AND pid > 0 FROM gpuscan.devices WHERE kind = 'host'), 'it has a name, memory and a process');
SELECT ok((SELECT state IN ('ready', 'failed', 'off') AND (state = 'ready' OR note IS NOT NULL) FROM gpuscan.devices WHERE kind = 'cuda'), 'without a GPU the note says why');

-- numbers that the device process writes down now and then
CREATE FUNCTION soon(condition text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    met bool;
BEGIN
    FOR i IN 1..200 LOOP
        EXECUTE 'SELECT ' || condition INTO met;
        EXIT WHEN met;
        PERFORM pg_sleep(0.05);
    END LOOP;
    RETURN met;
END $$;

-- counters
CREATE TABLE t (id int PRIMARY KEY, g int, v int8, s text, n numeric(9,2), untouched text);
INSERT INTO t SELECT i, i % 5, i * 2, 's' || i % 9, i / 4.0, 'u' FROM generate_series(1, 5000) i;
CREATE TABLE other AS SELECT * FROM t;
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) other;
SELECT pg_relation_size('t') / 8192 AS pages \gset
SET gpuscan.offload = force;
CREATE TEMP TABLE before AS SELECT * FROM gpuscan.stat;
SELECT results_eq('SELECT sum(v)::int8, min(s) FROM t', $$VALUES (25005000::int8, 's0')$$, 'an answer from the device');
CREATE TEMP TABLE once AS SELECT * FROM gpuscan.stat;
SELECT ok((SELECT o.fragments > b.fragments FROM before b, once o), 'fragments are counted');
SELECT is((SELECT o.fallbacks - b.fallbacks FROM before b, once o), 0::bigint, 'none fell back');
SELECT ok((SELECT o.rows_in - b.rows_in >= 5000 AND o.groups_out > b.groups_out AND o.device_ms >= b.device_ms FROM before b, once o), 'rows and groups are counted');
SELECT ok((SELECT o.pages_decoded - b.pages_decoded + o.pages_rowwise - b.pages_rowwise >= :pages FROM before b, once o), 'the first query decodes the pages');
SELECT ok((SELECT o.chunks_built > b.chunks_built FROM before b, once o), 'chunks are built');
SELECT results_eq('SELECT sum(v)::int8, min(s) FROM t', $$VALUES (25005000::int8, 's0')$$, 'the same answer again');
CREATE TEMP TABLE twice AS SELECT * FROM gpuscan.stat;
SELECT ok((SELECT t.pages_cached - o.pages_cached >= :pages FROM once o, twice t), 'the second query takes them from the cache');
SELECT is((SELECT t.pages_decoded - o.pages_decoded FROM once o, twice t), 0::bigint, 'and decodes none');
-- an error of a row
SELECT throws_ok('SELECT sum(v / (g - 1)) FROM t', '22012', 'division by zero');
SELECT ok((SELECT s.row_errors > t.row_errors FROM twice t, gpuscan.stat s), 'row errors are counted');

-- the cache: only columns that were needed
SELECT results_eq($$SELECT attname::text COLLATE "C" FROM gpuscan.cached_columns WHERE relid = 't'::regclass AND attname IN ('s', 'n', 'untouched') ORDER BY 1$$, $$VALUES ('s'::text COLLATE "C")$$, 'only needed columns are cached');
SELECT ok((SELECT bool_and(bytes > 0 AND hits > 0 AND chunks = 1 AND pages = :pages AND datname = current_database() AND relname = 't' AND schemaname = 'public' AND relfilenode = pg_relation_filenode('t'))
           FROM gpuscan.cached_columns WHERE relid = 't'::regclass AND attname IN ('v', 's')), 'their bytes, hits, chunks and pages');
SELECT ok(soon('cache_bytes > 0 FROM gpuscan.devices WHERE kind = (SELECT min(device) FROM gpuscan.cached_columns)'), 'the device knows of them');
SELECT is((SELECT count(*) FROM gpuscan.cached_columns WHERE relid = 'other'::regclass), 0::bigint, 'nothing of another table');

-- evict and prewarm
SELECT ok(gpuscan.evict('t') > 0, 'evict returns bytes');
SELECT is((SELECT count(*) FROM gpuscan.cached_columns WHERE relid = 't'::regclass), 0::bigint, 'nothing is left of the table');
SELECT is(gpuscan.evict('t'), 0::bigint, 'there is nothing to evict any more');
SELECT is(gpuscan.prewarm('other'), :pages::bigint, 'prewarm returns pages');
SELECT ok((SELECT count(*) >= 5 FROM gpuscan.cached_columns WHERE relid = 'other'::regclass), 'prewarm reads every column that a device can hold');
DROP TABLE once, twice, before;
CREATE TEMP TABLE before AS SELECT * FROM gpuscan.stat;
SELECT results_eq('SELECT sum(n), max(untouched) FROM other', $$VALUES (3125625.00, 'u')$$, 'a query after prewarm');
SELECT ok((SELECT s.pages_cached - b.pages_cached >= :pages AND s.pages_decoded = b.pages_decoded FROM before b, gpuscan.stat s), 'finds all in the cache');
SELECT results_eq('SELECT sum(v)::int8 FROM t', 'VALUES (25005000::int8)', 'an evicted table answers as before');
SELECT ok(gpuscan.evict() > 0, 'evict without an argument');
SELECT is((SELECT count(*) FROM gpuscan.cached_columns), 0::bigint, 'empties the cache');
SELECT throws_ok($$SELECT gpuscan.evict('pg_class_oid_index')$$, '42809');
SELECT throws_ok($$SELECT gpuscan.prewarm('t_pkey')$$, '42809');
SELECT throws_ok($$SELECT gpuscan.prewarm(0)$$, '42P01');
SELECT throws_ok($$SELECT gpuscan.prewarm('pg_class')$$, '42809');
SELECT is(gpuscan.prewarm(NULL), NULL, 'prewarm is strict');

-- gone tables give their memory back
SELECT ok(gpuscan.prewarm('t') > 0, 'cached again');
SELECT pg_relation_filenode('t') AS node \gset
DROP TABLE t;
CHECKPOINT;
SELECT ok(soon(format('NOT EXISTS (SELECT FROM gpuscan.cached_columns WHERE relfilenode = %s)', :node)), 'a dropped table leaves the cache');
SELECT ok(gpuscan.prewarm('other') > 0, 'cached again');
SELECT pg_relation_filenode('other') AS node \gset
TRUNCATE other;
CHECKPOINT;
SELECT ok(soon(format('NOT EXISTS (SELECT FROM gpuscan.cached_columns WHERE relfilenode = %s)', :node)), 'a truncated table leaves the cache');

-- privileges
CREATE ROLE gpuscan_views_user;
CREATE TABLE mine (id int);
SET ROLE gpuscan_views_user;
SELECT lives_ok('SELECT * FROM gpuscan.devices');
SELECT is((SELECT max(memory_used) FROM gpuscan.devices), NULL, 'what is in use is for monitoring roles');
SELECT lives_ok('SELECT * FROM gpuscan.stat');
SELECT throws_ok('SELECT * FROM gpuscan.cached_columns', '42501');
SELECT throws_ok('SELECT * FROM gpuscan.deaths', '42501');
SELECT throws_ok('SELECT gpuscan.evict()', '42501');
SELECT throws_ok($$SELECT gpuscan.evict('mine')$$, '42501');
SELECT throws_ok($$SELECT gpuscan.prewarm('mine')$$, '42501');
SELECT throws_ok('SELECT gpuscan.stat_reset()', '42501');
RESET ROLE;
DROP ROLE gpuscan_views_user;
SELECT lives_ok('SELECT gpuscan.stat_reset()');
SELECT ok((SELECT fragments <= 5 AND restarts = 0 FROM gpuscan.stat), 'counters begin again');
SELECT * FROM finish();
