-- Full joins, and right joins whose table's side is kept: rows of the table that no row has met come at the end, through
-- all that stands behind the join.
CREATE SCHEMA full_joins;
SET search_path = full_joins, public;
CREATE TABLE fact (id int NOT NULL, a int, b int2, c int8, s text, n numeric(8,2), f float8);
INSERT INTO fact SELECT i, nullif(i % 60, 13), nullif(i % 9, 4), nullif(i % 30, 7), 'name ' || i % 12, i / 4.0, i / 8.0 FROM generate_series(1, 2000) i;
CREATE TABLE dim (k int NOT NULL, k2 int2, k8 int8, name text NOT NULL, grp int NOT NULL, n numeric(6,1));
INSERT INTO dim SELECT i, i % 11, i, 'name ' || i % 15, i % 3, i / 2.0 FROM generate_series(40, 99) i;
CREATE TABLE twice (k int, v int, t text);
INSERT INTO twice SELECT nullif(i % 90, 11), nullif(i, 30), 'text ' || i % 5 FROM generate_series(1, 170) i;
CREATE TABLE sparse (k int8, v int NOT NULL, w numeric(30,3), u uuid, f float8);
INSERT INTO sparse SELECT nullif(i, 3) * 1000000007::int8, i, i * 12345678901234567890.5, md5(i::text)::uuid, i / 3.0 FROM generate_series(-20, 20) i;
CREATE TABLE hollow (k int, v int NOT NULL, t text);
ANALYZE;

SELECT q, device_joins(q) FROM unnest(ARRAY[
    'SELECT count(*) FROM fact FULL JOIN dim ON a = k',
    'SELECT * FROM fact FULL JOIN dim ON a = k',
    'SELECT count(*) FROM dim LEFT JOIN fact ON a = k',
    'SELECT count(*) FROM fact RIGHT JOIN dim ON a = k',
    'SELECT count(*) FROM fact FULL JOIN dim ON a = k FULL JOIN twice ON twice.k = dim.k',
    'SELECT count(*) FROM fact FULL JOIN (dim LEFT JOIN twice ON twice.k = dim.k) ON a = dim.k',
    'SELECT count(*) FROM fact LEFT JOIN (dim FULL JOIN twice ON twice.k = dim.k) ON a = dim.k']) q;

-- what is missing on either side, as a key, an argument and in filters
SELECT check_matrix('SELECT %s FROM fact FULL JOIN %s', ARRAY['count(*), count(id), count(q.k), sum(id), sum(q.v), max(s)', 's, count(*), sum(q.v)', 'q.v % 3, count(*), sum(fact.n), min(s)', 'id IS NULL, q.k IS NULL, count(*)'], ARRAY['(SELECT k, grp AS v FROM dim OFFSET 0) q ON a = q.k GROUP BY s, q.v % 3, 1 = 1, id IS NULL, q.k IS NULL', 'twice q ON a = q.k GROUP BY s, q.v % 3, id IS NULL, q.k IS NULL', 'sparse q ON c * 1000000007 = q.k GROUP BY s, q.v % 3, id IS NULL, q.k IS NULL', 'hollow q ON a = q.k GROUP BY s, q.v % 3, id IS NULL, q.k IS NULL'], expect => 'any');
SELECT check_matrix('SELECT count(*), count(id), count(k), sum(id), sum(grp), max(name), min(s) FROM %s', ARRAY['fact FULL JOIN dim ON a = k', 'dim FULL JOIN fact ON a = k', 'fact FULL JOIN dim ON a = k AND b = k2', 'fact FULL JOIN dim ON a = k AND c = k8 AND b = k2', 'fact FULL JOIN dim ON s = name', 'fact FULL JOIN dim ON s = name AND a = k', 'fact FULL JOIN dim ON fact.n = dim.n', 'fact FULL JOIN dim ON a + 1 = k', 'fact FULL JOIN dim ON f = dim.n::float8', 'fact FULL JOIN dim ON a = k AND s = name AND b = k2 AND c = k8 AND fact.n = dim.n',
    'fact RIGHT JOIN dim ON a = k', 'dim LEFT JOIN fact ON a = k', 'dim LEFT JOIN fact ON a = k AND id > 500', 'dim LEFT JOIN fact ON a = k AND s <> name', 'dim LEFT JOIN fact ON a = k AND grp = 1', 'dim LEFT JOIN fact ON b = k2 AND fact.n > dim.n + 400']);
