-- ORDER BY ... LIMIT over rows: the device process keeps the first ones while rows come in. The rows below have a total order, or
-- are asked only for what their order defines.
CREATE SCHEMA topn_rows;
SET search_path = topn_rows, public;
CREATE TABLE t (k int, b int2, i int4, l int8, n numeric(12,2), w numeric(30,4), f float8, r float4, d date, o bool, ts timestamp, s text, c char(3), v interval);
INSERT INTO t SELECT i, nullif(i % 7, 3), CASE WHEN i % 11 <> 0 THEN i * 37 % 1009 - 300 END, i * 7919::int8 % 100003 * 1000000007, CASE WHEN i % 700 % 5 <> 0 THEN (i * 31 % 997 - 400) / 4.0 END,
    (i % 83 - 20) * 123456789012345678.4321, CASE i % 700 WHEN 3 THEN 'NaN' WHEN 4 THEN 'Infinity' WHEN 5 THEN '-Infinity' ELSE (i % 61 - 9) / 8.0 END, CASE i % 300 WHEN 7 THEN 'NaN' ELSE (i % 13 - 4) / 2.0 END, date '2024-01-01' + i % 97, i % 9 = 0,
    timestamp '2024-01-01' + i * 7919 % 10007 * interval '1 minute', CASE WHEN i % 17 <> 5 THEN 's' || i * 31 % 401 END, 'c' || i % 4, i % 50 * interval '7 hours'
    FROM generate_series(1, 40000) i;
CREATE TABLE other AS SELECT i AS k, i % 13 AS g, 'o' || i AS name FROM generate_series(1, 3000, 3) i;
CREATE TABLE hollow (LIKE t);
VACUUM (FREEZE, ANALYZE) t, other;

-- The rows in the order in which they come, without and with the device, and how many the device delivered.
CREATE FUNCTION first_rows(query text, mode text DEFAULT 'force') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plain text[];
    device text[];
    plan jsonb;
