-- bool: as filter, operand, group key and CASE condition, in three-valued logic.
CREATE SCHEMA types_bool;
SET search_path = types_bool, public;
CREATE TABLE t (id int, b bool, c bool NOT NULL, i int);
INSERT INTO t SELECT i, CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, i % 7 < 3, nullif(i % 5, 2) FROM generate_series(1, 700) i;
VACUUM (FREEZE, ANALYZE) t;

SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['b', 'NOT b', 'c', 'NOT c', 'b AND c', 'b OR c', 'NOT (b AND c)', 'NOT (b OR NOT c)', 'b IS NULL', 'b IS NOT NULL', 'b IS TRUE', 'b IS NOT TRUE',
    'b IS FALSE', 'b IS NOT FALSE', 'b IS UNKNOWN', 'b IS NOT UNKNOWN', 'b = c', 'b <> c', 'b < c', 'b >= c', 'b = (i > 2)', 'b = true', 'b <> false', 'coalesce(b, c)', 'CASE WHEN b THEN c ELSE i > 2 END',
    'CASE WHEN b THEN NULL ELSE c END', 'b AND (i > 1 OR i IS NULL)', '(b AND i > 1) OR (NOT b AND i < 1) OR i IS NULL', '(b OR i > 3) IS UNKNOWN', '(b AND i > 3) IS NOT TRUE']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['b IS DISTINCT FROM c', 'b::int = 1', 'b IN (true)', 'nullif(b, c)', 'b::text = ''true''', 'row(b, c) = row(true, true)'], expect => 'any');
SELECT check_matrix('SELECT %1$s, count(*), sum(id), count(b) FROM t GROUP BY %1$s', '{b,c,"b, c","b, i","i > 2","b AND c","(b OR i > 3) IS UNKNOWN"}');
SELECT check_matrix('SELECT i, %s FROM t GROUP BY i', ARRAY['count(*) FILTER (WHERE b)', 'sum(id) FILTER (WHERE NOT b AND c)', 'count(b) FILTER (WHERE b IS NULL)', 'sum(CASE WHEN b THEN 1 ELSE 0 END)', 'sum(CASE WHEN b THEN id END)'], expect => 'any');
SELECT check_matrix('SELECT %s FROM t', ARRAY['bool_and(b)', 'bool_or(b)', 'every(c)', 'min(b::int)', 'bool_and(b) FILTER (WHERE c)'], expect => 'any');
SELECT check_query('SELECT a.b, count(*) FROM t a JOIN t x ON a.b = x.c AND a.id = x.id GROUP BY a.b', 'any');
