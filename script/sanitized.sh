#!/usr/bin/env bash
# The tests under the sanitizers: unit and regression tests, random queries and boundaries under AddressSanitizer and UBSan, backends
# and device process alike, and under ThreadSanitizer the unit tests of what threads share. A finding ends its process, and so fails
# its test; it is also looked for in the servers' logs. The last line is "N passed, N failed".
#
# Usage: script/sanitized.sh [SHARE [SEED]]      of all, in per cent (default 100); which ones, says SEED (default: today)
# Settings of the environment: SANITIZED, which groups (default: unit regress boundary queries threads), and those of the Makefile.
# The server is one of script/build-postgres.sh, PG=17 by default, which is built if it is not there (script/server.sh says why).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
share=${1:-100} seed=${2:-$((10#$(date +%j)))} build=${BUILD:-build} PG=${PG:-17}
export PG
queries=$((20000 * share / 100))
read -ra groups <<<"${SANITIZED:-unit regress boundary queries threads}"

passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# suite COMMAND...: counts what "N passed, N failed" says
suite() {
    local status
    "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    if [[ $(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1) =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        [ "$status" = 0 ] || [ "${BASH_REMATCH[2]}" -gt 0 ] || failed=$((failed + 1))
    else
        failed=$((failed + 1))
    fi
}

# one NAME COMMAND...: one test
one() {
    local name=$1
    shift
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        tail -n "${lines:-6}" "$log"
        echo "$name: passed"
    else
        failed=$((failed + 1))
        tail -n 150 "$log"
        echo "$name: failed"
    fi
}

[ -x "$(script/build-postgres.sh --prefix "$PG")/bin/pg_config" ] || script/build-postgres.sh "${PG%%-*}" || exit

export SANITIZE=address,undefined BUILD=$build/sanitized
# Leaks of a program that ends would be found at its end; a backend never frees what goes with its process.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
if [ "$share" -lt 100 ]; then
    export GTEST_TOTAL_SHARDS=$((100 / share))
    GTEST_SHARD_INDEX=$((seed % GTEST_TOTAL_SHARDS))
    export GTEST_SHARD_INDEX MATRIX=0
fi
checks=()
for group in "${groups[@]}"; do
    case $group in
        unit | regress | boundary) checks+=("$group") ;;
    esac
done
if [ ${#checks[@]} -gt 0 ]; then
    suite env REGRESS_SHARE="$share" REGRESS_SEED="$seed" BOUNDARY_SHARE="$share" BOUNDARY_SEED="$seed" script/check.sh "${checks[@]}"
fi
if [[ " ${groups[*]} " == *" queries "* ]]; then one "random queries" script/fuzz.sh "$queries" "$seed"; fi
unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX

if [[ " ${groups[*]} " == *" threads "* ]]; then
    export SANITIZE=thread BUILD=$build/sanitized-thread TSAN_OPTIONS=halt_on_error=1:die_after_fork=0
    one "build with ThreadSanitizer" make -s -j"$(nproc)" PG_CONFIG="$(script/pg-config.sh "$PG")" thread-tests
    one "threads" "$BUILD/unit/thread_tests" --gtest_filter=-SessionRefusalTest.SurvivesGarbage # (it has one thread, and takes minutes)
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
