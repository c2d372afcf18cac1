-- Functions that look at how a value is stored see it as the table has it, whatever way the value would have taken to them; and values that
-- are equal without being the same do not become each other.
CREATE SCHEMA stored_form;
SET search_path = stored_form, public;
SET client_min_messages = warning;

CREATE DOMAIN code AS text;
CREATE DOMAIN label AS varchar(30) CHECK (value <> 'none');
CREATE TABLE forms (id int, short text, compressed text, outside text, b bytea, n numeric, m numeric(9,2), j jsonb, a int[], c code, l label, f float8, iv interval, ttz timetz, p char(8), bp bpchar(5));
ALTER TABLE forms ALTER outside SET STORAGE EXTERNAL;
INSERT INTO forms SELECT i, 'short ' || i % 7, repeat('compressed ' || i % 5, 300), repeat('outside ' || i % 4, 400), decode(repeat(lpad((i % 3)::text, 2, '0'), 2000), 'hex'),
    CASE i % 4 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN 1.500 END, i % 10 / 4.0, jsonb_build_object('n', CASE WHEN i % 2 = 0 THEN 1.0 ELSE 1.00 END), ARRAY[i % 3, NULL],
    'code ' || i % 3, 'label ' || i % 4, CASE i % 3 WHEN 0 THEN float8 '-0' WHEN 1 THEN 0 ELSE 1 END, CASE i % 4 WHEN 0 THEN interval '1 day' WHEN 1 THEN interval '24 hours' WHEN 2 THEN interval '30 days' ELSE interval '1 mon' END,
    CASE WHEN i % 2 = 0 THEN timetz '12:00+00' ELSE timetz '13:00+01' END, 'ab' || i % 3, 'x ' || i % 2
FROM generate_series(1, 1200) i;
INSERT INTO forms (id) VALUES (0);
VACUUM (FREEZE, ANALYZE) forms;

-- (the three of PostgreSQL's own: pg_column_toast_chunk_id is 17's)
CREATE FUNCTION sql_size(text) RETURNS int LANGUAGE sql STABLE AS 'SELECT pg_column_size($1) + 1';
CREATE FUNCTION strict_size(text) RETURNS int LANGUAGE sql STABLE STRICT SECURITY DEFINER AS 'SELECT PG_COLUMN_SIZE($1) + 2';
CREATE FUNCTION atomic_size(v text) RETURNS int LANGUAGE sql STABLE STRICT SECURITY DEFINER BEGIN ATOMIC SELECT pg_column_size(v) + 3; END;
CREATE FUNCTION outer_size(v text) RETURNS int LANGUAGE sql STABLE STRICT SECURITY DEFINER BEGIN ATOMIC SELECT strict_size(v) + 3; END;
CREATE FUNCTION plpgsql_form(v anyelement) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN pg_column_size(v) || coalesce(pg_column_compression(v), ' no'); END $$;
CREATE FUNCTION its_size(text) RETURNS int LANGUAGE internal STABLE STRICT AS 'pg_column_size';
CREATE OPERATOR ### (RIGHTARG = text, FUNCTION = strict_size);
CREATE FUNCTION add_size(int, text) RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN $1 + pg_column_size($2); END $$;
CREATE AGGREGATE total_size(text) (STYPE = int, SFUNC = add_size, INITCOND = 0);
CREATE VIEW sizes AS SELECT id, pg_column_size(compressed) AS size FROM forms;
SELECT check_matrix('SELECT %1$s(%2$s), count(*) FROM forms GROUP BY 1', '{pg_column_size,pg_column_compression}', '{short,compressed,outside,b,n,m,j,a,c,l,iv,p,bp}', 'cpu');
SELECT check_matrix('SELECT id, %1$s(%2$s::text) FROM forms', '{sql_size,strict_size,atomic_size,outer_size,plpgsql_form,its_size,###}', '{short,compressed,outside,c}', 'cpu');
SELECT check_matrix('SELECT %1$s FROM forms %2$s', '{count(*),max(id)}', '{WHERE pg_column_size(compressed) < 100,WHERE pg_column_compression(compressed) = ''pglz'',WHERE ###short > 10,WHERE plpgsql_form(outside) LIKE ''3%''}', 'cpu');
SELECT check_query('SELECT total_size(compressed), count(*) FROM forms', 'cpu');
SELECT check_query('SELECT short, total_size(compressed) OVER (PARTITION BY short) FROM forms', 'cpu');
SELECT check_query('SELECT sum(size), count(*) FROM sizes', 'cpu');
-- each function is looked at once, however many call it, itself among them
CREATE FUNCTION calls_itself(i int) RETURNS int BEGIN ATOMIC SELECT i; END;
CREATE OR REPLACE FUNCTION calls_itself(i int) RETURNS int BEGIN ATOMIC SELECT CASE WHEN i > 0 THEN calls_itself(i - 1) + calls_itself(i - 2) + calls_itself(i - 3) + calls_itself(i - 4) + calls_itself(i - 5) + calls_itself(i - 6) + calls_itself(i - 7) + calls_itself(i - 8) + calls_itself(i - 9) + calls_itself(i - 10) + calls_itself(i - 11) + calls_itself(i - 12) ELSE 0 END; END;
EXPLAIN (COSTS OFF) SELECT calls_itself(length(short)) FROM forms WHERE false;
DROP FUNCTION calls_itself;
SELECT check_query('SELECT pg_column_size(t), pg_column_compression(t) FROM (SELECT compressed AS t FROM forms ORDER BY id LIMIT 10) x', 'cpu');
SELECT check_query('SELECT pg_column_size(x) FROM (SELECT DISTINCT short AS x, outside FROM forms) s', 'cpu');
SELECT check_query('SELECT (SELECT pg_column_size(f.compressed)), id FROM forms f', 'cpu');
SELECT check_query('SELECT short, pg_column_size(short) AS size, count(*) FROM forms GROUP BY short', 'cpu');
SELECT check_query('SELECT pg_column_size(max(compressed)), pg_column_size(min(n)) FROM forms', 'cpu');
SELECT check_query('SELECT pg_column_size(f) FROM forms f', 'cpu');
SELECT check_query('WITH w AS MATERIALIZED (SELECT compressed FROM forms) SELECT pg_column_size(compressed) FROM w', 'cpu');
CREATE TABLE shapes (n serial, query text);
INSERT INTO shapes (query) VALUES
    ('SELECT %1$s(x) FROM (SELECT DISTINCT %2$s AS x FROM forms) s'),
    ('SELECT %1$s(x), id FROM (SELECT %2$s AS x, id FROM forms ORDER BY id LIMIT 9) s'),
    ('SELECT %1$s(f.%2$s) FROM forms f JOIN forms g USING (id) WHERE g.id < 30'),
    ('SELECT count(*) FILTER (WHERE length(%1$s(%2$s)::text) = 2), max(id) FROM forms'),
    ('SELECT id, max(%1$s(%2$s)::text) OVER (ORDER BY id) FROM forms WHERE id < 100'),
    ('SELECT %1$s(%2$s), count(*) FROM forms GROUP BY %2$s'),
    ('SELECT count(*) FROM forms f WHERE EXISTS (SELECT FROM forms g WHERE g.id = f.id AND length(%1$s(g.%2$s)::text) = 2)'),
    ('SELECT %1$s(x) FROM (SELECT %2$s AS x FROM forms WHERE id < 20 UNION ALL SELECT %2$s FROM forms WHERE id > 1190) s'),
    ('SELECT sum(id) FROM forms GROUP BY ROLLUP (%1$s(%2$s))'),
    ('SELECT id FROM forms ORDER BY %1$s(%2$s), id LIMIT 20');
