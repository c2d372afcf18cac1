#!/usr/bin/env bash
# PostgreSQL's own recovery tests (src/test/recovery: crashes, standbys, archives, replication slots, promotions) on servers that
# preload gpuscan and send all they can to the device. They compare answers themselves.
#
# Usage: test/core/recovery.sh PG=15|17|18 [TEST...]      default: all but those named below; TEST: the name of a file, without ".pl"
# Prints each test that fails, then "core recovery PG N: P passed, F failed, S skipped" and what script/honest.sh says of all servers'
# logs. A test that fails without gpuscan as well is skipped. The exit status is 1 if a test fails or a device process died; 3 if no mirror has the tests today.
# Settings of the environment: BUILD, JOBS (tests at once, default: one for each core), CORE_KEEP (a folder for the logs).
set -euo pipefail
cd "$(dirname "$0")/../.."
unset PGOPTIONS PGSERVICE PGPASSFILE PGPASSWORD PSQLRC PGHOST PGPORT PGDATABASE PGUSER
export BUILD=${BUILD:-build} PG=${PG:-15}
case ${1:-} in
    PG=*) PG=${1#PG=}; shift ;;
esac

# Not run: it compares plans and outputs with expected files, which test/core/run.sh does better. (Tests that want injection points or
# modules which are no part of an installation skip themselves.)
left_out='027_stream_regress'

script/setup.sh build core
if [ "$PG" != 15 ]; then script/build-postgres.sh "$PG" >/dev/null; fi
sources=$(test/core/sources.sh "$PG") || exit
work=$(mktemp -d "${TMPDIR:-/tmp}/gpuscan-recovery.XXXXXX")
chmod 755 "$work"
cleanup() {
    [ -z "${CORE_KEEP:-}" ] || cp -r "$work/log" "$CORE_KEEP" || true
    [ -z "${SERVER:-}" ] || script/server.sh stop "$SERVER" || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# Only its programs and its library are wanted: each test makes clusters of its own.
environment=$(script/server.sh start)
eval "$environment"
unset PGHOST PGPORT PGDATABASE PGUSER
cp -r "$sources/src/test/recovery" "$sources/src/test/perl" "$work/"
pg_config=$(script/pg-config.sh "$PG")
test/core/libraries.sh "$pg_config" "$sources" "$work/lib"
mkdir "$work/log" "$work/data"
cat >"$work/gpuscan.conf" <<CONF
shared_preload_libraries = 'gpuscan'
gpuscan.offload = force
gpuscan.device = host
gpuscan.host_threads = 1
gpuscan.cost_profile_file = ''
gpuscan.log_fallbacks = on
max_worker_processes = 32
CONF
touch "$work/plain.conf"
[ "$(id -u)" != 0 ] || chown -R postgres: "$work"

tests=("$@")
[ $# -gt 0 ] || mapfile -t tests < <(cd "$work/recovery/t" && printf '%s\n' *.pl | sed 's/\.pl$//' | grep -vxE "$left_out")
pg_regress=$(dirname "$("$pg_config" --pgxs)")/../../src/test/regress/pg_regress

# one TEST [CONFIGURATION]: a line "passed TEST", "failed TEST" or "skipped TEST"
one() {
    local test=$1 configuration=${2:-gpuscan} log=$work/log/$1.log
    mkdir -p "$work/data/$test"
    [ "$(id -u)" != 0 ] || chown postgres: "$work/data/$test"
    # shellcheck disable=SC2086
    if (cd "$work/recovery" && $AS_SERVER env PATH="$SERVER_BIN:$PATH" TEMP_CONFIG="$work/$configuration.conf" PG_REGRESS="$pg_regress" \
        REGRESS_SHLIB="$work/lib/regress.so" TESTDIR="$work/data/$test" TESTDATADIR="$work/data/$test/data" TESTLOGDIR="$work/data/$test/log" \
        PG_TEST_TIMEOUT_DEFAULT=180 enable_injection_points=no perl -I "$work/perl" -I "$work/recovery" "t/$test.pl") >"$log" 2>&1; then
        echo "passed $test"
    elif grep -q '^1\.\.0 # SKIP' "$log"; then
        echo "skipped $test"
    else
        echo "failed $test"
    fi
    cat "$work/data/$test"/tmp_check/log/*.log "$work/data/$test"/log/*.log 2>/dev/null >"$work/log/$test-servers.log" || true
    rm -rf "${work:?}/data/$test"
}
export -f one
export work AS_SERVER SERVER_BIN pg_regress
printf '%s\n' "${tests[@]}" | xargs -P "${JOBS:-$(nproc)}" -I TEST bash -c 'one TEST' >"$work/results"

status=0
mapfile -t failed < <(sed -n 's/^failed //p' "$work/results")
for test in "${failed[@]}"; do
    cp "$work/log/$test.log" "$work/log/$test-gpuscan.log"
    mv "$work/log/$test-servers.log" "$work/log/$test-gpuscan-servers.log"
    if [ "$(one "$test" plain)" = "failed $test" ]; then
        echo "skipped: $test fails without gpuscan, too"
        sed -i "s/^failed $test$/skipped $test/" "$work/results"
    else
        echo "failed: $test"
        grep -vE '^(ok|#? *$)' "$work/log/$test-gpuscan.log" | tail -n 15
        status=1
    fi
done
cat "$work"/log/*-servers.log >"$work/servers.log"
count() { grep -c "^$1" "$work/results" || true; }
echo "core recovery PG $PG: $(count passed) passed, $(count failed) failed, $(count skipped) skipped"
[ "$(count passed)" -gt 0 ] || status=1
script/honest.sh core "$work/servers.log" || status=1
exit "$status"
