-- What a plan's cost is made of: gpuscan.explain_cost(), and what EXPLAIN shows of a node's estimate.
CREATE SCHEMA explain_cost;
SET search_path = explain_cost, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE f (id int PRIMARY KEY, k int NOT NULL, v int NOT NULL, t text NOT NULL);
INSERT INTO f SELECT i, i % 100, i % 1000, 'text ' || i % 10 FROM generate_series(1, 200000) i;
CREATE TABLE d (k int PRIMARY KEY, name text);
INSERT INTO d SELECT i, 'name ' || i FROM generate_series(0, 99) i;
VACUUM (FREEZE, ANALYZE) f, d;
CREATE TEMP TABLE costs AS SELECT * FROM gpuscan.explain_cost('SELECT name, sum(v) FROM f JOIN d USING (k) WHERE t <> ''text 3'' GROUP BY name ORDER BY 2');

-- Every alternative's rows add up to its total.
SELECT alternative, abs(sum(cost) FILTER (WHERE component <> 'total') / sum(cost) FILTER (WHERE component = 'total') - 1) < 1e-4 AS adds_up
FROM costs WHERE cost IS NOT NULL AND alternative <> 'chosen' GROUP BY alternative ORDER BY 1;
-- A device's costs are its times, in units of what PostgreSQL's plan takes.
SELECT max(ms / cost) / min(ms / cost) < 1 + 1e-6 AS in_proportion FROM costs WHERE alternative = 'host' AND component NOT IN ('total', 'other') AND cost <> 0 AND ms <> 0;
SELECT abs((SELECT ms / cost FROM costs WHERE alternative = 'postgresql' AND component = 'total') / max(ms / cost) - 1) < 0.2 AS of_the_rival
FROM costs WHERE alternative = 'host' AND component NOT IN ('total', 'other') AND cost <> 0 AND ms <> 0;
-- The pages of a sequential scan, and its tuples, are counted exactly.
SELECT c.work, c.tier, c.pattern, c.unit, round(c.amount) = pg_relation_size('f') / 8192 + pg_relation_size('d') / 8192 AS all_pages
FROM costs c WHERE alternative = 'postgresql' AND work = 'seq_page_cost';
-- What a device does: pages are fed, texts numbered, columns read, a table built, rows probed and grouped.
SELECT DISTINCT component, tier, pattern FROM costs WHERE alternative = 'host' AND component <> 'total' AND work <> 'side by side' ORDER BY 1, 2, 3;
SELECT work, round(amount) AS amount, unit FROM costs WHERE alternative = 'host' AND work IN ('source_opened', 'row_built', 'value_step') ORDER BY 1;
SELECT count(*) > 10 OR max(component) = 'this device is not ready (see gpuscan.devices)' AS gpu_or_why_not FROM costs WHERE alternative = 'cuda';
SELECT alternative, work FROM costs WHERE component = 'total' AND alternative <> 'cuda' ORDER BY 1;
-- The one that takes least is chosen.
SELECT min(ms) FILTER (WHERE alternative = 'chosen') <= 1.01 * min(ms) FILTER (WHERE alternative <> 'chosen') AS fastest FROM costs WHERE component = 'total';
-- A point query is PostgreSQL's whatever the device would do.
SELECT work FROM gpuscan.explain_cost('SELECT v FROM f WHERE id = 5') WHERE alternative = 'chosen';
-- Sequential and random pages apart; temporary files written.
SELECT DISTINCT pattern FROM gpuscan.explain_cost('SELECT * FROM f WHERE id BETWEEN 100 AND 900') WHERE alternative = 'postgresql' AND tier = 'storage' ORDER BY 1;
SET work_mem = '64kB';
SET gpuscan.seq_write_page_cost = 3;
SELECT DISTINCT pattern FROM gpuscan.explain_cost('SELECT * FROM f ORDER BY t, v') WHERE alternative = 'postgresql' AND tier = 'storage' ORDER BY 1;
RESET gpuscan.seq_write_page_cost;
RESET work_mem;
-- Settings are what they were.
SELECT current_setting('seq_page_cost'), current_setting('gpuscan.offload'), current_setting('gpuscan.device');

