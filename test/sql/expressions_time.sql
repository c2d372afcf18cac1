-- What is made of dates, times and intervals: bins, times of the day, dates of numbers, rounded seconds, justified and multiplied
-- intervals, ages of instants, periods that overlap. Infinities, ends of the ranges, NULLs and errors.
CREATE SCHEMA expressions_time;
SET search_path = expressions_time, public;
SET timezone = 'Europe/Berlin';
CREATE TABLE t (id int, g int, d date, ts timestamp, tz timestamptz, tm time, tm2 time, v interval, w interval, f float8, y int, mo int, dd int, h int, mi int, s float8);
INSERT INTO t
    SELECT i, i % 4, date '1996-12-20' + nullif(i % 1200, 8) * 3, timestamp '1999-12-31 22:59:58.654321' + nullif(i % 90, 7) * interval '13 days 7 hours 11 minutes 1.250005 seconds',
           timestamptz '2021-10-31 00:00+00' + (nullif(i % 60, 6) - 30) * interval '10 minutes', time '00:00' + nullif(i % 97, 5) * interval '14 minutes 50.1234567 seconds', time '23:59:59.5' - nullif(i % 89, 11) * interval '11 minutes',
           (nullif(i % 25, 9) - 12) * interval '1 month' + (i % 101 - 50) * interval '1 day' + (i % 5003 - 2500) * interval '1 min 1.234567 s', (nullif(i % 7, 2) + 1) * interval '7 minutes 30 seconds', nullif(i % 31, 4) / 7.0 - 2,
           nullif(i % 40, 13) + 1990, nullif(i % 12, 10) + 1, i % 28 + 1, nullif(i % 24, 1), i % 60, i % 59 + 0.0000005 * (i % 9)
    FROM generate_series(1, 1300) i;
CREATE TABLE edge (id int, d date, ts timestamp, tz timestamptz, tm time, v interval, f float8, y int, mo int, dd int, h int, mi int, s float8);
INSERT INTO edge VALUES (1, 'infinity', 'infinity', 'infinity', '24:00', '178956970 years 7 months', 'Infinity', 2000, 2, 29, 24, 0, 0), (2, '-infinity', '-infinity', '-infinity', '00:00', '-178956970 years -8 months', '-Infinity', 1900, 2, 29, 23, 59, 60),
    (3, '4714-11-24 BC', '4714-11-24 BC', '4714-11-24 00:00+00 BC', '23:59:59.999999', '2147483647 days', 'NaN', -4714, 11, 24, 0, 0, 0), (4, '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00', '12:00', '-2147483648 days', 1e300, 294276, 12, 31, 23, 59, 59.999999),
    (5, '0044-03-15 BC', '0044-03-15 12:00 BC', '0044-03-15 12:00+00 BC', '00:00:00.000001', '2562047788:00:54.775807', -1e300, 0, 1, 1, 12, 60, 0), (6, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (7, '2000-01-01', '2000-01-01', '2000-01-01 00:00+00', '00:00:00.5', '-2562047788:00:54.775807', 0, -1, 13, 1, 1, 1, -1), (8, '1999-12-31', '1999-12-31 23:59:59.999999', '1999-12-31 23:59:59.999999+00', '23:59:59.5', '-1 month 1 day -1 second', '-0', 5874898, 1, 1, 25, 1, 1), (9, '0001-01-01', '0001-01-01', '0001-01-01 00:00+00', '01:02:03.4', '1 month -1 day 1 second', 5e-324, 2024, 4, 31, 24, 0, 0.0000004),
    (10, '2024-01-31', '2024-01-31 23:00', '2024-01-31 23:00+00', '11:11:11.1111115', '35 days -40 hours', 1e-7, 2024, 0, 1, 24, 0, 0.000001), (11, '2020-12-31', '2020-12-31 23:59:59.9999995', '2020-12-31 23:59:59.5+00', '05:00', '-35 days 40 hours', 9223372036854.775, 2023, 2, 29, 12, 30, 'NaN'), (12, '2020-12-31', '2020-12-31 23:59:59.5', '2020-12-31 23:59:59.5+00', '05:00', '0', 1.5, 2023, 1, 0, -1, 30, 'Infinity');
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) edge;

-- Grouped by.
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM t GROUP BY 1', ARRAY['date_bin(''15 minutes'', ts, ''2000-01-01'')', 'date_bin(''7 days 1 hour'', ts, ''2001-02-03 04:05:06'')', 'date_bin(w, ts, ''1970-01-01'')', 'date_bin(''5 min'', tz, ''2020-01-01'')', 'date_bin(''1 microsecond'', ts, ts)', 'date_bin(w, tz, ''2021-01-01'')',
    'ts::time', 'tz::time', 'v::time', 'tm + v', 'tm - w', 'w + tm', 'd + tm', 'tm + d', 'ts::timestamp(0)', 'ts::timestamp(3)', 'tz::timestamptz(1)', 'tm::time(0)', 'tm::time(2)', 'to_timestamp(f * 1e9)', 'to_timestamp(floor(extract(epoch from ts) / 300) * 300)', 'make_date(y, mo, dd)', 'make_time(h, mi, s)', 'make_timestamp(y, mo, dd, h, mi, s)', 'make_timestamptz(y, mo, dd, h, mi, s)', 'make_date(2024, mo, 1)',
    'isfinite(v)', 'ts + g * interval ''1 second''', 'ts AT TIME ZONE interval ''2 hours 30 minutes''', 'tz AT TIME ZONE interval ''-1 hour''', 'tz AT TIME ZONE w']);
