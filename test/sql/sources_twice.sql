-- A subquery that is a source of a device's join becomes a plan twice, as the source and as a part of the fallback. What a device
-- does in it must be the same both times: the order of its rows, with directions, and the children of a partitioned table.
SET gpuscan.offload = force;
CREATE TABLE st (id int, a int, x float8, s text) WITH (autovacuum_enabled = off);
INSERT INTO st SELECT i, i % 100, i * 0.5, i::text FROM generate_series(1, 5000) i;
CREATE TABLE st_parts (id int, s text) PARTITION BY HASH (id);
SELECT format('CREATE TABLE st_part%s PARTITION OF st_parts FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i)
FROM generate_series(0, 7) i \gexec
INSERT INTO st_parts SELECT i, i::text FROM generate_series(1, 5000) i;
VACUUM ANALYZE st, st_parts;
CREATE FUNCTION st_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ '(Row|Group) Order' OR line ~ 'Sort Key' THEN
            RETURN NEXT trim(line);
        END IF;
    END LOOP;
END $$;

SELECT * FROM st_lines('SELECT sum(o.id) FROM st o JOIN (SELECT a, x FROM st ORDER BY a, x DESC LIMIT 50) q USING (a, x)');
SELECT sum(o.id) FROM st o JOIN (SELECT a, x FROM st ORDER BY a, x DESC LIMIT 50) q USING (a, x);
SET gpuscan.offload = off;
SELECT sum(o.id) FROM st o JOIN (SELECT a, x FROM st ORDER BY a, x DESC LIMIT 50) q USING (a, x);
SET gpuscan.offload = force;
SELECT sum(q.x) FROM (SELECT a, x, row_number() OVER (PARTITION BY a ORDER BY x DESC NULLS LAST) rn FROM st) q
    JOIN st u ON u.id = q.a WHERE rn < 2;
SET gpuscan.offload = off;
SELECT sum(q.x) FROM (SELECT a, x, row_number() OVER (PARTITION BY a ORDER BY x DESC NULLS LAST) rn FROM st) q
    JOIN st u ON u.id = q.a WHERE rn < 2;
SET gpuscan.offload = force;
SELECT count(*) FROM (SELECT 1 FROM st_lines('SELECT count(*), max(q.c)
    FROM (SELECT id, min(md5(s)) c FROM st_parts WHERE id < 3000 GROUP BY id) q JOIN st t ON t.id = q.id')) l;
SELECT count(*), max(q.c) FROM (SELECT id, min(md5(s)) c FROM st_parts WHERE id < 3000 GROUP BY id) q
    JOIN st t ON t.id = q.id;
-- Where a subquery can be planned once only (the assertions of 17 and 18 say so of ROLLUP), the join is PostgreSQL's.
SELECT count(*), sum(q.x), sum(q.g) FROM (SELECT a, id % 7 AS b, sum(x) x, GROUPING(id % 7) g FROM st GROUP BY ROLLUP(a, id % 7)) q
    JOIN st o ON o.id = q.a;
SELECT refusals('SELECT count(*), sum(q.x), sum(q.g) FROM (SELECT a, id % 7 AS b, sum(x) x, GROUPING(id % 7) g FROM st GROUP BY ROLLUP(a, id % 7)) q
    JOIN st o ON o.id = q.a');
SELECT count(*), sum(q.x) FROM (SELECT a, sum(x) x FROM st GROUP BY ROLLUP(a) UNION ALL SELECT a, min(x) x FROM st GROUP BY a) q
    JOIN st o ON o.id = q.a;
SELECT refusals('SELECT count(*), sum(q.x) FROM (SELECT a, sum(x) x FROM st GROUP BY ROLLUP(a) UNION ALL SELECT a, min(x) x FROM st GROUP BY a) q
    JOIN st o ON o.id = q.a');
SET gpuscan.enable_decorrelation = off;
SELECT count(*), sum(q.x) FROM (SELECT DISTINCT ON (a) a, x FROM st
    WHERE EXISTS (SELECT FROM st_parts p WHERE p.id = st.id * 2) OR a < 2 ORDER BY a, x DESC) q JOIN st o ON o.id = q.a;
SELECT refusals('SELECT count(*), sum(q.x) FROM (SELECT DISTINCT ON (a) a, x FROM st
    WHERE EXISTS (SELECT FROM st_parts p WHERE p.id = st.id * 2) OR a < 2 ORDER BY a, x DESC) q JOIN st o ON o.id = q.a');
RESET gpuscan.enable_decorrelation;
-- (of a table that no device reads, so that the ends of an index are what is chosen)
SELECT count(*), sum(o.x) FROM st o JOIN (SELECT max(oid)::int8 % 1 + 5 AS a, min(oid) AS n FROM pg_class OFFSET 0) q ON o.id = q.a AND q.n > 0;
SELECT refusals('SELECT count(*), sum(o.x) FROM st o JOIN (SELECT max(oid)::int8 % 1 + 5 AS a, min(oid) AS n FROM pg_class OFFSET 0) q ON o.id = q.a AND q.n > 0');
-- Nor is a subquery executed twice, or on trial, that locks rows.
CREATE TABLE st_jobs AS SELECT i AS a FROM generate_series(1, 20) i;
SELECT count(*) FROM st o JOIN (SELECT a FROM st_jobs WHERE a < 9 FOR UPDATE) q ON o.id = q.a;
SELECT refusals('SELECT count(*) FROM st o JOIN (SELECT a FROM st_jobs WHERE a < 9 FOR UPDATE) q ON o.id = q.a');
SELECT count(*) FROM st WHERE id IN (SELECT a FROM st_jobs WHERE a < 5 FOR SHARE);
SELECT refusals('SELECT count(*) FROM st WHERE id IN (SELECT a FROM st_jobs WHERE a < 5 FOR SHARE)');
SELECT count(*) FROM st WHERE id < (SELECT a FROM st_jobs WHERE a = 5 FOR UPDATE);
SELECT refusals('SELECT count(*) FROM st WHERE id < (SELECT a FROM st_jobs WHERE a = 5 FOR UPDATE)');
SELECT count(*) FROM st WHERE id < (SELECT max(a) FROM (SELECT a FROM st_jobs WHERE a < 5 FOR NO KEY UPDATE) q);
SELECT refusals('SELECT count(*) FROM st WHERE id < (SELECT max(a) FROM (SELECT a FROM st_jobs WHERE a < 5 FOR NO KEY UPDATE) q)');
WITH c AS (SELECT a FROM st_jobs WHERE a < 9 FOR KEY SHARE) SELECT count(*) FROM st JOIN c ON st.id = c.a;
SELECT refusals('WITH c AS (SELECT a FROM st_jobs WHERE a < 9 FOR KEY SHARE) SELECT count(*) FROM st JOIN c ON st.id = c.a');
WITH c AS (SELECT a FROM st_jobs WHERE a < 9 FOR UPDATE) SELECT count(*) FROM st WHERE id < (SELECT max(a) FROM c);
SELECT refusals('WITH c AS (SELECT a FROM st_jobs WHERE a < 9 FOR UPDATE) SELECT count(*) FROM st WHERE id < (SELECT max(a) FROM c)');
CREATE VIEW st_locked AS SELECT a FROM st_jobs WHERE a < 9 FOR UPDATE;
SELECT count(*) FROM (SELECT * FROM st_locked UNION ALL SELECT * FROM st_jobs) q JOIN st ON st.id = q.a;
SELECT refusals('SELECT count(*) FROM (SELECT * FROM st_locked UNION ALL SELECT * FROM st_jobs) q JOIN st ON st.id = q.a');
DROP TABLE st_jobs CASCADE;
-- (An index's end is an init plan.)
CREATE INDEX st_x ON st (x);
SELECT count(*), sum(q.x) FROM (SELECT max(x) x, 5 a FROM st) q JOIN st o ON o.id = q.a;
SET gpuscan.offload = off;
SELECT count(*), sum(q.x), sum(q.g) FROM (SELECT a, id % 7 AS b, sum(x) x, GROUPING(id % 7) g FROM st GROUP BY ROLLUP(a, id % 7)) q
    JOIN st o ON o.id = q.a;
SELECT count(*), sum(q.x) FROM (SELECT a, sum(x) x FROM st GROUP BY ROLLUP(a) UNION ALL SELECT a, min(x) x FROM st GROUP BY a) q
    JOIN st o ON o.id = q.a;
SELECT count(*), sum(q.x) FROM (SELECT DISTINCT ON (a) a, x FROM st
    WHERE EXISTS (SELECT FROM st_parts p WHERE p.id = st.id * 2) OR a < 2 ORDER BY a, x DESC) q JOIN st o ON o.id = q.a;
SELECT count(*), sum(q.x) FROM (SELECT max(x) x, 5 a FROM st) q JOIN st o ON o.id = q.a;
DROP FUNCTION st_lines;
DROP TABLE st, st_parts;
