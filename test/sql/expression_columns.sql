-- Expressions over one row that no device knows are columns of the cache: PostgreSQL evaluates them while pages are brought there.
CREATE SCHEMA expression_columns;
SET search_path = expression_columns, public;
SET client_min_messages = warning;
SET gpuscan.offload = force;
CREATE TABLE e (id int, gone int, t timestamp, z timestamptz, d date, i interval, f float8, n numeric(12,2), a text, b varchar(40), j jsonb, x int[], net inet, big text) WITH (fillfactor = 80);
ALTER TABLE e DROP COLUMN gone;
INSERT INTO e SELECT g, timestamp '2024-01-01' + g * interval '13 hours', timestamptz '2024-01-01 00:00+00' + g * interval '13 hours', date '2024-01-01' + g, g * interval '37 minutes', g / 7.0, g * 1.25,
    'a' || g % 9, 'b' || g % 7, jsonb_build_object('k', g % 5, 'l', jsonb_build_array(g, 'x'), 'n', g), ARRAY[g % 3, g], ('10.0.' || g % 200 || '.1')::inet, repeat(md5(g::text), 1 + g % 3) FROM generate_series(1, 4000) g;
INSERT INTO e (id) VALUES (4001);
INSERT INTO e VALUES (4002, 'infinity', '-infinity', 'infinity', NULL, 'Infinity', -0.01, '', '', 'null', '{}', '::1/64', repeat('big', 50000)),
    (4003, '-infinity', 'infinity', '4713-11-24 BC', '-178000000 years', 'NaN', 9999999999.99, 'ßä€', NULL, '{"k": {"k": 1}}', '{{1,2},{3,NULL}}', NULL, NULL);
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) e;

CREATE TABLE expressions (e text);
INSERT INTO expressions VALUES ('to_char(t, ''YYYY-MM-DD HH24:MI'')'), ('to_char(z, ''YYYY-MM-DD HH24:MI TZ'')'), ('to_char(n, ''FM999G999D00'')'), ('to_char(d, ''TMMonth'')'), ('to_char(f, ''9D99EEEE'')'),
    ('a || b'), ('a || ''-'' || id'), ('concat(a, b, n, z, d)'), ('format(''%s/%s'', a, j)'), ('md5(a || id)'), ('substr(a || b, 2, 2)'), ('strpos(b, a)'), ('translate(b, a, ''xy'')'), ('left(big, 40) || right(big, 5)'),
    ('j ->> ''k'''), ('j #>> ''{l,1}'''), ('j @> ''{"k": 3}'''), ('j ? ''k'''), ('jsonb_typeof(j -> ''k'')'), ('jsonb_array_length(CASE WHEN jsonb_typeof(j -> ''l'') = ''array'' THEN j -> ''l'' END)'), ('jsonb_path_exists(j, ''$.l[*] ? (@ == "x")'')'),
    ('x[1]'), ('x[1][2]'), ('x[id]'), ('x[NULLIF(id % 3, 1)]'), ('(x[2:])[1]'), ('x[:1]::text'), ('j[''l''][0]::text'), ('(regexp_match(a || b, ''([0-9])''))[1]'), ('x @> ARRAY[2]'), ('array_length(x, 1)'), ('array_to_string(x, '','')'), ('cardinality(x) > 1'), ('id = ANY (x)'),
    ('host(net)'), ('masklen(net)'), ('net << inet ''10.0.0.0/9'''), ('sin(f)'), ('atan2(f, n::float8)'), ('cbrt(f) + sinh(0)'), ('justify_hours(i)'), ('to_hex(id) || a'), ('z::text'), ('i::text'), ('length(big)'),
    ('CASE WHEN id % 2 = 0 THEN a || b ELSE b END'), ('COALESCE(j ->> ''none'', b)'), ('GREATEST(a, b, ''m'')'), ('octet_length(j::text)'), ('regexp_replace(a, ''[0-9]'', b)'), ('split_part(b || '','' || a, '','', 2)'), ('(j -> ''n'')::text::jsonb @> ''3''');

