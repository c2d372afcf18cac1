-- Groups of a subquery that stay in the device process: the query around it reads them as rows of its own.
CREATE SCHEMA stages;
SET search_path = stages, public;
SET client_min_messages = warning;
CREATE TABLE o (id int PRIMARY KEY, k int, k8 int8 NOT NULL, k2 int2, v int, big int8, n numeric(8,2), w numeric, f float8, r float4, b bool,
    s text, c char(5), d date, t timestamp, z timestamptz, u uuid, e interval, x bytea);
INSERT INTO o SELECT i, nullif(i % 97, 7), i % 31, i % 5, nullif(i % 53 - 20, 3), i * 1000003::int8, (i % 700) / 3.0, (i % 45) / 8.0, (i % 90) / 16.0 + 1, (i % 12) / 4.0 + 1,
    nullif(i % 4, 3) = 1, nullif('text ' || i % 37, 'text 5'), 'c' || i % 9, date '2024-01-01' + i % 60, timestamp '2024-01-01 12:00' + (i % 50) * interval '1 hour',
    timestamptz '2024-03-30 22:00+00' + (i % 40) * interval '1 hour', ('00000000-0000-0000-0000-0000000000' || lpad((i % 30)::text, 2, '0'))::uuid, (i % 10) * interval '1 day', ('\x0' || i % 8)::bytea
    FROM generate_series(1, 6000) i;
CREATE TABLE c (k int PRIMARY KEY, name text NOT NULL, m numeric(6,2));
INSERT INTO c SELECT i, 'text ' || i % 40, i / 2.0 FROM generate_series(0, 120) i;
CREATE TABLE empty (LIKE o);
VACUUM (FREEZE, ANALYZE) o, c, empty;

-- one level of groups over another, as TPC-H query 13 has it
SELECT check_stages('SELECT n, count(*) AS m FROM (SELECT c.k, count(o.id) AS n FROM c LEFT JOIN o ON c.k = o.k GROUP BY c.k) s GROUP BY n ORDER BY m DESC, n DESC');

-- which keys
SELECT check_all_stages('SELECT k, count(*), sum(m) FROM (SELECT %s AS k, id % 3 AS three, count(*) AS m FROM o GROUP BY 1, 2) s GROUP BY k',
    '{k, k8, k2, b, s, c, d, t, z, u, n, w, f, r, e, x, v + 1, n * 2, s || ''!'', upper(s), "d + 1", "date_trunc(''day'', t)", "s::varchar(6)", "NULL::int", 1}');
-- which aggregates, grouped by
SELECT check_all_stages('SELECT m, count(*) FROM (SELECT k, %s AS m FROM o GROUP BY k) s GROUP BY m',
    '{count(*), count(v), count(DISTINCT v), sum(v), sum(k2), sum(big), sum(n), sum(w), sum(f), sum(r), sum(DISTINCT v), avg(v), avg(n), avg(f), avg(r), avg(w), min(v), max(v), min(k2), max(big), min(n), max(n), min(w), min(f), max(r), min(d), max(t), min(z), min(s), max(c), min(e), sum(e), bool_and(b), bool_or(b), bit_or(v), bit_xor(k2), stddev(v), "sum(v) FILTER (WHERE b)", "count(*) + 1", "max(v) - min(v)", "coalesce(sum(v), 0)", array_agg(v ORDER BY v)}');
-- ... and aggregated
SELECT check_all_stages('SELECT %s FROM (SELECT k, s, count(*) AS m, sum(v) AS v, sum(n) AS n, min(n) AS least, sum(big) AS big, max(d) AS d, avg(f) AS f, max(b::int) AS b FROM o GROUP BY k, s) s',
    '{count(*), "sum(m), sum(v)", "sum(n), min(n), max(n), avg(n), count(n)", "sum(least), max(least)", "sum(big), avg(big)", "min(d), max(d)", "max(f), count(f)", "avg(m), sum(m * v)", "sum(n * m)", "sum(n * 1.5)", "count(DISTINCT m), sum(DISTINCT n)", "count(DISTINCT s)", "max(n) > 100", "sum(m) FILTER (WHERE n > 50)", "stddev(m)", "max(s)", "sum(round(n))", "sum(n / 3)", "sum(b)"}');
