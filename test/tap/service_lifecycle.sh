#!/usr/bin/env bash
# The device process's life: it comes back after every death, its clients learn of it at once, other sessions never
# notice, and no way to end the server leaves it behind. Starts a server of its own; prints "ok" and "not ok" lines.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

# The faults on demand are compiled in by this definition only; its objects lie apart.
export BUILD=${BUILD:-build}/test-commands DEFINES=-DGPUSCAN_TEST_COMMANDS
start_server 'gpuscan.max_concurrent_fragments = 1'

# ask ARGUMENT...: psql's answer, errors included
ask() {
    psql -XAtq -d "${database:-postgres}" "$@" 2>&1
}

# The processes of this server whose title begins so (a zombie has no working directory any more).
processes() {
    local pid
    for pid in $(pgrep -f "^postgres: .*gpuscan $1"); do
        [ "$(readlink "/proc/$pid/cwd")" != "$SERVER_DATA" ] || echo "$pid"
    done
}

device_processes() {
    processes 'device process'
}

no_device_process() {
    [ -z "$(device_processes)" ]
}

gone() {
    ! kill -0 "$1"
}

# within SECONDS COMMAND...: it succeeds before the time is over
within() {
    local end=$(($(date +%s%N) + $1 * 1000000000))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s%N)" -lt "$end" ] || return 1
        sleep 0.02
    done
}

is_ready() {
    [ "$(ask -c "SELECT count(*) > 0 FROM gpuscan.devices WHERE state = 'ready'")" = t ]
}

# is_ready_without PID: with another device process than this one
is_ready_without() {
    [ "$(device_processes)" != "$1" ] && is_ready
}

none_left() {
    [ -z "$(processes '')" ]
}

server_ctl() {
    (cd / && $AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -w "$@") >/dev/null 2>&1
}

a_session_stalls() {
    [ "$(ask -c "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%stall%' AND pid <> pg_backend_pid()
        AND wait_event_type = 'Extension'")" = 1 ]
}

# stall: a session of its own waits for the device; its answer goes to $SERVER/stall
stall() {
    ask -c "SELECT gpuscan_test_device('stall')" >"$SERVER/stall" &
    stalled=$!
    within 10 a_session_stalls
}

ask -f test/sql-support/gpuscan_test.sql
is 'one device process' "$(device_processes | wc -l)" 1
is 'it is the supervisor'\''s child' "$(ps -o ppid= -p "$(device_processes)" | tr -d ' ')" "$(processes supervisor)"

# ---- deaths --------------------------------------------------------------------------------------------------------

# A session that must live through all of them.
coproc session { psql -XAtq 2>&1; }
echo 'SELECT pg_backend_pid();' >&"${session[1]}"
read -r session_backend <&"${session[0]}"

# (After some deaths in a row the supervisor waits up to some seconds before the next start.)
for signal in KILL SEGV TERM; do
    old=$(device_processes)
    stall
    kill -$signal "$old"
    ok "SIG$signal: who waits is told" within 2 gone "$stalled"
    is "SIG$signal: ... that the device is lost" "$(cat "$SERVER/stall")" lost
    ok "SIG$signal: the device process comes back" within 20 is_ready
    ok "SIG$signal: ... as another process" test "$(device_processes)" != "$old"
done
is 'the restarts are counted' "$(ask -c 'SELECT restarts FROM gpuscan.stat')" 3

# ---- cancel, and slots that come back ------------------------------------------------------------------------------

backend_that_stalls="(SELECT pid FROM pg_stat_activity WHERE query LIKE '%stall%' AND pid <> pg_backend_pid())"
for function in pg_cancel_backend pg_terminate_backend; do
    stall
    ask -c "SELECT $function(pid) FROM $backend_that_stalls s(pid)" >/dev/null
    ok "$function ends the wait" within 1 gone "$stalled"
done
for _ in 1 2 3; do
    ask -c 'SET statement_timeout = 50' -c "SELECT gpuscan_test_device('stall')" >/dev/null
done
is 'cancelled requests give their slots back' "$(ask -c 'SELECT gpuscan.evict() >= 0')" t
is 'an aborted subtransaction gives its slot back' "$(ask -c 'SET statement_timeout = 50' -c "DO \$\$ BEGIN
    BEGIN PERFORM gpuscan_test_device('stall'); EXCEPTION WHEN query_canceled THEN NULL; END;
    PERFORM gpuscan.evict(); END \$\$")" ''
