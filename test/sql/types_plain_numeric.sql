-- numeric without precision and scale, or with more digits than 128 bits hold: the form comes from statistics, each value is checked.
CREATE SCHEMA types_plain_numeric;
SET search_path = types_plain_numeric, public;
CREATE TABLE t (id int, g int, a numeric, b numeric, w numeric, m numeric, d numeric(38,10), h numeric(5,-2));
INSERT INTO t
    SELECT i, i % 6, round(nullif(i * 7 % 1999 - 1000, 66) / 10.0, 2), i % 17, round((i - 700) * 1234567890123456.75, 2),
           trim_scale(round(i % 40 / 8.0, 3)), i / 7.0, i * 100
    FROM generate_series(1, 1300) i;
UPDATE t SET a = NULL, m = 1.50 WHERE id % 9 = 0;
VACUUM (FREEZE, ANALYZE) t;

-- one display scale, and several
SELECT check_matrix('SELECT count(%1$s), sum(%1$s), avg(%1$s), min(%1$s), max(%1$s) FROM t %2$s', '{a,b,w,d,h}', '{"","WHERE a > 3","WHERE false","WHERE a IS NULL"}');
SELECT check_matrix('SELECT count(m), sum(m), avg(m) FROM t %s', '{"","WHERE m > 3","WHERE false","WHERE m < 0.5"}');
SELECT check_matrix('SELECT g, count(%1$s), sum(%1$s), avg(%1$s), min(%1$s), max(%1$s) FROM t GROUP BY g', '{a,b,w,d,h}');
SELECT check_matrix('SELECT g, min(m), max(m), sum(m) FROM t WHERE %s GROUP BY g', '{"id > 0","m <> 1.5","m = 1.5"}', expect => 'forced');
SELECT check_matrix('SELECT %1$s, count(*), sum(a) FROM t GROUP BY %1$s', '{a,b,w,h}');
SELECT check_query('SELECT d, count(*), sum(a) FROM t GROUP BY d');
SELECT check_matrix('SELECT m, count(*), sum(a) FROM t WHERE m <> 1.5 GROUP BY %s', '{m}', expect => 'forced');
-- (Which of 1.5 and 1.50 is shown depends on PostgreSQL's plan: the device leaves it to that, and is not asked again.)
SELECT check_matrix('SELECT trim_scale(m), count(*), sum(a) FROM t WHERE %s GROUP BY m', '{"id > 0","m = 1.5"}', expect => 'any');
SELECT check_matrix('SELECT trim_scale(min(m)), max(trim_scale(m)) FROM t WHERE %s', '{"m = 1.5"}', expect => 'any');
SELECT check_matrix('SELECT count(DISTINCT %1$s), sum(DISTINCT a) FROM t', '{a,b,w,m,d,h}');
SELECT check_matrix('SELECT %s FROM t ORDER BY 1, id LIMIT 20', '{"a, id","b, id","w, id","m, id","d, id"}', expect => 'any');
SELECT check_matrix('SELECT DISTINCT %s FROM t', '{a,b,h}');
SELECT check_matrix('SELECT DISTINCT %s FROM t WHERE m <> 1.5', '{m}', expect => 'any');

-- comparisons with constants that the scale cannot hold, lists, parameters
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY(
    SELECT format('%s %s %s', x, op, y) FROM unnest('{a,b,m,d,h}'::text[]) x, unnest('{=,<>,<,<=,>,>=}'::text[]) op,
           unnest('{a,b,m,1.5,1.50,1.23456,-0.00,1e-20,-3,1e15}'::text[]) y), expect => 'any');
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['a > 1.23456', 'a IN (1.1, 2.2, 3.30, 4.444)', 'm IN (0.125, 1.5, 2)', 'b BETWEEN 2.5 AND 7.25',
    'a = ANY (ARRAY[1.10, 1.123456])', 'coalesce(a, 0) = 0', 'a * b > 12.5', 'a + m > 5', 'CASE WHEN a > 0 THEN m > 1 ELSE m < 1 END', 'a::int = 4', 'round(m, 1) = 1.5', 'trunc(m) = 3', 'abs(a) > 3']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['a = ''NaN''', 'a < ''Infinity''', 'm > ''-Infinity''', 'a < 1e30', 'm <> 1e-30', 'a::float8 > 1.5', 'a::text = ''1.10'''], expect => 'any');
