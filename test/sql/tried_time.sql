-- What an expression takes is known before the cache has evaluated it: it is tried on values from its columns' statistics.
CREATE SCHEMA tried_time;
SET search_path = tried_time, public;
SET max_parallel_workers_per_gather = 0;
SET gpuscan.offload = auto;
CREATE TABLE t AS SELECT i AS id, 'user' || i || '@host' || i % 50 || '.example/' || md5(i::text) || '/' || md5((i + 1)::text) AS url, NULL::text AS nothing,
    jsonb_build_object('a', i % 10, 'b', 'b' || i % 7) AS doc FROM generate_series(1, 60000) i;
VACUUM (FREEZE, ANALYZE) t;
CREATE TABLE few AS SELECT * FROM t LIMIT 500;
VACUUM (FREEZE, ANALYZE) few;
CREATE FUNCTION postgres_ms(query text) RETURNS float8 LANGUAGE sql AS $$
    SELECT ms FROM gpuscan.explain_cost(query) WHERE alternative = 'postgresql' AND component = 'total'
$$;
-- PostgreSQL's costs of these are the same, but not what they take. (Less than twice what a comparison takes before: 60,000 * 114 ns.)
SELECT postgres_ms($$SELECT count(*) FROM t WHERE url ~ '([a-f]+[0-9]){4}.*z$'$$) > 3 * postgres_ms($$SELECT count(*) FROM t WHERE url = 'x'$$) AS expression_is_dear;
SELECT postgres_ms($$SELECT count(*) FROM t WHERE regexp_replace(url, '[0-9]+', 'n', 'g') = 'x'$$) > 3 * postgres_ms($$SELECT count(*) FROM t WHERE url = 'x'$$) AS as_an_argument;
-- The same each time, as it is known now.
SELECT postgres_ms(q) = postgres_ms(q) AS same FROM (VALUES ($$SELECT count(*) FROM t WHERE url ~ '([a-f]+[0-9]){4}.*z$'$$)) AS v (q);
-- An error, no values, a parameter, too few rows, a table without statistics, a domain: not tried, and nothing else happens.
SELECT count(*) > 0 AS priced FROM gpuscan.explain_cost('SELECT count(*) FROM t WHERE url::int = 5');
SELECT count(*) > 0 AS priced FROM gpuscan.explain_cost('SELECT count(*) FROM t WHERE 1 / (length(url) - length(url)) = 1');
SELECT count(*) > 0 AS priced FROM gpuscan.explain_cost('SELECT count(*) FROM t WHERE upper(nothing) LIKE ''A%''');
SELECT count(*) > 0 AS priced FROM gpuscan.explain_cost('SELECT count(*) FROM few WHERE url ~ ''a+b''');
PREPARE by_parameter (text) AS SELECT count(*) FROM t WHERE url ~ $1;
EXECUTE by_parameter ('user59999@');
CREATE TABLE unknown AS SELECT url FROM t;
SELECT count(*) FROM unknown WHERE url ~ 'user5999[0-9]@';
CREATE DOMAIN link AS text CHECK (length(VALUE) > 0);
CREATE TABLE of_domain AS SELECT url::link AS url FROM t;
VACUUM (FREEZE, ANALYZE) of_domain;
SELECT count(*) FROM of_domain WHERE upper(url) LIKE 'USER5999_@%';
-- In a subtransaction.
BEGIN;
SAVEPOINT s;
SELECT count(*) > 0 AS priced FROM gpuscan.explain_cost('SELECT count(*) FROM t WHERE doc ->> ''b'' ~ ''b[3-5]'' AND url::int = 5');
ROLLBACK TO s;
SELECT count(*) FROM t WHERE doc ->> 'b' ~ 'b[3-5]';
COMMIT;
-- Values that the user may not see are not tried for him.
CREATE ROLE tried_time_reader;
GRANT USAGE ON SCHEMA tried_time TO tried_time_reader;
GRANT SELECT ON t TO tried_time_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON t USING (id <= 10);
SET ROLE tried_time_reader;
SELECT count(*) FROM t WHERE url ~ 'user[0-9]@h';
SELECT count(*) FROM t WHERE md5(url) <> '' AND length(repeat(url, 2)) > 0;
RESET ROLE;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;

-- A condition over a column of unique texts, evaluated by PostgreSQL and then kept by the device, is paid for by the executions that it
-- would have saved, as columns are. (How many that are is the machine's.)
CREATE FUNCTION executions_until_device(query text, most int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR i IN 1 .. most LOOP
        FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
            IF line LIKE '%GpuScan%' THEN
                EXECUTE query;
                RETURN i;
            END IF;
        END LOOP;
        EXECUTE query;
    END LOOP;
    RETURN NULL;
END
$$;
SELECT gpuscan.evict('t') IS NOT NULL AS evicted;
SELECT executions_until_device($$SELECT count(*) FROM t WHERE url ILIKE '%HOST7.example/a%'$$, 30) IS NOT NULL AS is_bought;
-- It stays: what was evaluated is known to be there.
SELECT executions_until_device($$SELECT count(*) FROM t WHERE url ILIKE '%HOST7.example/a%'$$, 1) AS again;
SELECT count(*) FROM t WHERE url ILIKE '%HOST7.example/a%';
SET gpuscan.offload = off;
SELECT count(*) FROM t WHERE url ILIKE '%HOST7.example/a%';
RESET gpuscan.offload;
DROP OWNED BY tried_time_reader;
DROP ROLE tried_time_reader;
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA tried_time CASCADE;
