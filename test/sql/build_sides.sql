-- Tables that are built from several relations: the other side of an outer, semi or anti join is a join itself, and
-- dimensions that hang on a dimension.
CREATE SCHEMA build_sides;
SET search_path = build_sides, public;
CREATE TABLE fact (id int NOT NULL, a int, b int2, s text, n numeric(8,2));
INSERT INTO fact SELECT i, nullif(i % 60, 13), nullif(i % 9, 4), 'name ' || i % 12, i / 4.0 FROM generate_series(1, 2000) i;
CREATE TABLE dim (k int NOT NULL, up int, name text NOT NULL, grp int NOT NULL);
INSERT INTO dim SELECT i, nullif(i % 7, 5), 'name ' || i % 12, i % 3 FROM generate_series(0, 44) i;
CREATE TABLE top (k int NOT NULL, name text, v int);
INSERT INTO top SELECT i, nullif('name ' || i % 4, 'name 2'), i * 10 FROM generate_series(0, 5) i;
CREATE TABLE twice (k int, v int, t text);
INSERT INTO twice SELECT nullif(i % 20, 11), nullif(i, 30), 'text ' || i % 5 FROM generate_series(1, 70) i;
CREATE TABLE hollow (k int, v int NOT NULL, t text);
ANALYZE;

SELECT q, device_joins(q) FROM unnest(ARRAY[
    'SELECT count(*) FROM fact LEFT JOIN (dim JOIN twice USING (k)) ON a = k',
    'SELECT count(*), sum(v) FROM fact LEFT JOIN (dim LEFT JOIN top ON up = top.k) ON a = dim.k WHERE coalesce(v, 7) < 30',
    'SELECT count(*) FROM fact WHERE EXISTS (SELECT FROM dim JOIN top ON up = top.k WHERE dim.k = a)',
    'SELECT count(*) FROM fact WHERE a IN (SELECT dim.k FROM dim JOIN top ON up = top.k JOIN twice ON twice.k = dim.k WHERE top.v > 10)',
    'SELECT count(*) FROM fact WHERE NOT EXISTS (SELECT FROM dim JOIN top ON up = top.k WHERE dim.k = a)',
    'SELECT id, top.name FROM fact LEFT JOIN (dim JOIN top ON up = top.k) ON a = dim.k',
    'SELECT count(*) FROM fact LEFT JOIN (dim JOIN (top JOIN twice ON twice.k = top.k) ON up = top.k) ON a = dim.k']) q;

-- what is NULL-extended together, and what the two sides are asked for
SELECT check_matrix('SELECT %s FROM fact LEFT JOIN (dim JOIN twice ON dim.k = twice.k) ON a = dim.k %s', ARRAY['count(*), count(grp), sum(v), max(t), min(name)', 'grp, count(*), sum(v)', 'name, t, count(*), count(v), sum(n)', 't IS NULL, grp, count(*)'], ARRAY['GROUP BY grp, name, t', 'AND grp > 0 GROUP BY grp, name, t', 'AND v > id GROUP BY grp, name, t', 'WHERE v IS NULL OR v < 20 GROUP BY grp, name, t', 'WHERE grp IS NULL GROUP BY grp, name, t']);
SELECT check_matrix('SELECT %s, count(*), count(v), sum(v), sum(n) FROM fact LEFT JOIN (dim LEFT JOIN top ON up = top.k %s) ON a = dim.k GROUP BY 1', ARRAY['grp', 'up', 'top.name', 'v IS NULL', 'top.k'], ARRAY['', 'AND v > 10', 'AND dim.grp > 0', 'AND top.name = dim.name']);
SELECT check_matrix('SELECT count(*), sum(id), count(dim.k), sum(v), max(t) FROM fact LEFT JOIN (dim JOIN twice ON %s) ON %s', ARRAY['dim.k = twice.k', 'dim.k = twice.k AND v > 5', 'dim.up = twice.k AND dim.name <> t', 'dim.k = twice.k AND t = ''text 1'''], ARRAY['a = dim.k', 'a = twice.k', 'a = twice.k AND b = dim.up', 's = dim.name AND a = twice.k', 'a = dim.k AND id > v', 'a + grp = dim.k + twice.k', 'a = dim.k AND n > v + grp']);
SELECT check_matrix('SELECT count(*), sum(id), count(v) FROM fact LEFT JOIN (%s) ON a = %s', ARRAY['hollow q JOIN dim ON q.k = dim.k', 'dim JOIN hollow q ON q.k = dim.k'], ARRAY['dim.k', 'q.k']);
SELECT check_matrix('SELECT count(*), sum(id), count(dim.k), sum(x.v), sum(y.v) FROM fact LEFT JOIN (dim JOIN top x ON up = x.k JOIN twice y ON y.k = x.k) ON a = dim.k %s', ARRAY['', 'AND y.t <> x.name', 'LEFT JOIN top z ON z.k = y.k AND x.v > z.v', 'LEFT JOIN (top z JOIN twice w ON z.k = w.k) ON z.k = y.k']);

