-- Queries whose rows a device delivers: scan, filter and joins below whatever PostgreSQL does with them.
CREATE SCHEMA rows;
SET search_path = rows, public;
CREATE TABLE t (id int, i2 int2, i8 int8, f4 float4, f8 float8, n numeric(10,2), w numeric(30,6), z numeric(20,0), b bool,
    d date, ts timestamp, tz timestamptz, s text, v varchar(10) COLLATE "C", c char(5));
INSERT INTO t SELECT i, i % 100, i * 3000000000, i / 4.0, -i / 8.0, i / 4.0, i * 123456789012345.678901, -i * 1000000000000,
    i % 3 = 0, date '2024-01-01' + i % 400, timestamp '2024-01-01' + i * interval '1 minute',
    timestamptz '2024-01-01 UTC' + i * interval '1 second', 'text ' || i % 50, chr(65 + i % 26), i % 7
    FROM generate_series(1, 2500) i;
INSERT INTO t (id, s) SELECT i, NULL FROM generate_series(1, 60) i; -- NULLs and duplicates
INSERT INTO t SELECT * FROM t WHERE id < 30;
-- the ends of every type
INSERT INTO t VALUES
    (-2147483648, -32768, -9223372036854775808, '-Infinity', '-Infinity', -99999999.99, -999999999999999999999999.999999,
     -99999999999999999999, false, '-infinity', '-infinity', '-infinity', '', '', ''),
    (2147483647, 32767, 9223372036854775807, 'Infinity', 'Infinity', 99999999.99, 999999999999999999999999.999999,
     99999999999999999999, true, 'infinity', 'infinity', 'infinity', repeat('long', 2000), 'äöü', '     '),
    (0, 0, 0, 'NaN', 'NaN', 0, 0, 0, true, '4713-01-01 BC', '4713-01-01 00:00:00 BC', '294276-12-31 23:59:59.999999 UTC',
     E'\\ "quoted", ''x''', E'\t', 'a b  '),
    (1, 1, 1, '-0', '-0', 0.01, 0.000001, 1, false, '5874897-12-31', '294276-12-31 23:59:59.999999', 'epoch', '€', 'a ', 'ä'),
    (2, -1, -1, '1e-45', '5e-324', -0.01, -0.000001, 10000, NULL, 'epoch', 'epoch', 'epoch', ' ', ' ', 'abcde'),
    (3, 1, 10000, 3.4e38, 1.7e308, 10000, 10000, 100000000, NULL, 'epoch', 'epoch', 'epoch', 'x', 'x', 'x'),
    (4, 1, 9999, 16777217, 9007199254740993, 9999.99, 9999.999999, 9999, NULL, 'epoch', 'epoch', 'epoch', 'x', 'x', 'x'),
    (5, 1, 99999999, 1, 1, 1.10, 100000000.000100, 100000001, NULL, 'epoch', 'epoch', 'epoch', 'x', 'x', 'x');
CREATE TABLE dim AS SELECT i % 40 AS k, i AS o, 'name ' || i % 4 AS name, (i / 3.0)::numeric(8,3) AS price FROM generate_series(0, 99) i;
INSERT INTO dim VALUES (NULL, NULL, NULL, NULL), (7, NULL, 'name 7', 0);
CREATE TABLE few (k int, word text);
INSERT INTO few VALUES (1, 'one'), (2, 'two'), (2, 'two again'), (NULL, 'none');
CREATE TABLE empty (LIKE t);
CREATE TABLE other (id int, j jsonb, a int[], n numeric, i interval);
INSERT INTO other SELECT i, jsonb_build_object('i', i), ARRAY[i], i, i * interval '1 day' FROM generate_series(1, 100) i;
VACUUM (FREEZE, ANALYZE) t, dim, few, empty, other;

