-- The tables and queries of test/boundary/run.sh. make(KIND, n) makes the table b with n of what KIND counts, and try(KIND, n)
-- compares each of the kind's queries without and with the device. Between them b is vacuumed, so that its pages are cached.
CREATE TABLE tried (kind text, n int, query text, verdict text);

-- Statements that make b.
CREATE FUNCTION table_of(kind text, n int) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    -- Different values of a type by i; rows repeat some of them, so that there are groups of more than one row.
    value_of text := CASE kind WHEN 'values numeric' THEN '(i * 1.01)::numeric(12,2)' WHEN 'values macaddr' THEN 'lpad(to_hex(i), 12, ''0'')::macaddr'
        WHEN 'values uuid' THEN 'lpad(to_hex(i), 32, ''0'')::uuid' WHEN 'values jsonb' THEN 'jsonb_build_object(''a'', i)'
        WHEN 'values bpchar' THEN '(''c'' || i)::char(9)' WHEN 'values date' THEN 'date ''2000-01-01'' + i' WHEN 'values float8' THEN 'i / 8.0::float8'
        WHEN 'values interval' THEN 'i * interval ''1 hour''' WHEN 'values bytea' THEN 'int4send(i)' ELSE '''w'' || i' END;
BEGIN
    CASE
        WHEN kind = 'rows' THEN
            RETURN ARRAY[format('CREATE TABLE b AS SELECT i AS id, (i %% 10)::int2 AS k, i / 4.0::float8 AS f, nullif(''t'' || i %% 7, ''t3'') AS v, date ''2024-01-01'' + i %% 40 AS d FROM generate_series(1, %s) i', n)];
        WHEN kind = 'values enum' THEN
            IF n > 300 THEN
                RETURN NULL;
            END IF;
            RETURN ARRAY['DROP TYPE IF EXISTS mood CASCADE',
                         format('CREATE TYPE mood AS ENUM (%s)', (SELECT string_agg(quote_literal('m' || i), ',') FROM generate_series(1, n) i)),
                         format('CREATE TABLE b AS SELECT i AS id, (''m'' || i)::mood AS v FROM generate_series(1, %s) i', n)];
        WHEN kind IN ('texts', 'nulls texts') OR kind LIKE 'values %' THEN
            RETURN ARRAY[format('CREATE TABLE b AS SELECT i AS id, CASE WHEN i <= %s THEN %s END AS v FROM generate_series(1, %s) i', n, value_of, CASE kind WHEN 'nulls texts' THEN n + 3 ELSE n END),
                         format('INSERT INTO b SELECT * FROM b WHERE id <= 20')];
        WHEN kind = 'integers' THEN
            RETURN ARRAY[format('CREATE TABLE b AS SELECT i AS id, i * 7 AS v FROM generate_series(1, %s) i', n)];
        WHEN kind = 'copies' THEN
            RETURN ARRAY[format('CREATE TABLE b AS SELECT i AS id, 5 AS v FROM generate_series(1, %s) i', n), 'INSERT INTO b VALUES (0, 6), (0, NULL)'];
        WHEN kind = 'span' THEN
            RETURN ARRAY[format('CREATE TABLE b AS SELECT i AS id, (i %% 2) * %s - 3 AS v FROM generate_series(1, 100) i', n), 'INSERT INTO b SELECT i, i FROM generate_series(-3, 20) i'];
        WHEN kind = 'pages' THEN
            RETURN ARRAY['CREATE TABLE b (id int, v int, pad text)', 'ALTER TABLE b ALTER pad SET STORAGE PLAIN', format('INSERT INTO b SELECT i, i %% 5, repeat(''x'', 4100) FROM generate_series(1, %s) i', n)];
        WHEN kind = 'first_rows' THEN
            RETURN ARRAY['CREATE TABLE IF NOT EXISTS many AS SELECT i AS id, i % 1000 AS v, ''t'' || i % 11 AS t FROM generate_series(1, 200000) i'];
        WHEN kind = 'length' THEN
            RETURN ARRAY[format('CREATE TABLE b AS SELECT i AS id, (SELECT string_agg(chr(97 + (j * i) %% 26), '''') FROM generate_series(1, %s) j) AS v FROM generate_series(1, 3) i', n), 'INSERT INTO b VALUES (4, ''''), (5, NULL)'];
        WHEN kind IN ('list', 'terms', 'arms', 'constant') THEN
            RETURN ARRAY['CREATE TABLE b AS SELECT i AS id, i % 700 AS v, ''w'' || i % 700 AS t FROM generate_series(1, 3000) i'];
        WHEN kind = 'columns' THEN
            RETURN ARRAY[format('CREATE TABLE b (%s)', (SELECT string_agg(format('c%s int', i), ',') FROM generate_series(1, greatest(n, 2)) i)),
                         format('INSERT INTO b (c1, c%s) SELECT i, nullif(i %% 5, 4) FROM generate_series(1, 200) i', greatest(n, 2))];
        WHEN kind = 'partitions' THEN
            RETURN ARRAY['CREATE TABLE b (id int, v int) PARTITION BY RANGE (id)']
                || (SELECT array_agg(format('CREATE TABLE b_%s PARTITION OF b FOR VALUES FROM (%s) TO (%s)', i, i * 10, i * 10 + 10)) FROM generate_series(1, n) i)
                || format('INSERT INTO b SELECT i, i %% 7 FROM generate_series(10, %s) i', n * 10 + 9);
    END CASE;
END $$;

CREATE FUNCTION queries_of(kind text, n int) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
    CASE
        WHEN kind = 'rows' THEN
            RETURN '{"SELECT count(*), count(v), sum(id), sum(f), min(d), max(v) FROM b", "SELECT k, v, count(*), sum(id) FROM b GROUP BY k, v", "SELECT count(*) FROM b x JOIN b y USING (id) WHERE x.v LIKE ''%5''",
                     "SELECT count(*), sum(hashtext(x::text)) FROM (SELECT id, f, v, d FROM b WHERE k < 8 OFFSET 0) x", "SELECT id, v, d FROM b ORDER BY d DESC, id LIMIT 3",
                     "SELECT count(*) FROM b WHERE id NOT IN (SELECT id FROM b WHERE k = 3)", "SELECT id, count(*) FROM b GROUP BY id HAVING sum(k) > 8 ORDER BY id LIMIT 5"}';
        WHEN kind IN ('texts', 'nulls texts') THEN
            RETURN '{"SELECT count(*), count(v), count(DISTINCT v), min(v), max(v), sum(length(v)) FROM b", "SELECT count(*) FROM b WHERE v LIKE ''%7%''", "SELECT count(*) FROM b WHERE v = ''w7''", "SELECT count(*) FROM b WHERE v <> ''w255'' OR v IS NULL",
                     "SELECT count(*) FROM b WHERE v > ''w2''", "SELECT v, count(*) FROM b GROUP BY v ORDER BY 2 DESC, 1 LIMIT 5", "SELECT count(*), sum(x.id) FROM b x JOIN b y USING (v)", "SELECT upper(v), sum(id) FROM b GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3",
                     "SELECT v FROM b ORDER BY v DESC NULLS LAST LIMIT 4", "SELECT count(*), sum(hashtext(v)) FROM (SELECT v FROM b WHERE id % 3 = 0 OFFSET 0) x", "SELECT count(*) FROM b WHERE length(v) = 4", "SELECT count(DISTINCT substr(v, 1, 3)) FROM b WHERE v NOT LIKE ''w1%''"}';
        WHEN kind IN ('values jsonb') THEN
            RETURN '{"SELECT count(*), count(v), count(DISTINCT v) FROM b", "SELECT v, count(*) FROM b GROUP BY v ORDER BY 2 DESC, 1 LIMIT 5", "SELECT count(*) FROM b WHERE v ->> ''a'' LIKE ''%7%''", "SELECT count(*) FROM b x JOIN b y USING (v)"}';
        WHEN kind LIKE 'values %' THEN
            RETURN '{"SELECT count(*), count(v), count(DISTINCT v) FROM b", "SELECT v, count(*) FROM b GROUP BY v ORDER BY 2 DESC, 1 LIMIT 5", "SELECT count(*), sum(x.id) FROM b x JOIN b y USING (v)", "SELECT v FROM b ORDER BY v DESC LIMIT 4",
                     "SELECT count(*) FROM b WHERE v = (SELECT v FROM b WHERE id = 1 LIMIT 1)", "SELECT count(*) FROM b WHERE v > (SELECT v FROM b WHERE id = 1 LIMIT 1)", "SELECT count(*), sum(hashtext(v::text)) FROM (SELECT v FROM b OFFSET 0) x", "SELECT count(*) FROM b WHERE v::text LIKE ''%7%''"}';
        WHEN kind = 'integers' THEN
            RETURN '{"SELECT v, count(*), sum(id) FROM b GROUP BY v ORDER BY v DESC LIMIT 3", "SELECT count(DISTINCT v), sum(v) FROM b", "SELECT count(*) FROM b x JOIN b y USING (v)", "SELECT count(*) FROM b x LEFT JOIN b y ON x.v = y.id", "SELECT sum(v) FROM (SELECT v FROM b INTERSECT SELECT id FROM b) x"}';
        WHEN kind = 'copies' THEN
            RETURN '{"SELECT v, count(*), sum(id) FROM b GROUP BY v", "SELECT count(*), sum(y.id) FROM (VALUES (5), (6)) x (v) JOIN b y USING (v)", "SELECT x.v, count(*) FROM b x JOIN (SELECT DISTINCT v FROM b) y USING (v) GROUP BY x.v", "SELECT count(*) FROM b x JOIN b y ON x.v = y.v WHERE y.id < 3"}';
        WHEN kind = 'span' THEN
            RETURN '{"SELECT v, count(*), sum(id) FROM b GROUP BY v", "SELECT count(*), min(v), max(v) FROM b", "SELECT count(*), sum(x.v) FROM b x JOIN b y USING (v)", "SELECT count(DISTINCT v) FROM b WHERE v > 0", "SELECT count(*) FROM b WHERE v IN (SELECT v FROM b WHERE id > 50)"}';
        WHEN kind = 'pages' THEN
            RETURN '{"SELECT v, count(*), sum(id) FROM b GROUP BY v", "SELECT count(*), sum(hashtext(x::text)) FROM (SELECT id, v FROM b OFFSET 0) x"}';
        WHEN kind = 'first_rows' THEN
            RETURN ARRAY[format('SELECT count(*), sum(hashtext(x::text)) FROM (SELECT id, v FROM many ORDER BY v, id LIMIT %s) x', n), format('SELECT count(*), sum(id) FROM (SELECT id, t FROM many WHERE v < 900 ORDER BY id DESC OFFSET 7 LIMIT %s) x', n),
                         format('SELECT count(*), sum(c) FROM (SELECT id, count(*) c FROM many GROUP BY id ORDER BY id LIMIT %s) x', n)];
        WHEN kind = 'length' THEN
            RETURN ARRAY['SELECT id, length(v), v FROM b', 'SELECT count(*) FROM b WHERE v LIKE ''%z%''', 'SELECT v, count(*) FROM b GROUP BY v', 'SELECT max(v), min(v) FROM b', 'SELECT upper(v), v || ''x'' FROM b WHERE v > ''b''', 'SELECT count(*) FROM b x JOIN b y USING (v)',
                         format('SELECT count(*) FROM b WHERE v = repeat(''a'', %s) OR v LIKE %L', n, left(repeat('%a_', n), 200))];
        WHEN kind = 'constant' THEN
            RETURN ARRAY[format('SELECT count(*) FROM b WHERE t = %L OR id = 7', repeat('w', n)), format('SELECT count(*) FROM b WHERE t LIKE %L', repeat('w', n - 1) || '%'),
                         format('SELECT count(*), max(length(x)) FROM (SELECT CASE WHEN id = 7 THEN %L ELSE t END AS x FROM b WHERE id < 9) x', repeat('w', n))];
        WHEN kind = 'list' THEN
            RETURN ARRAY[format('SELECT count(*), sum(v) FROM b WHERE v IN (%s)', (SELECT string_agg((i * 3)::text, ',') FROM generate_series(1, n) i)), format('SELECT count(*) FROM b WHERE t IN (%s)', (SELECT string_agg(format('''w%s''', i * 3), ',') FROM generate_series(1, n) i)),
                         format('SELECT count(*) FROM b WHERE v <> ALL (ARRAY[%s])', (SELECT string_agg((i * 3)::text, ',') FROM generate_series(1, n) i)), format('SELECT count(*) FROM b JOIN (VALUES %s) x (v) USING (v)', (SELECT string_agg(format('(%s)', i), ',') FROM generate_series(1, n) i))];
        WHEN kind = 'terms' THEN
            RETURN ARRAY[format('SELECT sum(%s) FROM b', (SELECT string_agg(format('(v + %s)', i), ' + ') FROM generate_series(1, n) i)), format('SELECT count(*) FROM b WHERE %s', (SELECT string_agg(format('v = %s', i * 5), ' OR ') FROM generate_series(1, n) i)),
                         format('SELECT count(*) FROM b WHERE %s', (SELECT string_agg(format('v <> %s', i * 5), ' AND ') FROM generate_series(1, n) i)), format('SELECT count(*), sum(greatest(%s)) FROM b', (SELECT string_agg(format('v - %s', i), ',') FROM generate_series(1, n) i))];
        WHEN kind = 'arms' THEN
            RETURN ARRAY[format('SELECT count(*), sum(CASE %s ELSE 0 END) FROM b', (SELECT string_agg(format('WHEN v = %s THEN %s', i, i * 2), ' ') FROM generate_series(1, n) i)), format('SELECT CASE %s END, count(*) FROM b GROUP BY 1', (SELECT string_agg(format('WHEN id < %s THEN ''a%s''', i * 5, i), ' ') FROM generate_series(1, n) i))];
        WHEN kind = 'columns' THEN
            RETURN ARRAY[format('SELECT count(*), sum(c%s), sum(c1) FROM b', greatest(n - 1, 1)), format('SELECT %s FROM b', (SELECT string_agg(format('sum(c%s)', i), ',') FROM generate_series(1, least(n, 1600)) i)),
                         format('SELECT c%s, count(*) FROM b GROUP BY 1', n), format('SELECT count(*) FROM (SELECT DISTINCT %s FROM b) x', (SELECT string_agg('c' || i, ',') FROM generate_series(1, least(n, 200)) i)), format('SELECT count(*) FROM b WHERE c1 > 3%s', (SELECT string_agg(format(' AND c%s IS NULL', i), '') FROM generate_series(2, least(n, 600)) i))];
        WHEN kind = 'partitions' THEN
            RETURN '{"SELECT v, count(*), sum(id) FROM b GROUP BY v", "SELECT count(*) FROM b x JOIN b y USING (id)", "SELECT id, v FROM b WHERE v = 3 ORDER BY id DESC LIMIT 4"}';
    END CASE;
END $$;

CREATE PROCEDURE make(kind text, n int) LANGUAGE plpgsql AS $$
DECLARE
    statement text;
BEGIN
    DROP TABLE IF EXISTS b;
    FOREACH statement IN ARRAY coalesce(table_of(kind, n), '{}') LOOP
        EXECUTE statement;
    END LOOP;
    IF to_regclass('b') IS NULL THEN -- what the script VACUUMs
        CREATE TABLE b (id int);
    END IF;
END $$;

-- Beside answers that differ nothing is wanted of plans: what deaths and fallbacks there were the log tells.
CREATE PROCEDURE try(kind text, n int) LANGUAGE plpgsql AS $$
DECLARE
    statement text;
BEGIN
    IF table_of(kind, n) IS NULL THEN
        RETURN;
    END IF;
    FOREACH statement IN ARRAY queries_of(kind, n) LOOP
        INSERT INTO tried VALUES (kind, n, left(statement, 300), check_query(statement, 'any'));
    END LOOP;
END $$;
