-- gpuscan.advise(): what of a query runs where, why not, and what helps. (Times are the machine's.)
\set SHOW_CONTEXT never
CREATE TABLE sales AS SELECT i AS id, i % 10 AS k, i + 1e40 AS plain, i::numeric(12,2) AS amount, 't' || i % 50 AS name, timestamptz '2024-01-01' + i * interval '1 s' AS at
FROM generate_series(1, 300000) i;
CREATE TABLE "it's tiny" AS SELECT i AS id FROM generate_series(1, 10) i;
VACUUM (FREEZE, ANALYZE) sales;
VACUUM (FREEZE, ANALYZE) "it's tiny";
CREATE FUNCTION advice(query text, OUT part text, OUT runs_on text, OUT why text, OUT change text) RETURNS SETOF record LANGUAGE sql AS $$
    SELECT part, replace(replace(runs_on, 'the GPU', 'DEVICE'), 'the CPU engine', 'DEVICE'), regexp_replace(why, '[0-9.]+ ms', 'N ms', 'g'),
        regexp_replace(change, '[0-9.]+ ms', 'N ms', 'g')
    FROM gpuscan.advise(query)
$$;
SET gpuscan.offload = auto;
\x
SELECT * FROM advice('SELECT k, sum(amount) FROM sales GROUP BY k');
SELECT * FROM advice('SELECT k, sum(plain) FROM sales GROUP BY k') WHERE part LIKE 'what reads%';
SELECT * FROM advice('SELECT name, random(), count(*) FROM sales GROUP BY 1, 2') WHERE part LIKE 'what reads%';
SELECT * FROM advice('SELECT count(*) FROM sales WHERE (id, k) > (5, 6)');
SELECT * FROM advice('SELECT sum(id) FROM "it''s tiny"');
SELECT * FROM advice('SELECT count(*) FROM sales a JOIN "it''s tiny" b USING (id) WHERE a.k = 5');
SELECT why FROM advice('SELECT count(*) FROM sales a WHERE EXISTS (SELECT FROM sales b WHERE b.id = a.id AND a.id / b.k > 1)') WHERE why LIKE '%raise%';
SELECT why FROM advice('SELECT count(*) FROM sales a JOIN sales b ON a.plain = b.plain') WHERE part LIKE 'what reads%';
SELECT * FROM advice('VALUES (1), (2)');
SET gpuscan.offload = off;
SELECT * FROM advice('SELECT k, sum(amount) FROM sales GROUP BY k');
SELECT current_setting('gpuscan.offload');
RESET gpuscan.offload;
SET gpuscan.exact_float = on;
SELECT * FROM advice('SELECT sum(id::float8) FROM sales');
RESET gpuscan.exact_float;
-- A session that asks for a device which is not there.
SET gpuscan.device = none;
SELECT * FROM advice('SELECT k, sum(amount) FROM sales GROUP BY k');
SET gpuscan.device = cuda;
SELECT (why LIKE 'gpuscan.device is cuda, which is not ready%' AND change = 'SET gpuscan.device = auto') = (state <> 'ready') AS told
FROM advice('SELECT k, sum(amount) FROM sales GROUP BY k'), gpuscan.devices WHERE part = 'the query' AND kind = 'cuda';
RESET gpuscan.device;
-- Reasons go to the function and to EXPLAIN, never to the client of another statement.
SET gpuscan.explain_refusals = on;
SELECT count(*) FROM advice('SELECT sum(plain) FROM sales') WHERE why LIKE '%numeric%';
SELECT sum(plain) FROM sales;
RESET gpuscan.explain_refusals;
\x
-- What is no query, what is not allowed.
SELECT * FROM gpuscan.advise('DELETE FROM sales');
SELECT * FROM gpuscan.advise('SELECT 1; SELECT 2');
SELECT * FROM gpuscan.advise('SELECT nobody FROM sales');
SELECT * FROM gpuscan.advise('SELECT 1 / 0 FROM sales');
SELECT count(*) FROM gpuscan.advise(NULL);
CREATE ROLE advised;
SET ROLE advised;
SELECT * FROM gpuscan.advise('SELECT sum(id) FROM sales');
RESET ROLE;
DROP ROLE advised;
DROP FUNCTION advice;
DROP TABLE sales, "it's tiny";
