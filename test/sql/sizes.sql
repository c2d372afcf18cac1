-- Numbers of rows around the sizes of warps, vectors and pages; tables that VACUUM never saw, saw in part, or saw before
-- a writer came; rows deleted, updated, aborted; the answer before and after the columns are cached.
CREATE SCHEMA sizes;
SET search_path = sizes, public;
CREATE FUNCTION sizes_check(n int) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(v, ', ') FROM (SELECT check_query(q) AS v FROM unnest(ARRAY[
        'SELECT count(*), sum(id), sum(n), min(t), max(t) FROM s' || n, 'SELECT g, count(*), sum(id) FROM s' || n || ' WHERE id % 3 <> 0 GROUP BY g',
        'SELECT count(*), sum(a.id) FROM s' || n || ' a JOIN s' || n || ' b ON a.id = b.id', 'SELECT t, count(*) FROM s' || n || ' GROUP BY t']) q) x
$$;
SELECT format('CREATE TABLE s%1$s AS SELECT i AS id, i %% 7 AS g, (i / 4.0)::numeric(9,2) AS n, ''t'' || i %% 40 AS t FROM generate_series(1, %1$s) i', n) FROM unnest('{0,1,31,32,33,127,128,129,1023,1024,1025,4097}'::int[]) n \gexec
SELECT n, sizes_check(n) FROM unnest('{0,1,31,32,33,127,128,129,1023,1024,1025,4097}'::int[]) n;
SELECT 'VACUUM (FREEZE, ANALYZE) s' || n FROM unnest('{0,1,31,32,33,127,128,129,1023,1024,1025,4097}'::int[]) n \gexec
SELECT n, sizes_check(n) FROM unnest('{0,1,31,32,33,127,128,129,1023,1024,1025,4097}'::int[]) n;
SELECT n, sizes_check(n) FROM unnest('{0,1,33,1025,4097}'::int[]) n;

-- a table in every state: all visible, in part, with holes, with dead and aborted rows
CREATE TABLE life (id int, g int, n numeric(10,2), t text) WITH (autovacuum_enabled = off, fillfactor = 80);
CREATE FUNCTION life_check() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT check_query(q) FROM unnest(ARRAY['SELECT count(*), sum(id), sum(n), min(t), max(t) FROM life', 'SELECT g, count(*), sum(n) FROM life GROUP BY g', 'SELECT count(*), sum(a.n) FROM life a JOIN life b ON a.id = b.id WHERE b.g = 3']) q
$$;
SELECT life_check();
INSERT INTO life SELECT i, i % 9, i / 4.0, 't' || i % 30 FROM generate_series(1, 5000) i;
SELECT life_check();
VACUUM life;
SELECT life_check();
SELECT life_check();
INSERT INTO life SELECT i, i % 9, i / 4.0, 'new ' || i % 30 FROM generate_series(5001, 6500) i;
SELECT life_check();
DELETE FROM life WHERE id % 50 = 3;
UPDATE life SET n = n + 1, t = 'updated' WHERE id % 70 = 5;
SELECT life_check();
BEGIN;
DELETE FROM life WHERE id < 1000;
SAVEPOINT one;
UPDATE life SET g = 100 WHERE id % 3 = 0;
SELECT life_check();
ROLLBACK TO one;
SELECT life_check();
INSERT INTO life SELECT -i, 0, 0, 'inside' FROM generate_series(1, 20) i;
SELECT life_check();
ROLLBACK;
SELECT life_check();
VACUUM life;
SELECT life_check();
SELECT life_check();
DELETE FROM life WHERE id BETWEEN 2000 AND 4000;
VACUUM (FREEZE) life;
SELECT life_check();
DELETE FROM life WHERE id > 3000;
VACUUM life;
SELECT life_check();
INSERT INTO life SELECT i, i % 9, i / 4.0, 'again' FROM generate_series(1, 3000) i;
SELECT life_check();
SELECT count(*) FROM (SELECT 1 FROM life WHERE id < 200 FOR KEY SHARE) locked;
SELECT life_check();
TRUNCATE life;
SELECT life_check();
INSERT INTO life VALUES (1, 1, 1, 'one');
SELECT life_check();
DELETE FROM life;
SELECT life_check();
VACUUM life;
SELECT life_check();
-- nothing can be cached of a table made in this transaction, and nothing of it outlives it
BEGIN;
CREATE TABLE fresh (id int, t text);
COPY fresh FROM STDIN (FREEZE);
1	a
2	b
3	a
\.
SELECT check_query('SELECT t, count(*), sum(id) FROM fresh GROUP BY t');
INSERT INTO fresh VALUES (4, 'b');
SELECT check_query('SELECT t, count(*), sum(id) FROM fresh GROUP BY t');
COMMIT;
SELECT check_query('SELECT t, count(*), sum(id) FROM fresh GROUP BY t');
-- commands that read and write at once see what PostgreSQL lets them see
BEGIN;
SET LOCAL gpuscan.offload = force;
INSERT INTO fresh SELECT sum(id), 'sum' FROM fresh;
WITH gone AS (DELETE FROM fresh WHERE id = 1 RETURNING id) SELECT (SELECT count(*) FROM fresh), (SELECT count(*) FROM gone);
UPDATE fresh SET id = (SELECT count(*) FROM fresh) WHERE t = 'sum';
CREATE TABLE sums AS SELECT t, count(*) AS c, sum(id) AS s FROM fresh GROUP BY t;
SELECT * FROM sums ORDER BY t;
ROLLBACK;

-- rows that no cache holds, in several passes (64 MB of columns each); texts that come up after the first one
CREATE TABLE passes (id int, t text) WITH (autovacuum_enabled = off);
INSERT INTO passes SELECT i, (CASE WHEN i < 160000 THEN 'a' ELSE 'b' END) || i % 10 FROM generate_series(1, 200000) i;
DO $$ BEGIN
    FOR i IN 1..28 LOOP
        EXECUTE format('ALTER TABLE passes ADD n%s numeric(25,0) DEFAULT %s', i, i);
    END LOOP;
END $$;
SELECT check_query('SELECT t, ' || (SELECT string_agg('sum(n' || i || ')', ', ') FROM generate_series(1, 28) i) || ' FROM passes WHERE upper(t) LIKE ''%1'' GROUP BY t');
SELECT check_query('SELECT count(*), ' || (SELECT string_agg('sum(n' || i || ')', ', ') FROM generate_series(1, 28) i) || ' FROM passes WHERE upper(t) = ''B1''');