-- expressions and conditions over the groups, above and below; WHERE on a group's column becomes HAVING
SELECT check_all_stages('SELECT m / 10, count(*), sum(n), max(least) FROM (SELECT k, k8, count(*) AS m, sum(n) AS n, min(n) AS least, max(s) AS t FROM o WHERE v > 0 GROUP BY k, k8 %s GROUP BY 1',
    '{") s", ") s WHERE m > 1", ") s WHERE n > 200.5", ") s WHERE n BETWEEN 100 AND 300.25 AND k > 5", ") s WHERE k IS NULL", ") s WHERE n / m > 100", "HAVING count(*) > 1) s", "HAVING sum(n) > 200.5 AND count(*) < 4) s", "HAVING avg(n) > 100) s", "HAVING sum(n) / 3 > 50) s", "HAVING min(s) > ''text 2'') s", "HAVING 1 / (count(*) - 1) = 0) s", "ORDER BY k) s", "ORDER BY m DESC, k, k8 LIMIT 20) s", "ORDER BY k LIMIT 0) s", "OFFSET 0) s WHERE m > 1"}');
SELECT check_all_stages('SELECT m, count(*) FROM (SELECT k, count(*) AS m FROM o GROUP BY k) s GROUP BY m %s',
    '{"", "HAVING count(*) > 1", "HAVING m > 61 ORDER BY m DESC", "ORDER BY 2 DESC, 1 LIMIT 1", "ORDER BY m LIMIT 3 OFFSET 1", "HAVING sum(k) > 100"}');
-- nothing, and the one group without GROUP BY
SELECT check_all_stages('SELECT count(*), sum(m), max(v) FROM (SELECT %s) s',
    '{"count(*) AS m, sum(v) AS v FROM empty", "count(*) AS m, sum(v) AS v FROM empty GROUP BY k", "count(*) AS m, sum(v) AS v FROM o WHERE v > 1000", "count(*) AS m, max(v) AS v FROM o", "count(*) AS m, sum(v) AS v FROM o HAVING count(*) > 10", "count(*) AS m, sum(v) AS v FROM o HAVING count(*) < 10"}');
SELECT check_stages('SELECT m, count(*) FROM (SELECT k, count(*) AS m FROM empty GROUP BY k) s GROUP BY m');
-- DISTINCT is a level of groups, too
SELECT check_stages('SELECT s, count(*) FROM (SELECT DISTINCT s, k FROM o) d GROUP BY s');
SELECT check_stages('SELECT DISTINCT m FROM (SELECT k, count(*) AS m FROM o GROUP BY k) s');
-- three levels, CTEs, views, GROUPING SETS, set operations
SELECT check_stages('SELECT q, count(*) FROM (SELECT m, count(*) AS q FROM (SELECT k, k8, count(*) AS m FROM o GROUP BY k, k8) s GROUP BY m) t GROUP BY q');
SELECT check_stages('WITH s AS (SELECT k, sum(n) AS n FROM o GROUP BY k) SELECT max(n), min(n) FROM s');
SELECT check_stages('WITH s AS MATERIALIZED (SELECT k, sum(n) AS n FROM o GROUP BY k) SELECT max(n), min(n) FROM s');
-- A CTE that is read twice is made twice, if nobody can notice.
SELECT check_all_stages('WITH s AS %s SELECT count(*), min(k) FROM s WHERE v >= (SELECT max(v) FROM s WHERE k <> 3)', ARRAY['(SELECT k, sum(n) AS v FROM o GROUP BY k)', '(SELECT k, count(*) AS v FROM o WHERE k > 2 GROUP BY k HAVING count(*) > 3)',
    '(SELECT k, max(k8) AS v FROM o GROUP BY k)', 'MATERIALIZED (SELECT k, count(*) AS v FROM o GROUP BY k)', '(SELECT k, sum(k8::float8) AS v FROM o GROUP BY k)', '(SELECT k, max(10 / (k - 1000)) AS v FROM o GROUP BY k)',
    '(SELECT k, count(*) AS v FROM o GROUP BY k ORDER BY k LIMIT 5)', '(SELECT k, count(*) AS v FROM (SELECT k, random() AS r FROM o) x WHERE r < 2 GROUP BY k)', '(SELECT DISTINCT k, k8 AS v FROM o)', '(SELECT (k / 2.0)::numeric AS k, count(*) AS v FROM o GROUP BY 1)']);
