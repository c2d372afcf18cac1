#!/usr/bin/env bash
# A partitioned table as one source, beside others: parallel workers bring the chunks of several partitions; rows move between
# partitions, partitions are detached and attached, and pages are vacuumed while sessions compare the device's answers with
# PostgreSQL's; a leaf that only a parameter rules out is not read.
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'shared_buffers = 640MB' 'gpuscan.device = host' 'gpuscan.max_feed_workers = 2' 'max_parallel_workers_per_gather = 0' \
    'gpuscan.cache_size = 1GB'
sql "CREATE TABLE moved (id int, g int, n numeric(9,2), t text) PARTITION BY LIST (g);
     CREATE TABLE moved_0 PARTITION OF moved FOR VALUES IN (0) WITH (fillfactor = 10, autovacuum_enabled = off);
     CREATE TABLE moved_1 (t text, n numeric(9,2), gone int, id int, g int) WITH (fillfactor = 10, autovacuum_enabled = off);
     ALTER TABLE moved_1 DROP gone;
     ALTER TABLE moved ATTACH PARTITION moved_1 FOR VALUES IN (1);
     CREATE TABLE moved_2 PARTITION OF moved FOR VALUES IN (2) WITH (fillfactor = 10, autovacuum_enabled = off);
     CREATE TABLE moved_rest PARTITION OF moved DEFAULT WITH (fillfactor = 10, autovacuum_enabled = off);
     INSERT INTO moved SELECT i, i % 4, i / 4.0, 't' || i % 1000 FROM generate_series(1, 700000) i;
     CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 5 AS name FROM generate_series(0, 30) i;
     VACUUM (FREEZE, ANALYZE) moved; VACUUM (FREEZE, ANALYZE) dim"

groups='SELECT t, count(*), sum(n) FROM moved WHERE id % 3 = 0 GROUP BY t'
evict='SELECT gpuscan.evict();'
explain='EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)'
is 'no partition has two chunks' "$(sql "SELECT max(pg_relation_size(relid)) / 8192 < 32672 FROM pg_partition_tree('moved') WHERE isleaf")" t
is 'workers bring chunks of several partitions' "$(sql "$evict SET gpuscan.offload = force; $explain $groups" | sed -n 's/.*Feed Workers: //p')" 2
is 'cold' "$(sql "$evict SELECT check_query('$groups')" | tail -n 1 | sed 's/([0-9]*/(N/')" 'ok (N rows)'
is 'hot' "$(sql "SELECT check_query('$groups')" | sed 's/([0-9]*/(N/')" 'ok (N rows)'
is 'as a build side' "$(sql "$evict SELECT check_query('SELECT count(*), sum(a.n), max(t) FROM dim JOIN moved a ON a.id = k')" | tail -n 1)" 'ok (1 rows)'
is 'the cache is too small for the table' "$(sql "ALTER SYSTEM SET gpuscan.cache_size = '16MB'; SELECT pg_reload_conf(); SELECT pg_sleep(1); $evict SELECT check_query('SELECT count(*), sum(id), sum(n), min(t), max(t) FROM moved')" | tail -n 1)" 'ok (1 rows)'
sql "ALTER SYSTEM RESET gpuscan.cache_size; SELECT pg_reload_conf()" >/dev/null

# Pages that are read, by a generic plan, of the leaf that the parameter asks for and of the others.
pages_of() {
    sql "$evict SET gpuscan.offload = force; SET plan_cache_mode = force_generic_plan;
        PREPARE one (int) AS SELECT count(*), sum(n) FROM moved WHERE g = \$1; $explain EXECUTE one($1)" | sed -n 's/.*decoded=\([0-9]*\).*/\1/p'
}
is 'a parameter rules leaves out' "$(pages_of 1)" "$(sql "SELECT pg_relation_size('moved_1') / 8192")"

# Rows move between partitions, and back; every snapshot sees each of them once.
writer() {
    local i
    for i in $(seq 1 30); do
        sql "UPDATE moved SET g = (g + 1) % 5 WHERE id % 97 = $i;
             UPDATE moved SET t = 'changed ' || t WHERE id % 997 = $i" || return 1
        [ $((i % 5)) != 0 ] || sql "VACUUM moved" || return 1
    done
}
mover() {
    local i
    for i in $(seq 1 12); do
        sql "BEGIN; ALTER TABLE moved DETACH PARTITION moved_2; SELECT pg_sleep(0.05);
             ALTER TABLE moved ATTACH PARTITION moved_2 FOR VALUES IN (2); COMMIT" >/dev/null || return 1
        sleep 0.2
    done
}
reader() {
    local i
    for i in $(seq 1 12); do
        sql "SELECT check_query('$groups', 'any'); SELECT check_query('SELECT count(*), sum(id), max(t) FROM moved', 'any');
             SELECT check_query('SELECT name, count(*), sum(id) FROM moved JOIN dim ON g = k GROUP BY name', 'any')"
        sql "SET gpuscan.offload = force; SELECT count(*), sum(id) FROM moved"
    done | sed 's/([0-9]* rows)/(N rows)/' | sort | uniq -c | tr -s ' '
}
before=$(sql 'SELECT count(*), sum(id) FROM moved')
writer >"$tap_files/writer" 2>&1 &
writer_pid=$!
mover >"$tap_files/mover" 2>&1 &
mover_pid=$!
reader >"$tap_files/reader.1" 2>&1 &
reader_pid=$!
reader >"$tap_files/reader.2" 2>&1
wait $reader_pid
wait $writer_pid && ok 'the writer has written' true || ok "the writer has written: $(cat "$tap_files/writer")" false
wait $mover_pid && ok 'partitions were detached and attached' true || ok "partitions were detached and attached: $(cat "$tap_files/mover")" false
for n in 1 2; do
    is "reader $n: every row once, and PostgreSQL's answers" "$(cat "$tap_files/reader.$n")" " 12 $before
 36 ok (N rows)"
done
is 'afterwards' "$(sql "VACUUM moved; SELECT check_query('$groups')" | tail -n 1 | sed 's/([0-9]*/(N/')" 'ok (N rows)'

# A partition that is detached concurrently is waited for by nobody, and gone from the next plan.
sql "ALTER TABLE moved DETACH PARTITION moved_rest; ALTER TABLE moved DETACH PARTITION moved_2 CONCURRENTLY"
is 'detached concurrently' "$(sql "SELECT check_query('SELECT count(*), max(t) FROM moved'); SELECT count(*) FROM moved WHERE g = 2" | tr '\n' ' ')" 'ok (1 rows) 0 '