-- every type, bit for bit (the texts and the binary forms of the values)
SELECT check_query('SELECT * FROM t');
SELECT check_matrix('SELECT %s FROM t', '{id, i2, i8, f4, f8, n, w, z, b, d, ts, tz, s, v, c, "1", "b, b, n, n", "t.*", "s, id + 1, c || ''x'', n * w", "float8send(f8), float4send(f4), numeric_send(n), numeric_send(w), numeric_send(z)", "hash_numeric(n), hashtext(s), hashbpchar(c), hash_numeric(w), hash_numeric(z)", "CASE WHEN b THEN n ELSE w END"}');
SELECT check_matrix('SELECT * FROM t WHERE %s', '{id < 10, id IS NULL, b, NOT b, b IS UNKNOWN, "n BETWEEN 0 AND 1", "w > 1e20", "s LIKE ''text 1%''", "c = ''1''", "v IN (''A'', ''B'') AND id % 3 = 1", "f8 = ''NaN''", "d > ''2024-06-01'' OR s IS NULL", "tz < now()"}');
SELECT check_matrix('SELECT %s', '{"* FROM t WHERE false", "* FROM t WHERE id = NULL", "t.* FROM t JOIN dim ON t.id = o AND NULL"}', expect => 'any');
SELECT check_matrix('SELECT * FROM %s', '{empty, few, dim, "empty WHERE id > 3", "few WHERE word > ''p''", "dim WHERE price < 3 AND name <> ''name 1''"}');
-- sizes around the batches of rows
CREATE TABLE many AS SELECT i AS id, i % 7 AS k, (i / 3.0)::numeric(12,3) AS n, 'word ' || i % 9000 AS s FROM generate_series(1, 70000) i;
VACUUM (FREEZE, ANALYZE) many;
SELECT check_matrix('SELECT * FROM many WHERE id <= %s', '{0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 2047, 2049, 65535, 65536, 65537, 70000}');
SELECT check_matrix('SELECT %s FROM many', '{"id, id, id, id, id, id, id, id, id, id", "id, k, n, s, n, s, n, s, n, s, n, s, n, s", "n", "1"}');
-- rows read again: a batch of a megabyte without NULLs, one of nothing else, and a short one without (several times: two
-- threads may bring them in another order)
CREATE TABLE gaps AS SELECT CASE WHEN i NOT BETWEEN 61700 AND 123350 THEN i END::numeric(30,6) AS w FROM generate_series(1, 123450) i;
VACUUM (FREEZE, ANALYZE) gaps;
SELECT check_matrix('SELECT word, (SELECT length(string_agg(w::text, word || ''%s'')) FROM gaps) FROM few', '{1, 2, 3}');
-- what depends on how a value is stored is not asked above rows of another form
SELECT check_matrix('SELECT count(*) FROM (SELECT n, s FROM t OFFSET 0) x WHERE %s', '{"pg_column_size(x.n) > 5", "pg_column_size(x.s) > 10"}', expect => 'any');
SELECT check_query('SELECT count(*) FROM few LEFT JOIN (SELECT n, i2 FROM t OFFSET 0) x ON x.i2 = few.k AND pg_column_size(x.n) > 5', 'any');
-- more than work_mem goes through a temporary file, or back to PostgreSQL's plan
SET work_mem = '64kB';
SELECT check_query('SELECT * FROM many');
CREATE TABLE priced AS SELECT i AS id, CASE WHEN i % 5 > 0 THEN i % 1000 / (1 + i % 3)::numeric END AS p FROM generate_series(1, 30000) i;
VACUUM (FREEZE, ANALYZE) priced;
SELECT check_query('SELECT id, p, p * 2, round(p, 2) FROM priced'); -- numbers with their scales
SELECT check_query('SELECT a.id, b.s FROM many a JOIN few ON a.k = few.k JOIN many b ON b.id = a.id');
SET temp_file_limit = '100MB';
SELECT check_query('SELECT * FROM many', 'fallback');
RESET temp_file_limit;
BEGIN;
SET LOCAL gpuscan.offload = force;
DECLARE c CURSOR FOR SELECT n > 0 AS good, s LIKE 'word%' AS fine FROM many WHERE id % 2 = 0 ORDER BY id;
MOVE 100 IN c;
SAVEPOINT s;
MOVE 34897 IN c;
ROLLBACK TO s;
FETCH 2 FROM c;
ROLLBACK;
SELECT count(*) = 35000 AS complete FROM (SELECT x.id FROM few, LATERAL (SELECT many.id FROM many WHERE many.k = few.k OFFSET 0) x UNION SELECT id FROM many WHERE id % 2 = 0) y WHERE id % 2 = 0;
RESET work_mem;

