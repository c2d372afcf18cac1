-- Prepared statements with custom and generic plans, NULL parameters, cursors, rescans, plpgsql, and what transactions
-- and settings do to plans that exist already.
CREATE SCHEMA params;
SET search_path = params, public;
CREATE TABLE t (id int, g int, v int8, n numeric(8,2), f float8, s text COLLATE "C", d date);
INSERT INTO t SELECT i, i % 10, i * 3, i / 4.0, i / 8.0, 's' || i % 25, date '2023-01-01' + i % 90 FROM generate_series(1, 1500) i;
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 4 AS name FROM generate_series(0, 8) i;
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) dim;

SELECT check_prepared('device', 'SELECT count(*), sum(v) FROM t WHERE g = $1', '(int)', '(3)', '(0)', '(99)', '(NULL)');
SELECT check_prepared('device', 'SELECT g, count(*), sum(v) FROM t WHERE id BETWEEN $1 AND $2 GROUP BY g', '(int, int8)', '(3, 50)', '(1, 100000000000)', '(NULL, 7)', '(70, 60)');
SELECT check_prepared('device', 'SELECT sum(n * $1), min(n) FROM t WHERE n > $2', '(numeric(4,2), numeric(10,4))', '(1.5, 3.1234)', '(NULL, 0)', '(-0.25, 99999)');
SELECT check_prepared('device', 'SELECT count(*), approx(sum(f * $1)) FROM t WHERE f < $2', '(float8, float8)', '(1, 10)', '(0.5, ''NaN'')', '(2, ''Infinity'')', '(NULL, NULL)');
SELECT check_prepared('device', 'SELECT count(*), sum(id), max(s) FROM t WHERE s = $1', '(text)', '(''s3'')', '('''')', '(NULL)', '(''nowhere'')');
SELECT check_prepared('device', 'SELECT s, count(*) FROM t WHERE s LIKE $1 AND d >= $2 GROUP BY s', '(text, date)', '(''s1%'', ''2023-01-15'')', '(''%'', ''-infinity'')', '(NULL, ''2023-01-01'')');
SELECT check_prepared('device', 'SELECT name, sum(v + $1) FROM t JOIN dim ON g = k WHERE name <> $2 GROUP BY name', '(int, text)', '(1, ''name 1'')', '(0, ''x'')', '(NULL, ''name 2'')');
SELECT check_prepared('device', 'SELECT g + $1, count(*) FROM t GROUP BY g + $1', '(int)', '(1)', '(0)', '(NULL)');
SELECT check_prepared('device', 'SELECT sum(CASE WHEN $1 THEN v ELSE id END) FROM t', '(bool)', '(true)', '(false)', '(NULL)');
-- errors that only some parameters raise
SELECT check_prepared('device', 'SELECT sum(v / $1) FROM t', '(int)', '(3)', '(-1)');
PREPARE divide(int) AS SELECT sum(v / $1) FROM t;
SET plan_cache_mode = force_generic_plan;
SET gpuscan.offload = force;
EXECUTE divide(2);
EXECUTE divide(0);
EXECUTE divide(3);
RESET plan_cache_mode;
-- an expression of the whole execution raises its error only if a row gets to it
SELECT check_query('SELECT now() + interval ''300000 years'', count(*) FROM t GROUP BY 1', 'any');
SELECT check_query('SELECT now() + interval ''300000 years'', count(*) FROM t WHERE id < 0 GROUP BY 1', 'fallback');
SELECT check_query('SELECT count(*), current_date - 3000 FROM t WHERE d > current_date - 300000');
SELECT check_query('SELECT count(*) FROM t WHERE v > 5000 / (SELECT count(*) + 1 FROM t WHERE id < 0)');

-- a prepared plan outlives DDL that it depends on
PREPARE sums AS SELECT g, sum(id) FROM t WHERE s < 's3' GROUP BY g ORDER BY g LIMIT 2;
EXECUTE sums;
ALTER TABLE t ADD extra int DEFAULT 1;
EXECUTE sums;
ALTER TABLE t ALTER s TYPE text COLLATE "und-x-icu";
EXECUTE sums;
INSERT INTO t (id, g, s) VALUES (1000000, 0, 's0');
EXECUTE sums;
DELETE FROM t WHERE id = 1000000;
-- the service switched off between planning and execution
-- of settings, by casts through text, as policies for tenants have them
SET tenants.own = '3';
SELECT check_matrix('SELECT count(*), sum(v) FROM t WHERE g = %s', ARRAY['current_setting(''tenants.own'')::int', 'current_setting(''tenants.none'', true)::int', 'coalesce(nullif(current_setting(''tenants.none'', true), ''''), ''4'')::int', 'CASE WHEN current_setting(''tenants.own'') = ''3'' THEN 5::text ELSE ''6'' END::int']);
SET tenants.own = 'three';
SELECT check_query('SELECT count(*) FROM t WHERE g < 0 AND v = current_setting(''tenants.own'')::int', 'any');
SET gpuscan.device = none;
EXECUTE sums;
RESET gpuscan.device;
EXECUTE sums;