SELECT check_matrix('SELECT count(*), count(x.k), count(y.k), sum(x.v), sum(y.v), max(y.t) FROM %s', ARRAY['twice x FULL JOIN twice y ON x.k = y.k', 'twice x FULL JOIN twice y ON x.v = y.k', 'twice x FULL JOIN hollow y ON x.k = y.k', 'hollow x FULL JOIN twice y ON x.k = y.k', 'hollow x FULL JOIN hollow y ON x.k = y.k', 'hollow x LEFT JOIN twice y ON x.k = y.k', 'twice x LEFT JOIN hollow y ON x.k = y.k', 'twice x FULL JOIN twice y ON x.k = y.k AND x.t = y.t AND x.v = y.v']);
SELECT check_matrix('SELECT count(*), count(id), count(sparse.v), sum(sparse.v), max(w) FROM fact FULL JOIN sparse ON %s', ARRAY['c * 1000000007 = k', 'fact.n = w', 'fact.f = sparse.f', 's::text = u::text', 'c = k AND b = v'], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id), sum(grp), count(k) FROM %s WHERE %s', ARRAY['fact FULL JOIN dim ON a = k', 'dim LEFT JOIN fact ON a = k', '(SELECT * FROM fact WHERE id < 900) fact FULL JOIN (SELECT * FROM dim WHERE grp > 0) dim ON a = k'], ARRAY['id IS NULL', 'k IS NULL', 'coalesce(grp, 1) = 1', 'coalesce(id, 100) < 200', 'id IS NULL OR grp = 2', 'coalesce(b, 3) = 3', 'coalesce(s, ''none'') > ''name 3''', 'coalesce(id, 0) + coalesce(k, 0) > 50'], expect => 'any');
SELECT check_matrix('SELECT %s FROM fact FULL JOIN dim ON a = k GROUP BY 1', ARRAY['grp, count(*), sum(id)', 's, count(*), count(k)', 'name, count(*), max(s)', 'coalesce(a, k), count(*)', 'coalesce(s, name), count(*)', 'a, min(dim.n), sum(fact.n), avg(f)', 'CASE WHEN id IS NULL THEN ''new'' WHEN k IS NULL THEN ''old'' ELSE ''both'' END, count(*)', 'fact.n > dim.n, count(*), bool_or(grp > 0), count(DISTINCT grp)']);
SELECT check_matrix('SELECT k, count(*), sum(grp), sum(v) FROM dim FULL JOIN twice USING (k) %s GROUP BY ROLLUP (k)', ARRAY['WHERE grp IS NULL', ''], expect => 'any');

-- chains: what stands behind a full join sees rows of both passes, and meets partners in both
SELECT check_matrix('SELECT count(*), count(id), count(d.k), count(t.k), sum(id), sum(grp), sum(v) FROM %s', ARRAY['fact FULL JOIN dim d ON a = d.k FULL JOIN twice t ON t.k = d.k', 'fact FULL JOIN dim d ON a = d.k FULL JOIN twice t ON t.k = a', 'fact FULL JOIN dim d ON a = d.k FULL JOIN twice t ON t.k = coalesce(a, d.k)', 'fact FULL JOIN dim d ON a = d.k LEFT JOIN twice t ON t.k = d.k', 'fact FULL JOIN dim d ON a = d.k LEFT JOIN twice t ON t.k = d.k AND v > id', 'fact FULL JOIN dim d ON a = d.k JOIN twice t ON t.k = coalesce(d.k, id)', 'fact FULL JOIN dim d ON a = d.k FULL JOIN hollow t ON t.k = d.k',
    'twice t FULL JOIN dim d ON t.k = d.k FULL JOIN fact ON a = t.v', 'dim d LEFT JOIN fact ON a = d.k LEFT JOIN twice t ON t.k = id', 'dim d LEFT JOIN (fact LEFT JOIN twice t ON t.k = b) ON a = d.k', 'dim d LEFT JOIN (fact JOIN twice t ON t.k = b) ON a = d.k', 'fact RIGHT JOIN dim d ON a = d.k RIGHT JOIN twice t ON t.k = d.k', '(SELECT * FROM fact WHERE id < 10) f FULL JOIN dim d ON a = d.k FULL JOIN twice t ON t.k = d.k'], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id), sum(grp) FROM fact FULL JOIN dim ON a = k WHERE %s (SELECT FROM twice WHERE %s)', ARRAY['EXISTS', 'NOT EXISTS'], ARRAY['twice.k = dim.k', 'twice.k = b', 'twice.k = coalesce(dim.k, b)', 'twice.k = dim.k AND v > id'], expect => 'any');
SELECT check_query('SELECT w.k, x.k, y.k, z.k FROM twice w FULL JOIN twice x ON w.k = x.v FULL JOIN twice y ON y.k = x.k FULL JOIN twice z ON z.v = coalesce(w.k, y.k)');

-- rows, limits, a device that has several passes is another file's matter (partitions, memory)
SELECT check_matrix('SELECT %s FROM %s', ARRAY['*', 'name, s, grp, id'], ARRAY['fact FULL JOIN dim ON a = k', 'dim LEFT JOIN fact ON a = k', 'dim LEFT JOIN fact ON a = k AND id < grp * 300', 'fact FULL JOIN dim ON a = k FULL JOIN hollow ON hollow.v = id']);
SELECT count(*) FROM (SELECT id, k FROM fact FULL JOIN dim ON a = k LIMIT 10) q;
SELECT count(*) FROM (SELECT id, k FROM fact FULL JOIN dim ON a = k WHERE coalesce(id, 9999) > 1990 LIMIT 30) q;
SELECT check_query('SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) FROM fact FULL JOIN dim ON a = k) q ORDER BY 1, 2, 3 LIMIT 20', 'any');
SELECT check_query('WITH q AS (SELECT k, count(*) AS x FROM twice GROUP BY k) SELECT count(*), sum(x), sum(id) FROM fact FULL JOIN q ON a = q.k', 'any');

-- errors, parameters, bounds that must not hide partners
SELECT check_matrix('SELECT count(*), sum(100 / %s) FROM fact FULL JOIN dim ON a = k', ARRAY['grp', '(grp + 1)', '(id - 1999)', 'coalesce(id, 0)'], expect => 'any');
SELECT check_prepared('device', 'SELECT grp, count(*), sum(id) FROM (SELECT * FROM fact WHERE id > $1) f FULL JOIN dim ON a = k WHERE coalesce(grp, $2) > 0 GROUP BY grp', '(int, int)', '(0, 10)', '(1990, 1)', '(3000, 0)');
CREATE TABLE wide AS SELECT i AS id, i % 1000 AS k, i / 40000 AS part FROM generate_series(1, 200000) i;
CREATE TABLE key AS SELECT i AS k, i % 7 AS g FROM generate_series(0, 1200) i;
VACUUM ANALYZE wide, key;
-- a small side that is kept becomes the table of the large one
SELECT q, device_joins(q) FROM unnest(ARRAY['SELECT g, count(*), count(id) FROM key LEFT JOIN wide USING (k) GROUP BY g', 'SELECT count(*) FROM wide RIGHT JOIN key USING (k) LEFT JOIN dim ON dim.k = g', 'SELECT count(*) FROM key LEFT JOIN (wide JOIN dim ON dim.k = wide.part + 40) ON wide.k = key.k']) q;
SELECT check_matrix('SELECT %s', ARRAY['g, count(*), count(id), sum(id) FROM key LEFT JOIN wide USING (k) GROUP BY g', 'count(*), count(id), max(g) FROM key LEFT JOIN wide USING (k) WHERE id IS NULL', 'g, count(*), sum(id), count(dim.k) FROM wide RIGHT JOIN key USING (k) LEFT JOIN dim ON dim.k = g + 40 GROUP BY g', 'g, count(*), sum(id) FROM key LEFT JOIN wide ON wide.k = key.k AND id > g * 30000 GROUP BY g', 'count(*), sum(id), sum(grp) FROM key LEFT JOIN (wide JOIN dim ON dim.k = wide.part + 40) ON wide.k = key.k', 'count(*), count(y.k), sum(id) FROM key x LEFT JOIN wide ON x.k = wide.k AND part = 2 LEFT JOIN key y ON y.k = wide.part',
    'key.k, id FROM key LEFT JOIN wide ON wide.k = key.k AND id < 2000', 'count(*), sum(id) FROM key LEFT JOIN wide USING (k) WHERE EXISTS (SELECT FROM dim WHERE dim.k = key.k)', 'count(*), sum(z.id) FROM (SELECT nullif(k, 7) AS k, g FROM key OFFSET 0) q LEFT JOIN wide z ON q.k = z.k']);
SELECT check_matrix('SELECT count(*), count(id), sum(g) FROM wide FULL JOIN key USING (k) WHERE %s', ARRAY['coalesce(part, 0) = 0', 'coalesce(id, -1) < 50', 'coalesce(part, 5) > 4', 'g IS NULL OR id IS NULL']);

SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT grp, count(*) FROM fact FULL JOIN dim ON a = k AND fact.n = dim.n WHERE coalesce(grp, 1) = 1 GROUP BY grp;
EXPLAIN (COSTS OFF) SELECT name, sum(id) FROM dim LEFT JOIN fact ON a = k AND id > grp GROUP BY name;