-- joins, 1:1 and 1:n, several, expressions, further conditions, sides that PostgreSQL feeds
SELECT check_matrix('SELECT %s', ARRAY['t.*, dim.* FROM t JOIN dim ON t.i2 = dim.k', 't.id, name, word FROM t JOIN dim ON i2 = dim.k JOIN few ON few.k = dim.o', 't.s, u.w, t.c FROM t JOIN t u ON t.id = u.id AND t.i2 = u.i2 WHERE u.b',
    'few.word, dim.price * t.n FROM few, dim, t WHERE few.k = dim.k AND t.id = dim.o AND t.n > dim.price', 't.id FROM t JOIN dim ON t.i2 + 1 = dim.k WHERE t.id + dim.o > 100', 't.id, e.id FROM t JOIN empty e ON e.id = t.id', 'e.id, t.s FROM empty e JOIN t ON e.id = t.id',
    't.id, x.m FROM t JOIN (SELECT k, max(o) AS m FROM dim GROUP BY k) x ON t.i2 = x.k', 't.id, g FROM t JOIN generate_series(1, 10) g ON t.id = g', 'count(*) OVER (), t.id FROM t JOIN (VALUES (1), (2), (2)) v(x) ON t.id = v.x', '1 FROM few a JOIN few b USING (k)']);

-- what may stand above
SELECT check_matrix('SELECT %s', ARRAY['id, s FROM t ORDER BY s COLLATE "C", id, n LIMIT 7', 'DISTINCT s, b FROM t', 'DISTINCT ON (i2) i2, id FROM t ORDER BY i2, id, n', 'i2, string_agg(s, '','' ORDER BY s COLLATE "C", id) FROM t GROUP BY i2', 'count(DISTINCT s), count(DISTINCT n), sum(n) FROM t',
    'b, s, count(*), sum(n) FROM t GROUP BY ROLLUP (b, s)', 'b, i2, count(*) FROM t GROUP BY GROUPING SETS ((b), (i2), ())', 'array_agg(id ORDER BY id, n) FILTER (WHERE b) FROM t', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY i8) FROM t', 'avg(n) / 2, stddev(i8) FROM t',
    'id, rank() OVER (PARTITION BY i2 ORDER BY n, id, s), sum(n) OVER (ORDER BY id RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) FROM t', 'id, lag(s) OVER w, first_value(n) OVER w FROM t WINDOW w AS (PARTITION BY b ORDER BY id, n, s, c)',
    'id FROM t WHERE id < 50 UNION ALL SELECT o FROM dim WHERE o > 90', 'id FROM t INTERSECT SELECT o FROM dim', 'i2 FROM t EXCEPT ALL SELECT k FROM dim', 'generate_series(1, i2 % 3), id FROM t WHERE id < 20', 'unnest(ARRAY[s, v]) FROM t WHERE id < 5',
    'count(*) FROM (SELECT s FROM t WHERE id % 2 = 0 OFFSET 0) x', 't.id, (SELECT count(DISTINCT name) FROM dim WHERE k = t.i2) FROM t WHERE t.id < 5',
    'id, EXISTS (SELECT 1 FROM dim WHERE k = t.i2) FROM t WHERE id < 100', 'dim.* FROM dim WHERE o NOT IN (SELECT id FROM t WHERE b AND id IS NOT NULL)',
    'x.id, few.word FROM (SELECT t.id, t.i2 FROM t JOIN dim ON t.id = dim.o OFFSET 0) x FULL JOIN few ON x.i2 = few.k', 'few.k, x.id FROM few LEFT JOIN LATERAL (SELECT id FROM t WHERE t.i2 = few.k ORDER BY id LIMIT 2) x ON true',
    'row_to_json(x) FROM (SELECT id, n, s FROM t WHERE id < 9 OFFSET 0) x', 'ARRAY(SELECT id FROM t WHERE i2 = few.k ORDER BY id) FROM few'], expect => 'forced');
