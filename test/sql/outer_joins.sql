-- Left, right, semi and anti joins: NULL keys, duplicates, empty sides, several keys, conditions beside the equality,
-- what may stand above them, and those that stay with PostgreSQL.
CREATE SCHEMA outer_joins;
SET search_path = outer_joins, public;
CREATE TABLE fact (id int NOT NULL, a int, b int2, c int8, s text, n numeric(8,2), f float8);
INSERT INTO fact SELECT i, nullif(i % 60, 13), nullif(i % 9, 4), nullif(i % 30, 7), 'name ' || i % 12, i / 4.0, i / 8.0 FROM generate_series(1, 3000) i;
CREATE TABLE dim (k int NOT NULL, k2 int2, k8 int8, name text NOT NULL, grp int NOT NULL, n numeric(6,1));
INSERT INTO dim SELECT i, i % 9, i, 'name ' || i % 12, i % 3, i / 2.0 FROM generate_series(0, 44) i;
CREATE TABLE twice (k int, v int, t text);
INSERT INTO twice SELECT nullif(i % 20, 11), nullif(i, 30), 'text ' || i % 5 FROM generate_series(1, 70) i;
CREATE TABLE sparse (k int8 NOT NULL, v int NOT NULL, w numeric(30,3));
INSERT INTO sparse SELECT i * 1000000007::int8, i, i * 12345678901234567890.5 FROM generate_series(-20, 20) i;
CREATE TABLE hollow (k int, v int NOT NULL, t text);
ANALYZE;
VACUUM (FREEZE) fact;
VACUUM (FREEZE) dim;

SELECT q, device_joins(q) FROM unnest(ARRAY[
    'SELECT count(*) FROM fact LEFT JOIN dim ON a = k',
    'SELECT count(*) FROM dim RIGHT JOIN fact ON a = k',
    'SELECT count(*) FROM fact WHERE EXISTS (SELECT FROM dim WHERE k = a)',
    'SELECT count(*) FROM fact WHERE a IN (SELECT k FROM twice)',
    'SELECT count(*) FROM fact WHERE NOT EXISTS (SELECT FROM dim WHERE k = a)',
    'SELECT count(*) FROM fact LEFT JOIN dim ON a = k WHERE k IS NULL',
    'SELECT count(*) FROM fact LEFT JOIN dim ON a = k WHERE grp = 1',
    'SELECT * FROM fact LEFT JOIN dim ON a = k',
    'SELECT id FROM fact WHERE NOT EXISTS (SELECT FROM dim WHERE k = a)',
    'SELECT count(*) FROM fact LEFT JOIN dim ON a = k LEFT JOIN twice ON grp = twice.k WHERE EXISTS (SELECT FROM sparse WHERE c = sparse.k) AND NOT EXISTS (SELECT FROM hollow WHERE hollow.k = a)',
    'SELECT count(*) FROM fact FULL JOIN dim ON a = k',
    'SELECT count(*) FROM fact LEFT JOIN dim ON a < k',
    'SELECT count(*) FROM fact LEFT JOIN (dim JOIN twice USING (k)) ON a = k']) q;

-- left joins: what is NULL-extended as a key, an argument, in a filter, and above
SELECT check_matrix('SELECT %s', ARRAY['count(*), count(k), sum(id), sum(grp), max(name), min(name) FROM fact LEFT JOIN dim ON a = k', 'grp, count(*), count(grp), sum(n.n) FROM fact n LEFT JOIN dim ON a = k GROUP BY grp', 'name, grp, count(*), sum(dim.n) FROM fact LEFT JOIN dim ON a = k GROUP BY name, grp',
    's, name, count(*), avg(dim.n), max(k8) FROM fact LEFT JOIN dim ON a = k GROUP BY 1, 2', 'count(*), count(v), sum(v), max(t) FROM fact LEFT JOIN twice ON a = k', 'v, t, count(*), sum(n) FROM fact LEFT JOIN twice ON a = k GROUP BY v, t',
    'x.k, count(*), count(y.k), sum(y.v) FROM twice x LEFT JOIN twice y USING (k) GROUP BY x.k', 'count(*), count(v), sum(w), min(w) FROM fact LEFT JOIN sparse ON c * 1000000007 = k', 'count(*), count(hollow.v), max(t) FROM fact LEFT JOIN hollow ON a = k', 't, v, count(*) FROM fact LEFT JOIN hollow ON a = k GROUP BY 1, 2',
    'count(*), count(fact.id) FROM hollow LEFT JOIN fact ON a = k', 'grp IS NULL, coalesce(grp, 7), CASE WHEN k > 20 THEN ''a'' WHEN k IS NULL THEN ''none'' END IS NULL, count(*) FROM fact LEFT JOIN dim ON a = k GROUP BY 1, 2, 3',
    'coalesce(name, ''none''), count(*) FROM fact LEFT JOIN dim ON a = k GROUP BY 1', 'grp, count(*) FROM fact LEFT JOIN dim ON a = k GROUP BY grp HAVING max(name) IS NULL OR count(*) > 1000', 'dim.*, count(*) FROM fact LEFT JOIN dim ON a = k GROUP BY dim.k, k2, k8, name, grp, dim.n',
    'count(*) FILTER (WHERE grp IS NULL), count(*) FILTER (WHERE name LIKE ''%1%''), sum(id) FILTER (WHERE NOT name = ''name 3'') FROM fact LEFT JOIN dim ON a = k']);
