-- Where the executions of a form fall back again and again, most of them do without the device's attempt.
CREATE SCHEMA fallback_history;
SET search_path = fallback_history, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE t AS SELECT i % 7 AS k, (i % 100)::float8 AS f FROM generate_series(1, 300000) i;
VACUUM (FREEZE, ANALYZE) t;
-- (The device does not know which zero came first.)
UPDATE t SET f = -0.0 WHERE f = 0;
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN CASE WHEN plan::text !~ 'GpuScan' THEN 'no device'
           ELSE coalesce(jsonb_path_query_first(plan, 'strict $.**.Fallback') ->> 0, 'answered') END;
END $$;
CREATE FUNCTION outcomes(query text, n int) RETURNS TABLE (times bigint, what text) LANGUAGE sql AS $$
    WITH each AS MATERIALIZED (SELECT i, outcome(query) AS what FROM generate_series(1, n) i)
    SELECT count(*), what FROM (SELECT i, what, i - row_number() OVER (PARTITION BY what ORDER BY i) AS island FROM each) islands GROUP BY island, what ORDER BY min(i)
$$;
SELECT * FROM outcomes('SELECT min(f) FROM t', 18);
-- another form; the same form with another constant; and with force. Another column is another form, in a subquery too
ALTER TABLE t ADD g float8;
UPDATE t SET g = f + 1;
VACUUM (FREEZE, ANALYZE) t;
SELECT * FROM outcomes('SELECT min(g) FROM t', 3);
SELECT * FROM outcomes('SELECT sum(m) FROM (SELECT k, min(f) AS m FROM t GROUP BY k) s WHERE m < 3', 4);
SELECT * FROM outcomes('SELECT sum(m) FROM (SELECT k, min(g) AS m FROM t GROUP BY k) s WHERE m < 3', 3);
SELECT * FROM outcomes('SELECT max(f) FROM t', 3);
SELECT * FROM outcomes('SELECT min(f) FROM t WHERE k < 5', 3);
SELECT * FROM outcomes('SELECT min(f) FROM t WHERE k < 6', 2);
SET gpuscan.offload = force;
SELECT * FROM outcomes('SELECT min(f) FROM t', 3);
RESET gpuscan.offload;
-- an answer ends it
UPDATE t SET f = 1 WHERE f = 0;
SELECT * FROM outcomes('SELECT min(f) FROM t', 80);
SELECT * FROM outcomes('SELECT min(f) FROM t', 3);
DROP SCHEMA fallback_history CASCADE;
