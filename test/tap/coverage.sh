#!/usr/bin/env bash
# The tables of doc/sql-support.md that say what runs on a device are those that the code gives; and PostgreSQL's functions, operators and
# aggregates have PostgreSQL's answers there.
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host'
ok 'doc/sql-support.md says what the planner does (make coverage writes it)' script/coverage.sh --check
summary() { ROWS=500 BUILD=$tap_files script/coverage.sh --catalogue | tail -n 1; }
found=$(summary)
note "$found"
ok 'the catalogue: no difference' grep -qE 'operators 4[0-9][0-9] of .* differences 0$' <<<"$found"
ok 'a planted difference is found' grep -q 'functions 1 of 1 .* differences [1-9]' <<<"$(PLANTED_DIFFERENCE=true summary)"
nothing_in_log 'PANIC|TRAP|leak|was terminated' 'nothing bad in the log'