SELECT check_matrix('SELECT count(*), count(k), sum(id), max(name) FROM fact LEFT JOIN dim ON %s', ARRAY['a = k', 'a = k AND b = k2', 'a = k AND c = k8 AND b = k2', 'b = k', 'c = k', 'a = k8', 'a + 1 = k', 'a * 2 = k + 1 AND b = k2', 'a = k AND fact.n > dim.n', 'a = k AND grp = 1', 'a = k AND id > 500', 'a = k AND id > 500 AND grp < 2 AND name > ''name 2'' AND s <> ''name 1''',
    'a = k AND (id > 500 OR name LIKE ''%1'')', 'a = k AND fact.s = ''name 3''', 'a = k AND b IS NULL', 'a = k AND k2 IS NULL', 'a = k AND b > grp * 2', 'b = k2 AND fact.n > dim.n', 'c = k8 AND c <> k2 AND b <> k2', 'a = k AND a = k8', 'b = k2 AND a = k AND c = k8 AND id = grp AND b = grp'], ARRAY['', 'WHERE k IS NULL', 'WHERE grp > 0', 'WHERE grp IS NULL OR id < 100', 'WHERE coalesce(name, ''name 1'') LIKE ''%1''', 'WHERE fact.id > 700 AND (grp = 1) IS NOT TRUE', 'WHERE b IS DISTINCT FROM grp']);
SELECT check_matrix('SELECT count(*), count(v), sum(id), sum(v) FROM fact LEFT JOIN twice ON %s', ARRAY['a = k', 'a = k AND v > 20', 'a = k AND v > b * 5', 'a = k AND t <> ''text 2''', 'a = k AND v IS NULL', 'b = k AND c < v', 'a = k AND id % 70 = v', 'b = k AND v = 30'], ARRAY['', 'WHERE v IS NULL', 'WHERE v % 2 = 0 OR v IS NULL']);
-- what a device does not do
SELECT check_matrix('SELECT count(*), count(k), sum(id), max(name) FROM fact %s', ARRAY['LEFT JOIN dim ON a = k AND name <> s', 'LEFT JOIN dim ON a = k AND false', 'LEFT JOIN dim ON a < k', 'LEFT JOIN dim ON s = name', 'LEFT JOIN dim ON true', 'FULL JOIN dim ON a = k', 'FULL JOIN dim ON a = k WHERE id IS NULL OR grp > 1', 'LEFT JOIN (SELECT k, name FROM dim JOIN twice USING (k)) z ON a = k', 'LEFT JOIN LATERAL (SELECT k, name FROM dim WHERE k = a LIMIT 1) z ON true'], expect => 'any');
-- NOT NULL columns of the other side are NULL all the same; constants and what depends on both sides
SELECT check_matrix('SELECT %s FROM fact LEFT JOIN dim ON a = k', ARRAY['count(grp), count(*) - count(name)', 'sum(CASE WHEN grp IS NULL THEN 1 ELSE 0 END)', 'count(*) FILTER (WHERE k IS NOT NULL)', 'sum(id + grp), sum(coalesce(grp, -1)), max(id - coalesce(grp, id))', 'count(grp = 1), count(grp IS NULL), bool_and(grp IS NULL)'], expect => 'any');

