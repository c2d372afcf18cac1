-- A bike sharing company's tables, as people declare them: numeric without a scale, timestamptz, an enum, NULLs, texts that repeat and
-- texts that do not, jsonb, skew (few riders ride much), and columns that depend on each other (weather and season, fare and time).
-- psql variables: schema, trips (a number), mark (the comment of the largest table). The rows are the same each time.
SET client_min_messages = warning;
CREATE SCHEMA IF NOT EXISTS :"schema";
SET search_path = :"schema";
DROP TABLE IF EXISTS trips, riders, stations, bikes, weather, repairs, districts;
DROP TYPE IF EXISTS plan_kind;
DROP FUNCTION IF EXISTS draw(bigint, int);

-- Evenly distributed in [0, 1), the same for the same arguments.
CREATE FUNCTION draw(n bigint, salt int) RETURNS float8 IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql
    RETURN (hashint8extended(n, salt) & 9007199254740991) / 9007199254740992.0::float8;
CREATE TYPE plan_kind AS ENUM ('casual', 'student', 'monthly', 'yearly');

CREATE TABLE districts (id int PRIMARY KEY, name text NOT NULL UNIQUE, hilly boolean NOT NULL, zone char(1) NOT NULL);
INSERT INTO districts SELECT i, 'District ' || chr(64 + i / 5 + 1) || i, draw(i, 1) < 0.3, substr('ABC', 1 + (draw(i, 2) * 3)::int % 3, 1) FROM generate_series(1, 40) i;

CREATE TABLE stations (id int PRIMARY KEY, name text NOT NULL, district_id int NOT NULL REFERENCES districts, docks smallint NOT NULL,
    opened date NOT NULL, lon float8 NOT NULL, lat float8 NOT NULL, tags text[]);
INSERT INTO stations SELECT i, 'Station ' || i || ' ' || (ARRAY['North', 'South', 'Market', 'Park', 'Bridge', 'School'])[1 + (draw(i, 3) * 6)::int % 6], 1 + (power(draw(i, 4), 1.5) * 40)::int % 40,
        (10 + draw(i, 5) * 40)::int, date '2019-03-01' + (draw(i, 6) * 1500)::int, 13.2 + draw(i, 7) * 0.4, 52.4 + draw(i, 8) * 0.2,
        CASE WHEN draw(i, 9) < 0.6 THEN ARRAY[(ARRAY['metro', 'bus', 'tram'])[1 + (draw(i, 10) * 3)::int % 3]] END
    FROM generate_series(1, 600) i;

CREATE TABLE riders (id bigint PRIMARY KEY, email text NOT NULL, plan plan_kind NOT NULL, joined timestamptz NOT NULL, born date, country char(2) NOT NULL, referrer bigint);
INSERT INTO riders SELECT i, md5(i::text) || '@' || (ARRAY['mail', 'post', 'inbox'])[1 + (draw(i, 11) * 3)::int % 3] || '.example',
        (enum_range(NULL::plan_kind))[1 + (power(draw(i, 12), 2) * 4)::int % 4], timestamptz '2019-03-01 00:00+00' + draw(i, 13) * interval '2100 days',
        CASE WHEN draw(i, 14) < 0.8 THEN date '1950-01-01' + (draw(i, 15) * 20000)::int END,
        CASE WHEN draw(i, 16) < 0.7 THEN 'DE' ELSE (ARRAY['PL', 'FR', 'NL', 'DK', 'US', 'GB'])[1 + (draw(i, 17) * 6)::int % 6] END,
        CASE WHEN draw(i, 18) < 0.1 THEN 1 + (draw(i, 19) * i)::bigint END
    FROM generate_series(1, greatest(:trips / 25, 100)) i;

CREATE TABLE bikes (id int PRIMARY KEY, model varchar(20) NOT NULL, bought date NOT NULL, price numeric NOT NULL, electric boolean NOT NULL, retired date);
INSERT INTO bikes SELECT i, CASE WHEN draw(i, 20) < 0.25 THEN 'Volt ' || 1 + i % 3 ELSE 'Roadster ' || 1 + i % 9 END, date '2019-01-01' + (draw(i, 21) * 1800)::int,
        round((300 + draw(i, 22) * 1700)::numeric, 2), draw(i, 20) < 0.25, CASE WHEN draw(i, 23) < 0.2 THEN date '2023-01-01' + (draw(i, 24) * 700)::int END
    FROM generate_series(1, greatest(:trips / 600, 50)) i;