-- What is refused.
SELECT * FROM gpuscan.explain_cost('');
SELECT * FROM gpuscan.explain_cost('SELECT 1; SELECT 2');
SELECT * FROM gpuscan.explain_cost('DELETE FROM f');
SELECT * FROM gpuscan.explain_cost('WITH x AS (DELETE FROM f RETURNING *) SELECT * FROM x');
SELECT * FROM gpuscan.explain_cost('SELECT * INTO g FROM f');
SELECT * FROM gpuscan.explain_cost('VACUUM f');
SELECT * FROM gpuscan.explain_cost('EXPLAIN SELECT 1');
SELECT * FROM gpuscan.explain_cost('SELECT nothing FROM f');
SELECT * FROM gpuscan.explain_cost('SELECT $1::int');
SELECT count(*) FROM gpuscan.explain_cost(NULL);
SELECT count(*) FROM f;
-- Privileges are EXPLAIN's.
CREATE ROLE explain_cost_nobody;
GRANT USAGE ON SCHEMA explain_cost TO explain_cost_nobody;
SET ROLE explain_cost_nobody;
SELECT count(*) FROM gpuscan.explain_cost('SELECT count(*) FROM f');
SELECT work FROM gpuscan.explain_cost('SELECT 1') WHERE alternative = 'chosen';
RESET ROLE;

-- EXPLAIN: components with VERBOSE, and beside what was measured with ANALYZE.
SET gpuscan.offload = force;
SET gpuscan.device = host;
CREATE FUNCTION shown(options text) RETURNS TABLE (line text) LANGUAGE plpgsql AS $$
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (%s) SELECT sum(v) FROM f WHERE k < 50', options) LOOP
        IF line ~ '^ *(Estimated|Actual)' THEN
            line := regexp_replace(regexp_replace(trim(line), '[0-9]+(\.[0-9]+)?', 'N', 'g'), ' x = N ms', '', 'g');
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;
SELECT * FROM shown('COSTS');
SELECT * FROM shown('VERBOSE, COSTS OFF');
SELECT * FROM shown('VERBOSE') WHERE line !~ '^Estimated (feed|start)';
SELECT * FROM shown('ANALYZE');
SELECT * FROM shown('ANALYZE, TIMING OFF');
CREATE FUNCTION shown_json() RETURNS json LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) SELECT sum(v) FROM f WHERE k < 50' INTO plan;
    RETURN plan -> 0 -> 'Plan';
END $$;
SELECT json_object_keys(shown_json() -> 'Estimated');
SELECT (p -> 'Actual' ->> 'Run Time')::float8 > 0 AS ran, (p -> 'Actual' ->> 'Pages Brought')::int = 0 AS cached,
    json_array_length(p -> 'Estimated Work') > 5 AS has_work, p -> 'Estimated Work' -> 0 ->> 'Tier' AS tier FROM shown_json() p;
-- A prepared statement keeps what it was planned with.
PREPARE s AS SELECT sum(v) FROM f WHERE k < 50;
SET plan_cache_mode = force_generic_plan;
EXECUTE s;
EXECUTE s;
RESET plan_cache_mode;
DEALLOCATE s;
-- What an expression took counts from then on, for the device that lacks it and for PostgreSQL's plan. (Of a larger table it is tried before.)
CREATE TABLE slow AS SELECT i FROM generate_series(1, 10000) i;
ANALYZE slow;
CREATE FUNCTION slow_ms(which text) RETURNS float8 LANGUAGE sql AS $$
    SELECT ms FROM gpuscan.explain_cost('SELECT count(*) FROM slow WHERE md5(repeat(i::text, 300)) < ''8''')
    WHERE alternative = which AND component = 'total' $$;
SELECT slow_ms('postgresql') AS postgresql, slow_ms('host') AS host \gset
SELECT count(*) FROM slow WHERE md5(repeat(i::text, 300)) < '8';
SELECT gpuscan.evict('slow') > 0 AS evicted;
SELECT slow_ms('postgresql') > 3 * :postgresql AS postgresql, slow_ms('host') > 3 * :host AS host;
RESET gpuscan.offload;
RESET gpuscan.device;
SET client_min_messages = warning;
DROP SCHEMA explain_cost CASCADE;
DROP ROLE explain_cost_nobody;
