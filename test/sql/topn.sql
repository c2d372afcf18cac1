-- ORDER BY ... LIMIT over groups: the device process keeps the first ones by the sort keys that it knows. What is kept is
-- PostgreSQL's to sort; every query here orders its rows fully, or is asked only for what its order defines.
CREATE SCHEMA topn;
SET search_path = topn, public;
CREATE TABLE t (k int, b int2, i int4, l int8, n numeric(12,2), w numeric(30,4), f float8, r float4, d date, o bool, u uuid, s text, c char(3));
INSERT INTO t SELECT i % 700, nullif(i % 7, 3), CASE WHEN i % 11 <> 0 THEN i * 37 % 1009 - 300 END, i * 7919::int8 % 100003 * 1000000007, CASE WHEN i % 700 % 5 <> 0 THEN (i * 31 % 997 - 400) / 4.0 END,
    (i % 83 - 20) * 123456789012345678.4321, CASE i % 700 WHEN 3 THEN 'NaN' ELSE (i % 61 - 9) / 8.0 END, (i % 13 - 4) / 2.0, date '2024-01-01' + i % 97, i % 9 = 0, lpad((i % 50)::text, 32, '0')::uuid, 's' || i % 6, 'c' || i % 4
    FROM generate_series(1, 9000) i;
INSERT INTO t (k, s) SELECT k, s FROM unnest('{NULL,900,901}'::int[]) k, unnest('{a,b}'::text[]) s;
CREATE TABLE hollow (LIKE t);
VACUUM (FREEZE, ANALYZE) t;

