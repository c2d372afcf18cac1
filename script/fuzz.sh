#!/usr/bin/env bash
# Random queries (test/fuzz/differential.cpp): joins, aggregates, filters and rows, answered by PostgreSQL and with the device
# forced, between writes, VACUUMs and DDL; then queries of the classes in which defects were found (test/fuzz/classes.hpp). Builds,
# starts a private server, runs several programs at once, each with a seed and a database of its own, and beside them the whole of
# test/sql/matrix.sql; leaves nothing running. Differences are printed; the exit status says whether there were any, or a process died.
#
# Usage: script/fuzz.sh [QUERIES [SEED]]      default: 100,000 queries, and a seed that nobody has tried
# Settings of the environment: JOBS (default: one for each core), MATRIX=0 (without the matrix), CLASSES (their names, default: deep,orders,texts,snapshots,moments,cursors, and
# hidden, which is asked last and alone; none: ''), DEVICE (gpuscan.device, default: the server's choice), CLASS_QUERIES (of all classes, default: QUERIES / 5), FUZZ_OPTIONS (more of
# differential's), and those of script/server.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=script/stop_honestly.bash
. script/stop_honestly.bash
export BUILD=${BUILD:-build}

queries=${1:-100000} seed=${2:-$(date +%s)} jobs=${JOBS:-$(nproc)}
classes=${CLASSES-deep,orders,texts,snapshots,moments,cursors,hidden} class_queries=${CLASS_QUERIES:-$((queries / 5))}

script/setup.sh build
environment=$(script/server.sh start ${DEVICE:+"gpuscan.device = $DEVICE"})
eval "$environment"
logs=$SERVER/fuzz
trap 'stop_honestly fuzz' EXIT
if [ -n "${DEVICE:-}" ]; then # whose queries would be PostgreSQL's until it has started
    psql -Xqc 'CREATE EXTENSION gpuscan'
    for ((i = 0; i < 300; ++i)); do
        [ "$(psql -XAtqc "SELECT state FROM gpuscan.devices WHERE kind = '$DEVICE'")" != ready ] || break
        sleep 0.2
    done
fi
mkdir "$logs"
trap 'exit 130' INT TERM HUP
make -s -C test/fuzz BUILD="$(realpath "$BUILD")" PG_CONFIG="$PG_CONFIG"

failed=0
# start PROGRAM OPTION...: one for each job, with its share of $share
start() {
    local program=$1 job
    shift
    for ((job = 0; job < jobs; ++job)); do
        "$BUILD/fuzz/$program" --seed $((seed + job)) --queries $(((share + jobs - 1) / jobs)) "$@" "dbname=fuzz$job" >"$logs/$job" 2>&1 &
        pids[job]=$!
    done
}
finish() {
    local job status
    for ((job = 0; job < jobs; ++job)); do
        status=0
        wait "${pids[job]}" || status=$?
        echo "seed $((seed + job)): $(grep -E '[0-9]+ differences$' "$logs/$job" | tail -n "$1")"
        if ((status)); then
            failed=1
            grep -A 40 -E '^(DIFFERENT|differential:|classes:)' "$logs/$job" | head -n 200 || cat "$logs/$job"
        fi
    done
}

echo "$queries queries by $jobs programs, seeds from $seed on"
for ((job = 0; job < jobs; ++job)); do psql -Xqc "CREATE DATABASE fuzz$job"; done
share=$queries
# shellcheck disable=SC2086
if ((share)); then start differential ${FUZZ_OPTIONS:-}; fi
if ((share)) && [ "${MATRIX:-1}" = 1 ]; then
    psql -Xqc "CREATE DATABASE matrix"
    PGOPTIONS='-c client_min_messages=warning -c matrix.diagonals=1' psql -XAtq -d matrix -c 'CREATE EXTENSION gpuscan' -f test/sql/support.sql \
        -f test/sql/matrix.sql >"$logs/matrix" 2>&1 || true
    echo "the matrix: $(tail -n 1 "$logs/matrix")"
    if grep -A 4 'DIFFERENT\|ERROR' "$logs/matrix" || ! grep -q 'more than 5000 queries: t' "$logs/matrix"; then failed=1; fi
fi
if ((share)); then finish 1; fi
others=$(tr , '\n' <<<"$classes" | grep -vx hidden | paste -sd, || true)
if [ -n "$others" ] && ((class_queries)); then
    share=$class_queries
    start classes --class "$others"
    finish 8
fi
# What its user may see are also the server's counters, which nobody else may move.
if grep -q hidden <<<"$classes" && ((class_queries)); then
    every=$jobs jobs=1 share=$((class_queries / 5))
    start classes --class hidden --alone
    finish 1
    jobs=$every
fi
if grep -m 5 -A 40 -E 'PANIC|TRAP|was terminated by signal|(Address|Thread)Sanitizer|runtime error:' "$SERVER_LOG"; then failed=1; fi
exit "$failed"
