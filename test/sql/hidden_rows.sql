-- Row-level security and security barriers: what a user may see of a query tells nothing of rows that are hidden from him. Two tables
-- differ in hidden rows alone; plans, figures, counters and estimates must be the same for both. (test/pgtap/secrets.sql: no function sees such rows.)
CREATE SCHEMA hidden_rows;
SET search_path = hidden_rows, public;
SET client_min_messages = warning;

-- Few rows a page, so that a zone spans several windows of decoding. The hidden rows lie together, in zones of their own. The names
-- of the two tables are of one length, so EXPLAIN's texts are compared with the names taken out.
CREATE TABLE with_secret (id int NOT NULL, owner text NOT NULL, t text, v int, d date) WITH (fillfactor = 10);
INSERT INTO with_secret SELECT i, CASE WHEN i <= 140000 THEN 'hidden_reader' ELSE 'nobody' END, 'word ' || i % 50, i % 1000, date '2024-01-01' + i / 1000
FROM generate_series(1, 210000) i;
CREATE TABLE without_one (LIKE with_secret INCLUDING ALL) WITH (fillfactor = 10);
INSERT INTO without_one SELECT * FROM with_secret;
UPDATE with_secret SET t = 'the secret is 42', v = 123456789 WHERE id = 200000;
UPDATE without_one SET t = 'the public word!', v = 999 WHERE id = 200000;
SELECT wait_for_snapshots();
SET default_statistics_target = 1000; -- all rows: samples would differ
VACUUM (FREEZE, ANALYZE) with_secret, without_one;
RESET default_statistics_target;
CREATE TABLE probes (x int, word text);
INSERT INTO probes VALUES (123456789, 'the secret is 42');
CREATE ROLE hidden_reader;
GRANT USAGE ON SCHEMA hidden_rows TO hidden_reader;
GRANT SELECT ON with_secret, without_one, probes TO hidden_reader;
ALTER TABLE with_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE without_one ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON with_secret USING (owner = current_user);
CREATE POLICY own ON without_one USING (owner = current_user);
CREATE VIEW barrier_with WITH (security_barrier) AS SELECT id, t, v, d FROM with_secret WHERE owner = 'hidden_reader';
CREATE VIEW barrier_none WITH (security_barrier) AS SELECT id, t, v, d FROM without_one WHERE owner = 'hidden_reader';
GRANT SELECT ON barrier_with, barrier_none TO hidden_reader;

