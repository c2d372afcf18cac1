#!/usr/bin/env bash
# Whether gpuscan-calibrate comes back from bad weights: each weight is off by a factor of 10 to 100, up or down, by chance; the search
# starts there, knows nothing of other searches, and its best weights run the workload in turns with those of the others, of PostgreSQL's
# defaults and of a search that starts there.
#
# Everything is in one directory. What was stopped goes on by the same command.
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
top=$bench/..

usage() {
    cat <<'TEXT'
Usage: bench/bad-starts.sh DIR [OPTION]...

TPC-H in a private server below DIR, more of it than its memory; no device takes part. What counts of a search from a bad start is the
best that its walk has found: not the defaults, which it measures too, and not what is taken around its best weights.

  --sf SF        scale factor (default 0.02); PostgreSQL gets 2 MB of shared_buffers and 256 kB of work_mem, --memory times that
  --memory N     (default 1)
  --starts N     (default 5)
  --cycles N     of each search (default 1500)
  --model NAME   asymmetric or original (default asymmetric)
  --seed N       of the starts, and of the searches (default 1)
  --rounds N     of the comparison in the end; medians count (default 5)
  --remove       stop the server and remove it; the searches' files stay
  --help         this text

Ends with "starts N, within 5 % of the best M, executed at most P % of the (cycle, query) pairs". Exit status: 0; 2 for any error.
TEXT
}

dir='' sf=0.02 memory=1 starts=5 cycles=1500 model=asymmetric first_seed=1 rounds=5 remove=0
parse_options remove,sf:,memory:,starts:,cycles:,model:,seed:,rounds: "$@"
set -- "${words[@]}"
while [[ $1 != -- ]]; do
    case $1 in
        --remove) remove=1; shift; continue ;;
        --sf) sf=$2 ;;
        --memory) memory=$(number "$1" "$2") ;;
        --starts) starts=$(number "$1" "$2") ;;
        --cycles) cycles=$(number "$1" "$2") ;;
        --model) model=$2 ;;
        --seed) first_seed=$(number "$1" "$2") ;;
        --rounds) rounds=$(number "$1" "$2") ;;
    esac
    shift 2
done
(($# == 2)) || { usage >&2; exit 2; }
dir=$2
case $model in
    asymmetric)
        weights=(gpuscan.random_read_page_cost=4 gpuscan.seq_write_page_cost=1 gpuscan.random_write_page_cost=1 gpuscan.hashagg_write_page_cost=4
            cpu_tuple_cost=0.01 cpu_index_tuple_cost=0.005 cpu_operator_cost=0.0025)
        ;;
    original) weights=(random_page_cost=4 cpu_tuple_cost=0.01 cpu_index_tuple_cost=0.005 cpu_operator_cost=0.0025) ;;
    *) fail "--model takes asymmetric or original" ;;
esac
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
if ((remove)); then
    [[ ! -e $dir/server ]] || "$top/script/server.sh" stop "$dir/server"
    rm -f "$dir/loaded"
    exit 0
fi
need psql awk

# --- the server and the queries ---

make -s -C "$top" PG_CONFIG="${PG_CONFIG:-pg_config}" calibrate >&2 || fail "cannot build gpuscan-calibrate"
calibrate=$top/${BUILD:-build}/calibrate/gpuscan-calibrate
build_tpch
if [[ ! -e $dir/loaded ]]; then
    [[ ! -e $dir/server ]] || "$top/script/server.sh" stop "$dir/server" || rm -rf "$dir/server"
    environment=$("$top/script/server.sh" start --dir "$dir/server" 'autovacuum = off' 'gpuscan.device = none' 'gpuscan.offload = off' \
        'max_parallel_workers_per_gather = 0' "shared_buffers = $((2 * memory))MB" "work_mem = $((256 * memory))kB" "effective_cache_size = $((8 * memory))MB") ||
        fail "no server"
    eval "$environment"
    count_hidden
    at_exit+=(halt_server)
    "$bench/tpch/tpch-gen" --sf "$sf" --quiet >&2 || fail "cannot make the tables"
    psql -Xqc 'CREATE EXTENSION IF NOT EXISTS gpuscan' -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT || fail "cannot finish the tables"
    mkdir -p "$dir/queries"
    for query in q{1..22}; do
        "$bench/tpch/tpch-run" --no-extension --only "$query" --print >"$dir/queries/$query.sql" || fail "no query $query"
    done
    touch "$dir/loaded"
else
    "$top/script/server.sh" restart "$dir/server" || fail "the server does not start"
    eval "$("$top/script/server.sh" env "$dir/server")"
    count_hidden
    at_exit+=(halt_server)
fi

# --- searches ---

