-- How many groups are expected where a key is an expression of a column: in the steps of PostgreSQL's plan and the device's, beside what
-- there is.
CREATE SCHEMA group_count;
SET search_path = group_count, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET gpuscan.device = host;
SET enable_sort = off;
SET timezone = 'Europe/Berlin';
CREATE TABLE t (id int NOT NULL, at timestamptz, day date, local timestamp, small smallint, big bigint, f float8, n numeric(10, 2), name text, code varchar(8), gone int, ends int, far timestamp)
    WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, timestamptz '2020-01-01 UTC' + i * 937 % 120000 * interval '17 minutes', date '2020-01-01' + i * 37 % 1400, timestamp '2020-01-01' + i * 61 % 120000 * interval '17 minutes',
    i % 30000, i * 7919::bigint, i * 7919 % 100003 / 7.0, i * 37 % 90000 / 100.0, 'name ' || i * 7919 % 60000, CASE WHEN i % 3 > 0 THEN chr(65 + i % 26) || i % 4000 END, NULL,
    CASE i % 100 WHEN 0 THEN 2147483647 ELSE i END, CASE WHEN i % 100 = 0 THEN 'infinity' ELSE timestamp '2020-01-01' + i * interval '1 minute' END
FROM generate_series(1, 120000) i;
CREATE TABLE few AS SELECT id, day FROM t WHERE id <= 900;
CREATE TABLE unknown WITH (autovacuum_enabled = off) AS SELECT day, id FROM t;
VACUUM (FREEZE, ANALYZE) t, few;
VACUUM unknown;

CREATE FUNCTION amount_of(query text, one text, step text) RETURNS float8 LANGUAGE sql AS $$
    SELECT sum(amount) FROM gpuscan.explain_cost(query) WHERE alternative = one AND work = step
$$;
CREATE FUNCTION groups_of(relations text, keys text, OUT postgres float8, OUT host float8, OUT actual bigint) LANGUAGE plpgsql AS $$
DECLARE query text := 'SELECT count(*) FROM ' || relations || ' GROUP BY ' || keys;
BEGIN
    postgres := amount_of(query, 'postgresql', 'group_made');
    PERFORM set_config('gpuscan.offload', 'force', true);
    host := (SELECT sum(amount) FILTER (WHERE component = 'emit' AND work = 'backend_row') / 6 -- of which a group takes as many
        FROM gpuscan.explain_cost(query) WHERE alternative = 'host' HAVING bool_or(component = 'group'));
    EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO actual;
    PERFORM set_config('gpuscan.offload', 'auto', true);
END $$;

