#!/usr/bin/env bash
# Plans that are kept and executed under a snapshot that another session exported before the tables changed: what a plan knows of now
# (NOT NULL, a unique key, an empty partition) says nothing of the rows of then.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host' 'plan_cache_mode = force_generic_plan'
sql "CREATE TABLE holes (k int, c int);
     INSERT INTO holes SELECT i, nullif(i % 3, 0) FROM generate_series(1, 3000) i;
     CREATE TABLE twice AS SELECT i % 500 AS k FROM generate_series(1, 1000) i;
     CREATE TABLE parts (k int, v int) PARTITION BY RANGE (k);
     CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
     CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (100) TO (200);
     INSERT INTO parts SELECT i % 200, i FROM generate_series(1, 2000) i"
sql 'VACUUM (ANALYZE) holes, twice, parts'

coproc exporter { psql -XAtq; }
echo 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot();' >&"${exporter[1]}"
read -r snapshot <&"${exporter[0]}"

sql 'UPDATE holes SET c = 7 WHERE c IS NULL; ALTER TABLE holes ALTER c SET NOT NULL'
sql 'DELETE FROM twice a USING twice b WHERE a.k = b.k AND a.ctid > b.ctid; CREATE UNIQUE INDEX ON twice (k)'
sql 'DELETE FROM parts WHERE k >= 100'

# answers MODE: of the kept plans, now and then
answers() {
    local name executions
    executions=$(for name in counts missing joined within pruned; do echo "SELECT '$name'; EXECUTE $name;"; done | sed 's/EXECUTE pruned/EXECUTE pruned(150)/')
    sql "SET gpuscan.offload = $1;
         PREPARE counts AS SELECT count(*), count(c), sum(c) FROM holes;
         PREPARE missing AS SELECT count(*) FROM parts WHERE k NOT IN (SELECT c FROM holes);
         PREPARE joined AS SELECT count(*), sum(p.v) FROM parts p JOIN twice t USING (k);
         PREPARE within AS SELECT count(*), sum(v) FROM parts WHERE k IN (SELECT k FROM twice);
         PREPARE pruned (int) AS SELECT count(*), sum(v) FROM parts p JOIN twice t USING (k) WHERE k < \$1;
         SELECT 'now'; $executions
         BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot';
         SELECT 'then'; $executions
         COMMIT;
         SELECT 'now'; $executions"
}
before=$(sql 'SELECT fragments FROM gpuscan.stat')
plain=$(answers off)
is 'the snapshot is the older one' "$(grep -A 2 '^then$' <<<"$plain" | tail -n 1)" '3000|2000|3000'
is 'with a device the answers are the same' "$(answers force)" "$plain"
is 'and a device gave them' "$(sql "SELECT fragments >= $before + 15 FROM gpuscan.stat")" t
echo 'COMMIT;' >&"${exporter[1]}"
nothing_in_log 'PANIC|TRAP|leak|was terminated by signal' 'nothing bad in the log'
