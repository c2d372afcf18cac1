#!/usr/bin/env bash
# Stress with crashes: rounds of half a minute, in which writers (with savepoints, rollbacks and prepared transactions whose commits
# are asynchronous), VACUUM, DDL, old and exported snapshots and readers run at once while the device process is killed
# now and then; at the end of each round the postmaster is killed, or a backend, or the server is stopped at once. Each reader
# compares the device's answers with PostgreSQL's under one snapshot, and with a total that never changes. After each crash the total is
# right, nothing is cached yet, and the answers agree.
#
# Usage: test/stress/crashes.sh [MINUTES]     default 15; on a server of script/server.sh, whose variables are in the environment
# Prints a line for each round and the counts at the end; exit status 0: no difference, no death that was not planted, no hang.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
end=$((SECONDS + 60 * ${1:-15}))
: "${SERVER:?start a server by script/server.sh}" "${SERVER_BIN:?}" "${SERVER_DATA:?}" "${SERVER_LOG:?}"
out=$(mktemp -d)
crowds=()
# shellcheck disable=SC2317
leave() {
    kill "${crowds[@]}" 2>/dev/null
    rm -rf "$out"
}
trap leave EXIT
sql() { psql -XAtq -v ON_ERROR_STOP=1 <<<"$1"; }
rounds=0 differences=0 kills=0 postmasters=0 stops=0 backends=0 fragments=0 fallbacks=0 hangs=0 errors=0 prepared=0

fail() {
    echo "crashes: $*"
    tail -n 20 "$SERVER_LOG"
    exit 1
}

# wait_until SECONDS COMMAND...
wait_until() {
    local until=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.2
    done
}
is_ready() { [ "$(sql "SELECT bool_or(state = 'ready') FROM gpuscan.devices")" = t ]; }
device_process() { sql "SELECT DISTINCT pid FROM gpuscan.devices WHERE state = 'ready'"; }

# crowd NAME SCRIPT CLIENTS [OPTION...]: lives until the server dies
crowd() {
    local name=$1 script=$2 clients=$3
    shift 3
    pgbench -n -M simple -f "$script" -c "$clients" -j 1 -T 600 --max-tries=1000 "$@" >"$out/$name.log" 2>&1 &
    crowds+=($!)
}

start_crowds() {
    crowds=()
    coproc exporter { exec psql -XAtq 2>"$out/exporter.log"; }
    # shellcheck disable=SC2154
    crowds+=("$exporter_PID")
    echo 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot();' >&"${exporter[1]}"
    read -r -t 30 snapshot <&"${exporter[0]}" || fail 'no snapshot was exported'
    printf '%s\n' 'BEGIN ISOLATION LEVEL REPEATABLE READ;' "SET TRANSACTION SNAPSHOT '$snapshot';" 'SELECT total_check();' 'COMMIT;' \
        '\sleep 100 ms' >"$out/imported.sql"
    crowd reader "$here/reader.sql" 2
    crowd total "$here/total.sql" 2
    crowd old "$here/old.sql" 2
    crowd imported "$out/imported.sql" 1
    crowd writer "$here/writer.sql" 2
    PGOPTIONS='-c synchronous_commit=off' crowd transfer "$here/transfer.sql" 3
    crowd vacuum "$here/vacuum.sql" 1
    echo 'VACUUM account; SELECT pg_sleep(0.3); VACUUM (FREEZE) account; SELECT pg_sleep(0.3);' >"$out/vacuum.sql"
    crowd accounts "$out/vacuum.sql" 1
    crowd ddl "$here/ddl.sql" 1
}

# Kills the device process at random moments for so many seconds.
harass() {
    local until=$((SECONDS + $1)) pid
    while [ "$SECONDS" -lt "$until" ]; do
        sleep "$((2 + RANDOM % 8)).$((RANDOM % 10))"
        pid=$(device_process)
        if [ -n "$pid" ] && kill -KILL "$pid"; then
            kills=$((kills + 1))
        fi
    done
}

crash() {
    local pid
    case $((RANDOM % 4)) in
        0 | 1)
            how='postmaster killed' postmasters=$((postmasters + 1))
            kill -KILL "$(head -n 1 "$SERVER_DATA/postmaster.pid")"
            ;;
        2)
            how='stopped at once' stops=$((stops + 1))
            # shellcheck disable=SC2086
            $AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -m immediate -w -t 60 stop >/dev/null || fail 'the server does not stop'
            ;;
        3)
            how='backend killed' backends=$((backends + 1))
            pid=$(sql "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1")
            kill -KILL "$pid"
            ;;
    esac
}

gone() { ! kill -0 "$1"; }