stall
ok 'no slot is free: an error that names the setting' \
    grep -q max_concurrent_fragments <<<"$(ask -c 'SELECT gpuscan.evict()')"
ask -c "SELECT pg_cancel_backend(pid) FROM $backend_that_stalls s(pid)" >/dev/null
ok '... and then it is again' within 1 gone "$stalled"

# ---- settings and the supervisor -----------------------------------------------------------------------------------

ask -c "ALTER SYSTEM SET gpuscan.device = 'none'" -c 'SELECT pg_reload_conf()' >/dev/null
ok 'gpuscan.device = none ends the device process' within 3 no_device_process
is '... and says so' "$(ask -c "SELECT DISTINCT state || ': ' || note FROM gpuscan.devices")" \
    'off: gpuscan.device is none in the configuration'
ask -c 'ALTER SYSTEM RESET gpuscan.device' -c 'SELECT pg_reload_conf()' >/dev/null
ok '... and its reset starts it' within 20 is_ready
is '... which is no restart after a death' "$(ask -c 'SELECT restarts FROM gpuscan.stat')" 3

supervisor=$(processes supervisor)
kill -TERM "$supervisor"
ok 'SIGTERM ends the supervisor within a second' within 1 gone "$supervisor"
ok '... and it comes back' within 20 is_ready
is '... with one device process' "$(device_processes | wc -l)" 1

echo 'SELECT pg_backend_pid();' >&"${session[1]}"
read -r answer <&"${session[0]}"
is 'the other session has noticed nothing' "$answer" "$session_backend"

# ---- ends of the server --------------------------------------------------------------------------------------------

old=$(device_processes)
kill -KILL "$session_backend"
ok 'crash of a backend: the server comes back' within 30 is_ready_without "$old"
is '... with one device process' "$(device_processes | wc -l)" 1

old=$(device_processes)
kill -KILL "$(processes supervisor)"
ok 'crash of the supervisor: the server comes back' within 30 is_ready_without "$old"
is '... with one device process' "$(device_processes | wc -l)" 1

ok 'immediate shutdown' server_ctl stop -m immediate
ok '... leaves no process' none_left
ok '... and the server starts again' server_ctl start -l "$SERVER_LOG"
ok '... with its device process' within 20 is_ready

kill -KILL "$(head -n 1 "$SERVER_DATA/postmaster.pid")"
ok 'crash of the postmaster: no process is left' within 5 none_left
ok '... and the server starts again' within 10 server_ctl start -l "$SERVER_LOG"
ok '... with its device process' within 20 is_ready
is '... without a complaint about old shared memory' "$(grep -c 'pre-existing shared memory' "$SERVER_LOG")" 0

begin=$(milliseconds)
server_ctl stop -m fast
ok 'fast shutdown takes less than 3 seconds' test $(($(milliseconds) - begin)) -lt 3000
ok '... and leaves no process' none_left

# ---- not preloaded -------------------------------------------------------------------------------------------------

script/server.sh restart "$SERVER" "shared_preload_libraries = ''"
is 'not preloaded: the view says what to do' "$(ask -c 'SELECT DISTINCT state, note FROM gpuscan.devices')" \
    'not preloaded|add gpuscan to shared_preload_libraries and restart'
ask -c 'CREATE DATABASE fresh' >/dev/null
database=fresh
is 'not preloaded: CREATE EXTENSION says what to do' "$(ask -c 'CREATE EXTENSION gpuscan')" \
    'WARNING:  gpuscan is not preloaded, so no query runs on a device
HINT:  Add gpuscan to shared_preload_libraries and restart the server; gpuscan.status() shows the command.'
is 'not preloaded: so does status()' "$(ask -c 'SELECT item, state, remedy FROM gpuscan.status()')" \
    'preload|missing|ALTER SYSTEM SET shared_preload_libraries = gpuscan; then restart the server'
is 'not preloaded: the other views work' \
    "$(ask -c 'SELECT fragments FROM gpuscan.stat' -c 'SELECT count(*) FROM gpuscan.cached_columns' -c 'SELECT gpuscan.evict()' | xargs)" '0 0 0'
ask -c 'CREATE TABLE t AS SELECT i FROM generate_series(1, 1000) i' -c 'VACUUM t'
plain=$(ask -c 'EXPLAIN SELECT sum(i) FROM t')
is 'not preloaded: plans are plain, forced or not' \
    "$(ask -c "LOAD 'gpuscan'" -c 'SET gpuscan.offload = force' -c 'EXPLAIN SELECT sum(i) FROM t')" "$plain"
ok 'not preloaded: no process' none_left
