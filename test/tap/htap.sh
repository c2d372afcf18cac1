#!/usr/bin/env bash
# bench/htap.sh, small: every transaction is committed, the tables hold what the clients have committed, each query sees all that was
# committed when it began, and gives PostgreSQL's answer in the midst of transactions.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host'
# htap NAME OPTION...: what it prints goes to $tap_files/NAME, its table to $tap_files/NAME.csv
htap() {
    local name=$1
    shift
    bench/htap.sh 0.01 --csv "$tap_files/$name.csv" --warmup 0.2 "$@" >"$tap_files/$name" 2>&1 || { tail -n 20 "$tap_files/$name" | sed 's/^/#   /'; return 1; }
}
# column NAME N: of the runs, the smallest and the largest
column() { awk -F, -v n="$2" 'NR > 1 && $n != "" { print $n }' "$tap_files/$1.csv" | sort -g | sed -n '1p; $p' | paste -sd' '; }
positive() { awk -F, -v n="$2" -v clients="$3" 'NR > 1 && $clients > 0 && !($n > 0) { bad = 1 } END { exit bad || NR < 2 }' "$tap_files/$1.csv"; }
said() { grep -qE "$2" "$tap_files/$1"; }

# middle NAME SERIES: where the frontier crosses the diagonal of its box, computed anew from the table
middle() {
    awk -F, -v series="$2" '$1 == series && $2 > 0 && $3 == 0 && $4 > tmax { tmax = $4 }
        $1 == series && $2 == 0 && $5 > amax { amax = $5 }
        $1 == series && $6 { t[++n] = $4; a[n] = $5 }
        END {
            for (i = 1; i <= n; i++)
                for (j = 1; j <= n; j++) {
                    x = t[i] / tmax; y = a[i] / amax; u = t[j] / tmax; v = a[j] / amax
                    if (x < y && u >= v && !between(i, j))
                        printf "%.2f\n", 2 * (x + (y - x) / ((u - x) - (v - y)) * (u - x))
                }
        }
        function between(i, j,    k) { for (k = 1; k <= n; k++) if (t[k] > t[i] && t[k] < t[j]) return 1; return 0 }' "$tap_files/$1.csv"
}

ok 'forced, two clients of each kind, each answer compared' htap compared --clients 2,2 --seconds 4 --offload force --no-postgres --compare
is 'all queries were compared' "$(awk -F, 'NR == 2 { for (i = 9; i <= NF; ++i) n += $i > 0; print n }' "$tap_files/compared.csv")" 13
ok 'answers after it' said compared '^13/13 answers equal'
is 'freshness' "$(column compared 8)" '0 0'
ok 'frontier' htap frontier --seconds 0.4 --max-clients 2
ok 'answers after it' said frontier '^13/13 answers equal'
is 'freshness' "$(column frontier 8)" '0 0'
ok 'transactions in each run with such clients' positive frontier 4 2
ok 'queries in each run with such clients' positive frontier 5 3
is 'both series' "$(awk -F, 'NR > 1 { print $1 }' "$tap_files/frontier.csv" | sort -ur | paste -sd' ')" 'postgres gpuscan'
for series in "postgres:PostgreSQL's frontier" gpuscan:frontier; do
    ok "${series#*:}" said frontier "^${series#*:}: tmax [1-9][0-9]*, amax [1-9][0-9]*\.[0-9]+, middle $(middle frontier "${series%%:*}") \(a/amax \+ t/tmax\), freshness max 0\.000 s$"
done

# What these checks see: a transaction of which the client does not know, during the run.
sql "SET search_path = htap; CREATE FUNCTION one_more() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN NEW.h_amount := NEW.h_amount + 0.01; RETURN NEW; END \$\$;
     CREATE TRIGGER one_more BEFORE INSERT ON history FOR EACH ROW EXECUTE FUNCTION one_more()"
htap wrong --clients 1,0 --seconds 0.2 --no-postgres >/dev/null
is 'a wrong sum fails' "$?" 1
ok 'and is told' said wrong '^WRONG: .*orders, lines'
nothing_in_log 'PANIC|TRAP|leak|was terminated' 'nothing bad in the log'
