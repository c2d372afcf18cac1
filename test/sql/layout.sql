-- Tuple layouts: dropped columns, columns added with a default, null bitmaps beyond eight bytes, alignment of every kind,
-- columns behind text, wide rows, and all of it after updates on the same page.
CREATE SCHEMA layout;
SET search_path = layout, public;

-- dropped before, between and behind
CREATE TABLE dropped (gone1 text, a int2, gone2 int8, b int8, gone3 numeric, n numeric(8,3), gone4 bool, t text, gone5 name, d date, z int);
INSERT INTO dropped SELECT repeat('x', i % 5), i % 50, i, i * 3, i / 7.0, i / 8.0, true, 't' || i % 6, 'n', date '2020-01-01' + i % 9, i FROM generate_series(1, 500) i;
VACUUM (FREEZE, ANALYZE) dropped;
SELECT check_query('SELECT t, count(*), sum(a), sum(b), sum(n), min(d), max(z) FROM dropped GROUP BY t');
ALTER TABLE dropped DROP gone1, DROP gone2, DROP gone3, DROP gone4, DROP gone5;
SELECT check_query('SELECT t, count(*), sum(a), sum(b), sum(n), min(d), max(z) FROM dropped GROUP BY t');
INSERT INTO dropped SELECT i % 50, i * 3, i / 8.0, 't' || i % 6, date '2020-01-01' + i % 9, i FROM generate_series(501, 900) i;
SELECT check_query('SELECT t, count(*), sum(a), sum(b), sum(n), min(d), max(z) FROM dropped GROUP BY t');
VACUUM (FREEZE, ANALYZE) dropped;
SELECT check_query('SELECT t, count(*), sum(a), sum(b), sum(n), min(d), max(z) FROM dropped GROUP BY t');

-- added later: old rows are too short to hold the column
CREATE TABLE added (id int);
INSERT INTO added SELECT i FROM generate_series(1, 300) i;
VACUUM (FREEZE, ANALYZE) added;
ALTER TABLE added ADD i int DEFAULT 42, ADD i8 int8 NOT NULL DEFAULT -5, ADD n numeric(6,2) DEFAULT 1.5, ADD t text DEFAULT 'the default', ADD c char(6) DEFAULT 'ab', ADD d date DEFAULT '2001-01-01', ADD f float8 DEFAULT 'NaN',
    ADD b bool DEFAULT true, ADD u int, ADD big numeric(30,10) DEFAULT -123456789012345678.0000000001, ADD ts timestamp DEFAULT 'infinity', ADD e text DEFAULT '';
