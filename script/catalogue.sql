-- Every function, operator and aggregate of PostgreSQL over common types: which of them does a device evaluate, and does it give
-- PostgreSQL's answer? Run by coverage.sh in an empty database with the extension. Variables: rows (of the table), listing (the file that gets
-- what runs where, and why not), planted (true: only an expression that is another one on a device, which has to be found).
--
-- What is asked is taken from pg_operator, pg_proc and pg_aggregate. Left out are set-returning, volatile and trigger functions, those whose
-- arguments or results are no SQL values (internal, cstring, polymorphic types), input and output functions, those that operators, aggregates and
-- index methods are made of, and stable ones that look at no time, since they read catalogs or settings. Each is tried with columns as
-- arguments, and with constants beside one column. It runs on a device if one of these forms does.
\set QUIET on
\pset tuples_only on
\pset format unaligned
SET client_min_messages = error;
SET timezone = 'Europe/Berlin';
SET max_parallel_workers_per_gather = 0;
CREATE SCHEMA catalogue;
SET search_path = catalogue, public;

-- ---- the types: values that go into every row's cycle, and what is extreme ----

CREATE TABLE kinds (kind text PRIMARY KEY, type regtype, declared text, constant text, common text, extremes text[]);
INSERT INTO kinds VALUES
    ('bool', 'bool', 'bool', 'true', 'i % 3 = 0', '{}'),
    ('int2', 'int2', 'int2', '2', '(i * 37 % 201 - 100)::int2', '{-32768,32767}'),
    ('int4', 'int4', 'int4', '3', 'i * 7919 % 10007 - 5000', '{-2147483648,2147483647}'),
    ('int8', 'int8', 'int8', '5', 'i * 104729::int8 % 100003 - 50000', '{-9223372036854775808,9223372036854775807}'),
    ('float4', 'float4', 'float4', '1.5', '((i * 31 % 4001 - 2000) / 8.0)::float4', '{NaN,-Infinity,Infinity,-0,3.4e38,1e-45}'),
    ('float8', 'float8', 'float8', '0.75', '(i * 97 % 7001 - 3500) / 16.0::float8', '{NaN,-Infinity,Infinity,-0,1.7e308,5e-324}'),
    ('numeric', 'numeric', 'numeric', '1.25', '(i * 61 % 9001 - 4500)::numeric / (ARRAY[1, 10, 100])[1 + i % 3]', '{NaN,-Infinity,Infinity,1e40,-1e-30,0.00}'),
    ('numeric(12,2)', 'numeric', 'numeric(12,2)', '1.25', '((i * 61 % 9001 - 4500) / 100.0)::numeric(12,2)', '{9999999999.99,-9999999999.99,0}'),
    ('text', 'text', 'text', 'ab', $$(ARRAY['', 'a', 'ab', 'Abc def', 'z', '12', 'ä%_x'])[1 + i % 7] || CASE WHEN i % 5 > 1 THEN (i % 40)::text ELSE '' END$$, $${\\\\,"  "}$$),
    ('varchar', 'varchar', 'varchar(20)', 'b', $$((ARRAY['x', 'Yz', '12', 'ab '])[1 + i % 4] || i % 30)::varchar(20)$$, '{"",12}'),
    ('bpchar', 'bpchar', 'char(6)', 'ab', $$((ARRAY['x', 'Yz', '12', 'ab'])[1 + i % 4] || i % 30)::char(6)$$, '{"","ab"}'),
    ('bytea', 'bytea', 'bytea', '\x6162', $$decode(lpad(to_hex(i % 200), 4, '0'), 'hex')$$, $${"",\\\\x00ff}$$),
    ('date', 'date', 'date', '2024-02-29', $$date '2020-01-01' + i * 13 % 3000$$, '{infinity,-infinity,"4713-01-01 BC",5874897-12-31}'),
    ('time', 'time', 'time', '12:30', $$time '00:00' + i * 7 % 86399 * interval '1 s'$$, '{00:00,24:00,23:59:59.999999}'),
    ('timetz', 'timetz', 'timetz', '12:30+02', $$(time '00:00' + i * 7 % 86399 * interval '1 s')::text::timetz + (i % 3) * interval '1 h'$$, '{00:00+15:59,24:00-15:59}'),
    ('timestamp', 'timestamp', 'timestamp', '2024-02-29 12:00', $$timestamp '2020-01-01' + i * 7919 % 100003 * interval '17 min 1.5 s'$$, '{infinity,-infinity,"4713-01-01 BC","294276-12-31 23:59:59.999999"}'),
    ('timestamptz', 'timestamptz', 'timestamptz', '2024-02-29 12:00+01', $$timestamptz '2020-01-01 UTC' + i * 7919 % 100003 * interval '17 min 1.5 s'$$, '{infinity,-infinity,"4713-01-01 BC","294276-12-31 23:59:59.999999 UTC"}'),
    ('interval', 'interval', 'interval', '1 day 2 hours', $$(i % 25 - 12) * interval '1 month' + (i % 61 - 30) * interval '1 day' + i % 5003 * interval '1 min'$$, '{"178000000 years","-178000000 years",0}'),
    ('uuid', 'uuid', 'uuid', '00000000-0000-0000-0000-000000000001', $$lpad(to_hex(i % 500), 32, '0')::uuid$$, '{ffffffff-ffff-ffff-ffff-ffffffffffff}'),
    ('inet', 'inet', 'inet', '10.0.0.0/8', $$inet '10.0.0.0' + i % 600$$, '{0.0.0.0/0,255.255.255.255,::1/128,fe80::/10}'),
    ('jsonb', 'jsonb', 'jsonb', '{"a": 1}', $$jsonb_build_object('a', i % 7, 'b', ARRAY[i % 3, 2])$$, '{null,"[]","\"x\"","1e400"}'),
    ('char', '"char"', '"char"', 'b', $$chr(97 + i % 20)::"char"$$, $${"",\\\\377}$$),
    ('name', 'name', 'name', 'pg', $$('n' || i % 50)::name$$, '{""}');
