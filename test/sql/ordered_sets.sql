-- percentile_cont, percentile_disc and mode: fractions, types, orders, FILTER, groups of every kind, NULLs, ties, errors, what is left to PostgreSQL.
CREATE SCHEMA ordered_sets;
SET client_min_messages = warning;
SET search_path = ordered_sets, public;
SET max_parallel_workers_per_gather = 0;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE t AS SELECT i AS id, nullif(i * 7919 % 60, 7) AS k, (nullif(i * 31 % 7, 2) - 3)::int2 AS s, (nullif(i * 1000003::bigint % 5000, 44) - 2500) * 1000000007 AS b, nullif(i * 17 % 4000, 5) / 7.0::float8 - 3.3 AS f8, (i * 13 % 900 / 7.0)::float4 AS f4, (nullif(i * 13 % 500, 8) / 4.0)::numeric(10,2) AS n, (i * 1000000007::numeric * 1000000007 * (i % 5 - 2))::numeric(30,4) AS w, (i % 70 / 8.0)::numeric AS p, date '2024-01-01' + nullif(i * 11 % 90, 9) AS d,
    timestamp '2024-01-01' + (i * 37 % 1000) * interval '1 minute' AS ts, timestamptz '2024-01-01 00:00+00' + (i * 37 % 1000) * interval '1 minute' AS tz, nullif(i % 3, 1) = 0 AS g, nullif((ARRAY['b', 'B', 'a', 'ä', 'Z', 'zz', '', ' ', 'a b', 'A-b', '10', '9', 'é'])[i % 13 + 1], '9') AS t, (ARRAY['b', 'B', 'a', 'ä', 'Z'])[i % 5 + 1] COLLATE "C" AS c, (i % 11)::text::char(4) AS ch, (i % 50)::money AS m, time '00:00' + (i % 100) * interval '1 minute' AS ti, (i % 20) * interval '1 day' AS iv, md5((i % 30)::text)::uuid AS u, (i % 25)::oid AS o, (enum_range(NULL::mood))[i % 3 + 1] AS e,
    CASE WHEN i % 50 = 3 THEN 'NaN' WHEN i % 60 = 4 THEN 'Infinity' WHEN i % 70 = 5 THEN '-Infinity' ELSE i % 300 / 3.0 END::float8 AS odd, CASE i % 3 WHEN 0 THEN '0' WHEN 1 THEN '-0' ELSE i % 5 - 2 END::float8 AS zero, NULL::int AS nothing FROM generate_series(1, 20000) i;