SELECT check_matrix('SELECT %s', ARRAY['max(length) FROM (SELECT length(s) FROM t UNION ALL SELECT length(name) FROM dim) x', 'id FROM t WHERE EXISTS (SELECT 1 FROM few WHERE few.k = t.id)', 'dim.* FROM dim WHERE o IN (SELECT id FROM t WHERE b)', 'dim.o, t.s FROM dim LEFT JOIN t ON dim.o = t.id AND t.b'], expect => 'any');
SELECT check_matrix('WITH %s', ARRAY['x AS MATERIALIZED (SELECT id, s FROM t WHERE b) SELECT a.id, b.s FROM x a JOIN x b ON a.id = b.id + 3', 'x AS (SELECT id, i2 FROM t) SELECT count(*) FROM x JOIN dim ON i2 = k WHERE id > 5 GROUP BY name',
    'RECURSIVE r AS (SELECT 1 AS id, 0 AS depth UNION ALL SELECT t.id + 1, r.depth + 1 FROM r JOIN t ON t.id = r.id WHERE r.depth < 6) SELECT * FROM r', 'RECURSIVE r AS (SELECT o, k FROM dim WHERE o = 5 UNION SELECT dim.o, dim.k FROM (SELECT * FROM r OFFSET 0) q JOIN dim ON dim.k = q.o % 7) SELECT * FROM r'], expect => 'any');
EXPLAIN (COSTS OFF) WITH RECURSIVE r AS (SELECT 1 AS id UNION ALL SELECT t.id + 1 FROM r JOIN t ON t.id = r.id WHERE r.id < 6) SELECT * FROM r;

-- LIMIT: as many rows as are wanted, whichever; one beyond a sort or a filter of PostgreSQL's is none for the device
SELECT check_matrix('SELECT count(*), count(DISTINCT id) > 0 FROM (SELECT id FROM many %s) x', '{"LIMIT 1", "LIMIT 10", "LIMIT 10 OFFSET 5", "OFFSET 69990", "LIMIT 0", "LIMIT 5000", "LIMIT ALL", "WHERE k = 3 LIMIT 100", "FETCH FIRST 3 ROWS ONLY", "LIMIT 100000", "LIMIT (SELECT 7)", "ORDER BY id LIMIT 4"}');
SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT id FROM many WHERE k = 2 LIMIT 10 OFFSET 3;
EXPLAIN (COSTS OFF) SELECT id FROM many WHERE k = 2 ORDER BY n LIMIT 10;
EXPLAIN (COSTS OFF) SELECT DISTINCT k FROM many LIMIT 2;
SELECT count(*) FROM (SELECT id FROM many WHERE k = 2 LIMIT 10 OFFSET 3) x;
-- (what differs between versions of PostgreSQL is left out)
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        CONTINUE WHEN line ~ '(Buffers|Storage):';
        RETURN NEXT regexp_replace(line, ' \(actual.*\)', '');
    END LOOP;
END $$;
SELECT * FROM explained($$SELECT t.id + 1, upper(name), t.n FROM t JOIN dim ON t.i2 = dim.k WHERE t.id < 4 AND price > 1$$);
-- a CTE that has other values for each reader that evaluates it for itself
SELECT * FROM explained($$WITH x AS MATERIALIZED (SELECT k FROM few WHERE k < random() + 5) SELECT t.id FROM t JOIN x ON t.id = x.k$$);

-- handed through: what a device cannot compute with; refused: rows that somebody wants to find again, order that matters
SELECT plan_of('SELECT j FROM other WHERE id < 5'), plan_of('SELECT a[1] FROM other'), plan_of('SELECT n FROM other'), plan_of('SELECT i FROM other'), plan_of('SELECT id FROM other WHERE n > 5'), plan_of('SELECT id FROM other');
SELECT plan_of('SELECT t FROM t'), plan_of('SELECT ctid, id FROM t'), plan_of('SELECT tableoid FROM t'), plan_of('SELECT xmin FROM t'), plan_of('SELECT id FROM t FOR UPDATE'), plan_of('SELECT t.id FROM t JOIN dim ON i2 = k FOR SHARE OF dim'), plan_of('SELECT id FROM t TABLESAMPLE SYSTEM (50)');
SELECT plan_of('UPDATE t SET n = n WHERE id < 0'), plan_of('DELETE FROM t WHERE id < 0 AND s = ''x'''), plan_of('UPDATE t SET n = price FROM dim WHERE t.id = o AND o < 0'), plan_of('SELECT oid FROM pg_class'), plan_of('SELECT id FROM t WHERE random() < 2'), plan_of('SELECT sum(f4) FROM t'), plan_of('SELECT pg_column_size(n) FROM t');
BEGIN;
SET LOCAL gpuscan.exact_float = on;
SELECT plan_of('SELECT sum(f8) OVER () FROM t'), plan_of('SELECT sum(x) FROM (SELECT f8 AS x FROM t OFFSET 0) y'), plan_of('SELECT f8 FROM t');
COMMIT;
SET gpuscan.explain_refusals = on;
EXPLAIN (COSTS OFF) SELECT j FROM other;
EXPLAIN (COSTS OFF) SELECT id FROM t FOR UPDATE;
RESET gpuscan.explain_refusals;
-- volatile functions stand above the rows and see each of them once
CREATE SEQUENCE calls;
SELECT count(*), count(DISTINCT x) FROM (SELECT nextval('calls') AS x, id FROM t WHERE id < 10 OFFSET 0) y;
SELECT last_value FROM calls;

