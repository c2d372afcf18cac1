-- Aggregates of DISTINCT values in groups: by bits for each group and value where both lie close together, else by sets (on the host) or groups of the values.
CREATE SCHEMA distincts;
SET search_path = distincts, public;
CREATE TABLE t (id int, day date, g int2, k int8, s text, u uuid, n numeric(12,2), near int, far int8, edge int8, b bool, f float8, nothing int);
INSERT INTO t SELECT i, date '2024-02-27' + i % 40, nullif(i % 7, 3), (i * 7919 % 500)::int8 - 250, nullif('s' || i * 31 % 300, 's5'), md5((i % 900)::text)::uuid, nullif(i % 90, 11) / 4.0,
    nullif(i * 13 % 1201 - 600, 0), i % 60 * 100000000003, CASE i % 4 WHEN 0 THEN 9223372036854775807 - i % 5 WHEN 1 THEN 9223372036854775800 END, nullif(i % 3, 2) = 1, i % 50 / 8.0, NULL FROM generate_series(1, 30000) i;
CREATE TABLE few AS SELECT * FROM t WHERE id <= 60;
CREATE TABLE hollow (LIKE t);
CREATE TABLE names AS SELECT k, 'name ' || k % 40 AS name, CASE WHEN k % 9 > 0 THEN k % 20 END AS part FROM generate_series(-200, 260) k;
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) few;
VACUUM (FREEZE, ANALYZE) names;
CREATE FUNCTION grouping_of(query text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || query INTO plan;
    RETURN substring(plan::text FROM '"Grouping": "([^"]*)"');
END $$;

-- which way
SELECT q, grouping_of('SELECT ' || q) FROM unnest(ARRAY['count(DISTINCT near) FROM t', 'count(DISTINCT near), count(DISTINCT s), sum(DISTINCT g) FROM t', 'day, g, count(DISTINCT s), sum(DISTINCT near), count(*) FROM t GROUP BY 1, 2', 's, count(DISTINCT g) FROM t GROUP BY 1',
    'k, count(DISTINCT k) FROM t GROUP BY 1', 'u, count(DISTINCT g) FROM t GROUP BY 1']) q;
-- every argument in every grouping, over many rows, few and none
SELECT check_matrix('SELECT %s FROM %s', ARRAY(SELECT 'count(DISTINCT ' || a || '), count(*)' FROM unnest('{day,g,k,s,u,n,near,far,edge,b,f,nothing,near % 10,k + g,"coalesce(s, ''none'')",near > 0}'::text[]) a), '{t,few,hollow,t GROUP BY g,"t GROUP BY day, g",t GROUP BY s,few GROUP BY g,hollow GROUP BY g,t WHERE near > 500 GROUP BY k,t WHERE id < 0 GROUP BY g}', 'any');
SELECT check_matrix('SELECT %s FROM %s', ARRAY(SELECT f || '(DISTINCT ' || a || ')' FROM unnest('{sum,avg}'::text[]) f, unnest('{g,k,n,near,far,edge,nothing,k - near}'::text[]) a), '{t,few,hollow,t GROUP BY g,"few GROUP BY s, g",hollow GROUP BY g}', 'any');
-- several of them beside others
SELECT check_matrix('SELECT %1$s, %2$s FROM t GROUP BY %1$s', '{g,"day, g",s,b,k % 50}', ARRAY['count(DISTINCT near), count(DISTINCT s), count(DISTINCT day), count(*), sum(n), min(near), max(f + 1), avg(k)', 'sum(DISTINCT near), avg(DISTINCT near), count(DISTINCT near), count(near)', 'count(DISTINCT near), count(DISTINCT u), sum(DISTINCT far)',
    'count(DISTINCT g), count(DISTINCT s) FILTER (WHERE near > 0), count(DISTINCT s), count(s) FILTER (WHERE near > 0)', 'count(DISTINCT near) * 2 + count(*), round(avg(DISTINCT n), 1), stddev(near), bit_or(k), max(DISTINCT s)']);
-- over joins, whose keys or arguments may be missing
SELECT check_matrix('SELECT %s', ARRAY['name, count(DISTINCT near), count(DISTINCT part), sum(n) FROM t JOIN names USING (k) GROUP BY name', 'name, count(DISTINCT near), count(DISTINCT part) FROM t LEFT JOIN names USING (k) GROUP BY name', 'part, count(DISTINCT name), sum(DISTINCT near), count(*) FROM t LEFT JOIN names USING (k) GROUP BY part',
    'name, count(DISTINCT near), count(DISTINCT part) FROM few RIGHT JOIN names USING (k) GROUP BY name', 'part, count(DISTINCT s), count(DISTINCT name) FROM few FULL JOIN names USING (k) GROUP BY part', 'count(DISTINCT name), count(DISTINCT near) FROM t JOIN names ON t.k = names.k AND names.part > 5']);
-- of the groups some are wanted, in order; a level above reads them
SELECT check_matrix('SELECT %s', ARRAY['s, count(DISTINCT near) FROM t GROUP BY s HAVING count(DISTINCT near) > 95 AND count(*) > 10 ORDER BY 2 DESC, 1 LIMIT 5', 'day, g, count(DISTINCT s) AS c, sum(DISTINCT near) FROM t GROUP BY 1, 2 HAVING sum(DISTINCT near) > 0 ORDER BY c DESC, day, g OFFSET 3 LIMIT 20', 'k, sum(DISTINCT near), avg(DISTINCT g) FROM t GROUP BY k ORDER BY k',
    'c, count(*), sum(m) FROM (SELECT s, g, count(DISTINCT near) AS c, max(near) AS m FROM t GROUP BY s, g) x GROUP BY c', 'count(DISTINCT c) FROM (SELECT s, count(DISTINCT k) AS c FROM t GROUP BY s) x', 'DISTINCT count(DISTINCT g) FROM t GROUP BY s'], expect => 'any');
SELECT check_matrix('SELECT g, day, count(DISTINCT near), count(DISTINCT s), grouping(g, day) FROM t GROUP BY %s', '{"ROLLUP (g, day)","CUBE (day, g)","GROUPING SETS ((g, day))","GROUPING SETS ((g), (day), ())"}');
-- errors of keys, arguments and sums
SELECT check_matrix('SELECT %s', ARRAY['g, sum(DISTINCT edge) FROM t GROUP BY g', 'g, count(DISTINCT 10 / near), count(*) FROM t WHERE near <> 0 GROUP BY g', 'g, count(DISTINCT 10 / k) FROM t GROUP BY g', '10 / g, count(DISTINCT near) FROM t GROUP BY 1', 'g, sum(DISTINCT near) FROM t GROUP BY g HAVING 1 / (sum(DISTINCT near) - 1) = 0'], expect => 'any');
SELECT check_prepared('device', 'SELECT g, count(DISTINCT near + $1), sum(DISTINCT k), count(*) FROM t WHERE id > $1 GROUP BY g', '(int)', '(0)', '(29000)', '(30000)', '(NULL)');
-- rows that are new, changed and gone
INSERT INTO t SELECT * FROM t WHERE id < 300;
UPDATE t SET near = near + 5000, s = s || 'x', day = day - 100 WHERE id % 1000 = 7;
DELETE FROM t WHERE id % 100 = 9;
SELECT check_matrix('SELECT %1$s, count(DISTINCT near), count(DISTINCT s), count(DISTINCT day), sum(DISTINCT near) FROM t GROUP BY %1$s', '{g,day}');
DROP SCHEMA distincts CASCADE;
