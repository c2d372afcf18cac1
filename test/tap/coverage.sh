#!/usr/bin/env bash
# The tables of doc/sql-support.md that say what runs on a device are those that the code gives.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host'
ok 'doc/sql-support.md says what the planner does (make coverage writes it)' script/coverage.sh --check
nothing_in_log 'PANIC|TRAP|leak|was terminated' 'nothing bad in the log'