-- semi joins
SELECT check_matrix('SELECT count(*), sum(id), max(s) FROM fact WHERE %s', ARRAY['a IN (SELECT k FROM dim)', 'a IN (SELECT k FROM dim WHERE grp = 1)', 'a IN (SELECT k FROM twice)', 'a IN (SELECT k FROM twice WHERE v < 9 AND t = ''text 1'')', 'a IN (SELECT k FROM hollow)', 'c * 1000000007 IN (SELECT k FROM sparse)', 'EXISTS (SELECT FROM dim WHERE k = a AND grp = 1)', 'EXISTS (SELECT FROM twice WHERE k = a)',
    'EXISTS (SELECT FROM twice WHERE k = a AND v <> id)', 'EXISTS (SELECT FROM twice WHERE k = a AND v > b AND v < c)', 'EXISTS (SELECT FROM twice WHERE k = a AND v IS NULL)', 'EXISTS (SELECT FROM dim WHERE k = a AND k2 = b)', 'EXISTS (SELECT FROM dim WHERE k = a AND k2 <> b)', 'EXISTS (SELECT FROM dim WHERE k = a AND fact.c > grp)', 'EXISTS (SELECT FROM dim WHERE k2 = b AND dim.name = ''name 3'' AND k <> a)',
    '(a, b) IN (SELECT k, k2 FROM dim)', 'a = ANY (SELECT k FROM dim WHERE grp < 2)', 'EXISTS (SELECT FROM twice WHERE k = a AND (v = b OR v = c))', 'a IN (SELECT k FROM twice) AND b IN (SELECT k FROM dim) AND EXISTS (SELECT FROM dim WHERE k8 = c AND grp <> b)', 'EXISTS (SELECT FROM fact o WHERE o.a = fact.a AND o.id <> fact.id)', 'id > 100 AND a IN (SELECT k FROM dim) AND s LIKE ''%1%'''], ARRAY['', 'AND id % 3 = 0'], expect => 'forced');
-- anti joins
SELECT check_matrix('SELECT count(*), sum(id), max(s) FROM fact WHERE NOT EXISTS (SELECT FROM %s)', ARRAY['dim WHERE k = a', 'dim WHERE k = a AND grp = 1', 'twice WHERE k = a', 'twice WHERE k = a AND v <> id', 'twice WHERE k = a AND v > b', 'twice WHERE k = a AND v IS NULL', 'hollow WHERE k = a', 'sparse WHERE k = c * 1000000007', 'dim WHERE k = a AND k2 = b', 'dim WHERE k = a AND k2 <> b', 'dim WHERE k2 = b AND dim.k8 > fact.c AND k <> a',
    'fact o WHERE o.a = fact.a AND o.id <> fact.id', 'fact o WHERE o.a = fact.a AND o.n > fact.n AND o.s = ''name 1''', 'dim WHERE k = a AND fact.id > 100', 'twice WHERE k = a AND t = ''text 1'' AND (v > 10 OR b > 3)'], ARRAY['', 'AND id % 3 = 0', 'AND EXISTS (SELECT FROM twice WHERE k = b AND v < id)']);
SELECT check_matrix('SELECT count(*), sum(id), max(s), %s', ARRAY['count(name) FROM fact LEFT JOIN dim ON a = k WHERE k IS NULL', 'sum(grp), count(k2), max(dim.n) FROM fact LEFT JOIN dim ON a = k WHERE k IS NULL', '1 FROM fact LEFT JOIN twice ON a = k AND v > b WHERE k IS NULL', '1 FROM fact LEFT JOIN twice ON a = k WHERE v IS NULL', '1 FROM fact LEFT JOIN hollow ON a = k WHERE k IS NULL'], expect => 'any');
SELECT check_matrix('SELECT %s FROM fact WHERE NOT EXISTS (SELECT FROM dim WHERE k = a) GROUP BY 1', ARRAY['a, count(*)', 's, min(n)', 'b, sum(f)']);
SELECT check_matrix('SELECT count(*), sum(id) FROM fact WHERE %s', ARRAY['a NOT IN (SELECT k FROM dim)', 'a NOT IN (SELECT k FROM twice)', 'b NOT IN (SELECT k FROM hollow)', 'NOT (a IN (SELECT k FROM dim) AND b > 3)', 'a IN (SELECT k FROM dim) OR b = 3', 'EXISTS (SELECT FROM dim)', 'NOT EXISTS (SELECT FROM hollow)', 'NOT EXISTS (SELECT FROM dim WHERE k > a)'], expect => 'any');

