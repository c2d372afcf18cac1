-- Hundreds of small partitions as one source, executed again and again by the same prepared statement: more of them than the device is
-- asked for at once. Between the executions rows come and go, and partitions; what the session has seen of sizes and map pages before
-- holds only while nothing was written.
CREATE SCHEMA many;
SET client_min_messages = warning;
SET search_path = many, public;
CREATE TABLE days (day int NOT NULL, id int NOT NULL, n numeric(10,2), t text) PARTITION BY RANGE (day);
DO $$
BEGIN
    FOR i IN 0 .. 529 LOOP
        IF i % 50 = 7 THEN -- the columns in another order, and a dropped one
            EXECUTE format('CREATE TABLE days_%s (t text, gone int, n numeric(10,2), id int NOT NULL, day int NOT NULL) WITH (autovacuum_enabled = off)', i);
            EXECUTE format('ALTER TABLE days_%s DROP gone', i);
            EXECUTE format('ALTER TABLE days ATTACH PARTITION days_%s FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
        ELSE
            EXECUTE format('CREATE TABLE days_%s PARTITION OF days FOR VALUES FROM (%s) TO (%s) WITH (autovacuum_enabled = off)', i, i, i + 1);
        END IF;
    END LOOP;
END $$;
-- (every tenth partition is empty)
INSERT INTO days SELECT i % 530, i, i % 1000 / 8.0, 'text ' || i % 17 FROM generate_series(1, 20000) i WHERE i % 10 <> 3;
CREATE TABLE dim AS SELECT i AS day, 'name ' || i % 5 AS name FROM generate_series(0, 600) i;
VACUUM (ANALYZE) days;
VACUUM (ANALYZE) dim;

SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;
PREPARE whole AS SELECT count(*), sum(id), sum(n), min(t), max(t) FROM days;
PREPARE joined AS SELECT name, count(*), sum(n) FROM days JOIN dim USING (day) WHERE day < 500 GROUP BY name ORDER BY name;
\set look 'EXECUTE whole; EXECUTE joined;'
SET gpuscan.offload = force;
SELECT plan_of('EXECUTE whole'), plan_of('EXECUTE joined');
:look
:look
-- a row into an empty partition, rows that make one longer, and of another session's transaction nothing before it commits
INSERT INTO days VALUES (13, 1000001, 1, 'first');
:look
INSERT INTO days SELECT 27, i, 2, 'long ' || i % 3 FROM generate_series(2000001, 2001000) i;
:look
VACUUM days_27;
:look
-- this transaction's own
BEGIN;
INSERT INTO days SELECT 33, i, 3, 'own' FROM generate_series(3000001, 3000500) i;
DELETE FROM days WHERE day = 44;
:look
ROLLBACK;
:look
BEGIN;
SAVEPOINT s;
UPDATE days SET day = 103, t = 'moved' WHERE day = 27 AND id < 2000100;
:look
RELEASE s;
COMMIT;
:look
-- emptied, in the files it had and in others
DELETE FROM days WHERE day = 103;
VACUUM days_103;
:look
TRUNCATE days_50, days_51;
:look
-- detached, dropped, attached in another shape, split
ALTER TABLE days DETACH PARTITION days_60;
:look
ALTER TABLE days ATTACH PARTITION days_60 FOR VALUES FROM (60) TO (61);
:look
DROP TABLE days_61, days_62;
:look
CREATE TABLE days_61 (t text, id int NOT NULL, day int NOT NULL, n numeric(10,2));
INSERT INTO days_61 SELECT 'new ' || i % 4, i, 61, i / 4.0 FROM generate_series(4000001, 4000300) i;
ALTER TABLE days ATTACH PARTITION days_61 FOR VALUES FROM (61) TO (62);
:look
BEGIN;
DROP TABLE days_70;
CREATE TABLE days_70 PARTITION OF days FOR VALUES FROM (70) TO (71);
INSERT INTO days VALUES (70, 5000001, 5, 'made anew');
:look
ROLLBACK;
:look
CREATE UNLOGGED TABLE days_530 PARTITION OF days FOR VALUES FROM (530) TO (531);
INSERT INTO days VALUES (530, 1, 1, 'unlogged');
:look
INSERT INTO days SELECT 530, i, 2, 'unlogged' FROM generate_series(2, 400) i;
:look
-- everything else that partitions may do to the plans of one statement
SELECT check_matrix('SELECT %s', ARRAY['t, count(*), sum(n) FROM days GROUP BY t', 'day % 7, count(*), max(id) FROM days WHERE day BETWEEN 200 AND 229 GROUP BY 1', 'name, t, count(*) FROM days JOIN dim USING (day) GROUP BY 1, 2', 'count(*), sum(d.n) FROM dim JOIN days d ON d.id = dim.day',
    'id, t FROM days WHERE id % 4999 = 0', 'count(*), count(d.id) FROM dim LEFT JOIN days d USING (day)'], expect => 'any');
SET client_min_messages = warning;
DROP SCHEMA many CASCADE;
