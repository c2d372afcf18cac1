#!/usr/bin/env bash
# bench/regret.sh: it times the plans of a query and says how good the choice was, goes on where it stopped, and notices a wrong
# answer. (Which plans win depends on the machine, so nothing here looks at that.)
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host'
csv=$tap_files/regret.csv
regret() { bench/regret.sh 0.01 --only q1.1,q6,range --reps 2 --csv "$csv" --keep >"$tap_files/regret.log" 2>&1; }
measured() { wc -l <"$csv"; }
# (What hidden deaths there were is told behind it.)
last_line() { grep -v "^honest " "$tap_files/regret.log" | tail -n 1; }
last_line='^cases 6, wrong [0-9.]+ %, regret [0-9.]+, rank correlation -?[0-9.]+$'

ok 'three queries, cold and hot' regret
ok 'the last line counts the cases' grep -qE "$last_line" <(last_line)
ok 'plans with a device were timed' grep -q GpuScan "$csv"
ok 'plans without one were timed' grep -q 'Seq Scan' "$csv"
is 'a case has a line in the table' "$(grep -c '^regret_' "$tap_files/regret_cases.csv")" 6

before=$(measured)
ok 'a second start' regret
ok 'says the same' grep -qE "$last_line" <(last_line)
ok 'and measures next to nothing' test "$(measured)" -le "$((before + 6))"

# as if it had died while it wrote the last line
truncate -s -20 "$csv"
ok 'a third start, after a line that is cut short' regret
ok 'has all cases' grep -qE "$last_line" <(last_line)

# what PostgreSQL's plan is remembered to have given is something else
sed -i 's/\x02[0-9]/\x02x/' "$csv".answers/*.answer
regret && status=0 || status=$?
is 'other answers than PostgreSQL gave: exit status' "$status" 1
ok 'and its name' grep -q '^other results than' "$tap_files/regret.log"

is 'a benchmark that is unknown: exit status' "$(bench/regret.sh 0.01 --benchmarks nothing >/dev/null 2>&1; echo $?)" 2
is 'a scale factor is needed: exit status' "$(bench/regret.sh >/dev/null 2>&1; echo $?)" 2
nothing_in_log 'PANIC|TRAP|leak|was terminated' 'nothing bad in the log'
