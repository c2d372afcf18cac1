-- What runs where: asks the planner, with the device forced, about one query for each thing of each table, and prints the
-- tables in Markdown. Run by script/coverage.sh against an empty database with the extension.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset fieldsep ''
SET client_min_messages = error;
CREATE SCHEMA coverage;
SET search_path = coverage, public;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TABLE t (k int, g int, c_bool bool, c_int2 int2, c_int4 int4, c_int8 int8, c_float4 float4, c_float8 float8, c_numeric numeric(12,2), c_free numeric, c_money money, c_date date, c_time time, c_timetz timetz,
    c_timestamp timestamp, c_timestamptz timestamptz, c_interval interval, c_text text, c_varchar varchar(20), c_char char(8), c_name name, c_bytea bytea, c_uuid uuid, c_inet inet, c_cidr cidr, c_macaddr macaddr, c_enum mood, c_oid oid,
    c_domain positive, c_array int[], c_jsonb jsonb, c_json json, c_point point, c_range int4range, d2 date, t2 text, n2 numeric(12,2));
INSERT INTO t SELECT i, i % 7, i % 2 = 0, i, i, i, i, i, i, i, i, date '2024-01-01' + i, '12:00', '12:00+01', timestamp '2024-01-01' + i * interval '1 hour', timestamptz '2024-01-01' + i * interval '1 hour', i * interval '1 day', 'text ' || i % 9, 'v' || i % 5, 'c' || i % 3,
    'n', '\x01', '00000000-0000-0000-0000-000000000001', '10.0.0.1', '10.0.0.0/8', '08:00:2b:01:02:03', 'ok', i, i + 1, ARRAY[i], '{"a": 1}', '{"a": 1}', '(1,2)', '[1,2)', date '2024-01-01', 'text 1', i FROM generate_series(0, 99) i;