-- several of them, in every order that is legal
SELECT check_matrix('SELECT %s', ARRAY['x.grp, y.grp, count(*), sum(fact.n) FROM fact LEFT JOIN dim x ON a = x.k LEFT JOIN dim y ON b = y.k GROUP BY 1, 2', 'count(*), sum(x.grp), count(v) FROM fact LEFT JOIN dim x ON a = x.k LEFT JOIN twice ON x.grp = twice.k', 'count(*), count(y.k), count(v) FROM fact JOIN dim x ON a = x.k LEFT JOIN dim y ON x.grp = y.k LEFT JOIN twice ON y.k2 = twice.k AND twice.v > fact.b',
    'count(*), sum(v) FROM fact LEFT JOIN dim ON a = dim.k JOIN twice ON b = twice.k', 'count(*), sum(v), sum(grp) FROM fact LEFT JOIN dim ON a = dim.k JOIN twice ON grp = twice.k', 'grp, count(*) FROM fact LEFT JOIN dim ON a = dim.k WHERE EXISTS (SELECT FROM twice WHERE twice.k = grp) GROUP BY 1', 'grp, count(*) FROM fact LEFT JOIN dim ON a = dim.k WHERE NOT EXISTS (SELECT FROM twice WHERE twice.k = grp) GROUP BY 1',
    'count(*), count(grp) FROM fact LEFT JOIN dim ON a = dim.k AND EXISTS (SELECT FROM twice WHERE twice.k = dim.k)', 'count(*), count(p.id), sum(q.id) FROM fact p LEFT JOIN fact q ON p.id = q.a', 'count(*), count(q.id), sum(r.id) FROM fact p LEFT JOIN fact q ON p.a = q.id LEFT JOIN fact r ON q.b = r.id', 'count(*), sum(p.id) FROM fact p WHERE EXISTS (SELECT FROM fact q WHERE q.a = p.a AND q.b <> p.b) AND NOT EXISTS (SELECT FROM fact r WHERE r.a = p.a AND r.b <> p.b AND r.c > p.c)',
    'count(*), sum(grp), count(v) FROM twice RIGHT JOIN fact ON a = twice.k LEFT JOIN dim ON v = dim.k', 'count(*), sum(z.v) FROM (SELECT id, v FROM fact LEFT JOIN twice ON a = k) z LEFT JOIN dim ON z.v = dim.k WHERE z.v IS NULL OR dim.k IS NOT NULL',
    'count(*), count(d2.k) FROM fact LEFT JOIN (SELECT k, grp + 0 AS g FROM dim WHERE grp > 0) d2 ON a = d2.k', 'count(*), sum(z.one) FROM fact LEFT JOIN (SELECT k, 1 AS one FROM dim) z ON a = z.k', 'z.c, count(*) FROM fact LEFT JOIN (SELECT k, coalesce(grp, 5) AS c FROM dim) z ON a = z.k GROUP BY 1'], expect => 'any');
BEGIN;
SET LOCAL join_collapse_limit = 1;
SELECT check_matrix('SELECT count(*), sum(v), sum(grp), count(fact.id) FROM %s', ARRAY['twice LEFT JOIN fact ON a = twice.k LEFT JOIN dim ON a = dim.k', 'twice RIGHT JOIN fact ON a = twice.k LEFT JOIN dim ON a = dim.k', 'fact LEFT JOIN (twice JOIN dim ON twice.k = dim.k) ON a = dim.k', 'fact LEFT JOIN (twice LEFT JOIN dim ON twice.k = dim.k) ON a = twice.k', '(fact LEFT JOIN twice ON a = twice.k) LEFT JOIN dim ON twice.k = dim.k', 'dim JOIN fact ON a = dim.k LEFT JOIN twice ON dim.k = twice.k'], expect => 'any');
SET LOCAL enable_hashjoin = off;
SELECT check_query('SELECT grp, count(*), sum(fact.n) FROM fact LEFT JOIN dim ON a = k GROUP BY grp');
SET LOCAL enable_mergejoin = off;
SELECT check_query('SELECT grp, count(*), sum(fact.n) FROM fact LEFT JOIN dim ON a = k WHERE NOT EXISTS (SELECT FROM twice WHERE twice.k = a AND v > id) GROUP BY grp');
COMMIT;
BEGIN;
SET LOCAL geqo_threshold = 3;
SELECT check_query('SELECT x.grp, count(*), sum(fact.n) FROM fact JOIN dim x ON a = x.k LEFT JOIN dim y ON b = y.k LEFT JOIN dim z ON c = z.k8 AND z.grp <> b LEFT JOIN twice ON y.k = twice.k WHERE EXISTS (SELECT FROM twice t WHERE t.k = a) GROUP BY x.grp', 'any');
COMMIT;

