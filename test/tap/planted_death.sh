#!/usr/bin/env bash
# Every harness fails when the device process dies under it, though every answer is right: each runs its smallest workload twice, in a
# build with the test commands, without and with a death (src/server/planted_death.hpp). PLANTED="NAME NAME" in the
# environment: only these. A harness in which nothing would run on a device when it is so small gets the death after seconds;
# coverage, which only plans, at once.
# Limit: 3600 s (on an idle machine it takes some minutes)
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

export BUILD=${BUILD:-build}/test-commands DEFINES=-DGPUSCAN_TEST_COMMANDS SF=0.01
unset GPUSCAN_HONEST PGHOST PGPORT PGUSER PGDATABASE REGRESS ISOLATION PGTAP TAP
tap_files=$(mktemp -d)
major=$("$(script/pg-config.sh "${PG:-}")" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')

# What harnesses compile is not a part of their time.
config=$(script/pg-config.sh "${PG:-}")
ok 'the programs are built' make -s -j"$(nproc)" PG_CONFIG="$config" all calibrate
ok 'those of the benchmarks, too' make -s -j"$(nproc)" -C bench PG_CONFIG="$config" ssb/ssb-gen ssb/ssb-run tpch/tpch-gen tpch/tpch-run
ok 'and of the random queries' make -s -C test/fuzz BUILD="$(realpath "$BUILD")" PG_CONFIG="$config"

# harness NAME DEATH COMMAND...
harness() {
    local name=$1 death=$2 status=0
    shift 2
    [ -z "${PLANTED:-}" ] || [[ " $PLANTED " == *" $name "* ]] || return 0
    timeout --foreground -k 10 300 "$@" >"$tap_files/$name" 2>&1 </dev/null || status=$?
    result "$status" "$name passes"
    [ "$status" = 0 ] || tail -n 20 "$tap_files/$name" | sed 's/^/#   /'
    status=0
    GPUSCAN_PLANTED_DEATH=$death timeout --foreground -k 10 300 "$@" >"$tap_files/$name.planted" 2>&1 </dev/null || status=$?
    [ "$status" != 0 ] && [ "$status" != 124 ] && grep -qE 'the device process .* was terminated by signal 11|(restarts|fallbacks) [1-9]' "$tap_files/$name.planted"
    result $? "$name fails with a death"
    note "$(grep -hE 'terminated by signal 11|(restarts|fallbacks) [1-9]' "$tap_files/$name.planted" | head -n 1)"
}

# with_server COMMAND...: against a private server. What the command's exit status is, is its own affair.
with_server() (
    eval "$(script/server.sh start 'gpuscan.device = host')" || exit 2
    trap 'script/server.sh stop "$SERVER"' EXIT
    psql -Xqc 'CREATE EXTENSION gpuscan'
    "$@"
)
export -f with_server
on_server() { harness "$1" "$2" bash -c 'with_server "$@"' with_server "${@:3}"; }

harness regress '20 runs' env REGRESS='support types_int' script/check.sh regress
harness isolation '5 runs' env ISOLATION=cached_join_tables script/check.sh isolation
harness pgtap '1 runs' env PGTAP=views script/check.sh pgtap
harness tap '20 runs' env TAP=minimal_wal script/check.sh tap
harness boundary '5 runs' env BOUNDARY_SHARE=0.1 BOUNDARY_SEED=1 script/check.sh boundary
harness stress '20 runs' env STRESS_SECONDS=10 script/check.sh stress
harness fuzz '20 runs' env MATRIX=0 script/fuzz.sh 200 7
harness core '5 runs' test/core/run.sh PG="$major" force int4
harness coverage '0 seconds' script/coverage.sh --check
# shellcheck disable=SC2016 # (the inner shell's)
harness demo '5 runs' bash -c 'script/demo.sh; status=$?; script/demo.sh stop; exit $status'
harness calibrate-demo '2 seconds' env DEVICE=host QUERIES=q6 script/calibrate-demo.sh
on_server ssb '5 runs' bench/ssb.sh "$SF" --offload force --reps 1 --warmups 0 --csv "$tap_files/ssb.csv"
on_server tpch '2 runs' bench/tpch.sh "$SF" --offload force --reps 1 --warmups 0 --only q1,q6 --csv "$tap_files/tpch.csv"
on_server bench-lib '5 runs' bench/skip.sh --rows 100000 --reps 1 --warmups 0 --csv "$tap_files/skip.csv"