PREPARE beyond(numeric) AS SELECT count(*), sum(id) FROM t WHERE a > $1 AND m <= $1;
SET plan_cache_mode = force_generic_plan;
SET gpuscan.offload = force;
SELECT p, (SELECT (count(*), sum(id))::text FROM t WHERE a > p AND m <= p) FROM unnest('{1.23456,1.2,NaN,Infinity,-1e40}'::numeric[]) p;
EXECUTE beyond(1.23456);
EXECUTE beyond('NaN');
EXECUTE beyond(-1e40);
RESET plan_cache_mode;

-- the scales that PostgreSQL shows
SELECT check_matrix('SELECT sum(%1$s), avg(%1$s) FROM t', ARRAY['a * b', 'a + m', 'm * m', 'a - m', '-m', 'm * 0.250', 'm + 1.000', 'a * (1 - m)', 'coalesce(m, 0.0000)', 'CASE WHEN g = 1 THEN m ELSE a END', 'nullif(m, 1.5)', 'greatest(m, a)', 'abs(m)']);
SELECT check_matrix('SELECT g, sum(%1$s), avg(%1$s) FROM t WHERE b > 0 GROUP BY g', ARRAY['m / b', 'a / 7', 'w * w', 'm / 3.00', 'd * m'], expect => 'any');
SELECT check_matrix('SELECT g, sum(%1$s) FROM t GROUP BY g HAVING sum(%1$s) > 10.005', '{a,b,m,w}');
SELECT check_matrix('SELECT g, avg(%1$s) FROM t GROUP BY g HAVING avg(%1$s) > 0.3', '{a,b,m,w}');
SELECT check_matrix('SELECT var_pop(%1$s), var_samp(%1$s), stddev_pop(%1$s), stddev(%1$s) FROM t %2$s', '{a,b,m,d,a * b,m + 1.000}', '{"","WHERE m > 4","WHERE m = 1.5","WHERE false"}');
SELECT check_matrix('SELECT g, variance(%1$s) FROM t GROUP BY g', '{a,b,m,w}', expect => 'any');

-- rows show each value with its own scale, and so what is computed of it
SELECT check_matrix('SELECT id, %s FROM t WHERE id > 3', ARRAY['m', 'm, a, m', 'w, m, d, h', 'm * 2', 'a + m', 'm - 1.50', '-m', 'abs(m)', 'coalesce(m, 0.0000)', 'CASE WHEN g = 1 THEN m ELSE a END', 'greatest(m, a)', 'round(m, 1)', 'trunc(m)', 'm / 3', 'm * m * w']);
SELECT check_matrix('SELECT x.id, x.m, y.m FROM t x %s JOIN t y ON x.id = y.id + 1 AND y.g = 2 WHERE x.id < 900', '{"",LEFT,FULL}', expect => 'any');
SELECT check_matrix('SELECT id, m, %s, a FROM t', ARRAY['lag(m) OVER (PARTITION BY g ORDER BY id)', 'sum(m) OVER (PARTITION BY g ORDER BY id)', 'avg(m) OVER (ORDER BY id ROWS 3 PRECEDING), row_number() OVER (ORDER BY id)', 'first_value(m) OVER (PARTITION BY g ORDER BY id), max(a) OVER (PARTITION BY g)']);
SELECT check_matrix('SELECT * FROM (SELECT id, m, g, row_number() OVER (PARTITION BY g ORDER BY %s) AS r, a FROM t) q WHERE r <= 3', '{id,"m, id"}');
SELECT check_matrix('SELECT m, id FROM t ORDER BY %s LIMIT 30', '{"m, id","m DESC NULLS LAST, id","id DESC"}', expect => 'any');

