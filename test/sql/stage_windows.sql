-- Rows with the results of window functions that stay in the device process, what a subquery computes of them, and the conditions that the
-- query around it has for them.
CREATE SCHEMA stage_windows;
SET search_path = stage_windows, public;
SET client_min_messages = warning;
CREATE TABLE o (id int PRIMARY KEY, k int, k2 int2, v int, big int8, n numeric(8,2), w numeric, f float8, r float4, b bool, s text, c char(5), d date, t timestamp, z timestamptz, u uuid, e interval, j jsonb);
INSERT INTO o SELECT i, nullif(i % 97, 7), i % 5, nullif(i % 53 - 20, 3), i * 1000003::int8, (i % 700) / 3.0, (i % 45) / 8.0, (i % 90) / 16.0 - 2, (i % 12) / 4.0, nullif(i % 4, 3) = 1, nullif('text ' || i % 37, 'text 5'), 'c' || i % 9,
    date '2024-01-01' + i % 60, nullif(timestamp '2024-01-01 12:00' + (i * 37 % 5000) * interval '7 minutes', '2024-01-03 12:10'), timestamptz '2024-03-30 22:00+00' + (i % 400) * interval '1 hour', ('00000000-0000-0000-0000-0000000000' || lpad((i % 30)::text, 2, '0'))::uuid,
    (i % 10) * interval '1 day', jsonb_build_object('a', i % 3) FROM generate_series(1, 4000) i;
CREATE TABLE c (k int PRIMARY KEY, name text NOT NULL);
INSERT INTO c SELECT i, 'text ' || i % 40 FROM generate_series(0, 120) i;
CREATE TABLE empty (LIKE o);
VACUUM (FREEZE, ANALYZE) o, c, empty;

-- functions of windows
SELECT check_all_stages('SELECT count(*), count(x), min(x)::text, max(x)::text FROM (SELECT %s OVER (PARTITION BY k ORDER BY id) AS x FROM o) q',
    '{row_number(), rank(), cume_dist(), ntile(4), lag(v), lead(big), lag(n), lag(f), lag(d), lead(t), lag(z), first_value(v), count(*), count(v), sum(v), sum(big), sum(n), sum(f), avg(v), avg(n), avg(f), min(d), max(n), lag(w), lag(e)}');
-- columns of every type beside them, as keys and as arguments
SELECT check_all_stages('SELECT %s AS x, count(*), sum(m) FROM (SELECT o.*, row_number() OVER (PARTITION BY k ORDER BY id) AS m, lag(s) OVER (ORDER BY id) AS ls, lag(c) OVER (ORDER BY id) AS lc FROM o) q GROUP BY 1',
    '{k, k2, v, big, n, w, f + 10, r + 10, b, s, c, d, t, z, u, e, j, ls, lc, m % 7, "upper(s)", "ls || ''!''", "ls = s", "j ->> ''a''", "date_trunc(''day'', t)", "v + m"}');
-- what the subquery computes, above and below conditions
SELECT check_all_stages('SELECT count(*), min(x)::text, max(x)::text, sum(y) FROM (SELECT %s AS x, sum(v) OVER w AS y, row_number() OVER w AS m FROM o WINDOW w AS (PARTITION BY k ORDER BY id)) q',
    '{"v - lag(v) OVER w", "extract(epoch FROM t - lag(t) OVER w)", "extract(epoch FROM t - lag(t) OVER w) / 86400", "t - lag(t) OVER w", "n / nullif(lag(n) OVER w, 0)", "n * 2 - sum(n) OVER w", "100.0 * v / nullif(sum(v) OVER w, 0)", "coalesce(lag(v) OVER w, -1)", "CASE WHEN lag(v) OVER w IS NULL THEN 1 ELSE 0 END", "(lag(v) OVER w IS NULL)::int", "avg(n) OVER w", "avg(v) OVER w - v", "(n > avg(n) OVER w)::int", "round(avg(n) OVER w, 2)", "f - avg(f) OVER w", "lag(s) OVER w || s", "(now() - lag(z) OVER w > interval ''1 day'')::int", 5, "v", "NULL::int"}');
