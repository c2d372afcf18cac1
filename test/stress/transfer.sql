-- Transfers between accounts: whatever happens, their number and the sum of their amounts stay. Savepoints, rows that move, values
-- out of line, prepared transactions that are finished later, rollbacks.
\set a random(1, 20000)
\set b random(1, 20000)
\set x random(-500, 500)
\set kind random(1, 12)
\set end random(1, 8)
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE account SET amount = amount - :x WHERE id = :a;
\if :kind <= 4
UPDATE account SET amount = amount + :x WHERE id = :b;
\elif :kind <= 6
SAVEPOINT s;
UPDATE account SET amount = 0, note = repeat(md5((:x)::text), 200) WHERE id BETWEEN :b AND :b + 9;
INSERT INTO account SELECT 50000 + i, 1, 1, repeat(md5(i::text), 200) FROM generate_series(1, 20) i;
ROLLBACK TO s;
UPDATE account SET amount = amount + :x WHERE id = :b;
\elif :kind <= 8
WITH gone AS (DELETE FROM account WHERE id = :b RETURNING id, branch, amount)
    INSERT INTO account SELECT id, (branch + 1) % 50, amount + :x, repeat(md5((:b)::text), :a % 200) FROM gone;
\elif :kind <= 10
SELECT count(*) FROM (SELECT FROM account WHERE id BETWEEN :b AND :b + 20 FOR NO KEY UPDATE) locked;
INSERT INTO account VALUES (:b, 1, :x) ON CONFLICT (id) DO UPDATE SET amount = account.amount + excluded.amount;
\else
SAVEPOINT s;
UPDATE account SET amount = amount + 1000 - :x WHERE id = :b;
RELEASE s;
UPDATE account SET amount = amount + 2 * :x - 1000 WHERE id = :b;
\endif
\if :end <= 4
COMMIT;
\elif :end = 5
ROLLBACK;
\else
PREPARE TRANSACTION 'transfer :client_id';
\sleep 20 ms
\if :end = 6
ROLLBACK PREPARED 'transfer :client_id';
\else
COMMIT PREPARED 'transfer :client_id';
\endif
\endif