-- In the order of time, as they came. A trip that never ended has no end; who rides, where and when is uneven.
CREATE TABLE trips (id bigint PRIMARY KEY, rider_id bigint NOT NULL, bike_id int NOT NULL, from_station int NOT NULL, to_station int, started timestamptz NOT NULL,
    seconds int, metres real, fare numeric NOT NULL, paid numeric(8,2), rating smallint, promo text);
INSERT INTO trips
    SELECT i, 1 + floor(power(draw(i, 30), 3) * (SELECT count(*) FROM riders))::bigint, 1 + floor(draw(i, 31) * (SELECT count(*) FROM bikes))::int,
        1 + floor(power(draw(i, 32), 2) * 600)::int, CASE WHEN draw(i, 33) < 0.97 THEN 1 + floor(power(draw(i, 34), 2) * 600)::int END,
        timestamptz '2021-01-01 00:00+00' + i * (interval '1400 days' / :trips) + draw(i, 35) * interval '3 hours',
        s, CASE WHEN s IS NOT NULL THEN (s * (2 + draw(i, 36) * 4))::real END, round((1 + coalesce(s, 7200) / 60 * 0.19)::numeric, 2),
        CASE WHEN draw(i, 37) < 0.9 THEN round((coalesce(s, 7200) / 60 * 0.19)::numeric, 2) END,
        CASE WHEN draw(i, 38) < 0.3 THEN 1 + (sqrt(draw(i, 39)) * 5)::int % 5 END, CASE WHEN draw(i, 40) < 0.05 THEN 'PROMO' || (draw(i, 41) * 30)::int END
    FROM (SELECT i, CASE WHEN draw(i, 33) < 0.97 THEN (60 + power(draw(i, 42), 3) * 7000)::int END AS s FROM generate_series(1, :trips) i) x;
CREATE INDEX ON trips (rider_id);
CREATE INDEX ON trips (started);
CREATE INDEX ON trips (bike_id);
CREATE INDEX ON trips (from_station);

CREATE TABLE weather (day date, district_id int, temperature real NOT NULL, rain_mm numeric(5,1) NOT NULL, wind real, sky text NOT NULL, PRIMARY KEY (day, district_id));
INSERT INTO weather SELECT d, k, (10 - 12 * cos(2 * pi() * extract(doy FROM d)::int / 365) + draw(n, 50) * 6)::real, CASE WHEN draw(n, 51) < 0.3 THEN round((draw(n, 52) * 20)::numeric, 1) ELSE 0 END,
        CASE WHEN draw(n, 53) < 0.95 THEN (draw(n, 54) * 15)::real END, CASE WHEN draw(n, 51) < 0.3 THEN 'rain' WHEN draw(n, 55) < 0.5 THEN 'clouds' ELSE 'clear' END
    FROM (SELECT date '2021-01-01' + i AS d, k, i * 40 + k AS n FROM generate_series(0, 1400) i, generate_series(1, 40) k) x;

CREATE TABLE repairs (id bigint PRIMARY KEY, bike_id int NOT NULL, reported timestamptz NOT NULL, fixed timestamptz, cost numeric, details jsonb NOT NULL);
INSERT INTO repairs SELECT i, 1 + floor(draw(i, 60) * (SELECT count(*) FROM bikes))::int, r, CASE WHEN draw(i, 61) < 0.95 THEN r + power(draw(i, 62), 2) * interval '40 days' END,
        CASE WHEN draw(i, 61) < 0.95 THEN round((5 + power(draw(i, 63), 3) * 300)::numeric, 2) END,
        jsonb_build_object('part', (ARRAY['brake', 'chain', 'tyre', 'light', 'battery', 'lock'])[1 + (draw(i, 64) * 6)::int % 6], 'by', 'mechanic ' || (draw(i, 65) * 25)::int, 'minutes', (5 + draw(i, 66) * 200)::int)
    FROM (SELECT i, timestamptz '2021-01-01 00:00+00' + draw(i, 67) * interval '1400 days' AS r FROM generate_series(1, greatest(:trips / 20, 100)) i) x;

VACUUM (ANALYZE) districts, stations, riders, bikes, trips, weather, repairs;
COMMENT ON TABLE trips IS :'mark';
