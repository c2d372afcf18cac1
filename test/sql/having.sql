-- HAVING in the device process: groups that do not pass are dropped before they are tuples. What is dropped is shown beside
-- the answer; what the device cannot test is left to the node.
CREATE SCHEMA wanted;
SET search_path = wanted, public;
CREATE TABLE t (k int, b int2, i int4, l int8, n numeric(12,2), w numeric(30,4), f float8, r float4, d date, ts timestamp, o bool, s text);
INSERT INTO t SELECT i % 500, nullif(i % 7, 3), CASE WHEN i % 11 <> 0 THEN i * 37 % 1009 - 300 END, i * 7919::int8 % 100003 * 1000000007, CASE WHEN i % 5 <> 0 THEN (i * 31 % 997 - 400) / 4.0 END,
    (i % 83 - 20) * 123456789012345678.4321, (i % 61 - 9) / 8.0, (i % 13 - 4) / 2.0, date '2024-01-01' + i % 97, timestamp '2024-01-01' + i % 89 * interval '7 hours', i % 9 = 0, 's' || i % 6
    FROM generate_series(1, 9000) i;
INSERT INTO t (k, s) SELECT k, s FROM unnest('{NULL,600,601}'::int[]) k, unnest('{a,b}'::text[]) s; -- nothing but NULLs
CREATE TABLE hollow (LIKE t);
VACUUM (FREEZE, ANALYZE) t;