-- (rows: an interval is shown as it is written)
SELECT check_matrix('SELECT id, %1$s FROM t', ARRAY['tm::interval', 'tm - tm2', 'v::interval(0)', 'v::interval(3)', 'age(tz, ''2021-10-01'')', 'age(tz, tz - w)', 'make_interval(y, mo, g, dd, h, mi, s)', 'make_interval(secs => s)', 'make_interval(days => dd)', 'justify_days(v)', 'justify_hours(v)', 'justify_interval(v)', 'v * f', 'f * w', 'v / (f + 0.1)', 'g * interval ''1 hour 7 minutes''', 'w / 3']
    || ARRAY(SELECT format('date_trunc(%L, v)', u) FROM unnest('{millennium,century,decade,year,quarter,month,day,hour,minute,second,milliseconds,microseconds}'::text[]) u));
SELECT check_matrix('SELECT %1$s, count(*) FROM t GROUP BY 1', ARRAY(SELECT format('extract(%s from tm)', u) FROM unnest('{hour,minute,second,milliseconds,microseconds,epoch}'::text[]) u)
    || ARRAY(SELECT format('date_part(%L, %s)', u, c) FROM unnest('{hour,minute,second,milliseconds,microseconds}'::text[]) u, unnest('{ts,tz,tm,v}'::text[]) c) || ARRAY['date_part(''epoch'', ts)', 'date_part(''epoch'', tz)', 'date_part(''epoch'', tm)', 'date_part(''epoch'', d)']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['(ts, w) OVERLAPS (timestamp ''2000-06-01'', interval ''100 days'')', '(ts, ts + v) OVERLAPS (timestamp ''2000-06-01'', timestamp ''2001-01-01'')', '(tm, tm2) OVERLAPS (time ''10:00'', time ''12:00'')', '(tm, NULL::time) OVERLAPS (tm2, tm)', '(tz, tz + w) OVERLAPS (timestamptz ''2021-10-31'', w)', '((ts, w) OVERLAPS (ts, v)) IS NULL',
    'ts::time BETWEEN ''08:00'' AND ''18:00''', 'date_bin(''1 day'', ts, ''2000-01-01'') >= ''2001-01-01''', 'make_date(y, mo, 1) < d', 'justify_hours(v) > ''1 month''', 'date_bin(w, ts, ''2000-01-01'') = ts']);
-- Each row by itself, since one error hides all others.
CREATE FUNCTION one_by_one(expressions text[]) RETURNS SETOF text LANGUAGE sql AS $$ SELECT check_matrix('SELECT %1$s FROM edge WHERE id = %2$s', expressions, ARRAY(SELECT i::text FROM generate_series(1, 12) i), 'any') $$;
SELECT one_by_one(ARRAY['date_bin(''15 minutes'', ts, ''2000-01-01'')', 'date_bin(CASE WHEN id IN (1, 2, 8, 9) THEN ''1 hour'' ELSE v END, ts, ''2000-01-01'')', 'date_bin(''1 day'', ''2020-01-01'', ts)', 'date_bin(''100 years'', ts, ''infinity'')', 'date_bin(''3000000 days'', tz, ''2000-01-01'')', 'date_bin(NULL, ts, ''infinity'')', 'date_bin(''-1 day'', ts, ''2000-01-01'')',
    'ts::time', 'tz::time', 'v::time', 'tm::interval', 'tm - time ''12:00''', 'tm + v', 'tm - v', 'd + tm', 'ts::timestamp(0)', 'ts::timestamp(3)', 'tz::timestamptz(1)', 'tm::time(0)', 'tm::time(3)', 'v::interval(0)', 'age(tz, ''2021-10-01'')', 'age(tz)', 'to_timestamp(f)', 'to_timestamp(f + extract(epoch from ts)::float8)',
    'make_date(y, mo, dd)', 'make_time(h, mi, s)', 'make_timestamp(y, mo, dd, h, mi, s)', 'make_timestamptz(y, mo, dd, 12, 0, 0)', 'make_interval(y, mo, 1, dd, h, mi, s)', 'make_interval(years => dd * 10000000)', 'justify_days(v)', 'justify_hours(v)', 'justify_interval(v)', 'isfinite(v)', 'v * f', 'v * 0.5', 'v / f', 'v / 3', 'v / 0', 'v * -1',
    'ts AT TIME ZONE interval ''2 hours''', 'tz AT TIME ZONE v', '(ts, v) OVERLAPS (timestamp ''2000-01-01'', interval ''1 day'')', 'date_trunc(''year'', v)', 'date_trunc(''hour'', v)', 'extract(second from tm)', 'extract(epoch from tm)', 'extract(hour from tm)', 'date_part(''epoch'', ts)', 'date_part(''second'', ts)', 'date_part(''second'', v)', 'date_part(''milliseconds'', v)']);
-- a zone that has no daylight saving, and one that is far away
SET timezone = 'Pacific/Apia';
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM t GROUP BY 1', ARRAY['tz::time', 'age(tz, ''2021-10-01'')', 'make_timestamptz(y, mo, dd, h, mi, s)', 'date_bin(''1 day'', tz, ''2000-01-01'')']);
SET client_min_messages = warning;
DROP SCHEMA expressions_time CASCADE;