BEGIN
    SET LOCAL gpuscan.offload = off;
    EXECUTE format('SELECT array_agg(x::text) FROM (%s) x', query) INTO plain;
    PERFORM set_config('gpuscan.offload', mode, true);
    EXECUTE format('SELECT array_agg(x::text) FROM (%s) x', query) INTO device;
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN format('%s rows%s, %s', coalesce(array_length(plain, 1), 0), CASE WHEN plain IS DISTINCT FROM device THEN E' DIFFERENT\n' || plain::text || E'\n' || coalesce(device::text, '') ELSE '' END,
                  CASE WHEN plan @? 'strict $.**."Fallback"' THEN 'fallback' WHEN NOT plan @? '$.** ? (@."Custom Plan Provider" == "GpuScan")' THEN 'cpu'
                       ELSE coalesce(jsonb_path_query_first(plan, 'strict $.**."Rows Out"') #>> '{}', 'none') || ' delivered, ' || coalesce(regexp_replace(jsonb_path_query_first(plan, 'strict $.**."Rows Wanted"') #>> '{}', '.*[^0-9].*', 'a parameter') || ' wanted', 'all wanted') END);
END $$;
-- every kind of key, both directions, NULLs at both ends; k makes the order total
SELECT key, direction, first_rows(format('SELECT k, %s AS x FROM t ORDER BY 2 %s, 1 LIMIT 7', key, direction))
    FROM unnest('{k,-k,k % 10,b,i,l,n,w,f,r,d,o,ts,s,c,v,n * 2,i + b,f * 2,upper(s),"coalesce(n, -1000)",CASE WHEN k % 2 = 0 THEN n END,s IS NULL}'::text[]) WITH ORDINALITY AS k(key, number), unnest('{"",DESC,"NULLS FIRST","DESC NULLS LAST"}'::text[]) WITH ORDINALITY AS d(direction, at)
    ORDER BY number, at;
-- several keys, LIMITs of all sizes
SELECT keys, first_rows('SELECT k, b, n, s, d FROM t ORDER BY ' || keys || ' LIMIT 900')
    FROM unnest('{"b, k","b DESC, n, k","o, b, s, k","b, i % 3 DESC, s DESC, k DESC","s, k","l, n","d, b DESC NULLS LAST, k DESC","l DESC, l, k USING >","k USING <","w, f, r, k","ts, k"}'::text[]) keys;
SELECT limits, first_rows('SELECT k, n, s FROM t WHERE k <= 20000 ORDER BY n, k DESC ' || limits)
    FROM unnest('{"LIMIT 0","LIMIT 1","LIMIT 5 OFFSET 3","OFFSET 19995","LIMIT 16383","LIMIT 16384","LIMIT 16385","LIMIT 19999","LIMIT 20000","LIMIT 20001","LIMIT 50000","LIMIT 3 OFFSET 19999","LIMIT 3 OFFSET 50000","LIMIT NULL","LIMIT ALL","LIMIT 5 OFFSET NULL","LIMIT 9223372036854775807 OFFSET 9223372036854775807","LIMIT (SELECT 4)","LIMIT (SELECT count(*) FROM other) OFFSET (SELECT 2)","FETCH FIRST ROW ONLY","FETCH FIRST 3 ROWS WITH TIES"}'::text[]) limits;
SELECT first_rows('SELECT k FROM t ORDER BY k LIMIT -1');
SELECT first_rows('SELECT k FROM hollow ORDER BY k LIMIT 3');
SELECT first_rows('SELECT k FROM t WHERE k < 0 ORDER BY k LIMIT 3');
SELECT first_rows('SELECT k, n FROM t WHERE b = 2 AND n > 0 ORDER BY n DESC, k LIMIT 30');
-- ties, and keys that the device does not know behind those that it knows
SELECT first_rows('SELECT * FROM (SELECT k, b FROM t ORDER BY b FETCH FIRST 4 ROWS WITH TIES) x ORDER BY 1, 2');
SELECT first_rows('SELECT * FROM (SELECT k, d, o FROM t ORDER BY d DESC, o FETCH FIRST 40 ROWS WITH TIES) x ORDER BY 1, 2');
SELECT first_rows('SELECT b FROM (SELECT k, b FROM t ORDER BY b DESC LIMIT 6250) x');
SELECT first_rows('SELECT count(*), min(d) FROM (SELECT k, d FROM t ORDER BY d LIMIT 17) x');
SELECT first_rows('SELECT k, d, l FROM t ORDER BY d, (l::text || s) COLLATE "C", k LIMIT 9');
SELECT first_rows('SELECT k, v FROM t ORDER BY v DESC, k LIMIT 9');
-- joins, partitions, subqueries, what stands between the rows and the LIMIT
SELECT first_rows('SELECT t.k, other.name FROM t JOIN other USING (k) WHERE g < 9 ORDER BY g DESC, t.k LIMIT 25');
SELECT first_rows('SELECT t.k, other.k FROM t RIGHT JOIN other ON t.k = other.k AND t.b = 1 ORDER BY t.n NULLS FIRST, other.k LIMIT 25');
SELECT first_rows('SELECT t.k, other.k FROM t FULL JOIN other ON t.k = other.k + 39000 ORDER BY other.name NULLS FIRST, t.k LIMIT 25');
SELECT first_rows('SELECT t.k, other.k FROM t RIGHT JOIN other ON t.k = other.k + 100000 ORDER BY other.g DESC, other.k LIMIT 6');
SELECT first_rows('SELECT k FROM t WHERE EXISTS (SELECT FROM other WHERE other.k = t.k) ORDER BY l, k LIMIT 4');
SELECT first_rows('SELECT x.k, row_number() OVER (ORDER BY x.k) FROM (SELECT k FROM t ORDER BY l, k LIMIT 20) x ORDER BY 1');
SELECT first_rows('SELECT k, row_number() OVER (ORDER BY l, k) FROM t ORDER BY l, k LIMIT 5');
SELECT first_rows('SELECT DISTINCT b, d FROM t ORDER BY b, d LIMIT 5');
SELECT first_rows('SELECT DISTINCT ON (b) b, k FROM t ORDER BY b, k LIMIT 3');
SELECT first_rows('SELECT generate_series(1, 2), k FROM t ORDER BY k LIMIT 5');
SELECT first_rows('SELECT k, generate_series(1, 2) FROM t ORDER BY l, 2 LIMIT 5');
SELECT first_rows('(SELECT k FROM t ORDER BY l LIMIT 3) UNION ALL (SELECT k FROM other ORDER BY k DESC LIMIT 2) ORDER BY 1');
SELECT first_rows('SELECT k, i FROM (SELECT k, i FROM t UNION ALL SELECT k, g FROM other) x ORDER BY i DESC NULLS LAST, k LIMIT 12');
SELECT first_rows('SELECT o.k, x.k AS l FROM (SELECT * FROM other ORDER BY k LIMIT 3) o, LATERAL (SELECT t.k FROM t WHERE t.b = o.g ORDER BY t.l LIMIT o.g) x ORDER BY 1, 2');
SELECT first_rows('SELECT o.k, (SELECT t.k FROM t WHERE t.b = o.g ORDER BY t.l OFFSET o.g LIMIT 1) FROM other o WHERE o.k < 40 ORDER BY 1');
CREATE TABLE parts (k int, v int8, s text) PARTITION BY RANGE (k);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (10000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10000) TO (MAXVALUE);
INSERT INTO parts SELECT k, l, s FROM t;
VACUUM (FREEZE, ANALYZE) parts;
SELECT first_rows('SELECT k, v, s FROM parts ORDER BY v DESC, k LIMIT 11');
SELECT first_rows('SELECT k, v, s FROM parts ORDER BY s DESC NULLS LAST, k LIMIT 11');
-- parameters, generic plans, scans that are begun again
SET gpuscan.offload = force;
SET plan_cache_mode = force_generic_plan;
PREPARE first (int8, int8) AS SELECT k, n FROM t ORDER BY n DESC, k LIMIT $1 OFFSET $2;
EXPLAIN (COSTS OFF) EXECUTE first (2, 1);
EXECUTE first (2, 1);
EXECUTE first (4, 0);
EXECUTE first (NULL, 39998);
EXECUTE first (1, NULL);
EXECUTE first (0, 3);
EXECUTE first (-3, 0);
RESET plan_cache_mode;
BEGIN;
DECLARE few CURSOR FOR SELECT k, n FROM t ORDER BY n, k LIMIT 3;
FETCH ALL FROM few;
FETCH BACKWARD 2 FROM few;
COMMIT;
-- what is shown is computed of all rows before they are sorted, as by PostgreSQL without an index: errors of rows that nobody wants, too
SELECT 1 / (k - 40000) AS x, k FROM t ORDER BY k LIMIT 2;
SELECT 1 / (k - 40000) AS x, k FROM t WHERE k < 40000 ORDER BY k LIMIT 2;
EXPLAIN (COSTS OFF) SELECT k, s FROM t WHERE b > 1 ORDER BY n DESC NULLS LAST, k LIMIT 10 OFFSET 5;
EXPLAIN (COSTS OFF) SELECT k FROM t ORDER BY n FETCH FIRST 10 ROWS WITH TIES;
RESET gpuscan.offload;

-- Chosen by cost: where texts are among the keys, the first rows by the keys before them, however few are expected.
CREATE TABLE sold AS SELECT i AS k, i * 7919 % 2003 AS g, md5((i % 40000)::text) AS s, i % 97 AS v, nullif(i % 11, 4) AS n FROM generate_series(1, 200000) i;
VACUUM (FREEZE, ANALYZE) sold;
SELECT gpuscan.prewarm('sold') > 0, gpuscan.prewarm('other') > 0; -- (how many executions bring columns depends on what they take)
SET max_parallel_workers_per_gather = 0;
SELECT part, first_rows('SELECT sold.k, g, n, s, name FROM sold JOIN (SELECT k AS id, name FROM other) o ON id = g + 1 WHERE v % 4 = 2 AND length(name) > 2 ORDER BY ' || part, 'auto')
    FROM unnest('{"g DESC, s, k LIMIT 20","g, n DESC NULLS LAST, s DESC, name, k LIMIT 3 OFFSET 30","n NULLS FIRST, s, k LIMIT 5","n DESC, s COLLATE \"C\", k LIMIT 5","g, s, k LIMIT 0","g, s, k LIMIT NULL","s, g, k LIMIT 4","g, k, s LIMIT 100000"}'::text[]) part;
SELECT first_rows('SELECT k, g, s FROM sold WHERE v % 3 = 1 AND v % 5 = 1 AND v % 7 = 1 AND length(s) = 32 ORDER BY g DESC, s, k FETCH FIRST 3 ROWS WITH TIES', 'auto');
PREPARE few(int, bigint) AS SELECT k, g, s FROM sold WHERE v % $1 = 2 AND length(s) = 32 ORDER BY g DESC, s, k LIMIT $2;
SET plan_cache_mode = force_generic_plan;
SET gpuscan.offload = auto;
EXECUTE few(4, 3);
EXECUTE few(4, 3);
EXECUTE few(5, 0);
EXECUTE few(5, NULL) \g /dev/null
DEALLOCATE few;
-- (an error in a row that nobody wants)
SELECT k, 1 / (k - 77779) AS x, s FROM sold WHERE v % 4 = 2 AND length(s) = 32 ORDER BY g, s, k LIMIT 3;
RESET plan_cache_mode;
RESET gpuscan.offload;
RESET max_parallel_workers_per_gather;
DROP SCHEMA topn_rows CASCADE;
