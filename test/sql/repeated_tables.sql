-- Rows of joins with grouped subqueries that read a table of their query: by which plans are compared, beside those that PostgreSQL
-- expects and those that there are.
CREATE SCHEMA repeated_tables;
SET search_path = repeated_tables, public;
SET max_parallel_workers_per_gather = 0;
SET gpuscan.device = host;
CREATE TABLE part (id int PRIMARY KEY, brand int, size int, other int) WITH (autovacuum_enabled = off);
INSERT INTO part SELECT i, i % 50, i % 7, i FROM generate_series(1, 5000) i;
CREATE TABLE item (part int, shop int, kind int, price int, day date) WITH (autovacuum_enabled = off);
INSERT INTO item SELECT 1 + i % 5000, i / 5000, i % 7, i * 7919 % 10007, date '2020-01-01' + i * 31 % 997 FROM generate_series(1, 60000) i;
VACUUM (FREEZE, ANALYZE) part, item;

-- (The joined rows are what one more aggregate counts. Right: within a half.)
CREATE FUNCTION transitions(query text) RETURNS float8 LANGUAGE sql AS $$
    SELECT amount FROM gpuscan_explain_cost(query) WHERE alternative = 'postgresql' AND work = 'transition'
$$;
CREATE FUNCTION count_of(relations text, OUT expected float8, OUT counted float8, OUT actual float8) LANGUAGE plpgsql AS $$
DECLARE
    query text := 'SELECT count(*) FROM ' || relations;
    plan json;
BEGIN
    counted := transitions('SELECT count(*), bool_and(true) FROM ' || relations) - transitions(query);
    PERFORM set_config('gpuscan.offload', 'off', true);
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    EXECUTE query INTO actual;
    PERFORM set_config('gpuscan.offload', 'auto', true);
    expected := (plan->0->'Plan'->'Plans'->0->>'Plan Rows')::float8;
END $$;
CREATE FUNCTION judge(relations text, OUT as_expected bool, OUT counted_right bool, OUT expected_right bool) LANGUAGE sql AS $$
    SELECT abs(counted - expected) <= 1, counted BETWEEN actual / 1.5 - 1 AND actual * 1.5 + 1, expected BETWEEN actual / 1.5 - 1 AND actual * 1.5 + 1
    FROM count_of(relations)
$$;

-- The condition of one side stands on the other one, too.
SELECT about, s.* FROM (VALUES
    ('one key', $$part p JOIN (SELECT part, count(*) n FROM item i JOIN part q ON q.id = i.part WHERE q.brand = 3 GROUP BY part) g ON g.part = p.id WHERE p.brand = 3$$),
    ('two keys', $$part p JOIN (SELECT part, shop, count(*) n FROM item i JOIN part q ON q.id = i.part WHERE q.brand = 3 GROUP BY part, shop) g ON g.part = p.id WHERE p.brand = 3$$),
    ('IN', $$part p JOIN (SELECT part, count(*) n FROM item i WHERE part IN (SELECT id FROM part WHERE brand = 3) GROUP BY part) g ON g.part = p.id WHERE p.brand = 3$$),
    ('its own key', $$part p JOIN (SELECT id, max(size) n FROM part WHERE brand = 3 GROUP BY id) g ON g.id = p.id WHERE p.brand = 3$$),
    ('one of two', $$part p JOIN (SELECT part, shop, count(*) n FROM item i JOIN part q ON q.id = i.part WHERE q.brand = 3 GROUP BY part, shop) g ON g.part = p.id WHERE p.brand = 3 AND p.size < 4$$)
) queries(about, relations), judge(relations) s;
-- Here it does not, or decides nothing.
SELECT about, s.as_expected FROM (VALUES
    ('another one', $$part p JOIN (SELECT part, count(*) n FROM item i JOIN part q ON q.id = i.part WHERE q.brand = 3 GROUP BY part) g ON g.part = p.id WHERE p.brand = 4$$),
    ('no condition', $$part p JOIN (SELECT part, count(*) n FROM item i JOIN part q ON q.id = i.part GROUP BY part) g ON g.part = p.id$$),
    ('by another column', $$part p JOIN (SELECT part, count(*) n FROM item i JOIN part q ON q.id = i.part WHERE q.brand = 3 GROUP BY part) g ON g.part = p.other WHERE p.brand = 3$$),
    ('an aggregate', $$part p JOIN (SELECT shop, max(part) most FROM item i JOIN part q ON q.id = i.part WHERE q.brand = 3 GROUP BY shop) g ON g.most = p.id WHERE p.brand = 3$$),
    ('outer join', $$part p LEFT JOIN (SELECT part, shop, count(*) n FROM item i JOIN part q ON q.id = i.part WHERE q.brand = 3 GROUP BY part, shop) g ON g.part = p.id WHERE p.brand = 3$$)
) queries(about, relations), judge(relations) s;

