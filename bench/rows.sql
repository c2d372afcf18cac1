-- Rows instead of groups: what it takes to bring them from the device to PostgreSQL's executor, against its own scan.
-- Usage: psql -Xq -v rows=4000000 -f bench/rows.sql   (the best of five runs after one, per setting)
-- The consumer is a count over a subquery that is not pulled up, so that nothing but the rows themselves differs.
\if :{?rows}
\else
    \set rows 4000000
\endif
\timing off
CREATE SCHEMA bench_rows;
SET search_path = bench_rows;
CREATE TABLE w AS
    SELECT i AS id, i % 1000 AS g, i::int8 * 3 AS v, (i / 4.0)::numeric(12,2) AS n, i / 8.0::float8 AS f, 's' || i % 25 AS s,
        'word number ' || i % 1000 AS s2, date '2023-01-01' + i % 90 AS d, i % 3 = 0 AS b
    FROM generate_series(1, :rows) i;
CREATE TABLE dimension AS SELECT i AS k, 'name ' || i AS name FROM generate_series(0, 999) i;
VACUUM (FREEZE, ANALYZE) w, dimension;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION measured(query text) RETURNS TABLE (postgres_ms numeric, gpuscan_ms numeric) LANGUAGE plpgsql AS $$
DECLARE
    mode text;
    started timestamptz;
    best numeric[];
    took numeric;
BEGIN
    FOREACH mode IN ARRAY ARRAY['off', 'force'] LOOP
        PERFORM set_config('gpuscan.offload', mode, false);
        EXECUTE query;
        took := NULL;
        FOR i IN 1..5 LOOP
            started := clock_timestamp();
            EXECUTE query;
            took := least(took, round(extract(epoch FROM clock_timestamp() - started) * 1000, 1));
        END LOOP;
        best := best || took;
    END LOOP;
    RETURN QUERY SELECT best[1], best[2];
END $$;
SELECT what, m.* FROM (VALUES
    ('nine columns', 'SELECT count(id), count(g), count(v), count(n), count(f), count(s), count(s2), count(d), count(b) FROM (SELECT * FROM w OFFSET 0) x'),
    ('int4, int8, date', 'SELECT count(id), count(v), count(d) FROM (SELECT id, v, d FROM w OFFSET 0) x'),
    ('a numeric', 'SELECT count(n) FROM (SELECT n FROM w OFFSET 0) x'),
    ('two texts', 'SELECT count(s), count(s2) FROM (SELECT s, s2 FROM w OFFSET 0) x'),
    ('all columns of 4 rows in 1,000,000', 'SELECT * FROM w WHERE g = 77 AND v % 1000000 < 5000'),
    ('a join, every 50th row', 'SELECT count(x.name) FROM (SELECT w.id, name, n FROM w JOIN dimension ON g = k WHERE id % 50 = 3 OFFSET 0) x'))
    AS q (what, query), LATERAL measured(query) m;
DROP SCHEMA bench_rows CASCADE;
