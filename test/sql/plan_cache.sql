-- Plans of statements that a session sends again. What a plan relies on changes between its executions: each answer is PostgreSQL's
-- of that moment, and a plan is made anew where it has to be.
CREATE SCHEMA plan_cache;
CREATE SCHEMA plan_cache_other;
SET search_path = plan_cache, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE t (k int, g int, n numeric(12,2), s text) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, i % 7, i / 4.0, 's' || i % 5 FROM generate_series(1, 20000) i;
CREATE INDEX t_k ON t (k);
CREATE TABLE d (g int PRIMARY KEY, name text) WITH (autovacuum_enabled = off);
INSERT INTO d SELECT i, 'd' || i FROM generate_series(0, 6) i;
VACUUM (FREEZE, ANALYZE) t, d;

-- What each of so many executions was: planned, or with the plan of an earlier one; and its answer, with PostgreSQL's where that differs.
-- (To plan "k < 19990" is to ask the index for the largest k, which the statistics count.)
CREATE FUNCTION runs(query text, times int DEFAULT 4, value text DEFAULT NULL, number int DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
    expected text;
    before bigint;
    what text := '';
BEGIN
    SET LOCAL gpuscan.offload = off;
    EXECUTE query INTO expected USING value, number;
    SET LOCAL gpuscan.offload = force;
    FOR i IN 1 .. times LOOP
        before := pg_stat_get_xact_numscans('plan_cache.t_k'::regclass);
        EXECUTE query INTO answer USING value, number;
        what := what || CASE WHEN pg_stat_get_xact_numscans('plan_cache.t_k'::regclass) > before THEN 'planned ' ELSE 'kept ' END;
        IF answer IS DISTINCT FROM expected THEN
            RETURN format('DIFFERENT: %s, not %s (%s)', answer, expected, what);
        END IF;
    END LOOP;
    RETURN what || coalesce(answer, 'NULL');
END $$;
CREATE FUNCTION plans() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'gpuscan cached plan' $$;
\set q '\'SELECT format(\'\'%s %s\'\', count(*), sum(n)) FROM t JOIN d USING (g) WHERE k < 19990 AND name <> \'\'d3\'\'\''
SELECT runs(:q);
SELECT runs(:q, 2), plans();
SELECT ident FROM pg_backend_memory_contexts WHERE name = 'gpuscan cached plan';
-- by the protocol, too
SELECT sum(n) FROM t WHERE k < 100;
-- other settings, and the first ones again
SET work_mem = '5MB';
SELECT runs(:q);
RESET work_mem;
SELECT runs(:q);
SET application_name = 'another';
SELECT runs(:q);
RESET application_name;
SET gpuscan.plan_cache_size = 0;
SELECT runs(:q), plans();
RESET gpuscan.plan_cache_size;
SELECT runs(:q);
-- what catalogs tell
ANALYZE t;
SELECT runs(:q);
CREATE TABLE unrelated AS SELECT i FROM generate_series(1, 10) i;
ANALYZE unrelated;
SELECT runs(:q, 2);
ALTER TABLE d ADD CHECK (g >= 0);
SELECT runs(:q);
CREATE INDEX ON t (g);
SELECT runs(:q);
CREATE STATISTICS x ON g, k FROM t;
SELECT runs(:q);
BEGIN;
ALTER TABLE t ALTER n TYPE numeric(14,3);
SELECT runs(:q);
ROLLBACK;
SELECT runs(:q);
DROP TABLE d;
CREATE TABLE d AS SELECT i::int8 AS g, 'd' || i AS name FROM generate_series(0, 4) i;
SELECT runs(:q);
DISCARD PLANS;
SELECT plans();
SELECT runs(:q);
-- rows: few, many, none, all of them anew
INSERT INTO t SELECT i, i % 7, i, 'new' FROM generate_series(1, 10) i;
SELECT runs(:q);
INSERT INTO t SELECT i, i % 7, i, 'new' FROM generate_series(1, 9000) i;
SELECT runs(:q);
UPDATE t SET n = n + 1 WHERE k % 1000 = 0;
SELECT runs(:q);
VACUUM FULL t;
SELECT runs(:q);
DELETE FROM t WHERE k > 100;
SELECT runs(:q);
TRUNCATE t;
SELECT runs(:q);
INSERT INTO t SELECT i, i % 7, i / 4.0, 's' || i % 5 FROM generate_series(1, 20000) i;
VACUUM (FREEZE, ANALYZE) t;
SELECT runs(:q);
-- the same text means other tables
SET search_path = plan_cache_other, plan_cache, public;
SELECT runs(:q, 3);
CREATE TABLE plan_cache_other.d AS SELECT i AS g, 'x' || i AS name FROM generate_series(1, 2) i;
SELECT runs(:q);
SET search_path = plan_cache, public;
SELECT runs(:q, 3);
CREATE TEMP TABLE d AS SELECT 5 AS g, 'temporary' AS name;
SELECT runs(:q);
DROP TABLE pg_temp.d;
SELECT runs(:q, 3);
-- a view that is replaced, and a function that lies: each planning asks it
CREATE VIEW v AS SELECT * FROM t WHERE g < 3;
SELECT runs('SELECT sum(n) FROM v WHERE k < 19990');
CREATE OR REPLACE VIEW v AS SELECT * FROM t WHERE g < 2;
SELECT runs('SELECT sum(n) FROM v WHERE k < 19990');
CREATE TABLE rates (rate int);
INSERT INTO rates VALUES (3);
CREATE FUNCTION rate() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN (SELECT rate FROM rates); END $$;
SELECT runs('SELECT sum(n) FROM t WHERE k < 19990 AND g = rate()');
UPDATE rates SET rate = 4;
SELECT runs('SELECT sum(n) FROM t WHERE k < 19990 AND g = rate()');
CREATE TABLE checked (k int, v int, CHECK (v < rate() * 100));
CREATE TABLE checked_child (CHECK (k < rate())) INHERITS (checked);
UPDATE rates SET rate = 30000;
INSERT INTO checked_child SELECT i, i % 10 FROM generate_series(1, 20000) i;
SELECT runs('SELECT count(*) FROM checked, (SELECT 1 FROM t WHERE k < 19990 LIMIT 1) x WHERE checked.k > 100');
UPDATE rates SET rate = 50;
SELECT runs('SELECT count(*) FROM checked, (SELECT 1 FROM t WHERE k < 19990 LIMIT 1) x WHERE checked.k > 100');
-- row security, by role and by setting
CREATE ROLE regress_plan_cache_a;
CREATE ROLE regress_plan_cache_b;
GRANT USAGE ON SCHEMA plan_cache TO regress_plan_cache_a, regress_plan_cache_b;
GRANT SELECT ON t, d TO regress_plan_cache_a, regress_plan_cache_b;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY a ON t TO regress_plan_cache_a USING (g < 2);
CREATE POLICY b ON t TO regress_plan_cache_b USING (g = current_setting('plan_cache.g')::int);
SELECT runs(:q, 3);
SET ROLE regress_plan_cache_a;
SELECT runs(:q, 3);
SET ROLE regress_plan_cache_b;
SET plan_cache.g = 1;
SELECT runs(:q, 3);
SET plan_cache.g = 4;
SELECT runs(:q, 3);
RESET ROLE;
SELECT runs(:q, 3);
REVOKE SELECT ON d FROM regress_plan_cache_a;
SET ROLE regress_plan_cache_a;
SELECT runs(:q, 3);
RESET ROLE;
ALTER POLICY a ON t USING (g < 1);
GRANT SELECT ON d TO regress_plan_cache_a;
SET ROLE regress_plan_cache_a;
SELECT runs(:q, 3);
RESET ROLE;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
-- a function that planning has folded, and that its user may not call any more
BEGIN;
SET LOCAL gpuscan.offload = force;
REVOKE EXECUTE ON FUNCTION lower(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lower(text) TO regress_plan_cache_a;
GRANT regress_plan_cache_a TO regress_plan_cache_b;
SET LOCAL ROLE regress_plan_cache_b;
SELECT sum(n) FROM t WHERE s = lower('S1');
SELECT sum(n) FROM t WHERE s = lower('S1');
SELECT sum(n) FROM t WHERE s = lower('S1');
RESET ROLE;
REVOKE regress_plan_cache_a FROM regress_plan_cache_b;
SET LOCAL ROLE regress_plan_cache_b;
SELECT sum(n) FROM t WHERE s = lower('S1');
ROLLBACK;
-- partitions that come and go
CREATE TABLE p (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
INSERT INTO p SELECT i, i FROM generate_series(0, 99) i;
SELECT runs('SELECT count(*), sum(v) FROM p, (SELECT 1 FROM t WHERE k < 19990 LIMIT 1) x', 3);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200);
INSERT INTO p SELECT i, i FROM generate_series(100, 199) i;
SELECT runs('SELECT count(*) || '' '' || sum(v) FROM p, (SELECT 1 FROM t WHERE k < 19990 LIMIT 1) x', 3);
ALTER TABLE p DETACH PARTITION p1;
SELECT runs('SELECT count(*) || '' '' || sum(v) FROM p, (SELECT 1 FROM t WHERE k < 19990 LIMIT 1) x', 3);
DROP TABLE p2;
SELECT runs('SELECT count(*) || '' '' || sum(v) FROM p, (SELECT 1 FROM t WHERE k < 19990 LIMIT 1) x', 3);
-- page costs
SET gpuscan.random_read_page_cost = 3;
SELECT runs(:q, 3);
RESET gpuscan.random_read_page_cost;
SELECT runs(:q, 3);
-- what an immutable function of PostgreSQL's reads
CREATE TEXT SEARCH CONFIGURATION words (COPY = english);
SELECT runs('SELECT to_tsvector(''plan_cache.words'', ''the dogs'')::text || sum(n) FROM t WHERE k < 19990');
ALTER TEXT SEARCH CONFIGURATION words ALTER MAPPING FOR asciiword WITH simple;
SELECT runs('SELECT to_tsvector(''plan_cache.words'', ''the dogs'')::text || sum(n) FROM t WHERE k < 19990');
-- values of parameters
SELECT value, runs('SELECT sum(n) FROM t WHERE k < 19990 AND s = $1', 3, value) FROM unnest('{s1,s2,NULL,s1,s2,NULL,s}'::text[]) WITH ORDINALITY x(value, number) ORDER BY number;
SELECT runs('SELECT sum(n) FROM t WHERE k < 19990 AND s = $1 AND g < $2', 3, 's1', 4), runs('SELECT sum(n) FROM t WHERE k < 19990 AND s = $1 AND g < $2', 3, 's1', 5);
SET plan_cache_mode = force_custom_plan;
PREPARE custom(int) AS SELECT sum(n) FROM t WHERE k < 19990 AND g = $1;
EXECUTE custom(1);
EXECUTE custom(2);
EXECUTE custom(1);
EXECUTE custom(2);
EXECUTE custom(1);
SELECT count(*) AS kept FROM pg_backend_memory_contexts WHERE name = 'gpuscan cached plan' AND ident LIKE 'PREPARE custom%';
RESET plan_cache_mode;
-- a value that lies in a row's TOAST table, and is gone with it; and a whole row
CREATE TABLE large (v text);
ALTER TABLE large ALTER v SET STORAGE EXTERNAL;
CREATE FUNCTION ask() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
    m bigint;
BEGIN
    EXECUTE 'SELECT count(*) FROM t WHERE k < 19990 AND s <> $1' INTO n USING OLD.v;
    EXECUTE 'SELECT count(*) FROM t WHERE k < 19990 AND s <> ($1).v' INTO m USING OLD;
    RAISE WARNING '% %', n, m;
    RETURN OLD;
END $$;
CREATE TRIGGER ask BEFORE DELETE ON large FOR EACH ROW EXECUTE FUNCTION ask();
INSERT INTO large SELECT repeat('abc', 10000) FROM generate_series(1, 3);
DELETE FROM large;
TRUNCATE large;
INSERT INTO large SELECT repeat('abc', 10000) FROM generate_series(1, 3);
DELETE FROM large;
-- a setting's value is asked by each planning
SET plan_cache.k = 19000;
SELECT runs('SELECT sum(n) FROM t WHERE k < 19990 AND k > current_setting(''plan_cache.k'')::int');
SET plan_cache.k = 'many';
SELECT runs('SELECT sum(n) FROM t WHERE k < 19990 AND k > current_setting(''plan_cache.k'')::int');
-- an execution that falls back ends its statement's plan, and no other one: the next planning may know better
SELECT runs(:q, 3);
ALTER TABLE t ADD f float8;
UPDATE t SET f = CASE WHEN k % 2 = 0 THEN 0.0 ELSE -0.0 END;
VACUUM (FREEZE, ANALYZE) t;
SELECT runs(:q, 3);
SELECT runs('SELECT min(f) FROM t WHERE k < 19990');
SELECT runs(:q, 1);
-- more plans than there is room for
SET gpuscan.plan_cache_size = '200kB';
SELECT count(*) FILTER (WHERE answer LIKE '%DIFFERENT%') AS different FROM (SELECT runs(format('SELECT sum(n) FROM t JOIN d USING (g) WHERE k < 19990 AND t.g <> %s', i), 3) AS answer FROM generate_series(1, 80) i) x;
SELECT plans() BETWEEN 1 AND 12 AS bounded, sum(total_bytes) <= 200 * 1024 AS within FROM pg_backend_memory_contexts WHERE name = 'gpuscan cached plan';
RESET gpuscan.plan_cache_size;
DROP SCHEMA plan_cache, plan_cache_other CASCADE;
DROP ROLE regress_plan_cache_a, regress_plan_cache_b;
