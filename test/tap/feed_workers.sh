#!/usr/bin/env bash
# Parallel workers bring the chunks of a large table to the device, or parts of one chunk: right answers cold and hot, beside writers, with
# a cache far too small, without free slots or workers; cancels and the end of a worker leave no pin and no slot behind.
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'shared_buffers = 640MB' 'gpuscan.device = host' 'gpuscan.max_feed_workers = 2' 'max_parallel_workers_per_gather = 0' \
    'gpuscan.max_concurrent_fragments = 8' 'gpuscan.cache_size = 1GB'
sql "CREATE EXTENSION pg_buffercache;
     CREATE UNLOGGED TABLE long (id int, g int2, n numeric(9,2), t text, width char(40)) WITH (fillfactor = 10, autovacuum_enabled = off);
     INSERT INTO long SELECT i, i % 40, i / 4.0, 't' || i % 1000, '' FROM generate_series(1, 600000) i;
     CREATE TABLE docs (id int PRIMARY KEY, g int2, d timestamp, doc jsonb) WITH (fillfactor = 70, autovacuum_enabled = off);
     INSERT INTO docs SELECT i, i % 40, '2024-01-01'::timestamp + i * interval '7 minutes', jsonb_build_object('n', i % 977, 'name', 'n' || i % 50,
         'odd', CASE WHEN i % 3001 = 7 THEN 'none' ELSE (i % 13)::text END) FROM generate_series(1, 100000) i;
     VACUUM (FREEZE, ANALYZE) docs;
     CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 5 AS name FROM generate_series(0, 30) i;
     ANALYZE long; VACUUM (FREEZE, ANALYZE) dim"
pages=$(sql "SELECT pg_relation_size('long') / 8192")
ok "the table has at least three chunks ($pages pages)" test "$pages" -gt 65344
one_chunk=$(sql "SELECT pg_relation_size('docs') / 8192")
ok "docs has one chunk, and pages enough for three processes ($one_chunk pages)" test "$one_chunk" -gt 1229 -a "$one_chunk" -lt 32672
evict='SELECT gpuscan.evict();'
months="SELECT to_char(d, 'YYYY-MM'), count(*), sum((doc ->> 'n')::int), min(doc ->> 'name') FROM docs WHERE g < 30 GROUP BY 1"
shown="SELECT g, count(*), sum(length(to_char(n, 'FM9999999.99'))) FROM long GROUP BY g"
groups='SELECT t, count(*), sum(n) FROM long WHERE g < 20 GROUP BY t'

# What pg_stat_all_tables gets of a query that reads the table: rows beside those that there are.
rows_counted() {
    sql "$1 SET gpuscan.offload = force; BEGIN; SELECT count(*), sum(n) FROM long \\gset
        SELECT pg_stat_get_xact_numscans('long'::regclass), pg_stat_get_xact_tuples_returned('long'::regclass) - :count; COMMIT" | tail -n 1
}
check_all() {
    is "$1: rows counted" "$(rows_counted "$2")" '1|0'
    is "$1: aggregates" "$(sql "$2 SELECT check_query('SELECT count(*), sum(id), sum(n), min(t), max(t) FROM long')" | tail -n 1)" 'ok (1 rows)'
    is "$1: groups" "$(sql "$2 SELECT check_query('$groups')" | tail -n 1 | sed 's/([0-9]*/(N/')" 'ok (N rows)'
    is "$1: join" "$(sql "$2 SELECT check_query('SELECT name, count(*), sum(id) FROM long JOIN dim ON g = k GROUP BY name')" | tail -n 1)" 'ok (5 rows)'
    is "$1: the build side" "$(sql "$2 SELECT check_query('SELECT count(*), sum(a.n) FROM dim JOIN long a ON a.id = k')" | tail -n 1)" 'ok (1 rows)'
}
# workers SETTINGS [QUERY]: how many a cold query has used
workers() {
    sql "$evict SET gpuscan.offload = force; $1 EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ${2:-$groups}" | sed -n 's/.*Feed Workers: //p'
}
# check QUERY [SETTINGS]: the last line, without the number of rows
check() { sql "$2 SELECT check_query(\$query\$$1\$query\$)" | tail -n 1 | sed 's/([0-9]*/(N/'; }
check_expressions() {
    is "$1: expressions of one chunk" "$(check "$months" "$2")" 'ok (N rows)'
    is "$1: expressions that fail in some rows" \
        "$(check "SELECT g, sum((doc ->> 'odd')::int) FROM docs WHERE id % 3001 <> 7 GROUP BY g" "$2")" 'ok (N rows)'
    is "$1: expressions of several chunks, each by all" "$(check "$shown" "$2 SET gpuscan.max_feed_workers = 4;")" 'ok (N rows)'
}
# (A session tells its client that it ends, and ends then.)
idle() {
    for _ in {1..50}; do
        [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type IN ('client backend', 'parallel worker')")" != 0 ] || break
        sleep 0.1
    done
    is "$1: no buffer is pinned" "$(sql "SELECT coalesce(sum(pinning_backends), 0) FROM pg_buffercache WHERE relfilenode IN (pg_relation_filenode('long'), pg_relation_filenode('docs'))
        AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())")" 0
    is "$1: no worker is left" "$(sql "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'")" 0
    is "$1: the slots are back" "$(
        for _ in 1 2 3 4 5 6 7 8; do
            psql -XAtq -c 'SET gpuscan.max_feed_workers = 0' -c "SELECT plan_of('$groups')" &
        done | sort | uniq -c | tr -s ' '
        wait
    )" ' 8 device'
}

