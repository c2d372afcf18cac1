-- Rows and groups in order: ORDER BY, DISTINCT ON, window functions and groups above rows, and ORDER BY, DISTINCT and window
-- functions above groups, that the device delivers sorted, so that PostgreSQL need not sort them. Rows are compared in the order
-- in which they come.
CREATE SCHEMA windows;
SET client_min_messages = warning;
SET search_path = windows, public;
SET gpuscan.device = host;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE t AS SELECT i AS id, nullif(i * 7919 % 60, 7) AS k, (i * 31 % 7 - 3)::int2 AS s, i * 1000003::bigint % 5000 - 2500 AS b, nullif(i * 17 % 40, 5) / 4.0::float8 - 3 AS f8, (i % 9 / 2.0)::float4 AS f4, (i * 13 % 500 / 4.0)::numeric(10,2) AS n, (i * 1000000007::numeric * 1000000007 * (i % 5 - 2))::numeric(30,4) AS w, date '2024-01-01' + i * 11 % 90 AS d,
    timestamp '2024-01-01' + (i * 37 % 1000) * interval '1 minute' AS ts, i % 3 = 0 AS g, nullif((ARRAY['b', 'B', 'a', 'ä', 'Z', 'zz', '', ' ', 'a b', 'A-b', '10', '9', 'é'])[i % 13 + 1], '9') AS t, (ARRAY['b', 'B', 'a', 'ä', 'Z'])[i % 5 + 1] COLLATE "C" AS c, (i % 11)::text::char(4) AS ch, (i % 50)::money AS m, time '00:00' + (i % 100) * interval '1 minute' AS ti FROM generate_series(1, 3000) i;