SELECT check_all_stages('SELECT k, count(*), sum(x), max(m) FROM (SELECT k, lag(v) OVER w AS x, row_number() OVER w AS m, rank() OVER (ORDER BY n) AS r, v, n FROM o WINDOW w AS (PARTITION BY k ORDER BY id)) q %s GROUP BY k',
    '{"WHERE m = 1", "WHERE m <= 3", "WHERE m < 3 AND v > 0", "WHERE x > 10", "WHERE x IS NULL", "WHERE x BETWEEN 0 AND 20 AND k < 50", "WHERE r <= 100", "WHERE m > 2 OR x < 0", "WHERE m = 1 AND r < 2000", "WHERE n > 100.5", "WHERE false", "WHERE k = 5", "WHERE m % 2 = 0", "WHERE m = (SELECT min(k) + 1 FROM c)", "WHERE x = ANY (ARRAY[1, 2, 3])", "WHERE k IN (SELECT k FROM c WHERE name = ''text 3'')"}');
-- constants that lag shows, and sums of numerics of several scales, are not handed over
CREATE TABLE scales AS SELECT i AS id, i % 50 AS k, round(i * 7919 % 3001 / 8.0, i % 4) AS m, 'text ' || i % 9 AS s FROM generate_series(1, 3000) i;
VACUUM (FREEZE, ANALYZE) scales;
SELECT check_all_stages('SELECT k, count(*), min(x)::text, max(x)::text FROM (SELECT k, %s AS x FROM scales WINDOW w AS (PARTITION BY k ORDER BY id)) q GROUP BY k', '{"lag(m, 1, 0) OVER w","lag(s, 1, ''none'') OVER w","sum(m) OVER w","avg(m) OVER w","min(m) OVER w","max(s) OVER w"}');
-- a frame's offset that is a key, too, and a fallback of the level (the number is too large for a device)
CREATE TABLE wide (k int, n numeric);
INSERT INTO wide SELECT i % 50, i FROM generate_series(1, 3000) i;
VACUUM (FREEZE, ANALYZE) wide;
SELECT q.n, check_query(format('SELECT k, two, s, r FROM (SELECT k, 2::bigint AS two, sum(max(n)) OVER (ORDER BY k %s) AS s FROM %s GROUP BY 1, 2) x JOIN (SELECT k, rank() OVER (ORDER BY count(*), k) AS r FROM wide GROUP BY 1) y USING (k)', q.frame, q.relation), 'any')
FROM (VALUES (1, 'ROWS 2::bigint PRECEDING', 'wide'), (2, 'ROWS BETWEEN 2::bigint PRECEDING AND 2::bigint FOLLOWING', 'wide'), (3, 'ROWS 2::bigint PRECEDING', '(SELECT * FROM wide UNION ALL SELECT 1, 1e60) w'), (4, 'GROUPS 2::bigint PRECEDING', 'wide')) q(n, frame, relation) ORDER BY 1;
INSERT INTO wide VALUES (1, 1e60);
SELECT check_query('SELECT k, two, s, r FROM (SELECT k, 2::bigint AS two, sum(max(n)) OVER (ORDER BY k ROWS 2::bigint PRECEDING) AS s FROM wide GROUP BY 1, 2) x JOIN (SELECT k, rank() OVER (ORDER BY count(*), k) AS r FROM wide GROUP BY 1) y USING (k)', 'any');
-- several levels
SELECT check_stages('SELECT count(*), avg(events), avg(extract(epoch FROM length)) FROM (SELECT k, visit, count(*) AS events, max(t) - min(t) AS length FROM (SELECT k, t, sum(starts) OVER (PARTITION BY k ORDER BY t, id) AS visit FROM (SELECT id, k, t, CASE WHEN t - lag(t) OVER (PARTITION BY k ORDER BY t, id) < interval ''30 minutes'' THEN 0 ELSE 1 END AS starts FROM o WHERE k IS NOT NULL AND t IS NOT NULL) g) v GROUP BY k, visit) l');
SELECT check_stages('SELECT place, count(*), sum(total) FROM (SELECT k, sum(n) AS total, rank() OVER (ORDER BY sum(n) DESC) AS place FROM o GROUP BY k) q WHERE place <= 10 GROUP BY place');
-- what LIMIT computes stays above
SELECT check_matrix('%sSELECT k, rank() OVER (ORDER BY sum(n), k) FROM o GROUP BY k ORDER BY 2, 1 %s', '{"",WITH w AS (SELECT 2 AS x) }', '{LIMIT (SELECT 3),LIMIT 4 OFFSET (SELECT count(*) - 2 FROM c),LIMIT 5,"LIMIT 1 + (SELECT min(k) FROM c)"}', 'any');
SELECT check_query('WITH w AS (SELECT 2 AS x) SELECT k, rank() OVER (ORDER BY sum(n), k) FROM o GROUP BY k ORDER BY 2, 1 LIMIT (SELECT x FROM w)', 'any');
SELECT check_stages('SELECT k2, max(y) FROM (SELECT k2, x, row_number() OVER (PARTITION BY k2 ORDER BY x, id) AS y FROM (SELECT id, k2, lag(v) OVER (ORDER BY id) AS x FROM o) p) q GROUP BY k2');
SELECT check_stages('WITH q AS (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS m, v FROM o) SELECT sum(v), count(*) FROM q WHERE m = 1');
SELECT check_stages('SELECT DISTINCT m FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o) q');
SELECT check_stages('SELECT m, k, count(*) FROM (SELECT k, k2, row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o) q GROUP BY GROUPING SETS ((m), (k), ())');
SELECT check_stages('SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM (SELECT k, (v - lag(v) OVER (PARTITION BY k ORDER BY id))::float8 AS x FROM o) q GROUP BY k');
SELECT check_stages('SELECT count(*) FROM (SELECT lag(v) OVER (ORDER BY id) AS x FROM empty) q');
SELECT check_stages('SELECT k, v, m FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o) q WHERE m = 1 AND v > 5');
-- averages of groups, and other results that a subquery computes of groups
SELECT check_all_stages('SELECT count(*), min(x)::text, max(x)::text FROM (SELECT %s AS x FROM o GROUP BY k) q', '{avg(v), avg(n), avg(w), avg(big), "sum(n) / count(*)", "max(t) - min(t)", "round(avg(n), 1)", "avg(v) + avg(n)", "sum(v)::numeric / nullif(count(v), 0)", "coalesce(avg(v), 0)", "CASE WHEN count(*) > 41 THEN sum(v) END", "avg(v) FILTER (WHERE b)", "1 / (count(*) - 41)", "stddev(v) * 2"}');
SELECT check_all_stages('SELECT count(*), sum(v) FROM o JOIN (SELECT k, avg(n) AS a, count(*) * 2 AS twice FROM o GROUP BY k) q ON q.k = o.k %s', '{"WHERE n > a", "WHERE n > a * 1.2", "WHERE twice > 82", "AND n < a - 10", ""}');
-- joined: they probe and are probed, inner, outer, semi and anti
SELECT check_all_stages('SELECT %s', ARRAY['name, count(*), sum(m) FROM c JOIN (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o) q ON q.k = c.k GROUP BY name',
    'name, count(*), sum(m) FROM c JOIN (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o) q ON q.k = c.k WHERE m = 1 GROUP BY name',
    'name, count(q.m), sum(x) FROM c LEFT JOIN (SELECT k, row_number() OVER w AS m, v - lag(v) OVER w AS x FROM o WINDOW w AS (PARTITION BY k ORDER BY id)) q ON q.k = c.k AND m = 2 GROUP BY name',
    'name, count(q.m), sum(x) FROM c LEFT JOIN (SELECT k, row_number() OVER w AS m, coalesce(lag(v) OVER w, 1) AS x FROM o WINDOW w AS (PARTITION BY k ORDER BY id)) q ON q.k = c.k AND m = 1 GROUP BY name',
    'name, count(*), sum(x) FROM c LEFT JOIN (SELECT k, row_number() OVER w AS m, 7 AS x FROM o WINDOW w AS (PARTITION BY k ORDER BY id)) q ON q.k = c.k AND m = 1 GROUP BY name',
    'count(*) FROM c WHERE k IN (SELECT k FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o WHERE v > 0) q WHERE m = 25)',
    'count(*) FROM c WHERE NOT EXISTS (SELECT FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o WHERE v > 0) q WHERE m = 25 AND q.k = c.k)',
    'count(*), sum(a.x), sum(b.m) FROM (SELECT id, lag(v) OVER (ORDER BY id) AS x FROM o) a JOIN (SELECT id, row_number() OVER (ORDER BY v, id) AS m FROM o) b ON a.id = b.m',
    'm, count(*) FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o UNION ALL SELECT k, 1 FROM c) q GROUP BY m']);