# ---- pages that cannot be cached ----

by_row() {
    sql "SET gpuscan.offload = force; $1 EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $groups" | sed -n 's/ *Pages: cached=[0-9]* *decoded=[0-9]* *//p; s/.*\(Feed Workers: \)/\1/p' | tr '\n' ' '
}
older_snapshot() {
    psql -XAtq <<SQL
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM dim;
\! psql -XAtq -c 'UPDATE long SET n = n + 1000 WHERE g = 2'
SELECT check_query('$groups');
SQL
}
# (what a transaction has rewritten it reads row by row)
is 'workers bring rows' "$(by_row 'BEGIN; ALTER TABLE long SET LOGGED;')" "rowwise=$pages Feed Workers: 2 "
is 'alone the session does' "$(by_row 'SET gpuscan.max_feed_workers = 0; BEGIN; ALTER TABLE long SET LOGGED;')" "rowwise=$pages "
sql 'ALTER TABLE long SET LOGGED'
check_all 'never vacuumed' ''
is 'rows of the own transaction' "$(sql "BEGIN; UPDATE long SET n = n + 1 WHERE g = 7; DELETE FROM long WHERE id % 1000 = 5; SAVEPOINT s; INSERT INTO long SELECT i, 3, 1, 'new' FROM generate_series(1, 70000) i;
    DELETE FROM long WHERE id < 10; ROLLBACK TO s; DECLARE c CURSOR FOR SELECT count(*) FROM long; UPDATE long SET n = 0 WHERE id = 77; SELECT check_query('$groups'); ROLLBACK" | tail -n 1 | sed 's/([0-9]*/(N/')" 'ok (N rows)'
is 'a snapshot that is older than the rows' "$(older_snapshot | tail -n 1 | sed 's/([0-9]*/(N/')" 'ok (N rows)'
sql "COPY long TO STDOUT" >"$tap_files/long"
is 'a table that the transaction itself has created and frozen' "$(psql -XAtq <<SQL | tr '\n' ' '
BEGIN;
CREATE TABLE young (LIKE long) WITH (fillfactor = 10);
\\copy young FROM '$tap_files/long' WITH (FREEZE)
SELECT check_query('SELECT count(*), sum(id), sum(n), min(t), max(t) FROM young');
SELECT count(*) FROM gpuscan.cached_columns WHERE relid = 'young'::regclass;
SET LOCAL gpuscan.offload = force;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*), sum(id) FROM young \\g | sed -n 's/.*\\(Feed Workers: \\)/\\1/p'
ROLLBACK;
SQL
)" 'ok (1 rows) 0 Feed Workers: 2 '
sql "UPDATE long SET t = repeat(md5(id::text), 200) WHERE id % 40000 = 1" # values that only PostgreSQL decodes
check_all 'values out of line' ''
sql 'UPDATE long SET t = $$t1$$ WHERE length(t) > 1000'
sql 'ALTER TABLE long SET UNLOGGED'
is 'of an unlogged table' "$(by_row '')" 'rowwise=0 Feed Workers: 2 '
check_all 'unlogged' ''
sql 'ALTER TABLE long SET LOGGED; VACUUM (FREEZE, ANALYZE) long'
pages=$(sql "SELECT pg_relation_size('long') / 8192")

