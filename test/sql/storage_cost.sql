-- The page cost model: page costs for PostgreSQL's own plans. What a plan costs more than PostgreSQL says is known from the paper's
-- equations; functions have a known number of rows, and a table of their own is the only one with statistics.
CREATE SCHEMA storage_cost;
SET search_path = storage_cost, public;
SET gpuscan.offload = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

CREATE FUNCTION plan_of(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan';
END $$;

-- Weights that differ from each other and from PostgreSQL's; reads stay as they are.
CREATE PROCEDURE weigh(seq_write float8, random_write float8, hashagg_write float8) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpuscan.seq_write_page_cost', seq_write::text, false),
            set_config('gpuscan.random_write_page_cost', random_write::text, false),
            set_config('gpuscan.hashagg_write_page_cost', hashagg_write::text, false);
END $$;

-- What writes that cost 3 in sequence, 7 at random and 10 for a hash aggregation make a plan cost more, by page.
CREATE FUNCTION dearer(query text, pages float8, OUT startup numeric, OUT total numeric) LANGUAGE plpgsql AS $$
DECLARE stock jsonb; tier jsonb;
BEGIN
    stock := plan_of(query);
    CALL weigh(3, 7, 10);
    tier := plan_of(query);
    CALL weigh(-1, -1, -1);
    startup := round(((tier ->> 'Startup Cost')::float8 - (stock ->> 'Startup Cost')::float8)::numeric / pages::numeric, 4);
    total := round(((tier ->> 'Total Cost')::float8 - (stock ->> 'Total Cost')::float8)::numeric / pages::numeric, 4);
END $$;

-- Sort, equation 34 less 33: c_sw + (L - 1) (c_sw + c_rw) / 2 - L c_s, which is 2, 6 and 10 for one, two and three passes. A
-- million rows of 32 bytes are 3,907 pages.
SET work_mem = '32MB';
SELECT * FROM dearer('SELECT * FROM generate_series(1, 1000000) a ORDER BY a', 3907);
SET work_mem = '8MB';
SELECT * FROM dearer('SELECT * FROM generate_series(1, 1000000) a ORDER BY a', 3907);
SET work_mem = '1MB';
SELECT * FROM dearer('SELECT * FROM generate_series(1, 1000000) a ORDER BY a', 3907);
SET work_mem = '256kB';
SELECT * FROM dearer('SELECT * FROM generate_series(1, 1000000) a ORDER BY a', 3907);
-- A few of them are kept in memory.
SELECT * FROM dearer('SELECT * FROM generate_series(1, 1000000) a ORDER BY a LIMIT 10', 3907);

-- Hash join, equation 36 less 35: c_rw - c_s for a page of the inner side before the first row, and as much for a page of the
-- outer side in all. From one batch to two.
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET work_mem = '64MB';
SELECT * FROM dearer('SELECT * FROM generate_series(1, 1000000) a JOIN generate_series(1, 1000000) b ON a = b', 3907);
SET work_mem = '4MB';
SELECT * FROM dearer('SELECT * FROM generate_series(1, 1000000) a JOIN generate_series(1, 1000000) b ON a = b', 3907);
RESET enable_mergejoin;
RESET enable_nestloop;

-- Both sorts of a merge join, of which one is written down behind it: two passes each.
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET work_mem = '1MB';
SELECT * FROM dearer('SELECT * FROM generate_series(1, 1000000) a JOIN generate_series(1, 1000000) b ON a = b', 2 * 3907);
-- ... and they say what a sort costs.
CALL weigh(3, 7, 10);
SELECT DISTINCT (sort ->> 'Startup Cost')::float8 = (plan_of('SELECT * FROM generate_series(1, 1000000) a ORDER BY a') ->> 'Startup Cost')::float8 AS same
FROM jsonb_path_query(plan_of('SELECT * FROM generate_series(1, 1000000) a JOIN generate_series(1, 1000000) b ON a = b'),
                      'strict $.** ? (@."Node Type" == "Sort")') sort;
CALL weigh(-1, -1, -1);
RESET enable_hashjoin;
RESET enable_nestloop;

-- Materialized rows, equations 31 and 32: writing costs c_sw, reading again what it did. 30,000 rows of 32 bytes are 118 pages.
SET work_mem = '64kB';
SELECT * FROM dearer('SELECT * FROM generate_series(1, 10) a, (SELECT b + 0 AS b FROM generate_series(1, 30000) b OFFSET 0) x WHERE a < b', 118);

-- Hash aggregation writes with a cost of its own; PostgreSQL charges random_page_cost. 20,000 rows in pages of 256, twice.
SET work_mem = '256kB';
CREATE TABLE numbers AS SELECT a FROM generate_series(1, 20000) a;
ANALYZE numbers;
SET enable_sort = off;
SELECT * FROM dearer('SELECT a FROM numbers GROUP BY a', 2 * 20000 / 256.0);
RESET enable_sort;

-- PostgreSQL's own costs in other words: plans and costs are the same. So they are where a write costs a trifle more, for which
-- joins with files are made again.
SET work_mem = '256kB';
CREATE FUNCTION same_plan(query text, write float8) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE stock jsonb; tier jsonb;
BEGIN
    stock := plan_of(query);
    PERFORM set_config('gpuscan.seq_read_page_cost', '1', false), set_config('gpuscan.random_read_page_cost', '4', false);
    CALL weigh(write, write, 4);
    tier := plan_of(query);
    CALL weigh(-1, -1, -1);
    PERFORM set_config('gpuscan.seq_read_page_cost', '-1', false), set_config('gpuscan.random_read_page_cost', '-1', false);
    RETURN stock = tier;
END $$;
SELECT query, cost FROM (VALUES
    ('SELECT * FROM generate_series(1, 1000000) a JOIN generate_series(1, 1000000) b ON a = b ORDER BY a LIMIT 10'),
    ('SELECT a, count(*) FROM numbers GROUP BY ROLLUP (a) ORDER BY 2'),
    ('SELECT DISTINCT a FROM numbers UNION SELECT b FROM generate_series(1, 100000) b'),
    ('SELECT a, rank() OVER (ORDER BY a % 7), sum(a) OVER (ORDER BY a % 3) FROM numbers'),
    ('SELECT * FROM numbers n WHERE EXISTS (SELECT FROM generate_series(1, 100000) b WHERE b = a)'),
    ('SELECT * FROM numbers x, numbers y, numbers z WHERE x.a = y.a AND y.a < z.a AND x.a NOT IN (SELECT b FROM generate_series(1, 100000) b)')
) queries (query), (VALUES (1), (1.000000000001)) writes (cost) WHERE NOT same_plan(query, cost::float8);

-- Reads: scans, and what tablespaces say goes before.
SET gpuscan.seq_read_page_cost = 3;
SELECT round(((plan_of('SELECT * FROM numbers') ->> 'Total Cost')::float8 - 200)::numeric / relpages, 2) AS page
FROM pg_class WHERE oid = 'numbers'::regclass;
RESET gpuscan.seq_read_page_cost;

CREATE TABLE numbers_twice AS SELECT a, md5(a::text) AS b FROM generate_series(1, 300000) a;
ANALYZE numbers_twice;
-- Dear random writes flip a plan: the hash join writes its batches at random, a sort of one pass only in sequence.
SET work_mem = '4MB';
SELECT plan_of('SELECT * FROM numbers_twice a JOIN numbers_twice b USING (a)') ->> 'Node Type' AS stock;
CALL weigh(1, 30, -1);
SELECT plan_of('SELECT * FROM numbers_twice a JOIN numbers_twice b USING (a)') ->> 'Node Type' AS dear;
CALL weigh(-1, -1, -1);

-- Whatever happens while a statement is planned, the page costs are the user's afterwards: errors, queries within planning,
-- functions that set them.
CALL weigh(3, 7, 10);
SELECT a / 0 FROM generate_series(1, 1000000) a WHERE 1 / 0 = 1 ORDER BY a;
SHOW seq_page_cost;
SHOW random_page_cost;
CREATE FUNCTION cost_within(setting text) RETURNS float8 IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    RETURN (plan_of('SELECT * FROM numbers') ->> 'Total Cost')::float8;
END $$;
CREATE FUNCTION cost_within_others() RETURNS float8 IMMUTABLE LANGUAGE plpgsql SET seq_page_cost = 3 AS $$
BEGIN
    RETURN (plan_of('SELECT * FROM numbers') ->> 'Total Cost')::float8;
END $$;
CREATE FUNCTION cost_within_none() RETURNS float8 IMMUTABLE LANGUAGE plpgsql SET gpuscan.seq_write_page_cost = -1
    SET gpuscan.random_write_page_cost = -1 SET gpuscan.hashagg_write_page_cost = -1 AS $$
BEGIN
    RETURN (plan_of('SELECT * FROM numbers') ->> 'Total Cost')::float8;
END $$;
PREPARE folded AS SELECT a, cost_within('x') - relpages - 200 AS as_outside, (cost_within_others() - 200) / relpages AS others,
    cost_within_none() - relpages - 200 AS none
FROM (SELECT a FROM numbers ORDER BY a LIMIT 1) x, pg_class WHERE oid = 'numbers'::regclass;
EXECUTE folded;
SHOW seq_page_cost;
SHOW random_page_cost;
CREATE FUNCTION fails_within() RETURNS int IMMUTABLE LANGUAGE plpgsql SET seq_page_cost = 3 AS $$
BEGIN
    RAISE EXCEPTION 'an error while planning';
END $$;
CREATE FUNCTION catches(query text) RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE query;
EXCEPTION WHEN raise_exception THEN
    RETURN current_setting('seq_page_cost');
END $$;
SET gpuscan.seq_read_page_cost = 0.3;
EXPLAIN SELECT a FROM numbers WHERE a < fails_within();
SHOW seq_page_cost;
SHOW random_page_cost;
SELECT catches('SELECT a FROM numbers WHERE a < fails_within()');
SHOW seq_page_cost;
RESET gpuscan.seq_read_page_cost;
RESET gpuscan.seq_write_page_cost;
RESET gpuscan.random_write_page_cost;
RESET gpuscan.hashagg_write_page_cost;
SET gpuscan.seq_write_page_cost = -2;

SET client_min_messages = warning;
DROP SCHEMA storage_cost CASCADE;