INSERT INTO added SELECT i, i, i, i / 4.0, 'own ' || i % 3, 'cd', '2002-02-02', i, false, i, i, '2003-03-03', 'e' FROM generate_series(301, 600) i;
INSERT INTO added (id, i, t) VALUES (601, NULL, NULL);
SELECT check_matrix('SELECT count(%1$s), min(%1$s), max(%1$s) FROM added', '{i,i8,n,t,c,d,f,u,big,ts,e}');
SELECT check_matrix('SELECT %1$s, count(*), sum(id), sum(i), sum(n) FROM added GROUP BY %1$s', '{i,i8,n,t,d,b,u,ts,e,"t, b"}');
SELECT check_matrix('SELECT count(*), sum(big), avg(n) FROM added WHERE %s', ARRAY['t = ''the default''', 'i = 42', 'b', 'n > 1', 'c = ''ab''', 'u IS NULL', 'd < ''2002-01-01''', 't LIKE ''own%''', 'e = ''''']);
VACUUM (FREEZE, ANALYZE) added;
SELECT check_matrix('SELECT %1$s, count(*), sum(id), sum(i), sum(n) FROM added GROUP BY %1$s', '{i,i8,n,t,d,b,u,ts,e,"t, b"}');
-- another default under the same number of column
ALTER TABLE added DROP u, ADD u int DEFAULT 7;
SELECT check_query('SELECT u, count(*), sum(id) FROM added GROUP BY u');
BEGIN;
ALTER TABLE added ADD w int DEFAULT 1;
SELECT check_query('SELECT w, count(*) FROM added GROUP BY w');
ROLLBACK;
ALTER TABLE added ADD w int DEFAULT 2;
SELECT check_query('SELECT w, count(*) FROM added GROUP BY w');

-- a hundred columns with NULLs here and there: a bitmap of 13 bytes; columns of every alignment between them
SELECT 'CREATE TABLE many (id int, ' || string_agg(format('c%s %s', i, (ARRAY['int2', 'int8', 'bool', 'text', 'int4', 'float8', 'numeric(9,3)', 'date', '"char"', 'timestamp'])[1 + i % 10]), ', ') || ')' FROM generate_series(1, 100) i \gexec
SELECT 'INSERT INTO many SELECT r, ' || string_agg(format('CASE WHEN r * %s %% 11 > 3 THEN %s END', i, (ARRAY['r % 100', 'r * 1000000007::int8', 'r % 2 = 0', '''t'' || r % 9', 'r', 'r / 8.0', 'r / 8.0', 'date ''2020-01-01'' + r % 50', '''x''', 'timestamp ''2020-01-01'' + r * interval ''1 min'''])[1 + i % 10]), ', ') || ' FROM generate_series(1, 400) r' FROM generate_series(1, 100) i \gexec
VACUUM (FREEZE, ANALYZE) many;
SELECT check_matrix('SELECT count(%1$s), min(%1$s), max(%1$s) FROM many', ARRAY(SELECT 'c' || i FROM generate_series(1, 100) i WHERE i % 10 NOT IN (2, 8)));
SELECT check_query('SELECT c3, c53, count(*), sum(c1), sum(c94), sum(c96), max(c99), sum(c41 * c10) FROM many WHERE c94 IS NOT NULL OR c100 > 5 GROUP BY c3, c53');
UPDATE many SET c50 = 1, c51 = NULL WHERE id % 7 = 0;
SELECT check_query('SELECT c3, c53, count(*), sum(c50), sum(c51), sum(c94), sum(c96), max(c99) FROM many GROUP BY c3, c53');

-- rows of almost a page, and types that are only walked over
CREATE TABLE odd (v1 "char", a int, v2 varchar, b int8, j jsonb, c int2, arr int[], d numeric(10,4), u uuid, e date, bits bit varying, f float4, tail text, p point, g int, i interval, h int8, o oid, x int);
INSERT INTO odd SELECT 'x', i, repeat('v', i % 7), i * 5, jsonb_build_object('k', i), i % 30, ARRAY[i, i], i / 16.0, '00000000-0000-0000-0000-000000000001', '2020-05-05', '101', i / 2.0, repeat('long ', i % 1400), point(i, i), i % 4, '1 day', i, i, i FROM generate_series(1, 150) i;
VACUUM (FREEZE, ANALYZE) odd;
SELECT check_query('SELECT g, count(*), sum(a), sum(b), sum(c), sum(d), min(e), max(f), sum(h), sum(x) FROM odd GROUP BY g');
SELECT check_matrix('SELECT g, count(*) FROM odd WHERE %s GROUP BY g', ARRAY['j @> ''{"k": 5}''', 'arr[1] > 5', 'u IS NOT NULL', 'o > 5', 'i > ''1 hour''', 'length(tail) > 50', 'v2 = ''vvv''', 'bits IS NULL', 'p IS NOT NULL AND a > 5'], expect => 'any');
UPDATE odd SET tail = 'short', b = b + 1 WHERE a % 3 = 0;
SELECT check_query('SELECT g, count(*), sum(a), sum(b), sum(c), sum(d), min(e), max(f), sum(h), sum(x) FROM odd GROUP BY g');

