-- Intervals: equal if they are as long, whatever the way in which they are written; differences, sums and parts; with
-- dates and timestamps, over months' ends and infinities.
CREATE SCHEMA types_interval;
SET search_path = types_interval, public;
CREATE TABLE t (id int NOT NULL, g int, v interval, w interval NOT NULL, d date, ts timestamp, u timestamp, tz timestamptz);
INSERT INTO t SELECT i, i % 7, CASE WHEN i % 9 <> 0 THEN (i % 40 - 20) * interval '1 hour 3.000001 seconds' + (i % 3) * interval '5 days' END, (i % 25) * interval '36 hours',
           date '2024-01-28' + nullif(i % 60, 8), timestamp '2023-12-31 22:00:00.5' + nullif(i % 90, 7) * interval '13 hours 1 second', timestamp '2024-02-29 01:02:03' - i % 500 * interval '31 hours', timestamptz '2024-03-30 22:00+00' + i % 50 * interval '1 hour' FROM generate_series(1, 2000) i;
CREATE TABLE alike (id int, v interval);
INSERT INTO alike VALUES (1, '1 month'), (2, '30 days'), (3, '720 hours'), (4, '1 day'), (5, '24 hours'), (6, NULL), (7, '1 year'), (8, '360 days'), (9, '-1 month'), (10, '1 month -60 days'), (11, '0'), (12, '1 mon -30 days'), (13, '1 microsecond');
CREATE TABLE edge (id int, v interval, ts timestamp, d date);
INSERT INTO edge VALUES (1, '178956970 years 7 months', '2024-01-31', '2024-01-31'), (2, '-178956970 years -8 months', '4713-01-01 BC', '4713-01-01 BC'), (3, '2147483647 days', '294276-12-31 23:59:59.999999', '5874897-12-31'), (4, '-2147483648 days', 'infinity', 'infinity'),
    (5, '2562047788:00:54.775807', '-infinity', '-infinity'), (6, '-2562047788:00:54.775807', '2000-02-29 12:00', '2000-02-29'), (7, NULL, '2024-01-31', NULL), (8, '1 month', NULL, '2023-01-31'), (9, '-1 month 1 day -1 second', '2024-03-31 00:00:01', '2024-03-31');
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) alike;
VACUUM (FREEZE, ANALYZE) edge;

