-- Joins whose rows ask for partners between bounds: lo <= x AND x < hi, of all entries or of those with one key, in every kind of join.
CREATE SCHEMA interval_joins;
SET search_path = interval_joins, public;
SET client_min_messages = warning;
-- overlapping, nested, empty and upside-down ones, twice the same, NULL at either end, the ends of the types
CREATE TABLE span (k int, lo int, hi int, small int2, big int8, n numeric(9,2), f float8, d date, till date, at timestamp, zone timestamptz, name text);
INSERT INTO span SELECT i % 7, nullif(i * 37 % 1000, 111), nullif(i * 37 % 1000 + (i * 13 % 40) - 5, 200), i % 100, i * 1000000000::int8, i * 37 % 1000 + 0.5, i * 37 % 1000, date '2024-01-01' + i % 300, date '2024-01-01' + i % 300 + i % 9,
    timestamp '2024-01-01' + i * interval '1 hour', timestamptz '2024-01-01 00:00+00' + i * interval '1 hour', 'span ' || i % 5 FROM generate_series(1, 800) i;
INSERT INTO span VALUES (1, -2147483648, 2147483647, -32768, -9223372036854775808, -9999999.99, '-Infinity', '-infinity', 'infinity', '-infinity', '-infinity', 'all'), (NULL, 0, 1000, 0, 0, 0, 0, '2024-03-01', '2024-03-01', '2024-03-01', '2024-03-01', NULL),
    (2, 2147483647, 2147483647, 32767, 9223372036854775807, 9999999.99, 'NaN', 'infinity', 'infinity', 'infinity', 'infinity', 'last'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE point (id int, k int, x int, y int8, n numeric(9,2), d date, at timestamp, zone timestamptz);
INSERT INTO point SELECT i, nullif(i % 9, 4), nullif(i * 53 % 1100 - 50, 77), (i * 53 % 1100)::int8 * 1000000000, (i * 53 % 1100) / 4.0, date '2024-01-01' + i % 320, timestamp '2024-01-01' + i * interval '17 minutes', timestamptz '2024-01-01 00:00+00' + i * interval '17 minutes' FROM generate_series(1, 700) i;
INSERT INTO point VALUES (2001, 1, 2147483647, 9223372036854775807, 9999999.99, 'infinity', 'infinity', 'infinity'), (2002, 2, -2147483648, -9223372036854775808, -9999999.99, '-infinity', '-infinity', '-infinity'), (2003, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE hollow (LIKE span);
VACUUM (FREEZE, ANALYZE) span, point, hollow;

-- bounds of one side and of both, of every type, strict and not, in either spelling, over expressions of the table, with further conditions
SELECT check_matrix('SELECT count(*), sum(id), count(name), sum(mod(big, 1000)), max(name) FROM point %s JOIN span ON %s', ARRAY['', 'LEFT', 'RIGHT'], ARRAY['x BETWEEN lo AND hi', 'x >= lo AND x < hi', 'x > lo AND hi > x', 'x > lo + 900', 'hi < x - 1000', 'x BETWEEN lo AND lo + 3', 'x <= lo AND x >= hi', 'y BETWEEN big AND big + 2000000000', 'point.n BETWEEN span.n AND hi', 'point.n >= span.n AND point.n < span.n + 2',
    'point.d BETWEEN span.d AND till', 'point.d >= span.d AND point.d < span.d + 2', 'point.at >= span.at AND point.at < span.at + interval ''1 hour''', 'point.at BETWEEN span.d AND till', 'point.zone >= span.zone AND point.zone < span.zone + interval ''40 minutes''', 'x BETWEEN f AND hi', 'x BETWEEN small AND small', 'x >= lo AND x < hi AND name <> ''span 3''', 'name < ''span 2'' AND x BETWEEN lo AND hi', 'x BETWEEN lo AND hi OR lo IS NULL AND id < 5', 'x + id BETWEEN lo AND hi', 'x BETWEEN id AND hi', '500 BETWEEN lo AND hi AND id = 7'], expect => 'any');
-- ... of the entries with one key
SELECT check_matrix('SELECT count(*), sum(id), count(name), sum(mod(big, 1000)), max(name) FROM point %s JOIN span ON point.k = span.k AND %s', ARRAY['', 'LEFT', 'RIGHT', 'FULL'], ARRAY['x BETWEEN lo AND hi', 'x > lo AND x < hi', 'x < hi', 'lo < x', 'point.d BETWEEN span.d AND till', 'point.at >= span.at AND point.at < span.at + interval ''1 day''', 'point.n > span.n AND name = ''span 1''', 'x BETWEEN lo AND hi AND point.d < till'], expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM point WHERE %s (SELECT FROM span WHERE %s)', ARRAY['EXISTS', 'NOT EXISTS'], ARRAY['x BETWEEN lo AND hi', 'x > lo AND x < hi AND name = ''span 1''', 'span.k = point.k AND x BETWEEN lo AND hi', 'x > hi', 'span.k = point.k AND point.d >= span.d AND point.d < till'], expect => 'any');
-- intervals that overlap, chains of joins, one side empty, rows delivered, groups
SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(a.k) FROM span a JOIN span b ON a.lo <= b.hi AND a.hi >= b.lo AND a.k = b.k', 'count(*) FROM span a, span b WHERE a.lo < b.hi AND a.hi > b.lo AND a.big < b.big', 'count(*), count(lo) FROM point LEFT JOIN hollow ON x BETWEEN lo AND hi', 'count(*) FROM hollow JOIN span ON hollow.lo BETWEEN span.lo AND span.hi',
    'span.name, count(*), min(x) FROM point JOIN span ON x BETWEEN lo AND hi GROUP BY 1', 'id, lo, hi, name FROM point JOIN span ON x BETWEEN lo AND hi AND id < 40', 'count(*), sum(a.id) FROM point a JOIN span ON a.x BETWEEN lo AND hi JOIN point b ON b.d >= span.d AND b.d < till AND b.id < 50', 'count(*), sum(id) FROM point p LEFT JOIN span s ON p.k = s.k AND p.x BETWEEN s.lo AND s.hi LEFT JOIN span t ON t.lo <= s.hi AND t.hi >= s.lo AND t.k = p.k AND t.small < 9'], expect => 'any');
-- errors are those of the pairs that PostgreSQL looks at
SELECT check_matrix('SELECT count(*) FROM point JOIN span ON %s', ARRAY['x BETWEEN lo AND hi AND 1 / (span.k - 3) >= 0', '1 / (span.k - 3) >= 0 AND x BETWEEN lo AND hi', 'x BETWEEN 5000 AND hi AND 1 / (span.k - 3) > x', 'x BETWEEN lo AND 100 / small', 'x BETWEEN lo AND hi + 1', 'x BETWEEN lo AND hi - 1', 'x >= lo AND x < hi AND 100 / (id - 7) > 0', 'x >= lo AND x < hi AND 100 / (id + 7) > 0', '100 / (id - 7) > x AND x < lo'], expect => 'any');
-- ... also of a row's value, which is an error for some rows, before or behind another condition
SELECT check_matrix('SELECT count(*), sum(id), count(name) FROM point %s JOIN span ON %s', ARRAY['', 'LEFT'], ARRAY['x + 1 BETWEEN lo AND hi', 'x + 1 BETWEEN lo AND hi AND id < 2000', 'id < 2000 AND x + 1 BETWEEN lo AND hi', 'lo > 5000 AND lo <= x + 1 AND hi < x', 'x >= lo AND hi < 1000 / (id - 7)', 'lo > 2000000000 AND hi < 1000 / (id - 7)', 'x > lo AND lo < 1000 / (id - 7) AND hi > x', 'lo < 100 / (span.k - 9) AND lo < x AND lo < 1000 / span.k AND hi > x'], expect => 'any');
SELECT check_matrix('SELECT count(*), count(span.k), sum(id) FROM span %s JOIN point ON %s', ARRAY['', 'LEFT'], ARRAY['point.at >= span.at AND point.at < span.at + interval ''1 hour''', 'point.zone >= span.zone AND point.zone < span.zone + interval ''40 minutes''', 'point.d >= span.d AND point.d < span.d + small', 'point.k = span.k AND x > lo AND x < hi + 1'], expect => 'any');
-- days of a time zone, which has clock changes: on either side, kept tables included
SET TimeZone = 'Europe/Berlin';
CREATE TABLE calendar AS SELECT day, day::date AS label FROM generate_series(timestamptz '2023-12-30', '2024-04-10', '1 day') day;
VACUUM (FREEZE, ANALYZE) calendar;
SELECT check_matrix('SELECT label, count(*), count(id), sum(x) FROM %s GROUP BY 1', ARRAY['calendar LEFT JOIN point ON zone >= day AND zone < day + interval ''1 day''', 'point JOIN calendar ON zone >= day AND zone < day + interval ''1 day''', 'point JOIN calendar ON zone >= day AND zone < day + interval ''1 month''', 'point JOIN calendar ON zone BETWEEN label AND label + interval ''20 hours''', 'calendar LEFT JOIN point ON zone >= day - interval ''1 week'' AND zone < day'], expect => 'any');
SET TimeZone = 'America/New_York';
SELECT check_query('SELECT label, count(*), count(id), sum(x) FROM point JOIN calendar ON zone >= day AND zone < day + interval ''1 day'' GROUP BY 1') FROM generate_series(1, 2);
SET TimeZone = 'Asia/Tokyo';
SELECT check_query('SELECT label, count(*), count(id), sum(x) FROM point JOIN calendar ON zone >= day AND zone < day + interval ''1 day'' GROUP BY 1') FROM generate_series(1, 2);
RESET TimeZone;
SELECT check_query('SELECT day, count(id), sum(x) FROM generate_series(timestamptz ''2024-01-01 00:00+00'', ''2024-02-01 00:00+00'', ''1 day'') day LEFT JOIN point ON zone >= day AND zone < day + interval ''1 day'' GROUP BY 1');
SELECT check_prepared('device', 'SELECT name, count(*), sum(id) FROM point JOIN span ON x BETWEEN small + $1 AND hi WHERE id > $2 GROUP BY name', '(int, int)', '(0, 10)', '(2, 1000)', '(900, 5)');
-- a kept table serves only who asks for the same bounds
SELECT check_query('SELECT count(*), sum(id) FROM point JOIN span ON x BETWEEN lo AND hi') FROM generate_series(1, 3);
SELECT check_query('SELECT count(*), sum(id) FROM point JOIN span ON x BETWEEN hi AND lo') FROM generate_series(1, 3);
SELECT check_query('SELECT count(*), sum(id) FROM point JOIN span ON x > hi AND y > lo') FROM generate_series(1, 3);
SELECT check_query('SELECT count(*), sum(id + hi - lo) FROM point, span WHERE id < 3') FROM generate_series(1, 3);
