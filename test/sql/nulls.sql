-- NULL: three-valued logic, columns of nothing but NULL, NULL keys in joins and groups, empty tables on either side.
CREATE SCHEMA nulls;
SET search_path = nulls, public;
CREATE TABLE t (id int, a int, b int, n numeric(8,2), x text, d date, f float8, l bool);
INSERT INTO t SELECT i, nullif(i % 4, 0), nullif(i % 6, 0), nullif(i % 5, 0), nullif('x' || i % 3, 'x0'), date '2024-01-01' + nullif(i % 7, 0), nullif(i % 9, 0), CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END FROM generate_series(1, 600) i;
CREATE TABLE nothing (id int, a int, b int, n numeric(8,2), x text, d date, f float8, l bool);
INSERT INTO nothing SELECT i FROM generate_series(1, 200) i;
CREATE TABLE hollow (LIKE t);
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) nothing;

-- the truth tables, by both operands
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY(
    SELECT format(f, p, q) FROM unnest('{"(%s) AND (%s)","(%s) OR (%s)","NOT ((%s) AND (%s))","NOT ((%s) OR (%s))","((%s) AND (%s)) IS NULL","((%s) OR (%s)) IS NULL","(%s) = (%s)"}'::text[]) f,
           unnest('{a > 2,l,x = $$x1$$,n IS NULL}'::text[]) p, unnest('{b < 3,NOT l,f > 4,d <> $$2024-01-03$$}'::text[]) q));
SELECT check_matrix('SELECT count(*), count(%1$s), min(%1$s), max(%1$s) FROM %2$s', '{a,n,x,d,f}', '{t,nothing,hollow,"t WHERE a IS NULL AND b IS NULL AND x IS NULL"}');
SELECT check_matrix('SELECT count(%1$s), sum(%1$s), avg(%1$s) FROM %2$s', '{a,n,f}', '{t,nothing,hollow,"t WHERE n IS NULL"}');
SELECT check_matrix('SELECT %1$s, count(*), count(a), sum(a), avg(n), min(x), max(d) FROM %2$s GROUP BY %1$s', '{a,n,x,d,l,"a, b","x, l, a"}', '{t,nothing,hollow}');

-- a NULL key never joins, not even with NULL
SELECT check_matrix('SELECT count(*), sum(p.id), sum(q.id) FROM %s', ARRAY(
    SELECT format('%s p JOIN %s q ON %s', p, q, c) FROM unnest('{t,nothing,hollow}'::text[]) p, unnest('{t,nothing,hollow}'::text[]) q,
           unnest('{p.a = q.b AND q.id < 40,p.a = q.b AND p.b = q.a AND p.id = q.id,p.id = q.id,p.d = q.d AND p.id < 30}'::text[]) c));
SELECT check_matrix('SELECT p.a, q.x, count(*), sum(q.n) FROM %s GROUP BY p.a, q.x', ARRAY['t p JOIN t q ON p.id = q.id', 't p JOIN nothing q ON p.id = q.id', 'nothing p JOIN t q ON p.id = q.id', 'hollow p JOIN t q ON p.id = q.id', 't p JOIN hollow q ON p.id = q.id']);
-- constants and parameters that are NULL
SELECT check_matrix('SELECT count(*), sum(a + NULL), min(coalesce(a, b)), sum(CASE WHEN a > 2 THEN b END) FROM %s', '{t,nothing,hollow}', expect => 'any');
-- an empty list says the same of NULL as of anything else
SELECT check_matrix('SELECT count(*), sum(id), count(%1$s), sum((%1$s)::int) FROM %2$s', ARRAY(
    SELECT replace(condition, '{}', format('''{}''::%s[]', type)) FROM (VALUES ('a', 'int'), ('b + 1', 'int'), ('n', 'numeric'), ('x', 'text'), ('upper(x)', 'text'), ('x || ''!''', 'text'), ('x::varchar', 'varchar'), ('x::bpchar', 'bpchar'), ('d', 'date'), ('f', 'float8'), ('l', 'bool')) v(value, type),
        LATERAL (VALUES (value || ' = ANY ({})'), (value || ' <> ALL ({})'), ('NOT ' || value || ' = ANY ({})'), (value || ' < ALL ({})'), (value || ' >= ANY ({})')) c(condition)), '{t,nothing,"t p LEFT JOIN hollow q USING (id, a, b, n, x, d, f, l)"}', expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', '{x LIKE ALL ($$\{\}$$),x NOT LIKE ANY ($$\{\}$$),NOT x ~ ANY ($$\{\}$$),x ILIKE ALL ($$\{\}$$) AND a > 2,x <> ALL ($$\{\}$$) OR a > 2}', expect => 'any');
SELECT check_prepared('device', 'SELECT count(*), sum(id) FROM t WHERE x <> ALL ($1) AND NOT a = ANY ($2)', '(text[], int[])', '(''{}'', ''{}'')', '(''{x1}'', ''{2}'')', '(''{NULL}'', ''{}'')');
