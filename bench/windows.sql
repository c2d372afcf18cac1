-- Windows over SSB's lineorder, which bench/ssb.sh loads:
--     bench/ssb.sh 20 && psql -X -f bench/windows.sql          \timing shows the time of each, three times
-- With "-v offload=off": PostgreSQL's.
\set QUIET on
\if :{?offload}
SET gpuscan.offload = :offload;
\endif
\timing on
\echo top 3 per partition
SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY lo_custkey ORDER BY lo_revenue DESC) r FROM lineorder) x WHERE r <= 3 \g \g \g
\echo rank, running sum and lag
SELECT sum(r), sum(s), sum(l) FROM (SELECT rank() OVER w r, sum(lo_revenue) OVER w s, lag(lo_revenue) OVER w l FROM lineorder WINDOW w AS (PARTITION BY lo_custkey ORDER BY lo_orderdate, lo_orderkey, lo_linenumber)) x \g \g \g
\echo the same columns without windows
SELECT sum(lo_custkey), sum(lo_revenue), sum(lo_orderdate) FROM lineorder \g \g \g
\echo two orders
SELECT sum(r), sum(s) FROM (SELECT rank() OVER (PARTITION BY lo_custkey ORDER BY lo_orderdate) r, sum(lo_revenue) OVER (PARTITION BY lo_partkey ORDER BY lo_orderdate) s FROM lineorder) x \g \g \g
\echo moving sum of seven rows
SELECT sum(s) FROM (SELECT sum(lo_revenue) OVER (PARTITION BY lo_custkey ORDER BY lo_orderdate, lo_orderkey, lo_linenumber ROWS 6 PRECEDING) s FROM lineorder) x \g \g \g
\echo groups counted
SELECT count(*) FROM (SELECT lo_orderkey, sum(lo_revenue) FROM lineorder GROUP BY lo_orderkey) x \g \g \g
