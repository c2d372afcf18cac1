-- Foreign tables: PostgreSQL's own plan brings their rows, as either side of a join with tables that the device reads. Skipped
-- where the server has no postgres_fdw and file_fdw (its packages have them).
SET client_min_messages = warning;
SELECT count(*) < 2 AS missing FROM pg_available_extensions WHERE name IN ('postgres_fdw', 'file_fdw') \gset
\if :missing
\echo 'skipped: postgres_fdw or file_fdw is not installed'
\quit
\endif
CREATE EXTENSION IF NOT EXISTS postgres_fdw;
CREATE EXTENSION IF NOT EXISTS file_fdw;
CREATE SCHEMA relations_foreign;
SET search_path = relations_foreign, public;
SET gpuscan.device = host;
CREATE TABLE fact AS SELECT i AS id, i % 40 AS k, nullif('text ' || i % 13, 'text 7') AS t, (i % 100 / 4.0)::numeric(10,2) AS n FROM generate_series(1, 3000) i;
CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 7 AS name, i % 3 AS w FROM generate_series(0, 35) i;
VACUUM (ANALYZE) fact, dim;
SELECT format('CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)', split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database()) AS statement \gset
:statement;
CREATE USER MAPPING FOR CURRENT_USER SERVER here OPTIONS (password_required 'false');
CREATE FOREIGN TABLE far_fact (id int, k int, t text, n numeric(10,2)) SERVER here OPTIONS (schema_name 'relations_foreign', table_name 'fact');
CREATE FOREIGN TABLE far_dim (k int, name text, w int) SERVER here OPTIONS (schema_name 'relations_foreign', table_name 'dim');
SELECT current_setting('data_directory') || '/relations_foreign.csv' AS file \gset
COPY dim TO :'file' (FORMAT csv);
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE file_dim (k int, name text, w int) SERVER files OPTIONS (filename :'file', format 'csv');
-- a partition elsewhere
CREATE TABLE parts (LIKE fact) PARTITION BY RANGE (id);
CREATE TABLE parts_near PARTITION OF parts FOR VALUES FROM (0) TO (10000);
INSERT INTO parts SELECT * FROM fact;
CREATE FOREIGN TABLE parts_far PARTITION OF parts FOR VALUES FROM (10000) TO (20000) SERVER here OPTIONS (schema_name 'relations_foreign', table_name 'fact');
ANALYZE far_fact, far_dim, file_dim, parts;
-- alone they are PostgreSQL's
SELECT check_matrix('SELECT %s', '{"count(*), sum(n) FROM far_fact", "name, sum(w) FROM file_dim GROUP BY name", "t, count(*) FROM parts GROUP BY t"}'::text[], expect => 'any');
-- joined with a table that the device reads
SELECT check_matrix('SELECT %s', '{"name, count(*), sum(n) FROM fact JOIN far_dim USING (k) WHERE w < 2 GROUP BY name", "name, count(*), sum(n), max(t) FROM fact JOIN file_dim USING (k) GROUP BY name", "name, count(*), sum(n), max(t) FROM far_fact JOIN dim USING (k) WHERE id < 2000 GROUP BY name",
    "f.t, name, count(*) FROM fact f JOIN far_fact g USING (id) JOIN file_dim d ON d.k = f.k GROUP BY 1, 2", "count(*) FROM fact WHERE k IN (SELECT k FROM file_dim WHERE w = 1)", "count(*) FROM fact f WHERE NOT EXISTS (SELECT FROM far_dim d WHERE d.k = f.k)",
    "fact.id, name FROM fact LEFT JOIN far_dim ON far_dim.k = fact.k AND w = 2 WHERE fact.id < 200", "fact.t, sum(parts.n) FROM fact JOIN parts USING (id) GROUP BY fact.t"}'::text[]);
SET gpuscan.offload = force;
EXPLAIN (COSTS OFF) SELECT name, count(*), sum(n) FROM fact JOIN far_dim USING (k) WHERE w < 2 GROUP BY name;
RESET gpuscan.offload;
DROP SERVER here CASCADE;
DROP SERVER files CASCADE;
DROP SCHEMA relations_foreign CASCADE;
