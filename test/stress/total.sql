-- Readers of the accounts (transfer.sql), whose total is known.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT total_check();
SELECT total_check();
COMMIT;
SELECT total_check();