-- cursors: rows in pieces, backwards, held over commit, two at once, writes in between
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT g, count(*), sum(v) FROM t GROUP BY g ORDER BY g;
FETCH 2 FROM c;
MOVE 3 IN c;
FETCH BACKWARD 2 FROM c;
DECLARE e CURSOR FOR SELECT count(*), max(s) FROM t WHERE g = 3;
FETCH e;
FETCH FIRST FROM c;
FETCH LAST FROM c;
COMMIT;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT g, count(*) FROM t GROUP BY g ORDER BY g;
FETCH 1 FROM c;
COMMIT;
DELETE FROM t WHERE g = 9;
FETCH 2 FROM c;
FETCH LAST FROM c;
CLOSE c;
BEGIN;
DECLARE c CURSOR FOR SELECT g, count(*) FROM t GROUP BY g ORDER BY g;
INSERT INTO t (id, g) VALUES (-1, 77);
FETCH ALL FROM c;
ROLLBACK;
-- a cursor that is closed before its end, a transaction that dies with one open
BEGIN;
DECLARE c CURSOR FOR SELECT s, count(*) FROM t GROUP BY s;
MOVE 1 IN c;
CLOSE c;
DECLARE c CURSOR FOR SELECT s, count(*) FROM t GROUP BY s;
MOVE 1 IN c;
SELECT 1 / 0;
ROLLBACK;
RESET gpuscan.offload;

-- rescans: subplans that depend on an outer row
SELECT check_matrix('SELECT %s', ARRAY['k, (SELECT sum(v) FROM t WHERE t.g = dim.k) FROM dim', 'k, (SELECT count(*) FROM t WHERE t.g = dim.k AND s LIKE ''%1%'') FROM dim', 'k, x.c, x.m FROM dim, LATERAL (SELECT count(*) AS c, max(n) AS m FROM t WHERE t.id % 9 = dim.k) x',
    'k FROM dim WHERE EXISTS (SELECT 1 FROM t WHERE g = k GROUP BY s HAVING count(*) > 5)', 'k, ARRAY(SELECT count(*) FROM t WHERE g <= k GROUP BY g ORDER BY g) FROM dim', 'count(*) FROM t WHERE v > (SELECT avg(v) FROM t)', 'g, (SELECT max(name) FROM dim) FROM t GROUP BY g',
    'x.i, y.c FROM generate_series(1, 3) x(i) LEFT JOIN LATERAL (SELECT g, count(*) AS c FROM t GROUP BY g OFFSET 0) y ON y.g = x.i', 'a.g, b.c FROM (SELECT DISTINCT g FROM t) a, (SELECT g, count(*) AS c FROM t GROUP BY g) b WHERE a.g = b.g', 'k, (SELECT sum(t.v) FROM t JOIN dim d ON t.g = d.k WHERE d.name = dim.name) FROM dim'], expect => 'any');
