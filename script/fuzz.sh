#!/usr/bin/env bash
# Random queries (test/fuzz/differential.cpp): joins, aggregates, filters and rows, answered by PostgreSQL and with the device
# forced, between writes, VACUUMs and DDL. Builds, starts a private server, runs several programs at once, each with a seed and
# a database of its own, and beside them the whole of test/sql/matrix.sql; leaves nothing running. Differences are printed; the exit status says whether there were any.
#
# Usage: script/fuzz.sh [QUERIES [SEED]]      default: 100,000 queries, and a seed that nobody has tried
# Settings of the environment: JOBS (default: one for each core), MATRIX=0 (without the matrix), and those of script/server.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=script/stop_honestly.bash
. script/stop_honestly.bash
export BUILD=${BUILD:-build}

queries=${1:-100000} seed=${2:-$(date +%s)} jobs=${JOBS:-$(nproc)}

script/setup.sh build
environment=$(script/server.sh start)
eval "$environment"
logs=$(mktemp -d)
trap 'rm -rf "$logs"; stop_honestly fuzz' EXIT
trap 'exit 130' INT TERM HUP
make -s -C test/fuzz BUILD="$(realpath "$BUILD")" PG_CONFIG="$PG_CONFIG"

echo "$queries queries by $jobs programs, seeds from $seed on"
for ((job = 0; job < jobs; ++job)); do
    psql -Xqc "CREATE DATABASE fuzz$job"
    "$BUILD/fuzz/differential" --seed $((seed + job)) --queries $(((queries + jobs - 1) / jobs)) "dbname=fuzz$job" >"$logs/$job" 2>&1 &
    pids[job]=$!
done
failed=0
if [ "${MATRIX:-1}" != 0 ]; then
    psql -Xqc "CREATE DATABASE matrix"
    PGOPTIONS='-c client_min_messages=warning -c matrix.diagonals=1' psql -XAtq -d matrix -c 'CREATE EXTENSION gpuscan' -f test/sql/support.sql \
        -f test/sql/matrix.sql >"$logs/matrix" 2>&1 || true
    echo "the matrix: $(tail -n 1 "$logs/matrix")"
    if grep -A 4 'DIFFERENT\|ERROR' "$logs/matrix" || ! grep -q 'more than 5000 queries: t' "$logs/matrix"; then failed=1; fi
fi
for ((job = 0; job < jobs; ++job)); do
    status=0
    wait "${pids[job]}" || status=$?
    echo "seed $((seed + job)): $(tail -n 1 "$logs/$job")"
    if ((status)); then
        failed=1
        grep -A 40 '^DIFFERENT' "$logs/$job" | head -n 200 || cat "$logs/$job"
    fi
done
if grep -E 'PANIC|TRAP|was terminated by signal' "$SERVER_LOG"; then failed=1; fi
exit "$failed"