CREATE FUNCTION asked(form text) RETURNS TABLE (e text, verdict text) LANGUAGE sql AS $$
    SELECT e, v FROM (SELECT e, check_query(format(form, e)) AS v FROM expressions) s WHERE v NOT LIKE 'ok (%rows)' OR form = '' ORDER BY 1;
$$;
-- as group keys, arguments, conditions; twice, since the second time they come from the cache
SELECT * FROM asked('SELECT %s AS v, count(*), min(id), max(n) FROM e GROUP BY 1');
SELECT * FROM asked('SELECT count(*), count(v), count(DISTINCT v) FROM (SELECT %s AS v FROM e) s');
SELECT * FROM asked('SELECT count(*), sum(id) FROM e WHERE (%s) IS NOT NULL AND (%1$s)::text > ''1''');
SELECT count(*) FROM expressions;
EXPLAIN (COSTS OFF) SELECT to_char(t, 'YYYY'), sum(n) FROM e WHERE a || b > 'a5' GROUP BY 1;

-- What decides the value is part of the column: settings, and the expression.
CREATE TABLE settings (name text, value text);
INSERT INTO settings VALUES ('TimeZone', 'Asia/Kathmandu'), ('TimeZone', 'UTC'), ('DateStyle', 'German'), ('IntervalStyle', 'iso_8601'), ('extra_float_digits', '-5'), ('bytea_output', 'escape'), ('quote_all_identifiers', 'on'), ('timezone_abbreviations', 'India'), ('TimeZone', 'Asia/Kathmandu');
SELECT name, value, set_config(name, value, false) IS NOT NULL AS set, check_query('SELECT to_char(z, ''HH24 TZ''), z::text, d::text, i::text, concat(f), f::text || id, convert_to(a, ''UTF8'')::text || b, quote_ident(a) || b, (t AT TIME ZONE left(''IST'', 3 + id * 0))::text, min(id) FROM e GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9') FROM settings;
RESET TimeZone;
RESET DateStyle;
RESET IntervalStyle;
RESET extra_float_digits;
RESET bytea_output;
RESET quote_all_identifiers;
RESET timezone_abbreviations;

-- ... of a function too that is immutable by its word.
SELECT name, set_config('TimeZone', name, false) IS NOT NULL AS set, check_query('SELECT date_part(''day'', age(CASE WHEN isfinite(z) THEN z END, timestamptz ''2023-10-31 05:00+00'')) || a, count(*) FROM e GROUP BY 1') FROM unnest('{UTC,America/New_York}'::text[]) name;
RESET TimeZone;

-- An error is the query's where PostgreSQL meets it, and nowhere else.
SELECT check_query('SELECT count(*) FROM e WHERE ln(f) > 1', 'any');
SELECT check_query('SELECT count(*) FROM e WHERE id > 10 AND id < 4000 AND ln(f - 1) > 1', 'any');
SELECT check_query('SELECT id, (j ->> ''k'')::int AS k FROM e WHERE id < 4000 ORDER BY k, id LIMIT 3', 'any');
SELECT check_query('SELECT (j ->> ''k'')::int AS k, count(*) FROM e WHERE id < 3000 GROUP BY 1', 'any');
SELECT check_query('SELECT count(*), max(length(repeat(a, 20000))) FROM e', 'any'); -- no page holds these

