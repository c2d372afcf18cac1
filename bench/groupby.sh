#!/usr/bin/env bash
# Grouping by the number of groups and by skew: Sitaridi, Ross, "Ameliorating Memory Contention of OLAP Operators on GPU
# Processors" (2012), section 4 (there: 1,024 groups, theta 0 to 2, copies placed by the data, 18 G rows/s on an NVIDIA C2070).
usage() {
    cat <<'TEXT'
Usage: bench/groupby.sh [OPTION]...

Measures SELECT key, count(*), sum(value) ... GROUP BY key through SQL, once over the number of groups with keys that are
equally frequent, once over the skew of a million keys (Zipf's distribution). The groups are consumed by an outer aggregate,
so that no client's speed is measured. With a GPU, and build/bench/group_bench built (make cuda-tools), the engine alone is
measured too: every way in which it could keep groups, over groups and theta; that table is bench/results/groupby-engine.csv.

  --rows N              rows of the table for the curve over groups, and the largest number of groups (default 100000000)
  --groups LIST         numbers of groups (default 1,10,1000,100000,10000000,100000000; those above --rows are left out)
  --thetas LIST         skews (default 0,0.5,1,1.5,2); the table for them has a quarter of the rows
  --postgres-groups N   PostgreSQL's own time only up to so many groups (default: all)
  --no-postgres         leave PostgreSQL's own times and the comparison of the results out
  --engine FILE         the program group_bench (default build/bench/group_bench)
  --no-engine           leave the engine's own measurement out
  --seconds N           stop the engine's measurement after so many seconds (default 120)
TEXT
    common_usage
}

rows=100000000 groups=1,10,1000,100000,10000000,100000000 thetas=0,0.5,1,1.5,2 postgres_groups='' with_postgres=1
engine='' with_engine=1 seconds=120
option() {
    case $1 in
        --rows) rows=${2:-} taken=2 ;;
        --groups) groups=${2:-} taken=2 ;;
        --thetas) thetas=${2:-} taken=2 ;;
        --postgres-groups) postgres_groups=${2:-} taken=2 ;;
        --no-postgres) with_postgres=0 taken=1 ;;
        --engine) engine=${2:-} taken=2 ;;
        --no-engine) with_engine=0 taken=1 ;;
        --seconds) seconds=${2:-} taken=2 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse "$@"
