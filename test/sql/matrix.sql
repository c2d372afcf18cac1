-- Every type by every operator over tables of every shape: sizes around a warp and beyond a vector, NULLs nowhere, here and
-- there and everywhere, values unique, of few kinds and all the same. Each cell is a query of its own, answered by PostgreSQL
-- and with the device forced, in one snapshot. Differences are printed with their query. (Tables of about one chunk and of
-- several: test/tap/chunks.sh.) Of the whole matrix every fourth diagonal is asked, so that each pair of type, operator and
-- shape meets; with the setting matrix.diagonals = 1 all of it is.
CREATE SCHEMA matrix;
SET search_path = matrix, public;
SET client_min_messages = warning;

-- ---- the tables ----

CREATE TABLE shapes (number int GENERATED ALWAYS AS IDENTITY (MINVALUE 0 START 0), name text, rows int, nulls int, kinds int);
INSERT INTO shapes (name, rows, nulls, kinds)
    SELECT format('r%s_n%s_k%s', r, nulls, kinds), r, nulls, kinds
    FROM unnest('{0,1,31,32,33,1500}'::int[]) r, unnest('{0,30,100}'::int[]) nulls, unnest('{1,5,1000000}'::int[]) kinds
    WHERE r > 1 OR r = 1 AND kinds = 1 AND nulls <> 30 OR r = 0 AND kinds = 1 AND nulls = 0
    ORDER BY r, nulls, kinds;

