-- Functions that may see only what rows bring to them: user functions, casts that can fail, functions of jsonb, arrays, inet.
-- They are evaluated by PostgreSQL for the values that rows have when everything before them has let the rows pass.
CREATE SCHEMA deferred_evaluation;
SET search_path = deferred_evaluation, public;
SET client_min_messages = warning;
CREATE TABLE t (id int, n int, name text, digits text, c char(8), other varchar(20), j jsonb, a int[], ip inet, b bytea, nm name, u text COLLATE "C");
INSERT INTO t SELECT i, nullif(i % 10, 7), nullif('name ' || i % 50, 'name 7'), CASE i % 3 WHEN 0 THEN (i % 40)::text WHEN 1 THEN 'word ' || i % 5 END,
        'c' || i % 5, 'o' || i % 17,
        CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN '[1, 2, "x"]' WHEN 2 THEN '"text"' ELSE jsonb_build_object('k', 'v' || i % 6, 'n', i % 9, 'x', jsonb_build_object('y', i % 4), 'one', CASE i % 2 WHEN 0 THEN 1.0 ELSE 1 END) END,
        CASE WHEN i % 4 > 0 THEN ARRAY[i % 4, i % 6] END, ('10.0.' || i % 3 || '.' || i % 7)::inet, decode(lpad(to_hex(i % 21), 4, '0'), 'hex'), 'nm' || i % 5, 'u' || i % 8
    FROM generate_series(1, 2500) i;
VACUUM (FREEZE, ANALYZE) t;
CREATE TABLE s AS SELECT i AS id, 'NAME ' || i AS big, 'v' || i AS v, (i % 40)::text AS digits FROM generate_series(0, 60) i;
INSERT INTO s VALUES (99, NULL, NULL, NULL);
VACUUM (FREEZE, ANALYZE) s;