CREATE TABLE few AS SELECT * FROM t WHERE id <= 40;
CREATE TABLE hollow (LIKE t);
CREATE TABLE dim AS SELECT k, 'name ' || k % 9 AS name, k % 4 AS part FROM generate_series(0, 70) k;
CREATE TABLE parts (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM t WHERE id < 3000;
VACUUM (FREEZE, ANALYZE);

-- every fraction and grouping
SELECT check_matrix('SELECT %s, percentile_cont(%s) WITHIN GROUP (ORDER BY f8), percentile_disc(%2$s) WITHIN GROUP (ORDER BY n), percentile_cont(%2$s) WITHIN GROUP (ORDER BY k DESC), percentile_disc(%2$s) WITHIN GROUP (ORDER BY b DESC), count(*) FROM t GROUP BY 1', '{k,s,g,t,d,k % 3,id / 5,id,b,u,f8,nothing}', '{0,0.5}');
SELECT check_matrix('SELECT %s FROM %s', ARRAY(SELECT format('%s(%s) WITHIN GROUP (ORDER BY %s)', f, p, x) FROM unnest('{percentile_cont,percentile_disc}'::text[]) f, unnest('{0,1,0.25,1e-300,0.9999999,1/3.0::float8,"NULL"}'::text[]) p, unnest('{f8,"k DESC"}'::text[]) x), '{t,few,t WHERE id < 0,"few GROUP BY k, g",hollow,hollow GROUP BY k,"few GROUP BY ()"}');
-- every type in either order; of texts by their collation
SELECT check_matrix('SELECT percentile_disc(0.4) WITHIN GROUP (ORDER BY %s %s), mode() WITHIN GROUP (ORDER BY %1$s %2$s), count(*) FROM t', '{k,s,b,f8,f4,n,w,d,ts,tz,g,t,c,ch,m,ti,o,e,nothing,"t COLLATE \"C\"",k + s,"coalesce(n, 3)",upper(t),"extract(month FROM d)"}', '{"",DESC,NULLS FIRST}');
SELECT check_matrix('SELECT s, g, percentile_disc(0.4) WITHIN GROUP (ORDER BY %s %s), mode() WITHIN GROUP (ORDER BY %1$s %2$s) FROM t GROUP BY s, g', '{k,s,b,f8,f4,n,w,d,ts,tz,g,t,c,ch,m,ti,o,e,nothing,"t COLLATE \"C\"",k + s,upper(t)}', '{"",DESC}');
SELECT check_matrix('SELECT k, percentile_cont(0.3) WITHIN GROUP (ORDER BY %s %s) FROM t GROUP BY k', '{k,s,f8,f4,n,w,p,odd,nothing,f8 * 2 - k,"extract(epoch FROM ts)"}', '{"",DESC}', 'any');
-- ties of modes, values that are all the same
SELECT check_matrix('SELECT %s, mode() WITHIN GROUP (ORDER BY %s), percentile_disc(0.5) WITHIN GROUP (ORDER BY %2$s) FROM t GROUP BY 1', '{k,g,id / 3}', '{id % 2,id % 7 DESC,5,k,"n DESC",id * 1000003 % 7919}');
-- not a number, infinities, two zeros
SELECT check_matrix('SELECT %s, percentile_cont(%s) WITHIN GROUP (ORDER BY odd), percentile_disc(%2$s) WITHIN GROUP (ORDER BY odd DESC), mode() WITHIN GROUP (ORDER BY odd) FROM t GROUP BY 1', '{k,g,id / 7}', '{0,0.01,0.5,0.985,1}');
SELECT check_matrix('SELECT k, percentile_disc(%s) WITHIN GROUP (ORDER BY zero) = 0, percentile_cont(%1$s) WITHIN GROUP (ORDER BY zero) = 0, mode() WITHIN GROUP (ORDER BY zero) = 0 FROM t GROUP BY k', '{0,0.5,1}', '{""}', 'any');
SELECT check_matrix('SELECT percentile_disc(%s) WITHIN GROUP (ORDER BY zero) FROM t WHERE id %% 3 <> 1', '{0,0.2,0.5,1}');
-- arrays of fractions
SELECT check_matrix('SELECT k, percentile_%s WITHIN GROUP (ORDER BY %s), count(n) FROM few GROUP BY k', '{"cont(ARRAY[0.5, 0.9, 0, 1])","disc(ARRAY[0.5, 0.9, 0, 1])","cont(''{{0.1,0.2},{0.3,0.4}}''::float8[])","disc(''{{0.1,0.2},{0.3,0.4}}''::float8[])","disc(''[3:4]={0.5,0.5}''::float8[])"}', '{f8,k DESC,n}');
SELECT check_matrix('SELECT percentile_disc(%s) WITHIN GROUP (ORDER BY %s) FROM t', '{"ARRAY[0.5, 0.9, 0, 1]","ARRAY[0.5, NULL]","ARRAY[]::float8[]","NULL::float8[]"}', '{t,d,w,nothing,e,g}', 'any');
-- FILTER, beside other aggregates, in expressions
SELECT check_matrix('SELECT %s, percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) FILTER (WHERE %s), percentile_cont(0.9) WITHIN GROUP (ORDER BY f8), mode() WITHIN GROUP (ORDER BY t) FILTER (WHERE %2$s), count(*) FILTER (WHERE %2$s), sum(n), avg(k), min(d), max(f8), count(DISTINCT s), stddev(n), bool_or(g), max(t) FROM t GROUP BY 1', '{k,t,g}', '{g,k > 30,false,n > 100 OR s IS NULL,id % 1000 = 3}');
SELECT check_matrix('SELECT %s', ARRAY['k, round((percentile_cont(0.5) WITHIN GROUP (ORDER BY n))::numeric, 3) + max(k) FROM t GROUP BY k', 'percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) - avg(f8) > 100 FROM t', 'k, coalesce(mode() WITHIN GROUP (ORDER BY t), ''-'') || count(*) FROM t GROUP BY k', 'k, percentile_disc(0.5) WITHIN GROUP (ORDER BY n) / nullif(sum(n), 0) FROM t GROUP BY k']);
-- of the groups some are wanted, in order; a level above reads them
SELECT check_matrix('SELECT %s', ARRAY['k, percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) AS m FROM t GROUP BY k HAVING percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) > 280 ORDER BY m DESC, k LIMIT 5', 'k, percentile_disc(0.5) WITHIN GROUP (ORDER BY n) AS m FROM t GROUP BY k HAVING mode() WITHIN GROUP (ORDER BY s) = -1 OR count(*) > 333 ORDER BY m, k OFFSET 3 LIMIT 20', 'id / 4, mode() WITHIN GROUP (ORDER BY k) FROM t GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1', 'id / 4, mode() WITHIN GROUP (ORDER BY t) FROM t GROUP BY 1 ORDER BY 2, 1 LIMIT 30',
    'm, count(*), sum(c) FROM (SELECT k, s, percentile_disc(0.5) WITHIN GROUP (ORDER BY d) AS m, count(*) AS c FROM t GROUP BY k, s) x GROUP BY m', 'max(m), count(m) FROM (SELECT k, s, percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) AS m FROM t GROUP BY k, s) x', 'DISTINCT mode() WITHIN GROUP (ORDER BY s) FROM t GROUP BY k', 'k, rank() OVER (ORDER BY percentile_disc(0.5) WITHIN GROUP (ORDER BY n)) FROM t GROUP BY k'], expect => 'any');
SELECT check_matrix('SELECT g, k, percentile_cont(0.5) WITHIN GROUP (ORDER BY f8), mode() WITHIN GROUP (ORDER BY s), count(DISTINCT n), count(*), grouping(g, k) FROM t GROUP BY %s', '{"ROLLUP (g, k)","CUBE (k, g)","GROUPING SETS ((g, k))","GROUPING SETS ((g), (k), ())"}');
-- over joins, whose keys or arguments may be missing; partitions
SELECT check_matrix('SELECT %s', ARRAY['name, percentile_cont(0.5) WITHIN GROUP (ORDER BY f8), mode() WITHIN GROUP (ORDER BY part) FROM t JOIN dim USING (k) GROUP BY name', 'part, mode() WITHIN GROUP (ORDER BY name), percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FROM t LEFT JOIN dim USING (k) GROUP BY part', 'name, percentile_disc(0.5) WITHIN GROUP (ORDER BY n), percentile_disc(0.5) WITHIN GROUP (ORDER BY part), count(*) FROM few RIGHT JOIN dim USING (k) GROUP BY name', 'part, mode() WITHIN GROUP (ORDER BY name), mode() WITHIN GROUP (ORDER BY s), count(*) FROM few FULL JOIN dim USING (k) GROUP BY part',
    's, percentile_cont(0.5) WITHIN GROUP (ORDER BY n) FROM t WHERE EXISTS (SELECT FROM dim WHERE dim.k = t.k AND part > 1) GROUP BY s', 'mode() WITHIN GROUP (ORDER BY d), percentile_cont(0.1) WITHIN GROUP (ORDER BY f8) FROM parts', 'k, mode() WITHIN GROUP (ORDER BY t) FROM parts GROUP BY k'], expect => 'any');
-- fractions that are known when the query begins, or not at all; errors
SELECT check_prepared('device', 'SELECT k, percentile_cont($1) WITHIN GROUP (ORDER BY f8), percentile_disc($1) WITHIN GROUP (ORDER BY n) FROM t GROUP BY k', '(float8)', '(0.5)', '(0)', '(1)', '(NULL)');
SELECT check_prepared('device', 'SELECT k, percentile_cont($1) WITHIN GROUP (ORDER BY f8) FROM t WHERE id > $2 GROUP BY k', '(float8, int)', '(1, 0)', '(-1, 30000)', '(2, 20001)');
PREPARE wrong(float8) AS SELECT k, percentile_disc($1) WITHIN GROUP (ORDER BY f8) FROM t GROUP BY k;
SET gpuscan.offload = force;
SET plan_cache_mode = force_generic_plan;
EXECUTE wrong(1.5);
EXECUTE wrong('NaN');
RESET plan_cache_mode;
RESET gpuscan.offload;
SELECT check_matrix('SELECT %s', ARRAY['percentile_cont(1.1) WITHIN GROUP (ORDER BY f8) FROM t', 'percentile_disc(-0.1) WITHIN GROUP (ORDER BY f8) FROM hollow', 'k, percentile_disc(2) WITHIN GROUP (ORDER BY f8) FROM hollow GROUP BY k', 'percentile_disc(ARRAY[0.5, 2]) WITHIN GROUP (ORDER BY f8) FROM t', 'percentile_cont(ARRAY[0.5, 2]) WITHIN GROUP (ORDER BY f8) FROM hollow', 'k, percentile_cont(k / 100.0) WITHIN GROUP (ORDER BY f8) FROM t GROUP BY k', 'k, percentile_cont(0.5) WITHIN GROUP (ORDER BY 10 / (k - 8)) FROM t GROUP BY k',
    'k, percentile_cont(0.5) WITHIN GROUP (ORDER BY 10 / (k - 8)) FILTER (WHERE k <> 8) FROM t GROUP BY k', 'percentile_cont(0.5) WITHIN GROUP (ORDER BY iv), mode() WITHIN GROUP (ORDER BY iv) FROM t', 'mode() WITHIN GROUP (ORDER BY p), percentile_disc(0.5) WITHIN GROUP (ORDER BY u) FROM t', 'rank(5) WITHIN GROUP (ORDER BY k), cume_dist(3) WITHIN GROUP (ORDER BY k) FROM t', 'mode() WITHIN GROUP (ORDER BY k USING OPERATOR(pg_catalog.>)) FROM t'], expect => 'any');
-- numerics and intervals that are written in different ways: equal ones around the place must be written alike
CREATE TABLE spelled AS SELECT i AS id, i % 12 AS k, i % 3 = 0 AS g, nullif(trim_scale(round((i * 7919 % 3001)::numeric / 8, 2)), 5) AS m, (i * 31 % 1000)::numeric / 4 * 1e20 AS wide, CASE WHEN i % 7 = 2 THEN round(i % 40 / 4.0, 2 + i % 3) ELSE 1000 + trim_scale(round((i % 400)::numeric / 16, 4)) END AS tie,
    CASE i % 50 WHEN 0 THEN '0' WHEN 1 THEN '0.00' WHEN 2 THEN '-0.000' ELSE i % 40 * 0.5 END::numeric AS zero, CASE i % 100 WHEN 7 THEN 'NaN' WHEN 8 THEN 'Infinity' ELSE i * 0.25 END::numeric AS odd, nullif(i * 37 % 1000, 10) * interval '7 minutes' AS iv, CASE WHEN i % 3 = 0 THEN i % 100 * interval '1 day' ELSE i % 100 * interval '24 hours' END AS span, i % 100 * interval '1 month' AS months, NULL::numeric AS nothing FROM generate_series(1, 6000) i;
VACUUM (FREEZE, ANALYZE) spelled;
SELECT check_matrix('SELECT %s, percentile_disc(0.9) WITHIN GROUP (ORDER BY %s), mode() WITHIN GROUP (ORDER BY %2$s), percentile_disc(0.3) WITHIN GROUP (ORDER BY %2$s) FILTER (WHERE id %% 5 <> 2), min(id) FROM spelled GROUP BY 1', '{k,g,id % 700,nothing,id}', '{m,m DESC,wide,wide DESC,-m,iv,iv DESC,months,"coalesce(iv, months)"}');
SELECT check_matrix('SELECT percentile_disc(%s) WITHIN GROUP (ORDER BY %s) FROM spelled', ARRAY['0.5', 'ARRAY[0.5, 0.9, 0, 1]', '''{{0.1,0.2},{0.3,0.4}}''::float8[]', 'NULL::float8'], ARRAY['m', 'wide DESC', 'iv', 'months DESC']);
-- no values, grouping sets, conditions over groups; what has one scale; parameters
SELECT check_matrix('SELECT %s', ARRAY(SELECT format('percentile_disc(0.75) WITHIN GROUP (ORDER BY %s), mode() WITHIN GROUP (ORDER BY %1$s DESC), count(*) FROM spelled %s', x, y) FROM unnest('{m,iv}'::text[]) x, unnest('{WHERE id < 0,WHERE id < 0 GROUP BY k,GROUP BY (),"GROUP BY ROLLUP (k, g)","GROUP BY GROUPING SETS ((k), (g), ())",GROUP BY k HAVING percentile_disc(0.75) WITHIN GROUP (ORDER BY m) > 300 ORDER BY 1 DESC}'::text[]) y));
SELECT check_matrix('SELECT percentile_%s FROM spelled GROUP BY k', ARRAY['cont(0.5) WITHIN GROUP (ORDER BY m::float8)', 'cont(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY wide)', 'disc(0.5) WITHIN GROUP (ORDER BY m::numeric(12,3))', 'disc(0.5) WITHIN GROUP (ORDER BY tie)', 'disc(ARRAY[1, 0.5]) WITHIN GROUP (ORDER BY tie DESC)']);
-- not a number, infinity; several scales that expressions make; ties
SELECT check_matrix('SELECT percentile_disc(%s) WITHIN GROUP (ORDER BY %s), mode() WITHIN GROUP (ORDER BY %2$s) FROM spelled', '{0,0.02,0.99,1,"ARRAY[0.02, 0.5]"}', '{odd,odd DESC,span,"justify_days(span) * 1e4",m * 2.50,"wide / 7"}', 'any');
SELECT check_query('SELECT percentile_disc(0.99) WITHIN GROUP (ORDER BY span) FROM spelled', 'fallback');
SELECT check_query('SELECT percentile_disc(ARRAY[0, 0.5]) WITHIN GROUP (ORDER BY span) FROM spelled WHERE id % 200 > 0', 'fallback');
SELECT check_query('SELECT k, percentile_disc(0.5) WITHIN GROUP (ORDER BY span) FROM spelled GROUP BY k HAVING k < 12');
-- (Which of 1.5 and 1.50 is shown depends on PostgreSQL's plan: the device leaves it to that, and is not asked again.)
SELECT check_query('SELECT trim_scale(percentile_disc(0.01) WITHIN GROUP (ORDER BY tie)) FROM spelled', 'any');
SELECT refusals('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY tie) FROM spelled');
SELECT check_matrix('SELECT g, trim_scale(mode() WITHIN GROUP (ORDER BY zero)), percentile_disc(%s) WITHIN GROUP (ORDER BY zero) = 0 FROM spelled GROUP BY g', '{0,1}', expect => 'any');
SELECT check_prepared('device', 'SELECT k, percentile_disc($1) WITHIN GROUP (ORDER BY m), percentile_disc($1) WITHIN GROUP (ORDER BY iv DESC) FROM spelled GROUP BY k', '(float8)', '(0.5)', '(0)', '(1)', '(NULL)');
-- rows that are new, changed and gone
INSERT INTO t SELECT * FROM t WHERE id < 300;
UPDATE t SET f8 = f8 + 5000, t = t || 'x' WHERE id % 1000 = 7;
DELETE FROM t WHERE id % 100 = 9;
SELECT check_matrix('SELECT %s, percentile_cont(0.99) WITHIN GROUP (ORDER BY f8), percentile_disc(0.99) WITHIN GROUP (ORDER BY t), mode() WITHIN GROUP (ORDER BY t) FROM t GROUP BY 1', '{k,g}');
EXPLAIN (COSTS OFF, VERBOSE) SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY f8) FROM t GROUP BY k;
DROP SCHEMA ordered_sets CASCADE;
