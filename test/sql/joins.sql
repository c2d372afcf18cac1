-- Inner equi-joins: duplicates on both sides, several columns, expressions and types as keys, self joins, many joins,
-- extra conditions, empty sides, and build sides that come from any plan.
CREATE SCHEMA joins;
SET search_path = joins, public;
CREATE TABLE fact (id int, a int, b int2, c int8, s text, n numeric(8,2), d date);
INSERT INTO fact SELECT i, i % 50, nullif(i % 9, 4), nullif(i % 30, 7), 'name ' || i % 12, i / 4.0, date '2020-01-01' + i % 40 FROM generate_series(1, 3000) i;
CREATE TABLE dim (k int PRIMARY KEY, k2 int2, k8 int8, name text, grp int, d date);
INSERT INTO dim SELECT i, i % 9, i, 'name ' || i % 12, i % 3, date '2020-01-01' + i FROM generate_series(0, 44) i;
CREATE TABLE twice (k int, v int);
INSERT INTO twice SELECT nullif(i % 20, 11), i FROM generate_series(1, 70) i;
CREATE TABLE sparse (k int8, v int);
INSERT INTO sparse SELECT i * 1000000007::int8, i FROM generate_series(-20, 20) i;
CREATE TABLE hollow (k int, v int);
CREATE TABLE tiny (k int, v int);
INSERT INTO tiny VALUES (2147483647, 1), (-2147483648, 2), (0, 3), (NULL, 4), (0, 5);
ANALYZE;
VACUUM (FREEZE) fact;
VACUUM (FREEZE) dim;

-- one join, unique and duplicate keys
SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(id), sum(grp) FROM fact JOIN dim ON a = k', 'grp, count(*), sum(n), min(name), max(s) FROM fact JOIN dim ON a = k GROUP BY grp', 'name, grp, count(*), sum(c) FROM fact JOIN dim ON a = k GROUP BY name, grp',
    'count(*), sum(id), sum(v) FROM fact JOIN twice ON a = k', 'v, count(*), sum(n) FROM fact JOIN twice ON a = k GROUP BY v', 'count(*), sum(x.v), sum(y.v) FROM twice x JOIN twice y ON x.k = y.k',
    'x.k, count(*), sum(y.v) FROM twice x JOIN twice y USING (k) GROUP BY x.k', 'count(*), sum(x.v) FROM tiny x JOIN tiny y ON x.k = y.k', 'count(*), sum(x.v * y.v) FROM tiny x JOIN twice y ON x.k = y.k']);
-- filters on either side, and one that needs both
SELECT check_matrix('SELECT count(*), sum(id), sum(n), max(name) FROM fact JOIN dim ON a = k %s', ARRAY['WHERE id < 500', 'WHERE grp = 1', 'WHERE name LIKE ''%1%''', 'WHERE id % 2 = 0 AND grp > 0', 'WHERE fact.id > dim.grp * 1000', 'WHERE s = ''name 3'' AND name = ''name 3''', 'AND b > grp', 'WHERE b > grp OR grp = 2',
    'WHERE grp = 99', 'WHERE id < 0', 'WHERE fact.d > dim.d', 'WHERE n > k8']);
-- several columns, types of different width
SELECT check_matrix('SELECT count(*), sum(id) FROM fact JOIN dim ON %s', ARRAY['a = k AND b = k2', 'a = k AND c = k8', 'b = k', 'c = k', 'a = k8', 'b = k8', 'c = k2', 'fact.d = dim.d', 'a = k AND fact.d = dim.d', 'b = k2 AND c = k8 AND a = k']);
SELECT check_matrix('SELECT count(*), sum(id) FROM fact JOIN dim ON %s', ARRAY['a + 1 = k', 'a = k - 1', 'a * 2 = k + 1 AND b = k2', 's = name', 's = name AND a = k', 'n = k', 'a::int8 = k8', 'a = k AND a = k2', 'a = k OR b = k2', 'a < k', 'a = 3', 'upper(s) = name', 'true'], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(v) FROM fact JOIN sparse ON %s', ARRAY['c = k', 'c * 1000000007 = k', 'a * 1000000007::int8 = k'], expect => 'any');

-- many joins, self joins, all orders
SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(x.grp), sum(y.grp) FROM fact JOIN dim x ON a = x.k JOIN dim y ON b = y.k', 'x.grp, y.grp, count(*), sum(n) FROM fact JOIN dim x ON a = x.k JOIN dim y ON c = y.k8 WHERE x.name <> ''name 1'' GROUP BY 1, 2',
    'count(*), sum(v) FROM fact JOIN dim ON a = dim.k JOIN twice ON a = twice.k', 'count(*), sum(v), sum(grp) FROM fact JOIN dim ON a = dim.k JOIN twice ON dim.grp = twice.k', 'grp, count(*) FROM fact JOIN twice ON b = twice.k JOIN dim ON twice.v = dim.k GROUP BY grp',
    'count(*) FROM fact p JOIN fact q ON p.id = q.a', 'count(*), sum(q.n) FROM fact p JOIN fact q ON p.a = q.id JOIN fact r ON q.b = r.id',
    'count(*), sum(x.k) FROM fact, dim x, dim y, dim z WHERE a = x.k AND b = y.k AND c = z.k8 AND x.grp = 1', 'x.grp, y.grp, z.grp, w.name, count(*) FROM fact, dim x, dim y, dim z, dim w WHERE a = x.k AND b = y.k AND c = z.k8 AND a = w.k AND w.grp < 2 AND z.name > ''name 2'' GROUP BY 1, 2, 3, 4']);
