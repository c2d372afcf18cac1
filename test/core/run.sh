#!/usr/bin/env bash
# PostgreSQL's own regression tests on the device. Two new servers of the same build run them, one with gpuscan.offload = off,
# one as told; what they print is compared statement by statement (test/core/compare.py, which needs python3 and nothing else),
# not with the expected files: those are of one plan, and a file that differs for a good reason would hide a wrong result.
#
# Usage: test/core/run.sh PG=15|17|18 [auto|force] [isolation] [TEST...]      default: force, and all of the schedule
#   isolation   PostgreSQL's isolation tests instead; a permutation is the statement
#   TEST        only these, in this order, after test_setup
# The last lines are "core PG N MODE: T tests, P plan-only, R row order only, A allowed, D different, device nodes K", where K are
# the fragments that the device has executed, and script/honest.sh's. test/core/allowed names the allowed ones. The exit status
# is 1 if something differs, a server or the device process died, or there was a fallback that nobody expects; 3 if no mirror has
# the tests today.
# Settings of the environment: BUILD, CORE_KEEP (a folder for what the tests printed and the log; it must not be there),
# CORE_SETTINGS (one more setting for the second server), CORE_VERBOSE=1 (show what is allowed, too).
set -euo pipefail
cd "$(dirname "$0")/../.."
unset PGOPTIONS PGSERVICE PGPASSFILE PGPASSWORD PSQLRC
export BUILD=${BUILD:-build} PG=${PG:-15}

mode=force kind=regress
case ${1:-} in
    PG=*) PG=${1#PG=}; shift ;;
esac
case ${1:-} in
    auto | force) mode=$1; shift ;;
esac
if [ "${1:-}" = isolation ]; then
    kind=isolation
    shift
fi

script/setup.sh build core
if [ "$PG" != 15 ]; then script/build-postgres.sh "$PG" >/dev/null; fi
pg_config=$(script/pg-config.sh "$PG")
sources=$(test/core/sources.sh "$PG") || exit
inputs=$sources/src/test/$kind

work=$(mktemp -d "${TMPDIR:-/tmp}/gpuscan-core.XXXXXX")
[ -z "${CORE_KEEP:-}" ] || mkdir "$CORE_KEEP"
chmod 755 "$work"
cleanup() {
    local directory
    for directory in "$work"/*.server; do
        [ ! -e "$directory" ] || script/server.sh stop "$(cat "$directory")" || true
    done
    [ -z "${CORE_KEEP:-}" ] || cp -r "$work"/*.out "$work"/*.log "$CORE_KEEP/" || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

pgxs=$(dirname "$("$pg_config" --pgxs)")/../../src/test
if [ "$kind" = regress ]; then
    program=$pgxs/regress/pg_regress schedule=$inputs/parallel_schedule
else
    program=$pgxs/isolation/pg_isolation_regress schedule=$inputs/isolation_schedule
fi
arguments=(--schedule="$schedule")
if [ $# -gt 0 ]; then
    arguments=("$@")
    [ "$kind" = isolation ] || arguments=(test_setup "$@")
fi
[ "$PG" -lt 16 ] || arguments+=(--expecteddir="$inputs")

test/core/libraries.sh "$pg_config" "$sources" "$work/lib"

# start NAME SETTING...; leaves NAME.env and NAME.server in $work
start() {
    local name=$1
    shift
    script/server.sh start 'autovacuum = off' "$@" >"$work/$name.env"
    # shellcheck disable=SC1090
    (. "$work/$name.env" && echo "$SERVER" >"$work/$name.server")
}

# run NAME; leaves the folder NAME.out, NAME.log of pg_regress and NAME-server.log in $work
run() (
    name=$1
    # shellcheck disable=SC1090
    . "$work/$name.env"
    tests=$SERVER/tests
    mkdir "$tests"
    [ "$(id -u)" != 0 ] || chown postgres: "$tests"
    # One test after the other: rows and statistics are the same then in both runs.
    # shellcheck disable=SC2086
    $AS_SERVER env PATH="$PATH" "$program" --inputdir="$inputs" --outputdir="$tests" --dlpath="$work/lib" \
        --bindir="$SERVER_BIN" --host="$PGHOST" --port="$PGPORT" --user=postgres --max-connections=1 \
        "${arguments[@]}" >"$work/$name.log" 2>&1 || true
    # What only this server has: its folder.
    mkdir "$work/$name.out"
    cp "$tests"/results/*.out "$work/$name.out/"
    sed -i "s#$SERVER#SERVER#g" "$work/$name.out"/*.out
    psql -Xqc 'CREATE EXTENSION IF NOT EXISTS gpuscan' || true
    psql -XAtqc 'SELECT fragments FROM gpuscan.stat' >"$work/$name.nodes" || true
    cp "$SERVER_LOG" "$work/$name-server.log"
)

start off "gpuscan.offload = 'off'"
start on "gpuscan.offload = '$mode'" ${CORE_SETTINGS:+"$CORE_SETTINGS"}
run off &
run on
wait

status=0
if grep -aE 'PANIC|TRAP|server process.*was terminated by signal' "$work"/*-server.log; then
    echo "core PG $PG $mode: a server died"
    status=1
fi
first=$inputs/sql
[ "$kind" = regress ] || first=--isolation
python3 test/core/compare.py ${CORE_VERBOSE:+-v} "$first" "$work/off.out" "$work/on.out" test/core/allowed >"$work/compare.log" || status=1
sed '$d' "$work/compare.log"
summary=$(tail -n 1 "$work/compare.log")
case $summary in
    '0 tests'* | '') status=1 ;;
esac
label=core
[ "$kind" = regress ] || label='core isolation'
echo "$label PG $PG $mode: $summary, device nodes $(cat "$work/on.nodes")"
script/honest.sh core "$work/on-server.log" || status=1
exit "$status"
