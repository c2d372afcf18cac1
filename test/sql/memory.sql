-- A session that runs many fragments, fails in some and gives up others does not grow: memory contexts of the backend,
-- memory and request slots of the device.
CREATE SCHEMA memory;
SET search_path = memory, public;
CREATE TABLE t (id int, g int, v int8, n numeric(9,2), s text);
INSERT INTO t SELECT i, i % 50, i, i / 4.0, 's' || i % 700 FROM generate_series(1, 5000) i;
CREATE TABLE dim AS SELECT i AS k, 'name ' || i AS name FROM generate_series(0, 40) i;
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) dim;
SET gpuscan.offload = force;
-- small, so that it is full before the first look and every later plan takes another's place
SET gpuscan.plan_cache_size = '64kB';
CREATE PROCEDURE work(turns int) LANGUAGE plpgsql AS $$
DECLARE
    c refcursor;
    query text;
BEGIN
    FOR i IN 1..turns LOOP
        FOREACH query IN ARRAY ARRAY['SELECT s, count(*), sum(n) FROM t GROUP BY s', 'SELECT name, sum(v), min(s) FROM t JOIN dim ON g = k WHERE upper(s) LIKE ''%7%'' GROUP BY name', 'SELECT sum(v / (g - 3)) FROM t',
                                    'SELECT count(*) FROM t JOIN (VALUES (1, ''a''), (2, ''b'')) q(k, x) ON g = q.k', 'SELECT max(s), min(s COLLATE "C") FROM t WHERE id > ' || i] LOOP
            BEGIN
                EXECUTE query;
                -- a cursor that is left behind in the middle, by an error
                OPEN c FOR EXECUTE query;
                MOVE 2 FROM c;
                RAISE EXCEPTION 'enough' USING ERRCODE = 'P0001';
            EXCEPTION WHEN raise_exception OR division_by_zero THEN
                NULL;
            END;
        END LOOP;
        COMMIT;
    END LOOP;
END $$;
CREATE VIEW used AS SELECT sum(used_bytes)::int8 AS bytes FROM pg_backend_memory_contexts;
CALL work(20);
CALL work(20);
SELECT bytes AS before FROM used \gset
CALL work(60);
SELECT bytes - :before < 100000 AS small_growth, CASE WHEN bytes - :before >= 100000 THEN bytes - :before END AS growth FROM used;
-- more fragments than there are slots have come and gone
SELECT check_query('SELECT s, count(*), sum(n) FROM t GROUP BY s');