-- numerics that expressions make
CREATE TABLE docs (id int, j jsonb, c text, f float8);
INSERT INTO docs SELECT i, jsonb_build_object('n', round(i / 7.0, i % 4), 'm', CASE i % 3 WHEN 0 THEN i END, 'bad', CASE i WHEN 777 THEN 'x' ELSE '1' END),
    (i / 8.0)::numeric(10,2)::text, i / 7.0 FROM generate_series(1, 1500) i;
VACUUM (FREEZE, ANALYZE) docs;
SELECT check_matrix('SELECT count(%1$s), sum(%1$s), avg(%1$s), stddev(%1$s) FROM docs %2$s', ARRAY['(j ->> ''n'')::numeric', '(j ->> ''m'')::numeric', 'c::numeric', 'round(f::numeric, 2)', '(j ->> ''n'')::numeric * c::numeric', '-(j ->> ''n'')::numeric'],
    '{"","WHERE id > 700","WHERE (j ->> ''n'')::numeric > 12.5"}');
SELECT check_matrix('SELECT %s, count(*) FROM docs WHERE id <= 40 GROUP BY 1', ARRAY['trunc((j ->> ''n'')::numeric, 1)', 'round(f::numeric, 1)', 'c::numeric / 3'], expect => 'any');
SELECT check_matrix('SELECT id FROM docs WHERE %s', ARRAY['(j ->> ''n'')::numeric BETWEEN 3.5 AND 4.25', '(j ->> ''n'')::numeric = 5', 'sqrt(c::numeric) < 2', '(j ->> ''bad'')::numeric = 2'], expect => 'any');
SELECT check_query('SELECT sum(m) FROM (SELECT m FROM t WHERE id <= 30 UNION ALL SELECT a FROM t WHERE id > 1200) x', 'any');
SELECT check_matrix('SELECT g, b, sum(m) FROM t GROUP BY %s', '{"ROLLUP (g, b)","GROUPING SETS ((g), (b), ())"}');
SELECT check_matrix('SELECT g, m, sum(a) FROM t WHERE m <> 1.5 GROUP BY %s', '{"ROLLUP (g, m)","GROUPING SETS ((g), (m), ())"}', expect => 'forced');

-- joins between scales
CREATE TABLE dim (k numeric, k2 numeric(10,3), name text);
INSERT INTO dim SELECT i / 8.0, i / 8.0, 'n' || i FROM generate_series(0, 60) i;
UPDATE dim SET k = round(k, 3);
VACUUM (FREEZE, ANALYZE) dim;
SELECT check_matrix('SELECT count(*), sum(id), sum(k) FROM t JOIN dim ON %s', '{"m = k","m = k2","a = k","b = k2","m * 2 = k"}');
SELECT check_matrix('SELECT count(*), sum(id), count(k) FROM t LEFT JOIN dim ON %s', '{"m = k","a = k2"}');
SELECT check_query('SELECT count(*) FROM t WHERE EXISTS (SELECT FROM dim WHERE k = m)');

-- of rows without a partner, whose columns are all NULL
SELECT check_matrix('SELECT count(*), sum(%s) FROM t LEFT JOIN dim ON id = k2 * 8 WHERE k2 IS NULL', '{k,"coalesce(k, m)","greatest(k, m)","m + k","round(k, 1)"}', expect => 'any');
SELECT check_query('SELECT count(*), sum(m + k), avg(k), variance(k) FROM t LEFT JOIN dim ON id = k2 * 8 WHERE k2 IS NULL');

