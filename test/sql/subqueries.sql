-- Subqueries that PostgreSQL evaluates row by row, planned as joins: the same rows, NULLs, errors, privileges.
CREATE SCHEMA subqueries;
SET search_path = subqueries, public;
SET client_min_messages = warning;
CREATE TABLE o (id int PRIMARY KEY, k int, g int NOT NULL, k8 int8, k2 int2, v int, n numeric(8,2), s text, c char(4), d date, z int);
INSERT INTO o SELECT i, nullif(i % 23, 7), i % 11, i % 23, i % 23, i % 50 - 10, (i % 400) / 3.0, 'word ' || i % 13, i % 9,
    date '2024-01-01' + i % 30, i % 5 FROM generate_series(1, 150) i;
CREATE TABLE i (id int PRIMARY KEY, k int, g int NOT NULL, k8 int8, v int, n numeric(8,2), w numeric, f float8, b bool, s text, c char(4), d date);
INSERT INTO i SELECT i, nullif(i % 29, 5), i % 7, i % 29, nullif(i % 40, 3), (i % 500) / 7.0, i / 7.0, i / 8.0, i % 3 = 0, 'word ' || i % 17, i % 11,
    date '2024-01-10' + i % 30 FROM generate_series(1, 400) i;
CREATE TABLE one_null (k int);
INSERT INTO one_null VALUES (NULL);
CREATE TABLE few (k int, m int NOT NULL);
INSERT INTO few VALUES (1, 1), (2, 2), (2, 2), (NULL, 3);
CREATE TABLE no (LIKE i);
VACUUM (FREEZE, ANALYZE) o, i, one_null, few, no;

