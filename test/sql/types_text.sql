-- text, varchar, bpchar, through dictionaries: collations, padding, empty strings and NULL, many distinct values, values
-- that are compressed or toasted, filters by built-ins. PostgreSQL evaluates them all; the device only sees codes.
CREATE SCHEMA types_text;
SET search_path = types_text, public;
CREATE COLLATION icu_en (provider = icu, locale = 'en-US');
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE t (id int, g int, c text COLLATE "C", x text, u text COLLATE "und-x-icu", e text COLLATE icu_en, n text COLLATE blind, v varchar(20), b char(8));
INSERT INTO t
    SELECT i, i % 4, w, w, w, w, w, w, left(w, 8)
    FROM generate_series(1, 900) i,
         LATERAL (SELECT (ARRAY['apple', 'Apple', 'ápple', 'zebra', 'Zebra', 'ärger', '', ' ', 'a b', 'a-b', 'ab', 'AB', 'co-op', 'coop', '100%', 'a_b', 'line' || chr(10) || 'two', NULL, 'straße', 'STRASSE', '日本', 'pad  ', 'pad'])[1 + i % 23]) s(w);
VACUUM (FREEZE, ANALYZE) t;

-- groups, counts, smallest and largest by the column's collation
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM t GROUP BY %1$s', '{c,x,u,e,v,"c, g","v, x, g"}');
SELECT check_matrix('SELECT count(%1$s), min(%1$s), max(%1$s) FROM t %2$s', '{c,x,u,e,v,b}', '{"","WHERE g = 2","WHERE c > ''a''","WHERE x IS NULL","WHERE id < 0"}');
SELECT check_matrix('SELECT g, min(%1$s), max(%1$s), count(%1$s) FROM t GROUP BY g', '{c,x,u,e,v,b}');
SELECT check_query('SELECT min(u COLLATE "C"), max(c COLLATE "und-x-icu") FROM t', 'any');
-- padding does not count in char(n), and equality is not identity under a nondeterministic collation
SELECT check_query('SELECT b, count(*) FROM t GROUP BY b', 'any');
SELECT check_matrix('SELECT %s FROM t', ARRAY['count(*), min(n)', 'count(*) FROM t WHERE n = ''APPLE'' UNION ALL SELECT count(*)', 'count(*) FROM t WHERE n < ''b'' UNION ALL SELECT count(*)'], expect => 'any');
SELECT check_query('SELECT n, count(*) FROM t GROUP BY n', 'cpu');

-- comparisons
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY(
    SELECT format('%s %s %s', a, op, b) FROM unnest('{c,x,u,e,v,b}'::text[]) a, unnest('{=,<>,<,<=,>,>=}'::text[]) op, unnest(ARRAY['''ab''', '''zebra''', '''''', '''pad''', '''nowhere''']) b));
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['c LIKE ''a%''', 'c NOT LIKE ''%p%''', 'x LIKE ''a\_b''', 'c LIKE ''_b''', 'v LIKE ''%p%l%''', 'c ILIKE ''APP%''', 'c ~ ''^a.b$''', 'u ~* ''^z''', 'c !~ ''p''',
    'upper(c) = ''APPLE''', 'lower(u) = ''ärger''', 'length(c) > 4', 'substring(c FROM 1 FOR 2) = ''ap''', 'left(c, 1) = ''a''', 'c IN (''ab'', ''zebra'', ''x'')', 'c NOT IN (''ab'', ''zebra'')', 'c IN (''ab'', NULL)', 'c IS NULL', 'c IS NOT NULL',
    'c = ''ab'' OR v = ''coop''', 'c = ''ab'' AND g > 1', 'NOT (c = ''ab'')', 'c BETWEEN ''a'' AND ''b''', 'CASE WHEN c LIKE ''a%'' THEN g = 1 ELSE g = 2 END', 'c <> '''' AND length(c) < 4']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['c = x', 'c = v', 'c < u COLLATE "C"', 'b = ''pad  ''', 'b = ''pad''::text', 'b LIKE ''pad%''', 'b::text = ''pad''', 'c || v = ''abab''', 'c || ''x'' = ''abx''', 'c COLLATE "und-x-icu" < ''b''',
    'coalesce(c, ''none'') = ''none''', 'position(''p'' in c) = 2', 'starts_with(c, ''ap'')', 'c ^@ ''ap''', 'md5(c) < ''8''', 'length(c || v) = 4', 'initcap(c) = ''Apple''', 'trim(c) = ''''', 'replace(c, ''a'', ''b'') = ''bb''', 'c SIMILAR TO ''(ab|zebra)''',
    'ascii(c) = 97', 'octet_length(c) = 6', 'char_length(b) = 3', 'c = ANY (ARRAY[''ab'', ''zebra''])', 'c IS DISTINCT FROM ''ab''', 'nullif(c, ''ab'') IS NULL', 'split_part(c, '' '', 1) = ''a''', 'reverse(c) = ''ba''', 'c > ''a'' COLLATE "und-x-icu"', 'n COLLATE "C" LIKE ''a%''', 'n = ''AB'''], expect => 'any');