-- values that the statistics have not shown: a fallback, then another form, at last none
CREATE TABLE grows (id int, v numeric, x numeric);
INSERT INTO grows SELECT i, i / 4.00, 1.0 FROM generate_series(1, 500) i;
UPDATE grows SET v = round(v, 2);
VACUUM (FREEZE, ANALYZE) grows;
ALTER TABLE grows SET (autovacuum_enabled = off);
PREPARE total AS SELECT sum(v), count(*) FROM grows WHERE v > 1.5;
SET plan_cache_mode = force_generic_plan;
EXECUTE total;
SELECT check_query('SELECT sum(v), count(*) FROM grows');
INSERT INTO grows VALUES (501, 0.125, 1);
EXECUTE total;
EXECUTE total;
SELECT check_matrix('SELECT %s FROM grows', '{"sum(v)","count(v)","sum(v), count(*)","sum(x)"}', expect => 'any');
INSERT INTO grows VALUES (502, 1e-20, 2), (503, 1e30, 3), (504, '-0.00', 4);
EXECUTE total;
SELECT check_matrix('SELECT %s FROM grows', '{"sum(v)","count(v)","sum(v), count(*)","sum(x)","min(v), max(v)"}', expect => 'any');
INSERT INTO grows VALUES (505, 'NaN', 5), (506, 'Infinity', 6), (507, '-Infinity', 7), (508, NULL, NULL), (509, (repeat('123456789', 400) || '.5')::numeric, 8);
EXECUTE total;
RESET plan_cache_mode;
SELECT check_matrix('SELECT %s', ARRAY['sum(v) FROM grows', 'count(v) FROM grows', 'min(v), max(v) FROM grows', 'x, count(*) FROM grows GROUP BY x', 'v, count(*) FROM grows GROUP BY v',
    'count(*) FROM grows WHERE v > 2', 'id, v FROM grows WHERE id > 480', 'sum(v) FROM grows WHERE id < 500', 'count(*) FROM grows a JOIN grows b ON a.v = b.v'], expect => 'any');
VACUUM (FREEZE, ANALYZE) grows;
SELECT check_matrix('SELECT %s', ARRAY['sum(v) FROM grows', 'count(v) FROM grows', 'min(v), max(v) FROM grows', 'x, count(*) FROM grows GROUP BY x', 'v, count(*) FROM grows GROUP BY v',
    'count(*) FROM grows WHERE v > 2', 'id, v FROM grows WHERE id > 480', 'sum(v) FROM grows WHERE id < 500', 'count(*) FROM grows a JOIN grows b ON a.v = b.v'], expect => 'any');
-- without a value that no form holds, ANALYZE begins anew
DELETE FROM grows WHERE id > 500;
VACUUM (FREEZE, ANALYZE) grows;
SELECT check_query('SELECT sum(v), count(*) FROM grows');

-- NaN in a declared numeric: the first query meets it, the next ones leave the column to PostgreSQL
CREATE TABLE declared AS SELECT i AS id, (i / 4.0)::numeric(12,2) AS v, i::numeric(8,1) AS w FROM generate_series(1, 500) i;
INSERT INTO declared VALUES (501, 'NaN', 1);
ALTER TABLE declared SET (autovacuum_enabled = off);
VACUUM (FREEZE) declared;
SELECT check_query('SELECT sum(v), count(*) FROM declared', 'any');
SELECT fallbacks AS before FROM gpuscan.stat \gset
SELECT check_matrix('SELECT %s FROM declared', '{"sum(v)","max(v), count(*)","v, w"}', expect => 'any');
SELECT fallbacks - :before AS more FROM gpuscan.stat;
SELECT check_matrix('SELECT %s FROM declared', '{"sum(w)","w, id"}', expect => 'any');

SELECT gpuscan.evict('declared') >= 0 AS evicted;
CREATE TABLE unwarmed AS SELECT id, v, w, v::numeric AS p FROM declared;
VACUUM (FREEZE) unwarmed;
SELECT gpuscan.prewarm('unwarmed') > 0 AS warmed;
SELECT check_matrix('SELECT %s FROM unwarmed', '{"sum(v)","sum(w)","sum(p)","v, w, p"}', expect => 'any');