-- Within a factor of 2. (NULL: no device can.)
SELECT keys, postgres BETWEEN actual / 2 - 1 AND actual * 2 + 1 AS postgres, host BETWEEN actual / 2 - 1 AND actual * 2 + 1 AS host, actual FROM unnest(ARRAY[
    $$date_trunc('week', at)$$, $$date_trunc('day', at)$$, $$date_trunc('hour', at)$$, $$at::date$$, $$extract(hour FROM at)$$, $$extract(year FROM at), extract(month FROM at)$$,
    $$date_trunc('month', day)$$, $$extract(dow FROM day)$$, $$day - date '2020-01-01'$$, $$date_trunc('month', local)$$, $$local::date, extract(hour FROM local)$$, $$to_char(local, 'YYYY-MM')$$,
    $$id / 1000$$, $$id % 100$$, $$small / 7$$, $$small % 2 = 0$$, $$big % 10$$, $$big > 500000000, big % 3$$, $$floor(f / 1000)$$, $$round(n)$$, $$n > 5$$,
    $$left(name, 6)$$, $$left(code, 1)$$, $$coalesce(code, 'none') = 'none'$$, $$CASE WHEN id < 1000 THEN 'new' WHEN id < 50000 THEN 'old' END$$,
    $$date_trunc('month', at), id % 10$$, $$day, extract(year FROM day)$$, $$date_trunc('year', day), date_trunc('month', day)$$, $$gone + 1$$,
    -- of several columns, which are drawn independently
    $$(small + id) % 10$$, $$CASE WHEN day > local THEN 'before' WHEN at > day THEN 'after' END, small % 5$$, $$date_trunc('month', coalesce(at, day))$$, $$left(code, 1) || left(name, 1)$$, $$day, (day - local::date) % 10$$
]) keys, groups_of('t', keys);
-- (of very many values of several columns the draws tell by how few are equal, so within a factor of 4)
SELECT postgres BETWEEN actual / 4 AND actual * 4 AS postgres, host BETWEEN actual / 4 AND actual * 4 AS host, actual FROM groups_of('t', 'small + id');
-- of the rows that pass conditions on the same columns
SELECT keys, condition, postgres BETWEEN actual / 2 - 1 AND actual * 2 + 1 AS postgres, host BETWEEN actual / 2 - 1 AND actual * 2 + 1 AS host, actual FROM (VALUES
    ($$at::date$$, $$at >= '2021-03-01' AND at < '2021-04-01'$$), ($$date_trunc('hour', at)$$, $$at < timestamptz '2020-02-01' + interval '1 week'$$), ($$extract(hour FROM local)$$, $$local::time < '03:00'$$),
    ($$date_trunc('month', day), id / 1000$$, $$day BETWEEN '2022-01-01' AND '2022-06-30' AND id > 50000$$), ($$big % 1000 / 10$$, $$big % 1000 < 200 AND big > 1000$$),
    ($$floor(n)$$, $$n > 100 AND n <= 150.5$$), ($$floor(f / 100)$$, $$f BETWEEN 1000 AND 5000$$), ($$small % 10 = 0$$, $$small IN (7, 70, 700)$$),
    ($$coalesce(extract(dow FROM far), -1)$$, $$far IS NOT NULL$$), ($$at::date - day$$, $$at < day AND day < '2021-01-01'$$),
    -- which hardly any value passes, or raise an error for a value that the query never meets: as if they were not there
    ($$extract(dow FROM day)$$, $$extract(doy FROM day) = 33$$), ($$left(name, 6)$$, $$name LIKE '%9'$$), ($$big % 7$$, $$1 / (big % 7919 % 2 - 1) < 0$$)
) q(keys, condition), groups_of('t WHERE ' || condition, keys);
-- of a column with long statistics: of many common values, or of a long histogram
CREATE TABLE detailed WITH (autovacuum_enabled = off) AS SELECT id % 900 AS common, id FROM t;
ALTER TABLE detailed ALTER common SET STATISTICS 1000, ALTER id SET STATISTICS 1000;
ANALYZE detailed;
SELECT keys, host BETWEEN actual / 2 AND actual * 2 AS host, actual FROM unnest(ARRAY['common / 10', 'id / 1000', 'common % 10, id / 10000']) keys, groups_of('detailed WHERE common < 600 AND id BETWEEN 30010 AND 89990', keys);
-- of columns that follow the order of the table, up or down, and so follow each other; and of arrays
CREATE TABLE spans WITH (autovacuum_enabled = off) AS
    SELECT i id, begun, begun + i * 7919 % 11 * interval '7 minutes' AS ended, date '2030-01-01' - (i / 100) AS due, ARRAY[i % 5, i] AS numbers
    FROM (SELECT i, timestamp '2020-01-01' + i * interval '20 minutes' AS begun FROM generate_series(1, 100000) i) q;
VACUUM (FREEZE, ANALYZE) spans;
SELECT keys, postgres BETWEEN actual / 3 AND actual * 3 AS postgres, host BETWEEN actual / 3 AND actual * 3 AS host, actual FROM unnest(ARRAY[
    $$extract(hour FROM ended - begun)$$, $$extract(epoch FROM ended - begun) > 600$$, $$(ended - begun) / 2 > interval '1 hour'$$, $$ended::date - begun::date$$, $$(due - begun::date) / 100$$,
    $$numbers[1]$$, $$numbers[1] + numbers[2] % 3$$
]) keys, groups_of('spans', keys);
SELECT host BETWEEN actual / 3 AND actual * 3 AS host, actual FROM groups_of($$spans WHERE begun >= '2021-01-01' AND begun < '2021-02-01'$$, $$ended::date - begun::date, extract(day FROM begun)$$);
-- of all grouping sets; PostgreSQL has a table for some of them, or for none, which differs by version
SELECT keys, coalesce(postgres <= actual * 2, true) AS postgres, host BETWEEN actual / 2 AND actual * 2 AS host, actual FROM unnest(ARRAY[
    $$CUBE (id % 7, small % 8)$$, $$ROLLUP (extract(year FROM at), extract(month FROM at), big % 4)$$, $$GROUPING SETS ((at::date), (day, id % 2), ())$$
]) keys, groups_of('t', keys);
-- of each partition the parent's
CREATE TABLE parted (id int, day date) PARTITION BY HASH (id);
CREATE TABLE parted0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0) WITH (autovacuum_enabled = off);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1) WITH (autovacuum_enabled = off);
INSERT INTO parted SELECT id, day FROM t;
VACUUM (FREEZE, ANALYZE) parted;
SELECT host BETWEEN actual / 2 AND actual * 2 AS host, actual FROM groups_of('parted', $$date_trunc('month', day)$$);

