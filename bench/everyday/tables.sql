-- Three schemas of everyday tables, as people declare them: a shop with plain numeric amounts, events with jsonb, logs with URLs.
-- psql variables: rows (of the largest table of each schema, about), mark (the comment of the last one). The rows are the same each time.
--
-- Skewed as real data are: customers, products, users, pages and hosts by Zipf's law (draw_zipf), times with the rhythm of the day
-- and the week (moment), amounts with the display scale in which they were entered, NULLs where a form leaves a field empty.
SET client_min_messages = warning;
SET TimeZone = 'UTC';
DROP SCHEMA IF EXISTS everyday_shop, everyday_events, everyday_logs CASCADE;
CREATE SCHEMA everyday_shop;
CREATE SCHEMA everyday_events;
CREATE SCHEMA everyday_logs;
SET search_path = everyday_shop;

-- Evenly distributed in [0, 1), the same for the same arguments.
CREATE FUNCTION draw(n bigint, salt int) RETURNS float8 IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
    RETURN (hashint8extended(n, salt) & 9007199254740991) / 9007199254740992.0::float8;
-- 1 to size; k is drawn about 1 / k times as often as 1.
CREATE FUNCTION draw_zipf(n bigint, salt int, size bigint) RETURNS bigint IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
    RETURN floor(exp(draw(n, salt) * ln(size + 1.0::float8)))::bigint;
-- One of the words, the first ones more often.
CREATE FUNCTION draw_word(n bigint, salt int, words text[]) RETURNS text IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
    RETURN words[draw_zipf(n, salt, cardinality(words))];
-- Days since the first Monday of 2023, evenly spread, as a time: more by day than by night, more in the middle of the week.
CREATE FUNCTION moment(days float8) RETURNS timestamp IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
    BEGIN ATOMIC
        SELECT timestamp '2023-01-02' + (floor(w) + (w - floor(w)) + 0.65 * sin(2 * pi() * (w - floor(w))) / (2 * pi())) * interval '1 day'
        FROM (SELECT days + 7 * 0.4 * sin(2 * pi() * (days / 7 - floor(days / 7))) / (2 * pi())) AS week (w);
    END;
-- An amount as people enter it: whole, with one or two digits, sometimes with more.
CREATE FUNCTION amount(n bigint, salt int, x float8) RETURNS numeric IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
    RETURN round(x::numeric, CASE WHEN draw(n, salt) < 0.1 THEN 0 WHEN draw(n, salt) < 0.2 THEN 1 WHEN draw(n, salt) < 0.98 THEN 2 ELSE 3 END);

-- ---- shop ----

CREATE TABLE categories (id int PRIMARY KEY, name text NOT NULL, parent_id int);
INSERT INTO categories
    SELECT i, (ARRAY['Home', 'Garden', 'Toys', 'Books', 'Sports', 'Music', 'Food', 'Tools'])[1 + i % 8] || CASE WHEN i > 8 THEN ' ' || i ELSE '' END,
        CASE WHEN i > 8 THEN 1 + i % 8 END
    FROM generate_series(1, 60) i;

CREATE TABLE products (id int PRIMARY KEY, sku text NOT NULL UNIQUE, title text NOT NULL, category_id int NOT NULL REFERENCES categories, brand text,
    price numeric NOT NULL, cost numeric, weight_kg float8, discontinued_on date);
INSERT INTO products
    SELECT i, 'SKU-' || lpad(i::text, 6, '0'), initcap(draw_word(i, 1, ARRAY['small', 'large', 'red', 'blue', 'folding', 'wooden', 'electric'])) || ' ' ||
            draw_word(i, 2, ARRAY['lamp', 'chair', 'ball', 'guide', 'drill', 'kettle', 'speaker', 'shelf', 'puzzle']) || ' ' || i,
        draw_zipf(i, 3, 60), CASE WHEN draw(i, 4) < 0.9 THEN 'Brand ' || draw_zipf(i, 5, 200) END,
        amount(i, 6, 1 + exp(draw(i, 7) * 6.5)), CASE WHEN draw(i, 8) < 0.85 THEN amount(i, 9, 0.5 + 0.6 * exp(draw(i, 7) * 6.5)) END,
        CASE WHEN draw(i, 10) < 0.8 THEN exp(draw(i, 11) * 4) / 10 END, CASE WHEN draw(i, 12) < 0.1 THEN date '2023-06-01' + (draw(i, 13) * 600)::int END
    FROM generate_series(1, greatest(:rows / 100, 100)) i;

CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, email text NOT NULL, country text NOT NULL, city text, segment text, birthday date,
    created_at timestamp NOT NULL, newsletter boolean, credit numeric);
