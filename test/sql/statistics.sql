-- pg_stat_all_tables counts what a device reads as PostgreSQL's sequential scans would have.
CREATE SCHEMA scan_statistics;
SET search_path = scan_statistics, public;
SET client_min_messages = warning;
CREATE TABLE counted (id int, v int, t text) WITH (autovacuum_enabled = off);
INSERT INTO counted SELECT i, i % 100, 'word ' || i % 10 FROM generate_series(1, 30000) i;
CREATE TABLE small (k int, name text) WITH (autovacuum_enabled = off);
INSERT INTO small SELECT i, 'name ' || i FROM generate_series(0, 99) i;
CREATE TABLE parted (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000) WITH (autovacuum_enabled = off);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (1000) TO (5000) WITH (autovacuum_enabled = off);
INSERT INTO parted SELECT i, i % 7 FROM generate_series(1, 4000) i;
CREATE UNLOGGED TABLE light AS SELECT i AS id FROM generate_series(1, 2500) i;
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) counted, small, parted;
-- pages that are not all-visible, and rows that nobody sees
DELETE FROM counted WHERE id % 10 = 0 AND id < 5000;
UPDATE counted SET v = v + 1 WHERE id BETWEEN 20000 AND 20100;

-- What a statement adds to the counters of this session's tables.
CREATE FUNCTION scans_of(query text, mode text) RETURNS text LANGUAGE plpgsql SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
    names constant text[] := ARRAY['counted', 'small', 'parted_1', 'parted_2', 'light'];
    before bigint[];
    after bigint[];
    result text := '';
BEGIN
    PERFORM set_config('gpuscan.offload', mode, true);
    SELECT array_agg(pg_stat_get_xact_numscans(n::regclass) ORDER BY n) || array_agg(pg_stat_get_xact_tuples_returned(n::regclass) ORDER BY n) INTO before FROM unnest(names) n;
    EXECUTE query;
    SELECT array_agg(pg_stat_get_xact_numscans(n::regclass) ORDER BY n) || array_agg(pg_stat_get_xact_tuples_returned(n::regclass) ORDER BY n) INTO after FROM unnest(names) n;
    FOR i IN 1..5 LOOP
        IF after[i] > before[i] OR after[i + 5] > before[i + 5] THEN
            result := result || format('%s: %s scans, %s rows. ', (SELECT (array_agg(n ORDER BY n))[i] FROM unnest(names) n), after[i] - before[i], after[i + 5] - before[i + 5]);
        END IF;
    END LOOP;
    RETURN result;
END $$;
CREATE TABLE queries (n serial, query text);
INSERT INTO queries (query) VALUES
    ('SELECT count(*), sum(v) FROM counted'),
    ('SELECT count(*) FROM counted WHERE id < 100 AND t LIKE ''%1'''),
    ('SELECT id FROM counted WHERE v = 5'),
    ('SELECT name, count(*) FROM counted JOIN small ON v = k GROUP BY name'),
    ('SELECT count(*) FROM counted a JOIN counted b USING (id)'),
    ('SELECT v, count(*) FROM parted GROUP BY v'),
    ('SELECT v, count(*) FROM parted WHERE id < 500 GROUP BY v'),
    ('SELECT count(*) FROM light'),
    ('SELECT sum(id) FROM counted WHERE id > 100000');
SET gpuscan.enable_decorrelation = off; -- once per row of the outer query
INSERT INTO queries (query) VALUES ('SELECT (SELECT count(*) FROM counted c WHERE c.v = s.k) FROM small s WHERE k < 3');
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT scans_of(query, 'force') AS first FROM queries ORDER BY n;
SELECT scans_of(query, 'force') = scans_of(query, 'off') AS same, scans_of(query, 'force'), query FROM queries ORDER BY n;
-- An error that is PostgreSQL's, and a fallback: only its scan counts.
SELECT scans_of('SELECT CASE WHEN id % 2 = 0 THEN interval ''1 mon'' ELSE interval ''30 days'' END, count(*) FROM counted GROUP BY 1', 'force');
-- (By several workers that feed the device: test/tap/feed_workers.sh.)
DROP SCHEMA scan_statistics CASCADE;