-- INSERT ... SELECT, CREATE TABLE AS, into the table that is read, RETURNING, ON CONFLICT
CREATE TABLE target (id int PRIMARY KEY, s text, n numeric(10,2));
EXPLAIN (COSTS OFF) INSERT INTO target SELECT id, s, n FROM t WHERE id BETWEEN 100 AND 200;
INSERT INTO target SELECT id, s, n FROM t WHERE id BETWEEN 100 AND 200;
INSERT INTO target SELECT id + 1000, s, n FROM target WHERE id < 104 RETURNING id BETWEEN 1100 AND 1103 AS new;
INSERT INTO target SELECT id, 'again', n FROM target ON CONFLICT (id) DO UPDATE SET s = excluded.s WHERE target.id < 110;
CREATE TABLE copied AS SELECT t.id, name FROM t JOIN dim ON t.id = o;
RESET gpuscan.offload;
SELECT count(*), sum(id), sum(n), count(*) FILTER (WHERE s = 'again') FROM target;
SELECT count(*), sum(id), min(name) FROM copied;
-- rows of the running transaction, deleted ones, updated ones
BEGIN;
INSERT INTO few VALUES (3, 'three');
UPDATE t SET s = 'changed' WHERE id = 77;
DELETE FROM t WHERE id = 78;
SELECT check_matrix('SELECT %s', '{"* FROM few", "* FROM t WHERE id BETWEEN 70 AND 80", "t.id, word FROM t JOIN few ON t.i2 = few.k"}');
ROLLBACK;
SELECT check_query('SELECT * FROM t WHERE id BETWEEN 70 AND 80');

-- prepared statements, custom and generic; parameters that change; NULL
SELECT check_prepared('device', 'SELECT * FROM t WHERE id = $1 OR i2 = $2', '(int, int)', '(3, 4)', '(0, NULL)', '(99999, 99999)', '(NULL, 7)');
SELECT check_prepared('device', 'SELECT t.id, name, t.n FROM t JOIN dim ON i2 = k WHERE t.id BETWEEN $1 AND $2 AND s LIKE $3', '(int, int, text)', '(1, 500, ''%1'')', '(5, 4, ''%'')', '(1, 2000, ''text 3%'')');
SELECT check_prepared('device', 'SELECT count(*) FROM (SELECT id FROM t WHERE b LIMIT $1) x', '(int)', '(3)', '(0)', '(NULL)', '(100000)');
-- errors in a filter come from PostgreSQL's plan, those above the rows from above
SELECT check_query('SELECT id FROM t WHERE 10 / i2 > 1');
SELECT check_query('SELECT 10 / i2 FROM t');
SELECT check_query('SELECT id FROM t WHERE id > 5 AND i8 * 4 > 3');