-- Constants of arguments that mean something: units, formats, zones.
CREATE TABLE meanings (name text, constant text);
INSERT INTO meanings VALUES ('date_trunc', 'month'), ('date_part', 'month'), ('extract', 'month'), ('timezone', 'America/New_York'), ('to_char', 'YYYY-MM-DD 999'), ('to_date', 'YYYY'), ('to_timestamp', 'YYYY'),
    ('to_number', '999'), ('encode', 'hex'), ('decode', 'hex'), ('convert_to', 'UTF8'), ('convert_from', 'UTF8'), ('length', 'UTF8'), ('normalize', 'NFC'), ('is_normalized', 'NFC');

-- (The second column of a type has its values in another order; every eleventh row has a NULL.)
CREATE FUNCTION make_tables(rows int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE declared text; usual text; extreme text; ends int := (SELECT max(cardinality(extremes)) + 1 FROM kinds);
BEGIN
    SELECT string_agg(format('%I %s, %I %2$s', 'a_' || kind, k.declared, 'b_' || kind), ', ' ORDER BY kind),
        string_agg(format('CASE WHEN i %% 11 > 0 THEN %s END, CASE WHEN i %% 13 > 0 THEN (%s) END', common, regexp_replace(common, '\mi\M', '(i * 3 + 1)', 'g')), ', ' ORDER BY kind),
        string_agg(format('(%1$L::%2$s[])[1 + i %% %3$s], (%1$L::%2$s[])[1 + i / %3$s]', extremes || constant, k.declared, ends), ', ' ORDER BY kind)
    INTO declared, usual, extreme FROM kinds k;
    EXECUTE format('CREATE TABLE usual (i int, g int, %s)', declared);
    EXECUTE format('CREATE TABLE extreme (i int, g int, %s)', declared);
    EXECUTE format('INSERT INTO usual SELECT i, i %% 17, %s FROM generate_series(1, %s) i', usual, rows);
    EXECUTE format('INSERT INTO extreme SELECT i, i %% 3, %s FROM generate_series(0, %s * %2$s - 1) i', extreme, ends);
END $$;
SELECT make_tables(:rows) \g /dev/null
VACUUM (FREEZE, ANALYZE) usual, extreme;

-- ---- what is asked ----

CREATE TABLE things (id serial, class text, name text, form text, expression text, result regtype);

-- Every choice of kinds for these argument types: a numeric may be of either kind, but all of them are of one.
CREATE FUNCTION kinds_of(types oid[]) RETURNS SETOF text[] LANGUAGE sql AS $$
    SELECT (SELECT array_agg(CASE WHEN t = 'numeric'::regtype THEN numerics ELSE k.kind END ORDER BY n) FROM unnest(types) WITH ORDINALITY a(t, n) JOIN kinds k ON k.type = t AND k.kind <> 'numeric(12,2)')
    FROM unnest(CASE WHEN 'numeric'::regtype::oid = ANY (types) THEN ARRAY['numeric', 'numeric(12,2)'] ELSE ARRAY['numeric'] END) numerics
$$;
-- The arguments as columns, or as constants but for the one at this place.
CREATE FUNCTION arguments(kinds text[], place int, name text) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(CASE WHEN place = 0 OR place = n THEN quote_ident(CASE WHEN place = 0 AND n > 1 AND n % 2 = 0 THEN 'b_' ELSE 'a_' END || k.kind)
            ELSE format('%L::%s', COALESCE(CASE WHEN k.kind = 'text' THEN (SELECT m.constant FROM meanings m WHERE m.name = arguments.name) END, k.constant), k.type) END ORDER BY n)
    FROM unnest(kinds) WITH ORDINALITY a(kind, n) JOIN catalogue.kinds k USING (kind)
$$;
CREATE FUNCTION is_common(types oid[]) RETURNS bool LANGUAGE sql STABLE AS $$ SELECT types <@ (SELECT array_agg(type::oid) FROM kinds) AND cardinality(types) > 0 $$;

CREATE VIEW operators AS SELECT o.oid, o.oprname, o.oprcode, o.oprresult, CASE WHEN o.oprleft = 0 THEN ARRAY[o.oprright] ELSE ARRAY[o.oprleft, o.oprright] END AS types
    FROM pg_operator o WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprcode <> 0;
INSERT INTO things (class, name, form, expression, result)
    SELECT 'operators', format('%s(%s)', oprname, array_to_string(kinds, ', ')), CASE place WHEN 0 THEN 'columns' ELSE 'constants' END,
        CASE cardinality(types) WHEN 1 THEN format('OPERATOR(pg_catalog.%s) %s', oprname, a[1]) ELSE format('%s OPERATOR(pg_catalog.%s) %s', a[1], oprname, a[2]) END, oprresult
    FROM operators, kinds_of(types) kinds, generate_series(0, CASE cardinality(types) WHEN 1 THEN 0 ELSE 2 END) place, arguments(kinds, place, oprname) a
    WHERE is_common(types);

CREATE VIEW parts_of_others AS -- functions that stand for something else
    SELECT oprcode::oid AS oid FROM pg_operator UNION SELECT amproc FROM pg_amproc UNION SELECT prosupport FROM pg_proc
    UNION SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze]) FROM pg_type
    UNION SELECT unnest(ARRAY[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn, aggmfinalfn]::oid[]) FROM pg_aggregate
    UNION SELECT unnest(ARRAY[oprrest, oprjoin]::oid[]) FROM pg_operator;
