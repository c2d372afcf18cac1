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

SELECT * FROM st_lines('SELECT sum(o.id) FROM st o JOIN (SELECT DISTINCT ON (a) a, x FROM st ORDER BY a, x DESC) q USING (a, x)');
SELECT sum(o.id) FROM st o JOIN (SELECT DISTINCT ON (a) a, x FROM st ORDER BY a, x DESC) q USING (a, x);
SET gpuscan.offload = off;
SELECT sum(o.id) FROM st o JOIN (SELECT DISTINCT ON (a) a, x FROM st ORDER BY a, x DESC) q USING (a, x);
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
DROP FUNCTION st_lines;
DROP TABLE st, st_parts;
