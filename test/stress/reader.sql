-- Readers: every query twice per transaction, so that what the first one cached or repaired serves the second one.
\set which random(0, 5)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT stress_check(:which);
SELECT stress_check(:which);
COMMIT;
SELECT stress_check(:which + 1);
