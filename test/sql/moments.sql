-- When PostgreSQL evaluates something: init plans when a row asks for them, inner sides when there are outer rows, shown values below the
-- sort, privileges and indexes when a cursor is opened, the time zone when rows are read (doc/architecture.md, "When PostgreSQL does what").
CREATE SCHEMA moments;
SET search_path = moments, public;
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE TABLE t (id int NOT NULL, k int, v int, name text, ts timestamptz);
INSERT INTO t SELECT i, i % 10, i, 'name ' || i % 7, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 hour' FROM generate_series(1, 5000) i;
CREATE TABLE two AS SELECT k FROM (VALUES (1), (2)) x (k);
CREATE TABLE one AS SELECT 1 AS k;
CREATE TABLE none AS SELECT 1 AS k WHERE false;
CREATE SEQUENCE s;
VACUUM (FREEZE, ANALYZE) t, two, one, none;
CREATE FUNCTION strict_one(int) RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN IF $1 = 1 THEN RAISE EXCEPTION 'one'; END IF; RETURN $1; END $$;

-- The answer, or the error, with what the sequence has given.
CREATE FUNCTION answer(query text, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    PERFORM setval('s', 1, false);
    PERFORM set_config('gpuscan.offload', mode, true);
    BEGIN
        EXECUTE format('SELECT count(*) || '' rows '' || coalesce(string_agg(r::text, '' '' ORDER BY r::text), '''') FROM (%s) r', query) INTO result;
    EXCEPTION WHEN OTHERS THEN
        result := SQLSTATE || ' ' || SQLERRM;
    END;
    RETURN left(result, 60) || CASE WHEN length(result) > 60 THEN '... ' || left(md5(result), 6) ELSE '' END || (SELECT CASE WHEN is_called THEN ', sequence ' || last_value ELSE '' END FROM s);
END $$;
CREATE FUNCTION compared(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    expected text := answer(query, 'off');
    found text := answer(query, 'force');
BEGIN
    RETURN CASE WHEN expected = found THEN found ELSE 'DIFFERENT: ' || expected || ' <> ' || found END;
END $$;

-- init plans: needed by no row, by some, by all; in conditions, shown values, keys, arguments, HAVING, ORDER BY, joins
SELECT replace(template, '%s', subquery) AS query, compared(replace(template, '%s', subquery)) AS answer
FROM unnest(ARRAY['(SELECT k FROM two)', '(SELECT nextval(''s'')::int)', '(SELECT 1 / (k - 1) FROM one)', '(SELECT 10 / k FROM one)', '(SELECT max(strict_one(k)) FROM two)', '(SELECT k FROM none)', '(SELECT sum(k) FROM two)::int', '(SELECT strict_one(2))']) WITH ORDINALITY AS subqueries (subquery, i),
    unnest(ARRAY['SELECT sum(CASE WHEN id < 0 THEN %s ELSE 1 END) FROM t', 'SELECT sum(CASE WHEN id < 5 THEN %s ELSE 1 END) FROM t', 'SELECT count(*) FROM t WHERE id > %s', 'SELECT count(*) FROM t WHERE id < 0 AND v > %s',
        'SELECT k, count(*) FROM t GROUP BY k HAVING k < 0 AND count(*) > %s', 'SELECT k, count(*) FROM t GROUP BY k HAVING count(*) > %s', 'SELECT coalesce(id, %s) AS c, count(*) FROM t WHERE id < 4 GROUP BY 1',
        'SELECT id, CASE WHEN id < 0 THEN %s END FROM t WHERE id < 3', 'SELECT count(*) FROM t JOIN two USING (k) WHERE t.id < 0 AND t.v + two.k > %s', 'SELECT count(*) FROM none JOIN t USING (k) WHERE t.v > %s',
        'SELECT count(*) FROM t WHERE name LIKE ''no%'' AND length(name) > %s', 'SELECT id FROM t WHERE id < 9 ORDER BY CASE WHEN id < 0 THEN %s ELSE -id END LIMIT 2']) WITH ORDINALITY AS templates (template, n)
ORDER BY n, i;
-- one init plan that needs another one, and one that many executions share
SELECT compared('SELECT count(*) FROM t WHERE id > (SELECT 10 / k FROM one WHERE k >= (SELECT 1 / k FROM one))');
SELECT compared('SELECT count(*) FROM t WHERE id > (SELECT 10 / (k - 1) FROM one WHERE k >= (SELECT 1 / (k - 1) FROM one))');
SELECT compared('SELECT two.k, (SELECT count(*) FROM t WHERE t.id > (SELECT 10 / one.k FROM one WHERE one.k <= two.k)) FROM two');
SELECT compared('WITH c AS MATERIALIZED (SELECT 10 / k AS q FROM one) SELECT count(*) FROM t WHERE id > (SELECT q FROM c) AND v > (SELECT q + 1 FROM c)');
SELECT compared('SELECT count(*) FROM t WHERE k IN (SELECT 1 / (k - 1) FROM one) AND id < 0');

-- conditions that look at no row: once, before the first one
SELECT query, compared(query) AS answer FROM unnest(ARRAY[
    'SELECT count(*), max(k) FROM none WHERE ((SELECT float8 ''Infinity''))::int IS NULL', 'SELECT count(*) FROM t WHERE ((SELECT float8 ''Infinity''))::int IS NULL',
    'SELECT count(*) FROM t WHERE 1 / (k - 5) > 0 AND (SELECT max(k) FROM two) + 1 = 1', 'SELECT count(*) FROM t WHERE 1 / (k - 5) > 0 AND (SELECT max(k) FROM two) + 1 = 3',
    'SELECT count(*) FROM t JOIN none USING (k) WHERE (SELECT max(k) FROM two) + 2147483647 IN (1, 2)', 'SELECT id FROM t WHERE greatest((SELECT max(k) FROM two) + 2147483647, id) > 1 AND id < 0',
    'SELECT count(*) FROM t WHERE greatest((SELECT max(k) FROM two) + 2147483646, 1) > 1', 'SELECT count(*) FROM t WHERE (SELECT max(k) FROM two) + 1 IS DISTINCT FROM 3',
    'SELECT id FROM t WHERE id < 3 AND (SELECT max(k) FROM two) + 1 = ANY (ARRAY[3, 4])', 'SELECT count(*), count(n.k) FROM t LEFT JOIN none n ON n.k = t.k AND (SELECT max(k) FROM two) + 2147483647 IN (1, 2)',
    'SELECT k, count(*) FROM none WHERE (SELECT max(k) FROM two) + 2147483647 > 0 GROUP BY k']) AS query;

-- CPU plans that feed a join: the other side is empty, or not
SELECT query, compared(query) AS answer FROM unnest(ARRAY[
    'SELECT count(*) FROM (SELECT * FROM t WHERE id < 0) a JOIN (SELECT 1 / (k - 1) AS q, k FROM one OFFSET 0) b ON a.k = b.k',
    'SELECT count(*) FROM t a JOIN (SELECT 1 / (k - 1) AS q, k FROM one OFFSET 0) b ON a.k = b.q',
    'SELECT count(*), sum(q) FROM t a JOIN (SELECT 10 / k AS q, k FROM one OFFSET 0) b ON a.k = b.k',
    'SELECT count(*), sum(q) FROM t a LEFT JOIN (SELECT 10 / k AS q, k FROM one OFFSET 0) b ON a.k = b.k',
    'SELECT count(*), sum(q) FROM t a JOIN (SELECT strict_one(k) AS q FROM two OFFSET 0) b ON a.k = b.q WHERE a.id < 0',
    'SELECT count(*), sum(q) FROM t a JOIN (SELECT strict_one(k + 1) AS q FROM two OFFSET 0) b ON a.k = b.q',
    'SELECT count(*), sum(q) FROM t a JOIN (SELECT nextval(''s'') AS q FROM two OFFSET 0) b ON a.k = b.q',
    'SELECT count(*), sum(q) FROM t a JOIN generate_series(1, 3) q ON a.k = q WHERE a.id < 100',
    'WITH c AS MATERIALIZED (SELECT 10 / k AS q FROM two) SELECT count(*), sum(a.id), sum(c.q) FROM t a JOIN c ON a.k = c.q JOIN c d ON d.q = c.q']) AS query;

-- limits and errors of functions that PostgreSQL does not meet, whatever their code
CREATE FUNCTION limited(int) RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN IF $1 = 3 THEN RAISE EXCEPTION 'limited' USING ERRCODE = 'configuration_limit_exceeded'; END IF; RETURN 1; END $$;
CREATE FUNCTION cancelled(int) RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN IF $1 = 3 THEN RAISE EXCEPTION 'cancelled' USING ERRCODE = 'query_canceled'; END IF; RETURN 1; END $$;
SELECT query, compared(query) AS answer FROM unnest(ARRAY['SELECT count(*) FROM t WHERE CASE WHEN id < 0 THEN (SELECT max(limited(k)) FROM t) ELSE 1 END = 1', 'SELECT count(*) FROM t WHERE CASE WHEN id < 0 THEN (SELECT max(cancelled(k)) FROM t) ELSE 1 END = 1',
    'SELECT count(*) FROM t WHERE id < 3 AND limited(length(name)) = 1', 'SELECT count(*) FROM t WHERE CASE WHEN id < 0 THEN (SELECT count(*) FROM (SELECT 1 / (v + 1) FROM t ORDER BY name || v OFFSET 0) x) ELSE 1 END = 1']) AS query;
SET temp_file_limit = '64kB';
SET work_mem = '64kB';
SELECT compared('SELECT count(*) FROM t WHERE CASE WHEN id < 0 THEN (SELECT count(x.q) FROM (SELECT 1 / (v + 1) AS q FROM t ORDER BY name || v OFFSET 0) x) ELSE 1 END = 1');
RESET temp_file_limit;
RESET work_mem;

-- shown values are computed before rows are sorted; expensive and volatile ones after LIMIT
SELECT query, compared(query) AS answer FROM unnest(ARRAY[
    'SELECT k, 1 / (k - 5) AS q FROM t ORDER BY k LIMIT 3', 'SELECT k, 1 / (k - 5) AS q FROM t ORDER BY k', 'SELECT id, 1 / (k - 5) AS q FROM t WHERE k <> 5 ORDER BY id LIMIT 2', 'SELECT id, v * 1000000 AS q FROM t ORDER BY id LIMIT 2',
    'SELECT k, q FROM (SELECT k, 1 / (k - 5) AS q FROM t ORDER BY k OFFSET 0) x LIMIT 3', 'SELECT id, strict_one(k) AS q FROM t ORDER BY -id LIMIT 3', 'SELECT id, CASE WHEN k = 5 THEN 1 / (k - 5) END AS q FROM t ORDER BY id LIMIT 1',
    'SELECT k, 1 / (k - 5) AS q, count(*) FROM t GROUP BY k ORDER BY k LIMIT 3', 'SELECT k, 1 / (k - 5) AS q, count(*) FROM t GROUP BY k HAVING k < 3 ORDER BY k LIMIT 3']) AS query;

-- cursors: what is settled when they are opened, and what when rows are fetched
SET gpuscan.offload = 'force';
CREATE FUNCTION guarded(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN $1; END $$;
REVOKE EXECUTE ON FUNCTION guarded FROM public;
CREATE ROLE moments_plain;
GRANT USAGE ON SCHEMA moments TO moments_plain;
GRANT SELECT ON ALL TABLES IN SCHEMA moments TO moments_plain;
CREATE INDEX on_k ON t (k);
CREATE FUNCTION zone_cursor(mode text) RETURNS TABLE (d date, n bigint) LANGUAGE plpgsql SET search_path = moments, public AS $$
DECLARE
    c CURSOR FOR SELECT date_trunc('day', ts)::date, count(*) FROM t GROUP BY 1 ORDER BY 1 LIMIT 3;
BEGIN
    PERFORM set_config('gpuscan.offload', mode, true), set_config('timezone', 'UTC', true);
    OPEN c;
    PERFORM set_config('timezone', 'Asia/Tokyo', true);
    LOOP
        FETCH c INTO d, n;
        EXIT WHEN NOT FOUND;
        RETURN NEXT;
    END LOOP;
    PERFORM set_config('timezone', 'UTC', true);
END $$;
SELECT * FROM zone_cursor('off');
SELECT * FROM zone_cursor('force');
-- A plan that is bound again (in another time zone) finds a function changed: the CPU plan goes on with what it has begun.
CREATE FUNCTION marked(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN upper($1); END $$;
\set mode off
BEGIN; SET LOCAL gpuscan.offload = :mode; DECLARE c CURSOR FOR SELECT count(*) FROM t WHERE guarded(k) = 1; SET LOCAL ROLE moments_plain; FETCH ALL FROM c; ROLLBACK;
BEGIN; SET LOCAL gpuscan.offload = :mode; SET LOCAL ROLE moments_plain; DECLARE c CURSOR FOR SELECT count(*) FROM t WHERE guarded(k) = 1; ROLLBACK;
BEGIN; SET LOCAL gpuscan.offload = :mode; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; DECLARE c CURSOR FOR SELECT count(*) FROM t WHERE k = 3; DROP INDEX on_k; ROLLBACK;
BEGIN; SET LOCAL gpuscan.offload = :mode; DECLARE c CURSOR FOR SELECT marked(name), count(*) FROM t GROUP BY 1 ORDER BY 1 LIMIT 2; ALTER FUNCTION marked VOLATILE; SET LOCAL timezone = 'Asia/Tokyo'; FETCH ALL FROM c; ROLLBACK;
\set mode force
BEGIN; SET LOCAL gpuscan.offload = :mode; DECLARE c CURSOR FOR SELECT count(*) FROM t WHERE guarded(k) = 1; SET LOCAL ROLE moments_plain; FETCH ALL FROM c; ROLLBACK;
BEGIN; SET LOCAL gpuscan.offload = :mode; SET LOCAL ROLE moments_plain; DECLARE c CURSOR FOR SELECT count(*) FROM t WHERE guarded(k) = 1; ROLLBACK;
BEGIN; SET LOCAL gpuscan.offload = :mode; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; DECLARE c CURSOR FOR SELECT count(*) FROM t WHERE k = 3; DROP INDEX on_k; ROLLBACK;
BEGIN; SET LOCAL gpuscan.offload = :mode; DECLARE c CURSOR FOR SELECT marked(name), count(*) FROM t GROUP BY 1 ORDER BY 1 LIMIT 2; ALTER FUNCTION marked VOLATILE; SET LOCAL timezone = 'Asia/Tokyo'; FETCH ALL FROM c; ROLLBACK;

-- EXPLAIN ANALYZE shows what was tried, as executed (without what differs between versions of PostgreSQL)
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql SET search_path = moments, public AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) ' || query LOOP
        CONTINUE WHEN line ~ 'Storage:';
        RETURN NEXT regexp_replace(regexp_replace(line, ' \(actual rows=(\d+).*\)', ' rows=\1'), '\$0|\(InitPlan 1\)\.col1|InitPlan 1.*', 'init plan');
    END LOOP;
END $$;
SELECT * FROM explained('SELECT count(*) FROM t WHERE id > (SELECT 10 / k FROM one)');
SELECT * FROM explained('SELECT count(*), sum(q) FROM t a JOIN (SELECT 10 / k AS q, k FROM one OFFSET 0) b ON a.k = b.k');
SELECT * FROM explained('WITH c AS MATERIALIZED (SELECT 10 / k AS q FROM one) SELECT count(*) FROM t JOIN c ON t.k = c.q');
SET client_min_messages = notice;
SET gpuscan.explain_refusals = on;
SELECT * FROM explained('SELECT count(*) FROM t WHERE id > (SELECT nextval(''s''))');
RESET gpuscan.explain_refusals;
SET client_min_messages = warning;

-- messages: the same ones with gpuscan off and on, whoever evaluates
CREATE FUNCTION noisy(int) RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'noisy %', $1; RETURN $1; END $$;
CREATE FUNCTION noisy(text) RETURNS text STABLE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'noisy %', $1; RETURN $1; END $$;
CREATE FUNCTION noisy_constant(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'constant %', $1; RETURN $1; END $$;
CREATE FUNCTION noisy_handler(int) RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'handled %', $1; RETURN $1; EXCEPTION WHEN OTHERS THEN RETURN -1; END $$;
CREATE FUNCTION noisy_handler(text) RETURNS text STABLE LANGUAGE plpgsql AS $$ BEGIN RAISE INFO 'handled %', $1; RETURN $1; EXCEPTION WHEN OTHERS OR query_canceled THEN RETURN 'caught'; END $$;
CREATE TABLE words AS SELECT 'word ' || i AS word, i FROM generate_series(1, 3) i;
VACUUM (FREEZE, ANALYZE) words;
SET client_min_messages = notice;
\set with_all 'SET gpuscan.offload = off; :query; SET gpuscan.offload = force; :query; RESET gpuscan.offload; :query;'
\set with_both 'SET gpuscan.offload = off; :query; SET gpuscan.offload = force; :query;'
\set query 'SELECT count(*) FROM none WHERE k > (SELECT noisy(50))'
:with_all
\set query 'SELECT count(*) FROM t WHERE id > (SELECT noisy(50))'
:with_all
\set query 'SELECT count(*) FROM t WHERE id > (SELECT noisy(v) FROM t WHERE id = 4000)'
:with_all
\set query 'SELECT count(*) FROM words WHERE i > noisy(1)'
:with_all
\set query 'SELECT count(*) FROM none WHERE k > noisy(1)'
:with_all
\set query 'SELECT count(*) FROM words WHERE noisy(word) = $$word 1$$'
:with_all
\set query 'SELECT noisy(word), count(*) FROM words GROUP BY 1 ORDER BY 1'
:with_all
\set query 'SELECT count(*) FROM two JOIN (SELECT noisy(k) AS k FROM one OFFSET 0) x USING (k)'
:with_all
\set query 'SELECT count(*) FROM none JOIN (SELECT noisy(k) AS k FROM one OFFSET 0) x USING (k)'
:with_all
\set query 'SELECT count(*) FROM t WHERE id > (SELECT noisy_handler(50))'
:with_all
\set query 'SELECT noisy_handler(word), count(*) FROM words GROUP BY 1 ORDER BY 1'
:with_all
\set query 'SELECT count(*) FROM t WHERE name <> (SELECT noisy_handler($$name 1$$))'
:with_all
-- (what EXPLAIN's setting tells is no message of a function)
CREATE FUNCTION asks(int) RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM t WHERE id > $1 AND ctid IS NOT NULL); EXCEPTION WHEN OTHERS THEN RETURN 4990; END $$;
SET gpuscan.offload = force;
SET gpuscan.explain_refusals = on;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT count(*) FROM t WHERE id > (SELECT asks(4000)) \g /dev/null
SELECT count(*) FROM t WHERE id > (SELECT asks(4000));
RESET gpuscan.explain_refusals;
RESET gpuscan.offload;
CREATE TABLE two_collations (a int, x text COLLATE "C", y text COLLATE "POSIX");
INSERT INTO two_collations SELECT i, 'a', 'b' FROM generate_series(1, 100) i;
SELECT compared('SELECT a FROM two_collations WHERE a < 0 AND a > (SELECT length(min(x || y)) FROM two_collations)'), compared('SELECT a FROM two_collations WHERE a > (SELECT length(min(x || y)) FROM two_collations)');
CREATE TABLE parts (i int, k int) PARTITION BY RANGE (i);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
INSERT INTO parts SELECT i % 100, i % 7 FROM generate_series(1, 300) i;
ANALYZE parts;
\set query 'SELECT count(*) FROM parts WHERE k = (3 + noisy(0))'
SET gpuscan.offload = off; EXPLAIN (COSTS OFF) :query \g /dev/null
SET gpuscan.offload = force; EXPLAIN (COSTS OFF) :query \g /dev/null
RESET gpuscan.offload; EXPLAIN (COSTS OFF) :query \g /dev/null
\set query 'SELECT k, count(*) FROM parts GROUP BY k HAVING count(*) > noisy(42) ORDER BY k'
SET gpuscan.offload = off; EXPLAIN (COSTS OFF) :query \g /dev/null
SET gpuscan.offload = force; EXPLAIN (COSTS OFF) :query \g /dev/null
RESET gpuscan.offload; EXPLAIN (COSTS OFF) :query \g /dev/null
\set query 'SELECT count(*) FROM parts JOIN two USING (k) WHERE i < 9 + noisy(1)'
SET gpuscan.offload = off; EXPLAIN (COSTS OFF) :query \g /dev/null
SET gpuscan.offload = force; EXPLAIN (COSTS OFF) :query \g /dev/null
RESET gpuscan.offload; EXPLAIN (COSTS OFF) :query \g /dev/null
\set query 'SELECT count(*) FROM two WHERE k > noisy_constant(1)'
:with_all
\set query 'SELECT count(*) FROM (SELECT k FROM t WHERE id < noisy_constant(20) UNION SELECT k FROM two EXCEPT SELECT k FROM one) x'
:with_all
\set query 'SELECT count(*) FROM two WHERE k > (SELECT max(id) FROM t WHERE t.k = two.k AND id < noisy_constant(5))'
:with_all
SET client_min_messages = warning;

-- Parallel workers send what they have to say while the leader tries an init plan: it is the query's, and the trial goes on. What those of
-- the trial itself send ends it.
CREATE TABLE big AS SELECT i FROM generate_series(1, 300000) i;
VACUUM (FREEZE, ANALYZE) big;
CREATE FUNCTION in_worker(i int, action text) RETURNS int STABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
    IF i = 200000 AND action = 'fail' THEN RAISE EXCEPTION 'a worker fails'; END IF;
    IF i = 200000 AND action = 'tell' THEN RAISE NOTICE 'a worker tells'; END IF;
    RETURN i;
END $$;
CREATE FUNCTION slow(i int, seconds float8) RETURNS int STABLE PARALLEL RESTRICTED LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(seconds); RETURN i; END $$;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SET max_parallel_workers_per_gather = 2;
SET client_min_messages = notice;
SET gpuscan.offload = force;
\set VERBOSITY terse
DO $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT a.i, b.n FROM big a, LATERAL (SELECT count(*) AS n FROM t WHERE t.id > (SELECT slow(a.i, 20))) b WHERE in_worker(a.i, ''fail'') % 100000 = 1' LOOP
        IF line ~ 'Loop|Gather|GpuScan' THEN RAISE NOTICE '%', line; END IF;
    END LOOP;
END $$;
\set query 'SELECT a.i, b.n FROM big a, LATERAL (SELECT count(*) AS n FROM t WHERE t.id > (SELECT slow(a.i, 20))) b WHERE in_worker(a.i, $$fail$$) % 100000 = 1'
:with_both
\set query 'SELECT a.i, b.n FROM big a, LATERAL (SELECT count(*) AS n FROM t WHERE t.id > (SELECT slow(a.i, 0.3))) b WHERE in_worker(a.i, $$tell$$) % 100000 = 1 ORDER BY 1'
:with_both
\set query 'SELECT count(*) FROM t WHERE id > (SELECT max(in_worker(i, $$tell$$)) / 100000 FROM big)'
:with_both
\set query 'SELECT count(*) FROM t WHERE id > (SELECT max(in_worker(i, $$fail$$)) / 100000 FROM big)'
:with_both
-- a statement that is cancelled while something is tried ends, wherever that is
CREATE FUNCTION slow(word text) RETURNS text STABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(30); RETURN word; END $$;
SET statement_timeout = '200ms';
\set query 'SELECT count(*) FROM words WHERE slow(word) = ''w'''
:with_both
\set query 'SELECT slow(word), count(*) FROM words GROUP BY 1'
:with_both
\set query 'SELECT word FROM words ORDER BY i, slow(word) LIMIT 1'
:with_both
\set query 'SELECT slow(word) FROM words ORDER BY i LIMIT 1'
:with_both
\set query 'SELECT count(*) FROM t WHERE id > (SELECT slow(1, 30))'
:with_both
\set query 'SELECT count(*) FROM t JOIN (SELECT slow(k, 30) AS k FROM one OFFSET 0) x USING (k)'
:with_both
\set query 'SELECT count(*) FROM t WHERE id > slow(1, 30)'
:with_both
RESET statement_timeout;
\set VERBOSITY default
RESET gpuscan.offload;
SET client_min_messages = warning;

DROP SCHEMA moments CASCADE;
DROP ROLE moments_plain;
