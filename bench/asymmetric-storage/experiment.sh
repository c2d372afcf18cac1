#!/usr/bin/env bash
# The experiment of Bausch, Petrov and Buchmann, "Making Cost-Based Query Optimization Asymmetry-Aware" (DaMoN 2012), section 4: the
# queries of TPC-H under several configurations of page costs, on a storage with chosen latencies, with little memory: the total
# time for each of many seeds, and whether two configurations differ (compare.cpp). With --calibrate also the paper's calibrated
# configurations: gpuscan-calibrate looks for weights of both models on the same server and storage, by other seeds than those that
# are compared.
#
# Everything is in one directory: the server, the storage's state, one line of results for each query that has run. What was stopped
# goes on where it was, by the same command. Configurations and seeds may be added later.
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
here=$bench/asymmetric-storage
top=$bench/..

usage() {
    cat <<'TEXT'
Usage: bench/asymmetric-storage/experiment.sh DIR [OPTION]...

Runs TPC-H in a private server below DIR and prints the comparison. No device takes part (gpuscan.device = none).

  --sf SF             scale factor of the tables, when they are made (default 1)
  --seeds LIST        such as 1,2,3 or 1-25 (default 1-10); a seed is a choice of the queries' parameters
  --configuration NAME[=FILE]
                      may be repeated, the first one is what the others are compared with; FILE has lines "setting = value" for the
                      session. Without a file: orig_default (PostgreSQL's page costs) and asymmetric_default (the same costs, told by
                      the five settings, so that plans are the same); default: these two
  --calibrate SEEDS   first calibrate both models by the queries of these seeds, which none of --seeds may be: orig_calibrated, PostgreSQL's
                      own weights, and asymmetric_calibrated, gpuscan's. What gpuscan-calibrate would refuse to apply, because the
                      gain is within the noise, is no configuration: the calibrated one is then the default one
  --anneal OPTIONS    of gpuscan-calibrate anneal (default '--cycles 500 --harvest 120 --plans-per-query 6 --repeats 2 --settle 150 --rounds 4 --timeout 60')
  --queries LIST      such as q1,q2 (default: all but q15, which the paper leaves out)
  --timeout S         for a query, which then counts with so much (default 600)
  --storage none      the machine's own storage, not delayed; what the kernel caches is as fast as it is. Otherwise:
  --seq-read US, --random-read US, --seq-write US, --random-write US, --streams N, --readahead N, --channels N
                      the storage (storage.sh --help; default 33, 80, 48, 300: a flash disk like the paper's)
  --memory MB         what the machine would have (default: 200 for each scale factor, the paper's 1 GB for 5). Of it PostgreSQL
                      gets shared_buffers (a quarter) and work_mem (a sixtieth), and takes seven tenths for cached
  --set 'NAME = VALUE'   a setting of the server; may be repeated
  --pg MAJOR          PostgreSQL's version (default: the installed one)
  --report            only print the comparison of what has run
  --by-query          also the speed-up of each query, between the last two configurations
  --remove            stop the server and remove it with its tables; the results stay
  --help              this text

DIR/results.csv: configuration,seed,query,ms,status,plan; status is ok or timeout, plan a digest of the plan without its
costs. What a seed's queries were lies in DIR/queries, plans in DIR/plans, calibrations in DIR/calibration. A query runs once, in a session of its own; the order of
the configurations changes from seed to seed. Exit status: 0; 1 if a query failed; 2 for any other error.
TEXT
}

dir='' sf=1 seeds=1-10 configurations=() queries='' timeout=600 latencies=(--seq-read 33 --random-read 80 --seq-write 48 --random-write 300)
memory='' server_settings=() pg='' report=0 remove=0 compare=() training='' anneal='--cycles 500 --harvest 120 --plans-per-query 6 --repeats 2 --settle 150 --rounds 4 --timeout 60'
parse_options report,remove,by-query,sf:,seeds:,configuration:,queries:,timeout:,seq-read:,random-read:,seq-write:,random-write:,streams:,readahead:,channels:,memory:,set:,pg:,calibrate:,anneal:,storage: "$@"
set -- "${words[@]}"
while [[ $1 != -- ]]; do
    case $1 in
        --report) report=1; shift; continue ;;
        --remove) remove=1; shift; continue ;;
        --by-query) compare+=(--queries); shift; continue ;;
        --sf) sf=$2 ;;
        --seeds) seeds=$2 ;;
        --configuration) configurations+=("$2") ;;
        --queries) queries=$2 ;;
        --timeout) timeout=$(number "$1" "$2") ;;
        --memory) memory=$(number "$1" "$2") ;;
        --set) server_settings+=("$2") ;;
        --pg) pg=$2 ;;
        --calibrate) training=$2 ;;
        --anneal) anneal=$2 ;;
        --storage)
            [[ $2 == none ]] || fail "--storage takes none, or is told by its latencies"
            latencies=(--seq-read 0 --random-read 0 --seq-write 0 --random-write 0)
            ;;
        *) latencies+=("$1" "$2") ;;
    esac
    shift 2
