-- Hundreds of random queries over three tables: predicates, joins, groups and aggregates that nobody thought of.
-- A difference is printed with its query; to look at other queries run random_check with other seeds.
CREATE SCHEMA random;
SET search_path = random, public;
CREATE TABLE fact (id int NOT NULL, a int, b int2, c int8 NOT NULL, n numeric(9,2), m numeric(20,4), f float8, r float4, s text, d date, ts timestamp, l bool);
CREATE TABLE dim1 (id int NOT NULL, a int, b int2, c int8 NOT NULL, n numeric(9,2), m numeric(20,4), f float8, r float4, s text, d date, ts timestamp, l bool);
CREATE TABLE dim2 (LIKE dim1);
DO $$
DECLARE r record;
BEGIN
    FOR r IN SELECT * FROM (VALUES ('fact', 1500, 40), ('dim1', 60, 30), ('dim2', 35, 20)) v(name, n, keys) LOOP
        EXECUTE format('INSERT INTO %I SELECT i, nullif(i * 7919 %% %3$s, 3), nullif(i * 31 %% 17, 5), i * 104729 %% %3$s, nullif(i %% 90, 8) / 4.0, i * 1234567.8912 - 5000000, nullif(i %% 60, 4) / 8.0 - 3, nullif(i %% 16, 2) / 2.0,
            nullif(''s'' || i * 13 %% 25, ''s7''), date ''2024-02-20'' + i %% 30, timestamp ''2024-02-28 22:00'' + i %% 50 * interval ''1 hour'', CASE i %% 5 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END FROM generate_series(1, %2$s) i', r.name, r.n, r.keys);
    END LOOP;
END $$;
VACUUM (FREEZE, ANALYZE) fact;
VACUUM (FREEZE, ANALYZE) dim1;
-- dim2 stays as it was written; some rows of fact are dead, new or moved
UPDATE fact SET n = n + 1, s = 'moved' WHERE id % 97 = 0;
DELETE FROM fact WHERE id % 101 = 0;

CREATE FUNCTION pick(VARIADIC choices text[]) RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT choices[1 + floor(random() * array_length(choices, 1))::int]
$$;
CREATE FUNCTION number_of(t text, depth int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF depth <= 0 OR random() < 0.4 THEN
        RETURN CASE WHEN random() < 0.75 THEN t || '.' || pick('id', 'a', 'b', 'c', 'n', 'm', 'f') ELSE pick('0', '1', '7', '-3', '2.5', '10', '0.125', '100') END;
    END IF;
    RETURN CASE pick('op', 'op', 'op', 'case', 'coalesce', 'neg', 'function', 'part')
        WHEN 'function' THEN format('%s(%s)', pick('abs', 'round', 'floor', 'ceil', 'trunc', 'sign'), number_of(t, depth - 1))
        WHEN 'part' THEN format('extract(%s from %s.%s)', pick('year', 'quarter', 'month', 'week', 'day', 'dow', 'doy'), t, pick('d', 'ts'))
        WHEN 'op' THEN format('(%s %s %s)', number_of(t, depth - 1), pick('+', '-', '*'), number_of(t, depth - 1))
        WHEN 'case' THEN format('CASE WHEN %s THEN %s ELSE %s END', condition_of(t, depth - 1), number_of(t, depth - 1), number_of(t, depth - 1))
        WHEN 'coalesce' THEN format('coalesce(%s, %s)', number_of(t, depth - 1), number_of(t, depth - 1))
        ELSE format('(- %s)', number_of(t, depth - 1)) END;
END $$;
CREATE FUNCTION text_from(t text, depth int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN CASE pick('column', 'column', 'function', 'case', 'coalesce')
        WHEN 'column' THEN t || '.s'
        WHEN 'function' THEN format('%s(%s.s)', pick('upper', 'reverse', 'md5'), t)
        WHEN 'case' THEN format('CASE WHEN %s THEN %s.s ELSE ''s3'' END', condition_of(t, depth - 2), t)
        ELSE format('coalesce(left(%s.s, 2), ''none'')', t) END;
END $$;
CREATE FUNCTION condition_of(t text, depth int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF depth > 0 AND random() < 0.5 THEN
        RETURN CASE pick('and', 'or', 'not', 'is', 'and')
            WHEN 'and' THEN format('(%s AND %s)', condition_of(t, depth - 1), condition_of(t, depth - 1))
            WHEN 'or' THEN format('(%s OR %s)', condition_of(t, depth - 1), condition_of(t, depth - 1))
            WHEN 'not' THEN format('(NOT %s)', condition_of(t, depth - 1))
            ELSE format('((%s) %s)', condition_of(t, depth - 1), pick('IS NULL', 'IS NOT TRUE', 'IS FALSE', 'IS NOT NULL')) END;
    END IF;
    RETURN CASE pick('number', 'number', 'number', 'text', 'texts', 'date', 'dates', 'bool', 'null', 'in', 'real')
        WHEN 'texts' THEN format('%s %s %s', text_from(t, depth), pick('=', '<>', 'IS DISTINCT FROM'), text_from(t, depth))
        WHEN 'dates' THEN format('%s.%s %s %s.%s %s', t, pick('d', 'ts'), pick('<', '<=', '=', '>='), t, pick('d', 'ts'), pick('+ interval ''1 month''', '- interval ''3 days'''))
        WHEN 'number' THEN format('%s %s %s', number_of(t, depth), pick('=', '<>', '<', '<=', '>', '>='), number_of(t, depth - 1))
        WHEN 'text' THEN format('%s.s %s', t, pick('= ''s3''', '<> ''s3''', 'LIKE ''s1%''', '> ''s2''', '<= ''s15''', '~ ''[24]$''', 'IN (''s1'', ''s2'', ''moved'')', 'NOT LIKE ''%2%'''))
        WHEN 'date' THEN format('%s.%s', t, pick('d > ''2024-03-01''', 'd = ''2024-02-29''', 'ts < ''2024-03-01 03:00''', 'd BETWEEN ''2024-02-25'' AND ''2024-03-05''', 'ts >= ''2024-03-01'''))
        WHEN 'bool' THEN format('%s.l', t)
        WHEN 'in' THEN format('%s.%s IN (1, 5, 9, 11, 30)', t, pick('id', 'a', 'b', 'c', 'n'))
        WHEN 'real' THEN format('%s.r %s %s', t, pick('<', '>=', '='), pick('1.5', '3', t || '.f'))
        ELSE format('%s.%s %s', t, pick('a', 'b', 'n', 'f', 's', 'l'), pick('IS NULL', 'IS NOT NULL')) END;
END $$;
CREATE FUNCTION aggregate_of(t text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN CASE pick('count', 'sum', 'sum', 'avg', 'minmax', 'minmax', 'number', 'float', 'variance', 'bits', 'bool', 'distinct')
        WHEN 'count' THEN pick('count(*)', format('count(%s.a)', t), format('count(%s.s)', t))
        WHEN 'sum' THEN format('sum(%s.%s)', t, pick('a', 'b', 'c', 'n', 'm', 'id'))
        WHEN 'avg' THEN format('avg(%s.%s)', t, pick('a', 'b', 'c', 'n', 'm', 'id'))
        WHEN 'minmax' THEN format('%s(%s.%s)', pick('min', 'max'), t, pick('a', 'b', 'c', 'n', 'm', 'f', 'r', 's', 'd', 'ts'))
        WHEN 'variance' THEN format('%s(%s.%s)', pick('stddev', 'stddev_pop', 'variance', 'var_pop'), t, pick('a', 'b', 'c', 'n', 'm', 'id'))
        WHEN 'bits' THEN format('%s(%s.%s)', pick('bit_and', 'bit_or', 'bit_xor'), t, pick('a', 'b', 'c', 'id'))
        WHEN 'bool' THEN format('%s(%s)', pick('bool_and', 'bool_or', 'every'), condition_of(t, 1))
        WHEN 'distinct' THEN format('%s(DISTINCT %s.%s)', pick('count', 'count', 'sum', 'avg', 'max'), t, pick('a', 'b', 'c', 'n', 'm', 'id'))
        WHEN 'float' THEN format('approx(%s(%s.f))', pick('sum', 'avg'), t)
        ELSE format('%s(%s)', pick('min', 'max', 'count'), number_of(t, 2)) END;
END $$;
CREATE FUNCTION random_query(with_joins bool) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    sources text[] := ARRAY['fact'];
    joins text := 'fact';
    keys text[] := '{}';
    aggregates text[] := '{}';
    conditions text[] := '{}';
    t text;
BEGIN
    FOREACH t IN ARRAY CASE floor(random() * with_joins::int * 4)::int WHEN 0 THEN '{}' WHEN 1 THEN '{dim1}' WHEN 2 THEN '{dim2}' ELSE '{dim1,dim2}'::text[] END LOOP
        joins := joins || format(' JOIN %s ON %s', t, pick(format('fact.a = %s.a', t), format('fact.c = %s.c', t), format('fact.b = %s.id', t), format('%s.a = %s.id AND fact.b = %2$s.b', pick(VARIADIC sources), t), format('%s.c = %s.id', pick(VARIADIC sources), t),
            format('fact.d = %s.d AND fact.id %% 3 = 0', t), format('fact.a + 1 = %s.c', t), format('fact.s = %s.s AND fact.a = %1$s.a', t), format('upper(fact.s) = upper(%s.s) AND fact.id %% 5 = 0', t)));
        sources := sources || t;
    END LOOP;
    FOR i IN 1..floor(random() * 3)::int LOOP
        conditions := conditions || condition_of(pick(VARIADIC sources), 2);
    END LOOP;
    FOR i IN 1..floor(random() * 4)::int LOOP
        t := pick(VARIADIC sources);
        keys := keys || pick(t || '.a', t || '.b', t || '.c', t || '.s', t || '.d', t || '.l', t || '.n', t || '.ts', format('%s.id %% 6', t), format('(%s)', text_from(t, 1)), format('date_trunc(''month'', %s.ts)', t), format('(%s)', condition_of(t, 1)));
    END LOOP;
    FOR i IN 1..1 + floor(random() * 4)::int LOOP
        aggregates := aggregates || aggregate_of(pick(VARIADIC sources));
    END LOOP;
    RETURN format('SELECT %s FROM %s%s%s', array_to_string(keys || aggregates, ', '), joins, CASE WHEN conditions = '{}' THEN '' ELSE ' WHERE ' || array_to_string(conditions, ' AND ') END,
                  CASE WHEN keys = '{}' THEN '' ELSE ' GROUP BY ' || array_to_string(keys, ', ') || pick('', '', '', ' HAVING count(*) > 2') END);
END $$;
-- Prints differences only. Queries that the planner refuses count, too: their answers are equal by being the same.
CREATE FUNCTION random_check(queries int, seed float8, with_joins bool DEFAULT true) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    query text;
    verdict text;
    plan text;
    offloaded int := 0;
    fallbacks int := 0;
    nonempty int := 0;
BEGIN
    FOR i IN 1..queries LOOP
        PERFORM setseed(((seed + i) / 1e9)::float8);
        query := random_query(with_joins);
        verdict := check_query(query, 'any');
        IF verdict NOT LIKE 'ok (%' THEN
            RETURN NEXT query || E'\n' || verdict;
        END IF;
        nonempty := nonempty + (verdict <> 'ok (0 rows)')::int;
        IF current_setting('check.reference', true) IS DISTINCT FROM 'on' THEN
            plan := plan_of(query);
            offloaded := offloaded + (plan <> 'cpu')::int;
            fallbacks := fallbacks + (plan LIKE 'fallback%')::int;
        ELSE
            offloaded := queries;
        END IF;
    END LOOP;
    RETURN NEXT format('%s queries, most with rows: %s, most offloaded: %s, few fell back: %s', queries, nonempty > queries * 0.6, offloaded > queries * 0.6, NOT with_joins OR fallbacks <= queries * 0.2);
END $$;
SELECT random_check(300, 20240229);
-- The ends of all ranges: now many queries fail, and those that fail are the same. (Without joins: with them it depends
-- on their order which rows an expression is computed for, on the device as in PostgreSQL.)
INSERT INTO fact VALUES (100001, 2147483647, 32767, 9223372036854775807, 9999999.99, 9999999999999999.9999, 'Infinity', 'NaN', 'ünïcode', 'infinity', '-infinity', true),
    (100002, -2147483648, -32768, -9223372036854775808, -9999999.99, -9999999999999999.9999, '-Infinity', '-Infinity', '', '-infinity', 'infinity', false), (100003, 0, 0, 0, 0, 0, 'NaN', 'Infinity', 's1', '2024-02-29', '2024-02-29', NULL);
SELECT random_check(200, 20250301, with_joins => false);