-- The rows in the order in which they come, without and with the device, and how many groups did not leave it.
CREATE FUNCTION first_ones(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plain text[];
    device text[];
    plan jsonb;
BEGIN
    SET LOCAL gpuscan.offload = off;
    EXECUTE format('SELECT array_agg(x::text) FROM (%s) x', query) INTO plain;
    SET LOCAL gpuscan.offload = force;
    EXECUTE format('SELECT array_agg(x::text) FROM (%s) x', query) INTO device;
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN format('%s rows%s, %s dropped', coalesce(array_length(plain, 1), 0), CASE WHEN plain IS DISTINCT FROM device THEN E' DIFFERENT\n' || plain::text || E'\n' || coalesce(device::text, '') ELSE '' END,
                  CASE WHEN plan @? 'strict $.**."Fallback"' THEN 'fallback: none' WHEN NOT plan @? '$.** ? (@."Custom Plan Provider" == "GpuScan")' THEN 'cpu: none'
                       ELSE coalesce(jsonb_path_query_first(plan, 'strict $.**."Groups Dropped"') #>> '{}', 'none') END);
END $$;
-- every kind of key, both directions, NULLs at both ends; k makes the order total
CREATE TABLE orders (number int GENERATED ALWAYS AS IDENTITY, key text);
INSERT INTO orders (key) VALUES ('k'), ('-k'), ('k % 10'), ('count(*)'), ('count(n)'), ('sum(i)'), ('sum(b)'), ('sum(l)'), ('sum(n)'), ('sum(w)'), ('sum(f)'), ('avg(f)'), ('avg(r)'), ('min(i)'), ('max(b)'), ('max(n)'), ('min(w)'),
    ('max(f)'), ('min(r)'), ('max(d)'), ('bool_or(o)'), ('bit_xor(i)'), ('sum(i) - sum(b)'), ('sum(n) * count(*)'), ('coalesce(sum(n), -1000)'), ('CASE WHEN k % 2 = 0 THEN sum(n) END'), ('count(DISTINCT b)'), ('sum(DISTINCT i)'), ('sum(i)::float8'),
    ('avg(i)'), ('avg(n)'), ('max(s)'), ('sum(n) / 3'), ('k::text'), ('stddev(i)'), ('max(s) || k');
SELECT key, direction, first_ones(format('SELECT k, %s AS x FROM t GROUP BY k ORDER BY 2 %s, 1 LIMIT 7', key, direction)) FROM orders, unnest('{"",DESC,"NULLS FIRST","DESC NULLS LAST"}'::text[]) WITH ORDINALITY AS d(direction, at) ORDER BY number, at;
-- several keys, unknown ones behind known ones, no LIMIT, LIMITs of all sizes
SELECT keys, first_ones('SELECT k, count(*), sum(n), max(s), min(d) FROM t GROUP BY k ORDER BY ' || keys || ' LIMIT 9')
    FROM unnest('{"count(*), k","count(*) DESC, sum(n), k","max(b), max(s), k","max(b), min(i) % 3 DESC, max(s) DESC, k DESC","max(s), k","count(*), avg(n), k","min(d), max(b) DESC NULLS LAST, k DESC","bool_or(o), k USING >","k USING <"}'::text[]) keys;
SELECT limits, first_ones('SELECT k, sum(n) FROM t GROUP BY k ORDER BY sum(n), k DESC ' || limits)
    FROM unnest('{"LIMIT 0","LIMIT 1","LIMIT 5 OFFSET 3","OFFSET 695","LIMIT 700","LIMIT 703","LIMIT 5000","LIMIT 3 OFFSET 702","LIMIT 3 OFFSET 5000","LIMIT NULL","LIMIT ALL","LIMIT 5 OFFSET NULL","LIMIT 9223372036854775807 OFFSET 9223372036854775807","LIMIT (SELECT 4)","FETCH FIRST ROW ONLY","FETCH FIRST 3 ROWS WITH TIES"}'::text[]) limits;
-- ties
SELECT first_ones('SELECT * FROM (SELECT k, count(*) AS n FROM t GROUP BY k ORDER BY count(*) FETCH FIRST 4 ROWS WITH TIES) x ORDER BY 1, 2');
SELECT first_ones('SELECT * FROM (SELECT k, max(b) AS n FROM t GROUP BY k ORDER BY max(b) FETCH FIRST 4 ROWS WITH TIES) x ORDER BY 1, 2');
SELECT first_ones('SELECT n FROM (SELECT k, max(b) AS n FROM t GROUP BY k ORDER BY max(b) DESC LIMIT 250) x');
SELECT first_ones('SELECT count(*), min(n) FROM (SELECT k, count(*) AS n FROM t GROUP BY k ORDER BY count(*) LIMIT 17) x');
SELECT first_ones('SELECT count(*) FROM (SELECT k, count(*) AS n FROM t GROUP BY k LIMIT 17) x');
SELECT first_ones('SELECT count(*) FROM (SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 12 LIMIT 800 OFFSET 20) x');
-- DISTINCT, sets of groupings, several keys, HAVING that the device knows and that it does not
SELECT first_ones('SELECT DISTINCT k, b FROM t ORDER BY b DESC, k LIMIT 20');
SELECT first_ones('SELECT DISTINCT b FROM t ORDER BY b LIMIT 3');
SELECT first_ones('SELECT DISTINCT ON (b) b, k FROM t ORDER BY b, k LIMIT 3');
SELECT first_ones('SELECT DISTINCT count(*), max(b) FROM t GROUP BY k ORDER BY 1, 2 LIMIT 3');
SELECT first_ones('SELECT k, b, count(*), sum(n) FROM t GROUP BY ROLLUP (k, b) ORDER BY count(*) DESC, k, b LIMIT 9');
SELECT first_ones('SELECT k, b, count(*), sum(n) FROM t GROUP BY CUBE (k, b) ORDER BY b NULLS FIRST, k NULLS FIRST, count(*) LIMIT 9');
SELECT first_ones('SELECT k, u, d, count(*) FROM t GROUP BY k, u, d ORDER BY u DESC NULLS LAST, d, k LIMIT 9');
SELECT first_ones('SELECT s, c, count(*) FROM t GROUP BY s, c ORDER BY count(*) DESC, s, c LIMIT 4');
SELECT first_ones('SELECT k, sum(n) FROM t GROUP BY k HAVING sum(n) > 500 AND k % 2 = 0 ORDER BY sum(n), k LIMIT 9');
SELECT first_ones('SELECT k, sum(n) FROM t GROUP BY k HAVING avg(n) > 25 ORDER BY sum(n), k LIMIT 9');
SELECT first_ones('SELECT k, sum(n) FROM t GROUP BY k HAVING stddev(n) > 25 ORDER BY sum(n), k LIMIT 9');
SELECT first_ones('SELECT k, sum(n) FROM hollow GROUP BY k ORDER BY sum(n), k LIMIT 9');
SELECT first_ones('SELECT sum(n) FROM t ORDER BY 1 LIMIT 9');
SELECT first_ones('SELECT count(*) FROM hollow LIMIT 1');
-- what stands between the groups and the LIMIT
SELECT first_ones('SELECT k, count(*), rank() OVER (ORDER BY count(*) DESC, k) FROM t GROUP BY k ORDER BY 2, 1 LIMIT 5');
SELECT first_ones('SELECT k, generate_series(1, count(*) % 3) AS g FROM t GROUP BY k ORDER BY 1, 2 LIMIT 5');
SELECT first_ones('(SELECT k, count(*) AS c FROM t GROUP BY k ORDER BY c, k LIMIT 5) UNION ALL SELECT b, count(*) FROM t GROUP BY b ORDER BY 2 DESC, 1 LIMIT 6');
SELECT first_ones('SELECT x.k, x.c, y.m FROM (SELECT k, count(*) AS c FROM t GROUP BY k ORDER BY c, k LIMIT 5) x JOIN (SELECT k, max(i) AS m FROM t GROUP BY k) y USING (k) ORDER BY 1');
SELECT first_ones('SELECT o.b, x.k, x.m FROM (SELECT DISTINCT b FROM t) o, LATERAL (SELECT k, sum(n) AS m FROM t WHERE t.b = o.b GROUP BY k ORDER BY m DESC, k LIMIT o.b + 1) x ORDER BY 1, 3, 2');
-- many are wanted: they come in their order, and nothing is left to sort
SELECT keys, first_ones('SELECT k, i, count(*), sum(n), max(w), min(s) FROM t GROUP BY k, i ORDER BY ' || keys || ' LIMIT 1500 OFFSET 100')
    FROM unnest('{"k, i","sum(n) DESC, k, i","sum(n) DESC NULLS LAST, max(w) DESC, k NULLS FIRST, i DESC","min(s), k, i","count(*), i, min(s) DESC, k","max(w), 1 / (k + 1), k, i"}'::text[]) keys;
SELECT first_ones('SELECT k, i, sum(n) FROM t GROUP BY k, i HAVING count(*) < 2 ORDER BY sum(n), i, k LIMIT 1200');
SELECT first_ones('SELECT * FROM (SELECT i, k, sum(n) FROM t GROUP BY k, i ORDER BY k DESC, i FETCH FIRST 1007 ROWS WITH TIES) x ORDER BY 1, 2');
SELECT first_ones('SELECT count(*), sum(x.s) FROM (SELECT k, i, sum(n) AS s FROM t GROUP BY k, i ORDER BY s DESC, k, i LIMIT 2000) x');
SELECT first_ones('SELECT DISTINCT k, i FROM t ORDER BY i DESC, k LIMIT 1100');
-- errors of groups that are not among the first are PostgreSQL's to raise
SELECT check_query('SELECT k, 1 / (k - 600) FROM t GROUP BY k ORDER BY k LIMIT 5', 'forced');
SELECT check_query('SELECT k FROM t GROUP BY k ORDER BY 1 / (k - 600) LIMIT 5', 'forced');
SELECT check_query('SELECT k FROM t GROUP BY k ORDER BY count(*), 1 / (k - 600) LIMIT 5', 'forced');
SELECT check_query('SELECT k, max(left(c, 1))::int FROM t GROUP BY k ORDER BY k LIMIT 5', 'forced');
SELECT check_query('SELECT k, sum(n) FROM t GROUP BY k ORDER BY k LIMIT -1', 'forced');
SELECT check_query('SELECT k, sum(n) FROM t GROUP BY k ORDER BY k LIMIT 1 OFFSET -1', 'forced');
SELECT check_query('SELECT max(k), sum(l * l) FROM (SELECT k, l * 90000 AS l FROM t) x GROUP BY k ORDER BY k LIMIT 1', 'any');
SELECT check_query('SELECT k, ' || a || '(CASE WHEN k = 600 THEN interval ''1500000000 days'' ELSE interval ''1 day'' END) FROM t GROUP BY k ORDER BY k LIMIT 5', 'forced') FROM unnest('{sum,avg}'::text[]) a;
SELECT check_query('SELECT k, sum(CASE WHEN k = 600 THEN interval ''170000000 years'' ELSE interval ''1 year'' END) FROM t GROUP BY k HAVING count(*) < 0', 'forced');
SELECT check_query('SELECT k, sum(CASE WHEN k = 600 THEN interval ''2500000000 hours'' ELSE interval ''1 hour'' END) FROM t GROUP BY k ORDER BY k LIMIT 5', 'forced');
-- parameters: each execution its own number
PREPARE p (int8, int8) AS SELECT k, sum(n) FROM t GROUP BY k ORDER BY sum(n) DESC, k LIMIT $1 OFFSET $2;
SET plan_cache_mode = force_generic_plan;
SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) EXECUTE p (3, 1);
EXECUTE p (3, 142);
EXECUTE p (1, 0);
EXECUTE p (0, 0);
EXECUTE p (2, NULL);
EXECUTE p (NULL, 701);
EXECUTE p (-1, 0);
EXPLAIN (COSTS OFF) SELECT k, sum(n), max(s) FROM t GROUP BY k HAVING count(*) > 3 ORDER BY sum(n) DESC NULLS LAST, max(d) NULLS FIRST, max(s) LIMIT 10 OFFSET 5;
EXPLAIN (COSTS OFF) SELECT k, i, sum(n), max(w) FROM t GROUP BY k, i ORDER BY sum(n) DESC, max(w), k, i LIMIT 1500 OFFSET 100;
EXPLAIN (COSTS OFF) SELECT k, i, sum(n), max(s) FROM t GROUP BY k, i ORDER BY sum(n) DESC, max(s), k, i LIMIT 1500;
RESET gpuscan.offload;
DEALLOCATE ALL;