-- Each group's extreme value is in one of its rows.
SELECT about, s.* FROM (VALUES
    ('the latest', $$item i JOIN (SELECT part, max(day) latest FROM item GROUP BY part) g ON g.part = i.part AND g.latest = i.day$$),
    ('the least of two keys', $$item i JOIN (SELECT kind, shop, min(price) least FROM item GROUP BY kind, shop) g ON g.kind = i.kind AND g.shop = i.shop AND g.least = i.price$$),
    ('beside a third', $$item i JOIN (SELECT part, min(price) least FROM item GROUP BY part) g ON g.part = i.part AND g.least = i.price JOIN part p ON p.id = i.part$$)
) queries(about, relations), judge(relations) s;
SELECT about, s.as_expected FROM (VALUES
    ('the average', $$item i JOIN (SELECT part, avg(price)::int mean FROM item GROUP BY part) g ON g.part = i.part AND g.mean = i.price$$),
    ('of some rows', $$item i JOIN (SELECT part, min(price) FILTER (WHERE shop = 1) least FROM item GROUP BY part) g ON g.part = i.part AND g.least = i.price$$),
    ('of another column', $$item i JOIN (SELECT part, min(shop) least FROM item GROUP BY part) g ON g.part = i.part AND g.least = i.price$$),
    ('of fewer keys', $$item i JOIN (SELECT part, shop, min(price) least FROM item GROUP BY part, shop) g ON g.shop = i.shop AND g.least = i.price$$),
    ('of another table', $$part p JOIN (SELECT part, min(price) least FROM item GROUP BY part) g ON g.part = p.id AND g.least = p.other$$)
) queries(about, relations), judge(relations) s;

-- What two nodes of one plan read of a table is brought once, if the first one has all of it. (Pages that are decoded, in tables.)
SET gpuscan.offload = force;
CREATE FUNCTION tables_brought(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE pages float8;
BEGIN
    PERFORM gpuscan_evict('item');
    SELECT amount INTO pages FROM gpuscan_explain_cost(query) WHERE alternative = 'host' AND work = 'page_decoded';
    RETURN round((pages / (SELECT relpages FROM pg_class WHERE oid = 'item'::regclass))::numeric, 1);
END $$;
SELECT about, tables_brought(query) FROM (VALUES
    ('the same columns', $$SELECT sum(i.price), max(most) FROM item i JOIN (SELECT part, max(price) most FROM item GROUP BY part ORDER BY part LIMIT 4000) g ON g.part = i.part$$),
    ('fewer', $$SELECT count(*), max(most) FROM item i JOIN (SELECT part, max(price) most FROM item GROUP BY part ORDER BY part LIMIT 4000) g ON g.part = i.part$$),
    ('others', $$SELECT sum(i.shop), max(most) FROM item i JOIN (SELECT part, max(price) most FROM item GROUP BY part ORDER BY part LIMIT 4000) g ON g.part = i.part$$)
) queries(about, query);

SET client_min_messages = warning;
DROP SCHEMA repeated_tables CASCADE;
