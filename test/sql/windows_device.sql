-- Window functions over rows that the device computes: functions, frames, types, NULLs, ties, several windows, what is left to PostgreSQL.
-- Orders are unique, or the functions do not tell rows that tie.
CREATE SCHEMA windows_device;
SET client_min_messages = warning;
SET search_path = windows_device, public;
SET gpuscan.device = host;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE t AS SELECT i AS id, nullif(i * 7919 % 60, 7) AS k, (nullif(i * 31 % 7, 2) - 3)::int2 AS s, nullif(i * 1000003::bigint % 5000, 44) - 2500 AS b, nullif(i * 17 % 40, 5) / 4.0::float8 - 3 AS f8, (i % 9 / 2.0)::float4 AS f4, (nullif(i * 13 % 500, 8) / 4.0)::numeric(10,2) AS n, (i * 1000000007::numeric * 1000000007 * (i % 5 - 2))::numeric(30,4) AS w, (i % 70 / 8.0)::numeric AS p, date '2024-01-01' + nullif(i * 11 % 90, 9) AS d,
    timestamp '2024-01-01' + (i * 37 % 1000) * interval '1 minute' AS ts, timestamptz '2024-01-01 00:00+00' + (i * 37 % 1000) * interval '1 minute' AS tz, nullif(i % 3, 1) = 0 AS g, nullif((ARRAY['b', 'B', 'a', 'ä', 'Z', 'zz', '', ' ', 'a b', 'A-b', '10', '9', 'é'])[i % 13 + 1], '9') AS t, (ARRAY['b', 'B', 'a', 'ä', 'Z'])[i % 5 + 1] COLLATE "C" AS c, (i % 11)::text::char(4) AS ch, (i % 50)::money AS m, time '00:00' + (i % 100) * interval '1 minute' AS ti, (i % 20) * interval '1 day' AS iv, ARRAY[i % 4] AS a, md5((i % 30)::text)::uuid AS u FROM generate_series(1, 2000) i;
