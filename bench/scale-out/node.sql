-- One node's share of a star schema, for bench/scale-out.sh and test/tap/scale_out.sh. Variables: node (1, 2, ...), rows (of sales).
-- Customers live where their sales are; products are the same on every node. Both have the column `node`, by which they are partitioned
-- like sales. Every tenth discount, every eleventh product of a sale and every sixth segment is NULL. The tables empty_* are a
-- partition without rows.
CREATE TABLE sales (node int NOT NULL, id bigint NOT NULL, customer int NOT NULL, product text, sold timestamptz NOT NULL,
    quantity int NOT NULL, price numeric(10,2) NOT NULL, discount numeric(4,2));
CREATE TABLE customer (node int NOT NULL, customer int NOT NULL, nation text NOT NULL, segment text);
CREATE TABLE product (node int NOT NULL, product text NOT NULL, brand text NOT NULL, category text NOT NULL);
CREATE TABLE empty_sales (LIKE sales);
CREATE TABLE empty_customer (LIKE customer);
CREATE TABLE empty_product (LIKE product);
INSERT INTO sales
    SELECT :node, i * 10 + :node, i * 7919 % 20000 * 10 + :node, CASE WHEN i % 11 > 0 THEN 'product ' || i * 104729 % 2000 END,
        timestamptz '2020-01-01 UTC' + i * 8191 % 189388800 * interval '1 second', 1 + i % 50, (100 + i * (17 + :node) % 9900) / 4.0,
        CASE WHEN i % 10 > 0 THEN i % 13 / 100.0 END
    FROM generate_series(1::bigint, :rows) i;
INSERT INTO customer
    SELECT :node, i * 10 + :node, 'nation ' || i % 25, CASE WHEN i % 6 > 0 THEN 'segment ' || i % 6 END FROM generate_series(0, 19999) i;
INSERT INTO product SELECT :node, 'product ' || i, 'brand ' || i % 40, 'category ' || i % 8 FROM generate_series(0, 1999) i;
ALTER TABLE customer ADD PRIMARY KEY (customer);
ALTER TABLE product ADD PRIMARY KEY (product);
VACUUM (FREEZE, ANALYZE) sales, customer, product, empty_sales, empty_customer, empty_product;