done
(($# == 2)) || { usage >&2; exit 2; }
dir=$2
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
results=$dir/results.csv
make_program asymmetric-storage/compare

if ((report)); then
    exec "$here/compare" "$results" "${compare[@]}"
fi
if ((remove)); then
    [[ ! -e $dir/server ]] || "$top/script/server.sh" stop "$dir/server"
    rm -rf "$dir/storage" "$dir/loaded"
    exit 0
fi

if [[ -n $training ]]; then
    ((${#configurations[@]} == 0)) || fail "--calibrate has four configurations of its own"
    configurations=(orig_default orig_calibrated asymmetric_default asymmetric_calibrated)
fi
((${#configurations[@]})) || configurations=(orig_default asymmetric_default)
if [[ -z $queries ]]; then
    queries=$(printf ',q%s' {1..14} {16..22})
    queries=${queries:1}
fi
# seeds_of OPTION LIST: one a line
seeds_of() {
    local item
    for item in ${2//,/ }; do
        if [[ $item =~ ^([0-9]+)-([0-9]+)$ ]]; then
            seq "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
        else
            number "$1" "$item"
        fi
    done
}
mapfile -t seed_list < <(seeds_of --seeds "$seeds")
mapfile -t training_list < <(seeds_of --calibrate "$training")
for seed in "${training_list[@]}"; do
    [[ " ${seed_list[*]} " != *" $seed "* ]] || fail "seed $seed is calibrated with, so it cannot be compared by"
done
need psql awk sha256sum

# settings_of NAME[=FILE]: lines "setting = value"
settings_of() {
    if [[ $1 == *=* ]]; then
        [[ -r ${1#*=} ]] || fail "cannot read ${1#*=}"
        sed -E 's/#.*//; /^[[:space:]]*$/d' "${1#*=}"
        return
    fi
    case $1 in
        orig_default) printf '%s\n' 'seq_page_cost = 1' 'random_page_cost = 4' ;;
        asymmetric_default)
            printf '%s\n' 'gpuscan.seq_read_page_cost = 1' 'gpuscan.random_read_page_cost = 4' 'gpuscan.seq_write_page_cost = 1' \
                'gpuscan.random_write_page_cost = 1' 'gpuscan.hashagg_write_page_cost = 4'
            ;;
        orig_calibrated | asymmetric_calibrated)
            if [[ -n $training ]]; then cat "$dir/calibration/${1%_calibrated}.settings"; else fail "configuration $1 needs a file, or --calibrate"; fi
            ;;
        *) fail "configuration $1 needs a file: --configuration $1=FILE" ;;
    esac
}

# --- the server ---

server() { "$here/storage.sh" --state "$dir/storage" --seq-read 0 --random-read 0 --seq-write 0 --random-write 0 -- "$top/script/server.sh" "$@"; }

if [[ -e $dir/server && ! -e $dir/loaded ]]; then
    "$top/script/server.sh" stop "$dir/server" || rm -rf "$dir/server"
fi
if [[ ! -e $dir/loaded ]]; then
    memory=${memory:-$(awk -v sf="$sf" 'BEGIN { m = 200 * sf; printf "%d", m < 8 ? 8 : m }')}
    made=$(printf '%s\n' "scale factor $sf, $memory MB" "${server_settings[@]}")
    [[ ! -e $dir/server.txt || $(<"$dir/server.txt") == "$made" ]] || fail "the results are of another server ($dir/server.txt)"
    echo "$made" >"$dir/server.txt"
    note "a server with $memory MB of memory, TPC-H at scale factor $sf"
    environment=$(PG=${pg:-${PG:-}} server start --dir "$dir/server" 'autovacuum = off' 'gpuscan.device = none' 'max_parallel_workers_per_gather = 0' \
        "shared_buffers = $((memory / 4 > 2 ? memory / 4 : 2))MB" "work_mem = $((memory * 1024 / 60 > 64 ? memory * 1024 / 60 : 64))kB" \
        "effective_cache_size = $((memory * 7 / 10))MB" 'maintenance_work_mem = 128MB' "${server_settings[@]}") || fail "no server"
    eval "$environment"
    count_hidden
    at_exit+=(halt_server)
    build_tpch
    "$bench/tpch/tpch-gen" --sf "$sf" --schema tpch >&2 || fail "cannot make the tables"
    psql -Xqc 'CREATE EXTENSION IF NOT EXISTS gpuscan' -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT || fail "cannot finish the tables"
    touch "$dir/loaded"
else
    [[ -z $memory ]] && ((${#server_settings[@]} == 0)) || fail "the server has its memory and settings since it was made; --remove it first"
    server restart "$dir/server" || fail "the server does not start"
    eval "$("$top/script/server.sh" env "$dir/server")"
    count_hidden
    at_exit+=(halt_server)
    build_tpch
fi
"$here/storage.sh" set "$dir/storage" "${latencies[@]}"
if [[ -e $dir/storage.txt ]]; then
    "$here/storage.sh" show "$dir/storage" | sed '/^servers/,$d' | cmp -s - "$dir/storage.txt" || fail "the results are of another storage ($dir/storage.txt)"
else
    "$here/storage.sh" show "$dir/storage" | sed '/^servers/,$d' >"$dir/storage.txt"
fi

# --- calibration ---

# query_of SEED QUERY: prints the file that has it
query_of() {
    local sql=$dir/queries/$2.$1.sql
    [[ -s $sql ]] || { "$bench/tpch/tpch-run" --no-extension --schema tpch --seed "$1" --only "$2" --print >"$sql.new" && mv "$sql.new" "$sql"; } || return 1
    echo "$sql"
}

# calibrated MODEL NAME OTHER: finds MODEL's weights, or goes on with that, and writes the settings of NAME_calibrated. Times of plans
# that the calibration of OTHER has executed are not measured again.
calibrated() {
    local model=$1 short=$2 file=$dir/calibration/$2.jsonl options=() status=0
    if [[ -e $file ]]; then
        options=(--resume)
    else
        read -ra options <<<"$anneal"
        options+=(--model "$model" --workload "$dir/calibration/queries" --set search_path=tpch --set gpuscan.offload=off --factor 3)
        [[ ! -e $dir/calibration/$3.jsonl ]] || options+=(--times "$dir/calibration/$3.jsonl")
    fi
    note "calibrating the $model model by seeds $training"
    "$calibrate" anneal --out "$file" "${options[@]}" >"$dir/calibration/$short.txt" || status=$?
    ((status == 0)) || fail "the calibration did not end (status $status); the same command goes on with it"
    if message=$("$calibrate" apply "$file" --show 2>&1 >/dev/null); then
        "$calibrate" report "$file" --format settings >"$dir/calibration/$short.settings"
    else
        note "$message"
        settings_of "${short}_default" >"$dir/calibration/$short.settings"
    fi
}

if [[ -n $training ]]; then
    mkdir -p "$dir/queries" "$dir/calibration/queries"
    trained="seeds ${training_list[*]}, queries $queries, anneal $anneal"
    [[ ! -e $dir/calibration.txt || $(<"$dir/calibration.txt") == "$trained" ]] || fail "the calibration is another one ($dir/calibration.txt)"
    echo "$trained" >"$dir/calibration.txt"
    make -s -C "$top" PG_CONFIG="${PG_CONFIG:-pg_config}" calibrate >&2 || fail "cannot build gpuscan-calibrate"
    calibrate=$top/${BUILD:-build}/calibrate/gpuscan-calibrate
    for query in ${queries//,/ }; do
        for seed in "${training_list[@]}"; do
            cp "$(query_of "$seed" "$query")" "$dir/calibration/queries/$query.$seed.sql" || fail "no query $query"
        done
    done
    calibrated original orig none
    calibrated asymmetric asymmetric orig
fi

declare -A statements=()
names=()
for configuration in "${configurations[@]}"; do
    lines=$(settings_of "$configuration")
    called=${configuration%%=*}
    [[ $called =~ ^[A-Za-z0-9_.-]+$ && -z ${statements[$called]:-} ]] || fail "'$called' is no name of a configuration, or comes twice"
    names+=("$called")
    statements[$called]=$(sed -E 's/^[[:space:]]*([^= ]+)[[:space:]]*=[[:space:]]*(.*[^ ;])[[:space:]]*;?$/SET \1 = \2;/' <<<"$lines")
    # A name with other settings than before would mix two configurations.
    if [[ -e $dir/configurations/$called ]]; then
        [[ $(<"$dir/configurations/$called") == "$lines" ]] || fail "$called had other settings in $dir/configurations; choose another name"
    else
        mkdir -p "$dir/configurations"
        printf '%s\n' "$lines" >"$dir/configurations/$called"
    fi
done

# --- runs ---

mkdir -p "$dir/queries" "$dir/plans"
[[ -s $results ]] || echo 'configuration,seed,query,ms,status,plan' >"$results"
# A line that was being written when everything stopped counts for nothing.
awk -F, 'NF == 6' "$results" >"$results.new"
mv "$results.new" "$results"
log=$dir/errors.log
failures=0

# run NAME SEED QUERY: one line of results
run() {
    local sql plan=$dir/plans/$1.$3.$2 begin='SET search_path = tpch; SET gpuscan.offload = off;' ms status=ok digest
    sql=$(query_of "$2" "$3") || fail "no query $3"
    begin+=" ${statements[$1]} SET statement_timeout = '${timeout}s';"
    { echo "$begin"; echo 'EXPLAIN (COSTS off)'; cat "$sql"; } | psql -XAtq -v ON_ERROR_STOP=1 >"$plan" 2>>"$log" || status=failed
    digest=$(sha256sum <"$plan" | cut -c1-12)
    ms=''
    if [[ $status == ok ]]; then
        ms=$({ echo "$begin"; echo '\timing on'; cat "$sql"; } | psql -XAtq -v ON_ERROR_STOP=1 -o /dev/null 2>"$dir/error" | awk '$1 == "Time:" { print $2 }') || true
        if grep -q 'statement timeout' "$dir/error"; then
            status=timeout
            ms=$((timeout * 1000))
        elif [[ -s $dir/error || -z $ms ]]; then
            status=failed
        fi
        cat "$dir/error" >>"$log"
    fi
    [[ $status != failed ]] || { note "$3 of seed $2 failed under $1: see $log"; failures=$((failures + 1)); return 0; }
    echo "$1,$2,$3,$ms,$status,$digest" >>"$results"
}

declare -A done_before=()
while IFS=, read -r configuration seed query _; do
    done_before[$configuration,$seed,$query]=1
done <"$results"

turn=0
for seed in "${seed_list[@]}"; do
    for ((i = 0; i < ${#names[@]}; ++i)); do
        configuration=${names[(i + turn) % ${#names[@]}]}
        count=0
        for query in ${queries//,/ }; do
            [[ -z ${done_before[$configuration,$seed,$query]:-} ]] || continue
            run "$configuration" "$seed" "$query"
            count=$((count + 1))
        done
        ((count == 0)) || note "seed $seed, $configuration: $count queries, $(awk -F, -v c="$configuration" -v s="$seed" '$1 == c && $2 == s { ms += $4 } END { printf "%.1f", ms / 1000 }' "$results") s"
    done
    turn=$((turn + 1))
done
"$here/compare" "$results" "${compare[@]}"
if [[ -n $training ]]; then
    for short in orig asymmetric; do
        "$calibrate" report "$dir/calibration/$short.jsonl" --results "$results" --format html >"$dir/$short.html" || fail "no report"
    done
    note "the calibrations and these results as pages: $dir/orig.html, $dir/asymmetric.html"
fi
((failures == 0)) || exit 1
