-- What the other tests stand on. They prove the plan before the answer, and the reference is PostgreSQL itself:
-- check_query() runs a query without and with the device in one snapshot, compares the rows, and looks at the plan.
-- With the setting check.reference = on only PostgreSQL runs and plans are taken for granted: that is how expected/
-- can be made on a server without gpuscan.
SET client_min_messages = warning;

-- The rows of a query as sorted texts, without and with the device, or the error. STABLE: one snapshot, the caller's.
CREATE OR REPLACE FUNCTION plain_and_device(query text, OUT plain text[], OUT device text[])
LANGUAGE plpgsql STABLE SET gpuscan.offload = 'off' AS $$
DECLARE
    wrapped constant text := format('SELECT array_agg(x::text ORDER BY x::text COLLATE "C") FROM (%s) x', query);
BEGIN
    BEGIN
        EXECUTE wrapped INTO plain;
    EXCEPTION WHEN OTHERS THEN
        plain := ARRAY['ERROR', SQLSTATE, SQLERRM];
    END;
    BEGIN
        PERFORM set_config('gpuscan.offload', 'force', true);
        EXECUTE wrapped INTO device;
    EXCEPTION WHEN OTHERS THEN
        device := ARRAY['ERROR', SQLSTATE, SQLERRM];
    END;
END $$;