SELECT check_stages('WITH s AS (SELECT k, count(*) AS m FROM o GROUP BY k), t AS (SELECT m, count(*) AS q FROM s GROUP BY m) SELECT a.m, b.q, c.k FROM t a JOIN t b ON a.q = b.q JOIN s c ON c.m = a.m');
SELECT check_stages('WITH a AS (WITH b AS (SELECT k, count(*) AS m FROM o GROUP BY k) SELECT x.k, y.m FROM b x JOIN b y USING (m)) SELECT m, count(*) FROM a GROUP BY m');
-- a subquery whose texts only PostgreSQL has is executed again, and its groups are sent each time
SET plan_cache_mode = force_generic_plan;
PREPARE sent(int) AS SELECT c.k, (SELECT sum(x.m) FROM (SELECT left(o.s, $1) AS u, count(*) AS m FROM o GROUP BY 1) x JOIN c d ON d.name = x.u WHERE d.k > c.k) FROM c;
SET gpuscan.offload = force;
CREATE TEMP TABLE by_device AS EXECUTE sent(6);
SET gpuscan.offload = off;
CREATE TEMP TABLE by_postgres AS SELECT c.k, (SELECT sum(x.m) FROM (SELECT left(o.s, 6) AS u, count(*) AS m FROM o GROUP BY 1) x JOIN c d ON d.name = x.u WHERE d.k > c.k) FROM c;
RESET gpuscan.offload;
RESET plan_cache_mode;
DEALLOCATE sent;
SELECT count(*), count(DISTINCT d.sum) FROM by_device d JOIN by_postgres p ON d.k = p.k AND d.sum IS NOT DISTINCT FROM p.sum;
DROP TABLE by_device, by_postgres;
CREATE VIEW per_k AS SELECT k, count(*) AS m, sum(n) AS n FROM o GROUP BY k;
SELECT check_stages('SELECT m, count(*) FROM per_k GROUP BY m');
SELECT check_stages('SELECT m, k, count(*) FROM (SELECT k, s, count(*) AS m FROM o GROUP BY k, s) s GROUP BY ROLLUP (m, k)');
SELECT check_stages('SELECT m, count(*) FROM (SELECT k, s, count(*) AS m FROM o GROUP BY ROLLUP (k, s)) s GROUP BY m');
SELECT check_stages('SELECT m, count(*) FROM (SELECT k, count(*) AS m FROM o GROUP BY k UNION ALL SELECT k8, count(*) FROM o GROUP BY k8) s GROUP BY m');
SELECT check_stages('SELECT m FROM (SELECT k, count(*) AS m FROM o GROUP BY k) s WHERE m > 62');
-- joined with tables: groups that probe, and groups that are probed
SELECT check_all_stages('SELECT %s', ARRAY[
    'name, sum(s.m) FROM c JOIN (SELECT k, count(*) AS m FROM o GROUP BY k) s ON s.k = c.k GROUP BY name',
    'name, sum(s.n), count(*) FROM c LEFT JOIN (SELECT k, sum(n) AS n FROM o WHERE k < 60 GROUP BY k) s ON s.k = c.k GROUP BY name',
    'name, sum(s.m) FROM c JOIN (SELECT s AS t, count(*) AS m FROM o GROUP BY s) s ON s.t = c.name GROUP BY name',
    's.t, sum(c.m) FROM c JOIN (SELECT s AS t, count(*) AS m FROM o GROUP BY s) s ON s.t = c.name GROUP BY s.t',
    'o.s, count(*) FROM o JOIN (SELECT k, avg(f) AS f FROM o GROUP BY k) a ON a.k = o.k WHERE o.f < a.f GROUP BY o.s',
    'o.s, count(*) FROM o JOIN (SELECT k, sum(n) AS n FROM o GROUP BY k) a ON a.k = o.k WHERE o.n * 50 > a.n GROUP BY o.s',
    'count(*), sum(a.m) FROM (SELECT k, count(*) AS m FROM o GROUP BY k) a JOIN (SELECT k8, count(*) AS m FROM o GROUP BY k8) b ON a.k = b.k8',
    'count(*) FROM c WHERE k IN (SELECT k FROM o GROUP BY k HAVING sum(v) > 300)',
    'count(*) FROM c WHERE NOT EXISTS (SELECT FROM (SELECT k FROM o GROUP BY k HAVING sum(v) > 300) s WHERE s.k = c.k)',
    'c.k, name, s.n FROM c JOIN (SELECT k, max(v) AS n FROM o GROUP BY k) s ON s.k = c.k WHERE s.n > 31',
    'max(s.n), count(*) FROM (SELECT k, sum(n) AS n FROM o GROUP BY k) s JOIN c ON c.m = s.n']);