-- Only pages that change are evaluated again.
CREATE FUNCTION decoded(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE before gpuscan.stat; after gpuscan.stat;
BEGIN
    SELECT * INTO before FROM gpuscan.stat;
    EXECUTE query;
    SELECT * INTO after FROM gpuscan.stat;
    RETURN CASE after.pages_decoded - before.pages_decoded WHEN 0 THEN 'none' WHEN pg_relation_size('e') / 8192 THEN 'all' ELSE 'some' END;
END $$;
SELECT decoded('SELECT a || b, j ->> ''k'', count(*) FROM e GROUP BY 1, 2');
SELECT decoded('SELECT a || b, j ->> ''k'', count(*) FROM e GROUP BY 1, 2');
UPDATE e SET a = 'new', j = '{"k": "new"}' WHERE id IN (7, 1234);
SELECT wait_for_snapshots();
SELECT decoded('SELECT a || b, j ->> ''k'', count(*) FROM e GROUP BY 1, 2');
SELECT check_query('SELECT a || b, j ->> ''k'', count(*) FROM e GROUP BY 1, 2'), decoded('SELECT a || b, j ->> ''k'', count(*) FROM e GROUP BY 1, 2');
-- (another query's columns of the changed pages are there, the expressions are not)
UPDATE e SET a = 'newer' WHERE id = 99;
SELECT check_query('SELECT b, count(*) FROM e GROUP BY 1'), check_query('SELECT a || b, count(*) FROM e GROUP BY 1');

-- One's own changes, of which no page is cached, and rolled back ones.
BEGIN;
UPDATE e SET b = 'mine' WHERE id % 100 = 0;
INSERT INTO e (id, a, b) VALUES (5000, 'own', 'row');
SELECT check_query('SELECT a || b, count(*), sum(length(a || b)) FROM e GROUP BY 1');
SAVEPOINT s;
DELETE FROM e WHERE id < 100;
SELECT check_query('SELECT a || b, count(*), sum(length(a || b)) FROM e GROUP BY 1');
ROLLBACK TO s;
SELECT check_query('SELECT a || b, count(*), sum(length(a || b)) FROM e GROUP BY 1');
ROLLBACK;
SELECT check_query('SELECT a || b, count(*), sum(length(a || b)) FROM e GROUP BY 1');

-- Columns that came later, joins, build sides, several of them, orders.
BEGIN;
ALTER TABLE e ADD COLUMN late text DEFAULT 'rolled back';
SELECT check_query('SELECT late || a, count(*) FROM e GROUP BY 1');
ROLLBACK;
ALTER TABLE e ADD COLUMN late text DEFAULT 'late';
SELECT check_query('SELECT late || a, count(*) FROM e GROUP BY 1');
UPDATE e SET late = 'later' WHERE id % 2 = 0;
SELECT check_query('SELECT late || a, count(*) FROM e GROUP BY 1');
SELECT check_query('SELECT l.a || l.b, r.j ->> ''k'', count(*) FROM e l JOIN e r ON l.id = r.id WHERE r.a || r.b > ''a3'' GROUP BY 1, 2');
SELECT check_query('SELECT count(*) FROM e l JOIN e r ON l.a || l.b = r.b || r.a', 'any');
SELECT check_query('SELECT l.id, r.id FROM e l LEFT JOIN e r ON l.id = r.id + 1 AND r.a || r.b = ''a3b3'' WHERE coalesce(r.a || r.b, l.a || l.b) < ''a4''', 'any');
SELECT check_query('SELECT a || b AS ab, count(*) FROM e GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5', 'any');
SELECT check_query('SELECT to_char(t, ''YYYY''), a || b, count(*) FROM e GROUP BY ROLLUP (1, 2)', 'any');

-- They are shown, and not any more when a column of theirs is gone.
SELECT expression, pages > 0 AS there, attnum IS NULL AND attname IS NULL AS no_attribute FROM gpuscan.cached_columns WHERE relid = 'e'::regclass AND expression ~ '^\(late' GROUP BY 1, 2, 3;
BEGIN;
ALTER TABLE e DROP COLUMN late;
SELECT count(*) FROM gpuscan.cached_columns WHERE relid = 'e'::regclass AND expression ~ '^\(late';
ROLLBACK;

-- A row that an outer join adds is NULL, an expression over it need not be.
SELECT v, check_query(format('SELECT %s, count(*), count(l.id) FROM e l LEFT JOIN (SELECT * FROM e WHERE id < 1000) r ON l.id = r.id GROUP BY 1', v), 'any') FROM unnest('{"concat(r.id, r.a)","coalesce(r.a, ''none'') || coalesce(r.b, ''x'')","num_nulls(r.a, r.id)","(r.j -> ''k'') IS NULL","r.a || r.b","json_build_object(''a'', r.id)::text"}'::text[]) v;
SELECT check_query('SELECT concat(l.a, l.b), concat(r.a, r.b), count(*) FROM e l FULL JOIN e r ON l.id = r.id * 2 GROUP BY 1, 2', 'any'), check_query('SELECT count(*) FROM e l LEFT JOIN e r ON l.id = r.id * 2 WHERE concat(r.a, r.b) = ''''', 'any');

-- Which of two columns has the missing value.
BEGIN;
ALTER TABLE e ADD COLUMN one text DEFAULT 'x', ADD COLUMN two text;
SELECT check_query('SELECT concat(one, ''-'', two, id % 7), count(*) FROM e GROUP BY 1');
ROLLBACK;
BEGIN;
ALTER TABLE e ADD COLUMN one text, ADD COLUMN two text DEFAULT 'x';
SELECT check_query('SELECT concat(one, ''-'', two, id % 7), count(*) FROM e GROUP BY 1');
ROLLBACK;

-- Kinds of tables: partitions whose columns stand elsewhere, unlogged, temporary, empty ones.
CREATE TABLE parts (id int, a text, j jsonb) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE part2 (j jsonb, spare int, a text, id int);
ALTER TABLE part2 DROP COLUMN spare;
ALTER TABLE parts ATTACH PARTITION part2 FOR VALUES FROM (1000) TO (9000);
INSERT INTO parts SELECT id, a, j FROM e WHERE id < 4001;
CREATE UNLOGGED TABLE unlogged AS TABLE parts;
CREATE TEMPORARY TABLE temporary AS TABLE parts;
CREATE TABLE empty (LIKE e);
SELECT name, check_query(format('SELECT a || id %% 7, j ->> ''k'', count(*) FROM %s GROUP BY 1, 2', name)), check_query(format('SELECT a || id %% 7, j ->> ''k'', count(*) FROM %s GROUP BY 1, 2', name)) FROM unnest('{parts,part2,unlogged,temporary,empty}'::text[]) name;
UPDATE unlogged SET a = a || '!' WHERE id % 50 = 0;
SELECT check_query('SELECT a || id % 7, j ->> ''k'', count(*) FROM unlogged GROUP BY 1, 2');

-- The planner knows of which pages an expression is there, whatever else the cache has of them, and when its texts are too many.
CREATE TABLE timed AS SELECT g AS id, timestamp '2024-01-01' + g * interval '1 minute' AS t FROM generate_series(1, 20000) g;
CREATE STATISTICS hours ON (to_char(t, 'DDD HH24')), (to_char(id, 'FM999999x')) FROM timed;
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) timed;
CREATE FUNCTION texts_of(query text) RETURNS float8 LANGUAGE sql AS $$
    SELECT amount FROM gpuscan.explain_cost(query) WHERE component = 'texts' AND alternative = (SELECT DISTINCT device FROM gpuscan.cached_columns WHERE relid = 'timed'::regclass);
$$;
SELECT check_query('SELECT count(*) FROM timed WHERE t > ''2024-01-02''');
CREATE TABLE before AS SELECT texts_of('SELECT count(*) FROM timed WHERE to_char(t, ''DDD HH24'') = ''001 07''') AS texts;
SELECT check_query('SELECT count(*) FROM timed WHERE to_char(t, ''DDD HH24'') = ''001 07''');
SELECT texts > 0 AS "any", texts > 5 * texts_of('SELECT count(*) FROM timed WHERE to_char(t, ''DDD HH24'') = ''001 07''') AS fewer FROM before;
SET gpuscan.offload = auto;
UPDATE pg_class SET reltuples = 1e15 WHERE oid = 'timed'::regclass;
SELECT regexp_replace(r, '\d+', 'N') FROM refusals('SELECT to_char(id, ''FM999999x''), count(*) FROM timed GROUP BY 1') r WHERE r LIKE 'the texts%';
SET gpuscan.offload = force;
DROP TABLE timed;

-- Functions that nobody may evaluate ahead: users' own, of users' types, that look at the clock.
CREATE FUNCTION own(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 || '!'; END $$;
CREATE DOMAIN short AS text CHECK (length(VALUE) < 10);
CREATE TYPE colour AS ENUM ('red', 'green');
CREATE FUNCTION scan_of(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT %s AS v, count(*) FROM e GROUP BY 1', expression) LOOP
        IF line ~ 'Scan: ' THEN
            RETURN trim(line);
        END IF;
    END LOOP;
END $$;
SELECT q, scan_of(q) FROM unnest(ARRAY[$q$own(a || b)$q$, $q$(a || id)::short::text || b$q$, $q$(ARRAY['red'::colour])[id]$q$, $q$age(t) > i$q$, $q$clock_timestamp() > z$q$, $q$random()::text || a$q$, $q$(b || a)::date::text$q$, $q$to_tsvector('english', a) @@ to_tsquery('english', b)$q$, $q$substring(a from '[0-9]+')$q$, $q$substring(big from '[0-9]+')$q$, $q$a || b$q$]) q;

-- ... and those of PostgreSQL that are immutable, but call users' functions or read catalogs or the client's encoding.
CREATE TYPE pair AS (x int, c colour);
CREATE TYPE colours AS RANGE (subtype = colour);
CREATE ROLE expression_grantee;
CREATE TABLE hashed (k int) PARTITION BY HASH (k);
CREATE TABLE named AS SELECT id, a, 'red'::colour AS c, ROW(id % 3, 'red')::pair AS p, ARRAY['red'::colour] AS cs, colours('red', 'green') AS r, makeaclitem('expression_grantee'::regrole, 10, 'SELECT', false) AS acl, 'hashed'::regclass AS class, 'hashed'::regclass::oid AS h, to_tsvector('simple', 'é') AS ts FROM e;
CREATE FUNCTION check_named() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT check_query(format('SELECT %s AS v, count(*) FROM named GROUP BY 1', v), 'any') || ' ' || v FROM unnest('{"concat(c, a)","concat(p, a)","format(''%s'', cs)","to_jsonb(r)::text","concat(acl, a)","concat(class, a)","encode(tsvectorsend(ts), ''hex'') || a","satisfies_hash_partition(h, 4, 0, id)::text || a"}'::text[]) v;
$$;
SELECT check_named();
ALTER TYPE colour RENAME VALUE 'red' TO 'rouge';
ALTER ROLE expression_grantee RENAME TO expression_renamed;
ALTER TABLE hashed RENAME TO renamed;
SET client_encoding = 'LATIN1';
SELECT check_named();
RESET client_encoding;
DROP TABLE renamed;
SELECT check_query('SELECT satisfies_hash_partition(h, 4, 0, id)::text || a, count(*) FROM named GROUP BY 1', 'any') LIKE 'ok (ERROR XX000 could not open relation%';
DROP ROLE expression_renamed;

-- rows that are narrower than the values that are made of them
CREATE TABLE narrow AS SELECT timestamp '2025-01-01' + i * interval '20 seconds' AS at, i % 100 AS v FROM generate_series(1, 3000) i;
VACUUM (FREEZE, ANALYZE) narrow;
SELECT pages_rowwise AS before FROM gpuscan.stat \gset
SELECT check_matrix('SELECT %s, sum(v) FROM narrow GROUP BY 1', ARRAY['to_char(at, ''YYYY-MM-DD HH24:00'')', 'nullif(to_char(at, ''HH24''), ''07'')', 'to_char(at, ''YYYY-MM-DD HH24:MI:SS.US'')']);
SELECT pages_rowwise = :before AS none_by_row FROM gpuscan.stat;
SELECT check_query('SELECT to_char(at, ''YYYY-MM-DD "a long text beside it, and more of it" HH24''), sum(v) FROM narrow GROUP BY 1');

-- Rows whose expression fails, and which a condition drops before PostgreSQL comes to the expression: no fallback.
CREATE TABLE dirty (id int, v jsonb, ok bool, k int);
INSERT INTO dirty SELECT i, jsonb_build_object('v', CASE WHEN i % 97 = 5 THEN 'n/a' ELSE (i % 50)::text END), i % 97 <> 5, i % 3 FROM generate_series(1, 3000) i;
VACUUM (FREEZE, ANALYZE) dirty;
SELECT fallbacks AS before FROM gpuscan.stat \gset
SELECT check_matrix('SELECT (v ->> ''v'')::int / 10, count(*) FROM dirty WHERE %s GROUP BY 1', ARRAY['v ->> ''v'' ~ ''^[0-9]+$''', 'ok', 'ok AND id > 40', 'v ->> ''v'' <> ''n/a'' AND (v ->> ''v'')::int > 20', 'id % 97 <> 5 AND k = 1', 'CASE WHEN ok THEN k < 2 END']);
SELECT fallbacks - :before AS more FROM gpuscan.stat;
-- ... and where PostgreSQL comes to it
SELECT check_matrix('SELECT (v ->> ''v'')::int / 10, count(*) FROM dirty WHERE %s GROUP BY 1', ARRAY['k < 3', '(v ->> ''v'')::int > 20 AND ok', 'v ->> ''v'' ~ ''^n''', 'id < now()::date - date ''2000-01-01'' AND ok', 'k = 5', '(v ->> ''v'')::int > 20 AND v ->> ''v'' ~ ''^[0-9]+$'''], expect => 'any');
CREATE TABLE dirty_parts (ok bool, id int, v jsonb, k int) PARTITION BY LIST (k);
CREATE TABLE dirty_part0 PARTITION OF dirty_parts FOR VALUES IN (0);
CREATE TABLE dirty_part1 (v jsonb, dropped int, k int, id int, ok bool);
ALTER TABLE dirty_part1 DROP dropped;
ALTER TABLE dirty_parts ATTACH PARTITION dirty_part1 FOR VALUES IN (1, 2);
INSERT INTO dirty_parts SELECT ok, id, v, k FROM dirty;
VACUUM (FREEZE, ANALYZE) dirty_parts;
SELECT check_matrix('SELECT (v ->> ''v'')::int / 10, count(*) FROM dirty_parts WHERE %s GROUP BY 1', ARRAY['ok', 'v ->> ''v'' ~ ''^[0-9]+$''', 'k = 1 AND ok', 'NOT ok'], expect => 'any');
SELECT check_matrix('SELECT d.k, sum((d.v ->> ''v'')::int) FROM dirty d %s JOIN dirty_parts p ON p.id = d.id AND %s GROUP BY 1', '{"",LEFT}', ARRAY['d.ok', 'p.ok', 'd.ok AND p.v ->> ''v'' ~ ''^[0-9]+$'''], expect => 'any');

-- A policy's rows: whoever may not see them learns nothing of them.
CREATE ROLE expression_reader;
GRANT USAGE ON SCHEMA expression_columns TO expression_reader;
GRANT SELECT ON e TO expression_reader;
ALTER TABLE e ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON e FOR SELECT TO expression_reader USING (id BETWEEN 100 AND 200);
SET ROLE expression_reader;
SELECT a || b, count(*) FROM e WHERE (j ->> 'k')::int < 2 GROUP BY 1 ORDER BY 1 LIMIT 3;
SELECT count(*) FROM e WHERE ln(f - 14) < 2; -- of the rows that are seen
SELECT count(*) FROM e WHERE 1 / (id - 99) = 1;
RESET ROLE;
-- A function that may not be executed any more.
REVOKE EXECUTE ON FUNCTION jsonb_object_field_text(jsonb, text) FROM PUBLIC;
SET ROLE expression_reader;
SELECT j ->> 'k', count(*) FROM e GROUP BY 1;
RESET ROLE;
GRANT EXECUTE ON FUNCTION jsonb_object_field_text(jsonb, text) TO PUBLIC;
DROP SCHEMA expression_columns CASCADE;
DROP ROLE expression_reader;