-- cursors: in pieces, there and back, held over commit, rows that change meanwhile
SET gpuscan.offload = force;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id BETWEEN 40 AND 45 AND s IS NOT NULL AS good FROM t WHERE id BETWEEN 40 AND 45 AND s IS NOT NULL ORDER BY id;
FETCH 4 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
FETCH BACKWARD ALL FROM c;
DELETE FROM t WHERE id = 45;
FETCH ALL FROM c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT id < 45 AS good FROM t WHERE id BETWEEN 40 AND 44 AND s IS NOT NULL ORDER BY id;
FETCH 2 FROM c;
COMMIT;
FETCH ALL FROM c;
CLOSE c;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t WHERE id = 7 ORDER BY id;
DECLARE d CURSOR FOR SELECT t.id, name FROM t JOIN dim ON i2 = k ORDER BY t.id, o LIMIT 3;
FETCH 1 FROM c;
FETCH 2 FROM d;
INSERT INTO t (id) VALUES (7);
FETCH ALL FROM c;
FETCH 2 FROM d;
ROLLBACK;
-- a row of a simple cursor is PostgreSQL's: somebody may update it
BEGIN;
DECLARE c CURSOR FOR SELECT id, s FROM t WHERE id = 40;
FETCH 1 FROM c;
UPDATE t SET s = 'updated' WHERE CURRENT OF c;
DECLARE d CURSOR FOR SELECT id FROM dim JOIN t ON i2 = k WHERE id = 40;
DECLARE e CURSOR FOR SELECT id FROM t WHERE id = 41 AND n < (SELECT 2 * avg(n) FROM t x WHERE x.i2 = t.i2);
FETCH 1 FROM e;
DELETE FROM t WHERE CURRENT OF e;
SELECT id, s FROM t WHERE id BETWEEN 40 AND 41 AND s IS NOT NULL;
ROLLBACK;
-- ... also in the order of an index, which PostgreSQL needs no sort for
BEGIN;
CREATE TABLE numbered (id int PRIMARY KEY, v int);
INSERT INTO numbered SELECT i, i % 10 FROM generate_series(1, 3000) i;
ANALYZE numbered;
SET LOCAL enable_seqscan = off; -- else it may sort
DECLARE c CURSOR FOR SELECT id FROM numbered WHERE v < 5 ORDER BY id;
FETCH 2 FROM c;
UPDATE numbered SET v = -1 WHERE CURRENT OF c;
SELECT id FROM numbered WHERE v = -1;
EXPLAIN (COSTS OFF) DECLARE d CURSOR FOR SELECT id FROM numbered WHERE v < 5 ORDER BY v;
ROLLBACK;
-- unless the transaction writes nothing; then it goes back like PostgreSQL's scan
BEGIN READ ONLY;
EXPLAIN (COSTS OFF) DECLARE c CURSOR FOR SELECT id, s FROM t WHERE id BETWEEN 40 AND 44 AND s IS NOT NULL;
EXPLAIN (COSTS OFF) DECLARE c NO SCROLL CURSOR FOR SELECT id FROM t WHERE id = 40;
DECLARE c CURSOR FOR SELECT id FROM t WHERE id BETWEEN 40 AND 44 AND s IS NOT NULL;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
MOVE ABSOLUTE 0 IN c;
FETCH 1 FROM c;
DECLARE h CURSOR WITH HOLD FOR SELECT id FROM t WHERE id BETWEEN 40 AND 44 AND s IS NOT NULL LIMIT 3;
FETCH 2 FROM h;
-- (what no scan could show backwards is not kept for that)
EXPLAIN (COSTS OFF) DECLARE d CURSOR FOR SELECT i2, count(*) FROM t GROUP BY i2;
-- not in a subtransaction, whose end may allow to write, nor under a limit for temporary files
SAVEPOINT inner_one;
EXPLAIN (COSTS OFF) DECLARE d CURSOR FOR SELECT id FROM t WHERE id = 40;
ROLLBACK TO inner_one;
RELEASE inner_one;
SET LOCAL temp_file_limit = '1MB';
EXPLAIN (COSTS OFF) DECLARE d CURSOR FOR SELECT id FROM t WHERE id = 40;
COMMIT;
FETCH BACKWARD 1 FROM h;
CLOSE h;
-- nor where a function keeps the plan for a transaction that writes
CREATE FUNCTION kept(writes boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT id FROM t WHERE id = 40; row_id int;
BEGIN
    OPEN c;
    FETCH c INTO row_id;
    IF writes THEN
        UPDATE t SET s = 'kept' WHERE CURRENT OF c;
    END IF;
    CLOSE c;
    RETURN row_id;
END $$;
SET plan_cache_mode = force_generic_plan;
BEGIN READ ONLY;
SELECT kept(false);
COMMIT;
BEGIN;
SELECT kept(true);
SELECT s FROM t WHERE id = 40 AND s IS NOT NULL;
ROLLBACK;
RESET plan_cache_mode;
DROP FUNCTION kept;
-- a function that reads row by row, and writes what it reads
CREATE FUNCTION walk() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; sum numeric := 0; rows int := 0;
BEGIN
    FOR r IN SELECT id, n FROM t WHERE id BETWEEN 1 AND 300 AND n IS NOT NULL LOOP
        rows := rows + 1;
        sum := sum + r.n;
        UPDATE t SET n = 0 WHERE id = r.id + 1;
        EXIT WHEN rows = 250;
    END LOOP;
    RETURN rows;
END $$;
BEGIN;
SELECT walk();
ROLLBACK;
RESET gpuscan.offload;

-- security barriers and row-level security: no row that the reader must not see, and no leak through a function
CREATE ROLE gpuscan_rows_reader;
GRANT USAGE ON SCHEMA rows TO gpuscan_rows_reader;
GRANT SELECT ON t, dim TO gpuscan_rows_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON t USING (i2 < 3 AND s IS NOT NULL);
CREATE FUNCTION leak(text) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE NOTICE 'leak %', $1; RETURN true; END $$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, s FROM t WHERE b;
SET ROLE gpuscan_rows_reader;
SELECT check_matrix('SELECT %s', '{"id, s FROM t", "* FROM t WHERE id > 2000", "t.id, name FROM t JOIN dim ON t.id = o", "id FROM t WHERE 100 / i2 > 0"}', expect => 'forced');
SET gpuscan.offload = force;
SELECT id FROM t WHERE leak(s) AND id BETWEEN 100 AND 300 ORDER BY id;
RESET gpuscan.offload;
RESET ROLE;
SELECT check_query('SELECT * FROM barrier WHERE id < 100');

-- partitions
CREATE TABLE part (id int, s text) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (100) TO (1000);
INSERT INTO part SELECT i, 'p' || i FROM generate_series(0, 500) i;
VACUUM (FREEZE, ANALYZE) part;
SELECT check_matrix('SELECT %s', '{"* FROM part WHERE id > 90", "part.id, t.n FROM part JOIN t USING (id)", "* FROM part1 UNION ALL SELECT * FROM part2"}', expect => 'any');

-- by cost, with the columns cached: a selective filter over a large table is the device's, a key's row the index's, a few rows nobody's
CREATE TABLE big AS SELECT i AS id, i % 1000 AS k, i * 2 AS v, 'filler ' || i % 100 AS s, repeat('x', 60) AS filler FROM generate_series(1, 200000) i;
ALTER TABLE big ADD PRIMARY KEY (id);
VACUUM (FREEZE, ANALYZE) big;
SELECT gpuscan.prewarm('big') > 0 AS cached;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION chosen(statement text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
    RETURN plan @? '$.** ? (@."Custom Plan Provider" == "GpuScan")';
END $$;
SELECT chosen('SELECT * FROM big WHERE k = 5 AND v > 1000') AS filter, chosen('SELECT v, s FROM big WHERE k < 3 ORDER BY v') AS sorted, chosen('SELECT * FROM big WHERE id = 77') AS key, chosen('SELECT * FROM few') AS few,
    chosen('SELECT b.s, d.name FROM big b LEFT JOIN dim d ON d.o = b.id WHERE b.k = 9') AS below_outer_join, chosen('SELECT b.v FROM big b JOIN big c ON c.id = b.id WHERE b.id = 5') AS key_join;
SELECT check_matrix('SELECT %s', ARRAY['b.s, d.name FROM big b LEFT JOIN dim d ON d.o = b.id WHERE b.k = 9', 'd.o FROM dim d WHERE NOT EXISTS (SELECT 1 FROM big b WHERE b.v = d.o AND b.k < 50)', 'count(*) FROM dim d LEFT JOIN big b ON b.v = d.o AND b.k < 50'], expect => 'any');
DROP SCHEMA rows CASCADE;
DROP ROLE gpuscan_rows_reader;
