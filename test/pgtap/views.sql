-- What a user sees of gpuscan: the views with their columns and privileges, what their numbers do when queries run,
-- gpuscan_prewarm and gpuscan_evict, and the settings.
\set QUIET 1
\ir ../sql/support.sql
SELECT plan(69);

-- the objects
SELECT has_view('gpuscan_device');
SELECT has_view('gpuscan_stat');
SELECT has_view('gpuscan_cache');
SELECT columns_are('gpuscan_device', ARRAY['kind', 'name', 'state', 'memory_total', 'memory_limit', 'memory_used', 'cache_bytes', 'note', 'pid']);
SELECT columns_are('gpuscan_stat', ARRAY['fragments', 'fallbacks', 'row_errors', 'cancelled', 'pages_cached', 'pages_decoded', 'pages_by_row', 'rows_in', 'groups_out', 'tables_reused',
                                         'chunks_built', 'chunks_evicted', 'kernels_compiled', 'link_bytes', 'device_us', 'restarts']);
SELECT columns_are('gpuscan_cache', ARRAY['relation', 'database', 'relfilenode', 'column_name', 'device', 'chunks', 'pages', 'bytes', 'hits']);
SELECT has_function('gpuscan_prewarm', ARRAY['regclass']);
SELECT has_function('gpuscan_evict', ARRAY['regclass']);
SELECT has_function('gpuscan_explain_cost', ARRAY['text']);
SELECT function_returns('gpuscan_prewarm', ARRAY['regclass'], 'bigint');
SELECT function_returns('gpuscan_evict', ARRAY['regclass'], 'bigint');

-- the settings: defaults, kinds, refused values
SELECT results_eq($$SELECT name, context, vartype, boot_val FROM pg_settings WHERE name LIKE 'gpuscan.%' ORDER BY name COLLATE "C"$$,
    $$VALUES ('gpuscan.cache_size', 'sighup', 'integer', '1048576'), ('gpuscan.decorrelate', 'user', 'bool', 'on'), ('gpuscan.device', 'user', 'enum', 'auto'), ('gpuscan.device_memory_share', 'sighup', 'integer', '80'), ('gpuscan.device_timeout', 'sighup', 'integer', '30000'),
             ('gpuscan.exact_float', 'user', 'bool', 'off'), ('gpuscan.explain_refusals', 'user', 'bool', 'off'), ('gpuscan.feed_workers', 'user', 'integer', '-1'), ('gpuscan.hashagg_write_page_cost', 'user', 'real', '-1'), ('gpuscan.host_threads', 'sighup', 'integer', '0'),
             ('gpuscan.log_fallbacks', 'superuser', 'bool', 'off'), ('gpuscan.max_requests', 'postmaster', 'integer', '64'), ('gpuscan.offload', 'user', 'enum', 'auto'), ('gpuscan.profile', 'sighup', 'string', 'gpuscan.profile'), ('gpuscan.random_read_page_cost', 'user', 'real', '-1'),
             ('gpuscan.random_write_page_cost', 'user', 'real', '-1'), ('gpuscan.seq_read_page_cost', 'user', 'real', '-1'), ('gpuscan.seq_write_page_cost', 'user', 'real', '-1')$$, 'settings');
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
SELECT is((SELECT count(*) FROM gpuscan_device), 2::bigint, 'two kinds of devices');
SELECT is((SELECT state FROM gpuscan_device WHERE kind = 'host'), 'ready', 'the host device is ready');
SELECT ok((SELECT name <> '' AND memory_total > 0 AND memory_limit <= memory_total AND pid > 0 FROM gpuscan_device WHERE kind = 'host'), 'it has a name, memory and a process');
SELECT ok((SELECT state IN ('ready', 'failed', 'off') AND (state = 'ready' OR note IS NOT NULL) FROM gpuscan_device WHERE kind = 'cuda'), 'without a GPU the note says why');

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
CREATE TEMP TABLE before AS SELECT * FROM gpuscan_stat;
SELECT results_eq('SELECT sum(v)::int8, min(s) FROM t', $$VALUES (25005000::int8, 's0')$$, 'an answer from the device');
CREATE TEMP TABLE once AS SELECT * FROM gpuscan_stat;
SELECT ok((SELECT o.fragments > b.fragments FROM before b, once o), 'fragments are counted');
SELECT is((SELECT o.fallbacks - b.fallbacks FROM before b, once o), 0::bigint, 'none fell back');
SELECT ok((SELECT o.rows_in - b.rows_in >= 5000 AND o.groups_out > b.groups_out AND o.device_us >= b.device_us FROM before b, once o), 'rows and groups are counted');
SELECT ok((SELECT o.pages_decoded - b.pages_decoded + o.pages_by_row - b.pages_by_row >= :pages FROM before b, once o), 'the first query decodes the pages');
SELECT ok((SELECT o.chunks_built > b.chunks_built FROM before b, once o), 'chunks are built');
SELECT results_eq('SELECT sum(v)::int8, min(s) FROM t', $$VALUES (25005000::int8, 's0')$$, 'the same answer again');
CREATE TEMP TABLE twice AS SELECT * FROM gpuscan_stat;
SELECT ok((SELECT t.pages_cached - o.pages_cached >= :pages FROM once o, twice t), 'the second query takes them from the cache');
SELECT is((SELECT t.pages_decoded - o.pages_decoded FROM once o, twice t), 0::bigint, 'and decodes none');
-- an error of a row
SELECT throws_ok('SELECT sum(v / (g - 1)) FROM t', '22012', 'division by zero');
SELECT ok((SELECT s.row_errors > t.row_errors FROM twice t, gpuscan_stat s), 'row errors are counted');

