-- Writers: inserts, updates (HOT and not), deletes, savepoints, rollbacks, row locks.
\set id random(1, 60000)
\set new random(100000, 2000000000)
\set kind random(1, 100)
BEGIN;
\if :kind <= 25
UPDATE fact SET v = v + 1 WHERE id = :id;
\elif :kind <= 45
UPDATE fact SET k = (k + 1) % 100, t = 'text ' || (:id % 23) WHERE id BETWEEN :id AND :id + 3;
\elif :kind <= 60
INSERT INTO fact SELECT :new, :new % 100, 1, :new, :new / 100.0, 0.5, date '2021-01-01', 'new' WHERE NOT EXISTS (SELECT FROM fact WHERE id = :new);
\elif :kind <= 72
DELETE FROM fact WHERE id BETWEEN :id AND :id + 5;
\elif :kind <= 82
SELECT count(*) FROM (SELECT 1 FROM fact WHERE id BETWEEN :id AND :id + 20 FOR KEY SHARE) locked;
\elif :kind <= 92
SAVEPOINT s;
DELETE FROM fact WHERE id BETWEEN :id AND :id + 50;
ROLLBACK TO s;
UPDATE fact SET q = NULL WHERE id = :id;
\else
UPDATE dim SET name = 'name ' || (:id % 31) WHERE k = :id % 90;
\endif
\if :kind % 7 = 0
ROLLBACK;
\else
COMMIT;
\endif