-- errors are PostgreSQL's: of every row, whatever the conditions around the subquery say, and of none that nobody reads
SELECT check_stages('SELECT sum(x) FROM (SELECT 1 / (lag(v) OVER (ORDER BY id) - 5) AS x FROM o) q');
SELECT check_stages('SELECT sum(x) FROM (SELECT id, 1 / (lag(v) OVER (ORDER BY id) - 5) AS x FROM o) q WHERE id < 3');
SELECT check_stages('SELECT count(*) FROM (SELECT id, 1 / (lag(v) OVER (ORDER BY id) - 5) AS x FROM o) q WHERE id < 3');
SELECT check_stages('SELECT sum(x) FROM (SELECT id, 1 / (lag(v) OVER (ORDER BY id) - 500) AS x FROM o) q WHERE id < 3');
SELECT check_stages('SELECT sum(x) FILTER (WHERE id < 3) FROM (SELECT id, 1 / (lag(v) OVER (ORDER BY id) - 5) AS x FROM o) q');
SELECT check_stages('SELECT count(*) FROM (SELECT id, 1 / (lag(v) OVER (ORDER BY id) - 5) AS x FROM o) q WHERE id < 3 AND x > 0');
SELECT check_stages('SELECT max(x) FROM (SELECT k, 1 / (count(*) - 42) AS x FROM o GROUP BY k) q WHERE k < 0');
SELECT check_stages('SELECT max(t) FROM (SELECT lag(t) OVER (ORDER BY id) + v * interval ''10000 years'' AS t FROM o) q');
SELECT check_stages('SELECT count(x) FROM (SELECT 1 / (row_number() OVER w - 2) AS x, row_number() OVER w AS r FROM o WINDOW w AS (PARTITION BY k ORDER BY id)) q WHERE r <= 1');
SELECT check_stages('SELECT count(x) FROM (SELECT k - (row_number() OVER w) % 2 AS x, row_number() OVER w AS r FROM o WINDOW w AS (PARTITION BY k ORDER BY id)) q WHERE r <= 1');
SELECT check_stages('SELECT count(x) FROM (SELECT 100 / (v - 7) AS x, row_number() OVER w AS r FROM o WINDOW w AS (PARTITION BY k ORDER BY id)) q WHERE r <= 1');
SELECT check_stages('SELECT sum(x) FROM (SELECT 100 / (v * v + 1) AS x, row_number() OVER w AS r FROM o WINDOW w AS (PARTITION BY k ORDER BY id)) q WHERE r <= 1');

