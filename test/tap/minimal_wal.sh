#!/usr/bin/env bash
# Tables that were loaded without WAL: heap pages and map pages with LSN 0 are cached, one column after the other, and
# repaired after writes; beside them a table of the same file number in another database, and a crash.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'shared_buffers = 128MB' 'gpuscan.device = host' 'wal_level = minimal' 'max_wal_senders = 0' 'wal_skip_threshold = 0' \
    'autovacuum = off' 'gpuscan.offload = force' 'max_parallel_workers_per_gather = 0'
sql 'CREATE EXTENSION pageinspect'

# load NAME FACTOR: frozen, in the transaction that creates it
load() {
    sql "BEGIN; CREATE TABLE $1 (a int, b int8, t text) WITH (autovacuum_enabled = off);
         COPY $1 FROM PROGRAM 'seq 1 60000 | awk ''{ print \$1 \"\\t\" \$1 * $2 \"\\tt\" \$1 % 50 }''' WITH (FREEZE);
         COMMIT"
}
# pages QUERY: how many were cached and decoded
pages() {
    sql "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $1" | sed -n 's/.*Pages: *//p'
}
check() {
    is "$1: a" "$(sql "SELECT check_query('SELECT count(*), sum(a), min(a) FROM load')")" 'ok (1 rows)'
    is "$1: b by t" "$(sql "SELECT check_query('SELECT t, count(*), sum(b) FROM load GROUP BY t')" | sed 's/([0-9]*/(N/')" 'ok (N rows)'
    is "$1: all" "$(sql "SELECT check_query('SELECT count(*), sum(a), sum(b), max(t) FROM load')")" 'ok (1 rows)'
}

load load 7
n=$(sql "SELECT pg_relation_size('load') / 8192")
is 'heap pages have LSN 0' "$(sql "SELECT count(*) FROM generate_series(0, $n - 1) p WHERE (page_header(get_raw_page('load', p::int))).lsn <> '0/0'")" 0
is 'so has the page of the visibility map' "$(sql "SELECT (page_header(get_raw_page('load', 'vm', 0))).lsn")" 0/0
is 'decoded at first' "$(pages 'SELECT sum(a) FROM load')" "cached=0 decoded=$n rowwise=0"
is 'then cached' "$(pages 'SELECT sum(a) FROM load')" "cached=$n decoded=0 rowwise=0"
is 'another column is decoded' "$(pages 'SELECT sum(b) FROM load')" "cached=0 decoded=$n rowwise=0"
is 'the first one is still there' "$(pages 'SELECT sum(a) FROM load')" "cached=$n decoded=0 rowwise=0"
is 'both together' "$(pages 'SELECT sum(a), sum(b) FROM load')" "cached=$n decoded=0 rowwise=0"
check 'loaded'
sql "UPDATE load SET b = b + 1, t = 'new' WHERE a IN (3, 30000, 59999); DELETE FROM load WHERE a BETWEEN 100 AND 120"
check 'written to'
sql 'VACUUM load'
sql "SELECT pg_logical_emit_message(true, 'gpuscan', 'flush')" >/dev/null # what VACUUM has changed is known when WAL is flushed
check 'vacuumed'
sql "SELECT sum(a), sum(b), max(t) FROM load" >/dev/null
is 'cached after the repair' "$(pages 'SELECT sum(a), sum(b) FROM load' | sed 's/cached=[1-9][0-9]* decoded=0 rowwise=0/cached/')" cached
sql 'INSERT INTO load SELECT i, i, $$more$$ FROM generate_series(60001, 61000) i'
check 'longer'
sql 'VACUUM (FREEZE) load'
check 'frozen'
# A new file in a transaction of its own: truncated, loaded again, rolled back and committed.
sql "BEGIN; TRUNCATE load; COPY load FROM PROGRAM 'seq 1 900 | awk ''{ print \$1 \"\\t\" \$1 * 3 \"\\tx\" }''' WITH (FREEZE); SELECT sum(a) FROM load; ROLLBACK" >/dev/null
check 'rolled back'
is 'the loading transaction itself is not served from the cache' "$(sql "BEGIN; TRUNCATE load;
    COPY load FROM PROGRAM 'seq 1 900 | awk ''{ print \$1 \"\\t\" \$1 * 3 \"\\tx\" }''' WITH (FREEZE);
    EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT sum(a) FROM load; COMMIT" | sed -n 's/.*Pages: *\(cached=[0-9]* decoded=[0-9]*\).*/\1/p')" 'cached=0 decoded=0'
check 'truncated and loaded again'

# The same file number, below a database that comes with the same OID and other data.
sql 'CREATE DATABASE one'
PGDATABASE=one sql 'CREATE EXTENSION gpuscan'
PGDATABASE=one load load 11
sql 'CREATE DATABASE two TEMPLATE one STRATEGY file_copy'
oid=$(sql "SELECT oid FROM pg_database WHERE datname = 'one'")
PGDATABASE=two sql 'BEGIN; CREATE TABLE other (LIKE load); INSERT INTO other SELECT a, b * 2, t FROM load; DROP TABLE load; ALTER TABLE other RENAME TO load; COMMIT; VACUUM (FREEZE) load'
is 'the first database' "$(PGDATABASE=one sql 'SELECT sum(b) FROM load')" 19800330000
is 'cached' "$(PGDATABASE=one sql 'SELECT sum(b) FROM load')" 19800330000
sql "DROP DATABASE one; CREATE DATABASE one OID $oid TEMPLATE two STRATEGY file_copy"
is 'the second one in its place' "$(PGDATABASE=one sql 'SELECT sum(b) FROM load')" 39600660000

load crash 5
is 'before the crash' "$(sql 'SELECT sum(b), count(*) FROM crash')" '9000150000|60000'
sql 'UPDATE crash SET b = b + 1 WHERE a = 1'
$AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -m immediate -w stop >/dev/null
script/server.sh restart "$SERVER" || exit 1
wait_until 30 "SELECT state = 'ready' FROM gpuscan.devices WHERE kind = 'host'"
for _ in 1 2; do
    is 'after the crash' "$(sql 'SELECT sum(b), count(*) FROM crash')" '9000150001|60000'
done
check 'after the crash'
nothing_in_log 'PANIC|TRAP|leak|was terminated by signal' 'nothing bad in the log'