-- How is a statement planned? joined: no subquery is evaluated by row.
CREATE FUNCTION shape(statement text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    line text;
    shape text := 'joined';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
        IF line ~ '(SubPlan|exists\()' AND line !~ 'never' THEN
            shape := 'by row';
        END IF;
    END LOOP;
    RETURN shape;
END $$;
-- The query's verdict (see check_query), and its shape.
CREATE FUNCTION check_shape(query text) RETURNS text LANGUAGE sql AS $$
    SELECT check_query(query, 'any') || CASE current_setting('check.reference', true) WHEN 'on' THEN '' ELSE ', ' || shape(query) END
$$;
CREATE FUNCTION check_shapes(template text, list text[]) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT rpad(part, 44) || ' ' || check_shape(replace(template, '%s', part)) FROM unnest(list) part
$$;

-- aggregates, over nothing as well: the count bug
SELECT check_shapes('SELECT id, v FROM o WHERE v < (SELECT %s FROM i WHERE i.k = o.k)', '{min(v), max(v), sum(v), avg(v), count(*), count(v), sum(n), avg(n), 0.2 * avg(n), 0.5 * sum(n) + 1, min(n), max(n) - min(n), count(DISTINCT v), "sum(v) FILTER (WHERE b)", "count(*) + max(v)", "coalesce(sum(v), 0)", "coalesce(max(v), count(*))", "CASE WHEN count(*) > 3 THEN 1 END", sum(n * v), sum(-n)}');
SELECT check_shapes('SELECT id, (SELECT %s FROM i WHERE i.k = o.k) AS x FROM o', '{min(v), sum(n), avg(n), count(*), count(v), max(s), min(c), min(d), bool_and(b), every(b), "coalesce(min(s), ''none'')", 1, "max(w)"}');
SELECT check_shapes('SELECT id FROM o WHERE (SELECT %s FROM i WHERE i.k = o.k) IS NULL', '{max(v), count(v), sum(n), "max(v) FILTER (WHERE v > 38)", "nullif(count(*), 52)"}');
SELECT check_shapes('SELECT id FROM o WHERE (SELECT count(x.k) FROM %s WHERE x.k = o.k) = 0', '{i x, no x, one_null x, few x}');
SELECT check_shapes('SELECT id, n FROM %s WHERE n > (SELECT avg(n) FROM i WHERE i.k = o.k)', '{o, "(SELECT * FROM o OFFSET 0) o", "o JOIN few ON few.k = o.g", "few LEFT JOIN o ON o.k = few.m", "o LEFT JOIN few ON few.k = o.g", "few FULL JOIN o ON o.k = few.m"}');
-- correlation: types, several columns, expressions, collations, NULLs
SELECT check_shapes('SELECT id FROM o WHERE n < (SELECT max(n) FROM i WHERE %s)', '{i.k = o.k, o.k = i.k, i.k = o.k8, i.k8 = o.k, i.k = o.k2, i.k8 = o.k2, i.s = o.s, i.c = o.c, i.d = o.d, i.n = o.n, "i.k = o.k AND i.g = o.g", "i.k = o.k AND i.k = o.g", "i.k = o.k AND i.g > 3", "i.k = o.k AND i.v IS NULL", "i.k = o.k AND b", "i.k IS NOT DISTINCT FROM o.k", "i.k < o.k", "i.k = o.k AND i.v < o.v", "i.k = o.k OR i.g = o.g", "i.s = o.s COLLATE \"C\"", "i.s COLLATE \"C\" = o.s", "i.k = -o.k", "i.k + 1 = o.k", "i.k = o.id % 5", "i.k = o.k AND o.v > 0", "i.k = 3", "i.f = o.k", "i.c = o.s", "i.k = ANY (ARRAY[o.k])"}');
SELECT check_shapes('SELECT id FROM o WHERE n < (SELECT max(i.n) FROM %s)', '{"i JOIN few ON few.k = i.g WHERE i.k = o.k", "i, few WHERE few.k = i.g AND i.k = o.k", "i, few WHERE few.k = o.g AND i.k = o.k", "i LEFT JOIN few ON few.k = i.g WHERE i.k = o.k", "i JOIN few ON few.k = o.g WHERE i.k = o.k", "(SELECT * FROM i) i WHERE i.k = o.k", "i TABLESAMPLE BERNOULLI (100) WHERE i.k = o.k", "i WHERE i.k = o.k GROUP BY ()", "i WHERE i.k = o.k HAVING count(*) > 1", "i WHERE i.k = o.k LIMIT 1", "i WHERE i.k = o.k AND i.v IN (SELECT k FROM few)"}');
-- arithmetic around a subquery, and of its values
SELECT check_shapes(replace('SELECT id, n FROM o WHERE n > %s', '#', ' FROM i WHERE i.k = o.k)'), list)
FROM (SELECT array_agg(replace(part, '#', ' FROM i WHERE i.k = o.k)')) FROM unnest('{1.2 * (SELECT avg(n)#, -(SELECT max(n)#, "2 - (SELECT count(*)#", "round((SELECT avg(n)#, 1)", (SELECT avg(n)# / 3, (SELECT avg(n)# / 0, 7 / (SELECT count(n)#, "coalesce(0.5 * (SELECT max(n)#, 3)", (SELECT max(n)# - 2 * (SELECT min(n)#, abs(1 - (SELECT sum(n)#), (SELECT sum(n)# + id, (SELECT sum(w)# * 2, "(SELECT coalesce(sum(n), 0)# / 4", "(SELECT sum(CASE WHEN b THEN n ELSE 0 END)# * 0.5", "(SELECT trunc(avg(n) * 3, -1)#"}'::text[]) part) x (list);
-- a correlation of expressions, which may stand in any other condition
SELECT check_shapes('SELECT id, n FROM o WHERE %s', '{"n > 0.2 * (SELECT avg(n) FROM i WHERE i.k % 5 = o.k % 5)", "n > (SELECT avg(n) FROM i WHERE abs(i.g::numeric) = o.g AND i.k = o.k)", "n > (SELECT avg(n) FROM i WHERE lower(i.s) = upper(o.s) OR i.k = 3)", "n > (SELECT avg(n) FROM i WHERE upper(i.s) = upper(o.s)) OR v = 3", "EXISTS (SELECT FROM i WHERE i.k % 5 = o.k / 5 AND i.v = o.v) OR v = 3", "n > (SELECT avg(n) FROM i WHERE i.k + 1 = o.k)", "n > (SELECT avg(n) FROM i WHERE i.k % o.z = o.k)", "n > (SELECT avg(n) FROM i WHERE i.k = 7 / o.z)", "n > (SELECT avg(n) FROM i WHERE i.k % (o.z + 1) = o.k % 5)"}');
-- of subqueries, views and CTEs, where nothing of them can raise an error
CREATE VIEW seen AS SELECT k, g, n, n * 2 AS twice, b, row_number() OVER () AS r FROM i;
CREATE VIEW sums AS SELECT k, g, sum(n) AS total, count(*) AS c FROM i WHERE v > -5 GROUP BY k, g HAVING count(*) > 1;
SELECT check_shapes('SELECT id FROM o WHERE n < (SELECT avg(x) * 0.3 FROM %s WHERE y.k = o.k)', '{"(SELECT k, n + 1 AS x FROM i WHERE b) y", "(SELECT k, sum(n) AS x FROM i GROUP BY k, g) y", "(SELECT DISTINCT k, n AS x FROM i) y", "(SELECT k, 1 / (v - 3) AS x FROM i) y", "(SELECT k, n AS x FROM i WHERE 1 / (v - 3) < 5) y", "(SELECT k, sum(n) AS x FROM i GROUP BY k HAVING 1 / (max(v) - 38) < 5) y", "(SELECT k, n AS x FROM i LIMIT 9) y", "(SELECT k, n AS x FROM i UNION ALL SELECT k, w FROM i) y", "(SELECT k, random() AS x FROM i) y", "(SELECT k, lag(n) OVER (ORDER BY id) AS x FROM i) y", "(SELECT k, n AS x FROM i ORDER BY k) y", "(SELECT i.k, n AS x FROM i JOIN few ON few.k = i.g) y", "(SELECT i.k, n AS x FROM i LEFT JOIN few ON few.k = i.g) y", "(SELECT k, x FROM (SELECT k, g, sum(n) AS x FROM i GROUP BY k, g) z WHERE x > 3) y", "(SELECT k, total AS x FROM sums) y", "(SELECT k, twice AS x FROM seen) y", "(SELECT k, o.n AS x FROM i) y", "(SELECT k, w AS x FROM i) y"}');
SELECT check_shapes('WITH t AS %s SELECT count(*), min(a.total) FROM t a WHERE total > (SELECT avg(total) * 1.2 FROM t b WHERE b.g = a.g)', '{"(SELECT k, g, sum(n) AS total FROM i GROUP BY k, g)", "MATERIALIZED (SELECT k, g, sum(n) AS total FROM i GROUP BY k, g)", "(SELECT k, g, sum(f) AS total FROM i GROUP BY k, g)", "(SELECT k, g, sum(n / 2) AS total FROM i GROUP BY k, g)", "(SELECT k, g, sum(n / v) AS total FROM i WHERE v <> 0 GROUP BY k, g)", "(SELECT k, g, n AS total FROM i)", "(SELECT k, g, n AS total FROM i ORDER BY n LIMIT 90)", "(SELECT k, g, total FROM sums)"}');
SELECT check_shapes('WITH t AS (SELECT k, g, sum(n) AS total FROM i GROUP BY k, g) SELECT %s', '{"id FROM o WHERE n > (SELECT min(total) FROM t WHERE t.k = o.k)", "id, (SELECT max(total) FROM t WHERE t.k = o.k) FROM o", "* FROM (SELECT id FROM o WHERE n > (SELECT min(total) FROM t WHERE t.k = o.k)) x", "id FROM o WHERE EXISTS (SELECT FROM t WHERE t.k = o.k) OR v > 3", "id FROM o WHERE n > (WITH t AS (SELECT 1 AS k, 2 AS total) SELECT max(total) FROM t WHERE t.k = o.k)", "count(*) FROM t JOIN o USING (g) WHERE total < 2 * (SELECT min(n) FROM o p WHERE p.g = t.g)"}');
SELECT check_shape('WITH u AS (SELECT * FROM i WHERE b), t AS (SELECT k, g, sum(n) AS total FROM u GROUP BY k, g) SELECT count(*) FROM t a WHERE total > (SELECT avg(total) * 1.2 FROM t b WHERE b.g = a.g)');
SELECT check_shape('WITH RECURSIVE t AS (SELECT 1 AS k, 1.5 AS total UNION ALL SELECT k + 1, total FROM t WHERE k < 9) SELECT id FROM o WHERE n > (SELECT min(total) FROM t WHERE t.k = o.k)');
-- two points of time without a zone are one with it, when clocks are set forward
SET timezone = 'America/New_York';
CREATE TABLE local (at timestamp, v int);
INSERT INTO local VALUES ('2024-03-10 02:30', 1), ('2024-03-10 03:30', 2), ('2024-03-10 04:30', 4);
CREATE TABLE global AS SELECT at::timestamptz AS at, v FROM local;
VACUUM (ANALYZE) local, global;
SELECT check_shape('SELECT v, (SELECT sum(v) FROM local WHERE local.at = global.at) AS sum FROM global');
SELECT check_shape('SELECT v, (SELECT sum(v) FROM global g WHERE g.at = global.at) AS sum FROM global');
RESET timezone;
-- more places
SELECT check_shapes('SELECT %s', '{"g, count(*), sum(n) FROM o WHERE n < (SELECT avg(n) FROM i WHERE i.k = o.k) GROUP BY g", "g, sum((SELECT max(v) FROM i WHERE i.k = o.k)) FROM o GROUP BY g", "g, (SELECT max(v) FROM i WHERE i.k = o.g) FROM o GROUP BY g", "DISTINCT g, (SELECT max(v) FROM i WHERE i.k = o.g) FROM o", "id, row_number() OVER (ORDER BY id) FROM o WHERE v > (SELECT min(v) FROM i WHERE i.k = o.k)", "id FROM o ORDER BY (SELECT max(v) FROM i WHERE i.k = o.k), id LIMIT 3", "max(x) FROM (SELECT (SELECT sum(v) FROM i WHERE i.k = o.k) x FROM o) y", "id, (SELECT max(v) FROM i WHERE i.k = o.k) + (SELECT count(*) FROM i WHERE i.g = o.g) FROM o", "id FROM o WHERE v > (SELECT min(v) FROM i WHERE i.k = o.k) UNION SELECT id FROM i WHERE v > (SELECT max(v) FROM o WHERE i.k = o.k)", "id FROM o WHERE v BETWEEN (SELECT min(v) FROM i WHERE i.k = o.k) AND (SELECT avg(v) FROM i WHERE i.g = o.g)", "a.id, x FROM few, LATERAL (SELECT id, (SELECT max(v) FROM i WHERE i.k = o.k) x FROM o WHERE o.g = few.m) a", "id FROM o WHERE EXISTS (SELECT FROM few WHERE few.k = o.g AND few.m <= (SELECT min(v) + 9 FROM i WHERE i.k = few.k))", "id FROM o WHERE CASE WHEN v > 3 THEN n < (SELECT avg(n) FROM i WHERE i.k = o.k) END", "id FROM o WHERE g IN (SELECT m FROM few WHERE m < (SELECT count(*) FROM i WHERE i.k = few.k))", "id FROM o WHERE (SELECT avg(n) FROM i WHERE i.k = o.k AND i.v > (SELECT avg(k) FROM few WHERE m = o.g)) > 3", "generate_series(1, 2), (SELECT max(v) FROM i WHERE i.k = o.k) FROM o WHERE id < 40"}');
SELECT check_shape('WITH x AS MATERIALIZED (SELECT id, k FROM o WHERE n > (SELECT avg(n) FROM i WHERE i.k = o.k)) SELECT count(*), sum(a.id) FROM x a JOIN x b USING (k)');
SELECT check_shape('WITH RECURSIVE r AS (SELECT id FROM o WHERE id = 1 UNION ALL SELECT o.id FROM o, r WHERE o.id = r.id + 1 AND o.n < 1 + (SELECT avg(n) FROM i WHERE i.k = o.k)) SELECT * FROM r');
-- What the outer query asks for goes into the groups.
CREATE FUNCTION groups_of(query text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT min(x ->> 'Actual Rows') FROM jsonb_path_query(plan, '$.** ? (@."Group Key" like_regex "i.*k")') x);
END $$;
SELECT rpad(c, 44) || ' ' || check_shape(q) || ', groups: ' || regexp_replace(groups_of(q), '\.0+', '', 'g') FROM
    (SELECT c, format('SELECT o.id FROM o WHERE v < (SELECT max(v) FROM i WHERE i.k = o.id) AND %s', c) q
     FROM unnest('{true, o.id < 5, o.id < 5 AND o.g = 2, "o.id IN (1, 2, 3)", "o.id IN (SELECT k FROM few)", "o.s LIKE ''word 1%''", "o.v % 7 = 2", "o.id IN (SELECT k / m FROM few)"}'::text[]) c) x;
SELECT check_shape('SELECT count(*) FROM i x, o WHERE x.k = o.id AND o.id < 9 AND x.n < (SELECT avg(n) FROM i WHERE i.k = x.k)');
SELECT check_shape('SELECT count(*) FROM i x, o WHERE x.k = o.id AND o.id < 9 AND x.n < 1 / (SELECT coalesce(max(v), 0) FROM i WHERE i.k = x.k)');
SELECT check_shape('SELECT count(*) FROM i x LEFT JOIN o ON x.k = o.id WHERE o.id < 9 AND x.n < (SELECT avg(n) FROM i WHERE i.k = o.id)');
-- ... but not what queries further out ask
SELECT check_shapes('SELECT few.k, x FROM few, LATERAL (SELECT %s AS x FROM o WHERE o.k = few.k AND o.g = 2) y', '{(SELECT max(v) FROM i WHERE i.k = o.k), (SELECT count(*) FROM i WHERE i.k = o.k), EXISTS (SELECT FROM i WHERE i.k = o.k)}');
SELECT check_shape('SELECT k, ARRAY(SELECT (SELECT max(v) FROM i WHERE i.k = o.k) FROM o WHERE o.k = few.k AND o.id > 20) FROM few');

-- errors: those of the rows that are asked for, no others
INSERT INTO i (id, k, g, v) VALUES (9001, 9001, 0, 0), (9002, 9002, 0, 2147483647), (9003, 9002, 0, 2147483647);
SELECT check_shapes('SELECT id FROM o WHERE v < (SELECT %s FROM i WHERE i.k = o.k)', '{1 / min(v), "10 / (count(*) - 14)", max(1000 / v), max(v + 2147483), sum(f), sum(v * 1000000), "max(v) FILTER (WHERE 1 / v > 0)", "1 / sum(v)::int", "max(w * 10)", "sum(w)", "max(substring(s, 5)::int)", "max(length(s))"}');
SELECT check_shapes('SELECT id, (SELECT 1 / min(v) FROM i WHERE i.k = o.id) FROM o WHERE id < %s', '{4, 30}');
INSERT INTO o (id, k, g, v) VALUES (9001, 9001, 0, 0);
SELECT check_shapes('SELECT id, (SELECT %s FROM i WHERE i.k = o.k) FROM o', '{1 / sum(v), max(v), 1 / max(1 / v)}');
DELETE FROM o WHERE id = 9001;
SELECT check_shapes('SELECT id FROM o WHERE n < (SELECT max(n) FROM i WHERE i.k = o.k AND %s)', '{1 / v > 0, v > 0, "random() < 2", "i.n + 1 > 2", "i.v + 1 > 2", "s LIKE ''w%''", "s LIKE ''w\\''", "s ~ ''w''", "i.d > ''2024-01-20''", "i.d >= date ''2024-01-01'' + interval ''1 month''", "v IN (1, 2, NULL)", "v NOT IN (1, 2)", "n BETWEEN 1 AND 9", "upper(s) = ''WORD 1''"}');
SELECT check_shape('SELECT id FROM o WHERE z > 0 AND n < (SELECT max(n) FROM i WHERE i.k = 10 / o.z)');
SELECT check_shape('SELECT id FROM o WHERE (SELECT n FROM i WHERE i.k = o.k) > 3');
SELECT check_shapes('SELECT id FROM o WHERE %s', '{false AND v = 1 / 0 AND n < (SELECT max(n) FROM i WHERE i.k = o.k), n < (SELECT max(n) FROM i WHERE false AND v = 1 / 0 AND i.k = o.k), v < 3 OR EXISTS (SELECT FROM i WHERE false AND v = 1 / 0 AND i.k = o.k)}');
SELECT check_shape('SELECT id FROM o WHERE (SELECT n FROM i WHERE i.id = o.id) > 3');

CREATE TYPE pair AS (a int, p point);
CREATE TABLE pairs AS SELECT 1 AS k, 2 AS v, '(3,"(4,5)")'::pair AS x;
VACUUM (ANALYZE) pairs;
SELECT check_shapes('SELECT id FROM o WHERE z > 99 AND v < (SELECT max(v) FROM pairs WHERE pairs.k = o.k AND %s)', '{"x <> ''(3,\"(4,5)\")''::pair", "ARRAY[x] < ARRAY[x]", "v > 1"}');
-- NOT IN: NULLs on both sides, empty lists
SELECT check_shapes('SELECT id, k FROM o WHERE k NOT IN (%s)', '{SELECT k FROM i, SELECT k FROM few, SELECT m FROM few, SELECT k FROM one_null, SELECT k FROM no, SELECT k FROM few WHERE k IS NOT NULL, SELECT k FROM few WHERE m > 99, SELECT g FROM i WHERE v > 10, SELECT k8 FROM i WHERE g = 1, SELECT k FROM few WHERE few.m = o.g, SELECT m / (m - 1) FROM few, SELECT max(m) FROM few, "VALUES (1), (NULL)", SELECT m FROM few LIMIT 2, SELECT k + 1 FROM few}');
SELECT check_shapes('SELECT id, k FROM o WHERE %s', '{g NOT IN (SELECT m FROM few), g NOT IN (SELECT k FROM few), NOT g IN (SELECT m FROM few), NOT (k IN (SELECT m FROM few)), k + 1 NOT IN (SELECT m FROM few), "(k, g) NOT IN (SELECT k, m FROM few)", "k <> ALL (SELECT m FROM few)", s NOT IN (SELECT s FROM i WHERE g = 2), n NOT IN (SELECT n FROM i), g NOT IN (SELECT m FROM few) AND k NOT IN (SELECT g FROM i WHERE v > 3), g NOT IN (SELECT m FROM few) OR v > 10, k IS NULL AND k NOT IN (SELECT k FROM no), NULL NOT IN (SELECT k FROM no), NULL NOT IN (SELECT m FROM few)}');
SELECT check_shapes('SELECT o.id, few.m FROM o LEFT JOIN few ON few.m = o.g WHERE %s', '{few.m NOT IN (SELECT g FROM i WHERE v = 2), o.g NOT IN (SELECT g FROM i WHERE v = 2), few.m NOT IN (SELECT k FROM no)}');
-- ... of correlated subqueries, and with what does not matter to a set
SELECT check_shapes('SELECT id, k FROM o WHERE %s', '{k NOT IN (SELECT k FROM few WHERE few.m = o.g), g NOT IN (SELECT k FROM few WHERE few.m = o.g), k NOT IN (SELECT m FROM few WHERE few.k = o.k), g NOT IN (SELECT m FROM few WHERE few.k = o.k), k NOT IN (SELECT k FROM few WHERE few.m = o.g AND few.k = o.k8), k NOT IN (SELECT g FROM i WHERE i.k = o.k AND v > 10), g NOT IN (SELECT g FROM i WHERE i.v > o.v), k NOT IN (SELECT g FROM i WHERE i.v > o.v), g NOT IN (SELECT k FROM i WHERE i.s = o.s AND i.d < o.d), g NOT IN (SELECT k FROM i WHERE i.k = o.id + 1), g NOT IN (SELECT o.k FROM few), k NOT IN (SELECT k FROM no WHERE no.g = o.g), g NOT IN (SELECT DISTINCT m FROM few), k NOT IN (SELECT DISTINCT k FROM i ORDER BY k), k NOT IN (SELECT k FROM i WHERE k > 3 ORDER BY v), "k NOT IN (SELECT DISTINCT ON (g) k FROM i ORDER BY g, k)", k <> ALL (SELECT k FROM few), k <> ALL (SELECT k FROM no), k = ALL (SELECT m FROM few WHERE m = 1), NOT (k <> ALL (SELECT m FROM few)), k <> ANY (SELECT m FROM few), NOT k = ANY (SELECT m FROM few), EXISTS (SELECT DISTINCT k FROM few WHERE m = o.g), v > 0 AND (v > 30 OR k IN (SELECT DISTINCT m FROM few))}');
SELECT check_shape('SELECT few.m, x.id FROM few, LATERAL (SELECT id FROM o WHERE g NOT IN (SELECT g FROM i WHERE i.k = few.m AND v > 20)) x');
SELECT check_shape('SELECT id FROM o WHERE random() < 2 AND k NOT IN (SELECT k FROM few)');
SELECT check_shape('SELECT id FROM o WHERE k NOT IN (SELECT k FROM few WHERE random() < 2)');
SELECT check_shape('SELECT id FROM (SELECT * FROM o WHERE v > 0 OFFSET 0) x WHERE k NOT IN (SELECT m FROM few)');
SELECT check_query(q) FROM unnest('{SELECT g\, count(*) FROM o WHERE k NOT IN (SELECT k FROM i WHERE v > 20 AND k > 9) GROUP BY g, SELECT count(*) FROM o WHERE g NOT IN (SELECT k FROM i), SELECT sum(v) FROM o WHERE k NOT IN (SELECT k FROM few WHERE few.m = o.g), "SELECT count(*), sum(v) FROM o WHERE (id, g) NOT IN (SELECT id, g FROM i WHERE v > 5)"}'::text[]) q;
CREATE VIEW behind WITH (security_barrier) AS SELECT * FROM o WHERE v > 0;
SELECT check_shapes('SELECT %s', '{id FROM behind WHERE k NOT IN (SELECT k FROM i WHERE v > 20 AND k > 9), id FROM o WHERE k NOT IN (SELECT k FROM behind)}');
-- ... of several columns, which may be NULL in every way
CREATE TABLE left_two (id int NOT NULL, a int, b int, na int NOT NULL, nb int NOT NULL);
INSERT INTO left_two SELECT row_number() OVER (), a, b, coalesce(a, 0), coalesce(b, 0) FROM unnest('{0,1,2,NULL}'::int[]) a, unnest('{0,1,2,NULL}'::int[]) b;
VACUUM (ANALYZE) left_two;
CREATE TABLE right_two (LIKE left_two);
CREATE FUNCTION check_pairs(pairs text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM right_two;
    IF pairs <> '' THEN
        EXECUTE 'INSERT INTO right_two SELECT row_number() OVER (), a, b, coalesce(a, 0), coalesce(b, 0) FROM (VALUES (0, 0), ' || pairs || ' OFFSET 1) v(a, b)';
    END IF;
    RETURN QUERY SELECT rpad(pairs, 28) || rpad(x, 8) || rpad(y, 8) || check_shape(format('SELECT id FROM left_two WHERE (%s) NOT IN (SELECT %s FROM right_two)', x, y))
        || '; ' || check_shape(format('SELECT id FROM left_two WHERE (%s) NOT IN (SELECT %s FROM right_two WHERE right_two.id = left_two.id)', x, y))
        FROM unnest('{"na, nb", "a, nb", "na, b", "a, b"}'::text[]) x, unnest('{"na, nb", "a, nb", "na, b", "a, b"}'::text[]) y;
END $$;
SELECT verdict, count(*) FROM (SELECT regexp_replace(regexp_replace(x, '^.{28}', ''), '\d+ rows', 'rows', 'g') AS verdict FROM (SELECT check_pairs(pairs) FROM unnest('{"", "(1,1)", "(1,NULL)", "(NULL,1)", "(NULL,NULL)", "(NULL,NULL),(1,NULL)", "(1,NULL),(NULL,1),(0,2)", "(1,2),(NULL,0)"}'::text[]) pairs) c(x)) v GROUP BY verdict ORDER BY verdict COLLATE "C";
-- a table that inherits may lack its parent's NOT NULL (not since 18)
CREATE TABLE parent (m int NOT NULL);
CREATE TABLE child () INHERITS (parent);
DO $$
BEGIN
    IF current_setting('server_version_num')::int < 180000 THEN
        ALTER TABLE child ALTER m DROP NOT NULL;
        INSERT INTO child VALUES (NULL);
    END IF;
END $$;
INSERT INTO parent VALUES (1);
VACUUM (ANALYZE) parent, child;
SELECT rpad(c, 44) || ' ' || left(check_query('SELECT o.id, m FROM o LEFT JOIN parent ON g = m WHERE ' || c, 'any'), 2)
    FROM unnest('{g NOT IN (SELECT m FROM parent), g NOT IN (SELECT m FROM ONLY parent), m NOT IN (SELECT g FROM i), m NOT IN (SELECT g FROM no)}'::text[]) c;
SELECT left(check_query('SELECT m FROM parent WHERE m NOT IN (SELECT g FROM i)', 'any'), 2);
-- a column that is declared NOT NULL is NULL where an outer join has no row for it
SELECT check_matrix('SELECT count(*), sum(o.id), sum(i.id) FROM o %s JOIN i ON o.id = i.id + 100 WHERE %s', '{LEFT, RIGHT, FULL, INNER}'::text[],
    '{o.g NOT IN (SELECT g FROM i WHERE g > 5), i.g NOT IN (SELECT m FROM few), o.g NOT IN (SELECT m FROM few WHERE m > 3), i.g <> ALL (SELECT g FROM o WHERE g < 3), "(o.g, i.g) NOT IN (SELECT g, m FROM o JOIN few ON g = m)"}', expect => 'any');
SELECT check_matrix('SELECT id FROM o WHERE v > 0 AND %s NOT IN (SELECT i.g FROM few %s JOIN i ON few.m = i.id AND i.v < 0)', '{o.g, o.k}'::text[], '{LEFT, RIGHT, FULL, INNER}'::text[], expect => 'any');
-- EXISTS and IN where they are no joins by themselves
SELECT check_shapes('SELECT id FROM o WHERE %s', '{v < 3 OR EXISTS (SELECT FROM few WHERE few.k = o.k), v < 3 OR NOT EXISTS (SELECT FROM few WHERE few.k = o.k AND m < 3), v < 3 OR k IN (SELECT k FROM few), v < 3 OR k NOT IN (SELECT k FROM few), (k IN (SELECT k FROM few)) IS NULL, v < 3 OR (g = 2 AND k IN (SELECT m FROM few)), NOT (v < 3 OR k IN (SELECT k FROM few)), EXISTS (SELECT FROM few WHERE few.k = o.k), EXISTS (SELECT FROM few WHERE few.k = o.k) = (v > 3), v < 3 OR EXISTS (SELECT FROM few WHERE few.k > o.k), v < 3 OR EXISTS (SELECT FROM few), v < 3 OR EXISTS (SELECT max(k) FROM few WHERE few.k = o.k), v < 3 OR EXISTS (SELECT 1 / k FROM few WHERE few.k = o.k), v < 3 OR EXISTS (SELECT FROM few WHERE few.k = o.k LIMIT 0), v < 3 OR k = ANY (SELECT m FROM few WHERE k = o.g)}');
SELECT check_shapes('SELECT id, %s FROM o', '{EXISTS (SELECT FROM few WHERE few.k = o.k), k IN (SELECT k FROM few), CASE WHEN EXISTS (SELECT FROM few WHERE few.k = o.k) THEN 1 ELSE 1 / (z - 9) END}');

-- parameters, custom and generic plans
PREPARE p(int, text) AS SELECT count(*), sum(n) FROM o WHERE g > $1 AND n < (SELECT avg(n) FROM i WHERE i.k = o.k AND i.g > $1 AND i.s <> $2);
SET plan_cache_mode = force_custom_plan;
SET gpuscan.offload = off;
EXECUTE p(2, 'word 1');
EXECUTE p(NULL, 'word 1');
SET gpuscan.offload = force;
EXECUTE p(2, 'word 1');
EXECUTE p(NULL, 'word 1');
SET plan_cache_mode = force_generic_plan;
EXECUTE p(2, 'word 1');
EXECUTE p(NULL, 'word 1');
RESET plan_cache_mode;
RESET gpuscan.offload;
-- Numerics without a scale of their own: parameters, the values of subqueries that run once, columns of CPU plans.
CREATE TABLE num (id int, n numeric(8,2), m numeric(5,0), w numeric(30,6), l numeric(36,2), i8 int8);
INSERT INTO num SELECT i, x, x % 10000, x, x, x::int8 FROM unnest('{0, 1, -1, 1.23, -1.23, 1.24, -1.24, 0.01, -0.01, 99999.99, -99999.99, 5000, 4999.99, 9999.99, 10000, 10000.01, 3.5, NULL}'::numeric[]) WITH ORDINALITY x(x, i);
INSERT INTO num SELECT 99, NULL, NULL, x, x * 1e9, 9223372036854775807 * sign(x) FROM unnest('{999999999999999999999999.999999, -999999999999999999999999.999999}'::numeric[]) x;
CREATE TABLE bare (id int, x numeric);
INSERT INTO bare SELECT i, x FROM unnest('{0, 1, -1, 1.23, 1.230000, 1.234, -1.234, 1.2300000000000000000000000000000000000000000000000001, 1e-20, -1e-20, 1e-300, 3.5, 5000, 4999.99, 9999.995, 9999.9999, 99999.99, 99999.995, 100000, 1e23, 999999999999999999999999.999999, 999999999999999999999999.9999999, 1e24, 1e36, 1e37, 99999999999999999999999999999999999999, 1e38, -1e38, 1e40, -1e40, 1e1000, 9223372036854775807, 9223372036854775808, NaN, Infinity, -Infinity, NULL}'::numeric[]) WITH ORDINALITY x(x, i);
VACUUM (FREEZE, ANALYZE) num, bare;
SELECT check_matrix('SELECT b.id FROM bare b, LATERAL (SELECT count(*) FROM num WHERE %s %s b.x) y WHERE y.count > 1', '{n, m, w, l, i8, n + w, n * m, "CASE WHEN id > 3 THEN n END"}', '{<, <=, =, <>, >=, >}');
SELECT check_matrix('SELECT count(*), min(id), max(id) FROM num WHERE (SELECT x FROM bare WHERE id = %2$s) %1$s n AND (m %1$s (SELECT x FROM bare WHERE id = %2$s)) IS NOT TRUE', '{<, <=, =, <>, >=, >}', '{1, 4, 6, 7, 8, 10, 13, 16, 17, 23, 29, 30, 34, 35, 36, 37}');
CREATE TABLE join_on AS SELECT n.id, b.id AS b FROM num n, bare b;
VACUUM (FREEZE, ANALYZE) join_on;
SELECT check_matrix('SELECT count(*), sum(num.id), sum(x.id) FROM join_on JOIN num ON num.id = join_on.id JOIN (SELECT id, x FROM bare OFFSET 0) x ON join_on.b = x.id AND num.%s %s x.x', '{n, m, w, l}', '{<, <=, =, <>, >=, >}');
SELECT check_prepared('device', 'SELECT count(*), sum(n) FROM num WHERE n < $1 AND w >= $2', '(numeric, numeric)', '(1.234, -1.2341)', '(1e30, -1e30)', '(1.23, 1.23)');
-- HAVING: by the same conjuncts in the same order.
SELECT rpad(h, 44) || ' ' || check_query(q) FROM
    (SELECT h, 'SELECT k, count(*), sum(n), min(d) FROM i GROUP BY k HAVING ' || h q
     FROM unnest('{count(*) > 13, 14 = count(*), count(v) <> 14, 3 < min(v), max(v) <= 38, sum(v) > 270, sum(v) = NULL, sum(n) > 400, sum(n) >= 392.86, sum(n) < 392.861, 392.86 = sum(n), sum(n) = 392.861, sum(n) <> 392.86, sum(n) < ''NaN'', min(n) > 0.2, max(n) < (SELECT avg(n) + 20 FROM i), min(d) = ''2024-01-11'', max(d) > ''2024-02-01''::date, avg(v) > 20, count(*) > 13 AND sum(v) < 270, avg(v) > 20 AND count(*) > 13, count(*) > 13 OR k = 3, k > 12, min(v) > 0 AND 1 / min(v) >= 0, count(*) > 99}'::text[]) h) x;
SELECT check_query('SELECT count(*) FROM i HAVING count(*) < 0');
SELECT check_query('SELECT k FROM i GROUP BY k HAVING 1 / min(v) >= 0 AND min(v) > 0');
SELECT check_prepared('device', 'SELECT k, sum(n) FROM i GROUP BY k HAVING sum(n) > $1 AND count(*) >= $2', '(numeric, int)', '(392.8601, 13)', '(400, 14)', '(-1e30, 0)');
CREATE TABLE wide AS SELECT i % 3 AS k, (CASE i % 3 WHEN 0 THEN 1 WHEN 1 THEN -1 ELSE 0 END * (1e34 - 1))::numeric(36,2) AS n FROM generate_series(1, 360) i;
VACUUM (FREEZE, ANALYZE) wide;
SELECT check_matrix('SELECT k, sum(n) FROM wide GROUP BY k HAVING sum(n) %s %s', '{<, <=, =, <>, >=, >}', '{0, 1199999999999999999999999999999999880, 1199999999999999999999999999999999880.001, 1e38, -1e38, 1.7e38, 1e60, -1e60}');
-- statements that write
CREATE TABLE target (id int, x bigint);
SET gpuscan.offload = force;
INSERT INTO target SELECT id, (SELECT count(*) FROM i WHERE i.k = o.k) FROM o;
UPDATE target SET x = (SELECT max(v) FROM i WHERE i.k = target.id) WHERE id < 10;
DELETE FROM target WHERE x > (SELECT avg(v) FROM i WHERE i.k = target.id);
CREATE TABLE made AS SELECT id, (SELECT sum(n) FROM i WHERE i.k = o.k) x, (SELECT count(*) FROM i WHERE i.k = o.k) y FROM o;
RESET gpuscan.offload;
SELECT count(*), sum(id), sum(x) FROM target;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'made'::regclass AND attnum > 0;
SELECT count(*), sum(x), sum(y) FROM made;

-- privileges and row security are those of the query as it was written
CREATE ROLE subqueries_reader;
CREATE TABLE secret (k int, v int, owner text);
INSERT INTO secret SELECT i % 23, i, CASE WHEN i % 2 = 0 THEN 'reader' ELSE 'other' END FROM generate_series(1, 500) i;
VACUUM (FREEZE, ANALYZE) secret;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON secret TO subqueries_reader USING (owner = 'reader');
CREATE TABLE dear (k int, v int);
INSERT INTO dear SELECT i % 23, i FROM generate_series(1, 500) i;
VACUUM (FREEZE, ANALYZE) dear;
CREATE POLICY fails ON dear TO subqueries_reader USING (1 / (v - 400) < 3);
ALTER TABLE dear ENABLE ROW LEVEL SECURITY;
CREATE VIEW through AS SELECT o.id, o.k, (SELECT max(v) FROM i WHERE i.k = o.k) AS x FROM o;
GRANT USAGE ON SCHEMA subqueries TO subqueries_reader;
GRANT SELECT ON o, secret, dear, through TO subqueries_reader;
GRANT SELECT (k) ON few TO subqueries_reader;
SET ROLE subqueries_reader;
SELECT check_shape('SELECT id FROM o WHERE v < (SELECT avg(v) FROM secret WHERE secret.k = o.k)');
SELECT check_shape('SELECT id FROM o WHERE id < 3 AND v < (SELECT avg(v) FROM dear WHERE dear.k = o.k)');
SELECT check_shape('SELECT id, x FROM through WHERE x > 3');
SELECT check_shape('SELECT id FROM o WHERE v < (SELECT avg(k) FROM few WHERE few.k = o.k)');
SELECT check_query('SELECT id FROM o WHERE v < (SELECT avg(m) FROM few WHERE few.k = o.k)', 'any');
SELECT check_query('SELECT id FROM o WHERE v < (SELECT avg(v) FROM i WHERE i.k = o.k)', 'any');
SELECT check_query('SELECT id FROM o WHERE g NOT IN (SELECT m FROM few)', 'any');
RESET ROLE;

-- tables with children
CREATE TABLE parts (k int, v int) PARTITION BY RANGE (v);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (100) TO (1000);
INSERT INTO parts SELECT i % 23, i FROM generate_series(1, 500) i;
VACUUM (FREEZE, ANALYZE) parts;
SELECT check_query('SELECT id FROM o WHERE v < (SELECT avg(v) / 10 FROM parts WHERE parts.k = o.k)', 'any');

-- settings
SET gpuscan.enable_decorrelation = off;
SELECT check_shape('SELECT id FROM o WHERE v < (SELECT avg(v) FROM i WHERE i.k = o.k)');
RESET gpuscan.enable_decorrelation;
SET gpuscan.exact_float = on;
SELECT check_shape('SELECT id FROM o WHERE v < (SELECT avg(v) FROM i WHERE i.k = o.k)');
RESET gpuscan.exact_float;
SET temp_file_limit = '1GB';
SELECT check_shape('SELECT id FROM o WHERE v < (SELECT avg(v) FROM i WHERE i.k = o.k)');
RESET temp_file_limit;
-- A device that gives up: the plan with joins is PostgreSQL's, too.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT check_query('SELECT id FROM o WHERE n < (SELECT avg(n) FROM i WHERE i.k = o.k)', 'any');
COMMIT;
-- What has been written otherwise need not be what PostgreSQL can plan.
SELECT check_query('SELECT o.n, i.v FROM o FULL JOIN i ON o.n = 1 WHERE i.v < NULL AND i.n < (SELECT max(c.n) FROM o c WHERE c.k = i.k)', 'any');
-- Planned when the transaction ends.
CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql SET gpuscan.offload = force AS $$
DECLARE n int := (SELECT count(*) FROM o WHERE v < (SELECT max(v) FROM i WHERE i.k = o.k));
BEGIN
    RAISE WARNING '% rows', n;
    RETURN NULL;
END $$;
CREATE TABLE late (a int);
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION counts();
BEGIN;
INSERT INTO late VALUES (1);
COMMIT;
-- EXPLAIN says why not
SET gpuscan.offload = force;
SET client_min_messages = notice;
SELECT refusals('SELECT id FROM o WHERE v < (SELECT max(v) FROM i WHERE i.k < o.k)');
SELECT refusals('SELECT id FROM o WHERE v < (SELECT max(1 / v) FROM i WHERE i.k = o.k)');
SELECT refusals('SELECT id FROM o WHERE v < (SELECT max(v) FROM i WHERE i.k = o.k LIMIT 1)');
CREATE TABLE paid AS SELECT i % 10 AS k, i / 7.0 AS amount FROM generate_series(1, 100) i;
SELECT refusals('SELECT k FROM paid p WHERE amount > 2 * (SELECT avg(amount) FROM paid WHERE k = p.k) ORDER BY amount LIMIT 5');
SELECT refusals('SELECT id FROM o WHERE (k, v) NOT IN (SELECT k, v FROM i)');
-- EXPLAIN's names are those of the query, or those that PostgreSQL gives to a second use
EXPLAIN (COSTS OFF) SELECT id FROM o WHERE v < (SELECT avg(v) FROM i WHERE i.k = o.k);
EXPLAIN (COSTS OFF) SELECT count(*) FROM o WHERE k IN (SELECT o.k FROM o WHERE v > 5);
RESET gpuscan.offload;
SET client_min_messages = warning;
DROP SCHEMA subqueries CASCADE;
DROP ROLE subqueries_reader;
