#!/usr/bin/env bash
# What does a server do of analytics beside its transactions? HATtrick (Milkai et al., "How Good is My HTAP System?", SIGMOD 2022):
# the Star Schema Benchmark's tables and queries beside new orders and payments, with gpuscan off and on.
usage() {
    cat <<'TEXT'
Usage: bench/htap.sh [SF] [OPTION]...

HATtrick's throughput frontier and freshness at scale factor SF (default 1), in the database that the PG* variables name. The tables
are loaded first if they are missing. Each run begins with the orders of the load; nobody vacuums but autovacuum.

  --seconds N       length of one run (default 6)
  --warmup N        seconds before it that do not count (default 2)
  --max-clients N   largest number of clients of one kind, each with a thread of its own (default: twice the cores, at
                    most 40)
  --clients T,A     one run of so many transactional and analytical clients instead of the frontier
  --no-postgres     gpuscan only
  --compare         test, do not measure: each query also by PostgreSQL's plan, in the same snapshot
  --offload MODE    gpuscan.offload of the runs with gpuscan: auto or force (default auto)
  --device NAME     gpuscan.device: host or cuda (default: the server's setting)
  --set NAME=VALUE  any other setting of the clients' sessions; may be repeated
  --load            load the tables anew
  --schema NAME     schema of the tables (default htap)
  --csv FILE        where the table is stored; no figure is drawn then (default bench/results/htap.csv)
  --draw            only draw the figure from an earlier run's CSV file
  --help            this text

A line is one run: clients, throughput, the transactions' 99th percentile, the queries' median and 99th percentile, and freshness:
for how long at most a transaction that a query did not see had been committed when the query began. The last line has the corners
of the bounding box, and what is reached of both in the middle of the frontier: 1 on the proportional line, 2 if neither kind of
work costs the other anything. Exit status: 0, 1 if a transaction failed or an answer was wrong, 2 for any other error.
TEXT
}

load=0 run=()
option() {
    case $1 in
        --seconds | --warmup | --max-clients | --clients) run+=("$1" "${2:-}") taken=2 ;;
        --no-postgres | --compare) run+=("$1") taken=1 ;;
        --load) load=1 taken=1 ;;
        --schema) schema=${2:-} taken=2 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
offload=auto schema=htap
parse "$@"
((${#arguments[@]} <= 1)) || fail "what is '${arguments[1]}'? See --help"

draw_figure() {
    draw htap <<'GNUPLOT'
runs(series) = sprintf("< awk -F, '$1 == \"%s\"' %s", series, csv)
alone(series) = sprintf("< awk -F, '$1 == \"%s\" && $2 * $3 == 0' %s", series, csv)
frontier(series) = sprintf("< awk -F, '$1 == \"%s\" && $6' %s | sort -t, -g -k4", series, csv)
set key noautotitle
set title 'HATtrick: queries beside transactions'
set xlabel 'transactions/s'
set ylabel 'queries/s'
stats alone('gpuscan') using 4:5 nooutput
set xrange [0:*]
set yrange [0:*]
set object rectangle from 0, 0 to STATS_max_x, STATS_max_y fs empty border lc rgb '#bbbbbb' dt 2
set arrow from 0, STATS_max_y to STATS_max_x, 0 nohead lc rgb '#bbbbbb' dt 2
plot frontier('gpuscan') using 4:5 with lines lw 2 lc rgb '#1f77b4' title 'gpuscan', runs('gpuscan') using 4:5 with points pt 7 lc rgb '#1f77b4', \
    frontier('postgres') using 4:5 with lines lw 2 lc rgb '#d62728' title 'PostgreSQL', runs('postgres') using 4:5 with points pt 7 lc rgb '#d62728', \
    NaN with lines dt 2 lc rgb '#bbbbbb' title 'bounding box and proportional line of gpuscan'
GNUPLOT
}

if ((draw_only)); then draw_figure; exit; fi

need_server
make_program htap/htap-gen htap/htap-run
for setting in "${settings[@]}"; do
    run+=(--set "$setting")
done
missing=(--if-missing)
((!load)) || missing=()
"$bench/htap/htap-gen" --sf "${arguments[0]:-1}" --schema "$schema" "${missing[@]}" >&2 || fail "cannot load the tables"
mkdir -p "$(dirname "$csv")"
"$bench/htap/htap-run" --schema "$schema" --queries "$bench/ssb/queries" --offload "$offload" ${device:+--device "$device"} --csv "$csv" "${run[@]}"
[[ " ${run[*]} " == *" --clients "* || $csv != "$bench/results/htap.csv" ]] || draw_figure
