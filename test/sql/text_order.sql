-- The order of texts: ranks that the device process finds and keeps, under collations of bytes and others, over columns of nearly unique
-- texts that grow; and results that show some or most of a dictionary.
CREATE SCHEMA text_order;
SET search_path = text_order, public;
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE t (id int, g int, u text, e text COLLATE "C", i text COLLATE "und-x-icu", b char(20), l text COLLATE loose);
ALTER TABLE t ALTER u SET STORAGE EXTERNAL;
CREATE FUNCTION filled(first int, last int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO t
    SELECT k, k % 7, CASE k % 53 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN repeat('https://www.example.org/ä', 200) || k
            ELSE 'https://www.site' || k % 9 || '.example/' || chr(33 + k % 90) || '/' || md5((k / 2)::text) END,
        CASE WHEN k % 31 <> 0 THEN repeat('é', k % 5) || chr(40 + k % 300) || left(md5(k::text), 9) END,
        CASE WHEN k % 29 <> 0 THEN (ARRAY['a', 'A', 'ä', 'Z', 'z', '-'])[1 + k % 6] || left(md5(k::text), 4 + k % 5) END,
        CASE WHEN k % 37 <> 0 THEN left(md5((k / 3)::text), k % 18) || CASE WHEN k % 7 = 0 THEN E'\t' ELSE '' END END,
        (ARRAY['a', 'A', 'b', 'B'])[1 + k % 4]
    FROM generate_series(first, last) k
$$;
SELECT filled(1, 12000);
CREATE TABLE other AS SELECT u, e, id FROM t WHERE id % 5 = 0;
VACUUM (FREEZE, ANALYZE) t, other;
CREATE FUNCTION order_check() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT check_matrix('SELECT min(%1$s), max(%1$s), count(DISTINCT %1$s) FROM t %2$s', '{u,e,i,b}', '{"","WHERE g = 2","WHERE g < 0","WHERE u > ''https://www.site4''","WHERE e < ''é''"}')
    UNION ALL
    SELECT check_matrix('SELECT g, min(%1$s), max(%1$s) FROM t GROUP BY g', '{u,e,i,b}')
    UNION ALL
    SELECT check_matrix('SELECT id %% 6000 AS k, max(%1$s) FROM t GROUP BY k', '{u,e,i,b}')
    UNION ALL
    SELECT check_matrix('SELECT * FROM (SELECT %1$s, id FROM t ORDER BY %1$s %2$s, id LIMIT 9) x', '{u,e,i,b}', '{"","DESC","DESC NULLS LAST","NULLS FIRST"}')
    UNION ALL
    SELECT check_matrix('SELECT * FROM (SELECT u, e, b, id FROM t ORDER BY %1$s, id DESC LIMIT 7) x', '{"u,e","e DESC,u","g,b,u","length(u),u DESC","b,g DESC,e NULLS FIRST"}')
    UNION ALL
    SELECT check_matrix('SELECT * FROM (SELECT %1$s FROM t WHERE id %% 4 = 1 ORDER BY %1$s %2$s FETCH FIRST 5 ROWS WITH TIES) x', '{u,e,b}', '{"","DESC NULLS LAST"}')
    UNION ALL
    SELECT check_matrix('SELECT max(%1$s), min(%2$s) FROM t JOIN other USING (id)', '{t.u,other.u,t.e,t.b}', '{t.u,other.e,t.i}')
    UNION ALL
    SELECT check_matrix('SELECT * FROM (SELECT %1$s, id FROM t ORDER BY %1$s, id OFFSET 11000) x', '{u,e,b}')
    UNION ALL
    SELECT check_matrix('SELECT * FROM (SELECT %1$s, count(*) FROM t GROUP BY %1$s ORDER BY count(*) DESC, %1$s LIMIT 5) x', '{u,e,i,b}')
    UNION ALL
    SELECT check_matrix('SELECT %1$s, count(*) FROM t %2$s GROUP BY %1$s', '{u,e,i,b}', '{"","WHERE id < 6000","WHERE id < 9000"}')
    UNION ALL
    SELECT check_matrix('SELECT %s', ARRAY['count(*), sum(other.id) FROM t JOIN other USING (u)', 'u, id FROM t WHERE id % 3 = 0', 'count(*) FROM t WHERE u LIKE ''%site4%abc%''',
        'min(u COLLATE "C"), max(u COLLATE "und-x-icu"), min(e COLLATE "und-x-icu"), max(i COLLATE "C") FROM t', 'min(t.u), max(other.u) FROM t JOIN other USING (e)'])
    UNION ALL
    SELECT check_matrix('SELECT %s', ARRAY['min(l), max(l) FROM t', 'min(u COLLATE loose) IS NULL FROM t', 'count(DISTINCT l) FROM t'], expect => 'any')
$$;
SELECT order_check();
-- a few texts come in between, then many; what the device has is kept, and is not enough
SELECT filled(12001, 12100);
SELECT order_check();
VACUUM t;
SELECT order_check();
SELECT filled(12101, 15000);
VACUUM t;
SELECT order_check();
-- another session finds the ranks, and by_rank with them
\c -
SET search_path = text_order, public;
SELECT order_check();
-- ranks of a dictionary that lost its rows
DELETE FROM t WHERE id % 11 <> 0;
VACUUM t;
SELECT order_check();
-- varchar has the operators of text, and so have domains
CREATE DOMAIN word AS varchar(40) COLLATE "C";
CREATE TABLE w AS SELECT id, g, i::varchar(40) AS v, e::word AS d FROM t, generate_series(1, 3);
VACUUM (FREEZE, ANALYZE) w;
SELECT check_matrix('SELECT * FROM (SELECT %1$s, id FROM w ORDER BY %1$s %2$s, id LIMIT 9) x', '{v,d,v::text,"v COLLATE \"C\"","d COLLATE \"und-x-icu\"","least(v, d::text COLLATE \"und-x-icu\")"}', '{"","DESC","DESC NULLS LAST","NULLS FIRST"}');
SELECT check_matrix('SELECT * FROM (SELECT %1$s, count(*) FROM w GROUP BY %1$s ORDER BY count(*) DESC, %1$s LIMIT 5) x', '{v,d,v::text,"v COLLATE \"C\""}');
CREATE FUNCTION sorted(query text) RETURNS text LANGUAGE plpgsql SET gpuscan.offload = 'force' AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN COALESCE(jsonb_path_query_first(plan, 'strict $.**."Group Order"')::text, 'PostgreSQL');
END $$;
SELECT sorted(format('SELECT v, d, g, count(*) FROM w GROUP BY v, d, g ORDER BY %s', e)), e FROM unnest('{"v, g",d DESC,"v COLLATE \"C\""}'::text[]) e;
DROP SCHEMA text_order CASCADE;
