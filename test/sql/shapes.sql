-- Expressions of n parts, of the shapes in which walks have been seen to grow faster than the text: growth.sql asks for their
-- answers, bench/growth.sh for their times.
CREATE TABLE shaped AS
SELECT i AS id, i % 97 AS a, nullif(i % 31, 5) AS b, (i % 89) * 1.25::numeric(12,2) AS c, i % 7 AS d, (i % 83)::float8 AS e, 'w' || i % 61 AS t
FROM generate_series(1, 20000) i;
VACUUM (FREEZE, ANALYZE) shaped;

-- The part for each i of 0 .. n - 1, %1$s standing for i.
CREATE FUNCTION parts(part text, n int, gap text) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(format(part, i), gap ORDER BY i) FROM generate_series(0, n - 1) i);

CREATE FUNCTION shape_query(shape text, n int) RETURNS text LANGUAGE sql
RETURN 'SELECT ' || format(CASE shape
    WHEN 'greatest' THEN 'count(*) FROM shaped WHERE greatest(%1$s) > 90'
    WHEN 'least of numerics' THEN 'count(*) FROM shaped WHERE least(%1$s) > 5'
    WHEN 'greatest as key' THEN 'count(*) FROM (SELECT greatest(%1$s), count(*) FROM shaped GROUP BY 1) x'
    WHEN 'having' THEN 'count(*) FROM (SELECT d FROM shaped GROUP BY d HAVING greatest(%1$s) > 5) x'
    WHEN 'in' THEN 'count(*) FROM shaped WHERE a IN (%1$s)'
    WHEN 'or' THEN 'count(*) FROM shaped WHERE %1$s'
    WHEN 'or of ands' THEN 'count(*) FROM shaped WHERE %1$s'
    WHEN 'and' THEN 'count(*) FROM shaped WHERE %1$s'
    WHEN 'like' THEN 'count(*) FROM shaped WHERE %1$s'
    WHEN 'texts' THEN 'count(*) FROM shaped WHERE %1$s'
    WHEN 'abs' THEN 'sum(%2$sa%3$s) FROM shaped'
    WHEN 'nullif' THEN 'sum(%2$sa%3$s) FROM shaped'
    WHEN 'coalesce' THEN 'sum(coalesce(%1$s)) FROM shaped'
    WHEN 'coalesces' THEN 'sum(%2$sa%3$s) FROM shaped'
    WHEN 'case when' THEN 'sum(CASE %1$s ELSE 0 END) FROM shaped'
    WHEN 'case of numerics' THEN 'sum(CASE %1$s ELSE 0 END) FROM shaped'
    WHEN 'case of texts' THEN 'count(CASE %1$s END) FROM shaped'
    WHEN 'case x when' THEN 'sum(CASE a %1$s ELSE 0 END) FROM shaped'
    WHEN 'case in case' THEN 'sum(%2$sa%3$s) FROM shaped'
    WHEN 'case in then' THEN 'sum(%2$sb%3$s) FROM shaped'
    WHEN 'not' THEN 'count(*) FROM shaped WHERE %2$sa > 5%3$s'
    WHEN 'is not true' THEN 'count(*) FROM shaped WHERE %2$sa > b%3$s'
    WHEN 'sum' THEN 'sum(%1$s) FROM shaped'
    WHEN 'quotients' THEN 'sum(%1$s) FROM shaped'
    WHEN 'square roots' THEN 'max(%2$se%3$s) FROM shaped'
    WHEN 'functions of texts' THEN 'max(%2$st%3$s) FROM shaped'
    WHEN 'concatenation' THEN 'max(length(%1$s)) FROM shaped'
    WHEN 'aggregates' THEN '%1$s FROM shaped'
    WHEN 'keys of a join' THEN 'count(*) FROM shaped x JOIN shaped y ON x.id = y.id + greatest(%1$s)'
    WHEN 'keys' THEN 'count(*) FROM (SELECT %1$s FROM shaped WHERE id < 900 GROUP BY %1$s) x'
    WHEN 'union' THEN 'count(*) FROM (SELECT %1$s FROM shaped WHERE id < 600 UNION SELECT %1$s FROM shaped WHERE id > 19500) x'
    WHEN 'intersect' THEN 'count(*) FROM (SELECT %1$s FROM shaped WHERE id < 600 INTERSECT SELECT %1$s FROM shaped WHERE id > 19500) x'
    WHEN 'except' THEN 'count(*) FROM (SELECT %1$s FROM shaped WHERE id < 600 EXCEPT SELECT %1$s FROM shaped WHERE id > 19500) x' END,
  parts(CASE shape
    WHEN 'in' THEN 'b + %1$s'
    WHEN 'or' THEN '(a = b + %1$s)'
    WHEN 'or of ands' THEN 'a = %1$s AND b = %1$s'
    WHEN 'and' THEN '(a <> b + %1$s)'
    WHEN 'like' THEN 't LIKE ''%%%1$s%%'''
    WHEN 'texts' THEN 't = ''w%1$s'''
    WHEN 'least of numerics' THEN 'c + %1$s.%1$s'
    WHEN 'coalesce' THEN 'nullif(a, %1$s)'
    WHEN 'case when' THEN 'WHEN a = %1$s THEN b + %1$s'
    WHEN 'case of numerics' THEN 'WHEN a = %1$s THEN c * 1.%1$s'
    WHEN 'case of texts' THEN 'WHEN t = ''w%1$s'' THEN t'
    WHEN 'case x when' THEN 'WHEN %1$s THEN b + %1$s'
    WHEN 'sum' THEN 'a * %1$s'
    WHEN 'quotients' THEN 'a / (%1$s + 1)'
    WHEN 'concatenation' THEN 't'
    WHEN 'aggregates' THEN 'sum(a + %1$s)'
    WHEN 'having' THEN 'sum(a) + %1$s'
    WHEN 'keys of a join' THEN 'y.a - y.a - %1$s'
    ELSE 'a + %1$s' END, n,
    CASE WHEN shape IN ('or', 'or of ands', 'like', 'texts') THEN ' OR ' WHEN shape = 'and' THEN ' AND ' WHEN shape LIKE 'case%' THEN ' '
         WHEN shape IN ('sum', 'quotients') THEN ' + ' WHEN shape = 'concatenation' THEN ' || ' ELSE ', ' END),
  parts(CASE shape WHEN 'nullif' THEN 'nullif(' WHEN 'coalesces' THEN 'coalesce(' WHEN 'case in case' THEN 'CASE ' WHEN 'case in then' THEN 'CASE WHEN a > %1$s THEN '
    WHEN 'not' THEN 'NOT (' WHEN 'square roots' THEN 'sqrt(' WHEN 'functions of texts' THEN 'upper(lower(' WHEN 'is not true' THEN '(' ELSE 'abs(' END, n, ''),
  parts(CASE shape WHEN 'nullif' THEN ' + 1, b + %1$s)' WHEN 'coalesces' THEN ' + 1, b + %1$s)' WHEN 'case in case' THEN ' WHEN 1 THEN 2 WHEN 2 THEN 3 ELSE 4 END'
    WHEN 'case in then' THEN ' ELSE a + b END' WHEN 'square roots' THEN '+ 1)' WHEN 'functions of texts' THEN '))' WHEN 'is not true' THEN ') IS NOT TRUE' ELSE ')' END, n, ''));

CREATE FUNCTION shapes() RETURNS SETOF text LANGUAGE sql BEGIN ATOMIC
    SELECT unnest('{greatest,least of numerics,greatest as key,having,in,or,or of ands,and,like,texts,abs,nullif,coalesce,coalesces,case when,case of numerics,case of texts,case x when,case in case,case in then,not,is not true,sum,quotients,square roots,functions of texts,concatenation,aggregates,keys of a join,keys,union,intersect,except}'::text[]);
END;
