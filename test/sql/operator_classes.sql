-- Equality and order are those of the operators in the query and of the type's default class, which users can make, and not what devices
-- take a type's values for. Whatever merges or orders values otherwise stays with PostgreSQL.
CREATE SCHEMA operator_classes;
SET search_path = operator_classes, public;
SET client_min_messages = warning;

-- ---- a class beside the default one: integers by their absolute value, texts without case, texts backwards ----
CREATE FUNCTION make_class(name text, of text, suffix text, code text, is_default text DEFAULT '', equality text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    operators constant text[] := ARRAY['<', '<=', '=', '>=', '>'];
    parts text := '';
BEGIN
    EXECUTE format('CREATE FUNCTION %1$s_cmp(a %2$s, b %2$s) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS $f$ BEGIN RETURN %3$s; END $f$', name, of, code);
    FOR i IN 1..5 LOOP
        IF i = 3 AND equality IS NOT NULL THEN
            parts := parts || format('OPERATOR 3 %s, ', equality);
            CONTINUE;
        END IF;
        EXECUTE format('CREATE FUNCTION %1$s_%2$s(a %3$s, b %3$s) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS $f$ BEGIN RETURN %1$s_cmp(a, b) %4$s 0; END $f$', name, i, of, operators[i]);
        EXECUTE format('CREATE OPERATOR %1$s (LEFTARG = %2$s, RIGHTARG = %2$s, FUNCTION = %3$s_%4$s, COMMUTATOR = %5$s%6$s)', operators[i] || suffix, of, name, i,
                       operators[6 - i] || suffix, CASE WHEN i = 3 THEN ', MERGES' END);
        parts := parts || format('OPERATOR %s %s, ', i, operators[i] || suffix);
    END LOOP;
    EXECUTE format('CREATE OPERATOR CLASS %1$s_ops %2$s FOR TYPE %3$s USING btree AS %4$s FUNCTION 1 %1$s_cmp(%3$s, %3$s)', name, is_default, of, parts);
END $$;
SELECT make_class('abs', 'int4', '#', 'sign(abs(a) - abs(b))');
SELECT make_class('ci', 'text', '#', 'bttextcmp(lower(a), lower(b))');
SELECT make_class('back', 'text', '@', 'bttextcmp(reverse(a), reverse(b))');
-- (the built-in equality, another order)
SELECT make_class('down', 'date', '#', 'b - a', '', 'pg_catalog.=(date, date)');

CREATE TABLE t (id int, v int NOT NULL, s text, d date, f float8, n numeric(9,2));
INSERT INTO t SELECT i, i % 41 - 20, CASE i % 3 WHEN 0 THEN upper('w' || i % 13 || 'x') WHEN 1 THEN 'w' || i % 13 || 'X' ELSE 'w' || i % 13 || 'x' END, date '2024-01-01' + i % 50, i % 9, i % 30 / 4.0
FROM generate_series(1, 1000) i;
VACUUM (FREEZE, ANALYZE) t;

-- GROUP BY, DISTINCT and set operations take the operators of ORDER BY
SELECT check_query('SELECT count(*), sum(id) FROM t GROUP BY v ORDER BY v USING <#', 'any');
SELECT check_query('SELECT count(*), sum(id) FROM t GROUP BY v ORDER BY v USING >#', 'any');
SELECT check_query('SELECT count(*), sum(id) FROM t GROUP BY s ORDER BY s USING <#', 'any');
SELECT check_query('SELECT sum(id), abs(v), d FROM t GROUP BY d, v ORDER BY d USING <#, v USING <#', 'any');
SELECT check_query('SELECT abs(v) FROM (SELECT DISTINCT v FROM t ORDER BY v USING <#) x', 'any');
SELECT check_query('SELECT lower(s) FROM (SELECT DISTINCT s FROM t ORDER BY s USING ># LIMIT 7) x', 'any');
SELECT check_query('SELECT abs(v), id FROM (SELECT DISTINCT ON (v) v, id FROM t ORDER BY v USING <#, id) x', 'any');
SELECT check_query('SELECT lower(s), id FROM (SELECT DISTINCT ON (s) s, id FROM t ORDER BY s USING ># , id) x', 'any');
SELECT check_query('SELECT count(*), sum(c) FROM (SELECT count(*) c FROM (SELECT v FROM t UNION ALL SELECT id FROM t) u GROUP BY v ORDER BY v USING <#) x', 'any');
SELECT check_query('SELECT count(*) FROM t GROUP BY ROLLUP (v, s) ORDER BY v USING <#, s USING <#', 'any');
-- aggregates with DISTINCT and ORDER BY
SELECT check_query('SELECT count(DISTINCT v ORDER BY v USING <#) FROM t', 'any');
SELECT check_query('SELECT abs(sum(DISTINCT v ORDER BY v USING <#)) FROM t WHERE v > -5', 'any');
SELECT check_query('SELECT lower(max(DISTINCT s ORDER BY s USING <#)), count(DISTINCT s ORDER BY s USING >#) FROM t', 'any');
SELECT check_query('SELECT array_agg(v ORDER BY v USING <#, id) FROM t WHERE id < 100', 'any');
-- orders
SELECT check_query('SELECT array_agg(id) FROM (SELECT id FROM t ORDER BY v USING <#, id) x', 'any');
SELECT check_query('SELECT array_agg(id) FROM (SELECT id FROM t ORDER BY s USING <@, id LIMIT 200) x', 'any');
SELECT check_query('SELECT array_agg(id) FROM (SELECT id FROM t ORDER BY s USING ~<~, id LIMIT 200) x', 'any');
SELECT check_query('SELECT array_agg(id) FROM (SELECT id FROM t ORDER BY d USING <#, id LIMIT 200) x', 'any');
SELECT check_query('SELECT array_agg(v) FROM (SELECT v, count(*) FROM t GROUP BY v ORDER BY 2, v USING <, v LIMIT 10) x', 'any');
SELECT check_query('SELECT array_agg(abs(v)) FROM (SELECT v, count(*) FROM t GROUP BY v ORDER BY v USING <# LIMIT 10) x', 'any');
SELECT check_query('SELECT array_agg(d) FROM (SELECT d, count(*) FROM t GROUP BY d ORDER BY d USING <# LIMIT 10) x', 'any');
SELECT check_query('SELECT array_agg(abs(v)) FROM (SELECT v FROM t ORDER BY v USING <# FETCH FIRST 5 ROWS WITH TIES) x', 'any');
-- windows
SELECT check_query('SELECT id, sum(id) OVER (PARTITION BY v ORDER BY s USING <@, id) FROM t', 'any');
SELECT check_query('SELECT id, rank() OVER (ORDER BY v USING <#), dense_rank() OVER (ORDER BY s USING >#) FROM t', 'any');
SELECT check_query('SELECT id, first_value(id) OVER (PARTITION BY d ORDER BY v USING >#, id) FROM t', 'any');
-- comparisons and joins by the operators
SELECT check_query('SELECT count(*) FROM t WHERE v =# 3', 'any');
SELECT check_query('SELECT count(*) FROM t WHERE v =# ANY (ARRAY[3, -4, 99])', 'any');
SELECT check_query('SELECT count(*) FROM t WHERE s =# ANY (ARRAY[''W1X'', ''w2x'']) OR v <# ALL (ARRAY[3, 5])', 'any');
SELECT check_query('SELECT count(*) FROM t a JOIN t b ON a.v =# b.v WHERE a.id < 50', 'any');
SELECT check_query('SELECT count(*) FROM t a WHERE EXISTS (SELECT FROM t b WHERE a.v =# b.id AND b.id BETWEEN 3 AND 7)', 'any');
SELECT check_query('SELECT count(*) FROM t a WHERE v > (SELECT avg(b.v) FROM t b WHERE a.s =# b.s)', 'any');
SELECT check_query('SELECT count(*) FROM t WHERE (v, id) OPERATOR(operator_classes.<#) (-3, 4)', 'any');
-- What is PostgreSQL's own still runs on a device.
SELECT check_query('SELECT v, s, count(*) FROM t GROUP BY v, s ORDER BY v USING >, s USING <');
SELECT check_query('SELECT s, count(*) FROM t GROUP BY s ORDER BY s USING ~<~');
SELECT check_query('SELECT d, f, n, count(DISTINCT s) FROM t GROUP BY d, f, n ORDER BY d USING <#');
SELECT check_query('SELECT DISTINCT v FROM t ORDER BY v DESC');

-- Every operator with every shape of a statement
SELECT make_class('absn', 'numeric', '#', 'sign(abs(a) - abs(b))::int');
SELECT make_class('absf', 'float8', '#', 'sign(floor(a) - floor(b))::int');
UPDATE t SET n = -n WHERE id % 2 = 0;
CREATE TABLE shapes (n serial, query text);
INSERT INTO shapes (query) VALUES
    ('SELECT count(*), sum(id) FROM t GROUP BY %1$s ORDER BY %1$s USING %2$s'),
    ('SELECT c, row_number() OVER () FROM (SELECT count(*) AS c FROM t GROUP BY %1$s ORDER BY %1$s USING %2$s) x'),
    ('SELECT min(id), max(id), count(*) FROM t GROUP BY %1$s, v ORDER BY %1$s USING %2$s, v'),
    ('SELECT count(*) FROM (SELECT DISTINCT %1$s FROM t ORDER BY %1$s USING %2$s) x'),
    ('SELECT id FROM (SELECT DISTINCT ON (%1$s) %1$s, id FROM t ORDER BY %1$s USING %2$s, id) x'),
    ('SELECT count(DISTINCT %1$s ORDER BY %1$s USING %2$s), count(*) FROM t'),
    ('SELECT array_agg(id) FROM (SELECT id FROM t ORDER BY %1$s USING %2$s NULLS FIRST, id LIMIT 100 OFFSET 7) x'),
    ('SELECT array_agg(c) FROM (SELECT count(*) AS c FROM t GROUP BY %1$s ORDER BY %1$s USING %2$s FETCH FIRST 4 ROWS WITH TIES) x'),
    ('SELECT count(*), sum(id) FROM t GROUP BY GROUPING SETS ((%1$s), (v, %1$s), ()) ORDER BY %1$s USING %2$s'),
    ('SELECT sum(c), count(*) FROM (SELECT count(*) AS c FROM (SELECT %1$s, id FROM t UNION ALL SELECT %1$s, id + 1 FROM t WHERE id < 500) u GROUP BY %1$s ORDER BY %1$s USING %2$s) x'),
    ('SELECT id, rank() OVER (ORDER BY %1$s USING %2$s), count(*) OVER (PARTITION BY v ORDER BY %1$s USING %2$s) FROM t WHERE id < 300'),
    ('SELECT count(*) FROM t WHERE %1$s OPERATOR(%2$s) (SELECT %1$s FROM t WHERE id = 77)'),
    ('SELECT count(*) FROM t a JOIN t b ON a.%1$s OPERATOR(%2$s) b.%1$s WHERE a.id < 40 AND b.id BETWEEN 100 AND 140'),
    ('SELECT count(*) FROM t a WHERE id < 30 AND EXISTS (SELECT FROM t b WHERE a.%1$s OPERATOR(%2$s) b.%1$s AND b.v = 3)'),
    ('SELECT sum(id) FROM t GROUP BY CASE WHEN id > 500 THEN %1$s END ORDER BY CASE WHEN id > 500 THEN %1$s END USING %2$s'),
    ('SELECT count(*) FROM (SELECT %1$s FROM t WHERE id < 500 UNION SELECT %1$s FROM t WHERE id > 400 ORDER BY %1$s USING %2$s) x');
SELECT check_matrix(query, '{v,s,d,n,f}', '{<,>,<#,>#}', 'any'), n FROM shapes ORDER BY n;

-- ---- default classes: PostgreSQL takes those of the type itself before those of what it can be taken for ----
CREATE TYPE late AS ENUM ('a', 'A', 'b', 'B');
CREATE TABLE later AS SELECT i AS id, (enum_range(NULL::late))[1 + i % 4] AS l FROM generate_series(1, 1000) i;
SET plan_cache_mode = force_generic_plan;
SET gpuscan.offload = force;
PREPARE largest AS SELECT count(*) FROM later WHERE GREATEST(l, 'A') = 'A';
PREPARE merged AS SELECT count(*) FROM (SELECT DISTINCT l FROM later) x;
EXECUTE largest;
EXECUTE merged;
SELECT make_class('late', 'late', '#', 'bttextcmp(lower(b::text), lower(a::text))', 'DEFAULT');
EXECUTE largest; -- parsed anew
EXECUTE merged;
SET gpuscan.offload = off;
EXECUTE largest;
EXECUTE merged;
DEALLOCATE ALL;
RESET plan_cache_mode;
RESET gpuscan.offload;

CREATE TYPE mood AS ENUM ('a', 'A', 'b', 'B', 'c', 'C', 'd');
SELECT make_class('mood', 'mood', '#', 'bttextcmp(lower(b::text), lower(a::text))', 'DEFAULT');
CREATE TABLE moods (id int, m mood, w varchar(20), p int);
INSERT INTO moods SELECT i, (enum_range(NULL::mood))[1 + i % 7], CASE WHEN i / 10 % 2 = 0 THEN 'w' ELSE 'W' END || i % 10, i % 5 FROM generate_series(1, 700) i;
CREATE TABLE more_moods AS SELECT id + 1 AS id, m, w FROM moods WHERE m IN ('a', 'B', 'c');
VACUUM (FREEZE, ANALYZE) moods, more_moods;
CREATE TABLE templates (n serial, query text);
INSERT INTO templates (query) VALUES
    ('SELECT count(*), sum(id) FROM moods GROUP BY %1$s'),
    ('SELECT p, count(DISTINCT %1$s), lower(max(DISTINCT %1$s::text)) FROM moods GROUP BY p'),
    ('SELECT count(*) FROM (SELECT DISTINCT %1$s FROM moods) x'),
    ('SELECT lower(m::text), id FROM (SELECT DISTINCT ON (%1$s) m, id FROM moods ORDER BY %1$s, id) x'),
    ('SELECT count(*) FROM (SELECT %1$s FROM moods UNION SELECT %1$s FROM more_moods) x'),
    ('SELECT count(*) FROM (SELECT %1$s FROM moods INTERSECT SELECT %1$s FROM more_moods) x'),
    ('SELECT count(*) FROM (SELECT %1$s FROM moods EXCEPT SELECT %1$s FROM more_moods) x'),
    ('SELECT count(*), sum(c) FROM (SELECT count(*) c FROM (SELECT %1$s, id FROM moods UNION ALL SELECT %1$s, id FROM more_moods) u GROUP BY %1$s) x'),
    ('SELECT array_agg(id) FROM (SELECT id FROM moods ORDER BY %1$s, id) x'),
    ('SELECT array_agg(id) FROM (SELECT id FROM moods ORDER BY %1$s DESC, id LIMIT 30) x'),
    ('SELECT array_agg(c) FROM (SELECT count(*) c FROM moods GROUP BY %1$s ORDER BY %1$s LIMIT 3) x'),
    ('SELECT id, rank() OVER (PARTITION BY p ORDER BY %1$s) FROM moods'),
    ('SELECT id, sum(id) OVER (PARTITION BY %1$s) FROM moods'),
    ('SELECT lower(GREATEST(%1$s, %2$s)::text), lower(LEAST(%1$s, %2$s)::text), count(*) FROM moods GROUP BY 1, 2'),
    ('SELECT count(*) FROM moods WHERE GREATEST(%1$s, %2$s) = %2$s AND %1$s IS DISTINCT FROM %2$s'),
    ('SELECT count(NULLIF(%1$s, %2$s)), count(*) FILTER (WHERE %1$s IN (%2$s)), count(*) FILTER (WHERE %1$s < %2$s) FROM moods'),
    ('SELECT count(*) FROM moods a WHERE id > (SELECT avg(b.id) FROM moods b WHERE a.%1$s = b.%1$s)'),
    ('SELECT count(*) FROM moods a WHERE EXISTS (SELECT FROM more_moods b WHERE a.%1$s = b.%1$s) OR p = 1'),
    ('SELECT count(*) FROM moods a WHERE %1$s NOT IN (SELECT %1$s FROM more_moods b WHERE b.id < 10)'),
    ('SELECT count(*) FROM moods a JOIN more_moods b USING (%1$s) WHERE a.id < 100'),
    ('SELECT max(%1$s), min(%1$s), p FROM moods GROUP BY p'),
    ('SELECT p, count(*) FROM moods GROUP BY GROUPING SETS ((p), (%1$s))');
SELECT check_query(format(query, 'm', '''B''::mood'), 'any'), query FROM templates ORDER BY n;
-- The same class for varchar is everybody's as long as it is there.
SELECT make_class('vc', 'varchar', '#', 'bttextcmp(lower(b::text), lower(a::text))', 'DEFAULT');
SELECT check_query(format(query, 'w', '''w3''::varchar'), 'any'), query FROM templates ORDER BY n;
-- Without it all is as before.
DROP OPERATOR CLASS vc_ops USING btree;
SELECT check_query(format(query, 'w', '''w3''::varchar'), 'any'), query FROM templates ORDER BY n;
DROP SCHEMA operator_classes CASCADE;
