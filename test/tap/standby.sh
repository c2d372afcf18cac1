#!/usr/bin/env bash
# A hot standby answers from its device while the primary writes and vacuums: the answers are PostgreSQL's under the
# same snapshot, and go on to be after promotion.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host' 'wal_level = replica' 'max_wal_senders = 4' 'hot_standby = on'
psql -Xq -v ON_ERROR_STOP=1 -f test/stress/setup.sql 2>"$tap_files/setup.log" || { cat "$tap_files/setup.log"; exit 1; }
primary_port=$PGPORT
standby_port=$((PGPORT + 1))
standby=$SERVER/standby
# shellcheck disable=SC2086
$AS_SERVER "$SERVER_BIN/pg_basebackup" -h "$PGHOST" -p "$primary_port" -U postgres -D "$standby" -R -X stream -c fast --no-sync || exit 1
$AS_SERVER bash -c "printf '%s\n' 'port = $standby_port' 'hot_standby_feedback = on' 'max_standby_streaming_delay = 5s' >>'$standby/postgresql.conf'"
at_exit+=("\$AS_SERVER '$SERVER_BIN/pg_ctl' -D '$standby' -m immediate -w stop >/dev/null 2>&1")
$AS_SERVER "$SERVER_BIN/pg_ctl" -D "$standby" -l "$SERVER/standby.log" -w -t 60 start >/dev/null || { tail "$SERVER/standby.log"; exit 1; }
on_standby() {
    PGPORT=$standby_port "$@"
}
on_standby wait_until 30 "SELECT bool_or(state = 'ready') FROM gpuscan.devices"
result $? 'the standby has a device'
is 'it is a standby' "$(on_standby sql 'SELECT pg_is_in_recovery()')" t
fact='SELECT t, count(*), sum(v), sum(n), min(d) FROM fact GROUP BY t'
is 'it answers from the device' "$(on_standby sql "SELECT check_query('$fact')")" 'ok (20 rows)'
is 'and from the cache' "$(on_standby sql "SET gpuscan.offload = force; EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) $fact" | grep -E 'Pages (Decoded|Rowwise)' | tr -d ' ,\n')" '"PagesDecoded":0"PagesRowwise":0'
expression="SELECT to_char(d, 'YYYY-MM') || t, count(*), sum(v) FROM fact GROUP BY 1"
is 'expressions are evaluated for its cache' "$(on_standby sql "SELECT check_query(\$q\$$expression\$q\$)" | cut -c1-3)" 'ok '
is 'and kept there' "$(on_standby sql "SELECT count(*) > 0 AND min(pages) > 0 FROM gpuscan.cached_columns WHERE expression LIKE '%to_char%'")" t

fragments=$(on_standby sql 'SELECT fragments FROM gpuscan.stat')
pgbench -n -f test/stress/writer.sql -c 2 -j 1 -T 30 --max-tries=100 >"$tap_files/writer.log" 2>&1 &
crowd=($!)
pgbench -n -f test/stress/vacuum.sql -c 1 -j 1 -T 30 >"$tap_files/vacuum.log" 2>&1 &
crowd+=($!)
on_standby pgbench -n -f test/stress/reader.sql -c 3 -j 1 -T 30 --max-tries=1000 >"$tap_files/reader.log" 2>&1 &
crowd+=($!)
for pid in "${crowd[@]}"; do
    wait "$pid"
    result $? 'a crowd of sessions ended well'
