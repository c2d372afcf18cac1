-- A shop's questions. Before each query: its name, and what tool writes such a text (none: a person). "class: window" and "class:
-- ordered-set" are summed apart. Below "-- duckdb" is the text in DuckDB's dialect where it must differ.

-- query: revenue_by_month, Metabase
SELECT date_trunc('month', "everyday_shop"."orders"."ordered_at") AS "ordered_at", SUM("everyday_shop"."orders"."total") AS "sum", COUNT(*) AS "count"
FROM "everyday_shop"."orders"
WHERE "everyday_shop"."orders"."status" <> 'cancelled'
GROUP BY date_trunc('month', "everyday_shop"."orders"."ordered_at")
ORDER BY date_trunc('month', "everyday_shop"."orders"."ordered_at") ASC;

-- query: revenue_by_sunday_week, Metabase
SELECT (date_trunc('week', ("orders"."ordered_at" + (INTERVAL '1 day'))) + (INTERVAL '-1 day')) AS "ordered_at", "orders"."channel" AS "channel", SUM("orders"."total") AS "sum"
FROM "everyday_shop"."orders"
GROUP BY (date_trunc('week', ("orders"."ordered_at" + (INTERVAL '1 day'))) + (INTERVAL '-1 day')), "orders"."channel"
ORDER BY 1 ASC, 2 ASC;

-- query: total_bins, Metabase
SELECT FLOOR(("orders"."total" / 100.0)) * 100.0 AS "total", COUNT(*) AS "count"
FROM "everyday_shop"."orders"
GROUP BY FLOOR(("orders"."total" / 100.0)) * 100.0
ORDER BY FLOOR(("orders"."total" / 100.0)) * 100.0 ASC;

-- query: customers_joined, Metabase
SELECT "Customers"."country" AS "Customers__country", COUNT(distinct "orders"."customer_id") AS "count", AVG("orders"."total") AS "avg"
FROM "everyday_shop"."orders"
LEFT JOIN "everyday_shop"."customers" AS "Customers" ON "orders"."customer_id" = "Customers"."id"
WHERE "orders"."ordered_at" >= DATE_TRUNC('month', timestamp '2024-03-15') AND "orders"."ordered_at" < DATE_TRUNC('month', timestamp '2024-06-15')
GROUP BY "Customers"."country"
ORDER BY "count" DESC, "Customers"."country" ASC;

-- query: newest_orders, Metabase
SELECT "orders"."id", "orders"."customer_id", "orders"."ordered_at", "orders"."status", "orders"."total", "orders"."note"
FROM "everyday_shop"."orders"
WHERE LOWER("orders"."note") LIKE '%gift%' AND "orders"."total" > 200
ORDER BY "orders"."ordered_at" DESC, "orders"."id" DESC
LIMIT 2000;

