-- How many groups are expected where keys are equal to columns of restricted tables, or to constants: in the steps of PostgreSQL's plan and
-- the device's, beside what there is.
CREATE SCHEMA group_bound;
SET search_path = group_bound, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET gpuscan.device = host;
SET enable_sort = off;
CREATE TABLE part (id int PRIMARY KEY, brand int) WITH (autovacuum_enabled = off);
INSERT INTO part SELECT i, i % 50 FROM generate_series(1, 5000) i;
CREATE TABLE item (part int, shop int, price int) WITH (autovacuum_enabled = off);
INSERT INTO item SELECT 1 + i % 5000, i % 3, i * 7919 % 10007 FROM generate_series(1, 60000) i;
VACUUM (FREEZE, ANALYZE) part, item;

CREATE FUNCTION amount_of(query text, one text, step text) RETURNS float8 LANGUAGE sql AS $$
    SELECT sum(amount) FROM gpuscan_explain_cost(query) WHERE alternative = one AND work = step
$$;
CREATE FUNCTION groups_of(relations text, keys text, OUT postgres float8, OUT host float8, OUT actual bigint) LANGUAGE plpgsql AS $$
DECLARE query text := 'SELECT count(*) FROM ' || relations || ' GROUP BY ' || keys;
BEGIN
    postgres := amount_of(query, 'postgresql', 'group_made');
    PERFORM set_config('gpuscan.offload', 'force', true);
    host := amount_of(query, 'host', 'group_emitted');
    EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO actual;
    PERFORM set_config('gpuscan.offload', 'auto', true);
END $$;
SELECT about, postgres BETWEEN actual / 1.5 AND actual * 1.5 AS postgres, host BETWEEN actual / 1.5 AND actual * 1.5 AS host, actual FROM (VALUES
    ('a restricted table''s key', 'item JOIN part ON id = part WHERE brand = 3', 'part'),
    ('that key itself', 'item JOIN part ON id = part WHERE brand = 3', 'id'),
    ('with another', 'item JOIN part ON id = part WHERE brand = 3', 'part, shop'),
    ('unrestricted', 'item JOIN part ON id = part', 'part')
) queries(about, relations, keys), groups_of(relations, keys);
SELECT host, actual FROM groups_of('item WHERE part = 4711', 'part');
-- What no column tells is as PostgreSQL expects it.
SELECT about, postgres > 5 * actual AS postgres, actual FROM (VALUES
    ('an expression', 'item JOIN part ON id = part WHERE brand = 3', 'part + 0'),
    ('not joined by it', 'item JOIN part ON id = part + 0 WHERE brand = 3', 'part')
) queries(about, relations, keys), groups_of(relations, keys);

-- A correlated subquery that is computed for all parts at once is joined as what it is, some hundred rows; what the user groups is PostgreSQL's.
CREATE FUNCTION groups_in(query text, OUT groups float8, OUT postgres float8) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    nodes text := 'strict $.** ? (exists(@."Group Key"))."Plan Rows"';
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    groups := jsonb_path_query_first(plan, nodes::jsonpath);
    EXECUTE 'EXPLAIN (FORMAT json) SELECT part, avg(price) FROM item JOIN part ON id = part WHERE brand = 3 GROUP BY part' INTO plan;
    postgres := jsonb_path_query_first(plan, nodes::jsonpath);
END $$;
SELECT groups <= 110 AS as_many, postgres > 500 AS as_postgres FROM
    groups_in('SELECT sum(i.price) FROM item i JOIN part p ON p.id = i.part WHERE brand = 3 AND i.price < (SELECT avg(price) FROM item WHERE part = p.id)');
DROP SCHEMA group_bound CASCADE;
