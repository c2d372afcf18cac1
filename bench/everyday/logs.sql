-- A web server's requests and its hosts' metrics: URLs, regular expressions, addresses, series. The form is shop.sql's.

-- query: request_rate, Grafana
SELECT floor(extract(epoch from logged_at)/300)*300 AS "time", count(*) AS "value"
FROM everyday_logs.requests
WHERE logged_at BETWEEN '2023-01-10T00:00:00Z' AND '2023-01-17T00:00:00Z'
GROUP BY 1
ORDER BY 1;

-- query: cpu_by_host, Grafana
SELECT floor(extract(epoch from "time")/900)*900 AS "time", host AS metric, avg(value) AS "value"
FROM everyday_logs.metrics
WHERE "time" BETWEEN '2023-01-05T00:00:00Z' AND '2023-01-25T00:00:00Z' AND name = 'cpu'
GROUP BY 1, 2
ORDER BY 1, 2;

-- query: metrics_binned, Grafana
SELECT date_bin('1 hour', "time", timestamptz '2023-01-01') AS "time", name AS metric, max(value) AS max, min(value) AS min
FROM everyday_logs.metrics
WHERE "time" >= '2023-01-08' AND host IN ('web-01', 'web-02', 'web-03', 'web-04')
GROUP BY 1, 2
ORDER BY 1, 2;
-- duckdb
SELECT time_bucket(INTERVAL '1 hour', "time", timestamptz '2023-01-01') AS "time", name AS metric, max(value) AS max, min(value) AS min
FROM everyday_logs.metrics
WHERE "time" >= '2023-01-08' AND host IN ('web-01', 'web-02', 'web-03', 'web-04')
GROUP BY 1, 2
ORDER BY 1, 2;

-- query: error_share, Grafana
SELECT to_timestamp(floor(extract(epoch from logged_at)/3600)*3600) AS "time", sum(CASE WHEN status >= 500 THEN 1 ELSE 0 END)::float8 / count(*) AS "5xx share"
FROM everyday_logs.requests GROUP BY 1 ORDER BY 1;

-- query: region_traffic, Grafana
SELECT date_trunc('hour', r.logged_at) AS "time", h.region AS metric, sum(r.bytes) / 3600.0 AS "bytes/s"
FROM everyday_logs.requests r JOIN everyday_logs.hosts h ON h.name = r.host
WHERE r.logged_at >= '2023-01-09T00:00:00Z' AND h.role <> 'batch'
GROUP BY 1, 2 ORDER BY 1, 2;

