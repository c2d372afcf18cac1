-- Tables with partitions or children as one source of the device: as the main one and as build sides, whatever pruning
-- leaves of them, with columns in another order, dropped columns and texts in each leaf.
CREATE SCHEMA partitions;
SET client_min_messages = warning;
SET search_path = partitions, public;

-- ranges; the second leaf has the columns in another order and a dropped one, the third was extended by a fast default
CREATE TABLE ranged (id int, k int NOT NULL, t text, n numeric(10,2), d date, c char(4)) PARTITION BY RANGE (k);
CREATE TABLE ranged_1 PARTITION OF ranged FOR VALUES FROM (0) TO (10);
CREATE TABLE ranged_2 (n numeric(10,2), gone int, t text, c char(4), k int NOT NULL, d date, own text, id int);
ALTER TABLE ranged_2 DROP gone, DROP own;
ALTER TABLE ranged ATTACH PARTITION ranged_2 FOR VALUES FROM (10) TO (20);
CREATE TABLE ranged_3 PARTITION OF ranged FOR VALUES FROM (20) TO (30);
CREATE TABLE ranged_empty PARTITION OF ranged FOR VALUES FROM (30) TO (40);
CREATE TABLE ranged_rest PARTITION OF ranged DEFAULT;
INSERT INTO ranged SELECT i, i % 45, nullif('text ' || i % 13, 'text 7'), nullif(i % 100, 3) / 4.0, date '2020-01-01' + i % 400, 'c' || i % 5 FROM generate_series(1, 4000) i;
ALTER TABLE ranged ADD late int DEFAULT 7, ADD late_text text DEFAULT 'late';
UPDATE ranged SET late = id % 4, late_text = 'text ' || id % 3 WHERE k IN (3, 25) AND id % 2 = 0;
-- lists of texts, and below one of them hashes, ranges, and a default
CREATE TABLE listed (id int, region text, v int8, x float8) PARTITION BY LIST (region);
CREATE TABLE listed_a PARTITION OF listed FOR VALUES IN ('a', NULL) PARTITION BY HASH (id);
CREATE TABLE listed_a0 PARTITION OF listed_a FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE listed_a1 PARTITION OF listed_a FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE listed_a2 (x float8, v int8, id int, region text);
ALTER TABLE listed_a ATTACH PARTITION listed_a2 FOR VALUES WITH (MODULUS 3, REMAINDER 2);
CREATE TABLE listed_b PARTITION OF listed FOR VALUES IN ('b', 'c') PARTITION BY RANGE (v, id);
CREATE TABLE listed_b1 PARTITION OF listed_b FOR VALUES FROM (MINVALUE, MINVALUE) TO (500, 100);
CREATE TABLE listed_b2 PARTITION OF listed_b DEFAULT;
CREATE TABLE listed_rest PARTITION OF listed DEFAULT;
INSERT INTO listed SELECT i, (ARRAY['a', 'b', 'c', 'd', 'e', NULL])[i % 6 + 1], i * 3, i / 8.0 FROM generate_series(1, 3000) i;
-- inheritance: the parent holds rows itself; a child of a child, and one with two parents
CREATE TABLE parent (id int, g int, s text);
CREATE TABLE child (more text, h int) INHERITS (parent);
CREATE TABLE other_parent (h int, s text);
CREATE TABLE grandchild (last int) INHERITS (child);
CREATE TABLE both_child () INHERITS (other_parent, parent);
INSERT INTO parent SELECT i, i % 4, 's' || i % 6 FROM generate_series(1, 700) i;
INSERT INTO child SELECT i, i % 5, 's' || i % 7, 'more', i % 3 FROM generate_series(701, 1500) i;
INSERT INTO grandchild SELECT i, i % 6, 's' || i % 8, 'more', i % 3, i FROM generate_series(1501, 2000) i;
INSERT INTO both_child SELECT i % 3, 's' || i % 9, i, i % 7 FROM generate_series(2001, 2300) i;
CREATE TABLE plain (k int, name text, w int);
INSERT INTO plain SELECT i, 'text ' || i % 13, i % 3 FROM generate_series(0, 60) i;
VACUUM (FREEZE, ANALYZE);