INSERT INTO customers
    SELECT i, draw_word(i, 20, ARRAY['Anna', 'Ben', 'Clara', 'David', 'Eva', 'Felix', 'Greta', 'Hugo']) || ' ' || initcap(substr(md5(i::text), 1, 6)),
        lower(substr(md5(i::text), 1, 10)) || '@' || draw_word(i, 21, ARRAY['mail.example', 'post.example', 'web.example', 'firm.example']),
        draw_word(i, 22, ARRAY['DE', 'FR', 'US', 'GB', 'NL', 'IT', 'ES', 'PL', 'SE', 'AT', 'CH', 'JP']),
        CASE WHEN draw(i, 23) < 0.85 THEN 'City ' || draw_zipf(i, 24, 800) END, CASE WHEN draw(i, 25) < 0.7 THEN draw_word(i, 26, ARRAY['private', 'business', 'reseller']) END,
        CASE WHEN draw(i, 27) < 0.6 THEN date '1945-01-01' + (draw(i, 28) * 22000)::int END, moment(draw(i, 29) * 700), CASE WHEN draw(i, 30) < 0.9 THEN draw(i, 31) < 0.4 END,
        CASE WHEN draw(i, 32) < 0.2 THEN amount(i, 33, draw(i, 34) * 500) END
    FROM generate_series(1, greatest(:rows / 20, 100)) i;

-- Orders in the order of time; their lines beside them.
CREATE TABLE order_items (order_id bigint NOT NULL, line int NOT NULL, product_id int NOT NULL, quantity int NOT NULL, unit_price numeric NOT NULL, discount numeric,
    amount numeric NOT NULL);
INSERT INTO order_items
    SELECT o, l, p.id, q, p.price, d, q * p.price * (1 - coalesce(d, 0))
    FROM (SELECT o, l, draw_zipf(o * 8 + l, 40, (SELECT count(*) FROM products)) AS product_id, draw_zipf(o * 8 + l, 41, 9) AS q,
            CASE WHEN draw(o * 8 + l, 42) < 0.15 THEN (ARRAY[0.05, 0.1, 0.15, 0.2, 0.5])[draw_zipf(o * 8 + l, 43, 5)] END AS d
        FROM generate_series(1, greatest(:rows / 2, 100)) o, generate_series(1, 1 + floor(power(draw(o, 44), 2) * 6)::int) l) drawn
    JOIN products p ON p.id = drawn.product_id
    ORDER BY o, l;

CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int NOT NULL, ordered_at timestamp NOT NULL, shipped_at timestamp, status text NOT NULL, channel text NOT NULL,
    coupon text, shipping numeric NOT NULL, total numeric NOT NULL, note text);
INSERT INTO orders
    SELECT o, draw_zipf(o, 50, (SELECT count(*) FROM customers)), t, CASE WHEN draw(o, 51) < 0.93 THEN t + (0.2 + power(draw(o, 52), 3) * 12) * interval '1 day' END,
        CASE WHEN draw(o, 51) < 0.93 THEN draw_word(o, 53, ARRAY['delivered', 'shipped', 'returned', 'lost']) WHEN draw(o, 51) < 0.98 THEN 'cancelled' ELSE 'open' END,
        draw_word(o, 54, ARRAY['web', 'app', 'phone', 'shop', 'partner']), CASE WHEN draw(o, 55) < 0.08 THEN upper(substr(md5(draw_zipf(o, 56, 300)::text), 1, 8)) END,
        CASE WHEN sum >= 50 THEN 0 ELSE 4.9 END, sum + CASE WHEN sum >= 50 THEN 0 ELSE 4.9 END,
        CASE WHEN draw(o, 57) < 0.04 THEN draw_word(o, 58, ARRAY['please ring', 'leave at the door', 'gift', 'call before']) || ' ' || substr(md5(o::text), 1, 6) END
    FROM (SELECT order_id AS o, sum(amount) AS sum, moment((order_id + draw(order_id, 59)) * 728 / greatest(:rows / 2, 100)) AS t FROM order_items GROUP BY order_id) x
    ORDER BY o;

CREATE TABLE refunds (id bigint PRIMARY KEY, order_id bigint NOT NULL, refunded_at timestamp NOT NULL, amount numeric NOT NULL, reason text);
INSERT INTO refunds
    SELECT id, id, shipped_at + draw(id, 61) * interval '30 days', CASE WHEN draw(id, 62) < 0.6 THEN total ELSE amount(id, 63, draw(id, 64) * total::float8) END,
        CASE WHEN draw(id, 65) < 0.7 THEN draw_word(id, 66, ARRAY['too small', 'broken', 'late', 'wrong item', 'changed mind']) END
    FROM orders WHERE shipped_at IS NOT NULL AND draw(id, 60) < 0.06;

