#!/usr/bin/env bash
# The file with this machine's costs: written once by the device process, read when the configuration is, told of in the log where it cannot
# be understood; and plans obey it.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host' "gpuscan.cost_profile_file = 'machine.profile'" 'max_parallel_workers_per_gather = 0'
profile=$SERVER_DATA/machine.profile

written() {
    local end=$((SECONDS + 60))
    until [ -e "$profile" ]; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}
# cost: of a node that the device runs
cost() {
    sql "SET gpuscan.offload = force; EXPLAIN SELECT sum(a) FROM numbers" | sed -n '1s/.*\.\.\([0-9.]*\) rows.*/\1/p'
}
# reloaded LINE...: the file has these lines, and the server has read it
reloaded() {
    printf '%s\n' "$@" >"$profile"
    reload
}
reload() {
    local before
    before=$(grep -c 'reloading configuration files' "$SERVER_LOG")
    sql 'SELECT pg_reload_conf()' >/dev/null
    until [ "$(grep -c 'reloading configuration files' "$SERVER_LOG")" -gt "$before" ]; do sleep 0.1; done
    sleep 0.5
}

sql 'CREATE TABLE numbers AS SELECT a FROM generate_series(1, 300000) a; VACUUM (FREEZE, ANALYZE) numbers'
ok 'the device process writes the file' written
ok 'which says so' grep -q 'wrote the profile "machine.profile"' "$SERVER_LOG"
is 'nothing is left beside it' "$(cd "$SERVER_DATA" && ls machine.profile*)" machine.profile
is 'its mode' "$(stat -c %a "$profile")" 600
for section in server host cuda; do
    ok "section $section" grep -q "^\[$section\]" "$profile"
done
ok 'a unit was measured' grep -Eq '^ns_per_unit = [0-9.]+ .*measured' "$profile"
ok 'memory was measured' grep -Eq '^memory_random_read = [0-9.]+ .*measured' "$profile"

# (In the unit of PostgreSQL's costs, and that is as long as PostgreSQL's plan takes by its steps: ns_per_unit is none of it.)
reloaded '[server]'
once=$(cost)
started=$(sql "SELECT default_value FROM gpuscan.cost_profile WHERE device = 'host' AND name = 'fragment_started'")
dear="fragment_started = $(awk -v d="$started" 'BEGIN { print d + 1e9 }')"
reloaded '[host]' "$dear"
more=$(cost)
ok "costs follow the file ($once, $more)" awk -v a="$once" -v b="$more" 'BEGIN { exit !(b > 8 * a) }'
reloaded '[server]' 'ns_per_unit = 4000' '[host]' 'no_such_work = 3' "fragment_started = $started"
is 'an unknown name changes nothing' "$(cost)" "$once"
ok 'and is told' grep -q 'WARNING:  gpuscan profile "machine.profile", line 4: unknown name "no_such_work"' "$SERVER_LOG"
reloaded '[host]' "$dear" 'nonsense'
is 'a broken file means default costs' "$(cost)" "$once"
ok 'and is told with its line' grep -q 'WARNING:  gpuscan profile "machine.profile", line 3: expected "name = value", not "nonsense"' "$SERVER_LOG"
rm "$profile"
mkdir "$profile"
reload
is 'so does a folder' "$(cost)" "$once"
ok 'which is told' grep -q 'WARNING:  could not read gpuscan profile "machine.profile"' "$SERVER_LOG"
rmdir "$profile"

# A device process that dies while it measures does not measure again by itself.
reload
sql "SELECT pg_sleep(0.2)" >/dev/null
kill -9 "$(sql 'SELECT min(pid) FROM gpuscan.devices')"
ok 'the next device process is there' wait_until 30 "SELECT bool_or(state = 'ready') FROM gpuscan.devices"
ok 'default costs or those of the machine' test -n "$(cost)"
sql "ALTER SYSTEM SET gpuscan.cost_profile_file = ''"
rm -f "$profile"
reload
is 'no file: built-in costs' "$(cost)" "$once"
ok 'no file is written' test ! -e "$profile"
nothing_in_log 'PANIC|terminated by signal (11|6)' 'nobody crashed'
