-- Parts of dates and timestamps, date_trunc, intervals, and dates against timestamps: infinities, BC, the ends of the
-- ranges, ends of months, weeks around the new year.
CREATE SCHEMA expressions_date;
SET search_path = expressions_date, public;
CREATE TABLE t (id int, g int, d date, ts timestamp, tz timestamptz);
INSERT INTO t
    SELECT i, i % 4, date '1996-12-20' + nullif(i % 1200, 8) * 3, timestamp '1999-12-31 22:59:58.654321' + nullif(i % 90, 7) * interval '13 days 7 hours 11 minutes 1.25 seconds',
           timestamptz '2021-03-28 00:00+00' + nullif(i % 60, 6) * interval '10 minutes'
    FROM generate_series(1, 1300) i;
CREATE TABLE edge (id int, d date, ts timestamp, tz timestamptz);
INSERT INTO edge VALUES (1, 'infinity', 'infinity', 'infinity'), (2, '-infinity', '-infinity', '-infinity'), (3, '4714-11-24 BC', '4714-11-24 BC', '4714-11-24 00:00+00 BC'),
    (4, '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00'), (5, '0044-03-15 BC', '0044-03-15 12:00 BC', '0044-03-15 12:00+00 BC'),
    (6, NULL, NULL, NULL), (7, '2000-01-01', '2000-01-01', '2000-01-01 00:00+00'), (8, '1999-12-31', '1999-12-31 23:59:59.999999', '1999-12-31 23:59:59.999999+00'), (9, '0001-01-01', '0001-01-01', '0001-01-01 00:00+00'),
    (10, '0001-12-31 BC', '0001-12-31 23:59 BC', '0001-12-31 23:59+00 BC'), (11, '2000-02-29', '2000-02-29 11:59', '2000-02-29 11:59+00'), (12, '1900-02-28', '1900-02-28 00:00:00.000001', '1900-02-28 00:00+00'), (13, '2001-01-01', '2001-01-01', '2001-01-01 00:00+00'),
    (14, '1000-12-31', '1000-12-31 01:02:03.4', '1000-12-31 01:02:03.4+00'), (15, '2024-01-31', '2024-01-31 23:00', '2024-01-31 23:00+00'), (16, '2020-12-31', '2020-12-31 23:59:59.5', '2020-12-31 23:59:59.5+00'), (17, '2021-01-03', '2021-01-03', '2021-01-03 00:00+00'), (18, '2000-01-02', '2000-01-02', '2000-01-02 00:00+00');
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) edge;

-- groups by parts; of infinity the growing ones are infinite numerics, which no device has
SELECT check_matrix('SELECT extract(%1$s from %2$s), count(*), sum(id) FROM t GROUP BY 1', '{year,isoyear,decade,century,millennium,quarter,month,week,day,doy,dow,isodow}', '{d,ts}');
SELECT check_matrix('SELECT extract(%1$s from ts), count(*), sum(id), min(extract(%1$s from ts)), sum(extract(%1$s from ts)) FROM t GROUP BY 1', '{hour,minute,second,milliseconds,microseconds,epoch}');
SELECT check_matrix('SELECT extract(%1$s from %2$s), count(*), sum(id) FROM edge WHERE id > 2 GROUP BY 1', '{year,isoyear,decade,century,millennium,quarter,month,week,day,doy,dow,isodow}', '{d,ts}');
SELECT check_matrix('SELECT extract(%1$s from %2$s), count(*), sum(id) FROM edge GROUP BY 1', '{quarter,month,week,day,doy,dow,isodow}', '{d,ts}');
SELECT check_matrix('SELECT extract(%1$s from ts), count(*), sum(id) FROM edge GROUP BY 1', '{hour,minute,second,milliseconds,microseconds}');
SELECT check_matrix('SELECT extract(%1$s from %2$s), count(*) FROM edge GROUP BY 1', '{year,isoyear,decade,century,millennium,epoch}', '{d,ts}', 'forced');
SELECT check_matrix('SELECT date_part(%1$L, ts), count(*), sum(id) FROM t GROUP BY 1', '{year,quarter,month,week,day,doy,dow,hour,minute}');
SELECT check_matrix('SELECT date_part(%1$L, d), count(*), sum(id) FROM t GROUP BY 1', '{year,month,dow}');
SELECT check_matrix('SELECT count(*), sum(id) FROM %2$s WHERE %1$s', ARRAY['extract(year from d) = 2000', 'extract(month from ts) IN (2, 3, 11)', 'extract(dow from d) BETWEEN 1 AND 5', 'date_part(''year'', ts) < 2001', 'extract(EPOCH FROM tz) > 0', 'extract(second from ts) >= 30.5'], '{t,edge}', 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['extract(year from d) = 2000', 'extract(month from ts) IN (2, 3, 11)', 'extract(dow from d) BETWEEN 1 AND 5', 'date_part(''year'', ts) < 2001', 'extract(epoch from tz) > 1616890000', 'extract(second from ts) >= 30.5']);
-- units that there are not, or that depend on the time zone, or that a date does not have
SELECT check_matrix('SELECT %s FROM t', ARRAY['count(extract(julian from d))', 'count(extract(timezone from tz))', 'count(extract(hour from tz))', 'count(extract(nonsense from ts))', 'count(date_part(''second'', ts))'], expect => 'any');

