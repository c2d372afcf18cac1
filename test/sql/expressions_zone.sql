-- Timestamps with time zone as the clocks of a zone show them: parts, truncation, casts, AT TIME ZONE, days and months added, in
-- zones with and without changes of the clocks, in hours that come twice or never, before the first and after the last known
-- change; and long lists of values.
CREATE SCHEMA expressions_zone;
SET search_path = expressions_zone, public;
CREATE TABLE t (id int NOT NULL, z timestamptz, c timestamp, d date);
-- every half hour around changes of clocks in Europe, America, Australia and Asia
INSERT INTO t SELECT row_number() OVER (), at + n * interval '30 minutes', (at + n * interval '30 minutes') AT TIME ZONE 'UTC', (at AT TIME ZONE 'UTC')::date + n
    FROM unnest('{2021-03-28 00:00+00,2021-10-31 00:00+00,2024-03-10 06:00+00,2024-11-03 04:00+00,1940-05-19 00:00+00,1916-05-01 00:00+00,2024-04-06 14:00+00,2038-03-28 00:00+00,1893-03-31 22:00+00,1970-01-01 00:00+00}'::timestamptz[]) at, generate_series(-12, 14) n;
INSERT INTO t VALUES (1000, NULL, NULL, NULL), (1001, '1800-06-01 12:34:56.789+00', '1800-06-01', '1800-06-01'), (1002, '4713-01-02 BC', '4713-01-02 BC', '4713-01-02 BC'), (1003, '2199-06-01 12:00+00', '2199-06-01', '2199-06-01'), (1004, '2024-02-29 23:59:59.999999+00', '2024-02-29 23:59:59.999999', '2024-02-29');
CREATE TABLE edge (id int, z timestamptz, c timestamp, d date);
INSERT INTO edge VALUES (1, 'infinity', 'infinity', 'infinity'), (2, '-infinity', '-infinity', '-infinity'), (3, '294276-12-31 23:59:59.999999+00', '294276-12-31 23:59:59.999999', '5874897-12-31'), (4, '4713-01-01 00:00+00 BC', '4713-01-01 BC', '4714-11-24 BC'), (5, '2200-06-01', '2200-06-01', '2200-06-01'), (6, '2199-12-30 12:00', '2199-12-30', '2199-12-30');
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) edge;
CREATE FUNCTION check_zone(zone text, template text, a text[], b text[] DEFAULT '{""}', expect text DEFAULT 'device') RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('TimeZone', zone, true);
    RETURN QUERY SELECT zone || ': ' || m FROM check_matrix(template, a, b, expect) m;
END $$;
CREATE TABLE zones (name text);
INSERT INTO zones VALUES ('UTC'), ('Europe/Berlin'), ('America/New_York'), ('Australia/Lord_Howe'), ('Asia/Kolkata'), ('America/St_Johns'), ('Africa/Casablanca'), ('<+03>-3'), ('Pacific/Apia');

SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT extract(%1$s FROM z) AS x, count(*), sum(id) FROM t GROUP BY 1', '{year,quarter,month,week,day,doy,dow,isodow,isoyear,decade,century,hour,minute,second,milliseconds,microseconds,epoch}') c ORDER BY z.name COLLATE "C";
SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT %1$s AS x, count(*), sum(id) FROM t GROUP BY 1', ARRAY(SELECT 'date_trunc(''' || u || ''', z)' FROM unnest('{year,quarter,month,week,day,hour,minute,second,milliseconds}'::text[]) u) || '{"date_trunc(''month'', z, ''Asia/Tokyo'')","date_trunc(''hour'', z, ''Australia/Lord_Howe'')","date_trunc(''day'', z, ''America/Caracas'')","date_trunc(''month'', d)","date_trunc(''week'', d)"}') c ORDER BY z.name COLLATE "C";
SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT %1$s AS x, count(*), sum(id) FROM t GROUP BY 1', '{z::date,z::timestamp,c::timestamptz,d::timestamptz,z AT TIME ZONE ''Europe/Berlin'',c AT TIME ZONE ''America/New_York'',z AT TIME ZONE ''utc'',(z AT TIME ZONE ''Pacific/Auckland'')::date,"date_part(''hour'', z)"}') c ORDER BY z.name COLLATE "C";
SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT z %1$s interval %2$L AS x, count(*), sum(id) FROM t GROUP BY 1', '{+,-}', '{1 day,1 month,-3 days,1 year 2 hours,13 months -1 day 30 minutes,100 years}', 'forced') c ORDER BY z.name COLLATE "C";
SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT count(*), sum(id) FROM t WHERE %1$s', '{"z::date = d",z::timestamp < c,c::timestamptz >= z,"date_trunc(''day'', z) = d::timestamptz","extract(hour FROM z) BETWEEN 1 AND 3","z AT TIME ZONE ''Asia/Kolkata'' > c","z + (c - ''2000-01-01'') > ''2030-01-01''"}', '{""}', 'forced') c ORDER BY z.name COLLATE "C";
-- against dates and timestamps, which are instants in the session's zone; one that is beyond all instants is PostgreSQL's to compare
SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT count(*), sum(id) FROM t WHERE z %1$s %2$s', '{=,<>,<,<=,>,>=}', '{d,c,"date ''2021-03-28''","timestamp ''2021-10-31 02:30''","timestamp ''2021-03-28 02:30''","current_date - 365","now()::timestamp - interval ''1 month''","date ''infinity''","NULL::date"}') c;
SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT count(*), sum(id) FROM t WHERE %2$s %1$s z', '{=,<>,<,<=,>,>=}', '{d,c,"date ''2021-10-31''","timestamp ''2024-03-10 02:30''","c + interval ''1 hour''","d - 1"}') c;
SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT count(*), sum(id) FROM t WHERE c %1$s %2$s AND d %1$s %2$s', '{<,>=}', '{now(),"timestamptz ''2021-03-28 02:30+01''"}') c;
SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT e.id, f.id FROM edge e, edge f WHERE e.z %1$s f.%2$s AND e.id < 4', '{=,<>,<,>=}', '{c,d}', 'any') c;
SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT id FROM edge WHERE z %1$s %2$s', '{=,<>,<,>=}', '{"date ''5874897-12-31''","date ''4714-11-24 BC''","timestamp ''294276-12-31 23:59:59.999999''","timestamp ''infinity''"}', 'any') c;
SELECT check_prepared('device', 'SELECT count(*), sum(id) FROM t WHERE z >= $1 AND z < $2', '(date, date)', '(''2021-01-01'', ''2022-01-01'')', '(''2021-03-28'', ''2021-03-29'')', '(NULL, ''2022-01-01'')');
-- what lies beyond the tables, and infinities
SELECT z.name, c FROM zones z, check_zone(z.name, 'SELECT %1$s FROM edge WHERE id = %2$s', '{z::date,z::timestamp,"date_trunc(''month'', z)","date_trunc(''hour'', z)","extract(day FROM z)","extract(year FROM z)",c::timestamptz,z + ''1 month'',z - ''1 day''}', '{1,2,3,4,5,6}', 'any') c ORDER BY z.name COLLATE "C";
SELECT check_matrix('SELECT %s FROM t', '{"z AT TIME ZONE ''CEST''","z AT TIME ZONE ''EST5EDT''","z AT TIME ZONE interval ''1 hour''","extract(timezone FROM z)","z AT TIME ZONE ''No/Where''","date_trunc(''fortnight'', z)","age(z, z)","c < z"}', expect => 'any');
-- a plan that is kept follows the session's zone
PREPARE hours AS SELECT extract(hour FROM z) AS h, count(*) FROM t WHERE id < 30 GROUP BY 1 ORDER BY 1 LIMIT 2;
SET gpuscan.offload = force;
SET plan_cache_mode = force_generic_plan;
SET TimeZone = 'UTC';
EXECUTE hours;
SET TimeZone = 'Asia/Kathmandu';
EXECUTE hours;
RESET TimeZone;
RESET plan_cache_mode;
RESET gpuscan.offload;

