-- Maintenance: the visibility map is set, cleared and set again all the time.
\set kind random(1, 10)
\if :kind <= 6
VACUUM fact;
\elif :kind <= 8
VACUUM (FREEZE) fact;
\elif :kind = 9
VACUUM (FREEZE, ANALYZE) dim;
\else
SELECT pg_sleep(0.2);
\endif
SELECT pg_sleep(0.05);