-- ten tables: a star, and a chain whose largest table stands in the middle
SELECT check_matrix('SELECT %s', ARRAY['d1.grp, count(*), sum(id), sum(d9.k) FROM fact, dim d1, dim d2, dim d3, dim d4, dim d5, dim d6, dim d7, dim d8, dim d9 WHERE a = d1.k AND a = d2.k AND a = d3.k AND a = d4.k AND b = d5.k AND b = d6.k AND c = d7.k8 AND c = d8.k8 AND b = d9.k AND d2.grp < 2 GROUP BY 1',
    'count(*), sum(fact.id), min(d1.name), max(d9.d) FROM dim d1, dim d2, dim d3, dim d4, dim d5, fact, dim d6, dim d7, dim d8, dim d9 WHERE d1.k = d2.k2 AND d2.k = d3.k2 AND d3.k = d4.k2 AND d4.k = d5.k2 AND d5.k = a AND b = d6.k AND d6.k2 = d7.k AND d7.k2 = d8.k AND d8.grp = d9.k']);
BEGIN;
SET LOCAL join_collapse_limit = 1;
SELECT check_matrix('SELECT count(*), sum(v), sum(grp) FROM %s', ARRAY['twice JOIN fact ON a = twice.k JOIN dim ON a = dim.k', 'dim JOIN twice ON dim.k = twice.k JOIN fact ON a = dim.k', 'dim JOIN fact ON a = dim.k JOIN twice ON a = twice.k', '(twice JOIN dim ON twice.k = dim.k) JOIN fact ON a = dim.k'], expect => 'any');
SET LOCAL enable_hashjoin = off;
SELECT check_query('SELECT grp, count(*), sum(n) FROM fact JOIN dim ON a = k GROUP BY grp');
SET LOCAL enable_mergejoin = off;
SELECT check_query('SELECT grp, count(*), sum(n) FROM fact JOIN dim ON a = k GROUP BY grp');
COMMIT;
BEGIN;
SET LOCAL geqo_threshold = 3;
SELECT check_query('SELECT x.grp, count(*), sum(n) FROM fact JOIN dim x ON a = x.k JOIN dim y ON b = y.k JOIN dim z ON c = z.k8 JOIN twice ON a = twice.k GROUP BY x.grp', 'any');
COMMIT;

-- empty sides
SELECT check_matrix('SELECT count(*), sum(fact.id), max(s) FROM %s', ARRAY['fact JOIN hollow ON a = k', 'hollow JOIN fact ON a = k', 'fact JOIN dim ON a = dim.k JOIN hollow ON b = hollow.k', 'hollow JOIN hollow h ON hollow.k = h.k JOIN fact ON a = h.k']);
SELECT check_matrix('SELECT s, count(*) FROM %s GROUP BY s', ARRAY['fact JOIN hollow ON a = k', 'fact JOIN dim ON a = k AND grp = 77']);

-- build sides that are not relations: their rows come from PostgreSQL
SELECT check_matrix('SELECT count(*), sum(id), sum(q.v) FROM fact JOIN %s ON a = q.k', ARRAY['(VALUES (1, 10), (2, 20), (2, 30), (NULL, 40)) q(k, v)', '(SELECT grp AS k, count(*) AS v FROM dim GROUP BY grp) q', '(SELECT DISTINCT k, v % 3 AS v FROM twice) q', '(SELECT k, v FROM twice ORDER BY v LIMIT 20) q',
    '(SELECT k, v FROM twice UNION ALL SELECT k, grp FROM dim) q', '(SELECT k, row_number() OVER (ORDER BY k) AS v FROM dim) q', '(SELECT generate_series(1, 20) AS k, 5 AS v) q', '(SELECT g AS k, g * 2 AS v FROM generate_series(1, 20) g) q', '(SELECT dim.k, v FROM dim LEFT JOIN twice USING (k)) q', 'unnest(ARRAY[1, 2, 3], ARRAY[7, NULL, 9]) q(k, v)'], expect => 'any');
SELECT check_query('WITH q AS MATERIALIZED (SELECT k, sum(v) AS v FROM twice GROUP BY k) SELECT count(*), sum(q.v) FROM fact JOIN q ON a = q.k', 'any');
SELECT check_query('WITH q AS (SELECT k, name FROM dim WHERE grp = 1) SELECT name, count(*), sum(id) FROM fact JOIN q ON a = q.k GROUP BY name');
SELECT check_query('WITH RECURSIVE q(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM q WHERE k < 10) SELECT count(*), sum(id) FROM fact JOIN q ON a = q.k', 'any');
CREATE VIEW v AS SELECT f.id, f.n, d.name, d.grp FROM fact f JOIN dim d ON f.a = d.k;
SELECT check_query('SELECT name, sum(n) FROM v WHERE grp = 2 GROUP BY name');

-- other joins stay with PostgreSQL for now
SELECT check_matrix('SELECT count(*), sum(id) FROM fact %s', ARRAY['LEFT JOIN dim ON a = k', 'RIGHT JOIN dim ON a = k', 'FULL JOIN dim ON a = k', 'CROSS JOIN tiny', 'LEFT JOIN dim ON a = k JOIN twice ON a = twice.k']::text[], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM fact WHERE %s', ARRAY['a IN (SELECT k FROM dim WHERE grp = 1)', 'a NOT IN (SELECT k FROM dim WHERE grp = 1)', 'EXISTS (SELECT FROM dim WHERE k = a AND grp = 1)', 'NOT EXISTS (SELECT FROM dim WHERE k = a)', 'a = (SELECT min(k) FROM dim WHERE grp = 1)', 'n > (SELECT avg(n) FROM fact)', 'a IN (SELECT k FROM twice)'], expect => 'any');
