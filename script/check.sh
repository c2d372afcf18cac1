#!/usr/bin/env bash
# Every test. Installs what is missing, builds, starts private servers, runs the groups of tests, leaves nothing running.
# The last line is "N passed, N failed"; the exit status says whether all passed.
#
# Usage: script/check.sh [GROUP...]
#   unit        test/unit/*.cpp: the engine and its devices, without PostgreSQL
#   regress     test/sql/*.sql in the order of test/schedule, against expected/
#   isolation   test/isolation/specs/*.spec, against test/isolation/expected/
#   pgtap       test/pgtap/*.sql, each in a database of its own
#   tap         test/tap/*.sh: each starts the servers it needs. A line "# Long" in a file says that it takes a minute or more.
#   boundary    test/boundary/run.sh: a share of the sizes around each capacity of the source
#   stress      test/stress/run.sh SECONDS
# Default: all, or unit, regress and isolation on a server that has no pgTAP (those of script/build-postgres.sh).
# REGRESS, ISOLATION, PGTAP and TAP="NAME NAME" in the environment: only these tests of the group, in this order for the first two.
# TAP_TURN=I/N: of the long files of tap only each N-th, from the I-th on (0/1: all).
# TEST="NAME NAME": only the tests of these names, in all groups that have one (unit: those of test/unit/NAME_test.cpp).
# Settings of the environment: PG, PG_CONFIG, BUILD, SANITIZE (see the Makefile), STRESS_SECONDS (60), BOUNDARY_SHARE (10 per cent),
# REGRESS_SHARE (100 per cent).
# After each group the server's log is looked at for deaths of the device process and fallbacks that nobody expects
# (script/honest.sh); the last line but one is their sums.
# What the tests wrote stays in $BUILD/check-MAJOR, the server's log too.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PGOPTIONS PGSERVICE PGPASSFILE PGPASSWORD PSQLRC
export BUILD=${BUILD:-build} PG=${PG:-}

passed=0
failed=0
count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

phase() {
    echo "$(date +%H:%M:%S) ---- $*"
}

# tell_failed GROUP: each line of the input names a test that has failed, or is a part of what it said. Told once more at the end.
tell_failed() {
    sed "s/^/FAILED: $1: /" >>"$out/failed"
}

# count_lines PATTERN FILE: or those of all files of a folder
count_lines() {
    { grep -rhE "$1" "$2" || true; } | wc -l
}

# Deaths and fallbacks that a right answer hides, since the log's byte $1 (script/honest.sh), and what a sanitizer has found. One test.
check_honesty() {
    local found
    found=$(tail -c "+$1" "$SERVER_LOG" | grep -A 40 -E '(Address|Thread)Sanitizer|runtime error:' || true)
    if script/honest.sh "$2" "$SERVER_LOG" "$1" && [ -z "$found" ]; then
        count 1 0
    else
        head -n 200 <<<"$found"
        echo "what its server's log says" | tell_failed "$2"
        count 0 1
    fi
}

# --- the groups ---