-- parameters, cursors, executions one after the other
SELECT check_prepared('device', 'SELECT m, count(*), sum(x) FROM (SELECT lag(v) OVER (PARTITION BY k ORDER BY id) AS x, row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o WHERE v > $1) q WHERE m <= $2 GROUP BY m', '(int, int)', '(0, 1)', '(10, 5)', '(30, 1)');
SET gpuscan.offload = force;
BEGIN;
DECLARE twice SCROLL CURSOR FOR SELECT m, count(*) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o WHERE k < 3) s GROUP BY m HAVING count(*) = 3 ORDER BY m LIMIT 3;
FETCH ALL FROM twice;
FETCH BACKWARD 1 FROM twice;
MOVE ABSOLUTE 0 FROM twice;
FETCH 1 FROM twice;
COMMIT;
SELECT g, (SELECT max(x) FROM (SELECT v - g - lag(v) OVER (ORDER BY id) AS x FROM o WHERE k2 = g) s) FROM generate_series(0, 5) g;
RESET gpuscan.offload;
BEGIN;
INSERT INTO o (id, k, v) SELECT 10000 + i, i, 1 FROM generate_series(1, 50) i;
DELETE FROM o WHERE id < 100;
SELECT check_stages('SELECT m, count(*), sum(x) FROM (SELECT v - lag(v) OVER (PARTITION BY k ORDER BY id) AS x, row_number() OVER (PARTITION BY k ORDER BY id) AS m FROM o) q GROUP BY m');
ROLLBACK;
-- rows that a policy hides, and a view that is a barrier: what a condition shows is of rows that the user sees
CREATE FUNCTION tell(int) RETURNS bool LANGUAGE plpgsql COST 0.001 AS $$BEGIN RAISE NOTICE 'seen %', $1; RETURN true; END$$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS m, 1000 / (v + 1000) AS x FROM o WHERE id < 5;
SELECT check_stages('SELECT m, count(*), sum(x) FROM barrier GROUP BY m');
SELECT check_stages('SELECT m, count(*), sum(x) FROM barrier WHERE m = 1 AND k > 2 GROUP BY m');
SET client_min_messages = notice;
SET gpuscan.offload = force;
SELECT count(*) FROM barrier WHERE tell(id) AND m = 1;
RESET gpuscan.offload;
SET client_min_messages = warning;
-- many rows, in several passes of what reads them
SET gpuscan.offload = off;
CREATE TABLE many AS SELECT i AS id, i % 5000 AS k, (i * 7919::int8 % 100003)::int AS v FROM generate_series(1, 300000) i;
VACUUM (FREEZE, ANALYZE) many;
RESET gpuscan.offload;
SELECT check_stages('SELECT m, count(*), sum(x), min(x), max(x) FROM (SELECT v - lag(v) OVER w AS x, row_number() OVER w AS m FROM many WINDOW w AS (PARTITION BY k ORDER BY id)) q GROUP BY m');
SELECT check_stages('SELECT count(*), sum(v) FROM (SELECT v, rank() OVER (PARTITION BY k ORDER BY v DESC) AS m FROM many) q WHERE m <= 3');

