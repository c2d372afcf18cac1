-- Chains of comparisons of one integer with constants, which the CPU engine answers by tables: CASE, ORs, lists of IN. Enough rows for the
-- tables, NULLs, the ends of the types, arms that raise errors.
CREATE SCHEMA step_chains;
SET search_path = step_chains, public;
CREATE TABLE t (id int, i2 int2, i4 int4, i8 int8, n numeric(9,2), d date, ts timestamp, b bool, f float8, s text, zero int);
INSERT INTO t SELECT i, nullif(i % 97, 13) - 40, nullif(i * 7919 % 600, 77) - 300, (i % 211 - 100) * 40000000000, (i % 331) / 4.0 - 20,
    date '2020-01-01' + i % 500, timestamp '2020-01-01' + i % 777 * interval '1 day 5 hours', i % 3 = 0, i / 8.0, 'word ' || i % 9, i % 5
FROM generate_series(1, 9000) i;
INSERT INTO t (id, i2, i4, i8, d, ts) VALUES (0, -32768, -2147483648, -9223372036854775808, '-infinity', '-infinity'),
    (0, 32767, 2147483647, 9223372036854775807, 'infinity', 'infinity'), (0, NULL, NULL, NULL, NULL, NULL);
VACUUM (ANALYZE) t;
-- `pieces`, each as pattern with # for a number of 1 .. n, connected
CREATE FUNCTION many(pattern text, separator text, n int) RETURNS text LANGUAGE sql AS
    $$ SELECT string_agg(replace(pattern, '#', i::text), separator ORDER BY i) FROM generate_series(1, n) i $$;
CREATE FUNCTION check_all(VARIADIC expressions text[]) RETURNS SETOF text LANGUAGE sql AS
    $$ SELECT rpad(left(e, 60), 60) || ' ' || check_query('SELECT id, ' || e || ' FROM t') FROM unnest(expressions) e $$;
CREATE FUNCTION check_conditions(VARIADIC conditions text[]) RETURNS SETOF text LANGUAGE sql AS
    $$ SELECT rpad(left(c, 60), 60) || ' ' || check_query('SELECT id, i4 FROM t WHERE ' || c) FROM unnest(conditions) c $$;
-- constants of every type
SELECT check_all('CASE i4 ' || many('WHEN # * 3 THEN # * 10', ' ', 50) || ' END', 'CASE i2 ' || many('WHEN # THEN #::int8', ' ', 30) || ' ELSE -1 END',
    'CASE ' || many('WHEN i8 < # * 40000000000 THEN # / 4.0', ' ', 60) || ' END', 'CASE ' || many('WHEN n <= # / 2.0 THEN #::float8', ' ', 40) || ' ELSE 0 END',
    'CASE ' || many('WHEN d >= date ''2021-06-01'' - # * 20 THEN date ''2020-01-01'' + #', ' ', 25) || ' END',
    'CASE ' || many('WHEN ts < timestamp ''2020-01-01'' + # * interval ''9 days'' THEN # > 9', ' ', 25) || ' END',
    'CASE i4 ' || many('WHEN # THEN ''word #''', ' ', 20) || ' ELSE ''none'' END', 'CASE i4 ' || many('WHEN # THEN NULL WHEN -# THEN #', ' ', 20) || ' END',
    'CASE WHEN i4 IS NULL THEN -5 ' || many('WHEN i4 BETWEEN # * 7 AND # * 7 + 3 THEN #', ' ', 20) || ' ELSE 0 END',
    'CASE WHEN NOT (i4 > -250) THEN 1 WHEN i4 = 7 OR i4 = 9 OR i4 < -200 THEN 2 WHEN (i4 > 200) IS NOT TRUE THEN 3 WHEN i4 <> 201 THEN 4 END');