INSERT INTO t (id, f8, f4, b, s, d, ts) VALUES (-1, 'NaN', 'NaN', 9223372036854775807, 32767, 'infinity', 'infinity'), (-2, 'Infinity', '-Infinity', -9223372036854775808, -32768, '-infinity', '-infinity'), (-3, '1.5', '-1.5', 0, 0, '4713-01-01 BC', '4713-01-01 00:00:00 BC'), (-4, '-Infinity', '-1e-45', NULL, NULL, '5874897-12-31', '294276-12-31 23:59:59.999999');
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 9 AS name, i % 4 AS w FROM generate_series(0, 55) i;
CREATE TABLE parts (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM t;
CREATE TABLE other AS SELECT i AS id, jsonb_build_object('i', i % 5) AS j, ('00000000-0000-0000-0000-00000000000' || i % 7)::uuid AS u, i % 3 AS k FROM generate_series(1, 50) i;
VACUUM (FREEZE, ANALYZE);

-- The query's rows as they come, without and with the device; `sorted`: the device sorts and PostgreSQL does not.
CREATE FUNCTION check_order(query text, sorted boolean DEFAULT true) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plain text[] := '{}';
    device text[] := '{}';
    r record;
    plan jsonb;
    sorts boolean;
BEGIN
    PERFORM set_config('gpuscan.offload', 'off', true);
    FOR r IN EXECUTE 'SELECT x::text AS x FROM (' || query || ') x' LOOP
        plain := plain || r.x;
    END LOOP;
    PERFORM set_config('gpuscan.offload', 'force', true);
    EXECUTE 'SELECT array_agg(x.x) FROM (SELECT x::text AS x FROM (' || query || ') x) x' INTO device;
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
    PERFORM set_config('gpuscan.offload', 'off', true);
    IF plain IS DISTINCT FROM coalesce(device, '{}') THEN
        RETURN format(E'DIFFERENT: %s\n  %s\n  %s', query, left(plain::text, 500), left(device::text, 500));
    END IF;
    sorts := (plan @? '$.**."Row Order"' OR plan @? '$.**."Group Order"') AND NOT plan @? '$.** ? (@."Node Type" like_regex "Sort")';
    RETURN CASE WHEN sorts = sorted THEN format('%s rows', cardinality(plain)) ELSE format('PLAN: %s: %s', query, plan) END;
END $$;
CREATE FUNCTION check_orders(template text, a text[], b text[] DEFAULT '{""}', sorted boolean DEFAULT true) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    verdict text;
    query text;
    queries int := 0;
BEGIN
    FOR query IN SELECT format(template, x, y) FROM unnest(a) x, unnest(b) y LOOP
        verdict := check_order(query, sorted);
        queries := queries + 1;
        IF verdict !~ '^\d+ rows$' THEN
            RETURN NEXT verdict;
        END IF;
    END LOOP;
    RETURN NEXT format('%s queries', queries);
END $$;

-- every type, either direction, NULLs at either end
SELECT check_orders('SELECT %1$s FROM t ORDER BY %1$s %2$s', '{k,s,b,f8,f4,n,w,d,ts,g,t,c,ch,m,ti,id}', '{"",DESC,NULLS FIRST,DESC NULLS LAST}');
-- several keys, expressions, other collations, columns that are not shown
SELECT check_orders('SELECT %1$s FROM t ORDER BY %1$s', '{"k, t, id","g, f8, n","t, c, ch, s, id","s, b, id","w, id","k + s","upper(t), id","lower(t) COLLATE \"C\", id","CASE WHEN g THEN k ELSE s END, id","n * 2, id","d IS NULL, d, id","k IS NULL, k, id","t COLLATE \"en-x-icu\", id"}');
SELECT check_orders('SELECT id FROM t %s', '{"ORDER BY k DESC, s, t NULLS FIRST, id","WHERE n > 60 ORDER BY f8 DESC NULLS LAST, id DESC","WHERE id = 5 ORDER BY k","ORDER BY 1 DESC","ORDER BY t COLLATE \"C\" DESC, id"}');
SELECT check_orders('SELECT %s', '{"name, t.id FROM t JOIN dim USING (k) ORDER BY name, t.id","t.id, dim.k FROM t LEFT JOIN dim ON dim.k = t.k AND dim.w = 1 ORDER BY dim.k DESC, t.id","k, id FROM t WHERE k IN (SELECT k FROM dim WHERE dim.w = 2) ORDER BY k, id","t, id FROM parts ORDER BY t, id DESC","id FROM parts WHERE id < 100 ORDER BY k, id","a.id, b.id FROM t a JOIN t b ON a.id = b.k WHERE a.s = 1 ORDER BY a.n, b.id, a.id"}');
-- a part of the order, or none of it
SELECT check_orders('SELECT %s', '{"u, id FROM other ORDER BY u, id","id, j FROM other ORDER BY j, id","k, j FROM other ORDER BY k, j","id FROM t ORDER BY power(n, 2), id"}', sorted => false);
-- first rows, and those that are skipped; ties
SELECT check_orders('SELECT id, k FROM t ORDER BY k, id %s', '{LIMIT 5,LIMIT 0,OFFSET 2990,LIMIT 7 OFFSET 50}');
SELECT check_orders('SELECT k FROM t ORDER BY k FETCH FIRST 3 ROWS WITH TIES', '{""}');
-- DISTINCT ON, groups of aggregates that no device knows, DISTINCT and ORDER BY together
SELECT check_windows('SELECT %s', '{"DISTINCT ON (k) k, id, t FROM t ORDER BY k, id","DISTINCT ON (t, k) t, k, id FROM t ORDER BY t, k DESC, id DESC","DISTINCT ON (dim.name) dim.name, t.id FROM t JOIN dim USING (k) ORDER BY dim.name, t.id"}');
SELECT check_matrix('SELECT %s', '{"k, array_agg(id ORDER BY id) FROM t GROUP BY k","t, string_agg(id::text, '','' ORDER BY id DESC), count(*) FROM t GROUP BY t","k, percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) FROM t GROUP BY k"}'::text[]);
-- windows that are PostgreSQL's (of a character's maximum), and others
SELECT check_order('SELECT id, max(ch) OVER (ORDER BY id) FROM t ORDER BY id');
SELECT check_orders('SELECT %s FROM t ORDER BY %s', '{"id, rank() OVER (PARTITION BY k ORDER BY n, id), dense_rank() OVER (PARTITION BY k ORDER BY n, id)","id, sum(n) OVER (PARTITION BY t ORDER BY id), count(*) OVER (PARTITION BY t ORDER BY id)"}', '{id}', sorted => false);
SELECT check_matrix('SELECT %s', '{"id, row_number() OVER (ORDER BY id) FROM t","id, k, rank() OVER (PARTITION BY k ORDER BY n), dense_rank() OVER (PARTITION BY k ORDER BY n) FROM t","id, sum(n) OVER (PARTITION BY t ORDER BY id), avg(k) OVER (PARTITION BY t ORDER BY id), min(d) OVER (PARTITION BY t ORDER BY id), count(*) OVER (PARTITION BY t) FROM t","id, lag(n) OVER w, lead(t, 2, ''none'') OVER w, first_value(d) OVER w FROM t WINDOW w AS (PARTITION BY g ORDER BY id)","id, ntile(7) OVER (ORDER BY b DESC, id) FROM t WHERE k > 3","name, t.id, sum(n) OVER (PARTITION BY name ORDER BY t.id ROWS 3 PRECEDING) FROM t JOIN dim USING (k)",
    "* FROM (SELECT id, row_number() OVER (PARTITION BY t ORDER BY n DESC, id) AS r FROM t) x WHERE r <= 3","id, rank() OVER (PARTITION BY k ORDER BY n, id), rank() OVER (PARTITION BY t ORDER BY b, id) FROM t","id, sum(n) OVER (ORDER BY d RANGE BETWEEN ''3 days'' PRECEDING AND CURRENT ROW) FROM t WHERE d BETWEEN ''2024-01-01'' AND ''2024-12-31''","k, sum(count(*)) OVER (ORDER BY k) FROM t GROUP BY k","id, cume_dist() OVER (PARTITION BY g ORDER BY ts, id), percent_rank() OVER (PARTITION BY g ORDER BY ts, id) FROM parts"}'::text[]);