# search NAME SEED OPTION...: its file is NAME.jsonl, and the best weights of its walk go to NAME.settings
search() {
    local file=$dir/$1.jsonl options=(--resume)
    [[ -e $file ]] || options=(--model "$model" --workload "$dir/queries" --seed "$2" --cycles "$cycles" --settle 0 --rounds 2 --timeout 60 "${@:3}")
    "$calibrate" anneal --out "$file" --quiet "${options[@]}" >"$dir/$1.txt" || fail "the search $1 did not end; the same command goes on with it"
    "$calibrate" report "$file" --format json >"$dir/$1.json"
    value "$1" "SELECT string_agg(format('%s = %s', key, value), E'\n') FROM json_each_text(j->'result'->'walks'->0->'weights')" >"$dir/$1.settings"
    [[ -s $dir/$1.settings ]] || fail "the search $1 has found nothing that ends"
}

# value NAME EXPRESSION-OR-SELECT over j, the search's report
value() {
    { printf 'WITH report(j) AS (SELECT $json$'; cat "$dir/$1.json"; printf '$json$::json) '; [[ $2 == SELECT* ]] && printf '%s' "${2/ FROM / FROM report, }" || printf 'SELECT %s FROM report' "$2"; } | psql -XAtq -v ON_ERROR_STOP=1
}

# bad SEED: --start options
bad() {
    awk -v seed="$1" '
        # Park and Miller 1988: the same everywhere, and different for seeds that are near each other.
        function draw() { x = (x * 48271) % 2147483647; return x / 2147483647 }
        BEGIN {
            x = (seed * 7919 + 12345) % 2147483647
            for (i = 0; i < 20; ++i) draw()
            for (i = 1; i < ARGC; ++i) {
                split(ARGV[i], w, "=")
                f = 10 ^ (1 + draw())
                if (draw() < 0.5) f = 1 / f
                printf "--start\n%s=%.4g\n", w[1], w[2] * f
            }
        }' "${weights[@]}"
}

search defaults "$first_seed"
names=(defaults)
for ((i = 1; i <= starts; ++i)); do
    mapfile -t options < <(bad $((first_seed * 1000 + i)))
    note "start $i: ${options[*]//--start/}"
    search "start$i" $((first_seed + i)) "${options[@]}"
    names+=("start$i")
done

# --- comparison ---

printf '%s\n' "${weights[@]//=/ = }" >"$dir/none.settings"
: >"$dir/times"
for ((round = 0; round <= rounds; ++round)); do
    for ((i = 0; i <= ${#names[@]}; ++i)); do
        called=$(printf '%s\n' none "${names[@]}" | sed -n "$(((i + round) % (${#names[@]} + 1) + 1))p")
        ms=$({
            sed 's/^/SET /; s/$/;/' "$dir/$called.settings"
            echo '\timing on'
            cat "$dir"/queries/*.sql
        } | psql -XAtq -v ON_ERROR_STOP=1 -o /dev/null | awk '$1 == "Time:" { ms += $2 } END { printf "%.3f", ms }')
        ((round == 0)) || echo "$called $ms" >>"$dir/times" # the first round brings pages into caches
    done
done
total() { awk -v c="$1" '$1 == c { print $2 }' "$dir/times" | median; }
best=$(for called in none "${names[@]}"; do total "$called"; done | sort -g | head -n 1)
report() {
    local ms share='-' executions='-' minutes='-'
    ms=$(total "$1")
    if [[ $1 != none ]]; then
        executions=$(value "$1" "j->'result'->>'executions'")
        share=$(value "$1" "round(100.0 * (j->'result'->>'executions')::numeric / (j->'result'->>'pairs')::numeric, 2)")
        minutes=$(value "$1" "round((j->'result'->>'s')::numeric / 60, 1)")
        [[ $1 == defaults ]] || shares+=("$share")
    fi
    awk -v name="$1" -v ms="$ms" -v best="$best" -v e="$executions" -v s="$share" -v m="$minutes" \
        'BEGIN { printf "%-12s %10.1f %8.3f %11s %9s %8s\n", name == "none" ? "(defaults)" : name == "defaults" ? "from these" : name, ms, ms / best, e, s, m }'
    awk -v ms="$ms" -v best="$best" 'BEGIN { exit !(ms <= 1.05 * best) }'
}
shares=() near=0
printf '%-12s %10s %8s %11s %9s %8s\n' start 'total ms' 'to best' executions '% of pairs' minutes
for called in none "${names[@]}"; do
    status=0
    report "$called" || status=1
    [[ $called != start* ]] || ((status)) || near=$((near + 1))
done
echo "starts $starts, within 5 % of the best $near, executed at most $(printf '%s\n' "${shares[@]}" | sort -g | tail -n 1) % of the (cycle, query) pairs"