INSERT INTO things (class, name, form, expression, result)
    SELECT 'functions', format('%s(%s)', proname, array_to_string(kinds, ', ')), CASE place WHEN 0 THEN 'columns' ELSE 'constants' END, format('pg_catalog.%I(%s)', proname, array_to_string(a, ', ')), prorettype
    FROM pg_proc p, kinds_of(proargtypes::oid[]) kinds, generate_series(0, CASE pronargs WHEN 1 THEN 0 ELSE pronargs END) place, arguments(kinds, place, proname) a
    WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset AND is_common(proargtypes::oid[]) AND p.oid NOT IN (SELECT oid FROM parts_of_others)
        AND (SELECT typtype FROM pg_type WHERE oid = prorettype) <> 'p'
        AND (provolatile = 'i' OR (provolatile = 's' AND ARRAY['date', 'time', 'timetz', 'timestamp', 'timestamptz']::regtype[]::oid[] && (proargtypes::oid[] || prorettype)));

INSERT INTO things (class, name, form, expression, result)
    SELECT 'aggregates', format('%s(%s)', proname, array_to_string(kinds, ', ')), CASE WHEN aggkind = 'n' THEN 'columns' ELSE 'ordered' END,
        CASE WHEN aggkind = 'n' THEN format('pg_catalog.%I(%s)', proname, array_to_string(a, ', '))
            ELSE format('pg_catalog.%I(%s) WITHIN GROUP (ORDER BY %s)', proname, array_to_string(arguments(kinds[:aggnumdirectargs], -1, proname), ', '), array_to_string(a[aggnumdirectargs + 1:], ', ')) END, prorettype
    FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid,
        LATERAL (SELECT proargtypes::oid[] UNION ALL SELECT ARRAY[type::oid] FROM (SELECT DISTINCT type FROM kinds) k WHERE proargtypes::oid[] = ARRAY['"any"'::regtype::oid] AND aggkind = 'n') t(types),
        kinds_of(types) kinds, arguments(kinds, 0, proname) a
    WHERE pronamespace = 'pg_catalog'::regnamespace AND is_common(types);

