#!/usr/bin/env bash
# The program of the queries of classes (make fuzz; test/fuzz/classes.hpp): a few of each class have PostgreSQL's answers, a plain user
# sees nothing of hidden rows, and of answers that were made wrong on purpose it sees each.
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host'
build=$(realpath "${BUILD:-build}")
ok 'builds' make -s -C test/fuzz BUILD="$build" PG_CONFIG="$PG_CONFIG"
# run OPTION...: the last line tells the number of differences
run() { "$build/fuzz/classes" --seed 12 --timeout 60 --alone "$@" "dbname=$PGDATABASE" | tee "$tap_files/out" | tail -n 1; }
found() { sed -E 's/.* ([0-9]+) differences/\1/'; }

is 'classes: no difference' "$(run --queries 900 | found)" 0
note "$(grep 'by the device' "$tap_files/out")"
[ "$(grep -c '^DIFFERENT' "$tap_files/out")" = 0 ] || grep -A 30 '^DIFFERENT' "$tap_files/out" | head -n 90
is 'falsified answers: none is missed' "$(run --queries 500 --falsify | found)" 0
nothing_in_log 'PANIC|TRAP|was terminated' 'nothing bad in the log'