-- semi and anti joins
SELECT check_matrix('SELECT count(*), sum(id), max(s) FROM fact WHERE %s (SELECT FROM dim JOIN twice ON dim.k = twice.k WHERE %s)', ARRAY['EXISTS', 'NOT EXISTS'], ARRAY['dim.k = a', 'twice.k = a AND dim.up = b', 'dim.k = a AND v > 30', 'dim.k = a AND v > id', 'name = s AND twice.k = a', 'dim.k = a AND grp <> b AND v > b', 'twice.k + 1 = a AND t = ''text 2''']);
SELECT check_matrix('SELECT s, count(*), sum(n) FROM fact WHERE a %s GROUP BY s', ARRAY['IN (SELECT dim.k FROM dim JOIN twice USING (k))', 'IN (SELECT up FROM dim JOIN twice ON up = twice.k WHERE v < 40)', 'IN (SELECT dim.k FROM dim LEFT JOIN top ON up = top.k WHERE v IS NULL)', 'IN (SELECT dim.k FROM dim, top, twice WHERE up = top.k AND twice.k = top.k)']);
SELECT check_matrix('SELECT count(*), sum(id) FROM fact WHERE %s', ARRAY['EXISTS (SELECT FROM dim LEFT JOIN top ON up = top.k WHERE dim.k = a AND v IS NULL)', 'EXISTS (SELECT FROM dim WHERE dim.k = a AND EXISTS (SELECT FROM top WHERE top.k = up))', 'EXISTS (SELECT FROM dim WHERE dim.k = a AND NOT EXISTS (SELECT FROM top WHERE top.k = up))', 'NOT EXISTS (SELECT FROM dim WHERE dim.k = a AND NOT EXISTS (SELECT FROM top WHERE top.k = up AND top.v > 10))',
    'NOT EXISTS (SELECT FROM dim x JOIN dim y ON x.k = y.up WHERE x.k = b AND y.grp <> 1)', 'EXISTS (SELECT FROM hollow JOIN dim ON hollow.k = dim.k WHERE dim.k = a)', 'NOT EXISTS (SELECT FROM hollow JOIN dim ON hollow.k = dim.k WHERE dim.k = a)']);

-- dimensions of dimensions, in the shape that costs least
SELECT check_matrix('SELECT %s FROM fact JOIN dim ON a = dim.k JOIN top ON up = top.k %s', ARRAY['count(*), sum(id), sum(v)', 'top.name, grp, count(*), sum(n), max(dim.name)'], ARRAY['GROUP BY top.name, grp', 'WHERE v > 10 GROUP BY top.name, grp', 'WHERE dim.name <> s AND id > v GROUP BY top.name, grp']);
BEGIN;
SET LOCAL join_collapse_limit = 1;
SELECT check_matrix('SELECT top.name, count(*), sum(top.v), sum(id) FROM %s GROUP BY 1', ARRAY['fact JOIN (dim JOIN top ON up = top.k) ON a = dim.k', '(dim JOIN top ON up = top.k) JOIN fact ON a = dim.k', 'fact LEFT JOIN (top RIGHT JOIN dim ON up = top.k) ON a = dim.k', '(twice JOIN dim ON twice.k = dim.k) JOIN (top JOIN fact ON b = top.k) ON a = dim.k'], expect => 'any');
COMMIT;
BEGIN;
SET LOCAL geqo_threshold = 2;
SELECT check_query('SELECT grp, count(*), sum(twice.v), sum(top.v) FROM fact LEFT JOIN (dim JOIN twice ON dim.k = twice.k) ON a = dim.k LEFT JOIN top ON up = top.k WHERE NOT EXISTS (SELECT FROM dim d JOIN top t ON d.up = t.k WHERE d.k = a AND t.v = 30) GROUP BY grp', 'any');
COMMIT;

-- rows, a plan of PostgreSQL's within, errors, parameters, a table that is kept
SELECT check_matrix('SELECT %s FROM fact LEFT JOIN (dim JOIN top ON up = top.k) ON a = dim.k %s', ARRAY['*', 'id, top.name, dim.name, v'], ARRAY['', 'AND v > 20', 'WHERE id < 100']);
SELECT check_matrix('SELECT count(*), sum(id), sum(q.c), count(dim.k) FROM fact LEFT JOIN (dim JOIN %s ON up = q.k) ON a = dim.k', ARRAY['(SELECT k, count(*) AS c FROM twice GROUP BY k) q', '(VALUES (1, 2), (2, NULL), (NULL, 3)) q(k, c)', '(SELECT DISTINCT k, v % 3 AS c FROM twice) q'], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM fact LEFT JOIN (dim JOIN top ON up = top.k AND 100 / %s > 0) ON a = dim.k', ARRAY['(v + 1)', 'v', '(grp - 1)'], expect => 'any');
SELECT check_prepared('device', 'SELECT grp, count(*), sum(v) FROM fact LEFT JOIN (dim JOIN twice ON dim.k = twice.k AND v > $1) ON a = dim.k AND id > $2 GROUP BY grp', '(int, int)', '(0, 10)', '(30, 1000)', '(69, 5)');
SELECT check_matrix('SELECT count(*), sum(%s) FROM fact LEFT JOIN (dim JOIN twice ON dim.k = twice.k) ON a = dim.k', ARRAY['v', 'grp', 'v', 'v + grp']);

SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT grp, count(*) FROM fact LEFT JOIN (dim JOIN top ON up = top.k AND v > 10) ON a = dim.k WHERE EXISTS (SELECT FROM twice x JOIN twice y ON x.v = y.k WHERE x.k = b) GROUP BY grp;
