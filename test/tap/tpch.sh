#!/usr/bin/env bash
# The 22 queries of TPC-H over a small set of data, with several choices of parameters: forced onto the device and chosen by
# cost they give PostgreSQL's answers. What a device does of them when forced must not become less.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host'
# compare NAME OPTION...: a table of the runner's in $tap_files/NAME.csv
compare() {
    local name=$1
    shift
    ok "$name: equal" bench/tpch.sh 0.01 --csv "$tap_files/$name.csv" --reps 1 --warmups 1 --postgres-reps 1 --postgres-warmups 0 "$@"
    is "$name: 22 queries were compared" "$(grep -c '^q.*,true,' "$tap_files/$name.csv")" 22
}
# Queries with a device node, and with one that aggregates the largest table.
with_device() { awk -F, 'NR > 1 && $7 > 0' "$tap_files/$1.csv" | wc -l; }
aggregated() { awk -F, 'NR > 1 && $11 == "yes"' "$tap_files/$1.csv" | wc -l; }

compare force --offload force --refusals
compare auto --offload auto
for seed in 1 2 3; do
    compare "force, seed $seed" --offload force --seed "$seed"
done
note "forced: $(with_device force) with a device, $(aggregated force) aggregated there"
ok 'forced, a device takes part in all 22' test "$(with_device force)" -eq 22
ok 'forced, the largest table is aggregated there in all 22' test "$(aggregated force)" -eq 22
nothing_in_log 'PANIC|TRAP|leak|was terminated' 'nothing bad in the log'
