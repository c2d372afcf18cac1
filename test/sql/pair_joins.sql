-- Joins without an equality, where every row is looked at with every row of the table; floats as keys; and sides that
-- depend on the row, which no device can build a table of.
CREATE SCHEMA pair_joins;
SET search_path = pair_joins, public;
CREATE TABLE fact (id int NOT NULL, a int, b int2, s text, n numeric(8,2), f float8, r real, d date, w numeric(30,3));
INSERT INTO fact SELECT i, nullif(i % 60, 13), nullif(i % 9, 4), 'name ' || i % 12, i / 4.0, CASE i % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN 0 WHEN 3 THEN 'Infinity' WHEN 4 THEN NULL ELSE i % 7 / 4.0 END, CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE i % 11 / 8.0 END, date '2020-01-01' + i % 40, (i % 50) * 12345678901234567890.5 FROM generate_series(1, 1500) i;
CREATE TABLE band (lo int, hi int NOT NULL, name text, from_d date, till_d date);
INSERT INTO band SELECT nullif(i * 5, 15), i * 5 + 7, 'band ' || i % 4, date '2020-01-01' + i * 3, date '2020-01-05' + i * 3 FROM generate_series(0, 11) i;
CREATE TABLE floats (f float8, r real, w numeric(30,3), v int);
INSERT INTO floats VALUES ('NaN', 'NaN', 12345678901234567890.5, 1), ('-0', 0, 24691357802469135781, 2), (0, '-0', NULL, 3), ('Infinity', 1.25, 0, 4), (NULL, NULL, 37037036703703703671.5, 5), (0.25, 0.25, 1, 6), (0.25, 0.5, 2, 7), ('-Infinity', 'NaN', 3, 8);
CREATE TABLE one (v int);
INSERT INTO one VALUES (30);
CREATE TABLE hollow (k int, v int NOT NULL, t text);
ANALYZE;

SELECT check_matrix('SELECT count(*), sum(id), count(hi), sum(hi), max(name) FROM fact %s JOIN band ON %s', ARRAY['', 'LEFT', 'RIGHT'], ARRAY['a BETWEEN lo AND hi', 'a < lo', 'a <> hi', 'id > hi * 30', 'a >= lo AND a < hi AND b > 3', 'd BETWEEN from_d AND till_d', 'fact.s = ''name 3'' OR a = hi', 'lo IS NULL', 'b = 3', 'a = hi OR b = lo', 'a BETWEEN lo AND hi AND hi > 30']);
SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(id), sum(hi) FROM fact CROSS JOIN band', 'count(*) FROM fact, band', 'name, count(*), sum(n) FROM fact, band GROUP BY name', 'count(*), sum(v) FROM fact, one', 'count(*), sum(id) FROM fact, one WHERE a > v', 'count(*), sum(id), count(v) FROM fact LEFT JOIN one ON a > v', 'count(*) FROM fact LEFT JOIN hollow ON true', 'count(*), count(k) FROM fact LEFT JOIN hollow ON a < k', 'count(*) FROM fact CROSS JOIN hollow', 'count(*), count(x.lo), count(y.lo) FROM band x FULL JOIN band y ON true',
    'name, count(*), sum(n), max(s) FROM fact JOIN band ON a BETWEEN lo AND hi GROUP BY name', 'x.name, y.name, count(*) FROM fact JOIN band x ON a BETWEEN x.lo AND x.hi JOIN band y ON b + 10 BETWEEN y.lo AND y.hi GROUP BY 1, 2', 'id, name FROM fact JOIN band ON a BETWEEN lo AND hi AND id < 300', 'id, lo, hi FROM fact LEFT JOIN band ON a > hi + 40', 'count(*), sum(x.id) FROM fact x, fact y WHERE x.id < y.id - 1400'], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id), max(s) FROM fact WHERE %s (SELECT FROM band WHERE %s)', ARRAY['EXISTS', 'NOT EXISTS'], ARRAY['a BETWEEN lo AND hi', 'a < lo', 'd > till_d AND b = 3', 'id < hi', 'a <> hi', 'a = lo OR b = hi']);
SELECT check_matrix('SELECT count(*), sum(id) FROM fact LEFT JOIN (band JOIN floats ON lo < v * 10) ON %s', ARRAY['a BETWEEN lo AND hi', 'a = v', 'a = v AND b < lo', 'fact.f = floats.f']);
SELECT check_matrix('SELECT count(*), sum(100 / %s) FROM fact JOIN band ON a > lo', ARRAY['(lo - a)', '(hi - 7)', 'hi'], expect => 'any');
SELECT check_prepared('device', 'SELECT name, count(*), sum(id) FROM fact JOIN band ON a BETWEEN lo + $1 AND hi WHERE id > $2 GROUP BY name', '(int, int)', '(0, 10)', '(2, 1000)', '(900, 5)');

-- floats and wide numerics as keys
SELECT check_matrix('SELECT count(*), sum(id), sum(v), count(v) FROM fact %s JOIN floats ON %s', ARRAY['', 'LEFT', 'RIGHT', 'FULL'], ARRAY['fact.f = floats.f', 'fact.r = floats.r', 'fact.f = floats.r', 'fact.r = floats.f', 'fact.f = floats.f AND a = v', 'fact.w = floats.w', 'fact.f = floats.f AND fact.r = floats.r']);
SELECT check_matrix('SELECT count(*), sum(id) FROM fact WHERE %s', ARRAY['f IN (SELECT f FROM floats)', 'EXISTS (SELECT FROM floats x WHERE x.f = fact.r)', 'NOT EXISTS (SELECT FROM floats x WHERE x.r = fact.f)', 'w IN (SELECT w FROM floats)']);
SELECT check_query('SELECT v, count(*), sum(id) FROM fact JOIN floats USING (f) GROUP BY v');

-- sides that depend on the row are PostgreSQL's
SELECT check_matrix('SELECT count(*), sum(q.z) FROM fact, LATERAL (%s) q', ARRAY['SELECT fact.a + v AS z FROM one', 'SELECT lo AS z FROM band WHERE lo > fact.a ORDER BY hi LIMIT 1', 'SELECT max(hi) AS z FROM band WHERE lo < fact.a', 'SELECT generate_series(1, b) AS z'], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(q.z) FROM fact LEFT JOIN LATERAL (%s) q ON true', ARRAY['SELECT lo + fact.b AS z FROM band WHERE lo = fact.a', 'SELECT lo AS z FROM band WHERE lo > fact.a ORDER BY hi LIMIT 1', 'SELECT count(*) AS z FROM band WHERE lo < fact.a'], expect => 'any');

SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT name, count(*) FROM fact LEFT JOIN band ON a BETWEEN lo AND hi GROUP BY name;
EXPLAIN (COSTS OFF) SELECT name, count(*) FROM fact, band GROUP BY name;