done
! grep -hE 'answers differ|aborted|FATAL|no unpinned' "$tap_files"/*.log | sort | uniq -c | head -n 5 | grep .
result $? 'no answer on the standby differed'
note "$(grep 'actually processed' "$tap_files/reader.log") by readers"
ok 'the standby used its device' test "$(on_standby sql 'SELECT fragments FROM gpuscan.stat')" -gt $((fragments + 50))
lsn=$(sql 'SELECT pg_current_wal_lsn()')
PGPORT=$standby_port wait_until 60 "SELECT pg_last_wal_replay_lsn() >= '$lsn'"
result $? 'the standby has caught up'
both="SELECT md5(string_agg(x::text, ' ' ORDER BY x::text)) FROM ($fact) x"
is 'primary and standby agree' "$(on_standby sql "SET gpuscan.offload = force; $both")" "$(sql "SET gpuscan.offload = off; $both")"
is 'about expressions, too' "$(on_standby sql "SET gpuscan.offload = force; ${both/"$fact"/"$expression"}")" "$(sql "SET gpuscan.offload = off; ${both/"$fact"/"$expression"}")"

# A conflict with recovery ends the statement, not the session, whatever is being computed.
sql "CREATE TABLE gone (a int)"
on_standby sql "ALTER SYSTEM SET hot_standby_feedback = off"
on_standby sql "ALTER SYSTEM SET max_standby_streaming_delay = 0"
on_standby sql 'SELECT pg_reload_conf()' >/dev/null
PGPORT=$standby_port wait_until 60 "SELECT to_regclass('gone') IS NOT NULL"

# conflict NAME PATTERN QUERY: rows of `gone` are cleaned up while the query, whose text alone has the pattern, runs
conflict() {
    local conflicting lsn
    sql "INSERT INTO gone SELECT i FROM generate_series(1, 20000) i"
    lsn=$(sql 'SELECT pg_current_wal_insert_lsn()')
    PGPORT=$standby_port wait_until 60 "SELECT pg_last_wal_replay_lsn() >= '$lsn'"
    on_standby psql -XAtq -c 'SET gpuscan.offload = force' -c "$3" -c "SELECT 'usable'" >"$tap_files/conflict.log" 2>&1 &
    conflicting=$!
    PGPORT=$standby_port wait_until 10 "SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '$2' AND pid <> pg_backend_pid()"
    sleep 2
    sql "DELETE FROM gone"
    sql "VACUUM gone"
    wait "$conflicting"
    ok "a conflict with recovery ends $1" grep -q 'conflict with recovery' "$tap_files/conflict.log"
    [ "$tap_failed" = 0 ] || sed "s/^/#   /" "$tap_files/conflict.log"
    is 'and not the session' "$(tail -n 1 "$tap_files/conflict.log")" usable
}
conflict 'a subquery' '%FROM gone x, gone y, gone z%' "SELECT count(*) FROM fact WHERE v = (SELECT sum(10 / (x.a + y.a + z.a))::int FROM gone x, gone y, gone z)"
long="SELECT left(md5(repeat(t || id, 5000)), 1), count(*) FROM fact GROUP BY 1"
ok 'its expression is a column' grep -qF 'Expressions' <<<"$(on_standby sql "SET gpuscan.offload = force; EXPLAIN (VERBOSE, FORMAT JSON) $long")"
conflict 'the evaluation of an expression' '%repeat(t%' "$long"
# (A chunk that was complete by then may have been kept.)
is 'right answers from what is kept of it' "$(on_standby sql "SELECT check_query('$long')")" 'ok (16 rows)'
on_standby sql 'SELECT pg_promote()' >/dev/null
is 'promoted' "$(on_standby sql 'SELECT pg_is_in_recovery()')" f
on_standby sql "UPDATE fact SET v = v + 1 WHERE id % 1000 = 0; DELETE FROM fact WHERE id % 777 = 0; VACUUM fact"
is 'right answers after promotion' "$(on_standby sql "SELECT check_query('SELECT count(*), sum(v), sum(n), min(t), max(d) FROM fact')")" 'ok (1 rows)'
ok 'nothing hidden on the standby' script/honest.sh tap/standby "$SERVER/standby.log"
! grep -E 'PANIC|TRAP|leak|was terminated' "$SERVER/standby.log" | grep .
result $? 'nothing bad in the log of the standby'
nothing_in_log 'PANIC|TRAP|leak|was terminated' 'nor in that of the primary'
