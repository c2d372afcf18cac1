#!/usr/bin/env bash
# The stress run on a PostgreSQL 15 with test/patches/postgresql-15-windows.patch, where the moments in which a page and
# its bit in the visibility map do not agree last up to 3 ms: no difference. And the proof that it would find one: with
# the locks and checks around these moments compiled out of gpuscan (heap pages, map page) it does.
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
# VACUUM that rests between pages lets readers in between two bits.
export PGOPTIONS='-c vacuum_cost_delay=1ms -c vacuum_cost_limit=20'
stress() {
    STRESS_READERS=4 STRESS_WRITERS=4 bash test/stress/run.sh "$seconds" >"$tap_files/stress.log" 2>&1
}

# Objects for this server lie apart from those for another PostgreSQL 15.
builds=${BUILD:-build}
export BUILD=$builds/windows
PG=15-patched start_server "${settings[@]}"
is 'the server has the windows' "$(strings "$SERVER_BIN/postgres" | grep -c GPUSCAN_WINDOW_US)" 1
stress
result $? "no difference in $seconds s"
sed 's/^/# /' "$tap_files/stress.log"

# proves_its_worth MACRO NAME: without the barrier a run finds a difference, sooner or later
proves_its_worth() {
    local attempt found=1
    script/server.sh stop "$SERVER"
    export BUILD=$builds/windows-$1 DEFINES=-DGPUSCAN_TEST_NO_BARRIER=$1
    PG=15-patched start_server "${settings[@]}"
    for attempt in 1 2 3 4 5 6; do
        stress
        if grep -q 'answers differ' "$tap_files/stress.log"; then
            note "$2: a difference in run $attempt"
            found=0
            break
        fi
    done
    result "$found" "$2: the same run finds a difference"
}
proves_its_worth 1 'without locks and checks of heap pages'
proves_its_worth 2 'without the lock of the map page'
