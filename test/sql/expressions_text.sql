-- Texts that an expression makes: as group keys, in CASE, beside each other, as join keys; equal texts of two dictionaries.
CREATE SCHEMA expressions_text;
SET search_path = expressions_text, public;
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE t (id int, g int, c text COLLATE "C", x text, v varchar(20), b char(8), phone char(15), n text COLLATE blind);
INSERT INTO t
    SELECT i, i % 5, w, u, u, left(w, 8), nullif(10 + i % 25, 17) || '-' || i % 97, w
    FROM generate_series(1, 1200) i,
         LATERAL (SELECT (ARRAY['apple', 'Apple', 'ápple', 'zebra', 'Zebra', '', ' ', 'a b', 'a-b', 'ab', 'AB', '100%', NULL, 'pad  ', 'pad'])[1 + i % 15], (ARRAY['ab', 'AB', 'apple', '', NULL, 'pad', 'x'])[1 + i % 7]) s(w, u);
CREATE TABLE names (name text, alias varchar(20) COLLATE "C", fixed char(10), rank int);
INSERT INTO names VALUES ('apple', 'Apple', 'ab', 1), ('ab', 'ab', 'ab', 2), ('zebra', NULL, 'pad', 3), ('apple', 'AB', 'pad  ', 4), (NULL, 'pad', NULL, 5), ('', '', '', 6), ('nowhere', 'nowhere', 'nowhere', 7);
VACUUM (FREEZE, ANALYZE) t;

-- group keys
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM t GROUP BY 1', ARRAY['substring(phone FROM 1 FOR 2)', 'substr(c, 1, 1)', 'upper(c)', 'lower(x)', 'left(v, 1)', 'trim(c)', 'c || ''!''', '''<'' || c || ''>''', 'coalesce(c, ''none'')', 'coalesce(c, x)', 'coalesce(x, c, ''neither'')',
    'replace(c, ''a'', ''e'')', 'reverse(c)', 'split_part(c, '' '', 1)', 'md5(x)', 'substring(c FROM ''^a.'')', 'nullif(c, ''ab'')', 'nullif(x, c)', 'b::text', 'c::varchar(2)', 'translate(c, ''a'', ''o'')', 'initcap(x)',
    'CASE WHEN id % 3 = 0 THEN ''third'' WHEN id % 2 = 0 THEN ''even'' ELSE ''odd'' END', 'CASE WHEN g = 1 THEN c ELSE x END', 'CASE WHEN g = 1 THEN c END', 'CASE WHEN g > 1 THEN upper(c) ELSE ''small'' END', 'CASE c WHEN ''ab'' THEN ''AB'' ELSE c END', 'CASE WHEN c LIKE ''a%'' THEN x ELSE upper(x) END',
    'CASE WHEN g = 1 THEN NULL ELSE ''all'' END', 'CASE WHEN g < 3 THEN b END']);
SELECT check_matrix('SELECT %1$s, %2$s, count(*), sum(id) FROM t GROUP BY 1, 2', ARRAY['upper(c)', 'coalesce(x, ''none'')', 'CASE WHEN g = 0 THEN c ELSE ''other'' END'], ARRAY['upper(x)', 'g', 'left(c, 1)', 'coalesce(x, ''none'')']);
SELECT check_matrix('SELECT %1$s, count(*) FROM t GROUP BY 1', ARRAY['c || x', 'CASE WHEN g = 1 THEN b ELSE ''other''::char(8) END', 'greatest(c, x)', 'upper(n)', 'coalesce(n, ''none'')', 'c::varchar(2) COLLATE blind', 'CASE WHEN g = 1 THEN n ELSE ''x'' END', 'length(c || x)', 'upper(CASE WHEN g = 1 THEN c ELSE x END)'], expect => 'any');

-- aggregates
SELECT check_matrix('SELECT g, %s FROM t GROUP BY g', ARRAY['min(upper(c)), max(lower(c))', 'max(c || ''x'')', 'min(left(x, 1)), min(x)', 'count(upper(c)), count(coalesce(c, x))', 'count(nullif(x, c))', 'min(coalesce(c, ''none''))', 'count(CASE WHEN g = 1 THEN ''x'' END)', 'sum(length(c))', 'count(*) FILTER (WHERE c = x)', 'max(substring(phone, 1, 2)) FILTER (WHERE id % 2 = 0)']);
SELECT check_matrix('SELECT %s FROM t', ARRAY['min(upper(c)), max(upper(x)), count(*)', 'min(replace(c, ''a'', ''z'')) FROM t WHERE id < 0 UNION ALL SELECT max(c)', 'min(upper(c) COLLATE "C"), max(upper(x) COLLATE "C")']);
SELECT check_matrix('SELECT g, %s FROM t GROUP BY g', ARRAY['min(coalesce(c, x))', 'max(c || x)', 'min(n)', 'min(CASE WHEN g = 1 THEN c ELSE x END)'], expect => 'any');

-- filters
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['c = x', 'c <> x', 'x = v', 'upper(c) = upper(x)', 'upper(c) <> x', 'c IS DISTINCT FROM x', 'c IS NOT DISTINCT FROM x', 'nullif(c, x) IS NULL', 'coalesce(c, x) = ''ab''', 'coalesce(x, c) <> ''ab''', 'NOT (c = x)', 'c = x OR g = 3', '(c = x) IS UNKNOWN',
    'CASE WHEN g = 1 THEN c ELSE x END = ''ab''', 'CASE WHEN g = 1 THEN c ELSE x END IN (''ab'', ''AB'', '''', NULL)', 'coalesce(c, x) NOT IN (''ab'', ''AB'')', 'substring(phone FROM 1 FOR 2) IN (''13'', ''31'', ''23'', ''29'')', 'b = x', 'c = ANY (ARRAY[''ab'', ''zebra'']::text[])', 'CASE WHEN g = 1 THEN ''a'' ELSE ''b'' END = ''a''', 'coalesce(c, x) IS NULL']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['c < x', 'n = x', 'c || x = ''abab''', 'b = phone', 'b = v', 'b < phone', 'greatest(c, ''b'') = c', 'c LIKE x', 'lower(coalesce(c, x)) = ''ab'''], expect => 'any');
