#!/usr/bin/env bash
# How good the choices of gpuscan.offload = auto are: forces every plan of the queries of the Star Schema Benchmark, of TPC-H, of
# self-joins by an index and of a bike sharing company (bench/rides), times them, and compares the plan that gpuscan chooses with the
# best (bench/regret/run.cpp).
# Needs bash and libpq, and a C++ compiler unless the programs are built already.
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
    cat <<'TEXT'
Usage: bench/regret.sh SF... [OPTION]...

Loads the tables of each scale factor that are missing (schemas regret_ssb_SF, regret_tpch_SF and so on), and measures, in
the database that the PG* variables name. Every measurement is stored at once: a second start goes on where the first ended. The
last line is

    cases N, wrong P %, regret R, rank correlation C

A case is a query with gpuscan's cache empty (cold) or as earlier runs have left it (hot). Wrong: the chosen plan takes a tenth and
0.5 ms more than the best, and more than noise. Regret: the sum of the chosen plans' times over that of the best ones'. The rank
correlation is that of costs and times of a query's plans, averaged over the cases.

  --benchmarks LIST some of ssb, tpch, indexed, rides (default: the first three)
  --state LIST      hot, cold or both (default hot,cold)
  --only LIST       some of the queries
  --device NAME     gpuscan.device: host or cuda (default: the server's setting)
  --reps N          counted runs of each plan; their median counts (default 5)
  --warmups N       runs before them that are not counted (default 1)
  --limit F         a plan that takes more than F times the best so far is stopped (default 3)
  --floor MS        see above (default 0.5)
  --budget S        begin no further case after S seconds
  --set NAME=VALUE  any other setting of the measured session; may be repeated
  --schemas LIST    measure these tables instead, as BENCHMARK:SCHEMA,...; nothing is loaded
  --csv FILE        what was measured (default bench/results/regret.csv); the cases go to FILE with _cases before .csv
  --new             forget what was measured before
  --keep            leave the tables for the next run
  --draw            only draw the figure from an earlier run's cases
  --help            this text

Exit status: 0 if all results are PostgreSQL's, 1 if some are not, 2 for any other error.
TEXT
}

benchmarks=ssb,tpch,indexed schemas='' new=0 run=()
option() {
    case $1 in
        --benchmarks) benchmarks=${2:-} taken=2 ;;
        --schemas) schemas=${2:-} taken=2 ;;
        --new) new=1 taken=1 ;;
        --state | --only | --limit | --floor | --budget) run+=("$1" "${2:-}") taken=2 ;;
    esac
}

warmups=1
parse "$@"
csv_cases=${csv%.csv}_cases.csv

draw_cases() {
    csv=$csv_cases draw regret <<'GNUPLOT'
set title 'Chosen plan / best plan'
set logscale y
set ylabel 'times the best'
set xlabel 'cases, by what the choice costs'
set yrange [1:*]
plot "< tail -n +2 ".csv." | sort -t, -k7,7gr" using 0:7 with impulses lw 3 title 'all plans', \
     1.1 with lines dt 2 title '10 % more'
GNUPLOT
}

if ((draw_only)); then
    draw_cases
    exit 0
fi
((${#arguments[@]} > 0)) || [[ -n $schemas ]] || { usage >&2; exit 2; }
need_server

make_program regret/regret-run

# The table of the self-joins; products of its floats and their sums are exact, whatever their order.
load_indexed() {
    local rows mark
    rows=$(awk -v sf="$2" 'BEGIN { printf "%.0f", 5000000 * sf }')
    mark="gpuscan bench: indexed SF $2"
    [[ $(sql "SELECT coalesce(obj_description(to_regclass('$1.points'), 'pg_class'), '')") != "$mark" ]] || return 0
    sql "CREATE SCHEMA IF NOT EXISTS $1; DROP TABLE IF EXISTS $1.points;
         CREATE TABLE $1.points (id integer, x integer, y double precision) WITH (autovacuum_enabled = off);
         INSERT INTO $1.points SELECT i, i % 1000, i * 7919 % 8000 / 8.0 FROM generate_series(1::bigint, $rows) AS i;
         CREATE INDEX ON $1.points (id); CREATE INDEX ON $1.points (x)"
    psql -Xqc "VACUUM (ANALYZE) $1.points" || fail "cannot vacuum $1.points"
    sql "COMMENT ON TABLE $1.points IS '$mark'"
}

load_rides() {
    local mark="gpuscan bench: rides SF $2"
    [[ $(sql "SELECT coalesce(obj_description(to_regclass('$1.trips'), 'pg_class'), '')") != "$mark" ]] || return 0
    psql -Xq -v ON_ERROR_STOP=1 -v schema="$1" -v mark="$mark" -v trips="$(awk -v sf="$2" 'BEGIN { printf "%.0f", 5000000 * sf }')" \
        -f "$bench/rides/tables.sql" >/dev/null || fail "cannot load $1"
}

targets=() loaded=()
if [[ -n $schemas ]]; then
    for target in ${schemas//,/ }; do
        targets+=(--target "$target")
    done
fi
for sf in "${arguments[@]}"; do
    for benchmark in ${benchmarks//,/ }; do
        schema_of=regret_${benchmark}_${sf//./_}
        case $benchmark in
            ssb | tpch)
                make_program "$benchmark/$benchmark-gen"
                "$bench/$benchmark/$benchmark-gen" --sf "$sf" --schema "$schema_of" --if-missing >&2 || exit 2
                ;;
            indexed | rides) "load_$benchmark" "$schema_of" "$sf" ;;
            *) fail "no benchmark is called '$benchmark'" ;;
        esac
        targets+=(--target "$benchmark:$schema_of")
        loaded+=("$schema_of")
    done
done

mkdir -p "$(dirname "$csv")"
((new == 0)) || rm -rf "$csv" "$csv.answers"
run+=(--reps "$reps" --warmups "$warmups" ${device:+--device "$device"})
for s in "${settings[@]}" ${workers:+"max_parallel_workers_per_gather=$workers"}; do
    run+=(--set "$s")
done
status=0
"$bench/regret/regret-run" "${targets[@]}" --csv "$csv" --report "$csv_cases" "${run[@]}" || status=$?
((keep)) || for s in "${loaded[@]}"; do sql "DROP SCHEMA $s CASCADE"; done
exit "$status"
