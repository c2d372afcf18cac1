-- The coordinator's side of node.sql, by postgres_fdw. Variables: nodes (the directory of script/nodes.bash, where node1 to node3 are
-- servers), options (for the sessions on the nodes).
CREATE EXTENSION postgres_fdw;
CREATE TABLE sales (node int NOT NULL, id bigint NOT NULL, customer int NOT NULL, product text, sold timestamptz NOT NULL,
    quantity int NOT NULL, price numeric(10,2) NOT NULL, discount numeric(4,2)) PARTITION BY LIST (node);
CREATE TABLE customer (node int NOT NULL, customer int NOT NULL, nation text NOT NULL, segment text) PARTITION BY LIST (node);
CREATE TABLE product (node int NOT NULL, product text NOT NULL, brand text NOT NULL, category text NOT NULL) PARTITION BY LIST (node);
SELECT format('CREATE SERVER node%s FOREIGN DATA WRAPPER postgres_fdw
                   OPTIONS (host %L, dbname ''postgres'', async_capable ''on'', use_remote_estimate ''on'', options %L)',
              n, :'nodes' || '/node' || n, :'options'),
       format('CREATE USER MAPPING FOR postgres SERVER node%s OPTIONS (user ''postgres'')', n)
    FROM generate_series(1, 3) n \gexec
SELECT format('CREATE FOREIGN TABLE %s_%s PARTITION OF %1$s FOR VALUES IN (%2$s) SERVER node%2$s OPTIONS (table_name %1$L)', name, n)
    FROM unnest('{sales,customer,product}'::text[]) name, generate_series(1, 3) n \gexec
SELECT format('CREATE FOREIGN TABLE %s_4 PARTITION OF %1$s FOR VALUES IN (4) SERVER node1 OPTIONS (table_name %L)', name, 'empty_' || name)
    FROM unnest('{sales,customer,product}'::text[]) name \gexec
ANALYZE sales, customer, product;
SELECT format('ALTER DATABASE %I SET enable_partitionwise_%s = on', current_database(), what) FROM unnest('{join,aggregate}'::text[]) what \gexec