-- groups: by each type of key, by aggregates, by a part of the keys, of DISTINCT, of DISTINCT aggregates
SELECT check_orders('SELECT %1$s, count(*), sum(n) FROM t GROUP BY %1$s ORDER BY %1$s %2$s', '{k,s,b,f8,f4,n,w,d,ts,g,t,c,ch,m,ti,id,"t COLLATE \"C\"","k % 7","n * 2"}', '{"",DESC,NULLS FIRST,DESC NULLS LAST}');
SELECT check_orders('SELECT %s FROM t GROUP BY k, t ORDER BY %s', '{"k, t, count(*), sum(n), min(d), max(b), sum(s)"}', '{"k, t","t DESC, k","count(*), k, t","sum(n) DESC NULLS LAST, t, k","min(d) DESC, max(b), k, t","sum(s), t, k","count(*) * 2 - sum(s), k, t","k + 1, t","k IS NULL DESC, t, k"}');
SELECT check_orders('SELECT %s', '{"DISTINCT k, t FROM t ORDER BY t, k","DISTINCT k FROM t ORDER BY k DESC","k, count(DISTINCT t), avg(f8) FROM t WHERE f8 > -100 GROUP BY k ORDER BY k","k, avg(s::float8) FROM t GROUP BY k ORDER BY 2, 1","k FROM t GROUP BY k HAVING count(*) > 49 ORDER BY sum(n), k","name, dim.w, count(*) FROM t JOIN dim USING (k) GROUP BY name, dim.w ORDER BY dim.w DESC, name","k, count(*) FROM parts GROUP BY k ORDER BY k","dim.name, dim.k, count(t.id) FROM t RIGHT JOIN dim ON t.k = dim.k AND t.n > 100 GROUP BY dim.name, dim.k ORDER BY dim.name DESC, dim.k","k, count(*) FROM t WHERE id > 100000 GROUP BY k ORDER BY k","k, sum(w) FROM (SELECT k, s::numeric(30,4) AS w FROM t) x GROUP BY k ORDER BY 2 DESC, 1"}'::text[]);
SELECT check_orders('SELECT %s', '{"u, count(*) FROM other GROUP BY u ORDER BY u","k, avg(n) FROM t GROUP BY k ORDER BY avg(n), k","k, stddev(s) FROM t GROUP BY k ORDER BY 2, 1","upper(t), count(*) FROM t GROUP BY upper(t) ORDER BY 1","k, max(t) FROM t GROUP BY k ORDER BY max(t), k","k, g, count(*) FROM t GROUP BY ROLLUP (k, g) ORDER BY grouping(k, g), k, g"}'::text[], sorted => false);
-- a generic plan; the groups that a LIMIT in parameters wants
SELECT check_prepared('device', 'SELECT k, count(*) FROM t WHERE id > $1 GROUP BY k ORDER BY k LIMIT $2', '(int, bigint)', '(5, 3)', '(5, NULL)', '(-9, 0)');
-- windows above groups
SELECT check_order('SELECT k, stddev(count(*)) OVER (ORDER BY k) FROM t GROUP BY k ORDER BY k');
SELECT check_orders('SELECT %s', '{"k, t, count(*), round(stddev(count(*)) OVER (PARTITION BY k ORDER BY count(*)), 9) AS r FROM t GROUP BY k, t ORDER BY k, count(*), t","t, k, stddev(sum(n)) OVER (PARTITION BY t ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t GROUP BY t, k ORDER BY t, k"}'::text[]);
SELECT check_order('SELECT DISTINCT count(*) OVER (PARTITION BY k) AS c, k FROM t GROUP BY k, t ORDER BY k, c', false);
SELECT check_matrix('SELECT %s', '{"t, k, row_number() OVER (PARTITION BY t ORDER BY k) FROM t GROUP BY t, k","t, k, sum(count(*)) OVER (PARTITION BY t ORDER BY k), avg(sum(n)) OVER (PARTITION BY t) FROM t GROUP BY t, k","* FROM (SELECT t, k, rank() OVER (PARTITION BY t ORDER BY sum(n) DESC, k) AS r FROM t GROUP BY t, k) x WHERE r < 4","k, lag(count(*)) OVER (ORDER BY k), first_value(max(d)) OVER (ORDER BY k RANGE BETWEEN 3 PRECEDING AND 2 FOLLOWING) FROM t GROUP BY k","s, count(*) OVER (PARTITION BY s ORDER BY k GROUPS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), ntile(3) OVER (ORDER BY s) FROM t GROUP BY s, k"}'::text[]);
-- what stands between
CREATE FUNCTION sorts(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
    RETURN concat_ws(', ', 'device: ' || (SELECT string_agg(o #>> '{}', '; ') FROM jsonb_path_query(plan, 'strict $.** ? (exists (@."Row Order") || exists (@."Group Order"))') n, LATERAL coalesce(n -> 'Row Order', n -> 'Group Order') o),
                           (SELECT 'PostgreSQL: ' || string_agg(DISTINCT replace(n #>> '{}', 'Incremental ', ''), ', ') FROM jsonb_path_query(plan, '$.**."Node Type"') n WHERE n #>> '{}' LIKE '%Sort%'));
END $$;
SET gpuscan.offload = force;
SELECT sorts('SELECT id, max(ch) OVER (PARTITION BY k ORDER BY n DESC) FROM t');
SELECT sorts('SELECT DISTINCT ON (k) k, id, random() FROM t ORDER BY k, id DESC NULLS LAST');
SELECT sorts('SELECT k, array_agg(id) FROM t GROUP BY k ORDER BY k');
SELECT sorts('SELECT j, k FROM other ORDER BY k, j');
SELECT sorts('SELECT k, count(*) FROM t GROUP BY k ORDER BY k');
SELECT sorts('SELECT k, count(*) FROM t GROUP BY k ORDER BY k LIMIT 5');
SELECT sorts('SELECT t, k, stddev(k) OVER (PARTITION BY t ORDER BY count(*) DESC) FROM t GROUP BY t, k');
SELECT sorts('SELECT t, k, stddev(k) OVER (PARTITION BY t) FROM t GROUP BY t, k ORDER BY t, k');
SELECT sorts('SELECT t, k, u FROM (SELECT DISTINCT t, k, avg(n) OVER () AS u FROM t GROUP BY t, k, n) x ORDER BY t, k');
SELECT sorts('SELECT k, avg(n) FROM t GROUP BY k ORDER BY k, avg(n)');
EXPLAIN (COSTS OFF) SELECT id, t FROM t WHERE k < 9 ORDER BY t DESC, n, id NULLS FIRST;
-- cursors may go backwards over PostgreSQL's Sort
BEGIN;
DECLARE forth_and_back CURSOR FOR SELECT id FROM t WHERE id > 0 ORDER BY id;
FETCH 3 FROM forth_and_back;
FETCH BACKWARD 2 FROM forth_and_back;
COMMIT;
-- the CPU plan sorts, too
BEGIN;
SET LOCAL work_mem = '64kB';
SET LOCAL temp_file_limit = '10MB';
SELECT md5(string_agg(id::text, ',')) FROM (SELECT id FROM t ORDER BY w DESC, t, id OFFSET 0) x;
SET LOCAL gpuscan.offload = off;
SELECT md5(string_agg(id::text, ',')) FROM (SELECT id FROM t ORDER BY w DESC, t, id OFFSET 0) x;
COMMIT;
RESET gpuscan.offload;
-- many rows, of which spilled ones come back in order
SET work_mem = '64kB';
CREATE TABLE many AS SELECT i AS id, i * 7919::bigint % 100003 AS k, 'text ' || i * 31 % 977 AS t FROM generate_series(1, 100000) i;
VACUUM (FREEZE, ANALYZE) many;
SELECT check_orders('SELECT %s FROM many ORDER BY %1$s', '{"k, id","t, id"}');
SELECT check_orders('SELECT %s, count(*) FROM many GROUP BY %1$s ORDER BY %1$s', '{"k","id","t, k"}');
-- by cost: few groups are not worth a thought
RESET gpuscan.offload;
SELECT sorts('SELECT t, count(*) FROM many GROUP BY t ORDER BY t');
CREATE TABLE larger AS SELECT i % 3000 AS g, i % 7 AS h FROM generate_series(1, 300000) i;
VACUUM (FREEZE, ANALYZE) larger;
SELECT sorts('SELECT h, count(*) FROM larger GROUP BY h ORDER BY h');
SELECT sorts('SELECT g, count(*) FROM larger GROUP BY g ORDER BY g');
SELECT sorts('SELECT g, count(*), stddev(g) OVER (ORDER BY count(*) DESC) FROM larger GROUP BY g');
RESET work_mem;
-- parameters, and a rescan
SELECT check_prepared('device', 'SELECT id, n FROM t WHERE k < $1 ORDER BY n + $2, id LIMIT 5', '(int, numeric)', '(5, 1)', '(1000, 2.5)');
SELECT check_matrix('SELECT d.k, (SELECT string_agg(x.id::text, '','') FROM (SELECT id FROM t WHERE t.k = d.k ORDER BY n DESC, id LIMIT %s) x) FROM dim d', '{1,4}');
DROP SCHEMA windows CASCADE;