-- long lists
CREATE FUNCTION listed(part text, n int) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(replace(part, '#', (i * 37 % 2003 - 500)::text), ', ') FROM generate_series(1, n) i $$;
CREATE TABLE l (id int NOT NULL, a int2, b int4, c int8, n numeric(8,2), m numeric(30,4), d date, ts timestamp, f float8, u uuid, s text);
INSERT INTO l SELECT i, nullif(i % 400 - 50, 7), nullif(i % 3000 - 1000, 8), nullif(i % 3000 - 1000, 9) * 10000000000, nullif(i % 900, 5) / 4.0, i % 900 * 1.25, date '2020-01-01' + nullif(i % 900, 3), timestamp '2020-01-01' + i % 900 * interval '1 hour', nullif(i % 50, 6) / 4.0, md5((i % 300)::text)::uuid, 's' || i % 400 FROM generate_series(1, 4000) i;
VACUUM (FREEZE, ANALYZE) l;
SELECT format('SELECT check_query(%L, %L)', format('SELECT count(*), sum(id), sum(%1$s::numeric) FROM l WHERE %1$s %2$s (%3$s)', c, op, listed(p, n) || more), CASE WHEN c IN ('m', 'f') AND n > 256 THEN 'any' ELSE 'device' END)
    FROM (VALUES ('a', '#'), ('b', '#'), ('c', '#0000000000'), ('n', '#.25'), ('n', '#.125'), ('m', '#.25'), ('f', '#.25')) v (c, p), unnest('{IN,NOT IN}'::text[]) op, unnest('{9,200,257,1500}'::int[]) n, unnest('{"",", NULL"}'::text[]) more \gexec
SELECT format('SELECT check_query(%L, %L)', format('SELECT count(*), sum(id) FROM l WHERE %1$s %2$s (%3$s)', c, op, listed(p, n)), CASE WHEN c = 'u' AND n > 256 THEN 'any' ELSE 'device' END)
    FROM (VALUES ('d', 'date ''2020-01-01'' + #'), ('ts', 'timestamp ''2020-01-01'' + # * interval ''1 hour'''), ('s', '''s#'''), ('u', 'md5(''#'')::uuid'), ('a + b', '#'), ('b::int8', '#')) v (c, p), unnest('{IN,NOT IN}'::text[]) op, unnest('{12,300,2000}'::int[]) n \gexec
SELECT check_matrix('SELECT count(*), sum(id) FROM l WHERE b = ANY (%s)', ARRAY['ARRAY(SELECT generate_series(1, 1000))', '''{' || (SELECT string_agg(i::text, ',') FROM generate_series(1, 5000, 3) i) || '}''', '''{' || (SELECT string_agg((i * 1000000007)::text, ',') FROM generate_series(1, 2) i) || ',1,2,3,4,5,6,7,8,9,10}''::int8[]'], expect => 'any');
SELECT check_query('SELECT count(*), sum(x.id) FROM l x JOIN (SELECT id, b FROM l WHERE a IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, NULL)) y ON x.b = y.b');