CREATE INDEX ON order_items (order_id);
CREATE INDEX ON order_items (product_id);
CREATE INDEX ON orders (customer_id);
CREATE INDEX ON orders (ordered_at);
CREATE INDEX ON refunds (order_id);

-- ---- events ----

SET search_path = everyday_events, everyday_shop;

CREATE TABLE users (id bigint PRIMARY KEY, plan text NOT NULL, country text, signed_up_at timestamptz NOT NULL, traits jsonb);
INSERT INTO users
    SELECT i, draw_word(i, 70, ARRAY['free', 'basic', 'pro', 'enterprise']), CASE WHEN draw(i, 71) < 0.95 THEN draw_word(i, 72, ARRAY['US', 'DE', 'IN', 'BR', 'GB', 'FR', 'JP']) END,
        moment(draw(i, 73) * 180)::timestamptz,
        CASE WHEN draw(i, 74) < 0.9 THEN jsonb_build_object('role', draw_word(i, 75, ARRAY['developer', 'manager', 'analyst', 'student']), 'seats', draw_zipf(i, 76, 500),
            'company', jsonb_build_object('size', draw_word(i, 77, ARRAY['1-10', '11-50', '51-200', '201-1000', '1000+']), 'industry', draw_word(i, 78, ARRAY['software', 'retail', 'health', 'media']))) END
    FROM generate_series(1, greatest(:rows / 25, 100)) i;

CREATE TABLE events (id bigint PRIMARY KEY, happened_at timestamptz NOT NULL, user_id bigint, session_id uuid NOT NULL, kind text NOT NULL, props jsonb NOT NULL);
INSERT INTO events
    SELECT i, moment((i + draw(i, 80)) * 182 / :rows)::timestamptz, CASE WHEN draw(i, 81) < 0.92 THEN draw_zipf(i, 82, (SELECT count(*) FROM users)) END,
        md5((i / 12)::text || 's')::uuid, kind,
        jsonb_build_object('device', jsonb_build_object('os', draw_word(i / 12, 83, ARRAY['windows', 'android', 'ios', 'macos', 'linux']), 'mobile', draw_zipf(i / 12, 83, 5) IN (2, 3),
            'browser', draw_word(i / 12, 84, ARRAY['chrome', 'safari', 'firefox', 'edge']))) ||
        CASE kind
            WHEN 'page_view' THEN jsonb_build_object('page', jsonb_build_object('path', '/p/' || draw_zipf(i, 85, 5000)), 'load_ms', floor(exp(4 + draw(i, 86) * 4)),
                'referrer', CASE WHEN draw(i, 87) < 0.4 THEN draw_word(i, 88, ARRAY['search', 'mail', 'social', 'ads']) END)
            WHEN 'click' THEN jsonb_build_object('target', draw_word(i, 89, ARRAY['buy', 'menu', 'share', 'help', 'close']), 'x', (draw(i, 90) * 1920)::int, 'y', (draw(i, 91) * 1080)::int)
            WHEN 'search' THEN jsonb_build_object('query', draw_word(i, 92, ARRAY['lamp', 'red chair', 'drill', 'gift', 'speaker']) || ' ' || draw_zipf(i, 93, 400), 'hits', draw_zipf(i, 94, 1000) - 1)
            WHEN 'purchase' THEN jsonb_build_object('cart', jsonb_build_object('total', amount(i, 95, exp(1 + draw(i, 96) * 5)), 'items', draw_zipf(i, 97, 12), 'currency', draw_word(i, 98, ARRAY['EUR', 'USD', 'GBP'])),
                'tags', to_jsonb((ARRAY['first', 'gift', 'express', 'sale'])[1:draw_zipf(i, 99, 4)]))
            ELSE jsonb_build_object('code', (ARRAY[404, 500, 503, 403])[draw_zipf(i, 100, 4)], 'message', 'failed at step ' || draw_zipf(i, 101, 3000))
        END
    FROM (SELECT i, CASE WHEN d < 0.6 THEN 'page_view' WHEN d < 0.8 THEN 'click' WHEN d < 0.9 THEN 'search' WHEN d < 0.95 THEN 'purchase' ELSE 'error' END AS kind
        FROM (SELECT i, draw(i, 79) AS d FROM generate_series(1::bigint, :rows) i) y) x;