CREATE FUNCTION loud(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN upper($1); END $$;
CREATE FUNCTION last_digit(text) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS $$ BEGIN RETURN right($1, 1)::int; END $$;
CREATE FUNCTION is_odd(text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(right($1, 1)::int % 2 = 1, false); END $$;
CREATE FUNCTION as_day(text) RETURNS date STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN date '2024-01-01' + length($1); END $$;
CREATE FUNCTION weight(text) RETURNS float8 IMMUTABLE LANGUAGE sql SET search_path = deferred_evaluation AS 'SELECT length($1) / 4.0::float8';
CREATE FUNCTION known(text) RETURNS bool STABLE LANGUAGE sql SET search_path = deferred_evaluation AS 'SELECT EXISTS (SELECT FROM s WHERE lower(big) = $1)';
CREATE FUNCTION any_value(text) RETURNS text VOLATILE LANGUAGE plpgsql AS $$ BEGIN RETURN $1; END $$;

-- as filters, keys, arguments; beside each other and one behind the other
SELECT check_matrix('SELECT count(*), sum(id), min(n) FROM t WHERE %s', ARRAY[
    'is_odd(name)', 'NOT is_odd(name)', 'last_digit(name) > 4', 'last_digit(name) IS NULL', 'loud(name) = ''NAME 3''', 'loud(name) LIKE ''%1''', 'as_day(name) < ''2024-01-07''', 'weight(name) > 1.5', 'known(name)',
    'is_odd(name) AND last_digit(u) > 3', 'is_odd(name) OR n > 5', 'n > 5 OR is_odd(name)', 'n > 5 AND last_digit(name) = n', 'last_digit(name) = n', 'last_digit(name) > n AND is_odd(u)', 'loud(name) = upper(other)', 'loud(name) <> name', 'loud(name) IN (''NAME 1'', ''NAME 2'', NULL)',
    'CASE WHEN n > 3 THEN is_odd(name) ELSE last_digit(u) = 2 END', 'CASE WHEN is_odd(name) THEN last_digit(u) > 2 ELSE last_digit(name) > 2 END', 'coalesce(last_digit(name), last_digit(u), 5) = 5', 'CASE WHEN is_odd(name) THEN is_odd(u) WHEN is_odd(u) THEN is_odd(name) END',
    '(is_odd(name) AND n = 3) OR (NOT is_odd(name) AND last_digit(u) = 1)', '(n > 3 AND is_odd(name)) OR (is_odd(name) AND last_digit(u) = 2) OR (last_digit(u) = 3 AND n < last_digit(name))', 'last_digit(name) BETWEEN n AND 8', 'loud(c) = ''C1''', 'last_digit(other) = 3', 'nullif(last_digit(name), n) IS NULL']);
SELECT check_matrix('SELECT %s, count(*), sum(id) FROM t GROUP BY 1', ARRAY['loud(name)', 'last_digit(name)', 'as_day(name)', 'is_odd(u)', 'CASE WHEN n > 4 THEN loud(name) ELSE u END', 'coalesce(loud(name), ''none'')', 'last_digit(name) + n', 'lower(loud(name))']);
SELECT check_matrix('SELECT n, %s FROM t WHERE %s GROUP BY n', ARRAY['sum(last_digit(name))', 'min(as_day(name)), max(weight(u))', 'count(loud(name)), count(DISTINCT last_digit(name))', 'sum(CASE WHEN is_odd(name) THEN id END)', 'count(*) FILTER (WHERE is_odd(name))'], ARRAY['true', 'is_odd(u)', 'n IN (1, 2)']);
SELECT check_matrix('SELECT id, name FROM t WHERE is_odd(name) AND id %% 3 = 1 %s', ARRAY['', 'ORDER BY last_digit(name), id', 'AND id < 30']);
-- joins
SELECT check_matrix('SELECT count(*), sum(t.id), sum(s.id) FROM t %s', ARRAY[
    'JOIN s ON loud(t.name) = s.big', 'JOIN s ON last_digit(t.name) = s.id', 'JOIN s ON t.n = last_digit(s.big)', 'JOIN s ON t.n = s.id AND is_odd(s.v)', 'JOIN s ON t.n = s.id WHERE last_digit(s.v) < last_digit(t.name)', 'LEFT JOIN s ON loud(t.name) = s.big WHERE is_odd(t.name)',
    'LEFT JOIN s ON t.n = s.id AND s.id > 3 WHERE last_digit(s.v) IS NULL', 'JOIN s ON t.n = s.id JOIN s s2 ON s2.id = last_digit(s.v) AND is_odd(s2.v)']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['EXISTS (SELECT FROM s WHERE s.big = loud(t.name))', 'NOT EXISTS (SELECT FROM s WHERE s.id = last_digit(t.name) AND is_odd(s.v))', 'n IN (SELECT last_digit(v) FROM s)']);
SELECT check_matrix('SELECT count(*), sum(t.id), sum(s.id) FROM t %s', ARRAY['FULL JOIN s ON t.n = s.id AND is_odd(t.name)', 'RIGHT JOIN s ON t.n = s.id WHERE last_digit(s.v) > 3', 'LEFT JOIN s ON t.n = s.id AND is_odd(s.v)'], '{""}', 'any');

-- casts that fail: for no row that is seen, then for one
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['id % 3 = 0 AND digits::int > 11', 'CASE WHEN id % 3 = 0 THEN digits::int END > 11', 'id % 3 = 0 AND digits::numeric > 11.5', 'digits ~ ''^\d+$'' AND digits::int = 5', 'CASE WHEN digits ~ ''^(\d)+$'' THEN digits::int8 END > 7', 'id % 3 = 0 AND digits::float8 < n', 'id % 3 <> 1 AND (digits::int > 20) IS NOT TRUE', 'right(name, 1)::int = n', 'name::char(4) = ''name''', 'name::varchar(6) = ''name 1''']);
SELECT check_matrix('SELECT digits::int, count(*) FROM t WHERE %s GROUP BY 1', ARRAY['id % 3 = 0', 'id % 3 <> 1', 'id % 3 = 0 AND n > 4']);
SELECT check_query('SELECT sum(CASE WHEN id % 3 = 0 THEN digits::int END) FROM t');
SELECT check_matrix('SELECT count(*) FROM t WHERE %s', ARRAY['digits::int > 11', 'n > 20 OR digits::int > 11', 'id % 3 = 1 AND digits::int > 11']);
SELECT check_query('SELECT digits::int, count(*) FROM t GROUP BY 1');
-- an error behind a condition that no row passes, one in an arm that no row takes
SELECT check_matrix('SELECT count(*) FROM t WHERE %s', ARRAY['n > 20 AND digits::int > 11', 'CASE WHEN n > 20 THEN digits::int END > 11', 'n = 3 OR n <> 3 OR n IS NULL OR digits::int > 11', 'coalesce(n, 1) > 0 OR coalesce(n, digits::int) > 0']);

-- jsonb
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['j->>''k'' = ''v3''', 'j->>''k'' LIKE ''v%'' AND n > 3', '(j->>''n'')::int > 5', '(j->>''n'')::numeric > 5.5', 'j @> ''{"k": "v1"}''', 'j ? ''k''', 'j ?| ARRAY[''k'', ''z'']', 'NOT j ? ''k''', 'j #>> ''{x,y}'' = ''2''', '(j #>> ''{x,y}'')::int = n', 'jsonb_typeof(j) = ''array''', 'j->1 = ''2''', 'j->''one'' = ''1''', 'j = ''"text"''', 'j->>0 = ''1''', 'j->>''k'' IS NULL', 'j IS NULL', 'j->''x''->>''y'' = ''3''', '(j->''n'')::int = 4', 'j->>''k'' = u', 'j->>''k'' = u', 'jsonb_array_length(CASE WHEN jsonb_typeof(j) = ''array'' THEN j END) = 3', 'j @? ''$.x ? (@.y > 2)''', 'j::text LIKE ''%text%''', 'j <> ''[]'' AND j < ''{}''']);
SELECT check_matrix('SELECT %s, count(*), sum(id) FROM t WHERE %s GROUP BY 1', ARRAY['j->>''k''', '(j->>''n'')::int', 'jsonb_typeof(j)', 'length(j->>''k'')', 'j->>''one''', 'upper(j->>''k'')', 'j::text'], ARRAY['true', 'n > 5']);
SELECT check_query('SELECT n, sum((j->>''n'')::int), avg((j->>''n'')::int8), count(DISTINCT j->>''k''), max((j->>''n'')::float8) FROM t GROUP BY n');
SELECT check_matrix('SELECT count(*), sum(t.id) FROM t %s', ARRAY['JOIN s ON t.j->>''k'' = s.v', 'JOIN s ON (t.j->>''n'')::int = s.id']);
SELECT check_query('SELECT id, j, j->>''k'' FROM t WHERE j->>''k'' = ''v3'' AND id < 400');
SELECT check_query('SELECT count(*) FROM t WHERE jsonb_array_length(j) = 3');
-- other types
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['ip << inet ''10.0.1.0/24''', 'ip < inet ''10.0.1.3''', 'host(ip) = ''10.0.2.2''', 'b < ''\x0005''', 'length(b) = 2', 'get_byte(b, 1) = n', 'a[1] = 2', 'a @> ARRAY[3]', '2 = ANY (a)', 'cardinality(a) = 2', 'a = ARRAY[1, 1]', 'nm = ''nm3''', 'nm < ''nm3''', 'nm LIKE ''nm%''', 'a[1] = n', 'name ~ ''^(na|me)+e [1-3]$''', 'name COLLATE "C" < ''name 3'' COLLATE "C"', 'to_tsvector(''simple'', name) @@ ''name & 3''', 'md5(name)::uuid IS NOT NULL', 'encode(b, ''hex'') LIKE ''%1''']);
SELECT check_matrix('SELECT %s, count(*) FROM t GROUP BY 1', ARRAY['host(ip)', 'a[1]', 'nm::text', 'masklen(ip)', 'length(b)', 'cardinality(a)', 'array_to_string(a, '','')']);
-- what stands around a function is walked through once for each condition: too long for a device is known when the plan is made
-- (script/honest.sh would see a fallback)
SELECT check_query('SELECT sum(' || repeat('coalesce(nullif(greatest(', n) || 'last_digit(name)' || repeat(', n), id % 7), n)', n) || ') FROM t', 'any') FROM generate_series(1, 16, 5) n;

