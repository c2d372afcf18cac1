#!/usr/bin/env bash
# The comparison of configurations of page costs by TPC-H (bench/asymmetric-storage/experiment.sh): it goes on where it was, refuses
# to mix what does not belong together, and its U-test gives known values.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

here=bench/asymmetric-storage
dir=$(mktemp -d)
at_exit+=("$here/experiment.sh '$dir' --remove >/dev/null 2>&1" "rm -rf '$dir'")
chmod 755 "$dir"
make -s -C bench PG_CONFIG="${PG_CONFIG:-pg_config}" asymmetric-storage/compare || exit 1

# The example of the manual of R's wilcox.test (there one-sided); 2 of the 252 orders of ten; by the formulas with ties.
is 'U-test, exact' "$($here/compare --u-test 0.80,0.83,1.89,1.04,1.45,1.38,1.91,1.64,0.73,1.46 1.15,0.88,0.90,0.74,1.21)" 'U 35.0, p 0.2544'
is 'U-test, apart' "$($here/compare --u-test 1,2,3,4,5 6,7,8,9,10)" 'U 0.0, p 0.007937'
is 'U-test, ties' "$($here/compare --u-test 1,2,2,3 2,3,4,5,5)" 'U 2.5, p 0.07855 (approximate)'

experiment() { $here/experiment.sh "$dir" --queries q1,q3 --seq-read 1 --random-read 2 --seq-write 1 --random-write 3 "$@" >"$dir/said" 2>&1; }
runs() { grep -cE "$1" "$dir/results.csv"; }

ok 'two seeds, two configurations' experiment --sf 0.01 --seeds 1,2
is 'each query once' "$(runs '^(orig|asymmetric)_default,[12],q[13],[0-9.]+,ok,')" 8
ok 'the default costs, told by five settings, choose the same plans' grep -q ' 4 of 4 plans the same$' "$dir/said"
# As if it had been stopped: one line is missing, another one is not whole.
sed -i '/^orig_default,1,q3/d; s/^\(asymmetric_default,2,q3,\).*/\1/' "$dir/results.csv"
printf '%s\n' '# of nobody' 'random_page_cost = 1.5' >"$dir/mine"
ok 'goes on, with one more seed and configuration' experiment --seeds 1-3 --configuration orig_default --configuration asymmetric_default \
    --configuration mine="$dir/mine" --by-query
is 'each query once again' "$(runs ',[123],q[13],[0-9.]+,ok,')" 18
is 'nothing twice' "$(cut -d, -f1-3 "$dir/results.csv" | sort | uniq -d)" ''
echo 'random_page_cost = 2' >"$dir/mine"
experiment --configuration mine="$dir/mine"
is 'a name keeps its settings' "$?" 2
experiment --random-write 4
is 'the storage stays' "$?" 2
echo 'work_mem = much' >"$dir/wrong"
experiment --seeds 1 --configuration wrong="$dir/wrong"
is 'a query that fails' "$?" 1
is 'is no result' "$(runs '^wrong')" 0
calibrated() { experiment --calibrate "$1" --seeds 1,2 --anneal '--cycles 20 --period 10 --harvest 10 --repeats 1 --settle 10 --rounds 2' "${@:2}"; }
calibrated 2
is 'what is compared is not calibrated with' "$?" 2
ok 'calibrates both models' calibrated 9
is 'by queries of other seeds' "$(cd "$dir/calibration/queries" && echo *)" 'q1.9.sql q3.9.sql'
ok 'measures no plan for both' grep -q 'times are taken over' "$dir/said"
is 'four configurations' "$(runs '^(orig|asymmetric)_(default|calibrated),[12],q[13],[0-9.]+,ok,')" 16
ok 'compares them' grep -qE '^asymmetric_calibrated / orig_calibrated: .* U [0-9.]+ of 4, p ' "$dir/said"
ok 'as pages, too' grep -q '<h2>Seeds that were not calibrated with</h2>' "$dir/asymmetric.html"
is 'weights of one model' "$(cut -d' ' -f1 "$dir/configurations/orig_calibrated" | sort -u | grep -vE '^(seq_page_cost|random_page_cost|cpu_(index_)?tuple_cost|cpu_operator_cost)$')" ''
cp "$dir/calibration/asymmetric.jsonl" "$dir/before"
ok 'goes on' calibrated 9
ok 'does not calibrate again' cmp "$dir/calibration/asymmetric.jsonl" "$dir/before"
calibrated 8
is 'a calibration keeps its seeds' "$?" 2
ok 'removes the server' $here/experiment.sh "$dir" --remove
ok 'keeps the results' test ! -e "$dir/server" -a "$(runs ok)" = 26
