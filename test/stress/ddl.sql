-- DDL: new relation files, new row layouts, empty tables, and a refill so that the run never starves.
\set kind random(1, 8)
\set base random(1, 1000)
\if :kind = 1
VACUUM FULL fact;
\elif :kind = 2
CLUSTER fact USING fact_pkey;
\elif :kind = 3
BEGIN;
TRUNCATE fact;
INSERT INTO fact SELECT i, i % 100, i % 50, i * :base, i / 4.0, i / 2.0, date '2020-01-01' + i % 1000, 'text ' || i % 20 FROM generate_series(1, 60000) i;
COMMIT;
\elif :kind = 4
ALTER TABLE fact ADD COLUMN extra int DEFAULT 42;
SELECT pg_sleep(0.3);
ALTER TABLE fact DROP COLUMN extra;
\elif :kind = 5
ALTER TABLE fact ALTER COLUMN n TYPE numeric(14,2);
SELECT pg_sleep(0.3);
ALTER TABLE fact ALTER COLUMN n TYPE numeric(12,2);
\elif :kind = 6
BEGIN;
ALTER TABLE fact DROP COLUMN q;
ALTER TABLE fact ADD COLUMN q int2 DEFAULT 3;
SELECT stress_check(1);
ROLLBACK;
\elif :kind = 7
BEGIN;
DELETE FROM fact WHERE id % 10 = :base % 10;
INSERT INTO fact SELECT 3000000 + i + :base * 100000, i % 100, 1, i, 0.25, 0.5, date '2021-06-01', 'bulk' FROM generate_series(1, 3000) i ON CONFLICT DO NOTHING;
ROLLBACK;
\else
VACUUM (FREEZE) fact;
\endif
SELECT pg_sleep(0.5);
