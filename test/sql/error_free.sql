-- What cannot raise an error (pg/catalog/error_free.h) may be computed after a device has sorted the rows and taken the first of them.
-- What may raise one PostgreSQL computes of all rows before it sorts them; a device that sorts checks for its errors, if it can compute it.
CREATE SCHEMA error_free;
SET search_path = error_free, public;
SET client_min_messages = warning;
CREATE TABLE t (id int, i2 int2, i4 int4, i8 int8, f8 float8, f4 float4, n numeric(12,2), t text, v varchar(40), c char(6), b bool, d date, ts timestamp, tz timestamptz, u uuid, j jsonb, a int[], y bytea, x name);
INSERT INTO t SELECT i, i % 300, i, i, i / 4.0, i, i / 4.0, 'Text ' || i % 9, 'Var ' || i % 7, 'c' || i % 5, i % 2 = 0, date '2024-01-01' + i % 99, timestamp '2024-01-01' + i * interval '1 hour', timestamptz '2024-01-01 00:00:00+00' + i * interval '1 hour',
    lpad(to_hex(i), 32, '0')::uuid, jsonb_build_object('k', i % 5, 'l', jsonb_build_array(i, 'x')), ARRAY[i, i + 1], int4send(i), 'name' || i % 3 FROM generate_series(1, 4000) i;
-- the ends of the types, and what is none of a kind
INSERT INTO t VALUES (5001, 32767, 2147483647, 9223372036854775807, 'Infinity', 'NaN', 9999999999.99, repeat('ßä€😀', 50), '', '', true, 'infinity', 'infinity', 'infinity', 'ffffffffffffffffffffffffffffffff', '[]', '{}', '', ''),
    (5002, -32768, -2147483648, -9223372036854775808, '-1.7976931348623157e308', '-3.4e38', -9999999999.99, '', E'\\', '€', false, '-infinity', '-infinity', '-infinity', '00000000000000000000000000000000', 'null', '{{1,2},{3,4}}', '\x00', '€'),
    (5003, 0, 0, 0, 5e-324, 1e-45, 0, E'%_\\''"\n\t', ' x ', ' ', NULL, '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:00:00+00', NULL, '{"k": {"k": [1, {"a": null}]}}', NULL, NULL, NULL),
    (5004, -1, -1, -1, '-0', '-0', -0.01, 'ǅ ﬁ İ ı', NULL, NULL, NULL, '4713-11-24 BC', '4713-11-24 00:00:00 BC', '4713-12-31 BC', NULL, '"k"', '[0:1]={7,NULL}', '\xff', NULL);
INSERT INTO t (id) VALUES (5005);
SELECT wait_for_snapshots();
VACUUM (FREEZE, ANALYZE) t;