run_unit() {
    local log=$out/unit.log ok bad status
    compgen -G 'test/unit/*.cpp' >/dev/null || return 0
    if ! make -s -j"$(nproc)" PG_CONFIG="$pg_config" unit >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "does not compile" | tell_failed unit
        count 0 1
        return
    fi
    # A part of the tests for each core: most of them run one thread.
    local part parts=()
    for ((part = 0; part < $(nproc); part++)); do
        GTEST_TOTAL_SHARDS=$(nproc) GTEST_SHARD_INDEX=$part \
            "$BUILD/unit/unit_tests" ${UNIT:+--gtest_filter="$UNIT"} >"$out/unit.$part.log" 2>&1 &
        parts+=($!)
    done
    status=0
    : >"$log"
    for part in "${!parts[@]}"; do
        wait "${parts[part]}" || status=$?
        cat "$out/unit.$part.log" >>"$log"
        rm "$out/unit.$part.log"
    done
    ok=$(count_lines '^\[       OK \]' "$log")
    bad=$(count_lines '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$log")
    if [ "$status" != 0 ]; then
        grep -vE '^\[( RUN      |       OK |-*)\]' "$log" | tail -n 80 || true
        [ "$bad" -gt 0 ] || bad=1
        { grep -E -A 2 '^\S+: Failure$|^\[  FAILED  \] .* \([0-9]+ ms\)$' "$log" || tail -n 5 "$log"; } | awk "NR <= 20" | tell_failed unit
    fi
    echo "unit: $ok passed, $bad failed"
    count "$ok" "$bad"
}

# A test file that no schedule names would never run.
check_schedule() {
    local name missing=0
    for name in $(find test/sql -name '*.sql' -exec basename {} .sql \; | sort); do
        if ! grep -qE "^test:(.* )?$name( |\$)" test/schedule; then
            echo "test/sql/$name.sql is not in test/schedule" | tee >(tell_failed regress)
            missing=1
        fi
    done
    count $((1 - missing)) $missing
}

# An autovacuum worker's snapshot keeps a test's VACUUM from marking pages as all-visible, and costs and counters follow the marks.
# (The other groups and the stress test run with it.)
set_autovacuum() {
    "$SERVER_BIN/psql" -XqAt -c "ALTER SYSTEM SET autovacuum = $1" -c 'SELECT pg_reload_conf()' postgres >/dev/null
}

# run_pg_regress NAME PROGRAM INPUTS EXPECTED ARGUMENT...
run_pg_regress() {
    local name=$1 program=$2 inputs=$3 expected=$4 log=$out/$1.log ok bad status options=()
    shift 4
    rm -rf "${out:?}/$name"
    mkdir -p "$out/$name"
    # Up to 15 the expected files are looked for below the output directory.
    ln -s "$(realpath "$expected")" "$out/$name/expected"
    [ "$major" -lt 16 ] || options+=(--expecteddir="$out/$name")
    set_autovacuum off
    "$program" --bindir="$SERVER_BIN" --host="$PGHOST" --port="$PGPORT" --user="$PGUSER" --dbname="$name" \
        --load-extension=gpuscan --inputdir="$inputs" --outputdir="$out/$name" "${options[@]}" "$@" >"$log" 2>&1 &&
        status=0 || status=$?
    set_autovacuum on
    ok=$(count_lines '^ok |\.\.\. ok' "$log")
    bad=$(count_lines '^not ok |\.\.\. FAILED|\.\.\. failed' "$log")
    if [ "$status" != 0 ]; then
        [ "$bad" -gt 0 ] || bad=1
        grep -E '^not ok |\.\.\. (FAILED|failed)' "$log" || tail -n 30 "$log"
        [ ! -s "$out/$name/regression.diffs" ] || head -n 200 "$out/$name/regression.diffs"
        { grep -E '^not ok |\.\.\. (FAILED|failed)' "$log" || tail -n 3 "$log"; grep -E '^[-+]' "$out/$name/regression.diffs" || true; } |
            awk "NR <= 20" | tell_failed "$name"
    fi
    echo "$name: $ok passed, $bad failed"
    count "$ok" "$bad"
}

# Of the schedule's tests a share (REGRESS_SHARE), which changes by the day (or REGRESS_SEED), and those that others need.
run_regress() {
    local schedule=$out/schedule
    compgen -G 'test/sql/*.sql' >/dev/null || return 0
    local tests=(--schedule="$schedule")
    [ -z "${REGRESS:-}" ] || read -ra tests <<<"$REGRESS"
    check_schedule
    awk -v share="${REGRESS_SHARE:-100}" -v seed="${REGRESS_SEED:-$(date +%j)}" 'BEGIN { srand(seed) }
        $1 == "test:" {
            line = ""
            for (i = 2; i <= NF; i++)
                if ($i == "support" || $i == "shapes" || rand() * 100 < share)
                    line = line " " $i
            if (line != "")
                print "test:" line
        }' test/schedule >"$schedule"
    run_pg_regress regress "$pgxs_dir/src/test/regress/pg_regress" test expected "${tests[@]}"
}

run_isolation() {
    local specs
    compgen -G 'test/isolation/specs/*.spec' >/dev/null || return 0
    mapfile -t specs < <(find test/isolation/specs -name '*.spec' -exec basename {} .spec \; | sort)
    [ -z "${ISOLATION:-}" ] || read -ra specs <<<"$ISOLATION"
    run_pg_regress isolation "$pgxs_dir/src/test/isolation/pg_isolation_regress" test/isolation test/isolation/expected "${specs[@]}"
}

# run_prove NAME PROGRAM ARGUMENT...: tests that speak TAP, by prove or pg_prove; what they print stays in $out/NAME
run_prove() {
    local name=$1 ok bad status
    shift
    rm -rf "${out:?}/$name"
    PERL_TEST_HARNESS_DUMP_TAP=$out/$name "$@" --merge --failures --comments </dev/null && status=0 || status=$?
    ok=$(count_lines '^ok ' "$out/$name")
    bad=$(count_lines '^not ok ' "$out/$name")
    # A file that ends early, or says another number of tests, fails without a line.
    [ "$status" = 0 ] || [ "$bad" -gt 0 ] || bad=1
    [ "$bad" = 0 ] || { grep -rE -A 6 '^not ok ' "$out/$name" || echo "a file ended early"; } | awk "NR <= 20" | tell_failed "$name"
    echo "$name: $ok passed, $bad failed"
    count "$ok" "$bad"
}

run_pgtap() {
    local name
    for name in ${PGTAP:-$(basename -s .sql test/pgtap/*.sql)}; do
        psql -Xqc "CREATE DATABASE \"pgtap_$name\""
        PGOPTIONS='-c client_min_messages=warning' psql -Xq -d "pgtap_$name" -c 'CREATE EXTENSION pgtap' -c 'CREATE EXTENSION gpuscan'
        run_prove "pgtap-$name" pg_prove --dbname "pgtap_$name" "test/pgtap/$name.sql"
    done
}

run_tap() {
    local files=() file turn=${TAP_TURN:-0/1} long=0
    for file in test/tap/*.sh; do
        if grep -q '^# Long$' "$file"; then
            long=$((long + 1))
            [ $((long % ${turn#*/})) = "${turn%/*}" ] || continue
        fi
        files+=("$file")
    done
    [ -z "${TAP:-}" ] || mapfile -t files < <(xargs printf 'test/tap/%s.sh\n' <<<"$TAP")
    run_prove tap prove --exec bash "${files[@]}"
}

