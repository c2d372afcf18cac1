-- A product's events: texts and numbers inside jsonb, time zones, funnels. The form is shop.sql's.

-- query: paths
SELECT props #>> '{page,path}' AS path, count(*) AS views, avg((props ->> 'load_ms')::float8) AS load_ms
FROM everyday_events.events WHERE kind = 'page_view' GROUP BY 1 ORDER BY views DESC, path LIMIT 25;
-- duckdb
SELECT props ->> '$.page.path' AS path, count(*) AS views, avg((props ->> '$.load_ms')::DOUBLE) AS load_ms
FROM everyday_events.events WHERE kind = 'page_view' GROUP BY 1 ORDER BY views DESC, path LIMIT 25;

-- query: json_path, Metabase
SELECT ("everyday_events"."events"."props"#>> array['device', 'os']::text[])::text AS "props → device → os", COUNT(*) AS "count"
FROM "everyday_events"."events"
GROUP BY ("everyday_events"."events"."props"#>> array['device', 'os']::text[])::text
ORDER BY ("everyday_events"."events"."props"#>> array['device', 'os']::text[])::text ASC;
-- duckdb
SELECT "everyday_events"."events"."props" ->> '$.device.os' AS "os", COUNT(*) AS "count"
FROM "everyday_events"."events"
GROUP BY 1 ORDER BY 1 ASC;

-- query: json_number_bins, Metabase
SELECT FLOOR((("events"."props"#>> array['cart', 'total']::text[])::double precision / 10.0)) * 10.0 AS "total", COUNT(*) AS "count"
FROM "everyday_events"."events" WHERE "events"."kind" = 'purchase'
GROUP BY FLOOR((("events"."props"#>> array['cart', 'total']::text[])::double precision / 10.0)) * 10.0
ORDER BY 1 ASC;
-- duckdb
SELECT FLOOR((("events"."props" ->> '$.cart.total')::double precision / 10.0)) * 10.0 AS "total", COUNT(*) AS "count"
FROM "everyday_events"."events" WHERE "events"."kind" = 'purchase'
GROUP BY 1 ORDER BY 1 ASC;

-- query: hours_local, Metabase
SELECT DATE_TRUNC('hour', ("events"."happened_at" AT TIME ZONE 'America/New_York')) AS "happened_at", COUNT(*) AS "count"
FROM "everyday_events"."events"
WHERE "events"."happened_at" >= timestamp with time zone '2023-02-01 00:00:00.000-05:00' AND "events"."happened_at" < timestamp with time zone '2023-03-01 00:00:00.000-05:00'
GROUP BY 1 ORDER BY 1 ASC;

-- query: kinds_per_day, Superset
SELECT DATE_TRUNC('day', happened_at) AS __timestamp, kind AS kind, COUNT(*) AS count
FROM everyday_events.events
WHERE happened_at >= TO_TIMESTAMP('2023-03-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND happened_at < TO_TIMESTAMP('2023-06-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('day', happened_at), kind
ORDER BY count DESC, __timestamp, kind
LIMIT 10000;
-- duckdb
SELECT DATE_TRUNC('day', happened_at) AS __timestamp, kind AS kind, COUNT(*) AS count
FROM everyday_events.events
WHERE happened_at >= TIMESTAMPTZ '2023-03-01 00:00:00' AND happened_at < TIMESTAMPTZ '2023-06-01 00:00:00'
GROUP BY DATE_TRUNC('day', happened_at), kind
ORDER BY count DESC, __timestamp, kind
LIMIT 10000;

-- query: virtual_purchases, Superset
SELECT "currency" AS "currency", DATE_TRUNC('week', "happened_at") AS "week", SUM("total") AS "SUM(total)", AVG("items") AS "AVG(items)"
FROM (SELECT happened_at, user_id, (props #>> '{cart,total}')::numeric AS total, (props #>> '{cart,items}')::int AS items, props #>> '{cart,currency}' AS currency
    FROM everyday_events.events WHERE kind = 'purchase') AS virtual_table
GROUP BY "currency", DATE_TRUNC('week', "happened_at")
ORDER BY "SUM(total)" DESC
LIMIT 50000;
-- duckdb
SELECT "currency" AS "currency", DATE_TRUNC('week', "happened_at") AS "week", SUM("total") AS "SUM(total)", AVG("items") AS "AVG(items)"
FROM (SELECT happened_at, user_id, (props ->> '$.cart.total')::DECIMAL(14,5) AS total, (props ->> '$.cart.items')::int AS items, props ->> '$.cart.currency' AS currency
    FROM everyday_events.events WHERE kind = 'purchase') AS virtual_table
GROUP BY "currency", DATE_TRUNC('week', "happened_at")
ORDER BY "SUM(total)" DESC
LIMIT 50000;

-- query: filter_values, Superset
SELECT kind AS kind FROM everyday_events.events GROUP BY kind ORDER BY kind LIMIT 1000;

-- query: plans_by_device, Tableau
SELECT "users"."plan" AS "plan", ("events"."props" -> 'device' ->> 'browser') AS "browser", COUNT(DISTINCT "events"."user_id") AS "ctd:user_id:ok"
FROM "everyday_events"."events" "events"
INNER JOIN "everyday_events"."users" "users" ON ("events"."user_id" = "users"."id")
GROUP BY 1, 2;
-- duckdb
SELECT "users"."plan" AS "plan", ("events"."props" ->> '$.device.browser') AS "browser", COUNT(DISTINCT "events"."user_id") AS "ctd:user_id:ok"
FROM "everyday_events"."events" "events"
INNER JOIN "everyday_events"."users" "users" ON ("events"."user_id" = "users"."id")
GROUP BY 1, 2;

-- query: active_by_month, Looker
SELECT (TO_CHAR(DATE_TRUNC('month', events.happened_at AT TIME ZONE 'UTC'), 'YYYY-MM')) AS "events.month", users.plan AS "users.plan", COUNT(DISTINCT events.user_id) AS "users.active", COUNT(*) FILTER (WHERE events.kind = 'purchase') AS "events.purchases"
FROM everyday_events.events AS events
LEFT JOIN everyday_events.users AS users ON events.user_id = users.id
GROUP BY 1, 2
ORDER BY 1 DESC, 2
FETCH NEXT 500 ROWS ONLY;
-- duckdb
SELECT strftime(DATE_TRUNC('month', events.happened_at AT TIME ZONE 'UTC'), '%Y-%m') AS "events.month", users.plan AS "users.plan", COUNT(DISTINCT events.user_id) AS "users.active", COUNT(*) FILTER (WHERE events.kind = 'purchase') AS "events.purchases"
FROM everyday_events.events AS events
LEFT JOIN everyday_events.users AS users ON events.user_id = users.id
GROUP BY 1, 2
ORDER BY 1 DESC, 2
LIMIT 500;

-- query: errors_over_time, Grafana
SELECT floor(extract(epoch from happened_at)/3600)*3600 AS "time", props ->> 'code' AS metric, count(*) AS "value"
FROM everyday_events.events
WHERE happened_at BETWEEN '2023-02-01T00:00:00Z' AND '2023-05-01T00:00:00Z' AND kind = 'error'
GROUP BY 1, 2
ORDER BY 1, 2;

-- query: daily_active
SELECT happened_at::date AS day, count(DISTINCT user_id) AS users, count(DISTINCT session_id) AS sessions, count(*) AS events
FROM everyday_events.events GROUP BY 1 ORDER BY 1;

-- query: funnel
SELECT count(*) FILTER (WHERE viewed) AS viewed, count(*) FILTER (WHERE viewed AND clicked) AS clicked, count(*) FILTER (WHERE viewed AND clicked AND bought) AS bought
FROM (SELECT session_id, bool_or(kind = 'page_view') AS viewed, bool_or(kind = 'click') AS clicked, bool_or(kind = 'purchase') AS bought FROM everyday_events.events GROUP BY session_id) sessions;

-- query: retention
SELECT date_trunc('month', u.signed_up_at) AS cohort, (extract(epoch FROM e.happened_at - u.signed_up_at) / 604800)::int AS week, count(DISTINCT e.user_id) AS users
FROM everyday_events.users u JOIN everyday_events.events e ON e.user_id = u.id WHERE e.happened_at >= u.signed_up_at
GROUP BY 1, 2 ORDER BY 1, 2;

-- query: contains
SELECT count(*), count(DISTINCT user_id) FROM everyday_events.events WHERE props @> '{"device": {"os": "ios"}, "target": "buy"}';
-- duckdb
SELECT count(*), count(DISTINCT user_id) FROM everyday_events.events WHERE json_contains(props, '{"device": {"os": "ios"}, "target": "buy"}');

-- query: has_key
SELECT kind, count(*) FROM everyday_events.events WHERE props ? 'referrer' AND props ->> 'referrer' IS NOT NULL GROUP BY kind ORDER BY kind;
-- duckdb
SELECT kind, count(*) FROM everyday_events.events WHERE json_exists(props, '$.referrer') AND (props ->> '$.referrer') IS NOT NULL GROUP BY kind ORDER BY kind;

-- query: tags
SELECT tag, count(*) FROM everyday_events.events, jsonb_array_elements_text(props -> 'tags') AS tag WHERE kind = 'purchase' GROUP BY tag ORDER BY 2 DESC, 1;
-- duckdb
SELECT tag, count(*) FROM (SELECT unnest(from_json(props -> '$.tags', '["VARCHAR"]')) AS tag FROM everyday_events.events WHERE kind = 'purchase') GROUP BY tag ORDER BY 2 DESC, 1;

-- query: search_words
SELECT lower(split_part(props ->> 'query', ' ', 1)) AS word, count(*), avg((props ->> 'hits')::int) AS hits
FROM everyday_events.events WHERE kind = 'search' GROUP BY 1 ORDER BY 2 DESC, 1;
-- duckdb
SELECT lower(split_part(props ->> '$.query', ' ', 1)) AS word, count(*), avg((props ->> '$.hits')::int) AS hits
FROM everyday_events.events WHERE kind = 'search' GROUP BY 1 ORDER BY 2 DESC, 1;

-- query: slow_loads
SELECT CASE WHEN (props ->> 'load_ms')::int < 200 THEN 'fast' WHEN (props ->> 'load_ms')::int < 1000 THEN 'ok' ELSE 'slow' END AS class, (props -> 'device' ->> 'mobile')::boolean AS mobile, count(*)
FROM everyday_events.events WHERE kind = 'page_view' GROUP BY 1, 2 ORDER BY 1, 2;
-- duckdb
SELECT CASE WHEN (props ->> '$.load_ms')::int < 200 THEN 'fast' WHEN (props ->> '$.load_ms')::int < 1000 THEN 'ok' ELSE 'slow' END AS class, (props ->> '$.device.mobile')::boolean AS mobile, count(*)
FROM everyday_events.events WHERE kind = 'page_view' GROUP BY 1, 2 ORDER BY 1, 2;

-- query: industries
SELECT u.traits #>> '{company,industry}' AS industry, u.traits ->> 'role' AS role, count(*) AS events, count(DISTINCT e.user_id) AS users
FROM everyday_events.events e JOIN everyday_events.users u ON u.id = e.user_id WHERE e.kind IN ('click', 'purchase')
GROUP BY 1, 2 ORDER BY events DESC, 1, 2;
-- duckdb
SELECT u.traits ->> '$.company.industry' AS industry, u.traits ->> '$.role' AS role, count(*) AS events, count(DISTINCT e.user_id) AS users
FROM everyday_events.events e JOIN everyday_events.users u ON u.id = e.user_id WHERE e.kind IN ('click', 'purchase')
GROUP BY 1, 2 ORDER BY events DESC, 1, 2;

-- query: error_messages
SELECT regexp_replace(props ->> 'message', '[0-9]+', 'N') AS message, props ->> 'code' AS code, count(*), min(happened_at), max(happened_at)
FROM everyday_events.events WHERE kind = 'error' GROUP BY 1, 2 ORDER BY 3 DESC, 2;

-- query: one_user
SELECT happened_at, kind, props FROM everyday_events.events WHERE user_id = 42 ORDER BY happened_at DESC LIMIT 100;

-- query: new_users_by_week
SELECT date_trunc('week', signed_up_at) AS week, plan, count(*), sum((traits ->> 'seats')::int) AS seats FROM everyday_events.users GROUP BY 1, 2 ORDER BY 1, 2;

-- query: sessions, class: window
SELECT count(*) AS visits, avg(events) AS events, avg(extract(epoch FROM length)) AS seconds
FROM (SELECT user_id, visit, count(*) AS events, max(happened_at) - min(happened_at) AS length
    FROM (SELECT user_id, happened_at, sum(starts) OVER (PARTITION BY user_id ORDER BY happened_at) AS visit
        FROM (SELECT user_id, happened_at, CASE WHEN happened_at - lag(happened_at) OVER (PARTITION BY user_id ORDER BY happened_at) < interval '30 minutes' THEN 0 ELSE 1 END AS starts
            FROM everyday_events.events WHERE user_id IS NOT NULL) gaps) visits
    GROUP BY user_id, visit) lengths;

-- query: first_purchase, class: window
SELECT plan, count(*), avg(total) FROM (SELECT u.plan, (e.props #>> '{cart,total}')::numeric AS total, row_number() OVER (PARTITION BY e.user_id ORDER BY e.happened_at) AS n
    FROM everyday_events.events e JOIN everyday_events.users u ON u.id = e.user_id WHERE e.kind = 'purchase') numbered
WHERE n = 1 GROUP BY plan ORDER BY plan;
-- duckdb
SELECT plan, count(*), avg(total) FROM (SELECT u.plan, (e.props ->> '$.cart.total')::DECIMAL(14,5) AS total, row_number() OVER (PARTITION BY e.user_id ORDER BY e.happened_at) AS n
    FROM everyday_events.events e JOIN everyday_events.users u ON u.id = e.user_id WHERE e.kind = 'purchase') numbered
WHERE n = 1 GROUP BY plan ORDER BY plan;

-- query: load_percentiles, class: ordered-set
SELECT props -> 'device' ->> 'browser' AS browser, percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY (props ->> 'load_ms')::float8) AS ms
FROM everyday_events.events WHERE kind = 'page_view' GROUP BY 1 ORDER BY 1;
-- duckdb
SELECT props ->> '$.device.browser' AS browser, quantile_cont((props ->> '$.load_ms')::DOUBLE, [0.5, 0.95, 0.99]) AS ms
FROM everyday_events.events WHERE kind = 'page_view' GROUP BY 1 ORDER BY 1;
