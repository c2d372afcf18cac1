-- A device reads whole columns and keeps every value of a text column in a dictionary, but a user's functions never
-- see a value that PostgreSQL would not show them: not through row-level security, not through security barrier
-- views, not by an error. And nobody calls a function, an operator or an aggregate without the privilege to.
\set QUIET 1
\ir ../sql/support.sql
SELECT plan(68);

CREATE ROLE alice;
CREATE ROLE bob;
CREATE TABLE papers (id int, uid int, kind text, v text, n int, g int);
INSERT INTO papers SELECT i, CASE WHEN i % 3 = 0 THEN 1 ELSE 2 END, CASE WHEN i % 2 = 0 THEN 'n' ELSE 't' END,
                          CASE WHEN i % 2 = 0 THEN (i % 20)::text ELSE 'word ' || CASE WHEN i % 3 = 0 THEN 'alice ' ELSE 'bob ' END || i % 7 END, i % 10, i % 4 FROM generate_series(1, 3000) i;
-- what only bob may know
INSERT INTO papers VALUES (100001, 2, 'n', 'a secret of bob', 77, 1), (100002, 2, 't', 'another secret of bob', 78, 2);
VACUUM (FREEZE, ANALYZE) papers;
-- (run as their owner, whom no policy holds)
CREATE VIEW guarded WITH (security_barrier) AS SELECT id, kind, v, n, g FROM papers WHERE uid = 1;
CREATE VIEW by_name WITH (security_barrier) AS SELECT id, kind, v, n, g FROM papers WHERE CASE uid WHEN 1 THEN 'alice' ELSE 'bob' END = current_user;
GRANT SELECT ON papers, guarded, by_name TO alice, bob;
ALTER TABLE papers ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_alice ON papers TO alice USING (uid <= 1);
CREATE POLICY of_bob ON papers TO bob USING (uid >= 2);
CREATE TABLE links (id int, name text);
INSERT INTO links SELECT i, 'link ' || i FROM generate_series(0, 9) i;
GRANT SELECT ON links TO alice, bob;
-- Cache every column before, as somebody who sees all: alice's queries find complete dictionaries.
SET gpuscan.offload = force;
SELECT count(*) AS warmed FROM (SELECT min(v), max(kind), sum(n), min(id), min(g) FROM papers) x \gset
SELECT check_query('SELECT v, kind, count(*), sum(n) FROM papers GROUP BY v, kind') AS warm \gset
SELECT alike(:'warm'::text, 'ok%', 'the whole table, for its owner');