-- rows
SELECT check_matrix('SELECT %s', ARRAY['* FROM fact LEFT JOIN dim ON a = k', 'id, name, dim.n FROM fact LEFT JOIN dim ON a = k AND grp = 1', 'id, t, v FROM fact LEFT JOIN twice ON a = k WHERE id < 700', 'w, t, id FROM fact LEFT JOIN sparse ON c * 1000000007 = sparse.k LEFT JOIN hollow ON hollow.k = a', 'id, s, n FROM fact WHERE a IN (SELECT k FROM twice)', 'id, s, f FROM fact WHERE NOT EXISTS (SELECT FROM twice WHERE k = a AND v > b)', 'coalesce(name, s), id FROM fact LEFT JOIN dim ON a = k']);
SELECT check_matrix('SELECT * FROM (%s) q ORDER BY q::text COLLATE "C" LIMIT 7', ARRAY['SELECT id, name FROM fact LEFT JOIN dim ON a = k', 'SELECT DISTINCT t FROM fact LEFT JOIN twice ON a = k', 'SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) FROM fact LEFT JOIN dim ON a = k'], expect => 'any');
SELECT count(*) FROM (SELECT id FROM fact LEFT JOIN dim ON a = k LIMIT 10) q;

-- the other side is a plan of PostgreSQL's
SELECT check_matrix('SELECT count(*), sum(id), count(q.v), sum(q.v) FROM fact LEFT JOIN %s ON a = q.k', ARRAY['(VALUES (1, 10), (2, 20), (2, 30), (NULL, 40)) q(k, v)', '(SELECT grp AS k, count(*) AS v FROM dim GROUP BY grp) q', '(SELECT DISTINCT k, v % 3 AS v FROM twice) q', '(SELECT k, v FROM twice UNION ALL SELECT k, grp FROM dim) q'], ARRAY['', 'WHERE q.v IS NULL'], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM fact WHERE a %s', ARRAY['IN (SELECT grp FROM dim GROUP BY grp HAVING count(*) > 2)', 'IN (VALUES (1), (2), (NULL), (2))', 'IN (SELECT k FROM twice UNION SELECT grp FROM dim)', 'IN (SELECT generate_series(1, 20))'], expect => 'any');

-- errors: met where PostgreSQL meets them, and not where it does not look
SELECT check_matrix('SELECT count(*), sum(id) FROM fact LEFT JOIN dim ON a = k AND %s', ARRAY['100 / (grp - 1) > 0', '100 / (grp + 1) > b', 'grp = 1 AND 100 / grp > b'], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(100 / grp) FROM fact LEFT JOIN dim ON a = k %s', ARRAY['', 'AND grp > 0', 'WHERE grp > 0', 'WHERE grp IS NULL'], expect => 'any');
SELECT check_matrix('SELECT count(*) FROM fact WHERE %s', ARRAY['EXISTS (SELECT FROM twice WHERE k = a AND 100 / (v - id) > 0)', 'NOT EXISTS (SELECT FROM twice WHERE k = a AND 100 / (v - 1) > b)', 'EXISTS (SELECT FROM dim WHERE k = a AND 10 / grp > 3)'], expect => 'any');

-- parameters, and the same table kept for different joins
SELECT check_prepared('device', 'SELECT grp, count(*), sum(fact.n) FROM fact LEFT JOIN dim ON a = k AND grp >= $1 AND id > $2 WHERE NOT EXISTS (SELECT FROM twice WHERE twice.k = a AND v > $2) GROUP BY grp', '(int, int)', '(0, 10)', '(1, 3000)', '(2, 5)');
SELECT check_matrix('SELECT count(*), sum(id) FROM fact %s', ARRAY['JOIN twice ON k = a', 'LEFT JOIN twice ON k = a', 'WHERE EXISTS (SELECT FROM twice WHERE k = a)', 'WHERE NOT EXISTS (SELECT FROM twice WHERE k = a)', 'JOIN twice ON k = a', 'WHERE EXISTS (SELECT FROM twice WHERE k = a)']);

SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT grp, count(*) FROM fact LEFT JOIN dim ON a = k AND id > grp WHERE coalesce(grp, 1) = 1 AND EXISTS (SELECT FROM twice WHERE twice.k = b AND v <> id) GROUP BY grp;