-- What functions can be at most: without statistics, or of what a subquery computes. (NULL counts as a value.)
SELECT keys, postgres, host, actual FROM unnest(ARRAY[
    $$extract(dow FROM day), id % 10$$, $$extract(month FROM day - timestamp '2021-07-01')$$, $$extract(month FROM age(day, date '2021-06-15'))$$, $$CASE WHEN id % 3 = 0 THEN 'a' WHEN id % 3 = 1 THEN 'b' END || (id > 7)$$, $$coalesce(CASE WHEN id % 2 = 0 THEN id % 2 END, id % 3)$$
]) keys, groups_of('unknown', keys);
-- A column of a subquery is what that computes it from. (PostgreSQL's plan of one makes the subquery's groups as well.)
SELECT relations, keys, postgres - inner_groups BETWEEN actual / 2 AND actual * 2 + 1 AS postgres, actual FROM (VALUES
    ($$(SELECT at, lag(id) OVER (ORDER BY at) AS before, id FROM t) q$$, $$date_trunc('month', at), id % 2$$, 0), ($$(SELECT at::date AS day, id, row_number() OVER () FROM t) q$$, $$date_trunc('year', day)$$, 0),
    ($$(SELECT small % 50 AS part, day FROM t OFFSET 0) q$$, $$part / 10$$, 0), ($$(SELECT * FROM (SELECT at, id FROM t OFFSET 0) q OFFSET 0) q$$, $$extract(year FROM at)$$, 0),
    ($$(SELECT day, count(*) n FROM t GROUP BY day) q$$, $$extract(year FROM day)$$, 1400), ($$(SELECT day, count(*) n FROM t GROUP BY day) q$$, $$n > 0$$, 1400)
) q(relations, keys, inner_groups), groups_of(relations, keys);
SELECT postgres <= 1400 * 2 + 4 AS postgres, actual FROM groups_of('(SELECT day, count(*) n FROM t GROUP BY day) q', 'n % 4');

-- PostgreSQL's own statistics of an expression go first, and say what it expects: an index's, and extended ones, of several as well.
CREATE TABLE measured WITH (autovacuum_enabled = off) AS SELECT id, day, small FROM t;
CREATE INDEX ON measured ((small / 7));
CREATE STATISTICS months ON (date_trunc('month', day)), (extract(quarter FROM day)) FROM measured;
ANALYZE measured;
-- (... which know better how many combinations there are)
SELECT keys, postgres BETWEEN actual / 1.2 AND actual * 1.2 AS postgres, host BETWEEN actual / 1.2 AND actual * 1.2 AS host, actual FROM unnest(ARRAY[
    $$small / 7$$, $$date_trunc('month', day)$$, $$date_trunc('month', day), extract(quarter FROM day)$$, $$date_trunc('month', day), extract(quarter FROM day), id % 2$$
]) keys, groups_of('measured', keys);