-- what is made of a numeric without a form is not guessed, however deep
CREATE TABLE formless AS SELECT i AS id, (i / 4.00)::numeric AS v, (i / 8.000)::numeric AS w FROM generate_series(1, 600) i;
ALTER TABLE formless SET (autovacuum_enabled = off);
VACUUM (FREEZE, ANALYZE) formless;
INSERT INTO formless VALUES (0, 'NaN', 'NaN');
SET gpuscan.offload = force;
SELECT sum(v), sum(w) FROM formless;
SELECT sum(w), sum(v) FROM formless;
SELECT sum(v) + sum(w) FROM formless;
SELECT fallbacks AS before FROM gpuscan.stat \gset
SELECT sum(abs(nullif(v + w, 0)) * 2) FROM formless;
SELECT fallbacks - :before <= 1 AS at_most_one FROM gpuscan.stat;
RESET gpuscan.offload;

-- types that change, columns that are added, partitions of different scales, no statistics
ALTER TABLE grows ALTER v TYPE numeric(12,4);
SELECT check_query('SELECT sum(v), min(v), max(v) FROM grows');
ALTER TABLE grows ALTER v TYPE numeric;
SELECT check_query('SELECT sum(v), min(v), max(v) FROM grows', 'any');
ANALYZE grows;
ALTER TABLE grows ADD c numeric DEFAULT 1.25;
ANALYZE grows;
SELECT check_query('SELECT sum(c), min(c), sum(v * c) FROM grows');
CREATE TABLE parts (p int, v numeric) PARTITION BY LIST (p);
CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts SELECT 1, round(i / 3.0, 2) FROM generate_series(1, 400) i;
INSERT INTO parts SELECT 2, round(i / 3.0, 4) FROM generate_series(1, 400) i;
VACUUM (FREEZE, ANALYZE) parts;
SELECT check_matrix('SELECT sum(v), avg(v), count(*) FROM %s', '{parts,part1,part2,"parts WHERE v > 1.23456"}');
SELECT check_matrix('SELECT p, sum(v), min(v), max(v) FROM %s GROUP BY p', '{parts,part1,part2}');
-- (ANALYZE of the partitions alone, as autovacuum does it)
CREATE TABLE halves (p int, v numeric) PARTITION BY LIST (p);
CREATE TABLE half1 PARTITION OF halves FOR VALUES IN (1);
CREATE TABLE half2 (v numeric, p int);
ALTER TABLE halves ATTACH PARTITION half2 FOR VALUES IN (2);
INSERT INTO halves SELECT 1 + i % 2, round(i / 3.0, 2 + 2 * (i % 2)) FROM generate_series(1, 800) i;
VACUUM (FREEZE, ANALYZE) half1, half2;
SELECT check_matrix('SELECT sum(v), avg(v), max(v), count(*) FROM halves %s', '{"","WHERE v > 1.23456","WHERE p = 2"}');

CREATE TABLE unknown (v numeric);
INSERT INTO unknown SELECT i FROM generate_series(1, 100) i;
SELECT check_query('SELECT sum(v), count(*) FROM unknown', 'any');
SELECT check_query('SELECT count(*), count(v) FROM unknown');

-- more decimals than digits, without statistics
CREATE TABLE small (x numeric(3,40), y numeric(5,38), z numeric(2,5));
INSERT INTO small SELECT i * 1e-40, i * 1e-38, i * 1e-5 FROM generate_series(1, 90) i;
SELECT check_matrix('SELECT count(*), sum(%1$s), min(%1$s), avg(%1$s) FROM small', '{x,y,z}', expect => 'any');

-- many decimals in 64 bits
CREATE TABLE tiny (g int, v numeric);
INSERT INTO tiny SELECT i % 3, trim_scale(i * 1e-13) FROM generate_series(1, 900) i;
ANALYZE tiny;
SELECT check_query('SELECT sum(v), avg(v), min(v), max(v) FROM tiny');
SELECT check_query('SELECT g, sum(v), avg(v) FROM tiny WHERE v > 1e-12 GROUP BY g');

