-- Rows by which PostgreSQL's plan is counted where PostgreSQL has to guess: conditions on functions of a column, tried on the column's statistics.
-- (Joins on keys of several columns: plan_time.)
CREATE SCHEMA row_corrections;
SET search_path = row_corrections, public;
SET max_parallel_workers_per_gather = 0;
SET gpuscan.device = host;
SET timezone = 'Europe/Berlin';
CREATE TABLE t (id int PRIMARY KEY, phone text NOT NULL, name varchar(20), size int, day date, at timestamp, price numeric(10, 2), kind text, gone text, free numeric,
                plain int, whole int) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, 10 + i % 25 || '-' || 100000 + i * 7919 % 90000, CASE WHEN i % 4 > 0 THEN 'Name ' || i % 5000 END, i * 13 % 1000, date '1992-01-01' + i % 2500,
    timestamp '1992-01-01' + i % 2500 * interval '1 day' + i % 24 * interval '1 hour', i % 9000 / 7.0, (array['Red', 'red', 'Green', 'BLUE'])[1 + i % 4], NULL, i, i, i % 10
FROM generate_series(1, 20000) i;
CREATE TABLE u (id int PRIMARY KEY, t int, x int) WITH (autovacuum_enabled = off);
INSERT INTO u SELECT i, i, i % 10 FROM generate_series(1, 20000) i;
VACUUM (FREEZE, ANALYZE) t, u;

-- Rows that PostgreSQL's aggregate is given: as it expects them, as they are counted, as there are. Counted ones are right within a third.
CREATE FUNCTION rows_of(relation text, condition text, OUT expected float8, OUT counted float8, OUT real float8) LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT count(*) FROM %s WHERE %s', relation, condition);
    plan json;
BEGIN
    SELECT amount INTO counted FROM gpuscan_explain_cost(query) WHERE alternative = 'postgresql' AND component = 'steps' AND work = 'transition';
    PERFORM set_config('gpuscan.offload', 'off', true);
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    expected := (plan->0->'Plan'->'Plans'->0->>'Plan Rows')::float8;
    EXECUTE query INTO real;
    PERFORM set_config('gpuscan.offload', 'auto', true);
END $$;
CREATE FUNCTION show(relation text, condition text, OUT as_expected bool, OUT counted_right bool, OUT expected_right bool) LANGUAGE sql AS $$
    SELECT abs(counted - expected) <= 1, counted BETWEEN real / 1.34 - 1 AND real * 1.34 + 1, expected BETWEEN real / 1.34 - 1 AND real * 1.34 + 1 FROM rows_of(relation, condition)
$$;

-- Better than a default.
SELECT c, s.* FROM unnest(ARRAY[
    $$substring(phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')$$,
    $$left(phone, 1) = '2'$$,
    $$lower(kind) = 'red'$$,
    $$length(name) > 8$$,
    $$length(name) > 7 AND length(name) < 9$$,
    $$upper(name) LIKE 'NAME 1%'$$,
    $$name || 'x' < 'Name 2'$$,
    $$coalesce(name, 'none') = 'none'$$,
    $$(length(name) > 8) IS NOT TRUE$$,
    $$CASE kind WHEN 'Red' THEN 1 WHEN 'BLUE' THEN 2 ELSE 3 END < 3$$,
    $$size % 10 = 3$$,
    $$size / 100 IN (1, 2, 3)$$,
    $$size + 1 > 900$$,
    $$NOT (size * 2 + 1 < 500 OR size % 2 = 0)$$,
    $$price * 2 > 2000$$,
    $$date_trunc('year', at) = '1994-01-01'$$,
    $$date_trunc('year', day) = '1994-01-01'$$,
    $$extract(year FROM day) = 1995$$,
    $$date_part('month', at) < 4$$,
    $$at::date - date '1992-01-01' < 500$$,
    $$extract(hour FROM at) = 7 OR extract(month FROM at) = 12$$,
    $$size % 10 = 3 AND extract(year FROM day) = 1995$$,
    $$size > 500 AND lower(kind) = 'red'$$,
    $$lower(kind) = 'red' AND upper(kind) = 'RED'$$
]) c, show('t', c) s;
-- Nothing but NULLs; without them, the condition's own say.
SELECT c, s.* FROM unnest(ARRAY[$$length(gone) > 3$$, $$coalesce(gone, 'x') = 'x'$$]) c, show('t', c) s;

-- What PostgreSQL has statistics for is left to it.
SELECT c, s.as_expected FROM unnest(ARRAY[
    $$size = 3$$, $$size IN (1, 2, 3)$$, $$kind LIKE 'R%'$$, $$name IS NULL$$, $$size < 500 OR kind = 'Red'$$, $$day < date '1994-01-01' + 7$$, $$starts_with(name, 'Name 1')$$,
    $$name::text = 'Name 1'$$
]) c, show('t', c) s;
-- So is what may not be evaluated: it could raise an error, is not PostgreSQL's own, differs from call to call, or takes as long as it likes.
CREATE FUNCTION half(int) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN $1 / 2; END';
SELECT c, s.as_expected FROM unnest(ARRAY[
    $$1000 / (size + 1) > 5$$, $$substring(phone, 1, size) = '1'$$, $$left(phone, 2)::int = 13$$, $$half(size) = 4$$, $$size % 10 = (random() * 10)::int$$,
    $$repeat(phone, 2) > '2'$$, $$size % whole = 5$$, $$size % 10 = whole % 10$$, $$size % 10 = (SELECT 3)$$
]) c, (SELECT true) x, LATERAL (SELECT abs(amount - rows) <= 1 AS as_expected FROM (
    SELECT max(amount) AS amount FROM gpuscan_explain_cost('SELECT count(*) FROM t WHERE ' || c) WHERE alternative = 'postgresql' AND component = 'steps' AND work = 'transition') a,
    (SELECT 1) one, LATERAL plan_rows('SELECT count(*) FROM t WHERE ' || c) rows) s;
