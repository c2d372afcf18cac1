#!/usr/bin/env bash
# Coverage-guided fuzzing of everything that parses (test/fuzz/parsers/*_fuzz.cpp: libFuzzer, AddressSanitizer, UBSan). Each target
# begins with its kept inputs (test/fuzz/parsers/corpus/TARGET), with those that it makes itself, and with what earlier runs have
# found in $BUILD/fuzz/corpus. An input that ends the program stays in $BUILD/fuzz/found. The last line is "N passed, N failed".
#
# Usage: script/fuzz-parsers.sh [SECONDS [TARGET...]]      default: 60 seconds each, all targets (decode, program, session, ...)
#        script/fuzz-parsers.sh --keep [TARGET...]         makes the kept inputs anew: the smallest ones that reach what is reached
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "${BUILD:-build}")

keep=
if [ "${1:-}" = --keep ]; then
    keep=1
    shift
    set -- 0 "$@"
fi
seconds=${1:-60}
[ $# = 0 ] || shift
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(find test/fuzz/parsers -name '*_fuzz.cpp' -exec basename {} _fuzz.cpp \; | sort)

script/setup.sh build fuzz
make -s -j"$(nproc)" BUILD="$build" fuzzers
mkdir -p "$build/fuzz/found"
most_kept=40 # inputs of a target; they are small, so that the repository stays small

passed=0
failed=0
for target in "${targets[@]}"; do
    program=$build/fuzz/${target}_fuzz kept=test/fuzz/parsers/corpus/$target work=$build/fuzz/corpus/$target log=$build/fuzz/$target.log
    mkdir -p "$work" "$kept"
    FUZZ_CORPUS=$work "$program" -runs=0 >"$log" 2>&1 || true
    if [ -n "$keep" ]; then
        smallest=$(mktemp -d)
        "$program" -merge=1 "$smallest" "$work" "$kept" >"$log" 2>&1
        find "$kept" -type f ! -name 'was-*' -delete
        find "$smallest" -type f -size -10k -printf '%s %p\n' | sort -n | awk '{ print $2 }' | head -n "$most_kept" | xargs -r cp -t "$kept"
        rm -rf "$smallest"
        echo "$target: $(find "$kept" -type f | wc -l) inputs, $(du -sk "$kept" | cut -f1) kB"
        continue
    fi
    # (-timeout: for what does not look whether it is cancelled.)
    if "$program" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=3000 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix="$build/fuzz/found/$target-" "$work" "$kept" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: */inputs /p' "$log"), $(grep -oE 'cov: [0-9]+' "$log" | tail -n 1)"
    else
        failed=$((failed + 1))
        grep -vE '^#[0-9]+.*(NEW|REDUCE|pulse|RELOAD)' "$log" | tail -n 60
        echo "FAILED: $target; its log is $log"
    fi
done
[ -z "$keep" ] || exit 0
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