-- the cache: only columns that were needed
SELECT results_eq($$SELECT column_name::text COLLATE "C" FROM gpuscan_cache WHERE relation = 't'::regclass AND column_name IN ('s', 'n', 'untouched') ORDER BY 1$$, $$VALUES ('s'::text COLLATE "C")$$, 'only needed columns are cached');
SELECT ok((SELECT bool_and(bytes > 0 AND hits > 0 AND chunks = 1 AND pages = :pages AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relfilenode = pg_relation_filenode('t'))
           FROM gpuscan_cache WHERE relation = 't'::regclass AND column_name IN ('v', 's')), 'their bytes, hits, chunks and pages');
SELECT ok(soon('cache_bytes > 0 FROM gpuscan_device WHERE kind = (SELECT min(device) FROM gpuscan_cache)'), 'the device knows of them');
SELECT is((SELECT count(*) FROM gpuscan_cache WHERE relation = 'other'::regclass), 0::bigint, 'nothing of another table');

-- evict and prewarm
SELECT ok(gpuscan_evict('t') > 0, 'evict returns bytes');
SELECT is((SELECT count(*) FROM gpuscan_cache WHERE relation = 't'::regclass), 0::bigint, 'nothing is left of the table');
SELECT is(gpuscan_evict('t'), 0::bigint, 'there is nothing to evict any more');
SELECT is(gpuscan_prewarm('other'), :pages::bigint, 'prewarm returns pages');
SELECT ok((SELECT count(*) >= 5 FROM gpuscan_cache WHERE relation = 'other'::regclass), 'prewarm reads every column that a device can hold');
DROP TABLE once, twice, before;
CREATE TEMP TABLE before AS SELECT * FROM gpuscan_stat;
SELECT results_eq('SELECT sum(n), max(untouched) FROM other', $$VALUES (3125625.00, 'u')$$, 'a query after prewarm');
SELECT ok((SELECT s.pages_cached - b.pages_cached >= :pages AND s.pages_decoded = b.pages_decoded FROM before b, gpuscan_stat s), 'finds all in the cache');
SELECT results_eq('SELECT sum(v)::int8 FROM t', 'VALUES (25005000::int8)', 'an evicted table answers as before');
SELECT ok(gpuscan_evict() > 0, 'evict without an argument');
SELECT is((SELECT count(*) FROM gpuscan_cache), 0::bigint, 'empties the cache');
SELECT throws_ok($$SELECT gpuscan_evict('pg_class_oid_index')$$, '42809');
SELECT throws_ok($$SELECT gpuscan_prewarm('t_pkey')$$, '42809');
SELECT throws_ok($$SELECT gpuscan_prewarm(0)$$, '42P01');
SELECT throws_ok($$SELECT gpuscan_prewarm('pg_class')$$, '42809');
SELECT is(gpuscan_prewarm(NULL), NULL, 'prewarm is strict');

-- gone tables give their memory back
SELECT ok(gpuscan_prewarm('t') > 0, 'cached again');
SELECT pg_relation_filenode('t') AS node \gset
DROP TABLE t;
CHECKPOINT;
SELECT ok(soon(format('NOT EXISTS (SELECT FROM gpuscan_cache WHERE relfilenode = %s)', :node)), 'a dropped table leaves the cache');
SELECT ok(gpuscan_prewarm('other') > 0, 'cached again');
SELECT pg_relation_filenode('other') AS node \gset
TRUNCATE other;
CHECKPOINT;
SELECT ok(soon(format('NOT EXISTS (SELECT FROM gpuscan_cache WHERE relfilenode = %s)', :node)), 'a truncated table leaves the cache');

-- privileges
CREATE ROLE gpuscan_views_user;
CREATE TABLE mine (id int);
SET ROLE gpuscan_views_user;
SELECT lives_ok('SELECT * FROM gpuscan_device');
SELECT is((SELECT max(memory_used) FROM gpuscan_device), NULL, 'what is in use is for monitoring roles');
SELECT lives_ok('SELECT * FROM gpuscan_stat');
SELECT throws_ok('SELECT * FROM gpuscan_cache', '42501');
SELECT throws_ok('SELECT * FROM gpuscan_death', '42501');
SELECT throws_ok('SELECT gpuscan_evict()', '42501');
SELECT throws_ok($$SELECT gpuscan_evict('mine')$$, '42501');
SELECT throws_ok($$SELECT gpuscan_prewarm('mine')$$, '42501');
SELECT throws_ok('SELECT gpuscan_stat_reset()', '42501');
RESET ROLE;
DROP ROLE gpuscan_views_user;
SELECT lives_ok('SELECT gpuscan_stat_reset()');
SELECT ok((SELECT fragments <= 5 AND restarts = 0 FROM gpuscan_stat), 'counters begin again');
SELECT * FROM finish();
