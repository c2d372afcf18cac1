-- EXPLAIN (FORMAT JSON) as tools read it (explain.dalibo.com's pev2, pgAdmin, explain.depesz.com): they take the times and costs of what is
-- among a node's "Plans" from the node's own, call what is left the node's exclusive share, and want numbers where PostgreSQL has numbers.
CREATE SCHEMA explain_tools;
SET search_path = explain_tools, public;
SET client_min_messages = warning;
CREATE TABLE f AS SELECT i AS id, i % 100 AS k, i * 7 % 1000 AS v, 'text ' || i % 10 AS t FROM generate_series(1, 200000) i;
CREATE TABLE d AS SELECT i AS k, 'name ' || i AS name FROM generate_series(0, 99) i;
CREATE TABLE few AS SELECT i AS k FROM generate_series(1, 5) i;
VACUUM (FREEZE, ANALYZE) f, d, few;

-- ms of all executions, in the processes that shared them as pev2 has it: its workers and the leader.
CREATE FUNCTION ms(node json, workers int, which text = 'Total') RETURNS numeric LANGUAGE sql AS $$
    SELECT coalesce((node ->> format('Actual %s Time', which))::numeric * (node ->> 'Actual Loops')::numeric / (workers + 1), 0)
$$;
CREATE FUNCTION below(node json, OUT plan json, OUT role text) RETURNS SETOF record LANGUAGE sql AS $$
    SELECT value, value ->> 'Parent Relationship' FROM json_array_elements(node -> 'Plans')
$$;
-- What a tool could say against a node's keys, and those of whatever it holds but other nodes.
CREATE FUNCTION wrong_keys(node json) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT format('%s is there twice', key) FROM json_each(node) GROUP BY key HAVING count(*) > 1;
    RETURN QUERY SELECT format('%s is no number: %s', key, value) FROM json_each(node)
        WHERE key ~ '(Time|Cost|Loops|Rows|Width|Blocks|Bytes|Size|Spilled|Skipped|Entries|Amount|Wanted|Executions|^Pages.*|^Rows (In|Out|from CPU))$'
            AND json_typeof(value) <> 'number';
    RETURN QUERY SELECT format('%s is a number as text: %s', key, value) FROM json_each(node)
        WHERE json_typeof(value) = 'string' AND value #>> '{}' ~ '^[0-9.]+ ?(ms|kB|B|bytes)?$';
    RETURN QUERY SELECT wrong_keys(item) FROM json_each(node) e,
        json_array_elements(CASE json_typeof(e.value) WHEN 'array' THEN e.value WHEN 'object' THEN json_build_array(e.value) ELSE '[]' END) item
        WHERE key NOT IN ('Plans', 'CPU Plan', 'Plan') AND json_typeof(item) = 'object';
END $$;
CREATE FUNCTION wrong(node json, analyzed bool, workers int = 0) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    name constant text := coalesce(node ->> 'Custom Plan Provider', node ->> 'Node Type', 'a node without Node Type');
    gather constant int := coalesce((node ->> 'Workers Launched')::int, workers);
    children numeric;
BEGIN
    RETURN QUERY SELECT name || ': ' || wrong_keys FROM wrong_keys(node);
    IF (node ->> 'Node Type' = 'Custom Scan') <> (node ->> 'Custom Plan Provider' IS NOT NULL) THEN
        RETURN NEXT name || ': a Custom Scan has a Custom Plan Provider';
    END IF;
    IF analyzed <> (json_typeof(node -> 'Actual Total Time') IS NOT NULL AND json_typeof(node -> 'Actual Loops') IS NOT NULL) THEN
        RETURN NEXT name || ': ANALYZE means Actual Total Time and Actual Loops';
    END IF;
    SELECT sum(ms(plan, CASE WHEN role = 'SubPlan' THEN 0 ELSE gather END)) INTO children FROM below(node) WHERE role <> 'InitPlan';
    IF ms(node, workers) + 0.002 * (1 + coalesce((node ->> 'Actual Loops')::int, 0)) < children * 0.98 THEN
        RETURN NEXT format('%s: takes %s ms, less than what is below it, %s ms', name, ms(node, workers), children);
    END IF;
    IF ms(node, workers, 'Startup') > ms(node, workers) THEN
        RETURN NEXT name || ': starts after its end';
    END IF;
    SELECT sum((plan ->> 'Total Cost')::numeric) INTO children FROM below(node) WHERE role <> 'InitPlan';
    IF name = 'GpuScan' AND node ->> 'Fallback' IS NULL AND (node ->> 'Total Cost')::numeric < children THEN
        RETURN NEXT 'GpuScan: costs less than what is below it';
    END IF;
    RETURN QUERY SELECT format('%s: has a child that is %s', name, coalesce(plan ->> 'Subplan Name', role, 'nothing')) FROM below(node)
        WHERE role IS NULL OR plan ->> 'Subplan Name' = 'CPU Plan' AND NOT (plan ->> 'Actual Loops')::int > 0;
    RETURN QUERY SELECT w FROM below(node), wrong(plan, analyzed, CASE WHEN role IN ('InitPlan', 'SubPlan') THEN 0 ELSE gather END) w;
    -- A plan that was not executed is one by itself.
    IF node -> 'CPU Plan' IS NOT NULL THEN
        RETURN QUERY SELECT 'CPU Plan: ' || w FROM wrong(node #> '{CPU Plan,Plan}', analyzed) w;
        IF (node #>> '{CPU Plan,Plan,Actual Loops}')::int > 0 THEN
            RETURN NEXT name || ': its CPU plan was executed and is not among its children';
        END IF;
    END IF;
END $$;
-- ms that pev2 finds for all nodes together: each one's own share. An init plan's time is that of the node whose texts name its value.
CREATE FUNCTION exclusive(node json) RETURNS numeric LANGUAGE sql AS $$
    SELECT ms(node, 0) - coalesce((SELECT sum(ms(plan, 0)) FROM below(node) WHERE role <> 'InitPlan'), 0)
        - coalesce((SELECT sum(ms(plan, 0)) FROM below(node) WHERE role = 'InitPlan' AND EXISTS (
              SELECT FROM json_each(node) e WHERE json_typeof(e.value) = 'string'
                  AND position(coalesce(substring(plan ->> 'Subplan Name', '\$[0-9]+'), plan ->> 'Subplan Name') IN e.value #>> '{}') > 0)), 0)
        + coalesce((SELECT sum(exclusive(plan)) FROM below(node)), 0)
$$;
-- 'ok' if the plan has what the JSON path names, and nobody can say anything against it.
CREATE FUNCTION check_plan(query text, wanted jsonpath, options text = 'ANALYZE, VERBOSE', add_up bool = true) RETURNS SETOF text
LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    plan json;
    root json;
    found bool := false;
    complaint text;
BEGIN
    EXECUTE format('EXPLAIN (%s, FORMAT JSON) %s', options, query) INTO plan;
    root := plan #> '{0,Plan}';
    IF NOT plan::jsonb @? wanted THEN
        RETURN NEXT 'not the wanted plan: ' || plan;
        found := true;
    END IF;
    FOR complaint IN SELECT wrong(root, options ~ 'ANALYZE') LOOP
        RETURN NEXT complaint;
        found := true;
    END LOOP;
    IF options ~ 'ANALYZE' AND add_up AND abs(exclusive(root) - ms(root, 0)) > 0.05 * ms(root, 0) + 0.1 THEN
        RETURN NEXT format('the shares are %s ms, and the whole is %s ms: %s', exclusive(root), ms(root, 0), plan);
        found := true;
    END IF;
    IF NOT found THEN
        RETURN NEXT 'ok';
    END IF;
END $$;

-- A fragment: its CPU plan stands apart, with and without ANALYZE, and is not there if nobody wants it.
SET max_parallel_workers_per_gather = 0;
SELECT check_plan('SELECT name, sum(v) FROM f JOIN d USING (k) WHERE t <> ''text 3'' GROUP BY 1 ORDER BY 2 LIMIT 5',
                  'strict $.** ? (@."Custom Plan Provider" == "GpuScan" && @."CPU Plan"."Plan"."Actual Loops" == 0 && @."Groups Wanted" == 5)');
SELECT check_plan('SELECT name, sum(v) FROM f JOIN d USING (k) GROUP BY 1', 'strict $.** ? (@."CPU Plan"."Plan"."Total Cost" > 0)', 'VERBOSE');
SELECT check_plan('SELECT name, sum(v) FROM f JOIN d USING (k) GROUP BY 1', '$[0].Plan ? (@."Custom Plan Provider" == "GpuScan" && !exists(@."CPU Plan") && !exists(@.Plans))', 'ANALYZE');
SELECT check_plan('SELECT id, name FROM f JOIN d USING (k) WHERE v < 100', 'strict $.**.Steps[*] ? (@."Table Entries" == 100 && @."Table Size" >= 0)');
-- A fallback is a subplan with a name; its time is taken from the node's.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT check_plan('SELECT name, sum(v) FROM f JOIN d USING (k) GROUP BY 1 ORDER BY 2', 'strict $.** ? (@.Fallback == "the transaction is serializable").Plans[*] ? (@."Subplan Name" == "CPU Plan" && @."Parent Relationship" == "SubPlan" && @."Actual Loops" == 1)', options)
FROM (VALUES ('ANALYZE'), ('ANALYZE, VERBOSE')) x (options);
COMMIT;
-- Below PostgreSQL's nodes, executed often, and never.
SET enable_material = off;
SET enable_memoize = off;
SELECT check_plan('SELECT few.k, x.n FROM few, LATERAL (SELECT count(*) AS n FROM f WHERE f.k = few.k OFFSET 0) x', 'strict $.** ? (@."Custom Plan Provider" == "GpuScan" && @."Actual Loops" == 5)');
SELECT check_plan('SELECT k, CASE WHEN k < 0 THEN (SELECT sum(v) FROM f) END FROM few', 'strict $.** ? (@."Custom Plan Provider" == "GpuScan" && @."Actual Loops" == 0)');
RESET enable_material;
RESET enable_memoize;
-- The time of an init plan passes in the node that asks for its value.
SELECT check_plan('SELECT sum(v) FROM f WHERE v > (SELECT count(*) FROM generate_series(1, 200000) i WHERE i % 1000 = 1)',
                  'strict $.** ? (@."Init Plan Values" like_regex "^.(0$|InitPlan)").Plans[*] ? (@."Parent Relationship" == "InitPlan" && @."Actual Total Time" > 5)');
-- Rows that PostgreSQL's plan computes for the device are a child, whose time is taken from the node's.
SELECT check_plan('SELECT x.k, sum(f.v) FROM f JOIN (SELECT k FROM generate_series(1, 50) k OFFSET 0) x ON f.k = x.k GROUP BY 1',
                  'strict $.** ? (@."Custom Plan Provider" == "GpuScan" && @."Rows from CPU" == 50).Plans[*] ? (@."Parent Relationship" == "child")');
-- Below a recursive query, with a parameter from there.
SELECT check_plan('WITH RECURSIVE r (k, n) AS (SELECT 1, 1::bigint UNION ALL SELECT r.k + 1, (SELECT count(*) FROM f WHERE f.k = r.k) FROM r WHERE r.k < 4) SELECT * FROM r',
                  'strict $.** ? (@."Custom Plan Provider" == "GpuScan" && @."Actual Loops" == 3 && !exists(@."CPU Plan"))', add_up => false);
-- Parallel plans: beside a fragment, and as the CPU plan that answers.
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT check_plan('SELECT name, sum(v) FROM f JOIN d USING (k) GROUP BY 1 UNION ALL SELECT t, 1 FROM f WHERE length(f::text) < 3',
                  'strict $ ? (exists(@.** ? (@."Custom Plan Provider" == "GpuScan")) && exists(@.** ? (@."Workers Planned" > 0)))', add_up => false);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT check_plan('SELECT name, sum(v) FROM f JOIN d USING (k) GROUP BY 1', 'strict $.** ? (@."Subplan Name" == "CPU Plan").** ? (@."Workers Planned" > 0)', add_up => false);
COMMIT;

DROP SCHEMA explain_tools CASCADE;