-- Why parts of a statement cannot run on a device, as EXPLAIN says.
CREATE OR REPLACE FUNCTION refusals(statement text) RETURNS SETOF text
LANGUAGE plpgsql SET gpuscan.explain_refusals = 'on' AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || statement INTO plan;
    RETURN QUERY SELECT jsonb_array_elements_text(plan #> '{0,Refused}');
END $$;

-- How a statement is executed with the device forced: device, fallback: REASON, or cpu. An error: only planned.
CREATE OR REPLACE FUNCTION plan_of(statement text) RETURNS text
LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    plan jsonb;
    reason jsonb;
BEGIN
    BEGIN
        EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || statement INTO plan;
    EXCEPTION WHEN OTHERS THEN
        EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || statement INTO plan;
    END;
    IF NOT plan @? '$.** ? (@."Custom Plan Provider" == "GpuScan")' THEN
        RETURN 'cpu';
    END IF;
    reason := jsonb_path_query_first(plan, 'strict $.**."Fallback"');
    RETURN CASE WHEN reason IS NULL THEN 'device' ELSE 'fallback: ' || (reason #>> '{}') END;
END $$;

-- 'ok (N rows)' or 'ok (ERROR ...)' if both answers are the same and the plan is as expected: 'device' (a GpuScan node
-- that answered by itself), 'fallback' (one that ran its CPU plan), 'forced' (one of these), 'cpu' (no such node),
-- 'any'. Else what is wrong; a query that PostgreSQL does not even understand is.
CREATE OR REPLACE FUNCTION check_query(query text, expect text DEFAULT 'device') RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    plain text[];
    device text[];
    plan text;
    verdict text;
BEGIN
    SELECT * INTO plain, device FROM plain_and_device(query);
    IF plain IS DISTINCT FROM device THEN
        RETURN format(E'DIFFERENT (%s)\n  only PostgreSQL: %s\n  only device:     %s', plan_of(query),
                      left((SELECT string_agg(r, ' ') FROM (SELECT unnest(plain) EXCEPT ALL SELECT unnest(device)) s(r)), 300),
                      left((SELECT string_agg(r, ' ') FROM (SELECT unnest(device) EXCEPT ALL SELECT unnest(plain)) s(r)), 300));
    END IF;
    IF plain[1] = 'ERROR' AND plain[2] ~ '^(42|0A)' AND plain[2] <> '42501' THEN
        RETURN format('BAD QUERY: %s', plain[3]);
    END IF;
    verdict := CASE WHEN plain[1] = 'ERROR' THEN format('ok (%s)', array_to_string(plain, ' '))
                    ELSE format('ok (%s rows)', coalesce(array_length(plain, 1), 0)) END;
    IF expect = 'any' OR current_setting('check.reference', true) = 'on' THEN
        RETURN verdict;
    END IF;
    plan := plan_of('SELECT array_agg(x::text) FROM (' || query || ') x');
    IF NOT (CASE expect WHEN 'fallback' THEN plan LIKE 'fallback%'
                       WHEN 'forced' THEN plan <> 'cpu'
                       WHEN 'device' THEN plan = 'device' OR plain[1] = 'ERROR' AND plan <> 'cpu'
                       ELSE plan = expect END) THEN
        RETURN format('PLAN is %s, not %s', plan, expect);
    END IF;
    RETURN verdict;
END $$;

-- The joins that a device does in this query, in its order, those of build sides with the join that they are for; and whether
-- PostgreSQL does others.
CREATE OR REPLACE FUNCTION device_joins(query text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
    RETURN concat_ws(', ', (SELECT string_agg(concat(j ->> 'Join Type', ' for ' || (j ->> 'For Join')), ' ') FROM jsonb_path_query(plan, 'strict $.**.Steps[*] ? (@.Step == "Join")') j),
                     CASE WHEN plan @? '$.** ? (@."Node Type" like_regex "(Hash Join|Merge Join|Nested Loop)")' THEN 'and PostgreSQL' END);
END $$;

-- Every combination of the template's two %s; one line per query that is not ok, and one that sums up.
CREATE OR REPLACE FUNCTION check_matrix(template text, a text[], b text[] DEFAULT '{""}', expect text DEFAULT 'device')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    query text;
    verdict text;
    queries int := 0;
    errors int := 0;
    nrows int := 0;
BEGIN
    FOR query IN SELECT format(template, x, y) FROM unnest(a) x, unnest(b) y LOOP
        verdict := check_query(query, expect);
        queries := queries + 1;
        IF verdict LIKE 'ok (ERROR%' THEN
            errors := errors + 1;
        ELSIF verdict LIKE 'ok (%' THEN
            nrows := nrows + substring(verdict FROM '\d+')::int;
        ELSE
            RETURN NEXT query || E'\n' || verdict;
        END IF;
    END LOOP;
    RETURN NEXT format('%s queries, %s rows, %s errors', queries, nrows, errors);
END $$;

-- As check_matrix, and who computes the windows: the device, or PostgreSQL.
CREATE OR REPLACE FUNCTION check_windows(template text, a text[], b text[] DEFAULT '{""}', by_device boolean DEFAULT true)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    query text;
    plan jsonb;
BEGIN
    FOR query IN SELECT format(template, x, y) FROM unnest(a) x, unnest(b) y LOOP
        PERFORM set_config('gpuscan.offload', 'force', true);
        EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
        PERFORM set_config('gpuscan.offload', 'off', true);
        IF (plan @? 'strict $.**."Windows"' AND NOT plan @? '$.** ? (@."Node Type" == "WindowAgg")') <> by_device THEN
            RETURN NEXT 'PLAN: ' || query;
        END IF;
    END LOOP;
    RETURN QUERY SELECT * FROM check_matrix(template, a, b, 'any');
END $$;

-- A prepared statement with each of the argument lists: custom plans and a generic plan, without and with the device.
CREATE OR REPLACE FUNCTION check_prepared(expect text, query text, types text, VARIADIC arguments text[]) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    mode text;
    offload text;
    argument text;
    answers text[];
    plain text[];
    r record;
    plans text[] := '{}';
BEGIN
    FOREACH mode IN ARRAY ARRAY['force_custom_plan', 'force_generic_plan'] LOOP
        PERFORM set_config('plan_cache_mode', mode, true);
        FOREACH offload IN ARRAY ARRAY['off', 'force'] LOOP
            PERFORM set_config('gpuscan.offload', offload, true);
            EXECUTE format('PREPARE checked%s AS %s', types, query);
            answers := '{}';
            FOREACH argument IN ARRAY arguments LOOP
                FOR r IN EXECUTE 'EXECUTE checked' || argument LOOP
                    answers := answers || (argument || ': ' || r::text);
                END LOOP;
                IF offload = 'force' AND current_setting('check.reference', true) IS DISTINCT FROM 'on' THEN
                    plans := plans || (mode || ': ' || plan_of('EXECUTE checked' || argument));
                END IF;
            END LOOP;
            DEALLOCATE checked;
            IF offload = 'off' THEN
                plain := ARRAY(SELECT unnest(answers) ORDER BY 1);
            END IF;
        END LOOP;
        PERFORM set_config('gpuscan.offload', 'off', true);
        IF plain IS DISTINCT FROM ARRAY(SELECT unnest(answers) ORDER BY 1) THEN
            RETURN NEXT format(E'DIFFERENT with %s\n  PostgreSQL: %s\n  device:     %s', mode, plain, answers);
        END IF;
    END LOOP;
    RETURN QUERY SELECT 'PLAN with ' || p FROM unnest(plans) p
        WHERE p <> ALL (ARRAY['force_custom_plan: device', 'force_generic_plan: ' || expect]);
    RETURN NEXT format('%s executions, %s rows each', 2 * array_length(arguments, 1), array_length(plain, 1));
END $$;

-- A float sum up to the order of its additions, the one difference that a device may show.
CREATE OR REPLACE FUNCTION approx(value float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN value IN ('Infinity', '-Infinity', 'NaN', 0) THEN value
                ELSE round(value::numeric, 10 - floor(log(abs(value::numeric)))::int)::float8 END
$$;

-- Waits until no other session has a snapshot: one that is older than a change keeps VACUUM from marking its page as all-visible.
-- (Tests of one line of the schedule run at once.)
CREATE FUNCTION wait_for_snapshots() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..600 LOOP
        EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_xmin IS NOT NULL);
        PERFORM pg_sleep(0.1), pg_stat_clear_snapshot();
    END LOOP;
END $$;

-- How many subqueries are stages, as planned, and whether PostgreSQL has made tuples of a subquery's groups or rows all the same.
CREATE OR REPLACE FUNCTION stages(query text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN concat_ws(', ', (SELECT count(*) FROM jsonb_path_query(plan, 'strict $.**.Steps[*] ? (@.Source starts with "groups of" || @.Source starts with "windows of")')) || ' stages',
                     CASE WHEN plan @? 'strict $.** ? (@."Rows from CPU" > 0)' THEN 'rows from PostgreSQL' END,
                     CASE WHEN plan @? 'strict $.** ? (@.Fallback != "")' THEN 'fallback' END);
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;
-- The query's verdict (see check_query), and its stages; of each part of a template.
CREATE OR REPLACE FUNCTION check_stages(query text) RETURNS text LANGUAGE sql AS $$
    SELECT check_query(query, 'any') || CASE current_setting('check.reference', true) WHEN 'on' THEN '' ELSE ', ' || stages(query) END
$$;
CREATE OR REPLACE FUNCTION check_all_stages(template text, list text[]) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT rpad(part, 52) || ' ' || check_stages(replace(template, '%s', part)) FROM unnest(list) part
$$;
