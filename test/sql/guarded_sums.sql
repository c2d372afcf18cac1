-- Correlated sums and averages of plain numerics, joined although they might overflow: values of every size, NULL, NaN and infinities, what
-- stands around them, errors and the rows for which they come, what stays PostgreSQL's.
CREATE SCHEMA guarded_sums;
SET client_min_messages = warning;
SET search_path = guarded_sums, public;
SET gpuscan.device = host;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE t AS SELECT i AS id, nullif(i * 7919 % 60, 7) AS k, nullif(i * 31 % 7, 2) AS g, (nullif(i * 13 % 500, 8) / 4.0 - 30)::numeric AS n, (i * 17 % 90 / 8.0)::numeric AS m, (i % 11)::numeric(10,2) AS b, ('x' || i % 9)::text AS s FROM generate_series(1, 3000) i;
CREATE TABLE other AS SELECT id % 40 AS k, n, g FROM t WHERE id % 3 = 0;
CREATE TABLE parts (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM t;
-- groups of their own: 1001 has a NaN, 1002 infinities, 1003 a sum that overflows, 1004 a large value, 1005 one at the bound, 1006 none
CREATE TABLE large AS SELECT * FROM t;
INSERT INTO large (id, k, g, n) VALUES (-1, 1001, 1, 'NaN'), (-2, 1001, 1, 5), (-3, 1002, 1, 'Infinity'), (-4, 1002, 2, '-Infinity'), (-5, 1002, 2, 7), (-6, 1004, 2, 1e40), (-7, 1004, 3, 3), (-8, 1005, 3, 1e15), (-9, 1005, 3, -1e15), (-10, 1005, 3, 1.5), (-11, 1006, 3, NULL), (-12, 1004, 3, 2.00);
CREATE TABLE whole AS SELECT id, k, g, (id * 31 % 1000)::numeric AS n FROM t;
INSERT INTO whole (id, k, n) VALUES (-1, 1001, 2e15), (-2, 1001, -3), (-3, 1002, -1e15), (-4, 1002, 1e15);
CREATE TABLE overflow AS SELECT * FROM large;
INSERT INTO overflow (id, k, g, n) SELECT -20 - i, 1003, 4 + i % 2, '9e131071' FROM generate_series(1, 4) i;
VACUUM (FREEZE, ANALYZE);

-- Is the subquery a join, and the subquery of one row left beside it?
CREATE FUNCTION joined(query text) RETURNS boolean LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
        IF line ~ 'CASE WHEN .* THEN .*(SubPlan|\(expr)' THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;
CREATE FUNCTION check_guarded(query text, expect text DEFAULT 'device') RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN coalesce(current_setting('check.reference', true) = 'on', false) OR joined(query) THEN '' ELSE 'NOT JOINED ' END || check_query(query, expect);
$$;

SELECT aggregate, check_guarded(format('SELECT id, n FROM t WHERE n > (SELECT %s FROM t x WHERE x.k = t.k)', aggregate)) FROM unnest('{avg(n),sum(n),1.5 * avg(n),avg(n) - 2 * sum(m),sum(n) / 7 + max(b),sum(n) FILTER (WHERE g > 2),-avg(m),"round(avg(n), 1)",avg(n) + avg(b)}'::text[]) AS aggregate;
SELECT query, check_guarded(query) FROM (SELECT format('SELECT count(*), sum(n) FROM t WHERE %s', condition) FROM unnest(ARRAY['n > 1.5 * (SELECT avg(n) FROM t x WHERE x.k = t.k)', 'n <= (SELECT avg(n) FROM other x WHERE x.k = t.k AND x.g > 1)', 'g > 2 AND n < 2 * (SELECT avg(n) FROM t x WHERE x.k = t.k AND x.g = t.g) AND s < ''x5''', '(SELECT avg(m) FROM other o, t x WHERE o.k = x.k AND x.k = t.k) < m', '(SELECT sum(n) FROM other o WHERE o.k = t.k) IS NULL', 'coalesce((SELECT sum(n) FROM other o WHERE o.k = t.k), 0) > n OR g = 1', 'NOT (n > (SELECT avg(n) FROM other x WHERE x.k = t.k))']) AS condition) q(query);
SELECT check_guarded('SELECT k, count(*), min(n) FROM parts WHERE n > (SELECT 1.2 * avg(n) FROM parts x WHERE x.k = parts.k) GROUP BY k');
SELECT check_guarded('WITH totals AS (SELECT k, g, n FROM t WHERE g < 5) SELECT count(*) FROM t WHERE n > (SELECT avg(n) FROM totals x WHERE x.k = t.k)');
SELECT check_guarded('SELECT * FROM (SELECT id, n FROM t WHERE n > (SELECT avg(n) FROM t x WHERE x.k = t.k)) y WHERE id < 500');

-- values that are too large: only the rows of their groups are PostgreSQL's, which a device does not know beforehand
SELECT check_guarded('SELECT id, n FROM whole WHERE n >= (SELECT sum(n) FROM whole x WHERE x.k = whole.k)', 'fallback');
SELECT check_guarded('SELECT id, n FROM whole WHERE k <> 1001 AND n >= (SELECT sum(n) FROM whole x WHERE x.k = whole.k)');
SELECT check_guarded('SELECT id, n FROM large WHERE n >= (SELECT avg(n) FROM large x WHERE x.k = large.k)', 'forced');
SELECT check_guarded('SELECT id, n FROM large WHERE k < 1000 AND n >= (SELECT avg(n) FROM large x WHERE x.k = large.k)');
SELECT check_guarded('SELECT id, n FROM large WHERE k IN (1005, 1006) AND n >= (SELECT sum(n) FROM large x WHERE x.k = large.k)');
SELECT k, check_guarded(format('SELECT id, n FROM large WHERE k = %s AND n >= (SELECT sum(n) FROM large x WHERE x.k = large.k)', k), 'forced') FROM unnest('{1001,1002,1004}'::int[]) k;
-- an error comes for the rows that ask for it, and for no others
SELECT check_guarded('SELECT id FROM overflow WHERE n >= (SELECT avg(n) FROM overflow x WHERE x.k = overflow.k)', 'forced');
SELECT check_guarded('SELECT id FROM overflow WHERE k <> 1003 AND k < 1000 AND n >= (SELECT avg(n) FROM overflow x WHERE x.k = overflow.k)');
SELECT check_guarded('SELECT id FROM overflow WHERE g = 2 AND n >= (SELECT avg(n) FROM overflow x WHERE x.k = overflow.k)', 'forced');
SELECT check_guarded('SELECT id FROM overflow WHERE n >= (SELECT avg(n) FROM overflow x WHERE x.k = overflow.k AND x.g = 5 AND x.id > -22)', 'forced');
-- executed several times with other parameters
PREPARE above(int) AS SELECT count(*), sum(id) FROM large WHERE k < $1 AND n >= (SELECT avg(n) FROM large x WHERE x.k = large.k);
SET plan_cache_mode = force_generic_plan;
SET gpuscan.offload = force;
EXECUTE above(30);
EXECUTE above(2000);
EXECUTE above(1000);
SET gpuscan.offload = off;
EXECUTE above(30);
EXECUTE above(2000);
EXECUTE above(1000);
RESET gpuscan.offload;
RESET plan_cache_mode;

-- joins, limits, other conditions that could raise an error, several subqueries: as they are written
CREATE FUNCTION check_left(query text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN coalesce(current_setting('check.reference', true) = 'on', false) OR NOT joined(query) THEN '' ELSE 'JOINED ' END || check_query(query, 'any');
$$;
SELECT query, check_left(query) FROM unnest(ARRAY[
    'SELECT t.id FROM t JOIN other o ON o.k = t.g WHERE t.n > (SELECT avg(n) FROM t x WHERE x.k = t.k) AND t.id < 100',
    'SELECT id FROM t WHERE n > (SELECT avg(n) FROM t x WHERE x.k = t.k) AND 100 / (id + 1) > 2',
    'SELECT id FROM t WHERE n * m > (SELECT avg(n) FROM t x WHERE x.k = t.k) AND id < 100',
    'SELECT id FROM t WHERE n > (SELECT avg(n) FROM t x WHERE x.k = t.k) AND n < (SELECT sum(m) FROM t x WHERE x.g = t.g) AND id < 100',
    'SELECT id FROM t WHERE n > (SELECT sum(DISTINCT n) FROM t x WHERE x.k = t.k) AND id < 100',
    'SELECT id FROM t WHERE n > (SELECT avg(n * m) FROM t x WHERE x.k = t.k) AND id < 100',
    'SELECT id FROM t WHERE n > (SELECT avg(n::float8) FROM t x WHERE x.k = t.k) AND id < 100',
    'SELECT count(*) FROM t WHERE (SELECT avg(n) FROM t x WHERE x.k = t.k) BETWEEN 1 AND 40 AND id < 100',
    'SELECT count(*) FROM (SELECT id FROM t WHERE n > (SELECT avg(n) FROM t x WHERE x.k = t.k) ORDER BY id LIMIT 50) y',
    'SELECT id FROM overflow WHERE g = 2 AND 2 * (SELECT max(n) FROM overflow x WHERE x.k = overflow.k) < 100',
    'SELECT y.id FROM (SELECT id FROM overflow WHERE n >= (SELECT avg(n) FROM overflow x WHERE x.k = overflow.k)) y JOIN other o ON o.k = y.id',
    'SELECT * FROM (SELECT id FROM overflow WHERE n >= (SELECT avg(n) FROM overflow x WHERE x.k = overflow.k) AND id > 2900) y WHERE EXISTS (SELECT FROM t WHERE t.id = y.id)',
    'SELECT k FROM other WHERE k IN (SELECT id FROM overflow WHERE n >= (SELECT avg(n) FROM overflow x WHERE x.k = overflow.k))',
    'SELECT id FROM t WHERE n >= (SELECT avg(n) FROM t x WHERE x.k = t.k) AND id < 50 UNION ALL SELECT k FROM other WHERE k = 3',
    'SELECT id FROM t WHERE n >= (SELECT avg(n) FROM t x WHERE x.k = t.k) AND g + 1 < ANY (ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25])',
    'SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS r FROM overflow WHERE n > (SELECT avg(n) FROM overflow x WHERE x.k = overflow.k)) y WHERE r <= 2',
    'SELECT id, n - (SELECT avg(n) FROM t x WHERE x.k = t.k) AS above FROM t WHERE id < 30']) AS query;
-- levels above take all of its rows
SELECT query, check_guarded(query) FROM unnest(ARRAY[
    'SELECT g, sum(c) FROM (SELECT k, g, count(*) AS c FROM t WHERE b * 2 < 15 AND n > b * (SELECT avg(n) FROM t x WHERE x.k = t.k) GROUP BY k, g) y WHERE k < 30 GROUP BY g',
    'SELECT DISTINCT g, rank() OVER (ORDER BY g) FROM (SELECT * FROM t WHERE n > (SELECT avg(n) FROM t x WHERE x.k = t.k)) y']) AS query;
-- who may not call what PostgreSQL's plan would call
REVOKE EXECUTE ON FUNCTION bool_or(boolean) FROM PUBLIC;
CREATE ROLE regress_guarded;
GRANT USAGE ON SCHEMA guarded_sums TO regress_guarded;
GRANT SELECT ON t TO regress_guarded;
SET ROLE regress_guarded;
SET gpuscan.offload = force;
SELECT count(*) FROM t WHERE n > (SELECT avg(n) FROM t x WHERE x.k = t.k) AND id < 100;
RESET ROLE;
RESET gpuscan.offload;
GRANT EXECUTE ON FUNCTION bool_or(boolean) TO PUBLIC;
DROP OWNED BY regress_guarded;
DROP ROLE regress_guarded;
-- row security
ALTER TABLE large ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON large USING (k < 30 OR k = 1005);
CREATE ROLE regress_guarded;
GRANT USAGE ON SCHEMA guarded_sums TO regress_guarded;
GRANT SELECT ON large TO regress_guarded;
SET ROLE regress_guarded;
SELECT plain = device, device FROM public.plain_and_device('SELECT count(*), sum(n) FROM large WHERE n >= (SELECT avg(n) FROM large x WHERE x.k = large.k)');
RESET ROLE;
DROP SCHEMA guarded_sums CASCADE;
DROP ROLE regress_guarded;
