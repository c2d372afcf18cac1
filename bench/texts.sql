-- Columns of texts that are all different, or nearly: milliseconds of PostgreSQL, of gpuscan's first execution with nothing cached,
-- and hot. The first query is that of TPC-H's query 13, the second that of 22; from GROUP BY on they read URLs of 60 to 120 bytes.
-- Usage: psql -Xq -v rows=15000000 -v urls=10000000 -f bench/texts.sql   (so many orders, a tenth as many customers)
\if :{?rows}
\else
    \set rows 1500000
\endif
\if :{?urls}
\else
    \set urls 2000000
\endif
CREATE SCHEMA bench_texts;
SET search_path = bench_texts, public;
CREATE TABLE customer AS
    SELECT i::bigint AS c_custkey, ((10 + i % 25) || '-' || (100 + i % 900) || '-' || (100 + i / 900 % 900) || '-' || (1000 + i % 9000))::char(15) AS c_phone,
        ((i::bigint * 7919 % 1100000) / 100.0 - 1000)::numeric(15,2) AS c_acctbal
    FROM generate_series(1, :rows / 10) i;
CREATE TABLE orders AS
    SELECT i::bigint AS o_orderkey, (i::bigint * 7919 % (:rows / 15) * 3 / 2)::bigint AS o_custkey,
        (md5(i::text) || CASE WHEN i % 90 = 0 THEN ' special wishes requests' ELSE substr(md5((-i)::text), 1, 16) END)::varchar(79) AS o_comment
    FROM generate_series(1, :rows) i;
CREATE TABLE visits AS -- 3 % of the URLs come twice
    SELECT i::int AS id, (i * 31 % 1000)::int AS bytes, 'https://www.site' || k % 40 || '.example/' || (ARRAY['product', 'category', 'search', 'cart', 'account/orders'])[1 + k % 5] ||
        '/' || k % 20011 || '?session=' || left(md5(k::text) || md5((-k)::text), 20 + (k * 7919 % 43)::int) AS url
    FROM (SELECT i, CASE WHEN i % 33 = 0 THEN i / 33 * 7 ELSE i END AS k FROM generate_series(1::bigint, :urls) i) x;
CREATE TABLE clicks AS SELECT url, id % 97 AS weight FROM visits WHERE id % 5 = 0;
VACUUM (FREEZE, ANALYZE) customer, orders, visits, clicks;
CREATE FUNCTION measured(query text) RETURNS TABLE (postgres numeric, first numeric, again numeric) LANGUAGE plpgsql AS $$
DECLARE
    started timestamptz;
    took numeric[] := '{}';
    want text;
    got text;
BEGIN
    FOR i IN 0..4 LOOP -- one run of PostgreSQL's, then the first one of the device and three more
        IF i = 1 THEN
            PERFORM gpuscan.evict();
        END IF;
        PERFORM set_config('gpuscan.offload', CASE WHEN i = 0 THEN 'off' ELSE 'force' END, false);
        started := clock_timestamp();
        EXECUTE 'SELECT string_agg(q::text, '','') FROM (' || query || ') q' INTO got;
        took := took || round(extract(epoch FROM clock_timestamp() - started) * 1000, 1);
        want := coalesce(want, got);
        IF got <> want THEN
            RAISE 'another result: %', got;
        END IF;
    END LOOP;
    RETURN QUERY SELECT took[1], took[2], least(took[3], took[4], took[5]);
END $$;
SELECT 'NOT LIKE' AS query, * FROM measured($$SELECT c_count, count(*) FROM (SELECT c_custkey, count(o_orderkey) FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY 1) c (c_custkey, c_count) GROUP BY 1 ORDER BY 1$$)
UNION ALL
SELECT 'substring', * FROM measured($$SELECT substring(c_phone FROM 1 FOR 2), count(*), sum(c_acctbal) FROM customer WHERE substring(c_phone FROM 1 FOR 2) IN ('13','31','23','29','30','18','17') AND NOT EXISTS (SELECT FROM orders WHERE o_custkey = c_custkey) GROUP BY 1 ORDER BY 1$$)
UNION ALL
SELECT 'LIKE, a count', * FROM measured($$SELECT count(*), sum(o_custkey) FROM orders WHERE o_comment LIKE '%special%requests%'$$)
UNION ALL
SELECT 'ILIKE, a count', * FROM measured($$SELECT count(*), sum(o_custkey) FROM orders WHERE o_comment ILIKE '%SPECIAL%REQUESTS%'$$)
UNION ALL
SELECT 'GROUP BY, top 5', * FROM measured($$SELECT url, count(*) FROM visits GROUP BY url ORDER BY count(*) DESC, url LIMIT 5$$)
UNION ALL
SELECT 'count(DISTINCT)', * FROM measured($$SELECT count(DISTINCT url) FROM visits$$)
UNION ALL
SELECT 'LIKE', * FROM measured($$SELECT count(*), sum(bytes) FROM visits WHERE url LIKE '%search%abc%'$$)
UNION ALL
SELECT 'ORDER BY, LIMIT', * FROM measured($$SELECT url, id FROM visits ORDER BY url, id LIMIT 10$$)
UNION ALL
SELECT 'min', * FROM measured($$SELECT min(url) FROM visits$$)
UNION ALL
SELECT 'equality join', * FROM measured($$SELECT count(*), sum(weight) FROM visits JOIN clicks USING (url)$$);
DROP SCHEMA bench_texts CASCADE;
