-- Functions that send messages: no expression that is kept in the cache may, since the message would tell of rows that a policy hides, and a query
-- that finds the column there would send none. (A server without libxml has no xml.)
CREATE SCHEMA expression_messages;
SET search_path = expression_messages, public;
SET client_min_messages = warning;
SET gpuscan.offload = force;
CREATE TABLE messages AS SELECT g AS id, CASE g WHEN 99 THEN '' ELSE 'a' || g % 3 END AS a FROM generate_series(1, 500) g;
CREATE TABLE documents AS SELECT g AS id, 'a' || g % 3 AS a, (CASE g WHEN 99 THEN '<a xmlns="hidden"/>' ELSE '<a/>' END)::xml AS x FROM generate_series(1, 500) g;
VACUUM (FREEZE, ANALYZE) messages;
CREATE ROLE message_reader;
GRANT USAGE ON SCHEMA expression_messages TO message_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA expression_messages TO message_reader;
ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON messages FOR SELECT TO message_reader USING (id < 50);
ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON documents FOR SELECT TO message_reader USING (id < 50);
SET client_min_messages = notice;
SET ROLE message_reader;
SELECT numnode((a || ' ' || left(id::text, 0))::tsquery) || a AS v, count(*) FROM messages GROUP BY 1 ORDER BY 1;
SELECT xpath_exists('/b', x)::text || a AS v, count(*) FROM documents GROUP BY 1 ORDER BY 1;
RESET ROLE;
SELECT numnode((a || ' ' || left(id::text, 0))::tsquery) || a AS v, count(*) FROM messages GROUP BY 1 ORDER BY 1;
SELECT xpath_exists('/b', x)::text || a AS v, count(*) FROM documents GROUP BY 1 ORDER BY 1;
SET client_min_messages = warning;
DROP SCHEMA expression_messages CASCADE;
DROP ROLE message_reader;