-- What goes on above the groups knows their number, if they are a device's.
CREATE FUNCTION shown(query text, node text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN (jsonb_path_query_first(plan::jsonb, 'strict $.**?(@."Node Type" == $node)', jsonb_build_object('node', node)) ->> 'Plan Rows')::float8;
END $$;
SET gpuscan.offload = force;
SELECT keys, rows BETWEEN actual / 2.0 AND actual * 2 AS shown, actual FROM (VALUES
    ($$date_trunc('week', at)$$, 203), ($$date_trunc('week', at) HAVING count(*) > 0$$, 203 / 3), ($$CUBE (id % 7, small % 8)$$, 72), ($$day, small % 3$$, 4200), ($$date_trunc('day', at) LIMIT 7$$, 7)
) q(keys, actual), shown('SELECT count(*) FROM t GROUP BY ' || keys, 'Custom Scan') rows;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT shown('SELECT DISTINCT at::date FROM t', 'Custom Scan') BETWEEN 700 AND 2800 AS of_distinct,
    shown('SELECT at::date, stddev(count(*)) OVER () FROM t GROUP BY 1', 'WindowAgg') BETWEEN 700 AND 2800 AS in_window,
    shown($$SELECT * FROM (SELECT date_trunc('month', at)::date AS day, count(*) FROM t GROUP BY 1) q JOIN (SELECT date_trunc('month', day)::date AS day, count(*) FROM t GROUP BY 1) u USING (day)$$, 'Hash Join') < 500 AS joined;
RESET enable_mergejoin;
RESET enable_nestloop;
RESET gpuscan.offload;

-- A column alone is as PostgreSQL expects it. So is what may not be evaluated: it is not PostgreSQL's own, differs from call to
-- call, is a set or a subquery, or raises an error for a value that the query may never meet; and what is not worth it, or without statistics.
-- (A security barrier hides those of the tables below.)
CREATE FUNCTION half(int) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'half(%)', $1; RETURN $1 / 2; END$$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, day FROM t;
CREATE FUNCTION expected(relations text, keys text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) SELECT count(*) FROM ' || relations || ' GROUP BY ' || keys INTO plan;
    RETURN (plan->0->'Plan'->>'Plan Rows')::float8;
END $$;
SELECT keys, amount_of('SELECT count(*) FROM ' || relations || ' GROUP BY ' || keys, 'postgresql', 'group_made') = expected(relations, keys) AS as_expected FROM (VALUES
    ('t', 'id'), ('t', 'half(id)'), ('t', '(id * random())::int'), ('t', '(SELECT small)'), ('t', 'ends + 1'),
    ('few', $$extract(year FROM day)$$), ('barrier', $$extract(year FROM day)$$), ('unknown', $$extract(year FROM day)$$)
) q(relations, keys);
-- Planning changes nothing, calls no code of users, and waits for no value that the query never meets.
CREATE SEQUENCE calls;
CREATE FUNCTION called(int) RETURNS bool LANGUAGE plpgsql AS $$BEGIN PERFORM nextval('group_count.calls'); RETURN true; END$$;
CREATE DOMAIN checked AS int CHECK (called(VALUE));
CREATE TYPE composite AS (x checked);
CREATE VIEW counted AS SELECT nextval('calls');
BEGIN;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t GROUP BY id % 7 + txid_current();
SELECT pg_current_xact_id_if_assigned() IS NULL AS none;
COMMIT;
SELECT expected('t', $$('{' || id || '}')::checked[]::text$$) > 0 AS planned, expected('t', $$('(' || id || ')')::composite$$) > 0 AS planned,
    expected('t', $$jsonb_populate_record(NULL::composite, ('{"x":' || id || '}')::jsonb)$$) > 0 AS planned, expected('t', $$length(table_to_xml('counted'::regclass, id > 0, true, '')::text)$$) > 0 AS planned;
SELECT is_called FROM calls;
SET statement_timeout = '60s';
SELECT expected('(SELECT * FROM t WHERE id < 10) u', $$length(repeat('x', id * 100))$$) > 0 AS planned, expected('t', $$length(repeat('x', id * 1000))$$) > 0 AS planned,
    expected('t', $$length(factorial(small)::text)$$) > 0 AS planned;
RESET statement_timeout;
-- Values of statistics that the user may not see decide nothing.
CREATE ROLE group_count_reader;
GRANT USAGE ON SCHEMA group_count TO group_count_reader;
GRANT SELECT (id, day) ON t TO group_count_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON t USING (id > 0);
SET ROLE group_count_reader;
SELECT amount_of('SELECT count(*) FROM t GROUP BY extract(year FROM day)', 'postgresql', 'group_made') = expected('t', 'extract(year FROM day)') AS as_expected;
RESET ROLE;
SELECT amount_of('SELECT count(*) FROM t GROUP BY extract(year FROM day)', 'postgresql', 'group_made') AS years;

DROP SCHEMA group_count CASCADE;
DROP ROLE group_count_reader;