-- The answer is PostgreSQL's, and so many groups did not leave the device process.
CREATE FUNCTION dropped(query text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    verdict constant text := check_query(query);
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN format('%s, %s dropped, %s by the node', verdict, coalesce(jsonb_path_query_first(plan, 'strict $.**."Groups Dropped"') #>> '{}', 'none'),
                  coalesce(jsonb_path_query_first(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuScan")."Rows Removed by Filter"') #>> '{}', 'none'));
END $$;
CREATE TABLE conditions (number int GENERATED ALWAYS AS IDENTITY, condition text);
INSERT INTO conditions (condition) VALUES
    ('count(*) > 18'), ('count(n) < 15'), ('count(*) = 18 AND count(i) <> 16'), ('sum(i) > 1000'), ('sum(b) BETWEEN 40 AND 50'), ('sum(l) >= 900000006300000000'), ('sum(n) > 300'), ('sum(n) > 300.125'), ('sum(n) = 812.5'),
    ('sum(w) > 123456789012345678901.5'), ('sum(f) > 30.5'), ('sum(f) > 30.5 OR sum(f) IS NULL'), ('avg(f) < 2.5'), ('avg(r) > 1'), ('min(i) < -290'), ('max(l) > 100000000000000'), ('max(n) = 149'), ('min(w) < 0'),
    ('min(f) = -1.125'), ('max(r) >= 4'), ('min(d) = ''2024-01-01'''), ('max(ts) > ''2024-01-26'''), ('bool_or(o)'), ('NOT bool_and(o)'), ('bit_or(i) & 1 = 1'), ('bit_or(i) > 900'), ('sum(n) IS NULL'),
    ('sum(n) IS NOT NULL AND k > 200'), ('k > 450 OR count(*) > 18'), ('sum(i) > sum(b) * 100'), ('sum(n) > sum(i)'), ('sum(n) * 2 - 100 > count(*) * 10'), ('max(i) - min(i) > 900'), ('sum(n) / 2 > 300'),
    ('CASE WHEN count(*) > 17 THEN sum(n) > 100 ELSE max(i) > 600 END'), ('coalesce(sum(n), 0) = 0'), ('NOT (sum(n) > 0)'), ('(sum(n) > 0) IS NOT TRUE'), ('sum(i) IN (1000, 1500, 2000, 3210)'), ('count(DISTINCT b) = 6'),
    ('sum(DISTINCT b) > 15 AND sum(b) > 40'), ('avg(DISTINCT i) > 200'), ('count(*) FILTER (WHERE o) > 1'), ('sum(n) FILTER (WHERE i > 0) > 500.5'), ('max(s) > ''s3'''), ('stddev(i) > 200'), ('true'), ('false'), ('NULL'),
    -- averages: what may be true passes, and the node decides
    ('avg(i) > 200'), ('avg(n) > 25.25'), ('25.25 < avg(n)'), ('avg(n) >= 25.5'), ('avg(n) < 10'), ('avg(n) <= 10.003333333'), ('avg(n) = 24.25'), ('avg(n) <> 24.25'), ('avg(b) > 3'), ('avg(l) > 50000000000000'), ('avg(w) > 0.00000000000000000001'),
    ('avg(n) > avg(i)'), ('avg(n) > sum(b)'), ('avg(n) > 20 AND avg(i) > 100 OR count(*) > 18'), ('NOT (avg(n) > 25)'), ('avg(n) > 25 AND sum(i) > 0'), ('(avg(n) > 25) IS TRUE');
SELECT condition, dropped('SELECT k, sum(n), count(*) FROM t GROUP BY k HAVING ' || condition) FROM conditions ORDER BY number;
-- rounding of averages at the last digit
CREATE TABLE thirds (k int, n numeric(10,3));
INSERT INTO thirds SELECT k, CASE WHEN i <= k % 3 THEN 0.001 ELSE 0 END FROM generate_series(1, 300) k, generate_series(1, 3) i;
VACUUM (FREEZE, ANALYZE) thirds;
SELECT c, dropped('SELECT k, avg(n) FROM thirds GROUP BY k HAVING ' || c) FROM unnest(ARRAY['avg(n) = 0.00033333333333333333', 'avg(n) > 0.00033333333333333333', 'avg(n) >= 0.00033333333333333333', 'avg(n) < 0.00066666666666666667',
    'avg(n) <= 0.00066666666666666667', 'avg(n) >= 0.00066666666666666667', 'avg(n) > 0.0006666666666666666666666', 'avg(n) = 0.0003']) c;
-- keys of several kinds, sets of groupings, DISTINCT, no groups, one group
SELECT check_matrix('SELECT %1$s, count(*) FROM t GROUP BY %1$s HAVING sum(n) > 500 AND count(*) > 3', ARRAY['k', 'b', 's', 'd', 'k, s', 'o', 'n', 'w', 'k % 10, b', 'extract(month from d)::int', 'd, s, b']);
SELECT dropped('SELECT k, s, count(*), grouping(k) FROM t GROUP BY ROLLUP (k, s) HAVING count(*) > 17 AND (k > 100 OR k IS NULL)');
SELECT dropped('SELECT k, b, count(DISTINCT s), sum(n) FROM t GROUP BY GROUPING SETS ((k), (b), ()) HAVING count(DISTINCT s) > 5');
SELECT dropped('SELECT k, b FROM t GROUP BY CUBE (k, b) HAVING sum(i) > 1000 AND grouping(k) = 1');
-- (of grouping sets they are tested in the order in which they are written)
SELECT dropped('SELECT k, b FROM t GROUP BY CUBE (k, b) HAVING grouping(k) = 1 AND sum(i) > 1000');
SELECT check_matrix('SELECT %s', ARRAY['k FROM hollow GROUP BY k HAVING count(*) > 0', 'sum(n) FROM t HAVING sum(n) > 10', 'sum(n) FROM t HAVING sum(n) > 1e30', 'count(*) FROM hollow HAVING count(*) > 0', '1 FROM hollow HAVING sum(i) IS NULL']);
-- parameters, subqueries that run once, stable functions
PREPARE p (int8, numeric, float8, date) AS SELECT k, sum(n) FROM t GROUP BY k HAVING count(*) >= $1 AND sum(n) > $2 AND sum(f) > $3 AND min(d) < $4 ORDER BY k;
SET plan_cache_mode = force_generic_plan;
SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) EXECUTE p (1, 2, 3, '2024-01-01');
EXECUTE p (18, 800, 40, '2024-01-05');
EXECUTE p (18, 859.125, '-inf', 'infinity');
EXECUTE p (18, 'NaN', 1, 'infinity');
EXECUTE p (18, '-inf', 44, 'infinity');
EXECUTE p (18, -1e30, 44.5, 'infinity');
EXECUTE p (NULL, 1, 1, 'infinity');
SET gpuscan.offload = off;
EXECUTE p (18, 800, 40, '2024-01-05');
EXECUTE p (18, 859.125, '-inf', 'infinity');
EXECUTE p (18, 'NaN', 1, 'infinity');
EXECUTE p (18, '-inf', 44, 'infinity');
EXECUTE p (18, -1e30, 44.5, 'infinity');
RESET gpuscan.offload;
RESET plan_cache_mode;
SELECT dropped('SELECT k, sum(n) FROM t GROUP BY k HAVING sum(n) > (SELECT avg(n) * 20 FROM t)');
SELECT dropped('SELECT k, sum(n * b) FROM t GROUP BY k HAVING sum(n * b) > (SELECT sum(n * b) * 0.0031 FROM t)');
SELECT dropped('SELECT k, max(d) FROM t GROUP BY k HAVING max(ts)::date < current_date - 365 AND avg(n) > (SELECT avg(n) FROM t)');
-- below something else, as a build side, with joins, once for each outer row
SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(x.n) FROM (SELECT k, sum(n) AS n FROM t GROUP BY k HAVING sum(n) > 100) x', 's, count(*) FROM t WHERE k IN (SELECT k FROM t GROUP BY k HAVING sum(n) > 500) GROUP BY s',
    'k, l, sum(n) FROM t WHERE k IN (SELECT k FROM t GROUP BY k HAVING sum(n) > 700) GROUP BY k, l', 't.s, count(*) FROM t JOIN (SELECT k FROM t GROUP BY k HAVING count(o) > 3 AND max(i) > 600) x USING (k) GROUP BY t.s',
    'x.b, count(*) FROM t x LEFT JOIN t y USING (k) GROUP BY x.b HAVING count(*) > 1', 'x.b, sum(y.n) FROM t x JOIN t y ON x.k = y.i GROUP BY x.b HAVING sum(y.n) > 100']);
SELECT check_query('SELECT o.k, x.* FROM (SELECT DISTINCT k FROM t WHERE k < 5) o, LATERAL (SELECT count(*) FROM (SELECT b FROM t GROUP BY b HAVING count(*) > 100 * o.k) z) x', 'any');
-- an error is PostgreSQL's, and is not lost because another condition would have dropped the group
SELECT check_query('SELECT k FROM t GROUP BY k HAVING 100 / (count(*) - 18) > 3', 'forced');
SELECT check_query('SELECT k FROM t GROUP BY k HAVING 100 / (count(*) - 18) > 3 AND k > 1000', 'forced');
SELECT check_query('SELECT k FROM t GROUP BY k HAVING k > 1000 AND 100 / (count(*) - 18) > 3', 'forced');
SELECT check_query('SELECT k FROM t GROUP BY k HAVING count(*) > 1000 AND 100 / (count(*) - 18) > 3', 'forced');
SELECT check_query('SELECT k FROM t GROUP BY k HAVING count(*) > 1000 OR 100 / (count(*) - 18) > 3', 'forced');
SELECT check_query('SELECT k FROM t GROUP BY k HAVING sum(i)::int2 > 30000', 'forced');
SELECT check_query('SELECT k FROM t GROUP BY k HAVING length(max(s)) / (count(*) - 18) > 3 AND count(*) > 1000', 'forced');
SELECT check_query('SELECT k, 1 / (count(*) - 18) FROM t GROUP BY k HAVING count(*) > 18', 'forced');
-- sums that no result could show are not forgotten with their groups
CREATE TABLE extremes (k int, f float8, l int8, n numeric(38,0));
INSERT INTO extremes VALUES (1, 1e308, 9223372036854775807, 1), (1, 1e308, 9223372036854775807, 1), (2, 1, -9223372036854775808, 99999999999999999999999999999999999999), (2, 1, -9223372036854775808, 99999999999999999999999999999999999999),
    (3, 'inf', 5, 4), (4, 'nan', NULL, NULL), (5, '-inf', 0, -99999999999999999999999999999999999999), (6, -0.0, 0, 0), (6, -0.0, 0, 0);
VACUUM (FREEZE, ANALYZE) extremes;
SELECT check_matrix('SELECT k, %s FROM extremes WHERE k %s GROUP BY k HAVING %1$s > 5', '{sum(f),sum(l),sum(n),max(f),min(f),avg(f),avg(l),min(l),max(n)}', '{> 1,> 2,> 3,<> 3}', expect => 'any');
SELECT check_matrix('SELECT k FROM extremes WHERE k %2$s GROUP BY k HAVING sum(f) %1$s', '{> 1,= ''nan'',< 0,= 0,>= ''-inf'',IS NULL}', '{> 0,> 1,= 4,= 5,> 5}', expect => 'any');
SELECT condition, dropped('SELECT k FROM extremes GROUP BY k HAVING ' || condition) FROM unnest(ARRAY['max(f) > 1', 'min(f) > 1', 'max(f) = ''nan''', 'sum(l) > 9223372036854775807', 'sum(l) < -9223372036854775808', 'max(l) = 9223372036854775807']) condition;
-- what looks into a table (of a zone's changes, of a long list) is a row's; of groups PostgreSQL asks it
CREATE TABLE instants AS SELECT i % 50 AS k, timestamptz '2020-01-01' + i * interval '7 hours' AS ts, i AS n FROM generate_series(1, 5000) i;
VACUUM (FREEZE, ANALYZE) instants;
SET timezone = 'Europe/Berlin';
SELECT check_matrix('SELECT k, min(ts), sum(n) FROM instants GROUP BY k HAVING %s', ARRAY['date_trunc(''month'', min(ts)) >= ''2020-01-01''', 'extract(hour FROM max(ts)) > 8', 'min(ts)::date > ''2020-01-05''',
    (SELECT format('sum(n) IN (%s)', string_agg((250000 + 50 * i)::text, ', ')) FROM generate_series(1, 300) i), 'min(ts)::timestamp > ''2020-01-05'' AND count(*) > 3', 'min(ts) + interval ''1 day'' > ''2020-01-05''']);
SELECT check_matrix('SELECT k, min(ts) FROM instants GROUP BY k ORDER BY %s, k LIMIT 7', ARRAY['date_trunc(''month'', min(ts))', 'extract(hour FROM max(ts))', 'min(ts)::date', 'max(ts)::timestamp DESC']);
RESET timezone;
-- several passes over the table, and groups in a temporary file
SET work_mem = '64kB';
SELECT dropped('SELECT l, count(*), sum(n), max(s) FROM t GROUP BY l HAVING sum(n) > 50');
RESET work_mem;
-- a cached plan follows what its tables become
PREPARE q AS SELECT count(*) FROM (SELECT k FROM t GROUP BY k HAVING sum(n) > 700) x;
EXECUTE q;
UPDATE t SET n = 9000 WHERE k = 3;
EXECUTE q;
DEALLOCATE ALL;