-- query: channel_share, Superset
SELECT "channel" AS "channel", SUM("total") AS "SUM(total)", COUNT(DISTINCT "customer_id") AS "COUNT_DISTINCT(customer_id)", SUM(CASE WHEN "status" = 'returned' THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS "return rate"
FROM "everyday_shop"."orders"
WHERE "ordered_at" >= TO_TIMESTAMP('2023-07-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND "ordered_at" < TO_TIMESTAMP('2024-07-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY "channel"
ORDER BY "SUM(total)" DESC
LIMIT 10000;
-- duckdb
SELECT "channel" AS "channel", SUM("total") AS "SUM(total)", COUNT(DISTINCT "customer_id") AS "COUNT_DISTINCT(customer_id)", SUM(CASE WHEN "status" = 'returned' THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS "return rate"
FROM "everyday_shop"."orders"
WHERE "ordered_at" >= '2023-07-01 00:00:00.000000'::TIMESTAMP AND "ordered_at" < '2024-07-01 00:00:00.000000'::TIMESTAMP
GROUP BY "channel"
ORDER BY "SUM(total)" DESC
LIMIT 10000;

-- query: top_series, Superset
SELECT DATE_TRUNC('day', ordered_at) AS __timestamp, coupon AS coupon, sum(total) AS sum__total
FROM everyday_shop.orders
JOIN (SELECT coupon AS coupon__, sum(total) AS mme_inner__ FROM everyday_shop.orders WHERE ordered_at >= TO_TIMESTAMP('2024-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS') AND coupon IS NOT NULL GROUP BY coupon ORDER BY mme_inner__ DESC, coupon LIMIT 10) AS anon_1 ON coupon = coupon__
WHERE ordered_at >= TO_TIMESTAMP('2024-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS')
GROUP BY coupon, DATE_TRUNC('day', ordered_at)
ORDER BY sum__total DESC, __timestamp, coupon
LIMIT 10000;
-- duckdb
SELECT DATE_TRUNC('day', ordered_at) AS __timestamp, coupon AS coupon, sum(total) AS sum__total
FROM everyday_shop.orders
JOIN (SELECT coupon AS coupon__, sum(total) AS mme_inner__ FROM everyday_shop.orders WHERE ordered_at >= '2024-01-01'::TIMESTAMP AND coupon IS NOT NULL GROUP BY coupon ORDER BY mme_inner__ DESC, coupon LIMIT 10) AS anon_1 ON coupon = coupon__
WHERE ordered_at >= '2024-01-01'::TIMESTAMP
GROUP BY coupon, DATE_TRUNC('day', ordered_at)
ORDER BY sum__total DESC, __timestamp, coupon
LIMIT 10000;

-- query: virtual_table, Superset
SELECT "size" AS "size", COUNT(*) AS "count", AVG("total") AS "AVG(total)"
FROM (SELECT o.*, c.country, CASE WHEN total < 20 THEN '1: small' WHEN total < 100 THEN '2: middle' WHEN total < 500 THEN '3: large' ELSE '4: huge' END AS size
    FROM everyday_shop.orders o JOIN everyday_shop.customers c ON c.id = o.customer_id) AS virtual_table
WHERE "country" IN ('DE', 'AT', 'CH')
GROUP BY "size"
ORDER BY "count" DESC
LIMIT 1000;

-- query: quarters, Tableau
SELECT CAST(TRUNC(EXTRACT(YEAR FROM "orders"."ordered_at")) AS INTEGER) AS "yr:ordered_at:ok", CAST(TRUNC(EXTRACT(QUARTER FROM "orders"."ordered_at")) AS INTEGER) AS "qr:ordered_at:ok", "categories"."name" AS "name", SUM("order_items"."amount") AS "sum:amount:ok"
FROM "everyday_shop"."order_items" "order_items"
INNER JOIN "everyday_shop"."orders" "orders" ON ("order_items"."order_id" = "orders"."id")
INNER JOIN "everyday_shop"."products" "products" ON ("order_items"."product_id" = "products"."id")
INNER JOIN "everyday_shop"."categories" "categories" ON ("products"."category_id" = "categories"."id")
GROUP BY 1, 2, 3;

-- query: margin, Tableau
SELECT "products"."brand" AS "brand", SUM(("order_items"."amount" - ("order_items"."quantity" * "products"."cost"))) AS "sum:margin:ok", SUM("order_items"."amount") AS "sum:amount:ok", (CASE WHEN SUM("order_items"."amount") = 0 THEN NULL ELSE SUM("order_items"."amount" - "order_items"."quantity" * "products"."cost") / SUM("order_items"."amount") END) AS "usr:margin_rate:ok"
FROM "everyday_shop"."order_items" "order_items"
INNER JOIN "everyday_shop"."products" "products" ON ("order_items"."product_id" = "products"."id")
GROUP BY 1;

-- query: delivery_days, Tableau
SELECT "orders"."channel" AS "channel", FLOOR(EXTRACT(EPOCH FROM ("orders"."shipped_at" - "orders"."ordered_at")) / 86400) AS "days", COUNT(1) AS "cnt"
FROM "everyday_shop"."orders" "orders"
WHERE (NOT ("orders"."shipped_at" IS NULL))
GROUP BY 1, 2;

-- query: week_by_customer_age, Looker
SELECT (TO_CHAR(DATE_TRUNC('week', orders.ordered_at), 'YYYY-MM-DD')) AS "orders.ordered_week", CASE WHEN customers.birthday IS NULL THEN 'unknown' WHEN customers.birthday > DATE '1990-01-01' THEN 'young' ELSE 'older' END AS "customers.age_tier", COALESCE(SUM(orders.total), 0) AS "orders.total_revenue"
FROM everyday_shop.orders AS orders
LEFT JOIN everyday_shop.customers AS customers ON orders.customer_id = customers.id
WHERE orders.ordered_at >= (TIMESTAMP '2023-03-01') AND orders.ordered_at < (TIMESTAMP '2023-09-01')
GROUP BY 1, 2
ORDER BY 1 DESC, 2
FETCH NEXT 500 ROWS ONLY;
-- duckdb
SELECT strftime(DATE_TRUNC('week', orders.ordered_at), '%Y-%m-%d') AS "orders.ordered_week", CASE WHEN customers.birthday IS NULL THEN 'unknown' WHEN customers.birthday > DATE '1990-01-01' THEN 'young' ELSE 'older' END AS "customers.age_tier", COALESCE(SUM(orders.total), 0) AS "orders.total_revenue"
FROM everyday_shop.orders AS orders
LEFT JOIN everyday_shop.customers AS customers ON orders.customer_id = customers.id
WHERE orders.ordered_at >= (TIMESTAMP '2023-03-01') AND orders.ordered_at < (TIMESTAMP '2023-09-01')
GROUP BY 1, 2
ORDER BY 1 DESC, 2
LIMIT 500;

-- query: symmetric_aggregate, Looker
SELECT categories.name AS "categories.name", COUNT(DISTINCT orders.id) AS "orders.count", COALESCE(SUM(order_items.amount), 0) AS "order_items.total", COALESCE(CAST((SUM(DISTINCT (CAST(FLOOR(COALESCE(orders.shipping, 0) * 1000000) AS DECIMAL(38,0))) + orders.id::numeric * 10000000000) - SUM(DISTINCT orders.id::numeric * 10000000000)) AS DOUBLE PRECISION) / 1000000.0, 0) AS "orders.total_shipping"
FROM everyday_shop.order_items AS order_items
LEFT JOIN everyday_shop.orders AS orders ON order_items.order_id = orders.id
LEFT JOIN everyday_shop.products AS products ON order_items.product_id = products.id
LEFT JOIN everyday_shop.categories AS categories ON products.category_id = categories.id
WHERE orders.ordered_at >= TIMESTAMP '2024-09-01'
GROUP BY 1
ORDER BY 3 DESC
FETCH NEXT 500 ROWS ONLY;
-- duckdb
SELECT categories.name AS "categories.name", COUNT(DISTINCT orders.id) AS "orders.count", COALESCE(SUM(order_items.amount), 0) AS "order_items.total", COALESCE(CAST((SUM(DISTINCT (CAST(FLOOR(COALESCE(orders.shipping, 0) * 1000000) AS DECIMAL(38,0))) + orders.id::HUGEINT * 10000000000) - SUM(DISTINCT orders.id::HUGEINT * 10000000000)) AS DOUBLE PRECISION) / 1000000.0, 0) AS "orders.total_shipping"
FROM everyday_shop.order_items AS order_items
LEFT JOIN everyday_shop.orders AS orders ON order_items.order_id = orders.id
LEFT JOIN everyday_shop.products AS products ON order_items.product_id = products.id
LEFT JOIN everyday_shop.categories AS categories ON products.category_id = categories.id
WHERE orders.ordered_at >= TIMESTAMP '2024-09-01'
GROUP BY 1
ORDER BY 3 DESC
LIMIT 500;

-- query: products_by_brand, Power BI
select "_"."brand" as "c1", "_"."a0", "_"."a1"
from (select "rows"."brand" as "brand", sum("rows"."amount") as "a0", count(distinct("rows"."order_id")) as "a1"
    from (select "$Outer"."order_id", "$Outer"."amount", "$Inner"."brand" from "everyday_shop"."order_items" "$Outer" left outer join "everyday_shop"."products" "$Inner" on ("$Outer"."product_id" = "$Inner"."id")) "rows"
    group by "brand") "_"
where not "_"."a0" is null
limit 1000001;

-- query: filtered_card, Power BI
select sum("rows"."total") as "a0", min("rows"."ordered_at") as "a1", max("rows"."ordered_at") as "a2"
from (select "_"."id", "_"."total", "_"."ordered_at" from "everyday_shop"."orders" "_" where ("_"."status" = 'delivered' or "_"."status" = 'shipped') and "_"."ordered_at" >= timestamp '2023-10-01 00:00:00' and "_"."coupon" is not null) "rows";

-- query: days_by_label
SELECT to_char(ordered_at, 'YYYY-MM-DD') AS day, to_char(sum(total), 'FM999G999G990D00') AS revenue
FROM everyday_shop.orders GROUP BY 1 ORDER BY 1;
-- duckdb
SELECT strftime(ordered_at, '%Y-%m-%d') AS day, format('{:,.2f}', sum(total)::DOUBLE) AS revenue
FROM everyday_shop.orders GROUP BY 1 ORDER BY 1;

-- query: rush_hours
SELECT extract(isodow FROM ordered_at) AS weekday, extract(hour FROM ordered_at) AS hour, count(*), round(avg(total), 2) AS mean
FROM everyday_shop.orders GROUP BY 1, 2 ORDER BY 1, 2;

-- query: best_customers
SELECT c.id, c.name, c.country, count(*) AS orders, sum(o.total) AS spent
FROM everyday_shop.customers c JOIN everyday_shop.orders o ON o.customer_id = c.id
WHERE o.status IN ('delivered', 'shipped')
GROUP BY c.id
ORDER BY spent DESC, c.id LIMIT 20;
-- duckdb
SELECT c.id, c.name, c.country, count(*) AS orders, sum(o.total) AS spent
FROM everyday_shop.customers c JOIN everyday_shop.orders o ON o.customer_id = c.id
WHERE o.status IN ('delivered', 'shipped')
GROUP BY c.id, c.name, c.country
ORDER BY spent DESC, c.id LIMIT 20;

-- query: no_second_order
SELECT c.country, count(*) AS once
FROM everyday_shop.customers c
WHERE (SELECT count(*) FROM everyday_shop.orders o WHERE o.customer_id = c.id) = 1
GROUP BY c.country ORDER BY once DESC, c.country;

-- query: never_refunded
SELECT o.channel, count(*), sum(o.total) FROM everyday_shop.orders o
WHERE NOT EXISTS (SELECT FROM everyday_shop.refunds r WHERE r.order_id = o.id) AND o.shipped_at IS NOT NULL
GROUP BY o.channel ORDER BY o.channel;
-- duckdb
SELECT o.channel, count(*), sum(o.total) FROM everyday_shop.orders o
WHERE NOT EXISTS (SELECT 1 FROM everyday_shop.refunds r WHERE r.order_id = o.id) AND o.shipped_at IS NOT NULL
GROUP BY o.channel ORDER BY o.channel;

-- query: refund_reasons
SELECT coalesce(r.reason, '(none)') AS reason, count(*), sum(r.amount), round(100 * sum(r.amount) / sum(o.total), 1) AS percent
FROM everyday_shop.refunds r JOIN everyday_shop.orders o ON o.id = r.order_id
GROUP BY 1 ORDER BY 3 DESC;

-- query: discounts
SELECT discount, count(*), sum(quantity * unit_price) AS gross, sum(quantity * unit_price * coalesce(discount, 0)) AS given
FROM everyday_shop.order_items GROUP BY discount ORDER BY discount NULLS LAST;

-- query: mail_hosts
SELECT split_part(email, '@', 2) AS host, count(*), avg(extract(year FROM birthday)) AS born
FROM everyday_shop.customers GROUP BY 1 ORDER BY 2 DESC, 1;

-- query: year_over_year
WITH months AS (SELECT extract(year FROM ordered_at) AS year, extract(month FROM ordered_at) AS month, sum(total) AS revenue FROM everyday_shop.orders GROUP BY 1, 2)
SELECT a.month, a.revenue AS revenue_2023, b.revenue AS revenue_2024, round((b.revenue - a.revenue) / a.revenue * 100, 1) AS growth
FROM months a JOIN months b USING (month) WHERE a.year = 2023 AND b.year = 2024 ORDER BY a.month;

-- query: above_mean
SELECT count(*), sum(total) FROM everyday_shop.orders WHERE total > (SELECT avg(total) * 3 FROM everyday_shop.orders);

-- query: one_customer
SELECT o.id, o.ordered_at, o.status, o.total, i.line, p.title, i.quantity, i.amount
FROM everyday_shop.orders o JOIN everyday_shop.order_items i ON i.order_id = o.id JOIN everyday_shop.products p ON p.id = i.product_id
WHERE o.customer_id = 77 ORDER BY o.ordered_at DESC, i.line;

-- query: running_revenue, class: window
SELECT day, revenue, sum(revenue) OVER (ORDER BY day) AS so_far, avg(revenue) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week_mean
FROM (SELECT ordered_at::date AS day, sum(total) AS revenue FROM everyday_shop.orders GROUP BY 1) days ORDER BY day;

-- query: best_per_category, class: window
SELECT * FROM (SELECT c.name, p.title, sum(i.amount) AS revenue, rank() OVER (PARTITION BY c.name ORDER BY sum(i.amount) DESC) AS place
    FROM everyday_shop.order_items i JOIN everyday_shop.products p ON p.id = i.product_id JOIN everyday_shop.categories c ON c.id = p.category_id GROUP BY c.name, p.title) ranked
WHERE place <= 3 ORDER BY name, place, title;

-- query: days_between_orders, class: window
SELECT count(*), avg(gap), max(gap) FROM (SELECT extract(epoch FROM ordered_at - lag(ordered_at) OVER (PARTITION BY customer_id ORDER BY ordered_at)) / 86400 AS gap FROM everyday_shop.orders) gaps;

-- query: median_order, class: ordered-set
SELECT channel, percentile_cont(0.5) WITHIN GROUP (ORDER BY total::float8) AS median, percentile_disc(0.9) WITHIN GROUP (ORDER BY total) AS p90 FROM everyday_shop.orders GROUP BY channel ORDER BY channel;
