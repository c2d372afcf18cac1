#!/usr/bin/env bash
# A device process that hangs (stopped by a signal) is ended after gpuscan.device_timeout: the query that waits for it is
# answered by the process that takes over, or by PostgreSQL. With the timeout at 0 nobody ends it, and the query can be cancelled.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

# (plants a request that listens to nobody)
export BUILD=${BUILD:-build}/test-commands DEFINES=-DGPUSCAN_TEST_COMMANDS

start_server 'gpuscan.device = host' 'gpuscan.device_timeout = 2s'
sql "CREATE TABLE fact AS SELECT i AS id, i % 10 AS k FROM generate_series(1, 20000) i; VACUUM (FREEZE, ANALYZE) fact;"
query='SELECT k, count(*), sum(id) FROM fact GROUP BY k ORDER BY k'
expected=$(sql "SET gpuscan.offload = off; $query")
device_pid() { sql "SELECT pid FROM gpuscan.devices WHERE kind = 'host' AND state = 'ready'"; }

# A living process is left alone, whether it is asked for something or not.
first=$(device_pid)
is 'the device answers' "$(sql "SET gpuscan.offload = force; $query")" "$expected"
sleep 4
is 'an idle process is not ended' "$(device_pid)" "$first"
is 'it still answers' "$(sql "SET gpuscan.offload = force; SELECT plan_of('$query')")" device

kill -STOP "$first"
before=$(milliseconds)
analyze=$(sql "SET gpuscan.offload = force; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $query")
waited=$(($(milliseconds) - before))
ok 'the query that waited was answered, by the next process or by the CPU plan' grep -q 'actual rows=10' <<<"$analyze"
note "after $waited ms"
ok 'not before the timeout' test "$waited" -ge 1500
ok 'another process takes over' wait_until 20 "SELECT state = 'ready' AND pid <> $first FROM gpuscan.devices WHERE kind = 'host'"
is 'which answers' "$(sql "SET gpuscan.offload = force; SELECT plan_of('$query')")" device
is 'in full' "$(sql "SET gpuscan.offload = force; $query")" "$expected"
ok 'the log says why' grep -q "gpuscan device process (PID $first) has given no sign of life for 2 seconds" "$SERVER_LOG"
ok 'the hung process is gone' bash -c "! kill -0 $first 2>/dev/null"

# Several sessions wait for it at once.
second=$(device_pid)
kill -STOP "$second"
for i in 1 2 3; do
    sql "SET gpuscan.offload = force; $query" >"$tap_files/answer.$i" &
done
wait
for i in 1 2 3; do
    is "session $i is answered" "$(cat "$tap_files/answer.$i")" "$expected"
done

# A thread that goes on with what has been cancelled is ended with its process, and what it was doing is not sent again.
sql "CREATE TABLE texts AS SELECT i AS id, 'word ' || i % 50 AS w FROM generate_series(1, 20000) i; VACUUM (FREEZE, ANALYZE) texts;"
deaf="SELECT count(*) FROM texts WHERE w LIKE '%gpuscan_planted_deafness%'"
wait_until 20 "SELECT state = 'ready' AND pid <> $second FROM gpuscan.devices WHERE kind = 'host'"
second=$(device_pid)
cancelled=$(sql "SET gpuscan.offload = force; SET statement_timeout = '1s'; $deaf" 2>&1)
ok 'the query itself is cancelled at once' grep -q 'statement timeout' <<<"$cancelled"
ok 'its thread ends with the process' wait_until 20 "SELECT state = 'ready' AND pid <> $second FROM gpuscan.devices WHERE kind = 'host'"
ok 'the log says why' grep -q "gpuscan device process (PID $second) has not ended a cancelled request for 2 seconds" "$SERVER_LOG"
second=$(device_pid)
is 'it is not sent again' "$(sql "SET gpuscan.offload = force; SET statement_timeout = '5s'; $deaf")" 0
is 'so the process lives' "$(device_pid)" "$second"

# 0: nobody looks at it.
wait_until 20 "SELECT state = 'ready' AND pid <> $second FROM gpuscan.devices WHERE kind = 'host'"
sql "ALTER SYSTEM SET gpuscan.device_timeout = 0"
sql "SELECT pg_reload_conf()" >/dev/null
sleep 1
third=$(device_pid)
kill -STOP "$third"
cancelled=$(sql "SET gpuscan.offload = force; SET statement_timeout = '5s'; $query" 2>&1)
ok 'without a timeout a query waits until it is cancelled' grep -q 'statement timeout' <<<"$cancelled"
is 'the process was not ended' "$(device_pid)" "$third"
kill -CONT "$third"
is 'and goes on where it was stopped' "$(sql "SET gpuscan.offload = force; $query")" "$expected"
nothing_in_log 'reinitializing|terminating any other|PANIC|TRAP|leak' 'PostgreSQL noticed nothing'