-- correlated, and with init plans
SELECT check_stages('SELECT k, (SELECT max(m) FROM (SELECT o.k8, count(*) AS m FROM o WHERE o.k = c.k GROUP BY o.k8) s) FROM c');
SELECT check_stages('SELECT k, (SELECT sum(x.m) FROM (SELECT o.k8, count(*) AS m FROM o JOIN (SELECT b.k FROM c b WHERE b.k > c.k OFFSET 0) b ON o.k = b.k GROUP BY o.k8 HAVING max(v) > c.k / 5) x) FROM c WHERE k < 12');
SELECT check_stages('SELECT m, count(*) FROM (SELECT k, count(*) AS m FROM o WHERE v > (SELECT avg(v) FROM o) GROUP BY k) s GROUP BY m');
SELECT check_stages('SELECT count(*) FROM (SELECT k, sum(n) AS n FROM o GROUP BY k) s WHERE n = (SELECT max(n) FROM (SELECT k, sum(n) AS n FROM o GROUP BY k) t)');
SELECT check_stages('SELECT m, count(*) FROM (SELECT k, count(*) AS m FROM o WHERE z < now() GROUP BY k) s GROUP BY m');
-- errors are PostgreSQL's, and only where it has them
SELECT check_stages('SELECT m, count(*) FROM (SELECT k, sum(1 / (v - 5)) AS m FROM o GROUP BY k) s GROUP BY m');
SELECT check_stages('SELECT 10 / (m - 62), count(*) FROM (SELECT k, count(*) AS m FROM o GROUP BY k) s GROUP BY 1');
SELECT check_stages('SELECT max(m) FROM (SELECT k, sum(big * 1000000) AS m FROM o GROUP BY k) s');
SELECT check_stages('SELECT max(m), count(*) FROM (SELECT k, sum(v * 2000000000::int8) AS m FROM o GROUP BY k) s');
SELECT check_stages('SELECT sum(m) FROM (SELECT k, sum(f * 1e308) AS m FROM o GROUP BY k) s');
SELECT check_stages('SELECT m, count(*) FROM (SELECT k, min(f - 1) AS m FROM o GROUP BY k) s GROUP BY m');
SELECT check_stages('SELECT count(*) FROM (SELECT k, sum(1 / (v - 5)) AS m FROM o GROUP BY k) s LIMIT 0');

-- parameters, cursors, executions one after the other
SELECT check_prepared('device', 'SELECT m, count(*) FROM (SELECT k, count(*) AS m FROM o WHERE v > $1 GROUP BY k HAVING count(*) > $2) s GROUP BY m HAVING count(*) > $3', '(int, int, int)', '(0, 1, 0)', '(10, 5, 1)', '(NULL, 1, 1)');
SET gpuscan.offload = force;
BEGIN;
DECLARE twice SCROLL CURSOR FOR SELECT m, count(*) FROM (SELECT k8, count(*) AS m FROM o GROUP BY k8) s GROUP BY m ORDER BY m;
FETCH ALL FROM twice;
FETCH BACKWARD 1 FROM twice;
MOVE ABSOLUTE 0 FROM twice;
FETCH 1 FROM twice;
COMMIT;
-- each row of an outer query asks again
SELECT g, (SELECT max(m) FROM (SELECT k8, count(*) + g AS q, count(*) AS m FROM o WHERE k2 = g GROUP BY k8) s) FROM generate_series(0, 5) g;
RESET gpuscan.offload;
-- a table that has changed in the same transaction
BEGIN;
INSERT INTO o (id, k, k8) SELECT 10000 + i, i, 1 FROM generate_series(1, 50) i;
DELETE FROM o WHERE id < 100;
SELECT check_stages('SELECT m, count(*) FROM (SELECT k, count(*) AS m FROM o GROUP BY k) s GROUP BY m');
ROLLBACK;
-- rows that a policy hides, and a view that is a barrier
CREATE VIEW barrier WITH (security_barrier) AS SELECT k, count(*) AS m FROM o GROUP BY k;
SELECT check_stages('SELECT m, count(*) FROM barrier GROUP BY m');
SELECT check_stages('SELECT m, count(*) FROM barrier WHERE m > 10 GROUP BY m');
-- many groups, in several passes of what reads them
SET gpuscan.offload = off;
CREATE TABLE many AS SELECT i AS id, i / 2 AS half, 'a text of its own, number ' || i / 3 AS s FROM generate_series(1, 300000) i;
VACUUM (FREEZE, ANALYZE) many;
RESET gpuscan.offload;
SELECT check_stages('SELECT m, count(*), sum(half) FROM (SELECT half, count(*) AS m FROM many GROUP BY half) s GROUP BY m');
SELECT check_stages('SELECT m, count(*), count(DISTINCT s) FROM (SELECT s, count(*) AS m FROM many GROUP BY s) s GROUP BY m');
SELECT check_stages('SELECT left(s, 27), count(*) FROM (SELECT s, count(*) AS m FROM many GROUP BY s) s GROUP BY 1');

-- what EXPLAIN says
EXPLAIN (COSTS OFF) SELECT m, count(*) FROM (SELECT k, count(*) AS m FROM o GROUP BY k) s GROUP BY m;
SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT m, count(*) FROM (SELECT k, count(*) AS m FROM o GROUP BY k) s GROUP BY m;
-- (18 shows rows with decimals)
CREATE FUNCTION shown(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        RETURN NEXT replace(line, '.00 loops', ' loops');
    END LOOP;
END $$;
SELECT shown('SELECT m, count(*) FROM (SELECT k, count(*) AS m FROM o GROUP BY k) s GROUP BY m');
RESET gpuscan.offload;

DROP SCHEMA stages CASCADE;
