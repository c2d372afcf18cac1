#!/usr/bin/env bash
# Does time grow with the data and not faster? The Star Schema Benchmark over scale factors, hot, cold, and with a cache
# that is far smaller than the data.
usage() {
    cat <<'TEXT'
Usage: bench/scale.sh [SF]... [OPTION]...

For each scale factor (default: 1 5 20 50): loads the Star Schema Benchmark, then sums the times of its queries cold (gpuscan's
cache empty), hot, in the kernels, and, with --small-cache, hot with a cache that cannot hold the columns, so that they are
read from the heap every time. Beside each time stands time / SF: if time grows linearly, it stays as it is or falls.
The tables of the database's schema public are replaced.

  --freeze          load by COPY FREEZE in the transaction that creates the tables (see ssb-gen --help); a server with
                    wal_level = minimal then writes no WAL
  --loaded          measure what is loaded; no SF may be given
  --small-cache MB  gpuscan.cache_size for the runs with a small cache (on a GPU gpuscan.device_memory_share is set to 1 %
                    too); set by ALTER SYSTEM, and reset afterwards
  --postgres-reps N runs of PostgreSQL's plans, whose results are compared (default 0: none)
  --threads N       connections or threads for loading (default: one for each core)
  --only LIST       some of the queries, such as q1.1,q4.3
TEXT
    common_usage
}

only=() freeze=() threads=() small='' postgres_reps=0 loaded=0
option() {
    case $1 in
        --freeze) freeze=(--freeze) taken=1 ;;
        --loaded) loaded=1 taken=1 ;;
        --small-cache) small=$(number "$1" "${2:-}") taken=2 ;;
        --postgres-reps) postgres_reps=$(number "$1" "${2:-}") taken=2 ;;
        --threads) threads=(--threads "${2:-}") taken=2 ;;
        --only) only=(--only "${2:-}") taken=2 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse "$@"
factors=("${arguments[@]}")
((loaded || ${#factors[@]})) || factors=(1 5 20 50)
((!loaded || !${#factors[@]})) || fail "--loaded goes with no scale factor"

draw_figure() {
    draw scale <<'GNUPLOT'
set title 'Star Schema Benchmark: time / scale factor, sum of the queries'
set xlabel 'scale factor'
set ylabel 'ms per SF'
set logscale xy
plot csv using 1:7 with linespoints title 'cold', '' using 1:9 with linespoints title 'hot', \
    '' using 1:11 with linespoints title 'kernels', '' using 1:13 with linespoints title 'small cache'
GNUPLOT
}

if ((draw_only)); then draw_figure; exit; fi

per() { awk -v v="$1" -v sf="$2" 'BEGIN { if (v != "") printf "%.3f", v / sf }'; }
# sum FILE COLUMN: of ssb-run's table
sum() { awk -F, -v column="$2" 'NR > 1 && $column != "" { s += $column; n++ } END { if (n) printf "%.2f", s }' "$1"; }

restore() {
    psql -Xqc 'ALTER SYSTEM RESET gpuscan.cache_size' -c 'ALTER SYSTEM RESET gpuscan.device_memory_share' \
        -c 'SELECT pg_reload_conf()' >/dev/null
}

# The sum over the queries with a cache of $small MB.
with_small_cache() {
    trap restore EXIT
    psql -Xqc "ALTER SYSTEM SET gpuscan.cache_size = '${small}MB'" -c 'ALTER SYSTEM SET gpuscan.device_memory_share = 1' \
        -c 'SELECT pg_reload_conf()' -c 'SELECT gpuscan.evict()' >/dev/null
    sleep 1
    "${ssb[@]}" "${only[@]}" --reps 1 --warmups 1 --postgres-reps 0 --csv "$csv.small" >"$csv.log" ||
        note "with a small cache: $(tail -n 1 "$csv.log")"
    restore
    trap - EXIT
    sum "$csv.small" 3
}

need_server
build_ssb
machine
start_table sf rows:11 heap_gb load_s load_s_per_sf cold_ms cold_per_sf hot_ms hot_per_sf kernel_ms kernel_per_sf \
    small_ms small_per_sf
wrong=0
((loaded)) && factors=("$(sql "SELECT substring(obj_description('public.lineorder'::regclass, 'pg_class') from 'SF ([0-9.]+)')")")
for sf in "${factors[@]}"; do
    [[ $sf =~ ^[0-9.]+$ ]] || fail "a scale factor is a number, not '$sf'"
    load=''
    if ((!loaded)); then
        start=$SECONDS
        "$bench/ssb/ssb-gen" --sf "$sf" "${freeze[@]}" "${threads[@]}" --quiet || fail "cannot load SF $sf"
        load=$((SECONDS - start))
        psql -Xqc CHECKPOINT # or the first queries write what the load has left in shared_buffers
    fi
    # Kernels are made once for all scale factors, so they belong to neither time.
    "${ssb[@]}" "${only[@]}" --reps 1 --warmups 0 --postgres-reps 0 >"$csv.log" || { cat "$csv.log" >&2; wrong=1; }
    "${ssb[@]}" "${only[@]}" --reps "$reps" --warmups "$warmups" --postgres-reps "$postgres_reps" --cold \
        --csv "$csv.hot.csv" >"$csv.log" || { cat "$csv.log" >&2; wrong=1; }
    cold=$(sum "$csv.hot_cold.csv" 3) hot=$(sum "$csv.hot.csv" 3) kernel=$(sum "$csv.hot.csv" 8) slow=''
    if [[ -n $small ]]; then slow=$(with_small_cache); fi
    row "$sf" "$(sql "SELECT reltuples::bigint FROM pg_class WHERE oid = 'public.lineorder'::regclass")" \
        "$(sql "SELECT round(pg_relation_size('public.lineorder') / 1e9, 2)")" "$load" "$(per "$load" "$sf")" \
        "$cold" "$(per "$cold" "$sf")" "$hot" "$(per "$hot" "$sf")" "$kernel" "$(per "$kernel" "$sf")" "$slow" "$(per "$slow" "$sf")"
done
rm -f "$csv".{small,log,hot.csv} "$csv.hot_cold.csv"
echo "written: $csv"
draw_figure
exit "$wrong"
