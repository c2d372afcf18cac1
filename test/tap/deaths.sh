#!/usr/bin/env bash
# A query that kills the device process: it is answered, the death is told (log with backtrace, view, counter), the query's form is
# refused from then on, after a restart of the server too, other queries are not, and the harnesses notice.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

# The planted death is compiled in by this definition only; its objects lie apart.
export BUILD=${BUILD:-build}/test-commands DEFINES=-DGPUSCAN_TEST_COMMANDS
start_server 'gpuscan.device = host'
export PGOPTIONS='-c gpuscan.offload=force'
sql "CREATE TABLE t AS SELECT i AS id, 'w' || i % 300 AS w FROM generate_series(1, 20000) i; VACUUM ANALYZE t"

ready_without() {
    wait_until 20 "SELECT state = 'ready' AND pid <> $1 FROM gpuscan.devices WHERE kind = 'host'"
}

# restarts_of QUERY: how often the device process starts again because of it
restarts_of() {
    local before pid
    before=$(sql 'SELECT restarts FROM gpuscan.stat')
    pid=$(sql "SELECT pid FROM gpuscan.devices WHERE kind = 'host'")
    sql "$1" >"$tap_files/answer"
    for _ in $(seq 20); do # the supervisor may need a moment
        [ "$(sql "SELECT restarts FROM gpuscan.stat")" = "$before" ] || ready_without "$pid"
        sleep 0.02
    done
    echo $(($(sql 'SELECT restarts FROM gpuscan.stat') - before))
}

is 'a query that does no harm ends nothing' "$(restarts_of "SELECT count(*) FROM t WHERE w LIKE '%7%'")" 0
is 'one that kills the process does it once' "$(restarts_of "SELECT sum(id) FROM t WHERE w LIKE '%gpuscan_planted_death%' OR id = 7")" 1
is 'and is answered' "$(cat "$tap_files/answer")" 7
is 'the view tells of it' "$(sql "SELECT signal, exit_code, requests, command, query, refused, died_at > now() - interval '1 minute' FROM gpuscan.deaths")" \
    "11||1|use lookup|SELECT sum(id) FROM t WHERE w LIKE '%gpuscan_planted_death%' OR id = 7|t|t"
ok 'the log has the place' grep -qE 'gpuscan\.so\(.*\+0x[0-9a-f]+\)' "$SERVER_LOG"
ok 'and the query' grep -qE "It was running for: SELECT sum\(id\) FROM t" "$SERVER_LOG"
is 'the form is not sent again' "$(restarts_of "SELECT sum(id) FROM t WHERE w LIKE '%gpuscan_planted_death%' OR id = 8")" 0
is 'and still answered' "$(cat "$tap_files/answer")" 8
ok 'with the reason' grep -q 'gpuscan fallback: a query of this form has ended the device process before' "$SERVER_LOG"
fragments=$(sql 'SELECT fragments - fallbacks FROM gpuscan.stat')
is 'other forms go on' "$(sql "SELECT max(id) FROM t WHERE w LIKE '%299%'")" 19799
is 'on the device' "$(sql 'SELECT fragments - fallbacks FROM gpuscan.stat')" $((fragments + 1))

script/server.sh restart "$SERVER"
wait_until 30 "SELECT state = 'ready' FROM gpuscan.devices WHERE kind = 'host'"
is 'it is refused after a restart of the server' "$(restarts_of "SELECT sum(id) FROM t WHERE w LIKE '%gpuscan_planted_death%' OR id = 9")" 0
$AS_SERVER sed -i '1s/.*/another-version/' "$SERVER_DATA/gpuscan/refused_programs"
script/server.sh restart "$SERVER"
wait_until 30 "SELECT state = 'ready' FROM gpuscan.devices WHERE kind = 'host'"
is 'and tried again by another version' "$(restarts_of "SELECT sum(id) FROM t WHERE w LIKE '%gpuscan_planted_death%' OR id = 10")" 1

# What every harness goes by: the same log is no success for a test that expects no death.
ok 'a harness that expects deaths passes' env -u GPUSCAN_HONEST script/honest.sh tap/deaths "$SERVER_LOG"
! env -u GPUSCAN_HONEST script/honest.sh tap/texts "$SERVER_LOG" >"$tap_files/honest"
result $? 'one that does not, fails'
ok 'and names the death' grep -q 'unexpected in tap/texts: the device process .* was terminated by signal 11' "$tap_files/honest"
