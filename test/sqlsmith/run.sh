#!/usr/bin/env bash
# sqlsmith's random statements on the device, over the tables, views and types that PostgreSQL's own regression tests leave behind
# (test/core/run.sh says where those come from). The server has assertions if PG is one of script/build-postgres.sh.
# sqlsmith does not know answers: what counts are crashes, and errors that PostgreSQL alone does not give (report.py).
#
# Usage: test/sqlsmith/run.sh [PG=15|17|18] [QUERIES [SECONDS [SEED]]]     default: 17, 20,000 statements, 1,200 s, a new seed
# The last lines are report.py's and script/honest.sh's. The exit status is 1 if a backend or the device process died, an
# assertion failed, or the device gave an error of its own.
# Settings of the environment: BUILD, JOBS (sessions of sqlsmith, default: one for each core), SQLSMITH_KEEP (a file for the server's log).
set -euo pipefail
cd "$(dirname "$0")/../.."
unset PGOPTIONS PGSERVICE PGPASSFILE PGPASSWORD PSQLRC
export BUILD=${BUILD:-build} PG=${PG:-17}
case ${1:-} in
    PG=*) PG=${1#PG=}; shift ;;
esac
queries=${1:-20000} seconds=${2:-1200} seed=${3:-$(date +%s)} jobs=${JOBS:-$(nproc)}

script/setup.sh build sqlsmith
if [ "$PG" != 15 ]; then script/build-postgres.sh "$PG" >/dev/null; fi
pg_config=$(script/pg-config.sh "$PG")
version=$("$pg_config" --version | cut -d' ' -f2)
sources=$(test/core/sources.sh "$PG") || exit
inputs=$sources/src/test/regress

work=$(mktemp -d "${TMPDIR:-/tmp}/gpuscan-sqlsmith.XXXXXX")
chmod 755 "$work"
cleanup() {
    [ -z "${SQLSMITH_KEEP:-}" ] || cp "$SERVER_LOG" "$SQLSMITH_KEEP" || true
    [ -z "${SERVER:-}" ] || script/server.sh stop "$SERVER" || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

test/core/libraries.sh "$pg_config" "$sources" "$work/lib"
# (%e: SQLSTATE)
environment=$(script/server.sh start "log_line_prefix = '%m [%p] %b %e %q%a '")
eval "$environment"

echo "$(date +%H:%M:%S) PostgreSQL $version: the regression database"
tests=$SERVER/tests
mkdir "$tests"
[ "$(id -u)" != 0 ] || chown postgres: "$tests"
arguments=(--schedule="$inputs/parallel_schedule" --max-connections=10)
[ "$PG" -lt 16 ] || arguments+=(--expecteddir="$inputs")
psql -Xqc "ALTER SYSTEM SET gpuscan.offload = off" -c "SELECT pg_reload_conf()" >/dev/null
# shellcheck disable=SC2086
$AS_SERVER env PATH="$PATH" "$(dirname "$("$pg_config" --pgxs)")/../../src/test/regress/pg_regress" --inputdir="$inputs" \
    --outputdir="$tests" --dlpath="$work/lib" --bindir="$SERVER_BIN" --host="$PGHOST" --port="$PGPORT" --user=postgres \
    "${arguments[@]}" >"$work/regress.log" 2>&1 || true
export PGDATABASE=regression
# Statistics, so that the device is worth something; and a user who cannot harm the server, but sees and changes all tables.
psql -Xq -c 'CREATE EXTENSION IF NOT EXISTS gpuscan' -c 'ANALYZE' \
    -c 'CREATE ROLE smith LOGIN IN ROLE pg_read_all_data, pg_write_all_data' \
    -c 'ALTER ROLE smith SET gpuscan.offload = force' -c 'CHECKPOINT'
before=$(($(stat -c %s "$SERVER_LOG") + 1))
fragments=$(psql -XAtqc 'SELECT fragments FROM gpuscan.stat')

echo "$(date +%H:%M:%S) $queries statements by $jobs sessions, seeds from $seed on, $seconds s at most"
share=$(((queries + jobs - 1) / jobs)) pids=()
for ((job = 0; job < jobs; ++job)); do
    # sqlsmith goes on after a crash of the server, which the log tells.
    timeout -k 10 "$seconds" sqlsmith --target="host=$PGHOST port=$PGPORT dbname=regression user=smith" --seed=$((seed + job)) \
        --max-queries="$share" --verbose >"$work/smith$job.log" 2>&1 &
    pids+=($!)
done
asked=0
for ((job = 0; job < jobs; ++job)); do
    if wait "${pids[job]}"; then
        asked=$((asked + share))
    else # out of time: what it told last
        told=$(tr '\r' '\n' <"$work/smith$job.log" | grep -aoE '^queries: [0-9]+' | tail -n 1 || true)
        asked=$((asked + ${told#queries: } + 0))
    fi
done

tail -c "+$before" "$SERVER_LOG" >"$work/server.log"
status=0
if grep -aE 'PANIC|TRAP|server process.*was terminated by signal|server process.*exited with exit code' "$work/server.log"; then
    status=1
fi
python3 test/sqlsmith/report.py "$work/server.log" "$PGHOST" "$PGPORT" || status=1
script/honest.sh sqlsmith "$work/server.log" || status=1
echo "sqlsmith PG $version: $asked statements, $(($(psql -XAtqc 'SELECT fragments FROM gpuscan.stat') - fragments)) fragments on the device"
[ "$asked" -gt 0 ] || status=1
exit "$status"