-- squares of so many decimals do not fit into 128 bits: their sums are kept in parts
CREATE TABLE thirds (g int, v numeric);
INSERT INTO thirds SELECT i % 3, i / 7.0 FROM generate_series(1, 900) i;
ANALYZE thirds;
SELECT check_matrix('SELECT %s FROM thirds', '{variance(v),stddev(v / 3),var_pop(g / 7.0)}');
SELECT check_matrix('SELECT %s, sum(v), avg(-v), count(v) FROM thirds %s', ARRAY(SELECT format('%s(%s)', f, a) FROM unnest('{stddev,stddev_pop,stddev_samp,variance,var_pop,var_samp}'::text[]) f, unnest('{v,-v,v - 64,v * 1.5,"CASE WHEN g > 0 THEN v ELSE 0.5 END",v::numeric(30\,20)}'::text[]) a), '{"",GROUP BY g,WHERE v < 0.2,WHERE v < 0.1,"WHERE g = 1 GROUP BY v > 9"}');
SELECT check_query('SELECT g, variance(v) FILTER (WHERE v > 50), stddev(v) FROM thirds GROUP BY g HAVING variance(v) > 1 ORDER BY 3 LIMIT 2', 'any');
SET gpuscan.offload = force;
SELECT refusals('SELECT g, variance(v), stddev_pop(v / 3) FROM thirds GROUP BY g');
RESET gpuscan.offload;
-- ... of large ones, of both signs, with and without a value that is shown with fewer digits
INSERT INTO thirds VALUES (3, 12345678901.5), (3, -98765432109.00000000000000000001), (4, 0), (4, 0.00), (5, NULL), (6, 1e-20), (6, -1e-20), (7, 99999999999);
ANALYZE thirds;
SELECT check_matrix('SELECT g, variance(v), var_pop(v), stddev(v), sum(v) FROM thirds WHERE %s GROUP BY g', '{g > 0,g > 2,"g > 2 AND v < 0"}');

-- one value that does not fit is one misfit, whichever fragments of a plan meet it: the next plans have a wider form, not none
CREATE TABLE misfit (id int, k int, v numeric);
INSERT INTO misfit SELECT i, i % 50, round(i / 7.0, 2) FROM generate_series(1, 2000) i;
ANALYZE misfit;
INSERT INTO misfit VALUES (2001, 1, 1234 / 100.0);
SELECT check_query('SELECT count(*) FROM misfit o WHERE v > (SELECT 2 * avg(v) FROM misfit i WHERE i.k = o.k)', 'any');
SELECT check_query('SELECT k, sum(v), count(*) FROM misfit GROUP BY k');
SET gpuscan.offload = force;
SELECT refusals('SELECT k, sum(v) FROM misfit GROUP BY k');
RESET gpuscan.offload;

-- what no longer matters, because there are new statistics, does not keep the place of what does
CREATE TABLE learns (id int, j jsonb);
INSERT INTO learns SELECT i, jsonb_build_object('n', i * 1.0000000001) FROM generate_series(1, 20) i;
ANALYZE learns;
CREATE FUNCTION fallbacks_of(first int, last int, times int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before bigint := (SELECT fallbacks FROM gpuscan.stat);
BEGIN
    FOR k IN first..last LOOP
        FOR i IN 1..times LOOP
            EXECUTE format('SELECT sum(coalesce(j ->> ''m%s'', ''NaN'')::numeric) FROM learns', k);
        END LOOP;
    END LOOP;
    RETURN (SELECT fallbacks FROM gpuscan.stat) - before;
END $$;
SET gpuscan.offload = force;
SELECT fallbacks_of(1, 2300, 2) > 4000;
SELECT count(*) > 0 FROM generate_series(1, 5) WHERE fallbacks_of(5001, 5200, 1) > 0;
SELECT fallbacks_of(5001, 5200, 1) < 50;
RESET gpuscan.offload;