SELECT check_matrix(query, '{pg_column_size,pg_column_compression,plpgsql_form}', '{short,compressed,outside,b,n,m,j,a,c,l,p,bp}', 'cpu'), n FROM shapes ORDER BY n;
-- Of what has a fixed length there is one form.
SELECT check_query('SELECT sum(pg_column_size(id)), sum(pg_column_size(f)), count(*) FROM forms WHERE id > 10', 'any');

-- So may a domain.
CREATE DOMAIN short_text AS text CHECK (pg_column_size(value) < 200);
SELECT check_query('SELECT count(compressed::short_text), count(*) FROM forms', 'cpu');
SELECT check_query('SELECT compressed::short_text FROM forms WHERE id < 10', 'cpu');
SELECT check_query('SELECT outside::short_text FROM forms WHERE id < 10', 'cpu');
SELECT check_query('SELECT count(short::code) FROM forms', 'any');
-- What is written to may look, too.
CREATE TABLE small (t text CHECK (pg_column_size(t) < 200));
CREATE TABLE measured (t text, size int GENERATED ALWAYS AS (length(t)) STORED, seen int);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.seen := pg_column_size(NEW.t); RETURN NEW; END $$;
CREATE TRIGGER see BEFORE INSERT ON measured FOR EACH ROW EXECUTE FUNCTION see();
CREATE FUNCTION inserted(mode text, OUT rows int, OUT seen bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpuscan.offload', mode, true);
    INSERT INTO small SELECT compressed FROM forms WHERE id BETWEEN 1 AND 50;
    GET DIAGNOSTICS rows = ROW_COUNT;
    INSERT INTO measured (t) SELECT DISTINCT compressed FROM forms;
    SELECT sum(m.seen) INTO seen FROM measured m;
    DELETE FROM small;
    DELETE FROM measured;
END $$;
SELECT a = b AS same, (a).rows FROM inserted('off') a, inserted('force') b;

-- Functions are told the type of their argument, which may be a domain.
SELECT check_matrix('SELECT %1$s, count(*) FROM forms GROUP BY 1', '{pg_typeof(c)::text,pg_typeof(l)::text,pg_typeof(j)::text,pg_typeof(bp)::text || bp,"concat(pg_typeof(c), c)",to_jsonb(l)::text}', '{""}', 'any');
CREATE FUNCTION type_and_value(v anyelement) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN concat(pg_typeof(v), ': ', v); END $$;
CREATE FUNCTION kind_of(v anyelement) RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN pg_typeof(v)::text || length(v::text); END $$;
SELECT check_matrix('SELECT %1$s(%2$s), count(*) FROM forms GROUP BY 1', '{type_and_value,kind_of}', '{short,c,l,j,a,n,p,bp,ttz}', 'any');

-- Equal values that are not the same: functions and results show which.
SELECT check_matrix('SELECT %1$s, count(*) FROM forms GROUP BY 1', '{n::text,scale(n),trim_scale(n)::text,j::text,j->>''n'',a::text,f::text,iv::text,ttz::text,p::text || ''|'',octet_length(p),bp || ''|'',md5(n::text),justify_interval(iv)::text}', '{""}', 'any');
SELECT check_matrix('SELECT %1$s, sum(id) FROM forms GROUP BY %2$s', '{count(*)}', '{n,j,a,f,iv,ttz,p,bp,m,c,l}', 'any');
SELECT check_matrix('SELECT id, %1$s FROM forms ORDER BY id', '{n,j,a,f,iv,ttz,p,bp,c,l}', '{""}', 'any');
SELECT check_matrix('SELECT count(*) FROM forms x JOIN forms y USING (%1$s) WHERE x.id < 20', '{n,j,f,iv,ttz,p,bp,m,c,l}', '{""}', 'any');
DROP SCHEMA stored_form CASCADE;