-- query: statuses, Superset
SELECT status AS status, DATE_TRUNC('hour', logged_at) AS __timestamp, COUNT(*) AS "COUNT(*)", AVG(duration_ms) AS "AVG(duration_ms)"
FROM everyday_logs.requests
WHERE logged_at >= TO_TIMESTAMP('2023-01-09 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND logged_at < TO_TIMESTAMP('2023-01-16 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY status, DATE_TRUNC('hour', logged_at)
ORDER BY "COUNT(*)" DESC, __timestamp, status
LIMIT 50000;
-- duckdb
SELECT status AS status, DATE_TRUNC('hour', logged_at) AS __timestamp, COUNT(*) AS "COUNT(*)", AVG(duration_ms) AS "AVG(duration_ms)"
FROM everyday_logs.requests
WHERE logged_at >= TIMESTAMPTZ '2023-01-09 00:00:00' AND logged_at < TIMESTAMPTZ '2023-01-16 00:00:00'
GROUP BY status, DATE_TRUNC('hour', logged_at)
ORDER BY "COUNT(*)" DESC, __timestamp, status
LIMIT 50000;

-- query: like_filter, Superset
SELECT host AS host, COUNT(*) AS count
FROM everyday_logs.requests
WHERE url LIKE '%utm_source=mail%' AND status NOT IN (404, 500)
GROUP BY host ORDER BY count DESC, host LIMIT 100;

-- query: duration_bins, Metabase
SELECT FLOOR(("requests"."duration_ms" / 100.0)) * 100.0 AS "duration_ms", COUNT(*) AS "count"
FROM "everyday_logs"."requests"
GROUP BY FLOOR(("requests"."duration_ms" / 100.0)) * 100.0
ORDER BY FLOOR(("requests"."duration_ms" / 100.0)) * 100.0 ASC;

-- query: hour_of_day, Metabase
SELECT CAST(extract(hour from "requests"."logged_at") AS integer) AS "logged_at", COUNT(*) AS "count", COUNT(distinct "requests"."user_id") AS "users"
FROM "everyday_logs"."requests" GROUP BY 1 ORDER BY 1 ASC;

-- query: sections, Tableau
SELECT SPLIT_PART("requests"."url", '/', 4) AS "section", "requests"."method" AS "method", SUM("requests"."bytes") AS "sum:bytes:ok", AVG("requests"."duration_ms") AS "avg:duration_ms:ok"
FROM "everyday_logs"."requests" "requests"
GROUP BY 1, 2;

-- query: slowest_page, Power BI
select "_"."host" as "c1", "_"."a0", "_"."a1"
from (select "rows"."host", max("rows"."duration_ms") as "a0", count(distinct "rows"."url") as "a1" from "everyday_logs"."requests" "rows" group by "rows"."host") "_"
where not "_"."a0" is null or not "_"."a1" is null
limit 1000001;

-- query: bytes_tier, Looker
SELECT CASE WHEN requests.bytes < 1000 THEN 'T00 below 1000' WHEN requests.bytes >= 1000 AND requests.bytes < 10000 THEN 'T01 1000 to 9999' WHEN requests.bytes >= 10000 THEN 'T02 10000 or above' ELSE 'TXX undefined' END AS "requests.bytes_tier", (DATE(requests.logged_at)) AS "requests.at_date", COUNT(*) AS "requests.count", AVG(requests.duration_ms) AS "requests.average_duration"
FROM everyday_logs.requests AS requests
GROUP BY 1, 2
ORDER BY 2 DESC, 1
FETCH NEXT 5000 ROWS ONLY;
-- duckdb
SELECT CASE WHEN requests.bytes < 1000 THEN 'T00 below 1000' WHEN requests.bytes >= 1000 AND requests.bytes < 10000 THEN 'T01 1000 to 9999' WHEN requests.bytes >= 10000 THEN 'T02 10000 or above' ELSE 'TXX undefined' END AS "requests.bytes_tier", requests.logged_at::DATE AS "requests.at_date", COUNT(*) AS "requests.count", AVG(requests.duration_ms) AS "requests.average_duration"
FROM everyday_logs.requests AS requests
GROUP BY 1, 2
ORDER BY 2 DESC, 1
LIMIT 5000;

-- query: pages
SELECT split_part(split_part(url, '?', 1), '.example', 2) AS page, count(*) AS hits, avg(duration_ms) AS ms FROM everyday_logs.requests GROUP BY 1 ORDER BY hits DESC, page LIMIT 50;

-- query: url_count
SELECT url, count(*) FROM everyday_logs.requests GROUP BY url ORDER BY 2 DESC, 1 LIMIT 5;

-- query: distinct_urls
SELECT count(DISTINCT url), count(DISTINCT ip), min(url), max(length(url)) FROM everyday_logs.requests;

-- query: sources
SELECT substring(url from 'utm_source=([a-z]+)') AS source, count(*), count(DISTINCT ip) FROM everyday_logs.requests GROUP BY 1 ORDER BY 2 DESC;
-- duckdb
SELECT nullif(regexp_extract(url, 'utm_source=([a-z]+)', 1), '') AS source, count(*), count(DISTINCT ip) FROM everyday_logs.requests GROUP BY 1 ORDER BY 2 DESC;

-- query: api_versions
SELECT (regexp_match(url, '/api/(v[0-9]+)/'))[1] AS version, status, count(*) FROM everyday_logs.requests WHERE url ~ '/api/v[0-9]+/' GROUP BY 1, 2 ORDER BY 1, 2;
-- duckdb
SELECT regexp_extract(url, '/api/(v[0-9]+)/', 1) AS version, status, count(*) FROM everyday_logs.requests WHERE regexp_matches(url, '/api/v[0-9]+/') GROUP BY 1, 2 ORDER BY 1, 2;

-- query: bots
SELECT agent ILIKE '%bot%' AS bot, count(*), sum(bytes), avg(length(agent)) FROM everyday_logs.requests GROUP BY 1 ORDER BY 1;

-- query: referrers
SELECT regexp_replace(referrer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS site, avg(length(referrer)) AS l, count(*) AS c, min(referrer)
FROM everyday_logs.requests WHERE referrer <> '' GROUP BY 1 HAVING count(*) > 100 ORDER BY l DESC, 1 LIMIT 25;

-- query: networks
SELECT network(set_masklen(ip, 16)) AS net, count(*), count(DISTINCT host) AS hosts FROM everyday_logs.requests WHERE status = 403 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20;
-- duckdb
SELECT split_part(ip, '.', 1) || '.' || split_part(ip, '.', 2) || '.0.0/16' AS net, count(*), count(DISTINCT host) AS hosts FROM everyday_logs.requests WHERE status = 403 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20;

-- query: heavy_users
SELECT user_id, count(*) AS requests, sum(bytes) AS bytes, max(logged_at) - min(logged_at) AS span FROM everyday_logs.requests WHERE user_id IS NOT NULL GROUP BY user_id HAVING count(*) >= 5 ORDER BY requests DESC, user_id LIMIT 20;

-- query: last_errors
SELECT logged_at, host, method, url, status, duration_ms FROM everyday_logs.requests WHERE status >= 500 AND duration_ms > 1000 ORDER BY logged_at DESC, url LIMIT 50;

-- query: search_url
SELECT count(*), avg(duration_ms) FROM everyday_logs.requests WHERE url LIKE '%/product/1%utm_source=%' OR url LIKE '%/cart/7%';

-- query: load_and_traffic
SELECT h.role, m.hour, m.cpu, r.requests
FROM (SELECT host, date_trunc('day', time) AS hour, avg(value) AS cpu FROM everyday_logs.metrics WHERE name = 'cpu' GROUP BY 1, 2) m
JOIN (SELECT host, date_trunc('day', logged_at) AS hour, count(*) AS requests FROM everyday_logs.requests GROUP BY 1, 2) r USING (host, hour)
JOIN everyday_logs.hosts h ON h.name = host
WHERE m.cpu > 30 ORDER BY r.requests DESC, m.hour, host LIMIT 100;

-- query: apdex
SELECT host, (count(*) FILTER (WHERE duration_ms <= 100) + count(*) FILTER (WHERE duration_ms > 100 AND duration_ms <= 400) / 2.0) / count(*) AS apdex, stddev(duration_ms), sqrt(avg(duration_ms ^ 2)) AS rms
FROM everyday_logs.requests GROUP BY host ORDER BY host;

-- query: log_scale
SELECT width_bucket(ln(duration_ms), 0, 10, 20) AS bucket, count(*), exp(avg(ln(duration_ms))) AS geometric_mean FROM everyday_logs.requests GROUP BY 1 ORDER BY 1;
-- duckdb
SELECT 1 + floor(ln(duration_ms) * 2)::int AS bucket, count(*), exp(avg(ln(duration_ms))) AS geometric_mean FROM everyday_logs.requests GROUP BY 1 ORDER BY 1;

-- query: network_rate, Grafana, class: window
SELECT "time", host, value - lag(value) OVER (PARTITION BY host ORDER BY "time") AS change FROM everyday_logs.metrics WHERE name = 'network' AND "time" < '2023-01-04' ORDER BY 1, 2;

-- query: worst_pages_per_host, class: window
SELECT host, section, ms FROM (SELECT host, split_part(url, '/', 4) AS section, avg(duration_ms) AS ms, row_number() OVER (PARTITION BY host ORDER BY avg(duration_ms) DESC) AS n FROM everyday_logs.requests GROUP BY 1, 2) ranked
WHERE n <= 2 ORDER BY host, n;

-- query: latency_percentiles, Grafana, class: ordered-set
SELECT date_trunc('hour', logged_at) AS "time", percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY duration_ms) AS p99
FROM everyday_logs.requests WHERE logged_at < '2023-01-09' GROUP BY 1 ORDER BY 1;

-- query: usual_status, class: ordered-set
SELECT method, mode() WITHIN GROUP (ORDER BY status) AS status, mode() WITHIN GROUP (ORDER BY host) AS host FROM everyday_logs.requests GROUP BY method ORDER BY method;
-- duckdb
SELECT method, mode(status) AS status, mode(host) AS host FROM everyday_logs.requests GROUP BY method ORDER BY method;
