-- Statements that write what a device has answered, while their plan has a part for parallel workers.
CREATE SCHEMA statements;
SET search_path = statements, public;
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE TABLE big WITH (parallel_workers = 2) AS SELECT i AS id, i % 100 AS n, 'text ' || i % 500 AS s, CASE WHEN i % 7 = 0 THEN 'x' ELSE i::text END AS digits FROM generate_series(1, 30000) i;
VACUUM (FREEZE, ANALYZE) big;
CREATE FUNCTION last_digit(text) RETURNS int IMMUTABLE STRICT PARALLEL SAFE LANGUAGE plpgsql AS $$ BEGIN RETURN right($1, 1)::int; END $$;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET gpuscan.offload = force;
-- Functions that may fail are called in a subtransaction.
CREATE TABLE made AS SELECT count(*) FROM big WHERE repeat(s, 2) LIKE '%9%';
CREATE TABLE grouped AS SELECT last_digit(s) AS digit, count(*) FROM big GROUP BY 1;
SELECT count(*) INTO chosen FROM big WHERE last_digit(s) > 4;
CREATE MATERIALIZED VIEW kept AS SELECT count(*) FROM big WHERE repeat(s, 2) LIKE '%9%' AND last_digit(s) = 9;
REFRESH MATERIALIZED VIEW kept;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) CREATE TABLE explained AS SELECT count(*) FROM big WHERE last_digit(s) > 4 \g /dev/null
-- One that fails, for all rows and for none that is asked for.
CREATE TABLE failed AS SELECT count(*) FROM big WHERE last_digit(digits) > 4;
CREATE TABLE spared AS SELECT count(*) FROM big WHERE id % 7 <> 0 AND last_digit(digits) > 4;
-- What every row evaluates alike.
CREATE TABLE alike AS SELECT count(*) FROM big WHERE n < last_digit(to_char(now(), '"9"'));
-- Within subtransactions of the user's, some of which are rolled back.
BEGIN;
SAVEPOINT a;
CREATE TABLE inner_1 AS SELECT count(*) FROM big WHERE last_digit(s) > 4;
SAVEPOINT b;
CREATE TABLE inner_2 AS SELECT count(*) FROM big WHERE last_digit(digits) > 4;
ROLLBACK TO b;
CREATE TABLE inner_2 AS SELECT count(*) FROM big WHERE last_digit(s) > 5;
COMMIT;
DO $$ BEGIN
    CREATE TABLE within AS SELECT count(*) FROM big WHERE last_digit(s) > 4;
    BEGIN
        CREATE TABLE beneath AS SELECT count(*) FROM big WHERE last_digit(digits) > 4;
    EXCEPTION WHEN invalid_text_representation THEN
        CREATE TABLE beneath AS SELECT count(*) FROM big WHERE last_digit(s) > 6;
    END;
END $$;
RESET gpuscan.offload;
SELECT 'made' AS of, * FROM made UNION ALL SELECT 'chosen', * FROM chosen UNION ALL SELECT 'kept', * FROM kept UNION ALL SELECT 'explained', * FROM explained
    UNION ALL SELECT 'spared', * FROM spared UNION ALL SELECT 'alike', * FROM alike UNION ALL SELECT 'inner_1', * FROM inner_1
    UNION ALL SELECT 'inner_2', * FROM inner_2 UNION ALL SELECT 'within', * FROM within UNION ALL SELECT 'beneath', * FROM beneath ORDER BY 1;
SELECT * FROM grouped ORDER BY 1;

-- Groups without a text, more than are searched for those that they show.
CREATE TABLE many AS SELECT i AS id, NULL::text AS t FROM generate_series(1, 70000) i;
CREATE TABLE none (id int, t text);
VACUUM (FREEZE, ANALYZE) many;
SELECT check_query('SELECT id, t, count(*) FROM many GROUP BY id, t');
SELECT check_query('SELECT id, min(t), count(*) FROM many GROUP BY id');
SELECT check_query('SELECT many.id, none.t, count(*) FROM many LEFT JOIN none ON none.id = many.id GROUP BY 1, 2');
SELECT check_query('SELECT id, t FROM many');
DROP SCHEMA statements CASCADE;