-- keys and arguments computed from text
SELECT check_matrix('SELECT %1$s, count(*) FROM t GROUP BY 1', ARRAY['length(c)', 'substring(c FROM 1 FOR 1)', 'upper(c)', 'left(v, 2)', 'c LIKE ''a%''', 'coalesce(c, ''none'')', 'c || v'], expect => 'any');
SELECT check_matrix('SELECT g, %s FROM t GROUP BY g', ARRAY['sum(length(c))', 'min(upper(c))', 'count(nullif(c, ''ab''))', 'max(c || v)', 'count(DISTINCT c)', 'count(c) FILTER (WHERE c LIKE ''a%'')'], expect => 'any');

-- joins on text: equal bytes in two dictionaries
CREATE TABLE names (name text, alias varchar(20) COLLATE "C", fixed char(10), rank int);
INSERT INTO names VALUES ('apple', 'Apple', 'ab', 1), ('ab', 'ab', 'ab', 2), ('zebra', NULL, 'pad', 3), ('apple', 'coop', 'pad  ', 4), (NULL, 'pad', NULL, 5), ('', '', '', 6), ('nowhere', 'nowhere', 'nowhere', 7);
SELECT check_matrix('SELECT count(*), sum(rank), sum(id) FROM t JOIN names ON %s', ARRAY['x = name', 'c = alias', 'v = name', 'b = fixed', 'x = name AND v = alias', 'n = name COLLATE blind', 'upper(x) = upper(name)', 'b = name'], expect => 'any');
SELECT check_query('SELECT name, rank, count(*), sum(id) FROM t JOIN names ON g = rank GROUP BY name, rank');
SELECT check_query('SELECT name, count(*), min(alias), max(c) FROM t JOIN names ON g = rank WHERE name LIKE ''%e%'' AND alias > ''A'' GROUP BY name');

-- many distinct values
CREATE TABLE many AS SELECT i AS id, i % 3 AS g, 'value ' || i % 15000 AS t, md5((i % 12000)::text) AS m FROM generate_series(1, 18000) i;
VACUUM (FREEZE, ANALYZE) many;
SELECT check_matrix('SELECT %s', ARRAY['t, count(*), sum(id) FROM many GROUP BY t', 'count(*), min(t), max(t), min(m), max(m) FROM many', 'g, count(*) FROM many WHERE t LIKE ''%99%'' GROUP BY g', 'count(*) FROM many WHERE m < ''8''', 'count(*) FROM many WHERE t = ''value 1234''']);
CREATE TABLE distinct_only AS SELECT i AS id, md5(i::text) AS m FROM generate_series(1, 3000) i;
SELECT check_query('SELECT min(m), max(m), count(*) FROM distinct_only', 'any');

-- compressed in place, toasted, and short ones between them
CREATE TABLE wide (id int, g int, t text, k int);
INSERT INTO wide SELECT i, i % 5, CASE i % 4 WHEN 0 THEN repeat('compressible ' || i % 3, 300) WHEN 1 THEN (SELECT string_agg(md5((i % 8)::text || j), '') FROM generate_series(1, 300) j) WHEN 2 THEN 'short ' || i END, i * 2 FROM generate_series(1, 200) i;
VACUUM (FREEZE, ANALYZE) wide;
SELECT count(*) FILTER (WHERE length(t) > 8000) > 0 AND bool_or(pg_column_size(t) < length(t) / 2) AS has_both FROM wide;
SELECT check_matrix('SELECT %s', ARRAY['count(t), min(t), max(t) FROM wide', 'g, count(*), min(t) FROM wide GROUP BY g', 't, count(*), sum(k) FROM wide GROUP BY t', 'sum(k) FROM wide WHERE t LIKE ''%e 2compress%''', 'count(*) FROM wide WHERE t = repeat(''compressible 0'', 300)', 'sum(length(t)) FROM wide'], expect => 'any');
-- columns beside the toasted one do not care
SELECT check_query('SELECT g, count(*), sum(k) FROM wide GROUP BY g');
ALTER TABLE wide ALTER t SET STORAGE EXTERNAL;
UPDATE wide SET t = t || 'x' WHERE id % 2 = 1;
SELECT check_matrix('SELECT %s', ARRAY['count(t), min(t), max(t) FROM wide', 't, count(*), sum(k) FROM wide GROUP BY t'], expect => 'any');

-- bytes that are no text: functions fail for them, but only as long as a row has them (dictionaries keep what rows had)
CREATE FUNCTION as_text(bytea, int, int) RETURNS text LANGUAGE internal IMMUTABLE STRICT AS 'bytea_substr';
CREATE TABLE damaged (id int, t text) WITH (autovacuum_enabled = off);
INSERT INTO damaged SELECT i, 'text ' || i % 3 FROM generate_series(1, 1000) i;
INSERT INTO damaged VALUES (0, as_text('\xc3', 1, 1));
VACUUM (FREEZE, ANALYZE) damaged;
SELECT check_query('SELECT count(*), sum(id) FROM damaged WHERE t LIKE ''text%''', 'any');
SELECT check_query('SELECT count(t) FROM damaged', 'any');
DELETE FROM damaged WHERE id = 0;
SELECT check_query('SELECT count(*), sum(id) FROM damaged WHERE upper(t) = ''TEXT 1''', 'any');
SELECT check_query('SELECT count(*), sum(id) FROM damaged WHERE upper(t) = ''TEXT 1''');