-- beginnings
SELECT check_matrix('SELECT date_trunc(%1$L, ts), count(*), sum(id) FROM %2$s GROUP BY 1', '{year,quarter,month,week,day,hour,minute,second,milliseconds,microseconds}', '{t,"edge WHERE id <> 3"}');
SELECT check_matrix('SELECT date_trunc(%1$L, ts), count(*) FROM edge GROUP BY 1', '{year,quarter,month,week,day,hour}', expect => 'forced');
SELECT check_matrix('SELECT date_trunc(%1$L, %2$s), count(*) FROM t GROUP BY 1', '{century,decade,millennium,month,fortnight}', '{d,tz,ts}', 'any');

-- intervals: months before days before microseconds, and the last day of a month
SELECT check_matrix('SELECT %1$s interval %2$L, count(*), sum(id) FROM t GROUP BY 1', '{d +,d -,ts +,ts -}', '{1 day,1 month,1 month 1 day,13 months -40 days 25 hours,1 year,-3 months,0,90 days,1 microsecond}');
SELECT check_matrix('SELECT %1$s interval %2$L, count(*), sum(id) FROM edge WHERE id NOT IN (3, 4) GROUP BY 1', '{d +,d -,ts +,ts -}', '{1 month,12 months,1 year 1 day,1 day,-1 month,100 years}');
SELECT check_matrix('SELECT count(%1$s interval %2$L) FROM edge', '{d +,d -,ts +,ts -}', '{1 month,1 day,1 year,1 microsecond}', 'any');
SELECT check_matrix('SELECT tz %1$s interval %2$L, count(*) FROM t GROUP BY 1', '{+,-}', '{1 hour,90 minutes}');
SELECT check_matrix('SELECT tz %1$s interval %2$L, count(*) FROM t GROUP BY 1', '{+,-}', '{1 day,1 month}', expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['d < date ''1998-12-01'' - interval ''90'' day', 'd >= date ''1999-01-01'' AND d < date ''1999-01-01'' + interval ''1'' year', 'd + interval ''1 month'' > ts', 'ts - interval ''1 week'' <= d']);

-- seconds of the far future have 19 digits
CREATE TABLE future AS SELECT timestamp '40000-01-01' AS ts;
SELECT check_matrix('SELECT sum(extract(epoch FROM ts)::numeric(%s)) FROM future', '{"18,6", "19,6", "18,5", "20,7"}', expect => 'any');
-- a date against a timestamp
SELECT check_matrix('SELECT count(*), sum(id) FROM %2$s WHERE %1$s', ARRAY(SELECT format('%s %s %s', a, op, b) FROM unnest('{=,<>,<,<=,>,>=}'::text[]) op,
    (VALUES ('d', 'ts'), ('ts', 'd'), ('d', 'timestamp ''2000-01-01'''), ('d', 'timestamp ''2000-01-01 00:00:00.000001'''), ('d', 'timestamp ''infinity'''), ('d', 'timestamp ''-infinity'''), ('timestamp ''1999-12-31 12:00''', 'd'), ('ts', 'date ''2000-02-29''')) v(a, b)), '{t,edge}');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['ts::date = ''2000-01-01''', 'ts::date - d > 30', 'd::timestamp = ts', 'isfinite(d)', 'isfinite(ts) AND isfinite(tz)']);
SELECT check_matrix('SELECT ts::date, count(*), sum(id) FROM %s GROUP BY 1', '{t,edge}');
SELECT check_query('SELECT isfinite(d), isfinite(ts), count(*) FROM edge GROUP BY 1, 2');
-- an error is PostgreSQL's, and only where a row meets it
SELECT e, check_query('SELECT count(*) FROM edge WHERE ' || e, 'any') FROM unnest(ARRAY['ts + interval ''1 day'' > ''2000-01-01''', 'd - interval ''1 month'' < ''2000-01-01''', 'date_trunc(''year'', ts) < ''2000-01-01''', 'id > 4 AND ts + interval ''1 year'' > ''2000-01-01''', 'extract(year from d) > 0']) e;