is 'two workers feed' "$(workers '')" 2
is 'none when there shall be none' "$(workers 'SET gpuscan.max_feed_workers = 0;')" ''
is 'none when PostgreSQL has none' "$(workers 'SET max_parallel_workers = 0;')" ''
is 'in a function, in a subtransaction, in a transaction that has written' "$(sql "
    SET gpuscan.offload = force; CREATE TEMP TABLE answer (rows bigint);
    $evict
    DO \$\$ DECLARE plan text := ''; line text; BEGIN
        INSERT INTO answer VALUES (1);
        BEGIN
            FOR line IN EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $groups LOOP plan := plan || line; END LOOP;
            INSERT INTO answer SELECT count(*) FROM long;
        EXCEPTION WHEN division_by_zero THEN NULL;
        END;
        IF plan !~ 'Feed Workers: 2' THEN RAISE EXCEPTION 'no workers: %', plan; END IF;
    END \$\$;
    SELECT string_agg(rows::text, ' ' ORDER BY rows) FROM answer" | tail -n 1)" '1 600000'
is 'the statement itself writes' "$(sql "SET gpuscan.offload = force; CREATE TEMP TABLE answer (rows bigint); $evict
    INSERT INTO answer SELECT count(*) FROM long; SELECT rows FROM answer" | tail -n 1)" 600000
is 'a cursor' "$(sql "SET gpuscan.offload = force; SET cursor_tuple_fraction = 1; $evict BEGIN; DECLARE c CURSOR FOR SELECT g, count(*) FROM long WHERE g < 3 GROUP BY g ORDER BY g;
    FETCH 2 FROM c; FETCH 2 FROM c; COMMIT" | tail -n 3 | tr '\n' ' ')" '0|15000 1|15000 2|15000 '
is 'prewarming' "$(sql "$evict SELECT gpuscan.prewarm('long')" | tail -n 1)" "$pages"
check_all 'cold' "$evict"
check_all 'hot' ''
is 'two workers evaluate for one chunk' "$(workers '' "$months")" 2
is 'four for several' "$(workers 'SET gpuscan.max_feed_workers = 4;' "$shown")" 4
is 'the session alone evaluates for one chunk' "$(workers 'SET gpuscan.max_feed_workers = 0;' "$months")" ''
check_expressions 'cold' "$evict"
check_expressions 'hot' ''

sql 'UPDATE long SET n = n + 1 WHERE id IN (5, 149999, 299990, 550000); DELETE FROM long WHERE id BETWEEN 300 AND 400 OR id BETWEEN 445000 AND 445200'
sql "UPDATE docs SET doc = doc || '{\"n\": 5}' WHERE id % 7 = 0; DELETE FROM docs WHERE id BETWEEN 300 AND 400"
check_all 'written to, cold' "$evict"
check_expressions 'written to, cold' "$evict"
# Beside writers: an answer that is consistent in itself, by PostgreSQL and by the device in one snapshot
printf '%s\n' '\set id random(1, 600000)' 'UPDATE long SET n = n + 1 WHERE id BETWEEN :id AND :id + 50;' >"$tap_files/writer.sql"
sql 'CREATE INDEX ON long (id)'
cat >"$tap_files/docs_writer.sql" <<'SQL'
\set id random(1, 100000)
UPDATE docs SET doc = doc || '{"n": 3}', d = d + interval '1 hour' WHERE id BETWEEN :id AND :id + 20;
SQL
pgbench -n -f "$tap_files/writer.sql" -f "$tap_files/docs_writer.sql" -c 2 -j 1 -T 30 >"$tap_files/pgbench.log" 2>&1 &
writers=$!
differences=0
while kill -0 "$writers" 2>/dev/null; do
    for query in 'SELECT count(*), sum(id), sum(n), min(t), max(t) FROM long' "$months" "$shown" "$months"; do
        answer=$(sql "$evict SET gpuscan.max_feed_workers = 4; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT check_query(\$query\$$query\$query\$); COMMIT" | tail -n 1)
        [[ $answer == 'ok ('* ]] || { differences=$((differences + 1)); note "$answer"; }
    done
done
wait "$writers"
is 'beside writers there is no difference' "$differences" 0
note "writers: $(grep 'actually processed' "$tap_files/pgbench.log" | sed 's/.*://') transactions"
sql 'VACUUM long'
check_all 'vacuumed' ''
check_expressions 'after the writers' ''

