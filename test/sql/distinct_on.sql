-- DISTINCT ON as the first rows of a window: keys, orders, what is below and above, errors, who may read, what is left to PostgreSQL.
CREATE SCHEMA distinct_on;
SET client_min_messages = warning;
SET search_path = distinct_on, public;
SET gpuscan.device = host;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE t AS SELECT i AS id, nullif(i * 7919 % 60, 7) AS k, (nullif(i * 31 % 7, 2) - 3)::int2 AS s, nullif(i * 17 % 40, 5) / 4.0::float8 - 3 AS f8, (nullif(i * 13 % 500, 8) / 4.0)::numeric(10,2) AS n, (i % 70 / 8.0)::numeric AS p, date '2024-01-01' + nullif(i * 11 % 90, 9) AS d, timestamp '2024-01-01' + (i * 37 % 1000) * interval '1 minute' AS ts, nullif(i % 3, 1) = 0 AS g, nullif((ARRAY['b', 'B', 'a', 'ä', 'Z', 'zz', '', ' ', 'a b', 'A-b', '10', '9', 'é'])[i % 13 + 1], '9') AS t, ARRAY[i % 4] AS a, jsonb_build_object('x', i % 5) AS j FROM generate_series(1, 2000) i;
INSERT INTO t (id, k, f8, n, t, d) VALUES (-1, 3, 'NaN', NULL, '', 'infinity'), (-2, 3, 'Infinity', 1, '', '-infinity'), (-3, 3, '-0', 0, 'a', NULL), (-4, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 9 AS name FROM generate_series(0, 55) i;
CREATE TABLE parts (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM t;
CREATE TABLE none AS SELECT * FROM t WHERE false;
VACUUM (FREEZE, ANALYZE);

-- one key and more, in each direction, of each type; what else is shown
SELECT check_windows('SELECT DISTINCT ON (%1$s) %1$s, %2$s FROM t ORDER BY %1$s, id', '{k,s,f8,n,d,ts,g,t,"g, s","t, k","k % 7"}', '{id,"id, t, n","id * 2, a, p","*"}');
SELECT check_windows('SELECT DISTINCT ON (k) id, t FROM t ORDER BY k %s, %s, id', '{DESC,NULLS FIRST,DESC NULLS LAST}', '{n,"n DESC NULLS LAST","f8, t DESC",d}');
SELECT check_windows('SELECT DISTINCT ON (g, s) id FROM t ORDER BY %s, id DESC', '{"g, s","s, g","s DESC, g NULLS FIRST"}');
-- less is ordered by, or nothing: which row comes is open
SELECT check_windows('SELECT k, g FROM (SELECT DISTINCT ON (k, g) k, g, id FROM t %s) x', '{"",ORDER BY k,ORDER BY g DESC,"ORDER BY k, g"}');
SELECT check_windows('SELECT DISTINCT ON (g) %s FROM t ORDER BY g, id', '{1 AS one,id + 1,"NULL::int"}');
-- what no device orders, it may sort or not
SELECT check_windows('SELECT DISTINCT ON (%1$s) %1$s, id FROM t ORDER BY %1$s, t COLLATE "C", id', '{lower(t),"to_char(ts, ''MM'')",a}', by_device => false);
SELECT check_matrix('SELECT DISTINCT ON (g) g, d, sum(n) FROM t GROUP BY g, d ORDER BY g, sum(n) DESC, %s', '{d,"max(k), d"}', expect => 'any');
-- rows come in order
CREATE FUNCTION in_order(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    mode text;
    answers text[] := '{}';
    answer text;
    r record;
BEGIN
    FOREACH mode IN ARRAY '{off,force}'::text[] LOOP
        PERFORM set_config('gpuscan.offload', mode, true);
        answer := '';
        FOR r IN EXECUTE query LOOP
            answer := answer || r::text;
        END LOOP;
        answers := answers || answer;
    END LOOP;
    PERFORM set_config('gpuscan.offload', 'off', true);
    RETURN CASE WHEN answers[1] = answers[2] THEN 'the same' ELSE format(E'%s\n%s', answers[1], answers[2]) END;
END $$;
SELECT DISTINCT in_order(format('SELECT DISTINCT ON (%1$s) %1$s, id FROM t ORDER BY %1$s%2$s, n, id %3$s', k, o, l)) FROM unnest('{k,s,t,d}'::text[]) k, unnest('{""," DESC"," NULLS FIRST"}'::text[]) o, unnest('{"",LIMIT 3,LIMIT 2 OFFSET 4,LIMIT 0,OFFSET 55,FETCH FIRST 2 ROWS WITH TIES}'::text[]) l;
-- what it is read from
SELECT check_windows('SELECT DISTINCT ON (x.k) x.k, x.id FROM %s x ORDER BY x.k, x.id DESC', '{t,parts,none,"(SELECT id, k FROM t WHERE n > 20)","(t JOIN dim USING (k))","(t LEFT JOIN dim USING (k))"}');
SELECT check_windows('SELECT DISTINCT ON (name) name, id, n FROM t JOIN dim USING (k) WHERE %s ORDER BY name DESC, n DESC, id', '{true,n > 50,id < 0,false}');
-- above groups, windows and other DISTINCTs
SELECT check_windows('SELECT DISTINCT ON (%1$s) %1$s, d, %2$s FROM t GROUP BY %1$s, d ORDER BY %1$s, %2$s DESC, d', '{g,s,t}', '{count(*),max(id),sum(k) FILTER (WHERE id > 5)}');
SELECT check_matrix('SELECT DISTINCT ON (%1$s) %1$s, %2$s FROM t ORDER BY %1$s, id', '{g,s}', '{"sum(n) OVER (PARTITION BY g ORDER BY id)","row_number() OVER (ORDER BY id)"}', 'any');
SELECT check_matrix('SELECT %s FROM (SELECT DISTINCT ON (k) k, g, n, id FROM t ORDER BY k, n DESC, id) x %s', '{"count(*), sum(id), sum(n)"}', '{"",WHERE n > 30,GROUP BY g,JOIN dim USING (k),LEFT JOIN dim ON dim.k = x.k AND g}', 'any');
SELECT check_matrix('%s', ARRAY['WITH newest AS (SELECT DISTINCT ON (k) k, id FROM t ORDER BY k, ts DESC, id) SELECT * FROM newest a JOIN newest b ON a.k = b.k + 1', 'SELECT name, (SELECT id FROM (SELECT DISTINCT ON (g) g, id FROM t WHERE t.k = dim.k ORDER BY g, id) x LIMIT 1) IS NULL FROM dim', 'SELECT name, l.id FROM dim, LATERAL (SELECT DISTINCT ON (s) s, id FROM t WHERE t.k = dim.k AND s > 0 ORDER BY s, id) l', 'SELECT id FROM t WHERE id IN (SELECT DISTINCT ON (k) id FROM t ORDER BY k, id DESC)', '(SELECT DISTINCT ON (k) k, id FROM t ORDER BY k, id) UNION ALL (SELECT DISTINCT ON (s) s, id FROM t ORDER BY s, id DESC)', 'SELECT DISTINCT ON (k) k, (SELECT name FROM dim WHERE dim.k = t.k) FROM t ORDER BY k, id', 'SELECT DISTINCT ON (k) k, id FROM t ORDER BY k, id LIMIT (SELECT 3)', 'WITH c AS (SELECT 3 AS x) SELECT DISTINCT ON (k) k, id FROM t, c WHERE t.s < x ORDER BY k, id', 'SELECT DISTINCT ON (k) k, grouping(k, g), count(*) FROM t GROUP BY CUBE (k, g) ORDER BY k, 2, 3', 'SELECT DISTINCT ON (k) k, generate_series(1, 2) FROM t ORDER BY k, id, 2'], expect => 'any');
CREATE TABLE written AS SELECT DISTINCT ON (k) k, id, t FROM t ORDER BY k, n, id;
SET gpuscan.offload = force;
INSERT INTO written SELECT DISTINCT ON (k) k, id, t FROM t ORDER BY k, n, id;
SELECT count(*), count(DISTINCT w) FROM written w;
-- Values of rows that are not shown raise their errors, too; costly ones in a LIMIT's rows only.
CREATE FUNCTION costly(x int) RETURNS int IMMUTABLE COST 1000 LANGUAGE plpgsql AS $$ BEGIN RETURN 10 / (x - 1999); END $$;
SELECT check_matrix('SELECT DISTINCT ON (g) g, %s FROM t ORDER BY g, id %s', '{10 / (id - 1999),10 / (id - 5000),costly(id),1e300::float8 * f8 * 1e300,''2024-01-01''::date + id * 1000000,"substr(t, 1, 1 - id % 2 * id)"}', '{"",LIMIT 2}', 'any');
SELECT check_prepared('device', 'SELECT DISTINCT ON (k) k, id FROM t WHERE s = $1 OR $2 IS NULL ORDER BY k, id LIMIT $2', '(int2, int)', '(1, 3)', '(0, NULL)', '(1, 2)', '(2, 1)');
BEGIN;
DECLARE c CURSOR FOR SELECT DISTINCT ON (g) g, id FROM t ORDER BY g, id;
FETCH 2 FROM c;
MOVE BACKWARD ALL FROM c;
ROLLBACK;
-- what is left to PostgreSQL, and why
SELECT refusals('SELECT DISTINCT ON (k) k, random() FROM t ORDER BY k, id');
SELECT refusals('SELECT DISTINCT ON (g) g, costly(id) FROM t ORDER BY g, id');
SELECT refusals('SELECT DISTINCT ON (k) k, id FROM t ORDER BY k, id LIMIT (SELECT 3)');
-- the rows that a role may see, and the columns
CREATE ROLE regress_distinct_on;
GRANT USAGE ON SCHEMA distinct_on TO regress_distinct_on;
GRANT SELECT (id, k) ON t TO regress_distinct_on;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON t TO regress_distinct_on USING (id % 10 = 3);
SET ROLE regress_distinct_on;
SELECT check_query('SELECT DISTINCT ON (k) k, id FROM distinct_on.t ORDER BY k, id');
SELECT check_query('SELECT DISTINCT ON (k) k, t FROM distinct_on.t ORDER BY k, id', 'any');
SELECT DISTINCT ON (k % 2) k % 2 AS odd, id FROM distinct_on.t WHERE k IS NOT NULL ORDER BY k % 2, id;
RESET ROLE;
DROP SCHEMA distinct_on CASCADE;
DROP ROLE regress_distinct_on;