GRANT CREATE ON SCHEMA public TO alice;
SET ROLE alice;
-- spies: what they see is kept in a setting, and told
CREATE FUNCTION peek(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$
BEGIN
    PERFORM set_config('spy.seen', coalesce(current_setting('spy.seen', true), '') || '|' || coalesce($1, 'null'), false);
    RAISE DEBUG 'seen: %', $1;
    RETURN $1 NOT LIKE 'word alice 3%';
END $$;
CREATE FUNCTION peek(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$
BEGIN
    PERFORM set_config('spy.seen', coalesce(current_setting('spy.seen', true), '') || '|' || coalesce($1::text, 'null'), false);
    RETURN $1 < 100;
END $$;
CREATE FUNCTION shout(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM set_config('spy.seen', coalesce(current_setting('spy.seen', true), '') || '|' || coalesce($1, 'null'), false);
    RETURN upper($1);
END $$;
CREATE OPERATOR === (leftarg = text, rightarg = text, function = texteq);
CREATE FUNCTION spied(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    mode text;
    seen text;
    plain text;
BEGIN
    FOREACH mode IN ARRAY ARRAY['off', 'force'] LOOP
        PERFORM set_config('gpuscan.offload', mode, true), set_config('spy.seen', '', false);
        EXECUTE query;
        SELECT string_agg(DISTINCT s, '|' ORDER BY s) INTO seen FROM unnest(string_to_array(current_setting('spy.seen'), '|')) s WHERE s <> '';
        plain := CASE mode WHEN 'off' THEN coalesce(seen, '') ELSE plain END;
    END LOOP;
    PERFORM set_config('spy.seen', '', false);
    RETURN CASE WHEN coalesce(seen, '') ~ 'bob|77|78' THEN 'sees secrets: ' || left(seen, 200)
                WHEN plain ~ 'bob|77|78' THEN 'PostgreSQL shows secrets?'
                -- a device may ask for less than PostgreSQL, never for more
                WHEN EXISTS (SELECT unnest(string_to_array(seen, '|')) EXCEPT SELECT unnest(string_to_array(plain, '|'))) THEN 'sees more than under PostgreSQL: ' || left(seen, 200)
                WHEN plain = '' THEN 'sees nothing at all'
                ELSE 'sees the same' END;
END $$;

-- row-level security
SELECT is(spied(q), 'sees the same', q) FROM unnest(ARRAY[
    'SELECT count(*) FROM papers WHERE peek(v)', 'SELECT count(*) FROM papers WHERE peek(v) AND kind = ''t''', 'SELECT count(*), sum(n) FROM papers WHERE peek(n)', 'SELECT g, count(*) FROM papers WHERE peek(v) AND peek(n) GROUP BY g',
    'SELECT shout(v), count(*) FROM papers GROUP BY 1', 'SELECT min(shout(v)) FROM papers', 'SELECT count(*) FROM papers WHERE shout(v) LIKE ''A%''', 'SELECT name, count(*) FROM papers JOIN links ON papers.n = links.id WHERE peek(v) GROUP BY name',
    'SELECT count(*) FILTER (WHERE peek(v)) FROM papers', 'SELECT count(*) FROM papers WHERE NOT peek(v) OR n > 5', 'SELECT sum(CASE WHEN peek(v) THEN n END) FROM papers', 'SELECT count(*) FROM papers p JOIN papers q ON p.id = q.id WHERE peek(p.v)']) q;
-- views: with a security barrier as with a policy
SELECT is(spied(q), 'sees the same', q) FROM unnest(ARRAY[
    'SELECT count(*) FROM guarded WHERE peek(v)', 'SELECT count(*), sum(n) FROM by_name WHERE peek(v)', 'SELECT count(*), sum(n) FROM guarded WHERE peek(n)', 'SELECT shout(v), count(*) FROM guarded GROUP BY 1', 'SELECT g, count(*) FROM guarded WHERE peek(v) AND g > 1 GROUP BY g', 'SELECT name, count(*) FROM guarded JOIN links ON n = links.id WHERE shout(v) > ''A'' GROUP BY name']) q;
-- notices, too
SELECT is((SELECT count(*) FROM papers WHERE n IN (77, 78)), 0::bigint, 'the secret rows are hidden');
-- errors that only hidden rows would raise
SELECT alike(check_query(q, 'any'), 'ok (% rows)', q) FROM unnest(ARRAY[
    'SELECT count(*), sum(100 / (n - 77)) FROM papers', 'SELECT count(*) FROM papers WHERE 100 / (n - 77) > -1000', 'SELECT count(*) FROM guarded WHERE 100 / (n - 77) > -1000', 'SELECT sum(n * 30000000) FROM papers WHERE id % 50 = 3', 'SELECT count(*) FROM guarded WHERE n * 28000000 > 0']) q;
-- answers under the policy, with cached columns
SELECT alike(check_query(q), 'ok%', q) FROM unnest(ARRAY['SELECT count(*), sum(n), min(g) FROM papers', 'SELECT g, count(*), sum(n) FROM papers GROUP BY g']) q;
SELECT alike(check_query(q, 'any'), 'ok%', q) FROM unnest(ARRAY['SELECT g, count(*) FROM guarded WHERE kind = ''n'' GROUP BY g', 'SELECT g, max(v) FROM guarded GROUP BY g']) q;
SELECT is((SELECT max(n) FROM papers), 9, 'the largest number that alice may see');
SELECT is((SELECT max(v) FROM papers), 'word alice 6', 'the largest text that alice may see');
SELECT is((SELECT count(*) FROM (SELECT v FROM papers GROUP BY v) x WHERE v LIKE '%bob%'), 0::bigint, 'no group of bob');
RESET ROLE;
SELECT is((SELECT max(n) FROM papers), 78, 'the owner of the table sees all');
SET ROLE bob;
SELECT is((SELECT max(n) FROM papers), 78, 'so does bob');
RESET ROLE;

-- a cast that fails for rows which an earlier filter removes
DELETE FROM papers WHERE id > 100000;
SELECT alike(check_query(q, 'any'), 'ok (% rows)', q) FROM unnest(ARRAY['SELECT count(*) FROM papers WHERE kind = ''n'' AND v::int > 5', 'SELECT g, sum(v::int) FROM papers WHERE kind = ''n'' GROUP BY g', 'SELECT count(*) FROM papers WHERE kind = ''n'' AND v::numeric > 5.5',
    'SELECT v::int, count(*) FROM papers WHERE kind = ''n'' GROUP BY 1', 'SELECT sum(CASE WHEN kind = ''n'' THEN v::int END) FROM papers', 'SELECT count(*) FROM papers WHERE v LIKE ''1%'' AND v::int > 5']) q;
SELECT is(check_query('SELECT count(*) FROM papers WHERE v::int > 5', 'any'), 'ok (ERROR 22P02 invalid input syntax for type integer: "word bob 1")', 'a row that is not a number is PostgreSQL''s error');

-- the privilege to execute
CREATE FUNCTION private(text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > ''a''';
REVOKE EXECUTE ON FUNCTION private(text), upper(text), textlike(text, text), texteq(text, text), length(text), int4pl(int, int), int4gt(int, int), int4eq(int, int), sum(int), min(text), count() FROM PUBLIC;
-- (nothing but the query itself may need what is revoked)
CREATE FUNCTION error_of(query text, mode text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpuscan.offload', mode, true);
    EXECUTE query;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;
CREATE TABLE denials (query text, denied text, plain text, device text);
INSERT INTO denials VALUES
    ('SELECT count(n) FROM papers WHERE private(v)', 'function private'), ('SELECT count(n) FROM papers WHERE upper(v) > ''X''', 'function upper'), ('SELECT count(n) FROM papers WHERE v LIKE ''w%''', 'function textlike'),
    ('SELECT count(n) FROM links, papers WHERE links.id = g AND name = ''5''', 'function texteq'), ('SELECT count(n) FROM papers WHERE length(v) < 3', 'function length'), ('SELECT max(n + 1) FROM papers', 'function int4pl'), ('SELECT count(n) FROM papers WHERE n > 5', 'function int4gt'),
    ('SELECT sum(n) FROM papers', 'aggregate sum'), ('SELECT min(v) FROM papers', 'aggregate min'), ('SELECT count(*) FROM papers', 'aggregate count'), ('SELECT max(p.n) FROM papers p JOIN papers q ON p.id = q.n', 'function int4eq'),
    ('SELECT g, max(n) FROM papers GROUP BY g', 'function int4eq');
GRANT ALL ON denials TO alice;
SET ROLE alice;
UPDATE denials SET plain = error_of(query, 'off'), device = error_of(query, 'force');
RESET ROLE;
GRANT EXECUTE ON FUNCTION upper(text), textlike(text, text), texteq(text, text), length(text), int4pl(int, int), int4gt(int, int), int4eq(int, int), sum(int), min(text), count() TO PUBLIC;
SELECT is(plain, 'permission denied for ' || denied, 'PostgreSQL: ' || query) FROM denials;
SELECT is(device, 'permission denied for ' || denied, 'device: ' || query) FROM denials;
-- a function without privilege that runs as its owner does not lend its privileges to the query
REVOKE SELECT ON papers FROM alice;
SET ROLE alice;
SELECT throws_ok('SELECT count(*) FROM papers', '42501');
SELECT throws_ok('SELECT count(*) FROM papers p JOIN links ON p.n = links.id', '42501');
SELECT throws_ok('SELECT * FROM gpuscan.cached_columns', '42501');
RESET ROLE;
DROP VIEW guarded, by_name;
DROP TABLE papers, links, denials;
DROP OWNED BY alice;
DROP OWNED BY bob;
DROP ROLE alice;
DROP ROLE bob;
SELECT * FROM finish();
