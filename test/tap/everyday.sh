#!/usr/bin/env bash
# bench/everyday.sh, small: every query gives PostgreSQL's answer, whether costs choose the plan or a device is forced, without restarts
# and unexpected fallbacks; and a wrong answer is noticed.
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host'
# everyday NAME OPTION...: what it prints goes to $tap_files/NAME
everyday() {
    local name=$1
    shift
    bench/everyday.sh --rows 3000 --reps 1 --warmups 0 --keep --csv "$tap_files/$name.csv" "$@" >"$tap_files/$name" 2>&1 ||
        { grep -E 'DIFFERENT|ERROR|^everyday.sh|unexpected' "$tap_files/$name" | sed 's/^/#   /'; return 1; }
}
# column NAME N: of all queries' lines, sorted
column() { awk -F, -v n="$2" 'FNR > 1 { print $n }' "$tap_files/$1"_*.csv | sort | uniq -c | tr -s ' ' | paste -sd';'; }

queries=$(cat bench/everyday/{shop,events,logs}.sql | grep -c '^-- query: ')
for mode in force auto; do
    ok "$mode" everyday "$mode" --offload "$mode"
    is "$mode: all answers are equal" "$(column "$mode" 7)" " $queries equal"
    note "$mode: $(column "$mode" 8)"
done
ok 'forced, a device takes part in three of four' test "$(grep -cE ',(device|part),' <(cat "$tap_files"/force_*.csv))" -gt $((queries * 3 / 4))

# Answers that depend on the setting: floats that differ in the 15th digit, and in the 10th; texts.
differ() {
    sql "ALTER TABLE everyday_logs.metrics RENAME TO kept;
         CREATE VIEW everyday_logs.metrics AS SELECT time, host || CASE current_setting('gpuscan.offload') WHEN 'off' THEN '' ELSE '$2' END AS host, name,
            value * (1 + CASE current_setting('gpuscan.offload') WHEN 'off' THEN 0 ELSE $1 END) AS value FROM everyday_logs.kept"
    everyday wrong --only logs.cpu_by_host >/dev/null
    echo $?
    sql 'DROP VIEW everyday_logs.metrics; ALTER TABLE everyday_logs.kept RENAME TO metrics'
}
is 'floats that differ by 1e-14 are equal' "$(differ 1e-14 '')" 0
is 'floats that differ by 1e-10 are not: exit status' "$(differ 1e-10 '')" 1
is 'nor are texts: exit status' "$(differ 0 x)" 1
ok 'and it is told' grep -q 'cpu_by_host.*DIFFERENT' "$tap_files/wrong"
is 'a query that is unknown: exit status' "$(everyday unknown --only shop.nothing >/dev/null; echo $?)" 1
ok 'and it is told' grep -q 'names no query: shop.nothing' "$tap_files/unknown"
nothing_in_log 'PANIC|TRAP|leak|was terminated' 'nothing bad in the log'