# Of the crowds' logs: differences, and errors that a crash does not explain.
look_at_logs() {
    local found
    found=$(grep -hE -A 4 'answers differ' "$out"/*.log)
    if [ -n "$found" ]; then
        differences=$((differences + $(grep -c 'answers differ' <<<"$found")))
        head -n 200 <<<"$found"
    fi
    # (The exporter may leave before the others have noticed the crash; then its snapshot is gone.)
    found=$(grep -hE 'ERROR|FATAL|PANIC' "$out"/*.log |
        grep -vE 'answers differ|terminating connection|the database system is|could not serialize|deadlock detected|snapshot "[^"]*" does not exist')
    if [ -n "$found" ]; then
        errors=$((errors + $(wc -l <<<"$found")))
        sort <<<"$found" | uniq -c | head
    fi
}

restart() {
    local pid gid which finish
    [ -z "${exporter[1]:-}" ] || echo '\q' >&"${exporter[1]}"
    for pid in "${crowds[@]}"; do
        if ! wait_until 60 gone "$pid"; then
            hangs=$((hangs + 1))
            echo "crashes: a session lives on: $(ps -o args= -p "$pid")"
            kill "$pid"
        fi
    done
    if [ "$how" != 'backend killed' ]; then
        # (Processes of a killed postmaster may take a moment to notice.)
        # shellcheck disable=SC2086
        wait_until 60 $AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -l "$SERVER_LOG" -w -t 60 start ||
            fail "the server does not start again: $how"
    fi
    wait_until 60 is_ready || fail "the device is not ready again: $how"
    [ "$(sql 'SELECT sum(cache_bytes) FROM gpuscan.devices')" = 0 ] || fail "the cache has survived: $how"
    sql "SET client_min_messages = warning; ALTER TABLE fact DROP COLUMN IF EXISTS extra" # that ddl.sql had just added
    for gid in $(sql "SELECT replace(gid, ' ', ':') FROM pg_prepared_xacts"); do
        prepared=$((prepared + 1))
        sql 'SELECT total_check()' >"$out/check.log" 2>&1 || cat "$out/check.log"
        if ((RANDOM % 2)); then finish=COMMIT; else finish=ROLLBACK; fi
        sql "$finish PREPARED '${gid/:/ }'"
    done
    for which in total_check 'stress_check 0' 'stress_check 1' 'stress_check 2' 'stress_check 3' 'stress_check 4' 'stress_check 5' total_check; do
        sql "SELECT ${which% *}($([ "$which" = "${which#* }" ] || echo "${which#* }"))" >>"$out/check.log" 2>&1
    done
    look_at_logs
    rm -f "$out"/*.log
}

psql -Xq -v ON_ERROR_STOP=1 -f "$here/setup.sql" -f "$here/accounts.sql" >"$out/setup.log" 2>&1 || { cat "$out/setup.log"; exit 1; }
wait_until 30 is_ready || fail 'the device is not ready'
first=$(($(stat -c %s "$SERVER_LOG") + 1))
while [ "$SECONDS" -lt "$end" ]; do
    rounds=$((rounds + 1))
    start_crowds
    harass 30
    read -r used fell < <(sql "SELECT fragments || ' ' || fallbacks FROM gpuscan.stat") || fail 'the server does not answer'
    [ "$used" -ge 20 ] || fail "the device was hardly used: $used fragments"
    crash
    restart
    fragments=$((fragments + used)) fallbacks=$((fallbacks + fell))
    echo "crashes: round $rounds, $how: $used fragments, $fell fallbacks; $kills device processes killed, $differences differences"
    [ "$differences" = 0 ] || break
done
planted=$((kills + 2 * rounds)) # (each crash may end a device process, too)
"$here/../../script/honest.sh" crashes "$SERVER_LOG" "$first" || errors=$((errors + 1))
died=$(tail -c "+$first" "$SERVER_LOG" | grep -cE 'gpuscan device process \(PID [0-9]+\) was terminated')
# (A session of 18 that waits for PostgreSQL's asynchronous I/O when the postmaster dies waits again as it exits, and fails this assertion.)
at_exit='Assert("!IsTransactionOrTransactionBlock()"), File: "pgstat.c"'
bad=$(tail -c "+$first" "$SERVER_LOG" | grep -E 'TRAP|PANIC|leak|terminated by signal ([0-8]|[1-9][0-9])\b|gpuscan device process .* exited with' | grep -vF "$at_exit" | head -n 5)
[ -z "$bad" ] || { echo "crashes: the server's log shows:"; echo "$bad"; }
echo "crashes: $rounds rounds; postmaster killed $postmasters times, stopped at once $stops, backend killed $backends; $prepared transactions were left prepared;" \
    "$fragments fragments, $fallbacks fallbacks; device process killed $kills times, deaths in the log $died; $differences differences, $errors errors, $hangs hangs"
[ -z "$bad" ] && [ "$differences" = 0 ] && [ "$errors" = 0 ] && [ "$hangs" = 0 ] && [ "$died" -le "$planted" ]