-- parameters, settings, volatile functions
SELECT check_prepared('device', 'SELECT count(*), sum(id) FROM t WHERE j->>$1 = $2', '(text, text)', '(''k'', ''v1'')', '(''n'', ''3'')', '(NULL, NULL)', '(''z'', ''v1'')');
SELECT check_prepared('device', 'SELECT count(*) FROM t WHERE last_digit(name) = $1', '(int)', '(1)', '(2)', '(NULL)');
SELECT check_matrix('SELECT count(*) FROM t WHERE %s', ARRAY['j->>(SELECT min(v) FROM s) IS NULL', 'j->>(SELECT ''k''::text FROM s LIMIT 1) = ''v3''', 'last_digit(name) = (SELECT min(id) + 3 FROM s)', 'j @> (SELECT ''{"k": "v1"}''::jsonb FROM s LIMIT 1)']);
SELECT check_matrix('SELECT count(*) FROM t WHERE %s', ARRAY['any_value(name) = ''name 3''', 'last_digit(any_value(name)) = 3'], '{""}', 'any');
SELECT check_query('SELECT any_value(loud(name)), count(*) FROM t WHERE id < 100 GROUP BY 1', 'any');
-- What PostgreSQL's own immutable functions have made of a value is kept; what a user's has, or one that depends on settings, is not.
CREATE FUNCTION evaluated(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    PERFORM set_config('gpuscan.offload', 'force', true);
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN coalesce((jsonb_path_query_first(plan, 'strict $.**."Values Evaluated"'))::int, 0);
END $$;
CREATE TABLE kept AS SELECT i AS id, 'kept ' || i % 50 AS name, '{"a": ' || i % 5 || '}' AS doc FROM generate_series(1, 2500) i;
VACUUM (FREEZE, ANALYZE) kept;
CREATE TABLE asked (number serial, query text);
INSERT INTO asked (query) VALUES ('SELECT count(*) FROM kept WHERE name ~ ''^kept [1-3]'''), ('SELECT regexp_replace(name, ''[0-9]$'', ''''), count(*) FROM kept WHERE id < 10 GROUP BY 1'),
    ('SELECT regexp_replace(name, ''[0-9]$'', ''''), count(*) FROM kept GROUP BY 1'), ('SELECT sum((doc::jsonb->>''a'')::int) FROM kept'), ('SELECT count(*) FROM kept WHERE is_odd(name)');
SELECT number, evaluated(query) AS first, evaluated(query) AS again FROM asked ORDER BY 1;
SELECT check_query(query) FROM asked ORDER BY number;
INSERT INTO kept SELECT i, 'kept ' || i, NULL FROM generate_series(2498, 2500) i;
SELECT number, evaluated(query) AS first, evaluated(query) AS again FROM asked ORDER BY 1;
SELECT check_query(query) FROM asked ORDER BY number;
SELECT check_query('SELECT regexp_replace(name, ''[0-9]$'', '''') AS short, regexp_replace(name, ''[0-9]$'', '''') < ''kept 3'', count(*) FROM kept GROUP BY 1, 2 HAVING count(*) > 1 ORDER BY 1 DESC LIMIT 4');
-- Settings that immutable functions depend on, and text search configurations, which may change.
CREATE TEXT SEARCH CONFIGURATION mine (COPY = simple);
ALTER TABLE kept ADD COLUMN nn text, ADD COLUMN dogs text;
UPDATE kept SET nn = (id % 8)::text, dogs = 'running dogs ' || id % 8;
VACUUM (FREEZE, ANALYZE) kept;
CREATE TABLE by_settings (number serial, query text);
INSERT INTO by_settings (query) VALUES ('SELECT (nn::float8 / 3)::text, count(*) FROM kept GROUP BY 1'), ('SELECT count(*) FROM kept WHERE length((nn::float8 / 3)::text) > 12'), ('SELECT length(name::bytea::text), count(*) FROM kept GROUP BY 1'),
    ('SELECT quote_ident(name), count(*) FROM kept GROUP BY 1'), ('SELECT count(*) FROM kept WHERE to_tsvector(''deferred_evaluation.mine'', dogs) @@ ''dog''::tsquery');
SELECT check_query(query, 'any') FROM by_settings ORDER BY number;
SET extra_float_digits = -5;
SET bytea_output = escape;
SET quote_all_identifiers = on;
ALTER TEXT SEARCH CONFIGURATION mine ALTER MAPPING FOR asciiword WITH english_stem;
SELECT check_query(query, 'any') FROM by_settings ORDER BY number;
RESET extra_float_digits;
RESET bytea_output;
RESET quote_all_identifiers;
SELECT check_query(query, 'any') FROM by_settings ORDER BY number;
-- rows that are not cached, new values, a value that only deleted rows had
INSERT INTO t (id, n, name, digits, j) SELECT i, i % 5, 'new ' || i, i::text, '{"k": "v9", "n": "none"}' FROM generate_series(3001, 3050) i;
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['is_odd(name)', 'id > 3000 AND digits::int % 2 = 1', 'j->>''k'' = ''v9''', 'n > 20 OR id > 3000 AND (j->>''n'') = ''none''']);
SELECT check_query('SELECT sum((j->>''n'')::int) FROM t');
DELETE FROM t WHERE id > 3000 OR digits LIKE 'word%';
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['digits::int > 10', '(j->>''n'')::int > 4']);
VACUUM t;
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['digits::int > 10', '(j->>''n'')::int > 4']);
-- beside a parallel plan, with an error in it, too
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['(j->>''n'')::int > 4', 'j->>''k'' = ''v3'' AND as_day(name) < current_date', '(j->>''n'')::int > (SELECT min(id) FROM s)', 'other::int > 4']);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- in a cursor, with an error beside it
BEGIN;
SET LOCAL gpuscan.offload = force;
DECLARE one CURSOR FOR SELECT loud(name), count(*) FROM t GROUP BY 1 ORDER BY 1;
FETCH 3 FROM one;
SAVEPOINT before;
\set SHOW_CONTEXT never
SELECT count(*) FROM t WHERE last_digit(other || 'x') > 3;
ROLLBACK TO before;
FETCH 2 FROM one;
COMMIT;
DROP SCHEMA deferred_evaluation CASCADE;