-- the ends of the types
SELECT check_all('CASE i2 WHEN -32768 THEN 1 WHEN 32767 THEN 2 WHEN 0 THEN 3 WHEN -1 THEN 4 ELSE 5 END',
    'CASE i4 WHEN -2147483648 THEN 1 WHEN 2147483647 THEN 2 WHEN 0 THEN 3 WHEN -1 THEN 4 ELSE 5 END',
    'CASE i8 WHEN -9223372036854775808 THEN 1 WHEN 9223372036854775807 THEN 2 WHEN 0 THEN 3 WHEN 80000000000 THEN 4 ELSE 5 END',
    'CASE WHEN i8 <= -9223372036854775808 THEN 1 WHEN i8 >= 9223372036854775807 THEN 2 WHEN i8 > 0 THEN 3 WHEN i8 < 0 THEN 4 END',
    'CASE WHEN ts = ''-infinity'' THEN 1 WHEN ts = ''infinity'' THEN 2 WHEN ts > ''2020-05-01'' THEN 3 WHEN d = ''infinity'' THEN 4 WHEN ts < ''2020-02-01'' THEN 5 END');
-- arms that are no constants: shared, many, nested, with errors that are not met or are
SELECT check_all('CASE i4 ' || many('WHEN # THEN i2 * 2', ' ', 40) || ' ELSE 7 END', 'CASE i4 ' || many('WHEN # THEN i8 + #', ' ', 40) || ' END',
    'CASE ' || many('WHEN i4 < # * 10 THEN CASE i2 WHEN 1 THEN # WHEN 2 THEN i4 WHEN 3 THEN -1 WHEN 4 THEN -2 END', ' ', 20) || ' ELSE n END',
    'CASE zero WHEN 0 THEN 0 ' || many('WHEN # THEN 12 / zero', ' ', 6) || ' END', 'CASE zero WHEN 1 THEN 1 ' || many('WHEN # + 1 THEN 12 / zero', ' ', 6) || ' ELSE 7 / zero END',
    'CASE i4 ' || many('WHEN # THEN s', ' ', 9) || many(' WHEN # + 50 THEN ''word #''', ' ', 9) || ' END', 'CASE i4 ' || many('WHEN # THEN f * #', ' ', 9) || ' ELSE f END',
    'CASE i4 + 1 ' || many('WHEN # THEN #', ' ', 20) || ' END', 'CASE i4 % 20 ' || many('WHEN # THEN # * 5', ' ', 19) || ' ELSE i4 END', 'CASE 100 / zero ' || many('WHEN # THEN #', ' ', 9) || ' END');
-- conditions
SELECT check_conditions(many('i4 = # * 3', ' OR ', 40), 'NOT (' || many('i4 = # * 3', ' OR ', 40) || ')', many('i4 <> # * 3', ' AND ', 40),
    many('i4 BETWEEN # * 9 AND # * 9 + 4', ' OR ', 20), 'i4 IS NULL OR ' || many('i4 = #', ' OR ', 20), many('(i4 > # AND i4 < # + 2 OR i4 = -#)', ' OR ', 12), 'i4 IN (' || many('# * 7', ', ', 15) || ')',
    'i8 IN (' || many('# * 40000000000', ', ', 60) || ')', 'i4 NOT IN (' || many('# * 7', ', ', 300) || ')', 'i4 NOT IN (' || many('# * 7', ', ', 30) || ', NULL)', 'i2 IN (' || many('#', ', ', 20) || ', -32768, 32767)',
    'i8 IN (-9223372036854775808, 9223372036854775807, ' || many('#', ', ', 12) || ')', 'd IN (' || many('''2020-02-#''', ', ', 28) || ', ''infinity'')', 'n IN (' || many('# / 8.0', ', ', 90) || ')');
-- in other places, and with parameters
SELECT check_query('SELECT CASE i4 ' || many('WHEN # THEN # % 4', ' ', 50) || ' ELSE 9 END AS g, count(*), sum(CASE i2 ' || many('WHEN # THEN n', ' ', 20) || ' END) FROM t GROUP BY 1');
SELECT check_query('SELECT count(*), sum(a.i4) FROM t a JOIN t b ON CASE a.i4 ' || many('WHEN # THEN #', ' ', 20) || ' END = b.i2 WHERE b.id < 300');
PREPARE chain AS SELECT sum(CASE i4 WHEN $1 THEN 1 WHEN $2 THEN 10 WHEN $1 + 1 THEN 100 WHEN 5 THEN 1000 ELSE 0 END) FROM t;
SET plan_cache_mode = force_generic_plan;
EXECUTE chain(1, 2);
EXECUTE chain(-300, NULL);
RESET plan_cache_mode;
DEALLOCATE chain;
SET client_min_messages = warning;
DROP SCHEMA step_chains CASCADE;