((${#arguments[@]} == 0)) || fail "what is '${arguments[0]}'? See --help"
engine=${engine:-$bench/../build/bench/group_bench}
engine_csv=$(dirname "$csv")/groupby-engine.csv

draw_figures() {
    draw groupby <<'GNUPLOT'
set title 'GROUP BY through SQL: count(*), sum(value)'
set xlabel 'groups'
set ylabel 'ms'
set logscale xy
set format x '10^{%L}'
set termoption enhanced
measured = system("awk -F, 'NR > 1 && $5 != \"\" { print \"postgres_ms\"; exit }' " . csv)
plot for [c in measured." gpuscan_ms kernel_ms"] sprintf("< awk -F, 'NR == 1 || $1 == \"groups\"' %s", csv) \
    using 'groups':c with linespoints title system("echo ".c." | tr _ ' '")
GNUPLOT
    [[ -f $engine_csv ]] || return 0
    csv=$engine_csv draw groupby-engine <<'GNUPLOT'
set title 'GROUP BY, kernels alone, theta 1: ways of keeping groups'
set xlabel 'groups'
set ylabel 'G rows/s'
set logscale xy
set format x '10^{%L}'
set termoption enhanced
plot for [w in "chosen device combine single copies hash hash-device"] \
    sprintf("< awk -F, 'NR == 1 || ($1 == \"%s\" && $2 + 0 == 1)' %s", w, csv) using 3:7 with linespoints title w
GNUPLOT
    csv=$engine_csv draw groupby-skew <<'GNUPLOT'
set title 'GROUP BY, kernels alone: chosen way and atomics on device memory by skew'
set xlabel 'groups'
set ylabel 'G rows/s'
set logscale xy
set format x '10^{%L}'
set termoption enhanced
plot for [w in "chosen device"] for [t in "0.00 1.00 2.00"] \
    sprintf("< awk -F, 'NR == 1 || ($1 == \"%s\" && $2 == \"%s\")' %s", w, t, csv) using 3:7 with linespoints title w.', theta '.t
GNUPLOT
}

if ((draw_only)); then draw_figures; exit; fi

need_server
wrong=0

# measure PART GROUPS THETA ROWS QUERY
measure() {
    local postgres='' gpuscan kernel rate
    if ((with_postgres)) && [[ -z $postgres_groups || $2 -le $postgres_groups ]]; then
        postgres=$(reps=1 warmups=1 on_postgres "$5")
        same "$5" || { note "$1, $2 groups, theta $3: another result than PostgreSQL's"; wrong=1; }
    fi
    gpuscan=$(on_device "$5")
    kernel=$(sql "EXPLAIN (ANALYZE, COSTS off, FORMAT json) $5" "$offload" | field 'Device Run Time')
    rate=$(awk -v n="$4" -v ms="$kernel" 'BEGIN { if (ms > 0) printf "%.2f", n / ms / 1e6 }')
    row "$1" "$2" "$3" "$4" "$postgres" "$gpuscan" "$kernel" "$rate"
}

machine
start_table part groups theta rows postgres_ms gpuscan_ms kernel_ms grows_per_s
columns='v integer NOT NULL' expressions='i % 10007'
for n in ${groups//,/ }; do
    ((n > 1 && n <= rows)) || continue
    columns+=", k$n integer NOT NULL"
    expressions+=", (i * 2654435761) % $n"
done
fill uniform "$rows" "$columns" "$expressions"
for n in ${groups//,/ }; do
    if ((n == 1)); then
        measure groups 1 0 "$rows" 'SELECT count(*), sum(v) FROM uniform'
    elif ((n <= rows)); then
        measure groups "$n" 0 "$rows" \
            "SELECT count(*), sum(c), sum(s) FROM (SELECT k$n, count(*) AS c, sum(v) AS s FROM uniform GROUP BY k$n) x"
    fi
done
((keep)) || sql "DROP TABLE $schema.uniform"

# Zipf's distribution by inversion of its continuous counterpart; u is spread evenly over (0, 1) in a scattered order.
skewed=$((rows / 4)) keys=1000000
columns='v integer NOT NULL' expressions='i % 10007'
for theta in ${thetas//,/ }; do
    u="((i * 2654435761 % 4294967291 + 0.5) / 4294967291.0)::float8"
    columns+=", t${theta/./_} integer NOT NULL"
    if [[ $theta == 1 || $theta == 1.0 ]]; then
        expressions+=", floor(exp($u * ln($keys + 1.0::float8)))::integer"
    else
        expressions+=", floor(power($u * (power($keys + 1.0::float8, 1 - $theta) - 1) + 1, 1 / (1.0::float8 - $theta)))::integer"
    fi
done
fill skewed "$skewed" "$columns" "$expressions"
for theta in ${thetas//,/ }; do
    key=t${theta/./_}
    measure theta "$keys" "$theta" "$skewed" \
        "SELECT count(*), sum(c), sum(s) FROM (SELECT $key, count(*) AS c, sum(v) AS s FROM skewed GROUP BY $key) x"
done
drop_tables
echo "written: $csv"

if ((with_engine)) && [[ -x $engine ]] && (($(sql "SELECT count(*) FROM gpuscan.devices WHERE kind = 'cuda' AND state = 'ready'") > 0)); then
    "$engine" --seconds "$seconds" --thetas "$thetas" >"$engine_csv" || fail "$engine failed"
    echo "written: $engine_csv"
elif ((with_engine)); then
    note "the engine alone is not measured: no GPU, or $engine is not built (make cuda-tools)"
fi
draw_figures
exit "$wrong"
