-- The tables and the comparing function of the stress run; see run.sh.
CREATE EXTENSION IF NOT EXISTS gpuscan;
DROP TABLE IF EXISTS fact, dim;
CREATE TABLE fact (id int PRIMARY KEY, k int NOT NULL, q int2, v int8, n numeric(12,2), f float8, d date, t text)
    WITH (fillfactor = 80);
CREATE TABLE dim (k int PRIMARY KEY, name text NOT NULL, grp int);
INSERT INTO fact
    SELECT i, i % 100, nullif(i % 50, 7), i::int8 * 1000003, i / 8.0, i / 2.0, date '2020-01-01' + i % 1000,
           'text ' || i % 20
    FROM generate_series(1, 60000) i;
INSERT INTO dim SELECT i, 'name ' || i % 30, i % 4 FROM generate_series(0, 89) i;
VACUUM (FREEZE, ANALYZE) fact;
VACUUM (FREEZE, ANALYZE) dim;

-- Runs one of the queries without and with the device, under the snapshot of the caller; raises when they differ.
CREATE OR REPLACE FUNCTION stress_check(which int) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    queries constant text[] := ARRAY[
        'SELECT count(*), count(q), sum(q), sum(v), sum(n), min(d), max(d), min(t), max(t), min(f), max(f) FROM fact',
        'SELECT t, count(*), sum(v), sum(n), avg(n), avg(q) FROM fact GROUP BY t',
        'SELECT k, count(*), sum(v), min(id), max(id) FROM fact WHERE q < 30 GROUP BY k',
        'SELECT name, grp, count(*), sum(v), sum(n) FROM fact JOIN dim USING (k) GROUP BY name, grp',
        'SELECT grp, count(*), sum(q * 2) FROM fact JOIN dim USING (k) WHERE name LIKE ''%1%'' AND d > ''2020-06-01'' GROUP BY grp',
        'SELECT count(*), sum(a.v) FROM fact a JOIN fact b ON a.id = b.k JOIN dim ON dim.k = a.k'
    ];
    query text := queries[1 + which % array_length(queries, 1)];
    plain text;
    device text;
BEGIN
    PERFORM set_config('gpuscan.offload', 'off', true);
    EXECUTE format('SELECT string_agg(x::text, E''\n'' ORDER BY x::text COLLATE "C") FROM (%s) x', query) INTO plain;
    PERFORM set_config('gpuscan.offload', 'force', true);
    EXECUTE format('SELECT string_agg(x::text, E''\n'' ORDER BY x::text COLLATE "C") FROM (%s) x', query) INTO device;
    PERFORM set_config('gpuscan.offload', 'off', true);
    IF plain IS DISTINCT FROM device THEN
        RAISE EXCEPTION 'answers differ for %', query
            USING DETAIL = format(E'PostgreSQL:\n%s\ndevice:\n%s', left(plain, 2000), left(device, 2000)),
                  ERRCODE = 'data_corrupted';
    END IF;
END $$;