-- what only the backend puts together: defaults of lag and lead, sums and extremes of numerics that are written with different scales
SET gpuscan.offload = off;
CREATE TABLE plain AS SELECT i AS id, i % 7 AS k, round(i * 7919 % 3001 / 8.0, i % 4) AS m, (i % 50)::numeric(8,2) AS n, 'text ' || i % 9 AS t FROM generate_series(1, 3000) i;
VACUUM (FREEZE, ANALYZE) plain;
RESET gpuscan.offload;
SELECT q, check_query('SELECT k, count(*), ' || q || ' FROM plain WINDOW w AS (PARTITION BY k ORDER BY id)) q WHERE x IS NOT NULL GROUP BY k', 'any')
FROM unnest(ARRAY['sum(x) FROM (SELECT k, lag(n, 1, 0) OVER w AS x', 'sum(x + 1) FROM (SELECT k, lead(n, 2, 7.125) OVER w AS x', 'max(x) FROM (SELECT k, lag(t, 1, ''zz'') OVER w AS x', 'sum(x) FROM (SELECT k, sum(m) OVER w AS x',
    'max(x) FROM (SELECT k, avg(m) OVER w AS x', 'max(x) FROM (SELECT k, min(m) OVER w AS x', 'count(DISTINCT x) FROM (SELECT k, max(t) OVER w AS x', 'sum(x) FROM (SELECT k, n - lag(n, 1, 0) OVER w AS x']) q;

-- what EXPLAIN says
SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT k, sum(x) FROM (SELECT k, v - lag(v) OVER (PARTITION BY k ORDER BY id) AS x FROM o) q WHERE x > 3 GROUP BY k;
RESET gpuscan.offload;

DROP SCHEMA stage_windows CASCADE;
