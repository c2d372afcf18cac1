-- Kinds of relations, and the statements that queries stand in. Temporary tables are read by the device for one query
-- at a time; unlogged ones and materialized views like tables; tables of other access methods, foreign tables (relations_foreign)
-- and catalogs feed joins by PostgreSQL's own plan.
CREATE SCHEMA relations;
SET client_min_messages = warning;
SET search_path = relations, public;
SET gpuscan.device = host;
CREATE TABLE fact AS SELECT i AS id, i % 40 AS k, nullif('text ' || i % 13, 'text 7') AS t, nullif(i % 100, 3) / 4.0::numeric(10,2) AS n, date '2024-01-01' + i % 400 AS d, i / 8.0::float8 AS x FROM generate_series(1, 6000) i;
ALTER TABLE fact ALTER n TYPE numeric(10,2);
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 7 AS name, i % 3 AS w FROM generate_series(0, 35) i;
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM fact;
CREATE UNLOGGED TABLE unlogged_empty (LIKE fact);
CREATE TEMP TABLE temporary AS SELECT * FROM fact;
CREATE TEMP TABLE temporary_dim AS SELECT * FROM dim;
CREATE MATERIALIZED VIEW matview AS SELECT id, k, t, n, d, x FROM fact WHERE id % 2 = 0;
CREATE TABLE parts (LIKE fact) PARTITION BY RANGE (id);
CREATE UNLOGGED TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (2000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (2000) TO (4000);
CREATE TABLE parts_rest PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM fact;
CREATE TEMP TABLE temporary_parts (LIKE fact) PARTITION BY LIST (k);
CREATE TEMP TABLE temporary_parts_1 PARTITION OF temporary_parts FOR VALUES IN (0, 1, 2, 3, 4, 5, 6);
CREATE TEMP TABLE temporary_parts_rest PARTITION OF temporary_parts DEFAULT;
INSERT INTO temporary_parts SELECT * FROM fact;
VACUUM (ANALYZE) fact, dim, matview, parts_2;
ANALYZE;

-- not vacuumed, vacuumed, changed in part
CREATE FUNCTION check_relation(name text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT check_matrix('SELECT %s', ARRAY[format('count(*), count(t), sum(id), sum(n), min(d), max(t) FROM %s', name), format('t, count(*), sum(n), max(x) FROM %s GROUP BY t', name), format('k, t, count(*) FROM %s WHERE n > 3 AND t LIKE ''%%1%%'' GROUP BY 1, 2', name),
        format('* FROM %s WHERE id %% 3 = 1', name), format('DISTINCT k, t FROM %s', name), format('name, t, count(*), sum(n) FROM %s JOIN dim USING (k) WHERE w < 2 GROUP BY 1, 2', name), format('a.t, count(*), sum(b.n) FROM fact a JOIN %s b USING (id) WHERE b.k < 20 GROUP BY a.t', name),
        format('count(*) FROM %s WHERE k IN (SELECT dim.k FROM dim WHERE name <> ''name 3'')', name), format('name, count(b.id), sum(n) FROM dim LEFT JOIN %s b ON b.k = dim.k AND b.id < 300 GROUP BY name', name)])
$$;
SELECT check_relation(r) FROM unnest('{unlogged,temporary,matview,parts,temporary_parts}'::text[]) r;
SELECT check_matrix('SELECT %s', '{"count(*), sum(n) FROM unlogged_empty", "a.t, count(*) FROM temporary a JOIN temporary_dim b USING (k) JOIN unlogged c USING (id) GROUP BY a.t", "* FROM temporary_dim", "name, count(*) FROM temporary_dim GROUP BY name", "name, sum(w) FROM temporary_dim JOIN fact USING (k) GROUP BY name"}'::text[]);
VACUUM (FREEZE, ANALYZE) unlogged, temporary, temporary_dim, parts;
SELECT check_relation(r) FROM unnest('{unlogged,temporary,parts}'::text[]) r;
UPDATE unlogged SET t = 'changed ' || id % 3 WHERE id % 50 = 0;
UPDATE temporary SET t = 'changed ' || id % 3 WHERE id % 50 = 0;
DELETE FROM unlogged WHERE id % 77 = 0;
DELETE FROM temporary WHERE id % 77 = 0;
INSERT INTO unlogged SELECT id + 10000, k, t || ' more', n, d, x FROM fact WHERE id < 500;
INSERT INTO temporary SELECT id + 10000, k, t || ' more', n, d, x FROM fact WHERE id < 500;
REFRESH MATERIALIZED VIEW matview;
SELECT check_relation(r) FROM unnest('{unlogged,temporary,matview}'::text[]) r;
-- a transaction sees its own rows, those of a subtransaction that was rolled back it does not
BEGIN;
INSERT INTO temporary SELECT id + 20000, k, 'mine', n, d, x FROM fact WHERE id < 100;
INSERT INTO unlogged SELECT id + 20000, k, 'mine', n, d, x FROM fact WHERE id < 100;
SAVEPOINT s;
DELETE FROM temporary WHERE id < 1000;
TRUNCATE unlogged;
SELECT check_matrix('SELECT t, count(*), sum(id) FROM %s GROUP BY t', '{temporary,unlogged}');
ROLLBACK TO s;
CREATE TEMP TABLE brief ON COMMIT DROP AS SELECT * FROM fact WHERE id < 200;
SELECT check_matrix('SELECT t, count(*), sum(id) FROM %s GROUP BY t', '{temporary,unlogged,brief}');
COMMIT;
-- values that are stored out of line or compressed, and pages that are read from files
CREATE TEMP TABLE wide AS SELECT i AS id, i % 5 AS k, CASE WHEN i % 9 = 0 THEN repeat(md5((i % 4)::text), 400) ELSE 'short ' || i % 8 END AS t FROM generate_series(1, 3000) i;
CREATE UNLOGGED TABLE wide_unlogged AS SELECT * FROM wide;
SELECT check_matrix('SELECT %s', '{"count(*), min(t), max(t) FROM wide", "t, count(*) FROM wide GROUP BY t", "t, count(*) FROM wide_unlogged GROUP BY t", "id, t FROM wide WHERE k = 2", "id, t FROM wide_unlogged WHERE k = 2"}'::text[]);
-- nothing is kept of temporary ones, and prewarming has nothing to do
SELECT gpuscan.prewarm('unlogged'), gpuscan.prewarm('temporary');
SELECT relid::regclass, count(*) FROM gpuscan.cached_columns WHERE relid IN ('unlogged'::regclass, 'temporary'::regclass, 'wide'::regclass) GROUP BY 1;
SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT t, count(*) FROM temporary WHERE k < 5 GROUP BY t;
EXPLAIN (COSTS OFF) SELECT name, count(*) FROM unlogged JOIN temporary_dim USING (k) GROUP BY name;
RESET gpuscan.offload;

-- partitioned tables are warmed and evicted as a whole
CREATE TABLE warm (id int, t text) PARTITION BY HASH (id);
CREATE TABLE warm_0 PARTITION OF warm FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE warm_1 PARTITION OF warm FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY RANGE (id);
CREATE TABLE warm_10 PARTITION OF warm_1 FOR VALUES FROM (0) TO (5000);
CREATE UNLOGGED TABLE warm_11 PARTITION OF warm_1 DEFAULT;
INSERT INTO warm SELECT i, 'text ' || i % 10 FROM generate_series(0, 9999) i;
VACUUM (FREEZE) warm;
SELECT gpuscan.prewarm('warm') = (SELECT sum(pg_relation_size(r) / 8192) FROM unnest('{warm_0,warm_10,warm_11}'::regclass[]) r) AS all_pages;
SELECT relid::regclass, count(*) FROM gpuscan.cached_columns WHERE relid = ANY ('{warm_0,warm_10,warm_11}'::regclass[]) GROUP BY 1 ORDER BY 1;
SELECT gpuscan.prewarm('warm_1') = (pg_relation_size('warm_10') + pg_relation_size('warm_11')) / 8192 AS all_pages;
SELECT gpuscan.evict('warm') > 0 AS evicted;
SELECT count(*) FROM gpuscan.cached_columns WHERE relid = ANY ('{warm_0,warm_10,warm_11}'::regclass[]);

-- another access method, catalogs: PostgreSQL's plan brings the rows of one side of a join
CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE elsewhere USING other_heap AS SELECT * FROM fact;
CREATE TABLE dim_elsewhere USING other_heap AS SELECT * FROM dim;
ALTER TABLE parts DETACH PARTITION parts_rest;
CREATE TABLE parts_elsewhere PARTITION OF parts DEFAULT USING other_heap;
INSERT INTO parts SELECT * FROM parts_rest;
ANALYZE elsewhere, dim_elsewhere, parts;
SELECT check_matrix('SELECT %s', '{"count(*), sum(n), max(t) FROM elsewhere", "t, count(*) FROM elsewhere GROUP BY t", "* FROM elsewhere WHERE id < 50", "t, count(*) FROM parts GROUP BY t"}'::text[], expect => 'cpu');
SELECT check_matrix('SELECT %s', '{"name, count(*), sum(n) FROM fact JOIN dim_elsewhere USING (k) GROUP BY name", "name, count(*), sum(n), max(t) FROM elsewhere JOIN dim USING (k) GROUP BY name", "f.t, count(*), sum(p.n) FROM fact f JOIN parts p USING (id) WHERE p.k < 9 GROUP BY f.t", "t, name FROM fact JOIN dim_elsewhere USING (k) WHERE id < 100",
    "count(*) FROM fact WHERE k IN (SELECT k FROM dim_elsewhere WHERE w = 1)", "count(*), sum(attnum) FROM fact JOIN pg_attribute ON id = attnum"}'::text[]);
SELECT check_matrix('SELECT count(*), max(%s) FROM pg_class', '{relname,oid,relpages}', expect => 'cpu');

-- statements around a query: each runs it on the device, with PostgreSQL's answer
CREATE FUNCTION fragments() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT fragments - fallbacks FROM gpuscan.stat';
CREATE FUNCTION check_statement(statement text, result text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    before bigint;
    plain text;
    device text;
    used boolean;
BEGIN
    PERFORM set_config('gpuscan.offload', 'off', true);
    EXECUTE format(statement, 'plain');
    EXECUTE format(result, 'plain') INTO plain;
    PERFORM set_config('gpuscan.offload', 'force', true);
    before := fragments();
    EXECUTE format(statement, 'device');
    used := fragments() > before;
    PERFORM set_config('gpuscan.offload', 'off', true);
    EXECUTE format(result, 'device') INTO device;
    IF plain IS DISTINCT FROM device THEN
        RETURN format('DIFFERENT: %s, not %s', device, plain);
    END IF;
    RETURN CASE WHEN used THEN 'ok' ELSE 'ok, but not on a device' END;
END $$;
SELECT check_statement('CREATE TABLE made_%s AS SELECT t, count(*) AS c, sum(n) AS s FROM fact GROUP BY t', 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM made_%s x');
SELECT check_statement('CREATE TABLE rows_%s AS SELECT id, t, n FROM fact WHERE k = 5', 'SELECT md5(string_agg(x::text, '' '' ORDER BY x::text)) FROM rows_%s x');
SELECT check_statement('CREATE TEMP TABLE brief_%s AS SELECT id, name FROM fact JOIN dim USING (k) WHERE w = 1', 'SELECT md5(string_agg(x::text, '' '' ORDER BY x::text)) FROM brief_%s x');
SELECT check_statement('CREATE MATERIALIZED VIEW seen_%s AS SELECT name, sum(n) FROM fact JOIN dim USING (k) GROUP BY name', 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM seen_%s x');
SELECT check_statement('REFRESH MATERIALIZED VIEW seen_%s', 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM seen_%s x');
SELECT check_statement('INSERT INTO made_%s SELECT name, count(*), sum(n) FROM fact JOIN dim USING (k) GROUP BY name', 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM made_%s x');
SELECT check_statement('INSERT INTO made_%1$s SELECT max(t), sum(c), min(s) FROM made_%1$s', 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM made_%s x');
SELECT check_statement('WITH a AS MATERIALIZED (SELECT t, sum(n) AS s FROM fact GROUP BY t), b AS (SELECT count(*) AS c FROM fact) INSERT INTO made_%s SELECT t || '' again'', c, s FROM a, b', 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM made_%s x');
SELECT check_statement('WITH i AS (INSERT INTO made_%s SELECT ''old'', count(*), 0 FROM fact RETURNING c) INSERT INTO made_%1$s SELECT ''new'', c, c FROM i', 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM made_%s x');
SELECT check_statement('UPDATE made_%s m SET c = f.c FROM (SELECT t, count(*) + 1000 AS c FROM fact GROUP BY t) f WHERE f.t = m.t', 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM made_%s x');
SELECT check_statement('DELETE FROM made_%s WHERE c < (SELECT avg(id) FROM fact) - 2000', 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM made_%s x');
SELECT check_matrix('%s', '{"WITH c AS (SELECT t, sum(n) AS s FROM fact GROUP BY t) SELECT * FROM c WHERE s > 10", "WITH c AS MATERIALIZED (SELECT t, sum(n) AS s FROM fact GROUP BY t) SELECT a.t, b.s FROM c a JOIN c b USING (t)", "WITH c AS MATERIALIZED (SELECT k, t FROM fact WHERE id < 900) SELECT name, count(*) FROM c JOIN dim USING (k) JOIN fact f ON f.id = c.k GROUP BY name",
    "WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r WHERE k < 5) SELECT r.k, count(*) FROM r JOIN fact USING (k) GROUP BY r.k", "VALUES ((SELECT sum(n) FROM fact))", "SELECT k, (SELECT count(*) FROM fact WHERE fact.k = dim.k) FROM dim", "TABLE fact"}'::text[], expect => 'any');
-- cursors, with and without hold, that go on after others have begun
SET gpuscan.offload = force;
BEGIN;
DECLARE a CURSOR FOR SELECT t, count(*), sum(n) FROM fact GROUP BY t ORDER BY t;
DECLARE b SCROLL CURSOR FOR SELECT id, t FROM fact WHERE k = 3 ORDER BY id;
DECLARE h CURSOR WITH HOLD FOR SELECT id, name FROM fact JOIN dim USING (k) WHERE id < 9 ORDER BY id;
FETCH 2 FROM a;
FETCH 2 FROM b;
FETCH 3 FROM h;
FETCH 3 FROM a;
FETCH LAST FROM b;
FETCH BACKWARD 2 FROM b;
UPDATE fact SET t = 'after' WHERE id = 3;
MOVE ALL FROM a;
FETCH PRIOR FROM b;
COMMIT;
FETCH ALL FROM h;
CLOSE h;
-- functions
CREATE FUNCTION total(below int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    r record;
    result numeric := 0;
BEGIN
    FOR r IN SELECT t, sum(n) AS s FROM relations.fact WHERE k < below AND id > 3 GROUP BY t ORDER BY t LOOP
        result := result + r.s * (SELECT count(*) FROM relations.dim WHERE k < below);
    END LOOP;
    RETURN result;
END $$;
CREATE FUNCTION total_sql(below int) RETURNS numeric LANGUAGE sql STABLE AS 'SELECT sum(n) FROM relations.fact WHERE k < below';
SELECT fragments() AS before \gset
SELECT total(b), total_sql(b) FROM generate_series(0, 40, 10) b;
SELECT fragments() > :before AS on_device;
SET gpuscan.offload = off;
SELECT total(b), total_sql(b) FROM generate_series(0, 40, 10) b;
RESET gpuscan.offload;
SELECT check_prepared('device', 'SELECT t, count(*), sum(n) FROM unlogged WHERE k < $1 AND t <> $2 GROUP BY t', '(int, text)', '(10, ''text 3'')', '(0, ''x'')', '(40, NULL)');
SELECT check_prepared('device', 'SELECT id, t FROM temporary WHERE n = $1', '(numeric)', '(2.5)', '(1e9)', '(2.505)');
-- what is copied out
SET gpuscan.offload = force;
COPY (SELECT t, count(*) FROM fact GROUP BY t ORDER BY t) TO STDOUT;
RESET gpuscan.offload;
DROP SCHEMA relations CASCADE;