-- delivered, compared, joined
SELECT check_matrix('SELECT %1$s FROM %2$s', '{"id, v","v, v IS NULL, id"}', '{t,alike,edge,"t WHERE v > ''0''","alike WHERE v < ''1 month''"}');
SELECT check_matrix('SELECT count(*), sum(id) FROM %2$s WHERE v %1$s', ARRAY(SELECT op || c FROM unnest('{=,<>,<,<=,>,>=}'::text[]) op, unnest('{''30 days'',''0'',''-1 month'',''1 year'',''-00:00:03'',''178956970 years''}'::text[]) c) || '{"IN (''1 day'', ''1 month'')","IN (''24 hours'', NULL)","NOT IN (''0'', ''360 days'')","IS DISTINCT FROM ''30 days''","BETWEEN ''-1 day'' AND ''720 hours''"}', '{t,alike,edge}');
SELECT check_matrix('SELECT count(*), sum(a.id), sum(b.id) FROM %2$s a JOIN %2$s b ON a.v %1$s b.v WHERE b.id < 100', '{=}', '{t,alike,edge}');
SELECT check_matrix('SELECT count(*), sum(a.id), count(b.id) FROM %1$s a LEFT JOIN alike b ON a.v = b.v', '{t,alike,edge}');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['v IN (SELECT v FROM alike)', 'EXISTS (SELECT FROM alike a WHERE a.v = t.w)', 'v < w', 'greatest(v, w) = w', 'least(v, w, ''1 day'') < ''0''', 'coalesce(v, w) > ''1 day''', 'nullif(v, w) IS NULL', 'CASE WHEN id > 5 THEN v ELSE w END > ''10 days''']);
SELECT check_query('SELECT id, greatest(v, ''30 days''), least(v, ''24 hours'', ''1 day''), coalesce(v, ''1 mon''), nullif(v, ''720 hours'') FROM alike');
-- groups: what is shown must be the only way in which the group's intervals are written
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM t GROUP BY %1$s', '{v,w,v + w,-w,"v, w","g, v",ts - u,v IS NULL}', expect => 'any');
SELECT check_query('SELECT v, count(*), sum(id), min(id) FROM t GROUP BY v');
SELECT check_query('SELECT w, g, count(*) FROM t GROUP BY ROLLUP (w, g)');
SELECT check_query('SELECT DISTINCT w FROM t');
SELECT check_query('SELECT v, count(*) FROM alike WHERE id NOT IN (2, 3, 5, 8, 10, 12) GROUP BY v');
SELECT check_query('SELECT v::interval(0) + ''0''::interval, count(*) FROM alike WHERE id > 12 GROUP BY 1', 'any');
SELECT check_query('SELECT v = ''30 days'', count(*), count(DISTINCT v) FROM alike GROUP BY 1');
SELECT check_query('SELECT count(*) FROM (SELECT v FROM alike GROUP BY v) s', 'forced');
SELECT check_matrix('SELECT count(DISTINCT %s) FROM %s', '{v,v + v}', '{t,alike,t GROUP BY g}');
-- sums and averages
SELECT check_matrix('SELECT %1$s, count(*) FROM %2$s', '{sum(v),avg(v),"sum(v), avg(v), count(v)",sum(-v),avg(v + v),sum(v) FILTER (WHERE id > 4),avg(v) FILTER (WHERE false)}', '{t,alike,t GROUP BY g,alike GROUP BY id,"t WHERE id < 0","t WHERE id < 0 GROUP BY g"}');
SELECT check_matrix('SELECT %1$s FROM edge', '{sum(v),avg(v),sum(v) FILTER (WHERE id > 6),avg(v) FILTER (WHERE id IN (1\, 2))}', expect => 'any');
SELECT check_matrix('SELECT id, %1$s FROM edge GROUP BY id', '{sum(v),avg(v)}', expect => 'any');
SELECT check_matrix('SELECT %1$s FROM t', '{sum(DISTINCT v)}', expect => 'any');
-- the smallest and the largest: the same
SELECT check_matrix('SELECT min(%1$s), max(%1$s), count(*) FROM %2$s', '{v,-v,w + v,ts - u,"age(ts, u)"}', '{t,t GROUP BY g,t WHERE id < 0,t WHERE id < 0 GROUP BY g,t GROUP BY ROLLUP (g)}', 'forced');
SELECT check_query('SELECT min(v), max(w) FILTER (WHERE id > 30), min(v) FILTER (WHERE false), max(DISTINCT w) FROM t');
SELECT check_query('SELECT g, min(w) FROM t GROUP BY g HAVING max(w) > ''1 day'' ORDER BY max(w), g LIMIT 3', 'forced');
SELECT check_query('SELECT id, min(v), max(v) FROM alike GROUP BY id');
SELECT check_matrix('SELECT %1$s FROM alike WHERE id %2$s', '{min(v),max(v),-max(-v)}', '{"IN (1, 4, 11)","IN (1, 2, 3)","IN (4, 5)","IN (7, 8, 1)","IN (9, 10)","IN (11, 12)",= 6,> 0}', 'forced');
SELECT check_matrix('SELECT %1$s FROM edge WHERE id %2$s', '{min(v),max(v)}', '{> 0,= 1,= 2,= 3,= 4,= 5,= 6,> 6,"IN (3, 4, 5, 6)"}', 'forced');
-- arithmetic
SELECT check_matrix('SELECT id, %1$s FROM %2$s', '{v + v,v - ''1 day'',-v,''1 month'' + v,v - v}', '{t,alike}');
SELECT check_matrix('SELECT id, %1$s FROM edge WHERE id > 6', '{v + v,-v,v - ''1 day''}');
SELECT check_matrix('SELECT count(%1$s) FROM edge', '{v + v,-v,v - ''1 day''}', expect => 'any');
SELECT check_matrix('SELECT id, %1$s FROM t', '{ts - u,u - ts,tz - ''2024-03-31'',"age(ts, u)","age(u, ts)","age(ts, ''2000-02-29'')",ts + v,ts - v,d + v,d - w,u + w,u + (ts - u)}');
SELECT check_matrix('SELECT id, %1$s FROM alike', '{timestamp ''2024-01-31'' + v,date ''2024-03-31'' - v,timestamp ''infinity'' - v}', expect => 'any');
SELECT check_matrix('SELECT id, %1$s FROM edge WHERE id > 5', '{ts + ''1 month''::interval,ts - ts,"age(ts, ''2000-01-31'')",ts - v,d + v}', expect => 'any');
SELECT check_matrix('SELECT count(%1$s) FROM edge WHERE id = %2$s', '{ts - ''2000-01-01'',ts - ts,"age(ts, ''2000-01-31'')","age(''2000-01-31'', ts)",ts + v,ts - v,d + v,d - v}', '{1,2,3,4,5,6,7,8,9}', 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['ts - u > ''1 day''', 'ts > u + ''3 days''', 'ts - u < v', 'age(ts, u) > ''1 month''', 'tz - ''2024-03-31 00:00+00'' >= ''1 day''', 'u + w < ts', 'd + v > ts', 'ts + v = u']);
SELECT check_query('SELECT g, sum(ts - u), avg(ts - u), min(extract(epoch FROM ts - u)), max(extract(day FROM ts - u)) FROM t GROUP BY g');
-- months of different lengths, forwards and backwards
CREATE TABLE days AS SELECT a * 13 + b AS id, timestamp '2023-11-28 10:00' + a * interval '11 hours' AS a, timestamp '2024-02-27 09:30' + b * interval '17 hours' AS b FROM generate_series(0, 80) a, generate_series(0, 12) b;
VACUUM (FREEZE, ANALYZE) days;
SELECT check_query('SELECT id, age(a, b), age(b, a), a - b FROM days');
-- parts
SELECT check_matrix('SELECT id, extract(%1$s FROM v) FROM %2$s', '{millennium,century,decade,year,month,day,hour,minute,second,milliseconds,microseconds,epoch}', '{t,alike}');
SELECT check_matrix('SELECT count(extract(%1$s FROM v)), sum(extract(%1$s FROM v)) FROM edge WHERE id NOT IN (1, 2)', '{millennium,century,decade,year,month,day,hour,minute,second,milliseconds,microseconds}');
SELECT check_matrix('SELECT id, extract(%1$s FROM v) FROM edge', '{epoch,quarter}', expect => 'any');
SELECT check_matrix('SELECT extract(%1$s FROM w), count(*), date_part(''%1$s'', w) FROM t GROUP BY 1, 3', '{day,hour,minute}');
SELECT check_matrix('SELECT date_part(''%s'', v) FROM t', '{second,epoch,quarter}', expect => 'any');
SELECT check_prepared('device', 'SELECT count(*), sum(id) FROM t WHERE v > $1 AND ts + $1 > u', '(interval)', '(''1 day'')', '(''-1 month 3 days'')', '(NULL)');
ALTER TABLE t ADD COLUMN late interval DEFAULT '1 month 2 days 3 seconds';
SELECT check_query('SELECT late, count(*), sum(late) FROM t GROUP BY late');