CREATE INDEX ON events (happened_at);
CREATE INDEX ON events (user_id);

-- ---- logs ----

SET search_path = everyday_logs, everyday_shop;

CREATE TABLE hosts (name text PRIMARY KEY, region text NOT NULL, role text NOT NULL, cores int NOT NULL);
INSERT INTO hosts SELECT 'web-' || lpad(i::text, 2, '0'), draw_word(i, 110, ARRAY['eu-west', 'us-east', 'ap-south']), draw_word(i, 111, ARRAY['frontend', 'api', 'batch']), 2 * (draw(i, 112) * 4 + 1)::int
    FROM generate_series(1, 40) i;

-- Most URLs occur once, because of their session; a hundred pages get most requests.
CREATE TABLE requests (logged_at timestamptz NOT NULL, host text NOT NULL, method text NOT NULL, url text NOT NULL, status smallint NOT NULL, bytes bigint, duration_ms float8 NOT NULL,
    ip inet NOT NULL, agent text, referrer text, user_id int);
INSERT INTO requests
    SELECT moment((i + draw(i, 120)) * 28 / :rows)::timestamptz, 'web-' || lpad(draw_zipf(i, 121, 40)::text, 2, '0'), draw_word(i, 122, ARRAY['GET', 'POST', 'PUT', 'DELETE']),
        'https://www.shop.example/' || draw_word(i, 123, ARRAY['product', 'category', 'search', 'cart', 'api/v1/items', 'api/v2/orders', 'static']) || '/' || draw_zipf(i, 124, 20000) ||
            CASE WHEN draw(i, 125) < 0.7 THEN '?sid=' || substr(md5(i::text), 1, 12) || CASE WHEN draw(i, 126) < 0.3 THEN '&utm_source=' || draw_word(i, 127, ARRAY['search', 'mail', 'social', 'partner']) ELSE '' END ELSE '' END,
        (ARRAY[200, 304, 404, 301, 500, 403, 502])[draw_zipf(i, 128, 7)], CASE WHEN draw(i, 129) < 0.9 THEN floor(exp(4 + draw(i, 130) * 9)) END, exp(draw(i, 131) * 7 + draw(i, 132) * 2),
        ('10.' || draw_zipf(i, 133, 250) || '.' || (draw(i, 134) * 255)::int || '.' || (draw(i, 135) * 255)::int)::inet,
        CASE WHEN draw(i, 136) < 0.97 THEN 'Mozilla/5.0 (' || draw_word(i, 137, ARRAY['Windows NT 10.0', 'Linux; Android 14', 'iPhone; CPU iPhone OS 17', 'Macintosh', 'compatible; Bot/2.1']) || ') Version/' || draw_zipf(i, 138, 120) END,
        CASE WHEN draw(i, 139) < 0.5 THEN 'https://' || draw_word(i, 140, ARRAY['www.search.example', 'news.example', 'social.example', 'blog.example']) || '/' || draw_zipf(i, 141, 3000) END,
        CASE WHEN draw(i, 142) < 0.35 THEN draw_zipf(i, 143, 50000) END
    FROM generate_series(1::bigint, :rows) i;
CREATE INDEX ON requests (logged_at);

-- One value per host, name and interval, as a monitoring agent sends them.
CREATE TABLE metrics (time timestamptz NOT NULL, host text NOT NULL, name text NOT NULL, value float8);
INSERT INTO metrics
    SELECT timestamptz '2023-01-02' + s * interval '28 days' / steps, h.name, m.name,
        CASE WHEN draw(n, 150) < 0.99 THEN CASE m.name WHEN 'cpu' THEN 20 + 60 * draw(n, 151) * (1 - cos(2 * pi() * s * 28 / steps)) / 2 WHEN 'memory' THEN 40 + 30 * draw(n, 152) ELSE exp(draw(n, 153) * 10) END END
    FROM (SELECT greatest(:rows / 2 / 120, 10) AS steps) z, LATERAL generate_series(0, steps - 1) s, hosts h, unnest(ARRAY['cpu', 'memory', 'network']) WITH ORDINALITY AS m (name, k),
        LATERAL (SELECT (s * 40 + right(h.name, 2)::int) * 3 + m.k AS n) k;
CREATE INDEX ON metrics (time);

VACUUM (ANALYZE) everyday_shop.categories, everyday_shop.products, everyday_shop.customers, everyday_shop.orders, everyday_shop.order_items, everyday_shop.refunds,
    everyday_events.users, everyday_events.events, everyday_logs.hosts, everyday_logs.requests, everyday_logs.metrics;
COMMENT ON TABLE everyday_logs.requests IS :'mark';