-- What EXPLAIN says, without the table's name and the times that differ anyway.
CREATE FUNCTION explained(query text, options text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = 'force' SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
    line text;
    result text := '';
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
        result := result || regexp_replace(line, '(Planning|Execution|Planning Time|Execution Time): .*', '') || E'\n';
    END LOOP;
    RETURN translate(replace(replace(replace(result, 'without_one', 'with_secret'), 'barrier_none', 'barrier_with'), '-', ''), E' ', '');
END $$;
-- What the counters say of a query.
CREATE FUNCTION counted(query text) RETURNS jsonb LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    before jsonb;
    after jsonb;
BEGIN
    SELECT to_jsonb(s) INTO before FROM gpuscan.stat s;
    EXECUTE query;
    SELECT to_jsonb(s) INTO after FROM gpuscan.stat s;
    -- (how long something takes, and what is compiled for the first time, is not a matter of rows)
    RETURN (SELECT jsonb_object_agg(key, value::numeric - (before ->> key)::numeric ORDER BY key) FROM jsonb_each_text(after)
            WHERE key NOT IN ('kernels_compiled', 'restarts'));
END $$;
CREATE FUNCTION told(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    other constant text := replace(replace(query, 'with_secret', 'without_one'), 'barrier_with', 'barrier_none');
    options text;
    analyzed text;
BEGIN
    -- twice: what is cached first may differ
    PERFORM counted(query), counted(other);
    -- (18 shows buffers by itself, those of planning too: how many depends on what the catalogue's caches have.)
    FOREACH options IN ARRAY ARRAY['ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF', 'ANALYZE, BUFFERS OFF, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF',
                                   'ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT YAML'] LOOP
        analyzed := explained(query, options);
        IF analyzed IS DISTINCT FROM explained(other, options) THEN
            RETURN format(E'DIFFERENT under %s:\n%s\n%s', options, analyzed, explained(other, options));
        END IF;
    END LOOP;
    IF counted(query) IS DISTINCT FROM counted(other) THEN
        RETURN format('DIFFERENT counters: %s %s', counted(query), counted(other));
    END IF;
    RETURN CASE WHEN analyzed ~ 'GpuScan' THEN 'the same, on a device' ELSE 'the same' END;
END $$;
GRANT ALL ON FUNCTION explained, counted, told TO hidden_reader;

-- (A superuser sees what there is.)
SELECT told('SELECT count(*) FROM with_secret WHERE t LIKE ''%secret%''') ~ 'DIFFERENT' AS superuser_sees_it;
CREATE TABLE tries (n serial, query text);
INSERT INTO tries (query) VALUES
    ('SELECT count(*) FROM with_secret WHERE t LIKE ''%secret%'''),
    ('SELECT count(*) FROM with_secret WHERE t LIKE ''the secret is 4%'''),
    ('SELECT count(*) FROM with_secret WHERE t ~ ''is 42$'''),
    ('SELECT count(*) FROM with_secret WHERE upper(t) = ''THE SECRET IS 42'''),
    ('SELECT count(*) FROM with_secret WHERE length(t) > 10 AND id > 150000'),
    ('SELECT count(*) FROM with_secret WHERE t = ''the secret is 42'''),
    ('SELECT count(*) FROM with_secret WHERE v > 5000'),
    ('SELECT count(*) FROM with_secret WHERE v + 1 = 123456790'),
    ('SELECT count(*) FROM with_secret WHERE v * 20 > 0'),
    ('SELECT count(*) FROM with_secret WHERE v * 20 > 0 AND id < 100'),
    ('SELECT upper(t), count(*) FROM with_secret GROUP BY 1'),
    ('SELECT max(v), min(t) FROM with_secret'),
    ('SELECT sum(length(replace(t, ''secret'', ''''))) FROM with_secret'),
    ('SELECT count(*) FROM with_secret s JOIN probes p ON s.v = p.x'),
    ('SELECT count(*) FROM with_secret s JOIN probes p ON s.v + 1 = p.x + 1'),
    ('SELECT count(*) FROM with_secret s JOIN probes p ON s.t = p.word'),
    ('SELECT count(*) FROM probes p WHERE EXISTS (SELECT FROM with_secret s WHERE s.v = p.x AND s.t LIKE ''%secret%'')'),
    ('SELECT id FROM with_secret WHERE v = 123456789 AND t LIKE ''%secret%'''),
    ('SELECT count(*) FROM barrier_with WHERE t LIKE ''%secret%'''),
    ('SELECT count(*) FROM barrier_with WHERE t = ''the secret is 42'''),
    ('SELECT count(*) FROM barrier_with WHERE v > 5000'),
    ('SELECT sum(v) FROM barrier_with WHERE v = 123456789'),
    ('SELECT count(*) FROM barrier_with s JOIN probes p ON s.v = p.x'),
    ('SELECT count(*) FROM (SELECT t, v FROM with_secret UNION ALL SELECT t, id FROM with_secret) u WHERE t LIKE ''%secret%'' AND v > 5000'),
    ('SELECT t FROM (SELECT t, v FROM with_secret UNION ALL SELECT t, v FROM barrier_with) u WHERE t LIKE ''%secret%'''),
    ('SELECT count(*) FROM probes p LEFT JOIN with_secret s ON s.v = p.x AND s.t LIKE ''%secret%'''),
    ('SELECT t ~ ''is 42$'', sum(c) FROM (SELECT t, count(*) AS c FROM with_secret GROUP BY t) s GROUP BY 1'),
    ('SELECT length(t), count(*) FROM (SELECT DISTINCT t, v FROM barrier_with) s WHERE t LIKE ''%secret%'' GROUP BY 1'),
    ('SELECT c, count(*) FROM (SELECT v, count(*) AS c FROM with_secret GROUP BY v) s GROUP BY 1'),
    ('SELECT t FROM with_secret WHERE v > 5000 INTERSECT SELECT t FROM barrier_with WHERE t LIKE ''%secret%''');
GRANT SELECT ON tries TO hidden_reader;
SET ROLE hidden_reader;
SELECT told(query), query FROM tries ORDER BY n;
-- the answers are PostgreSQL's
SELECT check_query(query, 'any'), query FROM tries WHERE query !~ 'max' ORDER BY n;
-- Estimates: statistics of all rows (ANALYZE looks at each of so few), of which every second one is hidden.
RESET ROLE;
CREATE TABLE few_with (id int, owner text, t text);
INSERT INTO few_with SELECT i, CASE WHEN i % 2 = 0 THEN 'hidden_reader' ELSE 'nobody' END, CASE WHEN i % 2 = 0 THEN 'word ' || i % 50 ELSE 'secret' END FROM generate_series(1, 20000) i;
CREATE TABLE few_none (LIKE few_with);
INSERT INTO few_none SELECT id, owner, replace(t, 'secret', 'public') FROM few_with;
VACUUM (FREEZE, ANALYZE) few_with, few_none;
ALTER TABLE few_with ENABLE ROW LEVEL SECURITY;
ALTER TABLE few_none ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON few_with USING (owner = current_user);
CREATE POLICY own ON few_none USING (owner = current_user);
CREATE VIEW barred_with WITH (security_barrier) AS SELECT * FROM few_with WHERE owner = 'hidden_reader';
CREATE VIEW barred_none WITH (security_barrier) AS SELECT * FROM few_none WHERE owner = 'hidden_reader';
GRANT SELECT ON few_with, few_none, barred_with, barred_none TO hidden_reader;
CREATE FUNCTION estimated(query text) RETURNS bool LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    plans jsonb[];
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['with', 'none'] LOOP
        plans := plans || (SELECT jsonb_agg(jsonb_build_array(line ->> 'component', line ->> 'amount') ORDER BY line::text)
                           FROM (SELECT to_jsonb(c) AS line FROM gpuscan.explain_cost(replace(query, '_x', '_' || name)) c) x);
    END LOOP;
    RETURN plans[1] = plans[2];
END $$;
GRANT EXECUTE ON FUNCTION estimated TO hidden_reader;
SELECT estimated('SELECT t, count(*) FROM few_x WHERE t LIKE ''%secret%'' GROUP BY t') AS of_superuser;
SET ROLE hidden_reader;
SELECT estimated(q), q FROM unnest(ARRAY['SELECT t, count(*) FROM few_x WHERE t LIKE ''%secret%'' GROUP BY t', 'SELECT count(*) FROM few_x WHERE upper(t) = ''SECRET''', 'SELECT count(*) FROM few_x WHERE length(t) = 6',
    'SELECT a.t, count(*) FROM few_x a JOIN few_x b USING (id) WHERE a.t LIKE ''%cre%'' GROUP BY 1', 'SELECT count(*) FROM barred_x WHERE t LIKE ''%secret%''', 'SELECT length(t), count(*) FROM barred_x WHERE upper(t) = ''SECRET'' GROUP BY 1']) q;
-- Nor does advice.
RESET ROLE;
CREATE FUNCTION advised(query text) RETURNS bool LANGUAGE sql AS $$
    SELECT array_agg(replace(a::text, '_with', '_none') ORDER BY a::text) = (SELECT array_agg(b::text ORDER BY b::text) FROM gpuscan.advise(replace(query, '_x', '_none')) b)
    FROM gpuscan.advise(replace(query, '_x', '_with')) a
$$;
GRANT EXECUTE ON FUNCTION advised TO hidden_reader;
SELECT advised('SELECT t, count(*) FROM few_x WHERE t LIKE ''%secret%'' GROUP BY t') AS of_superuser;
SET ROLE hidden_reader;
SELECT advised(q), q FROM unnest(ARRAY['SELECT t, count(*) FROM few_x WHERE t LIKE ''%secret%'' GROUP BY t', 'SELECT string_agg(t, '','') FROM few_x WHERE upper(t) = ''SECRET'' ', 'SELECT count(*) FROM few_x WHERE length(t) = 6',
    'SELECT a.t, count(*) FROM few_x a JOIN few_x b USING (id) WHERE a.t LIKE ''%cre%'' GROUP BY 1', 'SELECT count(*) FROM barred_x WHERE t LIKE ''%secret%'' ', 'SELECT rank() OVER (ORDER BY t) FROM barred_x WHERE upper(t) = ''SECRET'' ']) q;
SELECT part, why FROM gpuscan.advise('SELECT count(*) FROM with_secret WHERE t LIKE ''%secret%'' ') WHERE why ~ '123456789|secret is';
-- Policies rule out chunks and zones as ever, and what is leakproof may.
SELECT explained('SELECT count(*) FROM with_secret WHERE t LIKE ''%4%''', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') ~ 'RowsIn|Skipped|Pages|Values|DeviceWork' AS shows_figures;
-- Groups stay on the device only without their texts, whose dictionary has those of hidden rows; the query around them shows no figures.
SELECT k, p ~ 'groupsof' AS stage, p ~ 'RowsIn|Skipped|Pages|Values|DeviceWork' AS shows_figures
FROM unnest('{t,v}'::text[]) k, explained(format('SELECT max(%s), count(*) FROM (SELECT %1$s, count(*) AS c FROM with_secret GROUP BY 1) s', k), 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') p;
-- What a device stumbles over may be a hidden row's: neither EXPLAIN nor a message tells.
SET client_min_messages = debug1;
SELECT substring(explained('SELECT CASE WHEN id % 2 = 0 THEN interval ''1 mon'' ELSE interval ''30 days'' END, count(*) FROM with_secret GROUP BY 1', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') FROM 'Fallback:[^\n]*');
SET client_min_messages = warning;
-- Nor does the size of a dictionary: whoever may insert could try whether a text is new.
SELECT DISTINCT memory_used, cache_bytes, memory_limit > 0 AS limited FROM gpuscan.devices WHERE kind = 'host';
RESET ROLE;
DROP SCHEMA hidden_rows CASCADE;
DROP ROLE hidden_reader;
