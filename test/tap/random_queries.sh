#!/usr/bin/env bash
# The program of the random queries (make fuzz): a few queries have PostgreSQL's answers, and of answers that were made wrong on
# purpose, by one value, one row or one error, it sees each. What it forgives (digits of sums, one of equal values, errors
# of another plan) must not hide these.
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host'
build=$(realpath "${BUILD:-build}")
ok 'builds' make -s -C test/fuzz BUILD="$build" PG_CONFIG="$PG_CONFIG"
# run OPTION...: the last line tells the number of differences
run() { "$build/fuzz/differential" --seed 11 --queries 800 --timeout 60 "$@" "dbname=$PGDATABASE" | tee "$tap_files/out" | tail -n 1; }
found() { sed -E 's/.* ([0-9]+) differences/\1/'; }

is 'random queries: no difference' "$(run | found)" 0
is 'falsified answers: none is missed' "$(run --falsify | found)" 0
note "$(tail -n 1 "$tap_files/out")"
ok 'falsified answers: more than 400' test "$(tail -n 1 "$tap_files/out" | sed 's/ .*//')" -gt 400
ok 'script/fuzz.sh fails if one of its programs does' bash -c '! FUZZ_OPTIONS=--no-such-option MATRIX=0 CLASSES= JOBS=1 script/fuzz.sh 10 1 >/dev/null 2>&1'
nothing_in_log 'PANIC|TRAP|was terminated' 'nothing bad in the log'