# ---- interruptions ----

# interrupt DELAY FUNCTION WHOM QUERY: some time after its start
interrupt() {
    psql -XAt -c 'SET gpuscan.offload = force' -c 'SELECT gpuscan.evict()' -c "$4" -c "SELECT 'usable'" >"$tap_files/session.out" 2>&1 &
    local session=$!
    sleep "$1"
    sql "SELECT $2(pid) FROM pg_stat_activity WHERE backend_type = '$3' AND left(query, 20) = left(\$query\$$4\$query\$, 20)" >/dev/null
    wait "$session"
    tail -n 1 "$tap_files/session.out"
}
goes_on=0
for delay in 0.05 0.1 0.15 0.2 0.3 0.5; do
    for query in "$groups" "$months"; do
        [ "$(interrupt "$delay" pg_cancel_backend 'client backend' "$query")" = usable ] || goes_on=1
        [ "$(interrupt "$delay" pg_cancel_backend 'parallel worker' "$query")" = usable ] || goes_on=1
        [ "$(interrupt "$delay" pg_terminate_backend 'parallel worker' "$query")" = usable ] || goes_on=1
        interrupt "$delay" pg_terminate_backend 'client backend' "$query" >/dev/null
    done
done
result "$goes_on" 'sessions go on after cancels and terminated workers'
ok 'some of them met a cancel' grep -q 'canceling statement due to user request' "$SERVER_LOG"
ok 'some of them lost a worker' grep -q 'terminating background worker "parallel worker\|terminating connection due to administrator command' "$SERVER_LOG"
idle 'after interruptions'
check_all 'after interruptions' "$evict"
check_expressions 'after interruptions' "$evict"
for query in "$groups" "$groups" "$groups" "$months" "$months"; do
    psql -XAtq -c 'SET gpuscan.offload = force' -c 'SELECT gpuscan.evict()' -c "$query" >"$tap_files/killed.out" 2>&1 &
    session=$!
    sleep 0.2
    pid=$(sql "SELECT pid FROM gpuscan.devices WHERE kind = 'host'")
    kill -KILL "$pid"
    wait "$session"
    ok 'the device process dies: PostgreSQL answers' test "$(wc -l <"$tap_files/killed.out")" -gt 15
    wait_until 30 "SELECT state = 'ready' AND pid <> $pid FROM gpuscan.devices WHERE kind = 'host'"
done
idle 'after the deaths of the device process'

# ---- little of everything ----

is 'workers leave the slots to sessions' "$(
    for _ in 1 2 3 4 5 6; do
        sql "$evict SELECT check_query('$groups')" | tail -n 1 | sed 's/([0-9]*/(N/' &
    done | sort | uniq -c | tr -s ' '
    wait
)" ' 6 ok (N rows)'
script/server.sh restart "$SERVER" 'gpuscan.cache_size = 8MB' 'shared_buffers = 16MB' 'max_connections = 100' 'gpuscan.max_concurrent_fragments = 64' || exit 1
wait_until 30 "SELECT state = 'ready' FROM gpuscan.devices WHERE kind = 'host'"
check_all 'a cache and shared_buffers far too small' ''
check_expressions 'a cache and shared_buffers far too small' ''
answer=$(sql "SET gpuscan.offload = off; SELECT count(*), sum(id) FROM long")
is 'fifty sessions at once' "$(
    for _ in $(seq 50); do
        psql -XAtq -c 'SET gpuscan.offload = force' -c 'SELECT count(*), sum(id) FROM long' 2>&1 &
    done | sort | uniq -c | tr -s ' '
    wait
)" " 50 $answer"
script/server.sh restart "$SERVER" 'gpuscan.cache_size = 64MB' 'shared_buffers = 320MB' || exit 1
wait_until 30 "SELECT state = 'ready' FROM gpuscan.devices WHERE kind = 'host'"
check_all 'a cache that streams' ''
check_expressions 'a cache that streams' ''
is 'workers feed it' "$(workers '' | grep -cE '^[12]$')" 1
note "memory of the host device: $(sql "SELECT pg_size_pretty(memory_used) FROM gpuscan.devices WHERE kind = 'host'")"
nothing_in_log 'PANIC|TRAP|leak|was terminated by signal 11|still pinned|not closed' 'nothing bad in the log'