SELECT check_prepared('device', 'SELECT count(*), sum(id) FROM t WHERE coalesce(c, x) = $1 OR c = ANY ($2)', '(text, text[])', '(''ab'', ''{zebra,Zebra}'')', '('''', ''{}'')', '(''nowhere'', ''{apple,NULL}'')', '(''a b'', NULL)');

-- joins
SELECT check_matrix('SELECT count(*), sum(rank), sum(id) FROM t JOIN names ON %s', ARRAY['x = name', 'v = name', 'b = fixed', 'v = name AND c = alias', 'upper(x) = upper(name)', 'x = coalesce(name, alias)', 'coalesce(c, x) = name', 'g = rank AND x = name', 'g = rank AND x <> name', 'left(c, 2) = alias', 'b = name', 'CASE WHEN g = 1 THEN c ELSE x END = name']);
SELECT check_matrix('SELECT name, count(*), sum(id), min(c), max(alias) FROM t JOIN names ON %s GROUP BY name', ARRAY['x = name', 'upper(x) = upper(name)', 'g = rank AND c = x']);
SELECT check_query('SELECT upper(name), left(x, 1), count(*) FROM t JOIN names ON g = rank WHERE name LIKE ''%e%'' OR x = alias GROUP BY 1, 2');
SELECT check_query('SELECT count(*), sum(a.id) FROM t a JOIN t b ON a.c = b.c WHERE b.id < 40');
SELECT check_query('SELECT count(*), sum(a.id) FROM t a JOIN (SELECT name || '''' AS name FROM names OFFSET 0) s ON a.x = s.name');
SELECT check_matrix('SELECT count(*), sum(rank), sum(id) FROM t JOIN names ON %s', ARRAY['n = name COLLATE blind', 'x < name', 'x = name COLLATE "C"'], expect => 'any');

-- texts that come up while several passes run, and many of them
CREATE TABLE many AS SELECT i AS id, i % 3 AS g, 'value ' || i % 15000 AS t, 'VALUE ' || i % 12000 AS u FROM generate_series(1, 18000) i;
VACUUM (FREEZE, ANALYZE) many;
SELECT check_matrix('SELECT %s', ARRAY['upper(t), count(*), sum(id) FROM many GROUP BY 1', 'count(*), min(upper(t)), max(upper(u)) FROM many', 'g, count(*) FROM many WHERE upper(t) = u GROUP BY g', 'right(t, 2), count(*) FROM many GROUP BY 1', 'count(*), sum(a.id) FROM many a JOIN many b ON upper(a.t) = b.u']);
