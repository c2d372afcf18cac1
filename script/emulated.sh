#!/usr/bin/env bash
# The CUDA device without a GPU: the kernels that are generated for random programs and random queries, compiled by g++ and run on
# the CPU (test/cuda_emulator). What a kernel computes is tested; what NVIDIA's assembler, many threads at once and cancellation make of
# it is not, and needs a GPU ("Testing without a GPU" in doc/architecture.md).
#
# Usage: script/emulated.sh [PROGRAMS [QUERIES [SEED]]]     default: 40 random programs of each kind, 150 queries, a new seed
# The last line is "N passed, N failed". A query takes about a second.
set -euo pipefail
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build}
programs=${1:-40} queries=${2:-150} seed=${3:-$(date +%s)}

script/setup.sh build
make -s unit cuda-tools cuda-emulator
# (where the server's user may read it)
emulator=$(mktemp -d "${TMPDIR:-/tmp}/gpuscan-emulated.XXXXXX")
trap 'rm -rf "$emulator"' EXIT
trap 'exit 130' INT TERM HUP
cp -r "$BUILD/emulator" test/cuda_emulator "$emulator"
chmod -R a+rX "$emulator"
# (-O0 and the short text of first executions: compiling takes nearly all the time)
emulated() {
    env LD_LIBRARY_PATH="$emulator/emulator" GPUSCAN_EMULATOR_DIR="$emulator/cuda_emulator" GPUSCAN_EMULATOR_FLAGS="-O0 -DGPUSCAN_QUICK=1" "$@"
}

passed=0 failed=0
count() { # NAME COMMAND...
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1)) && echo "$name: passed"
    else
        failed=$((failed + 1)) && echo "$name: FAILED"
    fi
}
# unit_tests PROGRAM FILTER
unit_tests() {
    local log=$emulator/log
    GPUSCAN_TEST_SEEDS=$programs emulated "$BUILD/unit/$1" --gtest_filter="$2" >"$log" 2>&1 && tail -n 1 "$log" && return
    tail -n 100 "$log"
    return 1
}
# (Launches do not run side by side here, and host memory that a GPU only reads is not guarded.)
count "the device's tests" unit_tests cuda_device_test 'CudaDeviceTest.*-*.CancelSideBySide:*.PoolIsReadOnly'
count "windows" unit_tests unit_tests 'CudaWindowsTest.*'
count "groups as columns" unit_tests unit_tests 'CudaGroupColumnsTest.*'
count "groups that are wanted" unit_tests unit_tests 'CudaWantedGroupsTest.*'
count "decoding" unit_tests unit_tests 'CudaDecodeTest.*'
count "the kernel cache's tests" unit_tests unit_tests 'KernelCacheTest.*'
count "random queries" emulated env DEVICE=cuda MATRIX=0 CLASSES='' FUZZ_OPTIONS="--timeout 60" script/fuzz.sh "$((queries / 2))" "$seed"
# As on a GPU, with pieces of memory that are used again, so that the emulator cannot guard their ends.
export GPUSCAN_EMULATOR_POOLS=1
count "memory, used again" unit_tests cuda_device_test 'CudaDeviceTest.FreedPieces*:CudaDeviceTest.MemoryLimit:CudaDeviceTest.SecondTry*'
count "random queries, memory used again" emulated env DEVICE=cuda MATRIX=0 CLASSES='' FUZZ_OPTIONS="--timeout 60" script/fuzz.sh "$((queries - queries / 2))" "$((seed + 1))"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