CREATE TABLE u AS SELECT * FROM t LIMIT 50;
CREATE TABLE part (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (100);
INSERT INTO part SELECT i, i FROM generate_series(0, 99) i;
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM t;
CREATE TEMP TABLE temporary AS SELECT * FROM t;
CREATE MATERIALIZED VIEW seen AS SELECT * FROM t;
CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE elsewhere USING other_heap AS SELECT * FROM t;
VACUUM (FREEZE, ANALYZE);
SET gpuscan.offload = force;

-- device: the topmost node is the device's, and nothing was left to PostgreSQL; dictionary: the same, and PostgreSQL evaluates
-- an expression once for each different value; column: once for each row, into the cache; input: the device delivers rows or groups to a node of PostgreSQL's; CPU.
CREATE FUNCTION verdict(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    top json;
BEGIN
    EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) ' || query INTO plan;
    IF NOT plan::jsonb @? '$.** ? (@."Custom Plan Provider" == "GpuScan")' THEN
        RETURN 'CPU';
    END IF;
    top := plan -> 0 -> 'Plan';
    IF top ->> 'Node Type' = 'Subquery Scan' AND top ->> 'Filter' IS NULL THEN -- it leaves columns out
        top := top -> 'Plans' -> 0;
    END IF;
    IF top ->> 'Custom Plan Provider' IS DISTINCT FROM 'GpuScan' THEN
        RETURN 'input';
    END IF;
    RETURN CASE WHEN plan::jsonb @? '$.**.Expressions' THEN 'column' WHEN top ->> 'Dictionary Tables' IS NULL THEN 'device' ELSE 'dictionary' END;
END $$;
CREATE FUNCTION shout(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN upper($1); END';
CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 2 * $1; END';
CREATE FUNCTION verdicts(queries text[]) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(v, ', ' ORDER BY array_position('{device,dictionary,column,input,CPU}', v)) FROM (SELECT DISTINCT verdict(q) FROM unnest(queries) q) s(v)
$$;

\echo '| Type | filter by = | filter by < | GROUP BY | join key | min, max | rows |'
\echo '|---|---|---|---|---|---|---|'
SELECT format('| %s | %s |', label, (SELECT string_agg(CASE WHEN q IS NULL THEN '' ELSE verdict(q) END, ' | ' ORDER BY n) FROM unnest(ARRAY[
        CASE WHEN value <> '' THEN format('SELECT count(*) FROM t WHERE %s = %L', c, value) END,
        CASE WHEN value <> '' AND ordered THEN format('SELECT count(*) FROM t WHERE %s < %L', c, value) END,
        CASE WHEN hashed THEN format('SELECT %s, count(*) FROM t GROUP BY 1', c) END,
        CASE WHEN hashed THEN format('SELECT count(*) FROM t JOIN u ON t.%1$s = u.%1$s', c) END,
        CASE WHEN minmax THEN format('SELECT min(%1$s), max(%1$s) FROM t', c) END,
        format('SELECT %s FROM t WHERE k < 50', c)]) WITH ORDINALITY x(q, n)))
FROM (VALUES (1, 'bool', 'c_bool', 'true', true, true, false), (2, 'int2', 'c_int2', '1', true, true, true), (3, 'int4', 'c_int4', '1', true, true, true), (4, 'int8', 'c_int8', '1', true, true, true),
    (5, 'float4', 'c_float4', '1', true, true, true), (6, 'float8', 'c_float8', '1', true, true, true), (7, 'numeric(p,s)', 'c_numeric', '1', true, true, true), (8, 'numeric', 'c_free', '1', true, true, true),
    (9, 'money', 'c_money', '1', true, true, true), (10, 'date', 'c_date', '2024-01-05', true, true, true), (11, 'time', 'c_time', '12:00', true, true, true), (12, 'timetz', 'c_timetz', '12:00+01', true, true, true),
    (13, 'timestamp', 'c_timestamp', '2024-01-05', true, true, true), (14, 'timestamptz', 'c_timestamptz', '2024-01-05', true, true, true), (15, 'interval', 'c_interval', '1 day', true, true, true),
    (16, 'text', 'c_text', 'text 1', true, true, true), (17, 'varchar(n)', 'c_varchar', 'v1', true, true, true), (18, 'char(n)', 'c_char', 'c1', true, true, true), (19, 'name', 'c_name', 'n', true, true, false),
    (20, 'bytea', 'c_bytea', '\x01', true, true, false), (21, 'uuid', 'c_uuid', '00000000-0000-0000-0000-000000000001', true, true, false), (22, 'inet', 'c_inet', '10.0.0.1', true, true, true), (23, 'cidr', 'c_cidr', '10.0.0.0/8', true, true, false),
    (24, 'macaddr', 'c_macaddr', '08:00:2b:01:02:03', true, true, false), (25, 'enum', 'c_enum', 'ok', true, true, true), (26, 'oid', 'c_oid', '5', true, true, true), (27, 'domain over int4', 'c_domain', '5', true, true, true),
    (28, 'arrays', 'c_array', '{1}', true, true, true), (29, 'jsonb', 'c_jsonb', '{"a": 1}', true, true, false), (30, 'json, xml', 'c_json', '', false, false, false), (31, 'point and other geometric types', 'c_point', '', false, false, false), (32, 'ranges', 'c_range', '[1,2)', true, true, false))
    v(n, label, c, value, ordered, hashed, minmax) ORDER BY n;
\echo
\echo '| Expression | |'
\echo '|---|---|'
SELECT format('| %s | %s |', label, verdicts(ARRAY(SELECT format('SELECT count(%s) FROM t', e) FROM unnest(expressions) e)))
FROM (VALUES (1, '`+` `-` `*` of integers, floats, numeric(p,s)', '{c_int4 + c_int8,c_int2 * c_int4,c_float8 - c_float4,c_numeric * c_int4,c_numeric + n2}'::text[]),
    (2, '`/` of integers and floats, `%`', '{c_int8 / 3,c_float8 / 3,c_int4 % 7,"mod(c_numeric, 3)"}'), (3, '`/` of numerics, rounded to so many decimals or cast to numeric(p,s); otherwise in sums, averages and comparisons', '{"round(c_numeric / 3, 2)","(c_numeric / n2)::numeric(12,4)"}'),
    (4, '`abs`, `sign`, `round`, `trunc`, `ceil`, `floor`, `sqrt`, `degrees`, `radians` of float8', '{abs(c_int4),abs(c_numeric),sign(c_numeric),"round(c_numeric, 1)",trunc(c_numeric),ceil(c_numeric),floor(c_float8),sqrt(c_float8),round(c_float8),degrees(c_float8),radians(c_float8)}'),
    (5, '`power`, `exp`, `ln`, `log`, trigonometric functions', '{"power(c_float8, 2)",exp(c_float8),ln(c_float8 + 1),sin(c_float8),"log(2, c_numeric + 1)"}'),
    (6, 'bit operators, `gcd`, `lcm`', '{c_int4 & 3,c_int4 | 3,c_int4 << 1,"gcd(c_int4, c_int4)","lcm(c_int8, 12)"}'),
    (7, 'casts between integers and floats, of numeric to integers, numeric(p,s)', '{c_int4::int8,c_float8::int4,c_int8::float8,c_numeric::int4,"c_numeric::numeric(9,1)",c_numeric::float8,c_int4::numeric,c_bool::int}'),
    (8, 'casts of floats to numeric, of numeric to real, of numbers to text', '{c_float8::numeric,c_numeric::real,c_int4::text}'),
    (8.5, 'casts of text', '{c_text::varchar::int,c_text::date,c_text::float8}'),
    (9, '`=` `<>` `<` `<=` `>` `>=` of numbers, dates, timestamps; BETWEEN', '{c_int4 < c_int8,c_numeric = n2,c_date <= d2,c_date < c_timestamp,c_numeric BETWEEN 1 AND 5}'),
    (10, 'IS [NOT] NULL, IS [NOT] TRUE, IS [NOT] DISTINCT FROM, AND, OR, NOT', '{c_int4 IS NULL OR c_bool,c_bool IS NOT TRUE,c_int4 IS DISTINCT FROM g,NOT c_bool AND g > 1}'),
    (11, 'IN, `= ANY` of a constant array', '{"c_int4 IN (1, 5, 9)","c_numeric IN (1, 2.5)","c_int4 = ANY (ARRAY[1, 2])","c_date IN (''2024-01-01'', ''2024-02-01'', ''2024-03-01'', ''2024-04-01'', ''2024-05-01'', ''2024-06-01'', ''2024-07-01'', ''2024-08-01'', ''2024-09-01'', ''2024-10-01'')"}'),
    (12, 'CASE, COALESCE, NULLIF, GREATEST, LEAST of numbers and dates', '{CASE WHEN g > 1 THEN c_int4 ELSE 0 END,"COALESCE(c_numeric, 0)","NULLIF(c_int4, 3)","GREATEST(c_int4, g)","LEAST(c_date, d2)"}'),
    (13, 'date `+` `-` integer, date `-` date; dates and timestamps with constant intervals', '{c_date + 7,c_date - d2,c_date + interval ''1 month'',c_timestamp - interval ''3 days''}'),
    (14, '`extract`, `date_part`, `date_trunc` of dates and timestamps', '{extract(year from c_date),extract(month from c_timestamp),"date_part(''dow'', c_timestamp)","date_trunc(''month'', c_timestamp)",extract(epoch from c_timestamptz)}'),
    (15, 'parts of a timestamptz, `date_trunc` of it or of a date, casts, AT TIME ZONE, with days and months, compared with dates and timestamps', '{extract(hour from c_timestamptz),"date_trunc(''month'', c_date)",c_timestamptz::date,c_timestamptz AT TIME ZONE ''Europe/Berlin'',c_timestamptz + interval ''1 month'',c_timestamptz >= c_date,c_timestamp < c_timestamptz}'),
    (15.3, '`timestamp - timestamp`, `age` of two timestamps; intervals in columns: `+` `-`, `extract`', '{c_timestamp - c_timestamp,"age(c_timestamp, timestamp ''2000-01-01'')",c_timestamp + c_interval,c_interval - c_interval,extract(day from c_interval)}'), (15.6, 'intervals `*` `/` numbers, `justify_days` and its kin, `date_trunc` of intervals', '{c_interval * 2,c_interval / 3,g * interval ''1 hour'',justify_days(c_interval),justify_interval(c_interval),"date_trunc(''hour'', c_interval)"}'),
    (15.7, '`date_bin`, `make_date`, `make_timestamp`, `make_interval`, `to_timestamp`, OVERLAPS, times of timestamps, `timestamp(p)`', '{"date_bin(''5 min'', c_timestamp, ''2000-01-01'')","make_date(2024, c_int4, 1)","make_timestamp(2024, 1, c_int4, 0, 0, 0)","make_interval(days => c_int4)","to_timestamp(c_float8)","(c_timestamp, c_interval) OVERLAPS (c_timestamp, c_interval)",c_timestamp::time,c_date + c_time,c_time + c_interval,c_timestamp::timestamp(0)}'),
    (16, 'LIKE, ILIKE, simple regular expressions, `=` `<` of a text and a constant', '{c_text LIKE ''t%'',c_text ILIKE ''%1'',c_text ~ ''^t.*1'',c_text < ''text 5'',"c_text IN (''text 1'', ''text 2'')"}'),
    (17, '`upper`, `lower`, `initcap`, `substring`, `left`, `right`, `trim`, `replace`, `translate`, `reverse`, `split_part`, `md5`, `length`, `strpos`, `\|\|` of one column', '{upper(c_text),initcap(c_text),"substring(c_text, 1, 2)","left(c_text, 2)",trim(c_text),"replace(c_text, ''t'', ''x'')",reverse(c_text),"split_part(c_text, '' '', 1)",md5(c_text),length(c_text),"strpos(c_text, ''x'')",c_text || ''x''}'),
    (18, 'text `=` text of two columns; CASE, COALESCE, NULLIF over texts', '{c_text = t2,c_text <> c_varchar,upper(c_text) = t2,CASE WHEN g > 1 THEN c_text ELSE ''other'' END,"COALESCE(c_text, t2)","NULLIF(c_text, t2)"}'),
    (19, 'text `<` text and `\|\|` of two columns; functions of a text of several columns', '{c_text < t2,c_text || t2,"upper(COALESCE(c_text, t2))"}'),
    (20, 'functions of jsonb, arrays, inet, bytea, ranges', '{c_jsonb ->> ''a'',"c_array[1]",host(c_inet),length(c_bytea),lower(c_range)}'),
    (20.5, 'user functions of one column of text, jsonb and the like', '{coverage.shout(c_text),coverage.shout(c_jsonb->>''a'') = ''A''}'),
    (21, 'other user functions, volatile functions', '{coverage.verdict(c_text),"coverage.twice(c_int4)",c_float8 + random()}'),
    (22, 'parameters and stable functions', '{c_date < current_date,c_timestamptz < now(),c_int4 < (SELECT max(g) FROM u)}'))
    v(n, label, expressions) ORDER BY n;
\echo
\echo '| Joins, relations | |'
\echo '|---|---|'
SELECT format('| %s | %s |', label, verdicts(queries))
FROM (VALUES (1, 'inner, by one or several equalities, with further conditions', '{SELECT count(*) FROM t JOIN u ON t.k = u.k,SELECT count(*) FROM t JOIN u ON t.k = u.k AND t.g = u.g AND t.c_int4 <= u.c_int8}'::text[]),
    (2, 'inner, by expressions, texts, uuid', '{SELECT count(*) FROM t JOIN u ON t.k + 1 = u.k,SELECT count(*) FROM t JOIN u ON t.c_text = u.c_varchar,SELECT count(*) FROM t JOIN u ON t.c_uuid = u.c_uuid}'),
    (3, 'left, right, full', '{SELECT count(*) FROM t LEFT JOIN u ON t.k = u.k,SELECT count(*) FROM t FULL JOIN u ON t.k = u.k}'),
    (4, 'EXISTS, IN', '{SELECT count(*) FROM t WHERE EXISTS (SELECT FROM u WHERE u.k = t.k),SELECT count(*) FROM t WHERE k IN (SELECT k FROM u)}'),
    (5, 'NOT EXISTS', '{SELECT count(*) FROM t WHERE NOT EXISTS (SELECT FROM u WHERE u.k = t.k)}'), (6, 'NOT IN', '{SELECT count(*) FROM t WHERE k NOT IN (SELECT k FROM u)}'),
    (7, 'without an equality', '{SELECT count(*) FROM t JOIN u ON t.k < u.k,"SELECT count(*) FROM t, u"}'), (8, 'with an aggregated subquery', '{SELECT count(*) FROM t JOIN (SELECT g AS h FROM u GROUP BY g) s ON t.g = s.h}'),
    (9, 'partitioned, temporary, unlogged tables, materialized views', '{SELECT sum(v) FROM part,SELECT sum(k) FROM temporary,SELECT sum(k) FROM unlogged,SELECT sum(k) FROM seen}'),
    (11, 'foreign tables, other access methods, catalogs: joined with other tables', '{SELECT count(*) FROM t JOIN elsewhere e USING (k),SELECT count(*) FROM t JOIN pg_attribute ON k = attnum}'), (12, '... by themselves', '{SELECT sum(k) FROM elsewhere,SELECT count(*) FROM pg_class}'), (10, 'subqueries that are evaluated per row', '{SELECT count(*) FROM t WHERE c_int4 > (SELECT max(u.c_int4) FROM u WHERE u.g = t.g)}'))
    v(n, label, queries) ORDER BY n;
\echo
\echo '| Aggregates, output | |'
\echo '|---|---|'
SELECT format('| %s | %s |', label, verdicts(queries))
FROM (VALUES (1, '`count`, FILTER, HAVING', '{SELECT count(*) FROM t,"SELECT g, count(c_int4) FILTER (WHERE c_bool) FROM t GROUP BY g HAVING count(*) > 3"}'::text[]), (2, '`sum`, `avg` of integers, numeric(p,s), float8', '{"SELECT sum(c_int2), avg(c_int4), sum(c_int8), avg(c_numeric), sum(c_float8), avg(c_float4) FROM t",SELECT sum(CASE WHEN c_bool THEN c_numeric ELSE 0 END) FROM t}'),
    (3, '`sum(real)`', '{SELECT sum(c_float4) FROM t}'), (3.5, '`sum(money)`; `sum`, `avg`, `min` and `max` of intervals', '{SELECT sum(c_money) FROM t,"SELECT sum(c_interval), avg(c_interval) FROM t","SELECT min(c_interval), max(c_interval) FROM t"}'), (4, '`min`, `max` of texts', '{"SELECT min(c_text), max(upper(c_text)) FROM t"}'),
    (5, 'DISTINCT aggregates', '{SELECT count(DISTINCT g) FROM t,"SELECT g, sum(DISTINCT c_int4) FROM t GROUP BY g"}'), (6, '`bool_and`, `bool_or`, `every`', '{SELECT bool_and(c_bool) FROM t,SELECT bool_or(c_bool) FROM t}'), (7, '`bit_and`, `bit_or`', '{SELECT bit_and(c_int4) FROM t}'),
    (8, '`stddev`, `variance`', '{SELECT stddev(c_float8) FROM t,SELECT variance(c_int4) FROM t}'), (9, '`corr`, `covar_pop`, `regr_slope` and their kin', '{"SELECT corr(c_float8, c_float8), covar_pop(c_float8, c_float4), regr_slope(c_float8, c_int4) FROM t"}'), (9.5, '`percentile_cont`, `percentile_disc`, `mode`', '{SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY c_float8) FROM t,SELECT mode() WITHIN GROUP (ORDER BY c_text) FROM t}'), (10, '`string_agg`, `array_agg`', '{"SELECT string_agg(c_text, '','') FROM t","SELECT array_agg(c_int4) FROM t"}'),
    (11, 'GROUP BY expressions', '{"SELECT substring(c_text, 1, 2), count(*) FROM t GROUP BY 1","SELECT CASE WHEN g > 1 THEN ''a'' ELSE ''b'' END, count(*) FROM t GROUP BY 1"}'), (12, 'GROUPING SETS, ROLLUP, CUBE', '{"SELECT g, sum(k) FROM t GROUP BY ROLLUP (g)"}'), (13, 'SELECT DISTINCT', '{SELECT DISTINCT g FROM t}'),
    (14, 'rows', '{"SELECT k, c_text FROM t WHERE g = 1"}'), (15, 'ORDER BY numbers, dates, texts', '{"SELECT k FROM t ORDER BY c_int8 DESC, c_numeric, c_date NULLS FIRST, c_float8",SELECT k FROM t ORDER BY c_text}'), (17, 'window functions, DISTINCT ON', '{"SELECT k, rank() OVER (ORDER BY g), sum(c_int8) OVER (PARTITION BY g ORDER BY k) FROM t","SELECT g, rank() OVER (ORDER BY g) FROM t GROUP BY g","SELECT DISTINCT ON (g) g, k FROM t ORDER BY g, k","SELECT DISTINCT ON (g) g, c_int8, sum(k) FROM t GROUP BY g, c_int8 ORDER BY g, sum(k)"}'), (18, 'LIMIT (what is below comes sorted)', '{"SELECT k FROM t ORDER BY c_int8 LIMIT 5"}'),
    (15.5, 'INTERSECT, EXCEPT', '{SELECT k FROM t INTERSECT SELECT k FROM u,SELECT k FROM t EXCEPT SELECT k FROM u}'),
    (16, 'UNION, INTERSECT ALL, EXCEPT ALL, UNION ALL, aggregates over UNION ALL', '{SELECT k FROM t UNION SELECT k FROM u,SELECT k FROM t INTERSECT ALL SELECT k FROM u,SELECT k FROM t EXCEPT ALL SELECT k FROM u,SELECT k FROM t UNION ALL SELECT k FROM u,SELECT sum(k) FROM (SELECT k FROM t UNION ALL SELECT k FROM u) x}'))
    v(n, label, queries) ORDER BY n;
DROP SCHEMA coverage CASCADE;
DROP ACCESS METHOD other_heap;