-- the rows of a plan of PostgreSQL's are fetched anew for every outer row
CREATE TEMP TABLE brief AS SELECT * FROM dim;
SELECT check_matrix('SELECT %s', ARRAY['k, (SELECT sum(t.v) FROM t JOIN brief b ON t.g = b.k WHERE t.id > dim.k * 100) FROM dim', 'k, (SELECT count(*) FROM t JOIN (SELECT k FROM brief WHERE k <> dim.k OFFSET 0) b ON t.g = b.k) FROM dim', 'k, (SELECT count(*) FROM t JOIN brief b ON t.g = b.k WHERE t.v / (dim.k - 5) > 9) FROM dim WHERE k > 5'], expect => 'forced');
-- groups are shown again where HAVING alone depends on the outer row, and are other ones where what is grouped does
CREATE FUNCTION device_executions(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN coalesce(jsonb_path_query_first(plan, 'strict $.**."Device Executions"')::text, '1') ||
        CASE WHEN plan::text ~ '"Group Filter"' THEN ', filtered' ELSE '' END || CASE WHEN plan::text ~ '"Groups Wanted"' THEN ', limited' ELSE '' END;
END $$;
SET gpuscan.offload = force;
SET gpuscan.enable_decorrelation = off;
SELECT device_executions('SELECT k, (SELECT avg(q.m) FROM (SELECT id % 90 AS a, min(g) AS b, max(v) AS m FROM t GROUP BY 1) q WHERE q.b = k) FROM dim') AS of_having,
    device_executions('SELECT k, (SELECT avg(q.m) FROM (SELECT id % 90 AS a, g AS b, max(v) AS m FROM t GROUP BY 1, 2) q WHERE q.b = k) FROM dim') AS of_key,
    device_executions('SELECT k, (SELECT avg(q.m) FROM (SELECT id % 90 AS a, max(v + k) AS m FROM t GROUP BY 1) q) FROM dim') AS of_argument;
-- (where the device is asked for each row anyway, it drops groups)
SELECT device_executions('SELECT k, (SELECT count(*) FROM (SELECT g FROM t WHERE v > k GROUP BY g HAVING max(v) > k + 91 ORDER BY count(*) DESC, g LIMIT 3) x) FROM dim') AS both,
    device_executions('SELECT k, (SELECT count(*) FROM (SELECT g FROM t GROUP BY g HAVING max(v) > 91 ORDER BY count(*) DESC, g LIMIT k) x) FROM dim') AS of_limit,
    device_executions('SELECT k, (SELECT count(*) FROM (SELECT t.g FROM t JOIN (SELECT b.k FROM dim b WHERE b.k <> dim.k OFFSET 0) b ON t.g = b.k GROUP BY t.g HAVING max(v) > dim.k) x) FROM dim') AS of_source;
RESET gpuscan.enable_decorrelation;
RESET gpuscan.offload;
SELECT check_matrix('SELECT %s', ARRAY['k, (SELECT avg(q.m) FROM (SELECT id % 90 AS a, min(g) AS b, max(v) AS m FROM t GROUP BY 1) q WHERE q.b = k) FROM dim',
    'k, (SELECT avg(q.m) FROM (SELECT id % 90 AS a, g AS b, max(v) AS m FROM t GROUP BY 1, 2) q WHERE q.b = k) FROM dim',
    'k, (SELECT avg(q.m) FROM (SELECT id % 90 AS a, max(v + k) AS m FROM t GROUP BY 1) q) FROM dim',
    'k, (SELECT sum(x.c) FROM (SELECT g, count(*) AS c FROM t GROUP BY g HAVING count(*) > 3 AND max(v) > k * 400 AND min(id) < 9 ORDER BY c, g LIMIT 3) x) FROM dim',
    'k, (SELECT sum(x.c) FROM (SELECT g, count(*) + k AS c FROM t GROUP BY g ORDER BY c, g LIMIT (SELECT count(*) FROM brief WHERE brief.k < dim.k)) x) FROM dim',
    'k, (SELECT sum(x.c) FROM (SELECT g, count(*) AS c FROM t WHERE v > k GROUP BY g HAVING max(v) > k + 91 ORDER BY count(*) DESC, g LIMIT 3) x) FROM dim',
    'k, (SELECT sum(x.c) FROM (SELECT g, count(*) AS c FROM t GROUP BY g HAVING max(v) > 91 ORDER BY count(*) DESC, g LIMIT k) x) FROM dim',
    'k, y.s FROM dim, LATERAL (SELECT sum(x.c) AS s FROM (SELECT g, count(*) AS c FROM t WHERE id > (SELECT max(v) FROM t WHERE g = k) / 5 GROUP BY g HAVING max(v) > k * 400) x) y',
    'k, (SELECT sum(x.c) FROM (SELECT t.g, count(*) AS c FROM t JOIN (SELECT b.k FROM brief b WHERE b.k <> dim.k OFFSET 0) b ON t.g = b.k GROUP BY t.g HAVING max(v) > dim.k * 400) x) FROM dim'], expect => 'any');
-- but a second time, after a fallback, only where nobody would notice
CREATE SEQUENCE calls;
SET gpuscan.offload = force;
SET enable_nestloop = off;
SELECT count(*), max(f * 0) FROM t JOIN (SELECT k, nextval('calls') AS z FROM dim OFFSET 0) b ON g = k;
SELECT last_value FROM calls;
SELECT count(*), max(f * 0) FROM t JOIN brief b ON g = b.k WHERE b.k >= (SELECT 0 * (nextval('calls') + b.k));
SELECT last_value FROM calls;
RESET enable_nestloop;
RESET gpuscan.offload;

-- plpgsql: a statement in a loop goes from custom to generic plans
CREATE FUNCTION by_loop() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    total numeric := 0;
    one numeric;
    r record;
BEGIN
    FOR i IN 0..9 LOOP
        SELECT sum(v) INTO one FROM t WHERE g = i;
        total := total + coalesce(one, 0);
    END LOOP;
    FOR r IN SELECT g, count(*) AS c FROM t GROUP BY g ORDER BY g LOOP
        total := total * 2 + r.c;
        BEGIN
            PERFORM sum(v / (g - 2)) FROM t WHERE g = r.g;
        EXCEPTION WHEN division_by_zero THEN
            total := total + 1000000;
        END;
    END LOOP;
    RETURN total;
END $$;
SET gpuscan.offload = off;
SELECT by_loop() AS plain \gset
SET gpuscan.offload = force;
SELECT by_loop() = :'plain' AS equal;
RESET gpuscan.offload;

-- serializable transactions read row by row or not at all on the device; read only deferrable ones may do as they like
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT check_query('SELECT g, count(*) FROM t GROUP BY g', 'any');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT check_query('SELECT g, count(*) FROM t GROUP BY g', 'any');
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT check_query('SELECT g, count(*) FROM t GROUP BY g');
COMMIT;
-- parallel plans beside and below the device's
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT check_matrix('SELECT %s', ARRAY['g, count(*), sum(v), min(s) FROM t GROUP BY g', 'count(*) FROM t JOIN (SELECT g AS k, count(*) AS c FROM t GROUP BY g) x ON t.g = x.k', 'name, count(*) FROM t JOIN dim ON g = k GROUP BY name', 'count(*) FROM t a JOIN t b USING (id) LEFT JOIN dim ON b.g = k'], expect => 'any');
-- a plan that may raise an error is tried while another one's workers are there
CREATE COLLATION no_order (PROVIDER = icu, LOCALE = 'und', DETERMINISTIC = false);
CREATE TABLE first_fed AS SELECT i AS id, ('n' || i) COLLATE no_order AS c FROM generate_series(1, 3000) i;
CREATE TABLE then_fed AS SELECT i AS id, i % 100 AS v, ('n' || i) COLLATE no_order AS c FROM generate_series(1, 3000) i;
ANALYZE first_fed, then_fed;
SELECT check_query('SELECT count(*), sum(t.id) FROM (SELECT id FROM first_fed WHERE c IS NOT NULL) f JOIN (SELECT id FROM then_fed WHERE c > ''a'' AND 100 / (v + 1) >= 0) y USING (id) JOIN t USING (id)');
SELECT check_query('SELECT count(*), sum(t.id) FROM (SELECT id FROM first_fed WHERE c IS NOT NULL) f JOIN (SELECT id FROM then_fed WHERE c > ''a'' AND 100 / (v - 50) >= 0) y USING (id) JOIN t USING (id)', expect => 'forced');
SET gpuscan.device = none;
SELECT check_query('SELECT g, count(*), sum(v), min(s) FROM t GROUP BY g', 'any');
RESET gpuscan.device;
