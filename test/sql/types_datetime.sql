-- date, timestamp, timestamptz: infinities, BC, the ends of the range, comparisons between the types, arithmetic.
CREATE SCHEMA types_datetime;
SET search_path = types_datetime, public;
CREATE TABLE t (id int, g int, d date, ts timestamp, tz timestamptz);
INSERT INTO t
    SELECT i, i % 4, date '2020-02-20' + nullif(i % 120, 8), timestamp '1999-12-31 23:00' + nullif(i % 90, 7) * interval '1 hour 1 second',
           timestamptz '2021-03-28 00:00+00' + nullif(i % 60, 6) * interval '10 minutes'
    FROM generate_series(1, 1100) i;
CREATE TABLE edge (id int, d date, ts timestamp, tz timestamptz);
INSERT INTO edge VALUES (1, 'infinity', 'infinity', 'infinity'), (2, '-infinity', '-infinity', '-infinity'), (3, '4714-11-24 BC', '4714-11-24 BC', '4714-11-24 00:00+00 BC'),
    (4, '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00'), (5, '0044-03-15 BC', '0044-03-15 12:00 BC', '0044-03-15 12:00+00 BC'),
    (6, NULL, NULL, NULL), (7, '2000-01-01', '2000-01-01', '2000-01-01 00:00+00'), (8, '1999-12-31', '1999-12-31 23:59:59.999999', '1999-12-31 23:59:59.999999+00'), (9, '0001-01-01', '0001-01-01', '0001-01-01 00:00+00');
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) edge;

SELECT check_matrix('SELECT count(%1$s), min(%1$s), max(%1$s) FROM %2$s', '{d,ts,tz}', '{t,edge,"t WHERE id > 5000","edge WHERE id IN (2, 5)"}');
SELECT check_matrix('SELECT %1$s, count(*), sum(id), min(%2$s), max(%2$s) FROM t GROUP BY %1$s', '{d,ts,tz,"d, tz"}', '{d,ts,tz}');
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM edge GROUP BY %1$s', '{d,ts,tz}');
SELECT check_matrix('SELECT count(*), sum(id) FROM %2$s WHERE %1$s', ARRAY(
    SELECT format('%s %s %s', c[1], op, c[2]) FROM unnest('{=,<>,<,<=,>,>=}'::text[]) op,
           (VALUES ('{d,d}'::text[]), (ARRAY['d', 'date ''2020-03-01''']), (ARRAY['d', 'date ''infinity''']), (ARRAY['d', 'date ''0044-03-15 BC''']),
                   (ARRAY['ts', 'ts']), (ARRAY['ts', 'timestamp ''2000-01-01''']), (ARRAY['ts', 'timestamp ''-infinity''']),
                   (ARRAY['tz', 'tz']), (ARRAY['tz', 'timestamptz ''2021-03-28 03:00 Europe/Berlin'''])) v(c)), '{t,edge}');
-- between the types, and what depends on the session's time zone
SELECT check_matrix('SELECT count(*), sum(id) FROM %2$s WHERE %1$s', ARRAY['d < ts', 'd = ts', 'ts >= d', 'd < tz', 'ts < tz', 'tz = d', 'd < timestamp ''2020-03-01 12:00''',
    'ts > date ''2000-01-01''', 'tz > date ''2021-03-28''', 'tz::date = ''2021-03-28''', 'ts::date = ''2000-01-01''', 'd < now()', 'tz < current_timestamp', 'd = current_date - 5'], '{t,edge}', 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['d + 7 > ''2020-03-01''', 'd - 7 < ''2020-03-01''', 'd - date ''2020-03-01'' = 5', 'ts + interval ''1 day'' > ''2000-01-02''',
    'ts - ts = interval ''0''', 'extract(year from d) = 2020', 'extract(month from d) = 3', 'date_trunc(''day'', ts) = ''2000-01-01''', 'd BETWEEN ''2020-03-01'' AND ''2020-04-01''', 'd IN (''2020-03-01'', ''2020-03-05'')',
    'date_part(''dow'', ts) = 0', 'isfinite(d)', 'ts AT TIME ZONE ''UTC'' > tz'], expect => 'any');
SELECT check_query('SELECT count(*) FROM t WHERE d BETWEEN ''2020-03-01'' AND ''2020-04-01''');
SELECT check_matrix('SELECT %s FROM t GROUP BY 1', ARRAY['extract(year from d), count(*)', 'date_trunc(''hour'', ts), count(*)', 'd + 1, count(*)', 'd - date ''2020-01-01'', count(*)', 'tz::date, count(*)'], expect => 'any');
SELECT check_query('SELECT count(*), sum(a.id), min(b.ts) FROM t a JOIN edge b ON a.d = b.d', 'device');
SELECT check_query('SELECT count(*), sum(a.id) FROM t a JOIN t b ON a.tz = b.tz AND a.d = b.d WHERE b.id < 100');
SELECT check_query('SELECT count(*), sum(a.id) FROM t a JOIN t b ON a.d = b.ts', 'any');
SET timezone = 'Asia/Kolkata';
SELECT check_matrix('SELECT %s', ARRAY['min(tz), max(tz) FROM t', 'tz, count(*) FROM t GROUP BY tz', 'count(*) FROM t WHERE tz > ''2021-03-28 05:30''']);
-- overflow of date arithmetic
SELECT e, check_query('SELECT count(*) FROM edge WHERE ' || e, 'any') FROM unnest(ARRAY['d + 1 > ''2000-01-01''', 'd + 2000000000 > ''2000-01-01''', 'd - 1 < ''2000-01-01''', 'd - date ''2000-01-01'' > 5', 'd::timestamp > ''2000-01-01''']) e;
