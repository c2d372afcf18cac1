-- Functions of texts that the device process evaluates itself, over characters of one to four bytes, NULL, empty, long and toasted
-- texts, with blanks at the end and with the signs of patterns in them; and the numbering of what they make of a text.
CREATE SCHEMA texts;
SET search_path = texts, public;
CREATE TABLE t (id int, a text, v varchar(60), c char(12));
ALTER TABLE t ALTER a SET STORAGE EXTERNAL;
INSERT INTO t
SELECT i, CASE i % 41 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN repeat('long ä text ', 40 + i % 7) WHEN 3 THEN repeat('toasted €', 700 + i % 3)
           ELSE (ARRAY['ab', 'äb', 'a%', 'b_', '\x', '€a', '😀', 'ÄB', 'a b', '  ', 'special', 'requests'])[1 + i % 12] || (ARRAY['', 'a', 'b ', '%', '_', '\', '€', 'ä😀'])[1 + i % 8] || i % 23 END,
    nullif((ARRAY['x', 'ä', 'special', ' '])[1 + i % 4] || i % 60, 'x7'), nullif((ARRAY['c', 'cä', 'c  d', ''])[1 + i % 4] || i % 9, 'c3')
FROM generate_series(1, 4000) i;
VACUUM (FREEZE, ANALYZE) t;
CREATE FUNCTION texts_check() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s %L', '{a LIKE,a NOT LIKE,v LIKE}',
        ARRAY['', '%', '%%', '_', '__%', 'a%', '%a', '%a%', 'ä%', '%€', '%_€%', '_b%', '%a%b%', 'a\%%', '%\_%', '%\\%', '\\x%', '%special%1%', '%€_', '%😀1', '%ä_1_', '____', '%t %ä%t ', 'toasted%€'])
    UNION ALL
    SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s %L', '{c LIKE,c NOT LIKE,c =,c <>}', ARRAY['c%', 'c1', 'c1          ', '%ä%', '%1 %', '_ä_%', '            ', ''])
    UNION ALL
    SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY[
        'a = ''''', 'a <> ''ab1''', '''äb'' = a', 'a ^@ ''a''', 'starts_with(a, ''ä'')', 'v IN (''x1'', ''ä2'', '' 3'')', 'v NOT IN (''x1'', ''ä2'')', 'v IN (''x1'', NULL)', 'c IN (''c1'', ''cä2  '')',
        'length(a) = 4', 'length(a) > 400', '6 <= char_length(v)', 'length(c) <> 2', 'octet_length(a) > length(a)', 'octet_length(a) = 5', 'octet_length(c) > 12', 'strpos(a, ''€'') = 1', 'position(''b'' in a) > 2', 'strpos(a, '''') = 1',
        'substring(a from 2 for 1) = ''b''', 'substring(a from -1 for 3) = ''€''', 'substr(a, 2) = ''''', 'left(a, 2) = ''äb''', 'left(a, -3) = ''''', 'right(a, 2) = ''€1''', 'right(a, -2) = ''1''', 'left(v, 1) IN (''x'', ''ä'')', 'substring(c from 1 for 2) = ''cä''',
        'a LIKE ''%a%'' AND NOT (a LIKE ''%b%'' OR v LIKE ''x%'')', 'a LIKE ''a%'' OR a IS NULL', 'a IS NOT NULL AND length(a) < 3', 'NOT a LIKE ''%1%''', 'rtrim(v) LIKE ''%1'''])
    UNION ALL
    SELECT check_matrix('SELECT %s, count(*), sum(id) FROM t GROUP BY 1', ARRAY['length(a)', 'left(a, 1)', 'right(v, 1)', 'substring(a from 2 for 2)', 'substring(c from 1 for 2)', 'strpos(a, ''b'')', 'c::text', 'upper(left(v, 2))', 'left(a, 1) = left(v, 1)', 'CASE WHEN id % 2 = 0 THEN left(a, 1) ELSE ''none'' END', 'coalesce(left(v, 1), ''?'')'])
    UNION ALL
    SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['left(a, 1) = left(v, 1)', 'left(a, 2) = v', 'right(v, 1) = ''1''', 'left(v, 1) = ''ä'' AND left(a, 1) = ''a''', 'upper(v) = upper(a)', 'lower(left(a, 1)) IN (''a'', ''ä'')'])
$$;
SELECT texts_check();
SELECT texts_check();
-- the dictionaries grow, and so do the tables and the numberings that are kept
INSERT INTO t SELECT i, 'neu ä' || i, 'neu' || i % 50, 'n' || i % 20 FROM generate_series(5001, 5400) i;
SELECT texts_check();
VACUUM t;
SELECT texts_check();
-- patterns that end in an escape are errors, where PostgreSQL gets that far
SELECT count(*) FROM t WHERE a LIKE 'a\';
SELECT count(*) FROM t WHERE v LIKE '%1%\';
-- other sessions find what this one has left
\c -
SET search_path = texts, public;
SELECT texts_check();
SELECT gpuscan.evict() IS NOT NULL AS evicted;
SELECT texts_check();