-- is the order the device's, and does it check?
CREATE FUNCTION who_sorts(expression text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = force AS $$
DECLARE
    line text;
    device text := 'PostgreSQL';
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id, %s FROM t ORDER BY id DESC LIMIT 7', expression) LOOP
        IF line ~ '^ *(-> *)?(Incremental )?Sort$' THEN
            RETURN 'PostgreSQL';
        END IF;
        device := CASE WHEN line ~ 'GpuScan' THEN 'device' WHEN line ~ 'Row Checks:' THEN device || ' checks' ELSE device END;
    END LOOP;
    RETURN device;
END $$;
-- does PostgreSQL raise an error over all rows, and are the first ones the same?
CREATE FUNCTION judged(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    error text := 'no error';
BEGIN
    BEGIN
        SET LOCAL gpuscan.offload = off;
        EXECUTE format('SELECT count(x::text) FROM (SELECT %s AS x FROM t OFFSET 0) s', expression);
    EXCEPTION WHEN OTHERS THEN
        error := 'an error';
    END;
    RETURN who_sorts(expression) || ', ' || error || ', '
        || regexp_replace(check_query(format('SELECT id, %s AS x FROM t ORDER BY id DESC LIMIT 7', expression), 'any'), 'ERROR.*', 'ERROR');
END $$;

-- All of these: sorted by the device without checks, no error.
SELECT expression, judged(expression) AS verdict FROM unnest(ARRAY[
    'upper(t)', 'lower(v)', 'initcap(t)', 'upper(c)', 'length(t)', 'char_length(c)', 'character_length(v)', 'octet_length(t)', 'octet_length(c)', 'length(y)', 'octet_length(y)', 'ltrim(t)', 'rtrim(t, ''x'')', 'btrim(t)', 'trim(both ''T'' from t)',
    'left(t, 3)', 'left(t, -2)', 'right(t, -2147483648)', 'right(v, 2)', 'reverse(t)', 'translate(t, ''Te'', ''x'')', 'substr(t, 2)', 'substr(t, -5, 7)', 'substring(t from 2 for 2147483647)', 'substring(t, i4)', 't || v', 't || '' - '' || c', 'y || y', 'quote_literal(t)',
    'strpos(t, ''e'')', 'position(v in t)', 'starts_with(t, ''T'')', 'replace(t, ''ex'', ''a'')', 'replace(v, ''ar'', '''')', 'split_part(t, '' '', 2)', 'split_part(t, v, -1)', 't LIKE ''T%''', 'v NOT LIKE ''%5''', 'concat(t, '' '', i4, n, d, j)', 'concat_ws('', '', t, v, b)',
    'i4::text', 'i8::varchar', 'f8::text', 'n::text', 'd::text', 'ts::text', 'u::text', 'b::text', 'j::text', 'c::text', 'x::text', 't::varchar(3)', 't::char(2)', 'i2::int8', 'i4::float8', 'b::int', 'i4::bool',
    'i4 / 7', 'i8 / 2', 'i2 / 3', 'i4 % 10', 'i8 % -1', 'mod(i2, 5::int2)', 'i4 & 255', 'i8 | 1', 'i2 # 3::int2', '~i4', '+i8', '-f8', '@f8', 'abs(f8)', 'sign(f8)', 'floor(f8)', 'ceil(f8)', 'ceiling(f8)', 'round(f8)', 'trunc(f8)', 'f4::float8', 'n * 2 - n', '-n', 'n / 3', 'round(n / 7, 2)',
    'extract(year from d)', 'extract(dow from ts)', 'extract(epoch from ts)', 'extract(hour from ts)', 'date_part(''month'', ts)', 'extract(week from d)', 'j -> ''k''', 'j ->> ''k''', 'j -> 0', 'j ->> -1', 'j #> ''{k,k}''', 'j #>> ''{l,0}''', 'j ? ''k''', 'j ?| ''{a,k}''', 'j ?& ''{a,k}''', 'j @> ''{"k": 1}''', 'j <@ ''{}''', 'jsonb_typeof(j)',
    'cardinality(a)', 'array_length(a, 1)', 'array_ndims(a)', 'CASE WHEN i4 > 5 THEN upper(t) ELSE v::text END', 'coalesce(t, upper(v))', 'nullif(t, v)', 'i4 > 7 OR lower(t) = ''x''']) WITH ORDINALITY e (expression, n) ORDER BY n;
-- None of these: checked, or sorted by PostgreSQL. Those that raise an error raise it whatever rows are wanted; the others could with other rows.
SELECT expression, judged(expression) AS verdict FROM unnest(ARRAY[
    'i4 + 1', 'i4 - id', 'i8 * 2', 'i4 / i2', 'i4 / 0', 'i4 / -1', 'i8 % i4', 'abs(i4)', '-i4', 'f8 * 10', 'f8 / 2', 'sqrt(f8)', 'ln(n)', 'n / id', 'i8::int4', 'f8::int', 'n::int', 'n::numeric(4,2)', 't::int', 't::date', 'j::int', 'substr(t, 1, i4)', 'split_part(t, '' '', 0)', 't LIKE v', 't LIKE ''x\''', 'repeat(t, i4)', 'lpad(t, i4)', 'replace(t, ''e'', repeat(''x'', 9))',
    'replace(t, ''e'', v)', 'chr(i4)', 'ascii(t)', 'd + 1', 'd - date ''2020-01-01''', 'd::timestamp', 'ts + interval ''1 day''', 'tz::text', 'extract(fortnight from ts)', 'date_trunc(''month'', ts)', 'to_char(ts, ''YYYY-MM'')', 'jsonb_array_length(j)', 't ~ ''(''', 'concat(t, tz)', 'md5(t)']) WITH ORDINALITY e (expression, n) ORDER BY n;
-- the same if only rows without an error are wanted
SELECT expression, check_query(format('SELECT id, %s AS x FROM t ORDER BY id LIMIT 3', expression), 'any') AS verdict FROM unnest(ARRAY['i4 + 1', 'i8 * 2', 'i4 / (i2 - 7)', '-i4', 'f8 * 10', 'n::numeric(4,2)', 'd + 1', 'ts + interval ''1 day''', 'i8::int4', 't::int', 'repeat(t, i4)']) AS expression;
-- and of those who read some of the rows without LIMIT: functions, cursors, values with side effects beside the error
CREATE SEQUENCE s;
CREATE FUNCTION some_rows(query text, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text := '';
    row record;
BEGIN
    PERFORM setval('s', 1, false), set_config('gpuscan.offload', mode, true);
    EXECUTE format('CREATE OR REPLACE FUNCTION lazily() RETURNS SETOF int LANGUAGE sql AS %L', query);
    BEGIN
        FOR row IN SELECT lazily() AS x LIMIT 3 LOOP
            result := result || ' ' || coalesce(row.x::text, 'NULL');
        END LOOP;
    EXCEPTION WHEN OTHERS THEN
        result := result || ' ' || SQLERRM;
    END;
    BEGIN
        FOR row IN EXECUTE query LOOP
            result := result || ', first ' || coalesce(row::text, 'NULL');
            EXIT;
        END LOOP;
    EXCEPTION WHEN OTHERS THEN
        result := result || ', ' || SQLERRM;
    END;
    RETURN result || (SELECT ', sequence ' || last_value || ' ' || is_called FROM s);
END $$;
SELECT query, some_rows(query, 'off') AS postgres, some_rows(query, 'force') = some_rows(query, 'off') AS same FROM unnest(ARRAY[
    'SELECT 1 / (id - 500) FROM t ORDER BY id', 'SELECT 1 / (a.id - 500) FROM t a JOIN t b ON a.i2 = b.id ORDER BY a.id, b.id', 'SELECT (nextval(''s'') + 1 / (id - 500))::int FROM t ORDER BY id',
    'SELECT x FROM (SELECT nextval(''s''), 1 / (id - 500) AS x FROM t ORDER BY id) y', 'SELECT upper(t)::int FROM t ORDER BY id', 'SELECT (i4 % 7)::int FROM t ORDER BY id', 'SELECT (i4 + 1) % 7 FROM t WHERE i4 < 100 ORDER BY id']) AS query;
DROP SCHEMA error_free CASCADE;