-- The value that belongs to the number k, and a constant of the type. (No -0 among the floats: which of two equal values a
-- group shows depends on the plan, in PostgreSQL too.)
CREATE TABLE types (number int GENERATED ALWAYS AS IDENTITY (MINVALUE 0 START 0), name text, declared text, of_k text, constant text, arithmetic bool);
INSERT INTO types (name, declared, of_k, constant, arithmetic) VALUES
    ('b', 'bool', 'k % 2 = 0', 'true', false),
    ('i2', 'int2', '(k % 41 - 7)::int2', '3::int2', true),
    ('i4', 'int4', 'k % 977 - 11', '5', true),
    ('i8', 'int8', '(k % 977 - 11) * 3000000019', '6000000038', true),
    ('f4', 'float4', '(k % 61 - 9) / 4.0::float4', '1.25::float4', true),
    ('f8', 'float8', 'CASE k % 19 WHEN 3 THEN ''NaN''::float8 ELSE (k % 83 - 9) / 8.0 END', '1.125::float8', true),
    ('n', 'numeric(10,2)', '(k % 403 - 12) * 1.25', '3.75', true),
    ('m', 'numeric(24,6)', '(k % 403 - 12) * 123456789.000001', '370370367.000003', true),
    ('d', 'date', 'date ''2024-02-25'' + k % 37', 'date ''2024-02-29''', false),
    ('ts', 'timestamp', 'timestamp ''2024-02-28 12:00'' + k % 53 * interval ''11 hours''', 'timestamp ''2024-03-01 09:00''', false),
    ('tz', 'timestamptz', 'timestamptz ''2024-02-28 12:00+00'' + k % 53 * interval ''7 hours''', 'timestamptz ''2024-03-01 09:00+00''', false),
    ('t', 'text', '(''{a,b,ab,"a b",B,"",abc,ä,10,9}''::text[])[1 + k % 10] || CASE WHEN k > 20 THEN (k % 99)::text ELSE '''' END', '''ab''', false),
    ('v', 'varchar(12) COLLATE "C"', '(''{x,X,xy,"x ",é}''::text[])[1 + k % 5] || k % 23', '''x5''', false),
    ('c', 'char(6)', '(''{p,q,"p ",pq}''::text[])[1 + k % 4] || left((k % 31)::text, 1)', '''p4''', false);

-- Columns x_TYPE and y_TYPE go through the kinds in different orders and are NULL in different rows; z_TYPE is never NULL.
SELECT format('CREATE TABLE %I (id int NOT NULL%s)', s.name,
              (SELECT string_agg(format(', x_%1$s %2$s, y_%1$s %2$s, z_%1$s %2$s NOT NULL', name, declared), '' ORDER BY number) FROM types))
    FROM shapes s ORDER BY s.number \gexec
SELECT format('INSERT INTO %I SELECT i%s FROM (SELECT i, i * 7919 %% %3$s AS kx, i * 1049 %% %3$s AS ky, i * 31 %% %3$s AS kz, '
              'i * 37 %% 100 < %4$s AS nx, i * 61 %% 100 < %4$s AS ny FROM generate_series(1, %5$s) i) s', s.name,
              (SELECT string_agg(format(', CASE WHEN NOT nx THEN %s END, CASE WHEN NOT ny THEN %s END, %s', regexp_replace(of_k, '\mk\M', 'kx', 'g'),
                                        regexp_replace(of_k, '\mk\M', 'ky', 'g'), regexp_replace(of_k, '\mk\M', 'kz', 'g')), '' ORDER BY number) FROM types),
              kinds, nulls, rows)
    FROM shapes s ORDER BY s.number \gexec
SELECT format('VACUUM (FREEZE, ANALYZE) %I', name) FROM shapes \gexec

-- ---- the operators ----

-- %1$s is the table, %2$s the type's name, %3$s its constant.
CREATE TABLE operators (number int GENERATED ALWAYS AS IDENTITY (MINVALUE 0 START 0), query text, arithmetic bool);
INSERT INTO operators (query, arithmetic)
    SELECT 'SELECT count(*), sum(id) FROM %1$s WHERE ' || e, false
    FROM unnest('{=,<>,<,<=,>,>=}'::text[]) op, unnest(ARRAY['x_%2$s # %3$s', 'x_%2$s # y_%2$s', 'z_%2$s # x_%2$s', '%3$s # z_%2$s', 'NOT (y_%2$s # x_%2$s)']) template, replace(template, '#', op) e;
INSERT INTO operators (query, arithmetic)
    SELECT 'SELECT count(*), sum(id) FROM %1$s WHERE ' || e, false FROM unnest(ARRAY[
        'x_%2$s IS NULL', 'x_%2$s IS NOT NULL', 'z_%2$s IS NULL', 'x_%2$s IS DISTINCT FROM y_%2$s', 'x_%2$s IS NOT DISTINCT FROM y_%2$s',
        'x_%2$s IS DISTINCT FROM NULL', 'x_%2$s BETWEEN %3$s AND z_%2$s', 'x_%2$s NOT BETWEEN y_%2$s AND %3$s', 'x_%2$s BETWEEN SYMMETRIC y_%2$s AND z_%2$s',
        'x_%2$s IN (%3$s, NULL)', 'x_%2$s NOT IN (%3$s, NULL)', 'z_%2$s NOT IN (%3$s)', 'x_%2$s IN (%3$s, y_%2$s)', 'x_%2$s = ANY (ARRAY[%3$s, y_%2$s])',
        'coalesce(x_%2$s, y_%2$s, %3$s) = z_%2$s', 'coalesce(x_%2$s, z_%2$s) > %3$s', 'nullif(x_%2$s, y_%2$s) IS NULL', 'nullif(z_%2$s, %3$s) > y_%2$s',
        'CASE WHEN x_%2$s < y_%2$s THEN x_%2$s ELSE z_%2$s END >= y_%2$s', 'CASE x_%2$s WHEN %3$s THEN true WHEN y_%2$s THEN NULL ELSE id > 3 END',
        'greatest(x_%2$s, y_%2$s) <= z_%2$s', 'least(x_%2$s, %3$s) < z_%2$s', '(x_%2$s > %3$s) IS UNKNOWN', '(x_%2$s > y_%2$s) IS NOT TRUE',
        'x_%2$s < y_%2$s OR y_%2$s < z_%2$s', 'x_%2$s <> y_%2$s AND NOT z_%2$s = %3$s', '(x_%2$s < %3$s) = (y_%2$s < %3$s)',
        'x_%2$s = (SELECT y_%2$s FROM %1$s ORDER BY id LIMIT 1)', 'x_%2$s IN (SELECT y_%2$s FROM %1$s)', 'z_%2$s NOT IN (SELECT y_%2$s FROM %1$s)',
        'EXISTS (SELECT FROM %1$s s WHERE s.y_%2$s = %1$s.x_%2$s)', 'NOT EXISTS (SELECT FROM %1$s s WHERE s.y_%2$s = %1$s.z_%2$s AND s.id > 5)']) e;
INSERT INTO operators (query, arithmetic)
    SELECT template, false FROM unnest(ARRAY[
        'SELECT count(x_%2$s), count(z_%2$s), count(*) FROM %1$s', 'SELECT min(x_%2$s), max(x_%2$s) FROM %1$s', 'SELECT min(x_%2$s), max(z_%2$s) FROM %1$s WHERE y_%2$s > %3$s',
        'SELECT count(DISTINCT x_%2$s) FROM %1$s', 'SELECT max(x_%2$s) FILTER (WHERE y_%2$s < z_%2$s) FROM %1$s',
        'SELECT z_%2$s, min(x_%2$s), count(y_%2$s) FROM %1$s GROUP BY z_%2$s', 'SELECT x_%2$s, count(*), sum(id) FROM %1$s GROUP BY x_%2$s',
        'SELECT x_%2$s, y_%2$s, count(*) FROM %1$s GROUP BY x_%2$s, y_%2$s HAVING count(*) > 1', 'SELECT x_%2$s < y_%2$s, count(*) FROM %1$s GROUP BY 1',
        'SELECT DISTINCT x_%2$s, id %% 3 FROM %1$s', 'SELECT id, x_%2$s, z_%2$s FROM %1$s WHERE y_%2$s >= %3$s', 'SELECT id, coalesce(x_%2$s, y_%2$s) FROM %1$s WHERE id < 200',
        'SELECT id, x_%2$s FROM %1$s ORDER BY x_%2$s DESC, id LIMIT 7', 'SELECT count(*), sum(a.id), min(b.z_%2$s) FROM %1$s a JOIN %1$s b ON a.x_%2$s = b.y_%2$s AND a.id < b.id AND b.id < 150',
        'SELECT a.x_%2$s, count(*) FROM %1$s a JOIN %1$s b ON a.id = b.id AND a.x_%2$s <= b.z_%2$s GROUP BY a.x_%2$s',
        'SELECT count(*), count(b.id), sum(b.id) FROM %1$s a LEFT JOIN %1$s b ON a.x_%2$s = b.z_%2$s AND b.id < 50',
        'SELECT count(*), count(a.id), count(b.id) FROM %1$s a FULL JOIN (SELECT * FROM %1$s WHERE id < 40) b ON a.x_%2$s = b.y_%2$s']) template;
INSERT INTO operators (query, arithmetic)
    SELECT template, true FROM unnest(ARRAY[
        'SELECT approx(sum(x_%2$s)::float8) FROM %1$s', 'SELECT approx(avg(x_%2$s)::float8), count(*) FROM %1$s WHERE x_%2$s > y_%2$s', 'SELECT z_%2$s < %3$s, approx(sum(x_%2$s)::float8) FROM %1$s GROUP BY 1',
        'SELECT min(x_%2$s + y_%2$s), max(x_%2$s - z_%2$s) FROM %1$s', 'SELECT min(x_%2$s * y_%2$s), max(- x_%2$s) FROM %1$s', 'SELECT max(x_%2$s / %3$s) FROM %1$s', 'SELECT count(x_%2$s / z_%2$s) FROM %1$s',
        'SELECT count(*) FROM %1$s WHERE x_%2$s + y_%2$s > z_%2$s * 2', 'SELECT count(*), sum(id) FROM %1$s WHERE abs(x_%2$s) < %3$s', 'SELECT approx(sum(x_%2$s * z_%2$s)::float8) FROM %1$s WHERE y_%2$s IS NOT NULL',
        'SELECT min(x_%2$s::float8), max(x_%2$s::numeric) FROM %1$s', 'SELECT x_%2$s::int4, count(*) FROM %1$s GROUP BY 1', 'SELECT count(*) FROM %1$s WHERE x_%2$s::int8 = id',
        'SELECT approx(sum(CASE WHEN x_%2$s > y_%2$s THEN x_%2$s ELSE 0 END)::float8) FROM %1$s', 'SELECT approx(variance(x_%2$s)::float8) FROM %1$s']) template;

-- ---- the check ----

CREATE FUNCTION matrix_check() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    diagonals constant int := coalesce(current_setting('matrix.diagonals', true), '4')::int;
    query text;
    plan jsonb;
    plain text[];
    device text[];
    queries int := 0;
    errors int := 0;
    offloaded int := 0;
BEGIN
    FOR query IN
        SELECT DISTINCT format(o.query, s.name, t.name, t.constant)
        FROM operators o, types t, shapes s
        WHERE (t.arithmetic OR NOT o.arithmetic) AND (o.number + t.number + s.number) % diagonals = 0 LOOP
        SELECT p.plain, p.device INTO plain, device FROM plain_and_device(query) p;
        CONTINUE WHEN plain[2] = '42883' AND plain = device; -- no such operator for this type
        queries := queries + 1;
        IF plain IS DISTINCT FROM device THEN
            RETURN NEXT query || E'\n' || check_query(query, 'any');
        ELSIF plain[1] = 'ERROR' THEN
            errors := errors + 1;
            IF plain[2] ~ '^42' THEN
                RETURN NEXT query || E'\n' || plain[3];
            END IF;
        END IF;
        IF current_setting('check.reference', true) IS DISTINCT FROM 'on' THEN
            PERFORM set_config('gpuscan.offload', 'force', true);
            EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
            PERFORM set_config('gpuscan.offload', 'off', true);
            offloaded := offloaded + (plan @? '$.** ? (@."Custom Plan Provider" == "GpuScan")')::int;
        END IF;
    END LOOP;
    RAISE DEBUG '% queries, % offloaded, % errors', queries, offloaded, errors;
    RETURN NEXT format('more than 5000 queries: %s, most offloaded: %s, few errors: %s', queries > 5000,
                       offloaded > queries * 0.7 OR current_setting('check.reference', true) = 'on', errors < queries * 0.2);
END $$;
SELECT matrix_check();
