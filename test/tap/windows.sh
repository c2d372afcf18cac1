#!/usr/bin/env bash
# The stress run on a PostgreSQL 15 with test/patches/postgresql-15-windows.patch, where the moments in which a page and
# its bit in the visibility map do not agree last up to 3 ms: no difference. And the proof that it would find one: with
# the locks around these moments compiled out of gpuscan it does.
#
# Runs only where that server has been built (make pg-15-patched; 5 to 10 minutes).
# Usage: test/tap/windows.sh [SECONDS]       default 30; by hand 180
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"
seconds=${1:-${WINDOWS_SECONDS:-30}}

prefix=$(script/build-postgres.sh --prefix 15-patched)
if [ ! -x "$prefix/bin/pg_config" ]; then
    result 0 'no patched server # SKIP make pg-15-patched'
    exit 0
fi
export GPUSCAN_WINDOW_US=3000
unset PG_CONFIG
settings=('shared_buffers = 64MB' 'gpuscan.device = host' 'autovacuum = off' 'max_connections = 60')

PG=15-patched start_server "${settings[@]}"
is 'the server has the windows' "$(strings "$SERVER_BIN/postgres" | grep -c GPUSCAN_WINDOW_US)" 1
STRESS_READERS=4 STRESS_WRITERS=4 bash test/stress/run.sh "$seconds" >"$tap_files/stress.log" 2>&1
result $? "no difference in $seconds s"
sed 's/^/# /' "$tap_files/stress.log"
script/server.sh stop "$SERVER"

# The same without the barrier, until a difference is found. Its objects lie apart: they are not for use.
export BUILD=${BUILD:-build}/no-barrier DEFINES=-DGPUSCAN_TEST_NO_BARRIER
PG=15-patched start_server "${settings[@]}"
found=1
for attempt in 1 2 3 4; do
    STRESS_READERS=4 STRESS_WRITERS=4 bash test/stress/run.sh "$seconds" >"$tap_files/stress.log" 2>&1
    if grep -q 'answers differ' "$tap_files/stress.log"; then
        found=0
        note "without the barrier: a difference in run $attempt"
        break
    fi
done
result "$found" 'without the barrier the same run finds a difference'
