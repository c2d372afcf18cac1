-- Skipping rows by the bounds of their columns: rows in the order of a date, a number and a text, NULLs in one place,
-- parameters, joins whose partners lie close together, changed pages, and errors that must not be lost.
CREATE SCHEMA skip;
SET search_path = skip, public;
SET client_min_messages = warning;

-- few rows a page, so that a zone (65,536 rows) spans several windows of decoding
CREATE TABLE t (id int NOT NULL, d date, n numeric(10,2), s text COLLATE "C", r int, b bigint) WITH (fillfactor = 10);
INSERT INTO t SELECT i, CASE WHEN i > 190000 THEN NULL ELSE date '2020-01-01' + i / 500 END, i / 100.0, 'k' || i / 20000, i * 37 % 1000, i
FROM generate_series(1, 200000) i;
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 3 AS name FROM generate_series(100000, 100999) i;
CREATE TABLE nobody (k int, name text);
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) t, dim, nobody;

-- How many rows of the query's scans were skipped: none, some, or all chunks.
CREATE FUNCTION skipped(query text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    plan := jsonb_path_query_first(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuScan")');
    RETURN CASE WHEN plan ? 'Fallback' THEN 'fallback: ' || (plan ->> 'Fallback')
                WHEN (plan ->> 'Rows Skipped')::int8 = 0 THEN 'none'
                WHEN (plan ->> 'Chunks Skipped')::int8 > 0 THEN 'chunks' ELSE 'rows' END;
END $$;

-- Where the pages of its scan came from.
CREATE FUNCTION read_pages(query text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    plan := jsonb_path_query_first(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuScan")');
    RETURN concat_ws(', ', CASE WHEN (plan ->> 'Pages Cached')::int > 0 THEN 'cached' END,
                     CASE WHEN (plan ->> 'Pages Decoded')::int > 0 THEN 'decoded' END,
                     CASE WHEN (plan ->> 'Pages Rowwise')::int > 0 THEN 'by row' END);
END $$;

SELECT check_query(q) AS cold, check_query(q) AS hot, skipped(q), q FROM (VALUES
    ('SELECT count(*), sum(id) FROM t WHERE id < 2000'),
    ('SELECT count(*), sum(id) FROM t WHERE id BETWEEN 70000 AND 71000'),
    ('SELECT count(*), sum(id) FROM t WHERE id > 200000'),
    ('SELECT count(*), sum(id) FROM t WHERE id <> 7'),
    ('SELECT count(*), sum(id) FROM t WHERE d = ''2020-05-05'''),
    ('SELECT d, count(*) FROM t WHERE d < ''2020-01-03'' OR d IS NULL GROUP BY d'),
    ('SELECT count(*) FROM t WHERE d IS NULL'),
    ('SELECT count(*) FROM t WHERE b IS NULL'),
    ('SELECT count(*), sum(n) FROM t WHERE n >= 1999.5'),
    ('SELECT count(*), sum(n) FROM t WHERE n * 2 < 10 AND b + 1 < 400'),
    ('SELECT count(*) FROM t WHERE s = ''k3'''),
    ('SELECT count(*) FROM t WHERE s LIKE ''k9%'''),
    ('SELECT count(*) FROM t WHERE s = ''nowhere'''),
    ('SELECT count(*) FROM t WHERE r = 5'),
    ('SELECT count(*) FROM t WHERE NOT (id >= 1000 OR r < 3)'),
    ('SELECT count(*) FROM t WHERE id IN (3, 150000, 199999)'),
    ('SELECT count(*) FROM t WHERE CASE WHEN id < 100 THEN r > 1 ELSE false END'),
    ('SELECT id, s FROM t WHERE id BETWEEN 99990 AND 100010'),
    ('SELECT name, count(*), sum(n) FROM t JOIN dim ON id = k GROUP BY name'),
    ('SELECT name, count(*) FROM t JOIN dim ON id = k WHERE name = ''name 1'' AND r > 10 GROUP BY name'),
    ('SELECT count(*), max(name) FROM t JOIN nobody ON id = k'),
    ('SELECT count(*), max(name) FROM t JOIN dim ON b = k - 99999')) v(q);

-- constants and parameters of each execution
SELECT check_prepared('device', 'SELECT count(*), sum(r) FROM t WHERE id BETWEEN $1 AND $2', '(int, int)', '(1, 50)', '(150000, 150001)', '(9, 3)', '(NULL, 4)', '(0, 1000000)');
SELECT check_prepared('device', 'SELECT count(*), sum(r) FROM t WHERE d >= $1', '(date)', '(''2021-01-01'')', '(''infinity'')', '(NULL)');

-- An error of a row that an earlier condition does not drop is raised, whatever the later ones say; dropped ones raise none.
SELECT check_query(q, 'any'), q FROM (VALUES
    ('SELECT count(*) FROM t WHERE id + 2147483600 > 0 AND id < 10'),
    ('SELECT count(*) FROM t WHERE 1 / (id - 150000) = 0 AND id > 500000'),
    ('SELECT count(*), sum(1 / (id - 150000)) FROM t WHERE id < 1000'),
    ('SELECT count(*), sum(1 / (id - 150000)) FROM t WHERE id < 160000')) v(q);

-- Columns that are not cached yet are not read either, where cached ones tell; the last query reads them.
CREATE TABLE later (id int NOT NULL, a int, b int, c int) WITH (fillfactor = 10);
INSERT INTO later SELECT i, i % 7, i % 11, i % 13 FROM generate_series(1, 50000) i;
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) later;
SELECT check_query('SELECT count(*), sum(id) FROM later WHERE id > 10');
SELECT check_query(q), skipped(q), q FROM (VALUES ('SELECT count(*), sum(a) FROM later WHERE id > 50000'), ('SELECT sum(b) FROM later JOIN nobody ON id = k'),
    ('SELECT sum(b) FROM later WHERE a < 0 AND id < 0'), ('SELECT sum(b) FROM later WHERE a + 1 < 0 AND id < 0'), ('SELECT b, id FROM later WHERE id > 60000'), ('SELECT sum(b) FROM later WHERE id > 49999')) v(q);
SELECT read_pages('SELECT sum(c) FROM later WHERE id < 0') AS nothing, read_pages('SELECT sum(c) FROM later WHERE id < 3') AS decoded,
    read_pages('SELECT sum(c) FROM later WHERE id < 3') AS cached;

-- rows that change: what was bounded before is not where it was
UPDATE t SET id = -id WHERE id BETWEEN 1 AND 5 OR id = 150000;
SELECT check_query('SELECT count(*), sum(id) FROM t WHERE id < 0');
SELECT wait_for_snapshots();
VACUUM t;
SELECT check_query(q), skipped(q), q FROM (VALUES ('SELECT count(*), sum(id) FROM t WHERE id < 0'), ('SELECT count(*) FROM t WHERE id = 150000')) v(q);
-- changed pages lack both columns, the others one of them
CREATE TABLE mixed (id int NOT NULL, a int, b int) WITH (fillfactor = 10);
INSERT INTO mixed SELECT i, i, i FROM generate_series(1, 150000) i;
CREATE TABLE mixed_too WITH (fillfactor = 10) AS SELECT id, b, a FROM mixed;
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) mixed, mixed_too;
SELECT check_query('SELECT count(*), sum(b) FROM mixed'), check_query('SELECT count(*), sum(b) FROM mixed_too');
UPDATE mixed SET a = 1000000 + id WHERE id <= 100;
UPDATE mixed_too SET a = 1000000 + id WHERE id <= 100;
SELECT wait_for_snapshots();
VACUUM mixed, mixed_too;
SELECT check_query(q), check_query(q), skipped(q), q FROM (VALUES ('SELECT count(*), sum(b) FROM mixed WHERE a > 900000'), ('SELECT count(*), sum(b) FROM mixed_too WHERE a > 900000')) v(q);
INSERT INTO t SELECT -1000000, '1999-12-31', -1, 'old', 1, 1 FROM generate_series(1, 100);
DELETE FROM t WHERE id BETWEEN 90000 AND 91000;
SELECT wait_for_snapshots();
VACUUM t;
SELECT check_query(q), q FROM (VALUES ('SELECT count(*), sum(n) FROM t WHERE d < ''2000-01-01'''), ('SELECT count(*) FROM t WHERE id BETWEEN 89999 AND 91001'),
    ('SELECT count(*) FROM t WHERE n < 0 AND s = ''old''')) v(q);
DROP SCHEMA skip CASCADE;