-- a type changed with and without rewrite, a column dropped and made anew, storage parameters
CREATE TABLE changed (id int, v varchar(10), n int, w text);
INSERT INTO changed SELECT i, 'v' || i % 8, i, 'w' FROM generate_series(1, 400) i;
VACUUM (FREEZE, ANALYZE) changed;
SELECT check_query('SELECT v, count(*), sum(n), min(w) FROM changed GROUP BY v');
ALTER TABLE changed ALTER v TYPE varchar(40), ALTER w TYPE varchar;
SELECT check_query('SELECT v, count(*), sum(n), min(w) FROM changed GROUP BY v');
ALTER TABLE changed ALTER n TYPE int8;
SELECT check_query('SELECT v, count(*), sum(n), min(w) FROM changed GROUP BY v');
ALTER TABLE changed DROP n, ADD n int DEFAULT 3;
SELECT check_query('SELECT v, count(*), sum(n), min(w) FROM changed GROUP BY v');
ALTER TABLE changed ALTER v TYPE text COLLATE "C", SET (fillfactor = 50);
SELECT check_query('SELECT min(v), max(v) FROM changed');
VACUUM FULL changed;
SELECT check_query('SELECT v, count(*), sum(n), min(w) FROM changed GROUP BY v');
TRUNCATE changed;
SELECT check_query('SELECT v, count(*), sum(n), min(w) FROM changed GROUP BY v');

-- what is not an ordinary table: temporary, unlogged, materialised, partitioned, inherited, system
CREATE TEMP TABLE temporary AS SELECT i AS id, i % 3 AS g FROM generate_series(1, 300) i;
CREATE UNLOGGED TABLE unlogged AS SELECT i AS id, i % 3 AS g FROM generate_series(1, 300) i;
CREATE MATERIALIZED VIEW matview AS SELECT i AS id, i % 3 AS g FROM generate_series(1, 300) i;
CREATE TABLE parted (id int, g int) PARTITION BY RANGE (id);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (150);
CREATE TABLE parted2 (g int, extra text, id int);
ALTER TABLE parted2 DROP extra;
ALTER TABLE parted ATTACH PARTITION parted2 FOR VALUES FROM (150) TO (1000);
INSERT INTO parted SELECT i, i % 3 FROM generate_series(1, 300) i;
CREATE TABLE parent (id int, g int);
CREATE TABLE child (more int) INHERITS (parent);
INSERT INTO parent SELECT i, i % 3 FROM generate_series(1, 100) i;
INSERT INTO child SELECT i, i % 3, 1 FROM generate_series(1, 100) i;
SELECT check_matrix('SELECT g, count(*), sum(id) FROM %s GROUP BY g', '{temporary,unlogged,matview,parted,parted1,parted2,parent,child,"ONLY parent","parted TABLESAMPLE SYSTEM (100)"}', expect => 'any');
VACUUM (FREEZE, ANALYZE) unlogged, matview, parted, parent, child;
SELECT check_matrix('SELECT g, count(*), sum(id) FROM %s GROUP BY g', '{unlogged,matview,parted,parted1,parted2,parent,child,"ONLY parent","parted1 TABLESAMPLE SYSTEM (50) REPEATABLE (3)"}', expect => 'any');
SET enable_partitionwise_aggregate = on;
SET enable_partitionwise_join = on;
SELECT check_query('SELECT id % 5, count(*), sum(g) FROM parted GROUP BY id % 5 HAVING count(*) > 2', 'any');
SELECT check_query('SELECT id, count(*), sum(g) FROM parted GROUP BY id HAVING sum(g) > 0', 'any');
SELECT check_query('SELECT count(*), sum(a.g) FROM parted a JOIN parted b ON a.id = b.id', 'any');
SELECT check_query('SELECT relkind, count(*) FROM pg_class WHERE relname LIKE ''pg_c%'' GROUP BY relkind', 'any');
SELECT check_query('SELECT g, count(*) FROM parted1 WHERE ctid < ''(0,50)'' GROUP BY g', 'cpu');
SELECT check_query('SELECT tableoid::regclass::text, count(*) FROM parted1 GROUP BY 1', 'any');
