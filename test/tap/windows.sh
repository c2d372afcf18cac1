#!/usr/bin/env bash
# The stress run, and one on a small hot table, on a PostgreSQL 15 with test/patches/postgresql-15-windows.patch, where the
# moments in which a page and its bit in the visibility map do not agree last up to 3 ms: no difference. And the proof
# that they would find one: with the locks and checks around these moments compiled out of gpuscan they do.
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

# hot SECONDS ROWS WRITERS REST: a small table where every page is always being written, vacuumed and decoded again. Each writer
# rests REST ms between two statements. Few rows and much rest let each page become all-visible again and again, and the map page
# keep its LSN until the same page's bit is set once more.
hot() {
    local seconds=$1 rows=$2 writers=$3 rest=$4 failed=0 pid crowd=()
    psql -Xq -v ON_ERROR_STOP=1 -v rows="$rows" >"$tap_files/hot.log" 2>&1 <<'SQL' || return 1
DROP TABLE IF EXISTS hot;
CREATE TABLE hot (id int PRIMARY KEY, v int8) WITH (fillfactor = 60);
INSERT INTO hot SELECT i, i FROM generate_series(1, :rows) i;
VACUUM (FREEZE, ANALYZE) hot;
CREATE OR REPLACE FUNCTION hot_check() RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    plain text;
    device text;
BEGIN
    PERFORM set_config('gpuscan.offload', 'off', true);
    EXECUTE 'SELECT (count(*), sum(v), min(v), max(id))::text FROM hot' INTO plain;
    PERFORM set_config('gpuscan.offload', 'force', true);
    EXECUTE 'SELECT (count(*), sum(v), min(v), max(id))::text FROM hot' INTO device;
    IF plain <> device THEN
        RAISE EXCEPTION 'answers differ: PostgreSQL %, device %', plain, device;
    END IF;
END $$;
SQL
    printf '%s\n' 'BEGIN ISOLATION LEVEL REPEATABLE READ;' 'SELECT hot_check();' 'SELECT hot_check();' 'COMMIT;' >"$tap_files/reader.sql"
    printf '%s\n' "\\set id random(1, $rows)" 'UPDATE hot SET v = v + 1000000 WHERE id = :id;' "\\sleep $rest ms" \
        'INSERT INTO hot VALUES (10000 + :client_id, 1);' 'DELETE FROM hot WHERE id = 10000 + :client_id;' "\\sleep $rest ms" >"$tap_files/writer.sql"
    echo 'VACUUM hot;' >"$tap_files/vacuum.sql"
    pgbench -n -f "$tap_files/reader.sql" -c 4 -j 1 -T "$seconds" >>"$tap_files/hot.log" 2>&1 &
    crowd+=($!)
    pgbench -n -f "$tap_files/writer.sql" -c "$writers" -j 1 -T "$seconds" >>"$tap_files/hot.log" 2>&1 &
    crowd+=($!)
    pgbench -n -f "$tap_files/vacuum.sql" -c 1 -j 1 -T "$seconds" >>"$tap_files/hot.log" 2>&1 &
    crowd+=($!)
    for pid in "${crowd[@]}"; do
        wait "$pid" || failed=1
    done
    ! grep -qE 'ERROR|aborted' "$tap_files/hot.log" && [ "$failed" = 0 ]
}

# Objects for this server lie apart from those for another PostgreSQL 15.
builds=${BUILD:-build}
export BUILD=$builds/windows
PG=15-patched start_server "${settings[@]}"
is 'the server has the windows' "$(strings "$SERVER_BIN/postgres" | grep -c GPUSCAN_WINDOW_US)" 1
STRESS_READERS=4 STRESS_WRITERS=4 bash test/stress/run.sh "$seconds" >"$tap_files/stress.log" 2>&1
result $? "the stress run finds no difference in $seconds s"
sed 's/^/# /' "$tap_files/stress.log"
declare -A tables=([busy]='4000 4 2' [quiet]='200 1 20')
for table in busy quiet; do
    # shellcheck disable=SC2086
    hot "$seconds" ${tables[$table]}
    result $? "a $table hot table shows no difference in $seconds s"
    note "$table table:$(grep 'actually processed' "$tap_files/hot.log" | sed 's/.*://' | tr '\n' ' ') transactions of readers, writers and VACUUM"
done
note "pages from the cache, decoded, read by row: $(sql "SELECT concat_ws(' ', pages_cached, pages_decoded, pages_rowwise) FROM gpuscan.stat")"

# proves_its_worth MACRO TABLE NAME: without the barrier that hot table shows a difference, sooner or later
proves_its_worth() {
    local table=$2 attempt found=1
    stop_server
    export BUILD=$builds/windows-$1 DEFINES=-DGPUSCAN_TEST_NO_BARRIER=$1
    PG=15-patched start_server "${settings[@]}"
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        # shellcheck disable=SC2086
        hot 20 ${tables[$table]}
        if grep -q 'answers differ' "$tap_files/hot.log"; then
            note "$3: a difference in run $attempt: $(grep -m 1 -o 'answers differ.*' "$tap_files/hot.log")"
            found=0
            break
        fi
    done
    result "$found" "$3: there is a difference"
}
proves_its_worth 1 busy "without a look at heap pages' LSNs"
proves_its_worth 2 quiet 'without the lock of the map page'
