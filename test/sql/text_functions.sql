-- Small letters and capitals, LIKE without regard to case, fields, and what is trimmed, replaced or added: of texts that differ, by a device.
CREATE SCHEMA text_functions;
SET search_path = text_functions, public;
CREATE TABLE t (id int, word text, code varchar(12), fixed char(6), c text COLLATE "C", u text COLLATE "C.utf8");
INSERT INTO t SELECT i, w, left(w, 9) || i % 7, left(w, 3), w, w
    FROM generate_series(1, 4000) i,
         LATERAL (SELECT (ARRAY['Straße', 'STRASSE', 'Große ÄÖÜ', 'ĲSSEL ĳ', 'İstanbul', 'ıspanak', 'Kelvin', 'kelvin', 'ΣΊΣΥΦΟΣ', 'σίσυφος', 'ŽIVOT života', 'Ⱥ ⱥ ẞ ß', '𐐀𐐨 deseret', '𠀀 plane', '😀 Smile', 'ǅ ǆ Ǆ', '', 'a_B%c\D', 'Refund', 'reFUND please'])[1 + i % 20] || CASE WHEN i % 3 > 0 THEN ' #' || i % 97 ELSE '' END) x(w);
UPDATE t SET word = NULL, c = NULL WHERE id % 41 = 0;
VACUUM (FREEZE, ANALYZE) t;
SELECT check_matrix('SELECT count(*), sum(id), min(id) FROM t WHERE %s ILIKE %s', '{word,code,fixed,c,u,"word NOT","c NOT"}',
    ARRAY['''refund%''', '''%FUND%''', '''%ß%''', '''kELVIN%''', '''%σΣ%''', '''i%''', '''İ%''', '''_strasse%''', '''stra_e%''', '''%ä_ü%''', '''𐐀%''', '''%\_b\%%''', '''''', '''%''', '''😀%''', '''ⱥ%''', '''%#1_''']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['lower(word) = ''kelvin''', 'upper(word) = ''STRASSE''', 'lower(word) LIKE ''%ž%''', 'upper(c) LIKE ''%Ä%''', 'lower(u) IN (''refund'', ''kelvin'', ''σίσυφος'')',
    'length(lower(word)) > 12', 'octet_length(upper(word)) <> octet_length(word)', 'strpos(lower(word), ''fund'') > 0', 'starts_with(lower(word), ''re'')', 'left(upper(word), 2) = ''RE'' OR word IS NULL', 'lower(code) = ''refund1''', 'lower(fixed) = ''ref''',
    'lower(upper(word)) = ''refund''', 'upper(left(word, 3)) LIKE ''_E_''', 'word ILIKE ''re%'' AND c NOT ILIKE ''%please%''', 'word ILIKE NULL', 'lower(word) <> upper(word)', 'lower(word COLLATE "C") <> lower(word)', 'word COLLATE "C" ILIKE ''%ä%''', 'lower(word COLLATE "POSIX") = ''ab'' OR lower(word) = ''kelvin''']);
SELECT check_matrix('SELECT %s AS x, count(*), min(id) FROM t GROUP BY 1', '{lower(word),upper(word),lower(c),upper(u),upper(code),lower(fixed),"left(lower(word), 4)"}');
SELECT check_matrix('SELECT count(DISTINCT %1$s), min(%1$s), max(%1$s) FROM t', '{lower(c),upper(c),lower(word)}');
SELECT check_query('SELECT count(*) FROM t a JOIN t b ON lower(a.word) = lower(b.code) WHERE a.id < 500');
SELECT check_matrix('SELECT %s AS x, count(*), min(id) FROM t GROUP BY 1', ARRAY['split_part(word, '' #'', 2)', 'split_part(word, ''a'', -1)', 'split_part(word, '''', 1)', 'split_part(word, '''', 2)', 'split_part(word, ''σ'', 2)', 'split_part(fixed, ''a'', 1)',
    'btrim(word, ''Sß 𐐀3'')', 'ltrim(word, ''σΣstr'')', 'rtrim(word, ''0123456789# '')', 'btrim(word)', 'ltrim(fixed)', 'btrim(word, '''')', 'replace(word, ''ß'', ''s'')', 'replace(word, '' #'', ''#'')', 'replace(word, ''a'', '''')', 'replace(word, '''', '''')',
    'word || ''.''', '''<'' || code', '''<'' || lower(split_part(word, '' '', 1)) || ''>''', 'replace(upper(btrim(word, ''#'')), ''SS'', ''ß'')']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['split_part(word, '' '', 1) = ''Refund''', 'replace(lower(word), ''ss'', ''ß'') LIKE ''%aße%''', 'length(btrim(word, ''Ref'')) < 4', 'word || ''!'' ILIKE ''%d!''', '''>'' || word LIKE ''>K%''']);
-- the device process does it, as it does LIKE
CREATE FUNCTION texts_work(condition text) RETURNS float8 LANGUAGE sql AS
    $$ SELECT sum(amount) FROM gpuscan.explain_cost('SELECT count(*) FROM text_functions.t WHERE ' || condition) WHERE alternative = 'host' AND component = 'texts' AND work = 'backend_row' $$;
SELECT condition, texts_work(condition) IS NOT DISTINCT FROM texts_work('word LIKE ''a%b''') AS as_like FROM unnest(ARRAY['word ILIKE ''a%b''', 'lower(word) = ''ab''', 'upper(word) LIKE ''A_''', 'split_part(word, ''#'', 1) = ''ab''', 'replace(word, ''a'', ''b'') = ''ab''', 'btrim(word) || ''!'' = ''ab!''', 'initcap(word) = ''Ab''']) condition;
-- texts that come later
INSERT INTO t SELECT i, 'Later ÄRGER ' || i, 'LATER' || i, 'Lat', 'lAter' || i, 'LÄTER' FROM generate_series(5000, 5300) i;
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['word ILIKE ''later ä%''', 'lower(c) LIKE ''later51%''', 'u ILIKE ''lä%''']);
SELECT check_query('SELECT upper(word), count(*) FROM t WHERE id > 4900 GROUP BY 1');
-- parameters
SELECT check_prepared('device', 'SELECT count(*), sum(id) FROM t WHERE word ILIKE $1', '(text)', '(''reFund%'')', '(''%ÄR%'')', '(NULL)');
DROP SCHEMA text_functions CASCADE;