-- one node above the parent, with the tables that planning has left
SET gpuscan.offload = force;
SET gpuscan.device = host;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT t, count(*), sum(n) FROM ranged WHERE n > 3 GROUP BY t;
EXPLAIN (COSTS OFF) SELECT count(*) FROM ranged WHERE k BETWEEN 5 AND 15;
EXPLAIN (COSTS OFF) SELECT r.k, sum(v) FROM ranged r JOIN listed l USING (id) WHERE region IN ('b', 'c') AND k < 10 GROUP BY r.k;
EXPLAIN (COSTS OFF) SELECT g, count(*) FROM parent GROUP BY g;
EXPLAIN (COSTS OFF) SELECT g, count(*) FROM ONLY parent GROUP BY g;
EXPLAIN (COSTS OFF) SELECT * FROM ranged WHERE id < 3;
RESET gpuscan.offload;

-- twice: by row and decoded, then cached
CREATE FUNCTION check_all() RETURNS SETOF text LANGUAGE plpgsql SET search_path = partitions, public AS $$
BEGIN
    RETURN QUERY SELECT check_matrix('SELECT %s', ARRAY['count(*), count(t), sum(id), sum(n), min(n), max(d), min(t), max(t) FROM ranged', 't, count(*), sum(n) FROM ranged GROUP BY t', 'k, t, c, count(*), avg(n) FROM ranged GROUP BY k, t, c',
        'late, late_text, count(*), sum(late) FROM ranged GROUP BY 1, 2', 't, count(*) FROM ranged WHERE t LIKE ''%1%'' AND upper(t) <> ''TEXT 1'' GROUP BY 1', 'count(*), sum(id), max(late_text) FROM ranged WHERE late_text = ''late''', 'c, min(t), max(c) FROM ranged WHERE c > ''c1'' GROUP BY c',
        'region, count(*), sum(v), min(x), max(x) FROM listed GROUP BY region', 'region, id % 3, count(*), sum(v) FROM listed GROUP BY 1, 2', 'count(*), max(region) FROM listed', 'count(*), count(region), min(id) FROM listed_a', 'region, sum(v) FROM listed_b GROUP BY region',
        'g, s, count(*), sum(id) FROM parent GROUP BY g, s', 'h, more, s, count(*) FROM child GROUP BY h, more, s', 'count(*), max(s) FROM other_parent', 'count(*), min(s), max(id) FROM both_child', 'count(*), max(s) FROM ONLY parent', 'g, s, count(*) FROM ONLY child GROUP BY 1, 2']);
    -- pruned by constants, to several leaves, one, the empty one, none
    RETURN QUERY SELECT check_matrix('SELECT count(*), sum(id), max(t) FROM ranged WHERE %s', ARRAY['k < 10', 'k = 12', 'k BETWEEN 8 AND 22', 'k IN (1, 11, 21)', 'k >= 20', 'k > 40', 'k IS NOT NULL', 'k < 15 OR n > 20', 'k <> 5 AND t = ''text 2''']);
    RETURN QUERY SELECT check_matrix('SELECT count(*), sum(id), max(t) FROM ranged WHERE %s', ARRAY['k = 33', 'k BETWEEN 31 AND 35', 'k < 0 AND k > 5', 'k IS NULL'], expect => 'any');
    RETURN QUERY SELECT check_matrix('SELECT region, count(*), sum(v), max(x) FROM listed WHERE %s GROUP BY region', ARRAY['region = ''a''', 'region IS NULL', 'region IN (''b'', ''e'')', 'region > ''b''', 'id = 17', 'region = ''a'' AND id = 12', 'v < 400', 'region = ''c'' AND v < 400', 'region = ''zz''', 'x > 300']);
    -- joins: parents on either side, with themselves, with a plain table, by texts of the dictionary's codes
    RETURN QUERY SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(r.id), sum(v), max(region), min(t) FROM ranged r JOIN listed l ON r.id = l.id', 't, region, count(*), sum(n) FROM ranged r JOIN listed l USING (id) WHERE k < 25 GROUP BY 1, 2',
        'w, count(*), sum(n), max(t) FROM ranged JOIN plain USING (k) GROUP BY w', 'name, count(*), sum(w), min(region) FROM plain JOIN listed ON plain.k = listed.id GROUP BY name', 'count(*), sum(a.n), max(b.t) FROM ranged a JOIN ranged b ON a.id = b.k',
        'p.s, r.t, count(*) FROM parent p JOIN ranged r ON p.id = r.id JOIN plain ON plain.k = p.g WHERE plain.w < 2 GROUP BY 1, 2', 'count(*), sum(x.id) FROM ONLY parent x JOIN parent y ON x.g = y.id', 'count(*), sum(n) FROM ranged r JOIN listed l ON r.id = l.id AND r.k < l.v']);
    -- rows
    RETURN QUERY SELECT check_matrix('SELECT %s', ARRAY['* FROM ranged', 'id, t, late_text FROM ranged WHERE k < 12 AND n > 20', 'id, region FROM listed WHERE v > 8000', '* FROM parent WHERE g = 3', 'r.id, t, region FROM ranged r JOIN listed l USING (id) WHERE r.id % 50 = 0', 'id, row_number() OVER (PARTITION BY region ORDER BY id) FROM listed WHERE id < 200', 'DISTINCT t FROM ranged', 't, string_agg(c, '','' ORDER BY id) FROM ranged WHERE id < 200 GROUP BY t']);
    -- outer and semi joins, subqueries, set operations, whole rows, system columns, samples: correct, wherever they run
    RETURN QUERY SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(v) FROM ranged r LEFT JOIN listed l ON r.id = l.id AND region = ''b''', 'count(*) FROM ranged r WHERE EXISTS (SELECT FROM listed l WHERE l.id = r.k)', 'count(*) FROM ranged WHERE k NOT IN (SELECT g FROM parent)', 'k, (SELECT sum(v) FROM listed l WHERE l.id = p.k) FROM plain p',
        'count(*), sum(id) FROM (SELECT id, t FROM ranged UNION ALL SELECT id, s FROM parent) u', 't, count(*) FROM (SELECT id, t FROM ranged UNION ALL SELECT id, region FROM listed UNION ALL SELECT k, name FROM plain) u WHERE id < 100 GROUP BY t', 'region FROM listed EXCEPT SELECT t FROM ranged',
        'tableoid::regclass::text, count(*) FROM ranged GROUP BY 1', 'ranged FROM ranged WHERE id < 5', 'ctid, id FROM listed WHERE id < 9', 'count(*) FROM ranged TABLESAMPLE SYSTEM (100)', 'count(*), sum(id) FROM listed TABLESAMPLE BERNOULLI (30) REPEATABLE (7)', 'max(k) FROM ranged', 'min(id), max(id) FROM parent'], expect => 'any');
END $$;
SELECT check_all();
SELECT check_all();
DELETE FROM ranged WHERE id % 17 = 0;
UPDATE listed SET region = 'd' WHERE id % 31 = 0;
UPDATE parent SET s = 'new ' || s WHERE id % 41 = 0;
INSERT INTO ranged SELECT i, i % 45, 'fresh ' || i, i FROM generate_series(5000, 5050) i;
SELECT check_all();
SET enable_partitionwise_aggregate = on;
SET enable_partitionwise_join = on;
SELECT check_all();
RESET enable_partitionwise_aggregate;
RESET enable_partitionwise_join;

-- parameters: custom plans are pruned when planned, generic ones when they start; a leaf that is pruned is not read
SELECT check_prepared('device', 'SELECT t, count(*), sum(n) FROM ranged WHERE k = $1 GROUP BY t', '(int)', '(3)', '(12)', '(25)', '(44)');
SELECT check_prepared('device', 'SELECT count(*), sum(n), max(t) FROM ranged WHERE k >= $1 AND k < $2', '(int, int)', '(0, 45)', '(12, 18)', '(9, 31)');
SELECT check_prepared('device', 'SELECT t, sum(v) FROM ranged r JOIN listed l USING (id) WHERE k < $1 AND l.id > $2 GROUP BY t', '(int, int)', '(10, 100)', '(30, 2000)');
SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(n) FROM ranged WHERE k = (SELECT max(w) FROM plain)', 'count(*), max(region) FROM listed WHERE id < (SELECT 500)', 'k, (SELECT count(*) FROM ranged r WHERE r.k = p.k) FROM plain p WHERE k < 50'], expect => 'any');
SET plan_cache_mode = force_generic_plan;
SET gpuscan.offload = force;
-- (parameters that no leaf can match, and NULL)
PREPARE by_key (int) AS SELECT count(*), sum(id), max(t) FROM ranged WHERE k = $1;
EXECUTE by_key(33);
EXECUTE by_key(NULL);
EXECUTE by_key(7);
-- the CPU plan has a fragment below the join, which has a CPU plan of its own, and only there the leaves are pruned
CREATE TABLE long (id int, k int NOT NULL, t text) PARTITION BY RANGE (k);
CREATE TABLE long_1 PARTITION OF long FOR VALUES FROM (0) TO (10);
CREATE TABLE long_2 PARTITION OF long FOR VALUES FROM (10) TO (20);
CREATE TABLE long_3 PARTITION OF long FOR VALUES FROM (20) TO (30);
INSERT INTO long SELECT i, i % 30, 'text ' || i % 7 FROM generate_series(1, 60000) i;
CREATE TABLE short AS SELECT i AS k FROM generate_series(0, 30, 4) i;
VACUUM (FREEZE, ANALYZE) long, short;
PREPARE nested (int) AS SELECT DISTINCT l.t, l.id % 3 AS r FROM long l WHERE l.k < $1 AND l.id % 100 = 7 AND NOT EXISTS (SELECT FROM short s WHERE coalesce(l.k, l.id) = 4 AND s.k = l.k) ORDER BY 1, 2;
PREPARE nested_sums (int) AS SELECT count(*), sum(l.id), max(l.t) FROM long l JOIN short s ON s.k = l.k WHERE l.k < $1 AND l.id % 100 < 7;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE nested(9);
EXECUTE nested(9);
EXECUTE nested(25);
EXECUTE nested_sums(9);
EXECUTE nested_sums(25);
DEALLOCATE nested;
DEALLOCATE nested_sums;
SET gpuscan.offload = off;
SELECT count(*) FROM (SELECT DISTINCT l.t, l.id % 3 AS r FROM long l WHERE l.k < 9 AND l.id % 100 = 7 AND NOT EXISTS (SELECT FROM short s WHERE coalesce(l.k, l.id) = 4 AND s.k = l.k)) x;
SELECT count(*), sum(l.id), max(l.t) FROM long l JOIN short s ON s.k = l.k WHERE l.k < 9 AND l.id % 100 < 7;
SELECT count(*), sum(l.id), max(l.t) FROM long l JOIN short s ON s.k = l.k WHERE l.k < 25 AND l.id % 100 < 7;
SET gpuscan.offload = force;
-- leaves that come and go, and columns
PREPARE whole AS SELECT count(*), sum(id), max(t), min(t) FROM ranged;
EXECUTE whole;
BEGIN;
ALTER TABLE ranged DETACH PARTITION ranged_1;
EXECUTE whole;
EXECUTE by_key(7);
ROLLBACK;
EXECUTE whole;
ALTER TABLE ranged DETACH PARTITION ranged_1;
CREATE TABLE ranged_new (t text, id int, c char(4), k int NOT NULL, d date, n numeric(10,2), late int, late_text text);
INSERT INTO ranged_new SELECT 'new ' || i % 4, i, 'c', i % 10, NULL, i FROM generate_series(1, 500) i;
VACUUM (FREEZE) ranged_new;
SELECT count(*), max(t) FROM ranged_new;
ALTER TABLE ranged ATTACH PARTITION ranged_new FOR VALUES FROM (0) TO (10);
EXECUTE whole;
EXECUTE by_key(7);
ALTER TABLE ranged RENAME t TO u;
ALTER TABLE ranged RENAME late_text TO t;
EXECUTE by_key(12);
SELECT max(u), max(t) FROM ranged;
SELECT max(u), max(t) FROM ranged_new;
ALTER TABLE ranged RENAME t TO late_text;
ALTER TABLE ranged RENAME u TO t;
ALTER TABLE both_child NO INHERIT parent;
SELECT check_query('SELECT s, count(*) FROM parent GROUP BY s');
ALTER TABLE both_child INHERIT parent;
SELECT check_query('SELECT s, count(*) FROM parent GROUP BY s');
RESET plan_cache_mode;
RESET gpuscan.offload;

-- DDL of the same session, while a cursor reads: a parent is not in use, nor is a table that PostgreSQL has proven to give no row
CREATE FUNCTION ddl_while(query text, ddl text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    rows refcursor;
    message text := 'done';
BEGIN
    OPEN rows FOR EXECUTE query;
    MOVE FORWARD 1 FROM rows;
    BEGIN
        EXECUTE ddl;
        MOVE FORWARD ALL FROM rows;
        RAISE EXCEPTION 'undo' USING ERRCODE = 'P0099';
    EXCEPTION
        WHEN SQLSTATE 'P0099' THEN NULL;
        WHEN OTHERS THEN message := SQLSTATE || ': ' || SQLERRM;
    END;
    CLOSE rows;
    RETURN message;
END $$;
CREATE TABLE unread AS SELECT i AS k FROM generate_series(1, 100) i;
CREATE TEMP TABLE ddl_tries AS SELECT query, ddl FROM
    (VALUES ('SELECT k % 5, count(*) FROM ranged GROUP BY 1'), ('SELECT * FROM ranged WHERE n > 1'),
            ('SELECT t.k, count(*), count(u.k) FROM ranged t LEFT JOIN unread u ON u.k = t.k AND false GROUP BY 1'),
            ('SELECT t.k, count(u.k) FROM unread t LEFT JOIN (ranged u JOIN listed l USING (id)) ON u.k = t.k AND false GROUP BY 1')) q (query),
    (VALUES ('ALTER TABLE ranged DETACH PARTITION ranged_3'), ('CREATE TABLE ranged_4 PARTITION OF ranged FOR VALUES FROM (100) TO (110)'),
            ('ALTER TABLE ranged ENABLE ROW LEVEL SECURITY'), ('CREATE INDEX ON ONLY ranged (k)'), ('ALTER TABLE ranged_1 ADD CHECK (k < 10)'),
            ('ALTER TABLE unread ADD CHECK (k > 0)')) d (ddl);
SET gpuscan.offload = force;
SELECT query, plan_of(query) FROM (SELECT DISTINCT query FROM ddl_tries) q ORDER BY 1;
CREATE TEMP TABLE with_device AS SELECT query, ddl, ddl_while(query, ddl) AS message FROM ddl_tries;
SET gpuscan.offload = off;
SELECT d.query, d.ddl, d.message, o.message FROM with_device d, LATERAL (SELECT ddl_while(d.query, d.ddl)) o (message) WHERE o.message <> d.message;
SELECT message, count(*) FROM with_device GROUP BY 1 ORDER BY 1;
RESET gpuscan.offload;
-- what is made of them
CREATE MATERIALIZED VIEW summary AS SELECT region, count(*) AS n, sum(v) AS v FROM listed GROUP BY region;
SET gpuscan.offload = force;
CREATE TABLE made AS SELECT t, count(*) AS n, sum(id) AS ids FROM ranged GROUP BY t;
SELECT sum(n) AS n, sum(ids) AS ids INTO made_into FROM made;
INSERT INTO made SELECT region, count(*), sum(id) FROM listed GROUP BY region;
INSERT INTO ranged (id, k, t) SELECT id + 10000, 26, region FROM listed WHERE id < 20;
REFRESH MATERIALIZED VIEW summary;
RESET gpuscan.offload;
SELECT count(*), sum(n), sum(ids) FROM made;
SELECT * FROM made_into;
SELECT check_matrix('SELECT %s', ARRAY['region, sum(n) FROM summary GROUP BY region', 't, sum(n), sum(ids) FROM made GROUP BY t', 'count(*), max(t) FROM ranged WHERE k = 26']);
CREATE FUNCTION of_region(r text) RETURNS TABLE (n int8, v numeric) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT count(*), sum(l.v) FROM partitions.listed l WHERE region = r;
END $$;
SELECT check_query('SELECT r, f.* FROM unnest(ARRAY[''a'', ''b'', ''c'', ''zz'']) r, of_region(r) f', 'any');
BEGIN;
SET LOCAL gpuscan.offload = force;
DECLARE ahead SCROLL CURSOR FOR SELECT region, count(*) FROM listed GROUP BY region ORDER BY region;
DECLARE held CURSOR WITH HOLD FOR SELECT id, t FROM ranged WHERE id < 6 ORDER BY id;
FETCH 3 FROM ahead;
DELETE FROM listed WHERE region = 'e';
FETCH BACKWARD 2 FROM ahead;
FETCH ABSOLUTE 6 FROM ahead;
COMMIT;
FETCH ALL FROM held;
CLOSE held;

-- row security and privileges are the parent's
CREATE ROLE gpuscan_partitions_reader;
GRANT USAGE ON SCHEMA partitions TO gpuscan_partitions_reader;
GRANT SELECT ON listed TO gpuscan_partitions_reader;
ALTER TABLE listed ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON listed USING (id % 2 = 0);
SET ROLE gpuscan_partitions_reader;
SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT region, count(*) FROM listed WHERE v > 100 GROUP BY region;
SELECT count(*), sum(id % 2) FROM listed;
SELECT count(*) FROM listed_a;
RESET gpuscan.offload;
RESET ROLE;
DROP SCHEMA partitions CASCADE;
DROP ROLE gpuscan_partitions_reader;