INSERT INTO t (id, k, f8, f4, b, s, d, ts) VALUES (-1, 3, 'NaN', 'NaN', 9223372036854775807, 32767, 'infinity', 'infinity'), (-2, 3, 'Infinity', '-Infinity', -9223372036854775808, -32768, '-infinity', '-infinity'), (-3, 3, '-0', '0', 0, 0, '4713-01-01 BC', '4713-01-01 00:00:00 BC'), (-4, 4, '-Infinity', '-1e-45', NULL, NULL, '5874897-12-31', '294276-12-31 23:59:59.999999');
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 9 AS name FROM generate_series(0, 55) i;
CREATE TABLE parts (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM t;
CREATE TABLE one AS SELECT 1 AS id, 5 AS x, NULL::int AS y;
CREATE TABLE none AS SELECT 1 AS id, 5 AS x WHERE false;
VACUUM (FREEZE, ANALYZE);

-- every function of one window
SELECT check_windows('SELECT id, %s OVER (%s) FROM t', '{row_number(),rank(),dense_rank(),percent_rank(),cume_dist(),ntile(7),ntile(5000),ntile(NULL),lag(b),"lag(k, 3)","lag(s, 0)","lag(b, 2, 7)","lag(b, NULL)","lag(id, -2, s)","lag(d, 5000)",lead(n),"lead(t, 2)","lead(d, 1, ''2020-01-01'')",first_value(c),last_value(w),"nth_value(ts, 3)","nth_value(f8, NULL)",count(*),count(k),sum(s),sum(k),sum(n),sum(w),avg(s),avg(k),avg(n),avg(w),min(n),max(d)}',
    '{"ORDER BY id","PARTITION BY k ORDER BY id","PARTITION BY t ORDER BY id DESC","PARTITION BY g, s ORDER BY n DESC NULLS LAST, id","PARTITION BY d ORDER BY k NULLS FIRST, f8, id"}');
-- numerics that were integers
SELECT check_windows('SELECT id, %s OVER (PARTITION BY g ORDER BY id) FROM t', '{lag(k::numeric),lag(s::numeric),lag(b::numeric),"lead(k * 2, 1, -1.4)","lead(s, 2, 0.5)","lag(k::numeric, 1, k::numeric)",first_value(k::numeric),last_value(s::numeric),"nth_value(id::numeric, 2)",max(k::numeric),min(s::numeric),sum(k::numeric),avg(s::numeric)}');
SELECT check_matrix('SELECT %s FROM (SELECT id, g, lag(k::numeric) OVER (ORDER BY id) AS x, first_value(s::numeric) OVER (PARTITION BY g ORDER BY id) AS y FROM t) w %s', '{"count(x), sum(x), max(y)","count(*), sum(y), min(x)"}', '{"","WHERE x > 3","GROUP BY g","GROUP BY x, y"}', 'any');
-- values that are shown with more digits than their column's statistics know, by the first execution's form and the next ones'
CREATE TABLE longer (id int, u numeric, n numeric(8,2));
INSERT INTO longer SELECT i, i, i / 4.0 FROM generate_series(1, 100) i;
ANALYZE longer;
INSERT INTO longer VALUES (0, 0.50000000000000000000, 7), (-1, 1.50, 1), (-2, 3.0000000, NULL), (-3, 0.5000000000000000000000000000000000000000, 2.5), (-4, NULL, 3);
SELECT check_matrix('SELECT id, %s FROM longer WHERE id < %s', '{"sum(u) OVER (ORDER BY id)","avg(u) OVER (ORDER BY id ROWS 1 PRECEDING)","sum(u) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING)","sum(n * u) OVER (ORDER BY id ROWS 1 PRECEDING)","avg(n * u) OVER ()","sum(u * 1.0) OVER (PARTITION BY id)","sum(u) FILTER (WHERE id > -2) OVER (ORDER BY id ROWS 1 PRECEDING)","sum(u) OVER (ORDER BY id DESC ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW)"}', '{1,1,1,50}', 'any');
SELECT check_matrix('SELECT %s FROM (SELECT sum(u) OVER (ORDER BY id ROWS 1 PRECEDING) AS s FROM longer WHERE id < 3) x %s', '{sum(s),max(scale(s)),"count(s), sum(s * 2)"}', '{"",GROUP BY s,WHERE s > 1}', 'any');
-- sums of integers of 64 bits, extremes of every type that has them
SELECT check_windows('SELECT id, %s OVER (PARTITION BY s ORDER BY id) FROM t WHERE id > 0', '{sum(b),avg(b),sum(f8),avg(f8),avg(f4),min(f4),max(f8),min(ts),max(tz),min(ti),bool_and(g),bool_or(g),every(g),min(b),max(s),max(w),count(a),count(iv)}');
SELECT check_windows('SELECT id, %s OVER (PARTITION BY k ORDER BY id %s) FROM t', '{min(f8),max(f8),min(f4),max(f4),min(b),max(b),min(ts),max(d),count(f8),sum(b),avg(b),sum(s)}', '{"","ROWS 2 PRECEDING"}');
-- rows that are left out of frames; rows that tie have the same values
SELECT check_windows('SELECT id, %s OVER (PARTITION BY g ORDER BY id %s) FROM t WHERE f8 < 9 AND id BETWEEN 1 AND 500', '{count(*),count(b),sum(s),sum(b),avg(b),sum(n),sum(f8),avg(f4),min(b),max(f8),min(n),max(t),first_value(t),last_value(n),"nth_value(id, 2)"}', (SELECT array_agg(format('%s BETWEEN %s EXCLUDE %s', o, f, x)) FROM unnest('{ROWS,GROUPS,RANGE}'::text[]) o, unnest('{UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING,3 PRECEDING AND CURRENT ROW,1 FOLLOWING AND 200 FOLLOWING}'::text[]) f, unnest('{CURRENT ROW,TIES,GROUP}'::text[]) x));
SELECT check_windows('SELECT k, d, %s OVER (%s) FROM t WHERE f8 < 9 AND id < 700', '{count(*),sum(b),sum(n),avg(f8),min(b),max(n),count(f8)}', (SELECT array_agg(format('%s BETWEEN %s EXCLUDE %s', o, f, x)) FROM unnest('{"PARTITION BY k ORDER BY d GROUPS","PARTITION BY g ORDER BY k DESC NULLS LAST RANGE","ORDER BY d NULLS FIRST GROUPS"}'::text[]) o, unnest('{UNBOUNDED PRECEDING AND CURRENT ROW,2 PRECEDING AND 1 FOLLOWING,CURRENT ROW AND UNBOUNDED FOLLOWING}'::text[]) f, unnest('{TIES,GROUP}'::text[]) x));
SELECT check_windows('SELECT id, sum(b) OVER w, first_value(id) OVER w, count(*) FILTER (WHERE s > 0) OVER w, row_number() OVER w, lag(id) OVER w FROM t WINDOW w AS (ORDER BY id ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING EXCLUDE CURRENT ROW)', '{""}');
SELECT check_windows('SELECT count(*) OVER (ROWS UNBOUNDED PRECEDING EXCLUDE GROUP), count(*) OVER (ROWS UNBOUNDED PRECEDING EXCLUDE TIES), count(*) OVER (PARTITION BY k RANGE UNBOUNDED PRECEDING EXCLUDE TIES) FROM t', '{""}');
-- every type is handed on from another row
SELECT check_windows('SELECT id, lag(%1$s) OVER w, first_value(%1$s) OVER w, last_value(%1$s) OVER w FROM t WINDOW w AS (PARTITION BY k ORDER BY id)', '{k,s,b,f8,f4,n,w,p,d,ts,tz,g,t,c,ch,m,ti,iv,a,u}');
-- texts of other rows than those that are shown
CREATE TABLE names AS SELECT i AS id, 'name ' || i AS name, repeat('x', i % 9) || i AS other FROM generate_series(1, 9000) i;
VACUUM (FREEZE, ANALYZE) names;
SELECT check_windows('SELECT id, name, a, b, c, d FROM (SELECT id, name, lead(name, 4000) OVER w AS a, lag(name) OVER w AS b, first_value(other) OVER w AS c, lead(other) OVER w AS d, row_number() OVER w AS r FROM names WINDOW w AS (ORDER BY id)) x WHERE r <= %s', '{3,200,8000}');
-- partitions and orders of every type that has one, NULLs at either end
SELECT check_windows('SELECT id, row_number() OVER (PARTITION BY %1$s ORDER BY id), sum(n) OVER (ORDER BY %1$s %2$s, id), rank() OVER (ORDER BY %1$s %2$s), dense_rank() OVER (ORDER BY %1$s %2$s) FROM t', '{k,s,b,f8,f4,n,w,p,d,ts,tz,g,t,c,ch,m,ti}', '{"",DESC,NULLS FIRST,DESC NULLS LAST}');
-- frames
SELECT check_windows('SELECT id, %s OVER (PARTITION BY s ORDER BY id ROWS %s) FROM t', '{count(*),count(n),sum(n),sum(f4::float8),avg(n),avg(k),min(n),max(k),first_value(id),last_value(t),"nth_value(k, 2)"}',
    '{UNBOUNDED PRECEDING,"BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING","BETWEEN UNBOUNDED PRECEDING AND 3 PRECEDING","BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING","3 PRECEDING","BETWEEN 5 PRECEDING AND 2 PRECEDING","BETWEEN 2 PRECEDING AND 5 PRECEDING","BETWEEN 1 PRECEDING AND 1 FOLLOWING","BETWEEN CURRENT ROW AND CURRENT ROW","BETWEEN CURRENT ROW AND 4 FOLLOWING","BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING","BETWEEN 2 FOLLOWING AND 4 FOLLOWING","BETWEEN 4 FOLLOWING AND 2 FOLLOWING","BETWEEN 3 FOLLOWING AND UNBOUNDED FOLLOWING","BETWEEN 100 PRECEDING AND 100 FOLLOWING","BETWEEN 9223372036854775807 PRECEDING AND 9223372036854775807 FOLLOWING","BETWEEN 9223372036854775807 FOLLOWING AND UNBOUNDED FOLLOWING"}');
-- constants that lag and lead show where there is no other row; the row's own value
SELECT check_windows('SELECT id, lag(%s) OVER w, lead(%1$s) OVER w FROM t WINDOW w AS (%s)', '{"n, 1, 0","n, 2, 0.00","n, 1, 1.23456","n, 3000, -1e30","n, 1, ''NaN''","n, 1, NULL","n, 0, 7","n, NULL, 7","n, -1, 0","n, 1, n","p, 1, 0","p, 2, p","p, 1, 10.500","w, 1, 0","t, 1, ''none''","t, 3, ''''","t, 1, t","c, 2, ''z''","ch, 1, ''x''","iv, 1, ''0''","iv, 2, iv","a, 1, ''{}''","a, 1, ''{9,9}''","u, 1, ''00000000-0000-0000-0000-000000000000''","m, 1, ''0''","d, 1, ''infinity''","g, 1, false","f8, 1, ''-0''","f4, 2, 1.5"}', '{"ORDER BY id","PARTITION BY k ORDER BY id","PARTITION BY id ORDER BY id","PARTITION BY g ORDER BY id DESC"}');
SELECT check_windows('SELECT id, lag(n, 1, n * 2) OVER w, lag(t, 1, t || ''x'') OVER w FROM t WINDOW w AS (PARTITION BY %s ORDER BY id)', '{k}', by_device => false);
SELECT check_windows('SELECT * FROM (SELECT id, lag(n, 1, 0) OVER w AS l, n - lag(p, 1, 0) OVER w AS x, row_number() OVER w AS r FROM t WINDOW w AS (PARTITION BY k ORDER BY id)) x WHERE r < %s', '{2,5}', by_device => false);
-- the first and last texts; plain numerics: with how many digits sums and extremes are shown
SELECT check_windows('SELECT id, %s OVER (%s) FROM t', '{min(t),max(t),min(c),max(c),max(t COLLATE \"C\"),min(t) FILTER (WHERE s > 0),min(p),max(p),max(p) FILTER (WHERE g)}', '{"","PARTITION BY k","ORDER BY id","PARTITION BY k ORDER BY id","PARTITION BY s ORDER BY k RANGE CURRENT ROW","PARTITION BY g ORDER BY id ROWS 3 PRECEDING","PARTITION BY s ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING","ORDER BY id DESC ROWS BETWEEN 1 FOLLOWING AND 30 FOLLOWING","PARTITION BY k ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"}');
CREATE TABLE spelled AS SELECT i AS id, i % 10 AS k, nullif(round(i * 7919 % 3001 / 8.0, i % 4), 5) AS m, CASE i % 3 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 ELSE 7 END AS tie, CASE WHEN i = 40 THEN 'NaN' ELSE i * 0.5 END::numeric AS odd, i * 1e28 AS huge, repeat('x', i % 4) || i AS x FROM generate_series(1, 3000) i;
VACUUM (FREEZE, ANALYZE) spelled;
SELECT check_windows('SELECT id, %s OVER (%s) FROM spelled', '{sum(m),avg(m),min(x),max(x),min(m),sum(m) FILTER (WHERE id % 3 = 0),sum(m * 2.50),"sum(coalesce(m, 0.00))",avg(-m),max(m) FILTER (WHERE id % 5 > 1)}', '{"ORDER BY id","PARTITION BY k ORDER BY id","PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW","ORDER BY id ROWS BETWEEN 4 PRECEDING AND 2 PRECEDING"}');
SELECT check_windows('SELECT id, %s OVER (ORDER BY id) FROM spelled', '{min(tie),max(tie),min(tie) FILTER (WHERE id > 5)}');
SELECT check_matrix('SELECT id, %s FROM spelled', '{trim_scale(min(tie) OVER ()),trim_scale(min(tie) OVER (PARTITION BY k)),sum(odd) OVER (ORDER BY id),max(odd) OVER (ORDER BY id),sum(huge) OVER (ORDER BY id),max(huge) OVER (ORDER BY id)}', expect => 'any');
-- a partition that all threads share
CREATE TABLE long AS SELECT i AS id, i * 7919::bigint % 100003 AS k, round(nullif(i % 1000, 3) / 8.0, 3) AS n, (i * 31 % 977)::numeric(10,2) AS d, i % 777 / 8.0::float8 AS f, 'text ' || i * 31 % 977 AS t FROM generate_series(1, 200000) i;
VACUUM (FREEZE, ANALYZE) long;
SELECT check_windows('SELECT md5(string_agg(x::text, '','' ORDER BY id)) FROM (SELECT id, %s OVER (%s) FROM long) x(id, x)', '{sum(d),sum(n),sum(id),avg(f),count(n),min(k),max(t),rank(),dense_rank(),percent_rank(),cume_dist()}', '{"","ORDER BY k","ORDER BY id / 70000","PARTITION BY id / 150000 ORDER BY k","ORDER BY k, id ROWS BETWEEN 5 PRECEDING AND 2 FOLLOWING"}');
SELECT check_windows('SELECT md5(string_agg(x::text, '','' ORDER BY id)) FROM (SELECT id, %s OVER (ORDER BY k, id) FROM long) x(id, x)', '{"lag(d, 1, 0)","first_value(t)","last_value(n)","nth_value(id, 3)",row_number()}');
-- rows that tie
SELECT check_windows('SELECT id, %s OVER (PARTITION BY s ORDER BY k %s) FROM t', '{count(*),count(n),sum(n),avg(k),min(n),max(k),rank(),dense_rank(),percent_rank(),cume_dist()}',
    '{"","RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING","RANGE BETWEEN CURRENT ROW AND CURRENT ROW","RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING","GROUPS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW","GROUPS CURRENT ROW"}');
SELECT check_windows('SELECT id, %s OVER (%s) FROM t', '{count(*),sum(n),min(d),max(k),avg(k),rank(),cume_dist()}', '{"","PARTITION BY k","PARTITION BY t, g"}');
-- several windows, functions in expressions, columns that are not shown, expressions as keys
SELECT check_windows('SELECT %s FROM t', '{"id, rank() OVER (PARTITION BY k ORDER BY n, id), rank() OVER (PARTITION BY t ORDER BY b, id), count(*) OVER (), sum(k) OVER (PARTITION BY k)","id, n - lag(n) OVER (PARTITION BY k ORDER BY id) AS step, round(100 * n / nullif(sum(n) OVER (PARTITION BY g), 0), 2)","coalesce(lag(t) OVER (ORDER BY id), ''none'') || t, id","id, sum(n * 2 + k) OVER (PARTITION BY k % 7 ORDER BY id DESC), k % 7","id, extract(month FROM d), row_number() OVER (PARTITION BY extract(year FROM d), g ORDER BY d, id)","row_number() OVER (ORDER BY id)","id, random() < 2, row_number() OVER (ORDER BY id)","id, sum(CASE WHEN g THEN n END) OVER w, count(*) OVER w, sum(s) OVER (w ROWS 1 PRECEDING) FROM t WINDOW w AS (PARTITION BY k ORDER BY id) UNION ALL SELECT 1, 2, 3, 4","id, (SELECT count(*) FROM dim WHERE dim.k < t.s), row_number() OVER (ORDER BY id)"}');
-- what stands below and above
SELECT check_windows('SELECT %s', '{"name, t.id, sum(n) OVER (PARTITION BY name ORDER BY t.id ROWS 3 PRECEDING) FROM t JOIN dim USING (k)","t.id, dim.name, count(dim.k) OVER (PARTITION BY t.s) FROM t LEFT JOIN dim ON dim.k = t.k AND t.n > 50","dim.k, t.id, lag(t.id) OVER (PARTITION BY dim.k ORDER BY t.id) FROM t RIGHT JOIN dim ON dim.k = t.k AND t.n > 100","id, cume_dist() OVER (PARTITION BY g ORDER BY ts, id) FROM parts WHERE id < 1500","id, ntile(7) OVER (ORDER BY b DESC, id) FROM t WHERE k > 3 AND t LIKE ''%a%''","id, r FROM (SELECT id, k, rank() OVER (PARTITION BY k ORDER BY id) AS r FROM t) x WHERE k = 5","id, row_number() OVER (ORDER BY id) FROM t ORDER BY n, id LIMIT 7","id, row_number() OVER (ORDER BY n, id) FROM t ORDER BY n, id OFFSET 1990","DISTINCT k, count(*) OVER (PARTITION BY k) FROM t","k, max(c) FROM (SELECT k, count(*) OVER (PARTITION BY k, s) AS c FROM t) x GROUP BY k","a.id, b.r FROM t a JOIN (SELECT id, row_number() OVER (ORDER BY n, id) AS r FROM t) b USING (id) WHERE a.k = 8","id, x, y, sum(x) OVER (ORDER BY id), avg(y) OVER (), lag(x) OVER (ORDER BY id) FROM one","id, sum(x) OVER (ORDER BY id), row_number() OVER () FROM none"}');
-- another order above; PostgreSQL need not sort, or does
CREATE FUNCTION check_sorted(queries text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    query text;
    plain text[];
    device text[];
    plan jsonb;
BEGIN
    FOREACH query IN ARRAY queries LOOP
        PERFORM set_config('gpuscan.offload', 'off', true);
        EXECUTE 'SELECT array_agg(x.x) FROM (SELECT x::text AS x FROM (' || query || ') x) x' INTO plain;
        PERFORM set_config('gpuscan.offload', 'force', true);
        EXECUTE 'SELECT array_agg(x.x) FROM (SELECT x::text AS x FROM (' || query || ') x) x' INTO device;
        EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
        PERFORM set_config('gpuscan.offload', 'off', true);
        RETURN NEXT concat_ws(', ', CASE WHEN plain IS DISTINCT FROM device THEN 'DIFFERENT: ' || query ELSE cardinality(plain) || ' rows' END,
                              CASE WHEN plan @? 'strict $.**."Windows"' THEN 'windows' END, CASE WHEN plan @? '$.** ? (@."Node Type" like_regex "Sort")' THEN 'sorted by PostgreSQL' END);
    END LOOP;
END $$;
SELECT check_sorted('{"SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) FROM t ORDER BY id","SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) FROM t ORDER BY k, id","SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) FROM t ORDER BY t DESC NULLS LAST, n, id","SELECT n, count(*) OVER (PARTITION BY k) FROM t ORDER BY n * 2, id","SELECT id, r FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY n, id) AS r FROM t ORDER BY d, id OFFSET 0) x WHERE r <= 2","SELECT id, row_number() OVER (ORDER BY n, id) AS r FROM t ORDER BY r","SELECT id, rank() OVER (PARTITION BY k ORDER BY n) AS r FROM t ORDER BY r, id","SELECT id, rank() OVER (PARTITION BY k ORDER BY n) AS r FROM t ORDER BY d, id LIMIT 5","SELECT id, count(*) OVER () FROM t ORDER BY a, id","SELECT id, r FROM (SELECT id, d, row_number() OVER (PARTITION BY k ORDER BY n, id) AS r FROM t ORDER BY d DESC, id) x WHERE r <= 2"}');
SELECT check_windows('SELECT id, r FROM (SELECT id, s, %s AS r FROM t) x WHERE %s', '{"row_number() OVER (PARTITION BY t ORDER BY n DESC, id)","rank() OVER (PARTITION BY k ORDER BY d)","dense_rank() OVER (ORDER BY s)","count(*) OVER (ORDER BY id)"}', '{r <= 3,r < 3::smallint,3 >= r,r = 1,r > 3,"r BETWEEN 2 AND 4",r <= 3 AND s > 0,r <= s,r < 0}');
SELECT check_windows('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) AS r, row_number() OVER (PARTITION BY g ORDER BY n, id) AS q FROM t) x WHERE r <= 5 AND q < 200', '{""}');
-- offsets of values and groups, NULLs at either end, infinities, both directions
SELECT check_windows('SELECT id, %s OVER (%s) FROM t WHERE id > -4', '{count(*),sum(n),min(k),avg(s)}', '{"ORDER BY k RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING","ORDER BY k DESC NULLS LAST RANGE BETWEEN 3 FOLLOWING AND 5 FOLLOWING","PARTITION BY t ORDER BY s NULLS FIRST RANGE BETWEEN 4 PRECEDING AND 1 PRECEDING","ORDER BY b RANGE 9223372036854775807 PRECEDING","ORDER BY b DESC RANGE BETWEEN CURRENT ROW AND 100::int2 FOLLOWING","ORDER BY s RANGE BETWEEN 40000 PRECEDING AND CURRENT ROW","ORDER BY f8 RANGE BETWEEN 1.5 PRECEDING AND 0.5 FOLLOWING","ORDER BY f8 DESC RANGE BETWEEN ''Infinity''::float8 PRECEDING AND ''Infinity''::float8 FOLLOWING","ORDER BY f4 NULLS FIRST RANGE BETWEEN CURRENT ROW AND 0.1 FOLLOWING","ORDER BY f4 DESC NULLS LAST RANGE BETWEEN 2 PRECEDING AND 1.5 PRECEDING","PARTITION BY g ORDER BY n RANGE BETWEEN 1.25 PRECEDING AND 10 FOLLOWING","ORDER BY w DESC RANGE 100 PRECEDING","ORDER BY d RANGE BETWEEN ''3 days'' PRECEDING AND CURRENT ROW","PARTITION BY s ORDER BY d DESC NULLS LAST RANGE BETWEEN ''1 day'' FOLLOWING AND ''0 days'' FOLLOWING","ORDER BY k % 7 RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING","ORDER BY k GROUPS BETWEEN 2 PRECEDING AND 1 FOLLOWING","PARTITION BY t ORDER BY s GROUPS BETWEEN 1 FOLLOWING AND 3 FOLLOWING","ORDER BY d DESC GROUPS BETWEEN 5 PRECEDING AND 2 PRECEDING","ORDER BY t, s GROUPS BETWEEN CURRENT ROW AND 9223372036854775807 FOLLOWING","ORDER BY n GROUPS BETWEEN 0 PRECEDING AND UNBOUNDED FOLLOWING"}');
SELECT check_windows('SELECT id, %s OVER (%s) FROM t WHERE id > -3', '{count(*),sum(f8),max(n)}', '{"ORDER BY ts RANGE BETWEEN ''30 minutes'' PRECEDING AND ''1 day 2 hours'' FOLLOWING","PARTITION BY g ORDER BY ts DESC RANGE BETWEEN ''100 minutes'' PRECEDING AND ''1 second'' PRECEDING","ORDER BY tz RANGE BETWEEN CURRENT ROW AND ''25 hours'' FOLLOWING"}');
SELECT check_windows('SELECT d, first_value(d) OVER w, last_value(d) OVER w, nth_value(d, 2) OVER w, count(*) OVER w FROM (SELECT DISTINCT d FROM t WHERE id > 0) x WINDOW w AS (ORDER BY d RANGE BETWEEN ''%s days'' PRECEDING AND ''%s days'' FOLLOWING)', '{0,3,40}', '{0,2,1000}');
SELECT check_matrix('SELECT id, count(*) OVER (ORDER BY %s) FROM t', '{"d RANGE ''3 days'' PRECEDING","ts RANGE BETWEEN ''1 day'' PRECEDING AND ''1 day'' FOLLOWING","ts RANGE ''100000 days'' PRECEDING","k RANGE -1 PRECEDING","f8 RANGE ''NaN''::float8 PRECEDING","k GROUPS -1 PRECEDING","k RANGE NULL::int PRECEDING","d RANGE ''-1 days'' PRECEDING"}', '{""}', 'any');
SELECT check_prepared('device', 'SELECT id, sum(n) OVER (ORDER BY k RANGE $1 PRECEDING), count(*) OVER (ORDER BY k GROUPS BETWEEN $2 PRECEDING AND 1 FOLLOWING) FROM t WHERE id > 1900', '(int, bigint)', '(3, 2)', '(0, 1)', '(1000, 7)');
-- FILTER
SELECT check_windows('SELECT id, %1$s FILTER (WHERE %2$s) OVER (PARTITION BY s ORDER BY id), %1$s FILTER (WHERE %2$s) OVER (ORDER BY id ROWS 5 PRECEDING) FROM t WHERE id > 0', '{count(*),count(k),sum(n),sum(b),avg(s),avg(n),min(d),max(f8),bool_or(g)}', '{g,k > 30,"n > 10 OR t = ''a''",false,"NULL::boolean"}');
SELECT check_windows('SELECT k, s, %s FILTER (WHERE s > 0) OVER (ORDER BY k, s), count(*) FILTER (WHERE k > 5) OVER (PARTITION BY s) FROM t WHERE id > 0 GROUP BY k, s', '{sum(count(*)),max(sum(n)),count(s)}');
SELECT check_query('SELECT id, sum(100 / (k - 5)) FILTER (WHERE k <> 5) OVER (ORDER BY id) FROM t', 'any');
-- what PostgreSQL computes
SELECT check_windows('SELECT id, %s FROM t', '{"sum(n) OVER (ORDER BY d RANGE BETWEEN ''1 month'' PRECEDING AND CURRENT ROW)","sum(n) OVER (ORDER BY tz RANGE ''1 day'' PRECEDING)","sum(n) OVER (ORDER BY ti RANGE ''1 hour'' PRECEDING)","sum(n) OVER (ORDER BY n RANGE 0.001 PRECEDING)","sum(n) FILTER (WHERE a = ''{1}'' AND random() < 2) OVER (ORDER BY id)","string_agg(c, '','') OVER (ORDER BY id ROWS 2 PRECEDING)","max(ch) OVER (ORDER BY id)","sum(iv) OVER (ORDER BY id)","lag(id, s) OVER (ORDER BY id)","lag(n, 1, n * 2) OVER (ORDER BY id)","row_number() OVER (ORDER BY iv, id)","rank() OVER (ORDER BY a, id)","stddev(n) OVER (PARTITION BY k)","row_number() OVER (ORDER BY id), max(ch) OVER ()","sum(f4) OVER (ORDER BY id)"}'::text[], by_device => false);
SELECT check_windows('SELECT %s', '{"id, generate_series(1, 2), row_number() OVER (ORDER BY id) FROM t","k, rank() OVER (ORDER BY sum(n)), grouping(k) FROM t GROUP BY ROLLUP (k)","k, rank() OVER (ORDER BY count(*)), (SELECT max(k) FROM dim) FROM t GROUP BY k","k, count(*), rank() OVER (ORDER BY string_agg(c, NULL ORDER BY id)) FROM t GROUP BY k","count(*), row_number() OVER () FROM t","f4, rank() OVER (ORDER BY f4) FROM t GROUP BY f4"}'::text[], by_device => false);
-- Quotients of groups are shown with a scale of their own.
SELECT check_windows('SELECT %s', '{"k, count(*), sum(n), rank() OVER (ORDER BY avg(n)) FROM t GROUP BY k","k, count(*), rank() OVER (PARTITION BY CASE WHEN k < 30 THEN 1 END ORDER BY sum(n) / nullif(count(k), 0)::int, k) FROM t GROUP BY k"}'::text[]);
-- over groups, which are a subquery's rows: keys and aggregates as arguments, keys, results; HAVING; what stands above
SELECT check_windows('SELECT k, s, count(*), %s OVER (%s) FROM t WHERE id > 0 GROUP BY k, s', '{row_number(),rank(),cume_dist(),ntile(3),"sum(count(*))",sum(sum(n)),avg(max(b)),lag(sum(n)),"lead(max(d), 2)","first_value(min(ts))",sum(min(s)),max(sum(k)),min(max(n)),count(max(f8)),"sum(sum(f8))",avg(count(n)),"nth_value(bool_and(g), 2)"}', '{"ORDER BY k, s","PARTITION BY k ORDER BY count(*) DESC, s","ORDER BY sum(n) NULLS FIRST, k, s","ORDER BY max(d) DESC, sum(k), k, s ROWS 3 PRECEDING"}');
SELECT check_windows('SELECT k, s, count(*), %s OVER (%s) FROM t WHERE id > 0 GROUP BY k, s', '{rank(),cume_dist(),count(*),"sum(count(*))",avg(max(b)),max(sum(k)),"min(max(d))"}', '{"",PARTITION BY s,"PARTITION BY count(*)"}');
SELECT check_windows('SELECT %s, row_number() OVER (ORDER BY count(*), min(id)), lag(%1$s) OVER (ORDER BY max(id)), count(*) OVER (PARTITION BY %1$s) FROM t GROUP BY 1', '{k,s,b,n,w,d,ts,tz,g,t,c,ti,m,k % 7,"extract(month FROM d)","date_trunc(''month'', ts)","CASE WHEN k > 20 THEN s END",k + s}');
SELECT check_windows('SELECT %s', '{"k, sum(count(*)) OVER (ORDER BY k) FROM t GROUP BY k","DISTINCT k, rank() OVER (ORDER BY k) FROM t GROUP BY k","DISTINCT s, rank() OVER (ORDER BY s) FROM t GROUP BY s, k","k, avg(n), avg(s), avg(k), avg(b), avg(n) FILTER (WHERE g), round(avg(w), 2), rank() OVER (ORDER BY k) FROM t GROUP BY k","k, round(100 * sum(n) / sum(sum(n)) OVER (), 2), sum(n) - lag(sum(n)) OVER (ORDER BY k) FROM t GROUP BY k","k, sum(n) / nullif(count(*), 0), rank() OVER (ORDER BY sum(s) * 2 - count(*), k) FROM t GROUP BY k","k, row_number() OVER (ORDER BY k) FROM t GROUP BY k HAVING count(*) > 33 AND sum(n) > 100","k, count(*) OVER (PARTITION BY k % 3) FROM t GROUP BY k ORDER BY k DESC LIMIT 3","k, count(DISTINCT s), rank() OVER (ORDER BY count(DISTINCT s), k) FROM t GROUP BY k","name, sum(t.n), rank() OVER (ORDER BY sum(t.n), name) FROM t JOIN dim USING (k) GROUP BY name","k, row_number() OVER (ORDER BY k) FROM none JOIN t USING (id) GROUP BY k","k, x, row_number() OVER (ORDER BY k) FROM (SELECT k, sum(s) AS x FROM t GROUP BY k) q","k, sum(x), rank() OVER (ORDER BY sum(x)) FROM (SELECT k, s, count(*) AS x FROM t GROUP BY k, s) q GROUP BY k","k, r FROM (SELECT k, s, row_number() OVER (PARTITION BY k ORDER BY sum(n) DESC, s) AS r FROM t GROUP BY k, s) x WHERE r <= 2","k, r FROM (SELECT k, s, row_number() OVER (PARTITION BY k ORDER BY sum(n) DESC, s) AS r FROM t GROUP BY k, s) x WHERE r <= 2 AND k = 5","a.id, x.r FROM t a LEFT JOIN (SELECT k, rank() OVER (ORDER BY count(*)) AS r FROM t GROUP BY k) x USING (k)","sum(r), max(c) FROM (SELECT rank() OVER (ORDER BY sum(n), k) AS r, count(*) OVER () AS c FROM t GROUP BY k) x","x.k, (SELECT count(*) FROM dim WHERE dim.k < x.r) FROM (SELECT k, rank() OVER (ORDER BY max(id)) AS r FROM t GROUP BY k) x"}');
WITH c AS (SELECT k, s, sum(n) AS x FROM t GROUP BY k, s) SELECT check_query('WITH c AS (SELECT k, s, sum(n) AS x FROM t GROUP BY k, s) SELECT a.k, a.x, b.r FROM c a JOIN (SELECT k, s, lag(x) OVER (PARTITION BY k ORDER BY s) AS r FROM c) b USING (k, s)', 'any');
SELECT check_prepared('device', 'SELECT k, rank() OVER (ORDER BY sum(n + $1), k), sum(count(*)) OVER (ORDER BY k ROWS $2 PRECEDING) FROM t GROUP BY k HAVING count(*) > $3', '(int, int, int)', '(1, 2, 3)', '(2, 1, 30)', '(3, 5, 100)');
SELECT check_matrix('SELECT k, rank() OVER (ORDER BY %s) FROM t GROUP BY k', '{"sum(b) / (k - 5)","1 / sum(s)","sum(1e308::float8 * id)","sum(w * 1e9)","max(1 / (k - 3))"}', '{""}', 'any');
SELECT s, v, (SELECT string_agg(r::text, ',' ORDER BY r) FROM (SELECT rank() OVER (ORDER BY count(*)) + v AS r FROM t WHERE t.s = x.v GROUP BY k % 5) w) FROM (VALUES (0, 0), (1, 1), (1, 9)) x(s, v);
SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT k, sum(n) / sum(sum(n)) OVER (), rank() OVER (PARTITION BY k % 10 ORDER BY sum(n) DESC) FROM t GROUP BY k;
RESET gpuscan.offload;
-- who may not read a table, and what a policy hides
CREATE ROLE windows_reader;
GRANT USAGE ON SCHEMA windows_device TO windows_reader;
GRANT SELECT (k, n) ON t TO windows_reader;
SET ROLE windows_reader;
SET gpuscan.offload = force;
SELECT count(*) FROM (SELECT k, rank() OVER (ORDER BY sum(n)) FROM t GROUP BY k) x;
SELECT k, rank() OVER (ORDER BY sum(s)) FROM t GROUP BY k;
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON t TO windows_reader USING (k < 3);
SET ROLE windows_reader;
SELECT k, rank() OVER (ORDER BY k) FROM t GROUP BY k ORDER BY k;
RESET ROLE;
RESET gpuscan.offload;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
-- errors are PostgreSQL's
SELECT check_matrix('SELECT id, %s OVER (ORDER BY id %s) FROM t', '{ntile(0),"nth_value(id, 0)",sum(1 / (id - 5)),"sum(1e308::float8)","sum(CASE WHEN id > 0 THEN 9223372036854775807 END)","sum(b * 2)"}', '{"",ROWS 1 PRECEDING}', 'any');
SELECT check_matrix('SELECT id, sum(k) OVER (ORDER BY id ROWS %s PRECEDING) FROM %s', '{-1,NULL::int,(SELECT -2)}', '{t,"t WHERE id > 100000"}', 'any');
SELECT check_query('SELECT id, 10 / lag(s, 1, 1::int2) OVER (ORDER BY id) FROM t', 'any');
-- in parameters: the frame, numbers, the rows; a generic plan
SELECT check_prepared('device', 'SELECT id, sum(n) OVER (PARTITION BY s ORDER BY id ROWS $1 PRECEDING), lag(k, $2) OVER (ORDER BY id), ntile($2) OVER (ORDER BY id) FROM t WHERE id > $3', '(bigint, int, int)', '(3, 2, 1900)', '(0, 1, 1990)', '(1000, 7, 0)', '(2, NULL, 1950)');
SELECT check_prepared('device', 'SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM t) x WHERE r <= $1', '(bigint)', '(3)', '(0)', '(70)');
-- sums of floats that are added up in another order
CREATE FUNCTION worst(frame text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    plain float8[];
    device float8[];
    query text := 'SELECT array_agg(x ORDER BY id) FROM (SELECT id, sum(f4::float8 * 1.1 + n::float8) OVER (ORDER BY id ROWS ' || frame || ') AS x FROM t WHERE id > 0) x';
BEGIN
    PERFORM set_config('gpuscan.offload', 'off', true);
    EXECUTE query INTO plain;
    PERFORM set_config('gpuscan.offload', 'force', true);
    EXECUTE query INTO device;
    PERFORM set_config('gpuscan.offload', 'off', true);
    RETURN (SELECT bool_and(abs(p - d) <= 1e-12 * abs(p)) AND count(p) = count(d) FROM unnest(plain, device) u(p, d));
END $$;
SELECT worst(frame) FROM unnest('{3 PRECEDING,300 PRECEDING,UNBOUNDED PRECEDING,BETWEEN 200 PRECEDING AND 100 FOLLOWING,BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING}'::text[]) frame;
-- cursors, rescans
SET gpuscan.offload = force;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, row_number() OVER (ORDER BY id DESC), avg(k) OVER (ORDER BY id DESC ROWS 1 PRECEDING) FROM t WHERE id BETWEEN 1 AND 6;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
MOVE LAST c;
FETCH BACKWARD 1 FROM c;
COMMIT;
SELECT x.v, (SELECT sum(r) FROM (SELECT row_number() OVER (PARTITION BY s ORDER BY id) + x.v AS r FROM t WHERE id BETWEEN 1 AND 10 + x.v) w) FROM (VALUES (0), (1), (2)) x(v);
-- EXPLAIN
EXPLAIN (COSTS OFF) SELECT id, n - lag(n) OVER w, sum(n) OVER (w ROWS 3 PRECEDING), count(*) OVER (PARTITION BY t) FROM t WINDOW w AS (PARTITION BY k ORDER BY id DESC NULLS LAST);
EXPLAIN (COSTS OFF) SELECT id, count(*) OVER (PARTITION BY k) FROM t ORDER BY n DESC, id;
EXPLAIN (COSTS OFF) SELECT id, sum(n) FILTER (WHERE g) OVER (ORDER BY d RANGE BETWEEN '3 days' PRECEDING AND CURRENT ROW), count(*) OVER (PARTITION BY s ORDER BY k GROUPS 2 PRECEDING) FROM t;
EXPLAIN (COSTS OFF) SELECT row_number() OVER (), ntile(4) OVER (ORDER BY k) FROM t;
-- by cost
RESET gpuscan.offload;
CREATE TABLE many AS SELECT i AS id, i % 5000 AS k, i * 7919 % 100003 AS v FROM generate_series(1, 200000) i;
VACUUM (FREEZE, ANALYZE) many;
SET gpuscan.offload = force;
SELECT count(*) FROM (SELECT k, v, id FROM many) x;
SELECT count(r), sum(r) FROM (SELECT rank() OVER (PARTITION BY k ORDER BY v, id) AS r FROM many) x;
RESET gpuscan.offload;
CREATE FUNCTION chosen(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN CASE WHEN plan @? 'strict $.**."Windows"' THEN 'device' ELSE 'PostgreSQL' END;
END $$;
SELECT chosen('SELECT id, lag(v) OVER (PARTITION BY k ORDER BY id), sum(v) OVER (PARTITION BY k ORDER BY id), rank() OVER (PARTITION BY k ORDER BY v) FROM many');
SELECT chosen('SELECT id, lag(x) OVER (ORDER BY id) FROM one');
SELECT chosen('SELECT v, rank() OVER (ORDER BY sum(id) DESC) FROM many GROUP BY v');
SELECT chosen('SELECT k % 100, rank() OVER (ORDER BY sum(id) DESC) FROM many GROUP BY 1');
DROP SCHEMA windows_device CASCADE;
DROP ROLE windows_reader;
