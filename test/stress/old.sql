-- Readers whose snapshot is seconds old: VACUUM must leave them what they see, and so must the cache.
\set which random(0, 5)
\set wait random(1000, 5000)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT total_check();
\sleep :wait ms
SELECT stress_check(:which);
SELECT total_check();
\sleep :wait ms
SELECT stress_check(:which + 1);
SELECT total_check();
COMMIT;