# run_program NAME COMMAND...: one test
run_program() {
    local name=$1 log=$out/$1.log
    shift
    if timeout --foreground -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null; then
        echo "$name: passed"
        count 1 0
    else
        tail -n 60 "$log"
        echo "$name: failed"
        tail -n 10 "$log" | tell_failed "$name"
        count 0 1
    fi
}

run_boundary() {
    local limit=3600
    run_program boundary bash test/boundary/run.sh "${BOUNDARY_SHARE:-10}" ${BOUNDARY_SEED:+"$BOUNDARY_SEED"}
    grep '^boundary: ' "$out/boundary.log" || true
}

run_stress() {
    local limit=$((${STRESS_SECONDS:-60} + 300))
    [ ! -e test/stress/run.sh ] || run_program stress bash test/stress/run.sh "${STRESS_SECONDS:-60}"
}

# --- all together ---

started=$SECONDS
script/setup.sh build
pg_config=$(script/pg-config.sh "$PG")
export PG_CONFIG=$pg_config
major=$("$pg_config" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
pgxs_dir=$(dirname "$("$pg_config" --pgxs)")/../..
mkdir -p "$BUILD/check-${PG:-$major}"
out=$(realpath "$BUILD/check-${PG:-$major}")
export GPUSCAN_HONEST=$out/honest # of every server that a test starts
: >"$GPUSCAN_HONEST"
: >"$out/failed"

# Sorts the names of TEST by the groups that have them.
choose_tests() {
    local name suite
    for name in $TEST; do
        local found=${#groups[@]}
        if [ -e "test/unit/${name}_test.cpp" ]; then
            for suite in $(sed -nE 's/^TEST(_F|_P)?\((\w+), .*/\2/p' "test/unit/${name}_test.cpp" | sort -u); do UNIT="${UNIT:+$UNIT:}$suite.*"; done
            groups+=(unit)
        fi
        [ ! -e "test/sql/$name.sql" ] || { REGRESS="${REGRESS:-} $name" && groups+=(regress); }
        [ ! -e "test/isolation/specs/$name.spec" ] || { ISOLATION="${ISOLATION:-} $name" && groups+=(isolation); }
        [ ! -e "test/pgtap/$name.sql" ] || { PGTAP="${PGTAP:-} $name" && groups+=(pgtap); }
        [ ! -e "test/tap/$name.sh" ] || { TAP="${TAP:-} $name" && groups+=(tap); }
        [ "${#groups[@]}" != "$found" ] || { echo "check.sh: there is no test \"$name\"" >&2 && count 0 1; }
    done
    [ ${#groups[@]} -gt 0 ] || exit 1
    mapfile -t groups < <(printf '%s\n' "${groups[@]}" | awk '!seen[$0]++')
    REGRESS=$(tr -s ' ' '\n' <<<"support shapes ${REGRESS:-}" | awk '!seen[$0]++' | xargs) # (others need the first two)
}

groups=("$@")
if [ -n "${TEST:-}" ]; then
    groups=()
    choose_tests
elif [ ${#groups[@]} = 0 ]; then
    groups=(unit regress isolation)
    [ ! -e "$("$pg_config" --sharedir)/extension/pgtap.control" ] || groups+=(pgtap tap boundary stress)
fi

# The summary is the last word, however the script ends; ending early is a failure of its own.
finish() {
    local status=$?
    trap - EXIT
    if [ -n "${SERVER:-}" ]; then
        cp "$SERVER_LOG" "$out/server.log" || true
        script/server.sh stop "$SERVER" || true
    fi
    [ "$status" = 0 ] || count 0 1
    phase "done in $((SECONDS - started)) s"
    awk '{ for (i = 1; i <= 5; i++) sum[i] += $i }
        END { printf "restarts %d (%d expected), fallbacks %d (%d unexpected), row errors %d\n", sum[1], sum[2], sum[3], sum[4], sum[5] }' "$GPUSCAN_HONEST"
    cat "$out/failed"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ] || exit 1
}
trap finish EXIT
trap "exit 130" INT TERM HUP

phase "PostgreSQL $major: build and server"
environment=$(script/server.sh start)
eval "$environment"
for group in "${groups[@]}"; do
    phase "$group"
    before=$(($(stat -c %s "$SERVER_LOG") + 1))
    "run_$group"
    [ "$group" = unit ] || [ "$group" = tap ] || check_honesty "$before" "$group"
done