DELETE FROM things WHERE :planted;
INSERT INTO things (class, name, form, expression, result)
    SELECT 'functions', 'planted', 'columns', $$a_bool AND current_setting('gpuscan.offload') = 'off'$$, 'bool' WHERE :planted;

-- ---- asking ----

-- What can be grouped by is, so that the device's own value comes back. (A float of an aggregate is made one that does not end behind the digits
-- that are compared, where it would be rounded either way.)
CREATE FUNCTION query_of(thing things, relation text, condition text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN thing.class = 'aggregates' THEN format('SELECT g, %s%s AS v FROM %s%s GROUP BY g', thing.expression, CASE thing.result WHEN 'float8'::regtype THEN ' * 1.00012345678' ELSE '' END, relation, condition)
        WHEN EXISTS (SELECT FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'hash' AND opcdefault AND opcintype = thing.result) OR thing.result IN ('varchar'::regtype)
        THEN format('SELECT %s AS v, count(*) FROM %s%s GROUP BY 1', thing.expression, relation, condition)
        ELSE format('SELECT count(%s) AS v FROM %s%s', thing.expression, relation, condition) END
$$;
-- device: natively; dictionary: once per different value by PostgreSQL's code; column: once per row, kept in the cache; else why not.
CREATE FUNCTION verdict(query text, OUT runs text, OUT reason text) LANGUAGE plpgsql SET gpuscan.explain_refusals = on SET gpuscan.offload = force AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) ' || query INTO plan;
    runs := CASE WHEN plan #>> '{0,Plan,Custom Plan Provider}' IS DISTINCT FROM 'GpuScan' THEN 'refused' WHEN jsonb_path_exists(plan::jsonb, '$.**.Expressions') THEN 'column' WHEN plan #> '{0,Plan,Dictionary Tables}' IS NULL THEN 'device' ELSE 'dictionary' END;
    reason := (SELECT string_agg(r, '; ') FROM jsonb_array_elements_text(COALESCE(plan #> '{0,Refused}', '[]')) r);
EXCEPTION WHEN OTHERS THEN -- PostgreSQL itself evaluates it while it plans, or has no such function
    runs := 'refused';
    reason := SQLERRM;
END $$;
CREATE FUNCTION answer(query text, offload text, digits text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
    PERFORM set_config('gpuscan.offload', offload, true), set_config('extra_float_digits', digits, true);
    EXECUTE format('SELECT count(*) || '' rows, hash '' || sum(hashtextextended(q::text, 0)::numeric) FROM (%s) q', query) INTO result;
    RETURN result;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- Rows, of the first ones, for which PostgreSQL raises no error.
CREATE FUNCTION sound_rows(expression text, relation text) RETURNS int[] LANGUAGE plpgsql SET gpuscan.offload = off AS $$
DECLARE sound int[] := '{}'; one int;
BEGIN
    FOR one IN EXECUTE format('SELECT i FROM %s ORDER BY 1 LIMIT 200', relation) LOOP
        BEGIN
            EXECUTE format('SELECT count(%s) FROM %s WHERE i = $1', expression, relation) USING one;
            sound := sound || one;
        EXCEPTION WHEN OTHERS THEN
        END;
    END LOOP;
    RETURN sound;
END $$;
CREATE TABLE verdicts (class text, name text, form text, runs text, reason text);
CREATE TABLE differences (name text, query text, postgresql text, device text);
-- (Floats are added in any order, and variances with twice the precision: so many digits of aggregates are the same.)
CREATE FUNCTION compare(thing things, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    digits text := CASE WHEN thing.class = 'aggregates' AND thing.result = 'float8'::regtype THEN '-5' ELSE '1' END;
    postgresql text := answer(query, 'off', digits);
    device text := answer(query, 'force', digits);
BEGIN
    IF postgresql IS DISTINCT FROM device THEN
        INSERT INTO differences VALUES (thing.name, query, postgresql, device);
    END IF;
    RETURN postgresql;
END $$;
CREATE PROCEDURE ask() LANGUAGE plpgsql AS $$
DECLARE thing things; found record; relation text;
BEGIN
    FOR thing IN SELECT * FROM things ORDER BY id LOOP
        found := verdict(query_of(thing, 'usual', ''));
        INSERT INTO verdicts VALUES (thing.class, thing.name, thing.form, found.runs, found.reason);
        IF found.runs <> 'refused' THEN
            FOREACH relation IN ARRAY ARRAY['usual', 'extreme'] LOOP
                IF compare(thing, query_of(thing, relation, '')) !~ ' rows, hash ' AND thing.class <> 'aggregates' THEN
                    PERFORM compare(thing, query_of(thing, relation, format(' WHERE i = ANY (%L::int[])', sound_rows(thing.expression, relation))));
                END IF;
            END LOOP;
        END IF;
        COMMIT;
    END LOOP;
END $$;
CALL ask();

\pset fieldsep '	'
\o :listing
SELECT class, name, form, runs, reason FROM verdicts ORDER BY class, runs, name, form;
\o
SELECT 'difference', name, query, postgresql, device FROM differences ORDER BY name;
SELECT string_agg(format('%s %s of %s (%s by PostgreSQL''s code once per value, %s once per row)', class, found, asked, dictionary, columns), ', ' ORDER BY class DESC) || ', differences ' || (SELECT count(*) FROM differences)
FROM (SELECT class, count(*) FILTER (WHERE runs) AS found, count(*) FILTER (WHERE dictionary AND NOT natively) AS dictionary, count(*) FILTER (WHERE runs AND NOT natively AND NOT dictionary) AS columns, count(*) AS asked
    FROM (SELECT class, name, bool_or(v.runs <> 'refused') AS runs, bool_or(v.runs = 'device') AS natively, bool_or(v.runs = 'dictionary') AS dictionary FROM verdicts v GROUP BY class, name) n GROUP BY class) c;
DROP SCHEMA catalogue CASCADE;
