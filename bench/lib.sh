# What the benchmark scripts share: options, the session that is measured, tables, results. Sourced, not run:
#
#     usage() { cat <<'TEXT' ... TEXT; common_usage; }       # the help text, ending in the common options
#     option() { case $1 in --rows) rows=$2 taken=2 ;; esac; }        # options of one's own; taken = words used
#     . "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
#     parse "$@"                  # common options; calls option for the others; --help
#     need_server                 # fails clearly without server, extension or device
#     fill t 1000000 'a integer, b integer' 'i, i % 10'      # a table in schema $schema, loaded by all cores, vacuumed
#     start_table query rows postgres_ms gpuscan_ms          # header; the same rows go to $csv
#     row "q" 10 "$(on_postgres "$query")" "$(on_device "$query")"
#     draw NAME <<'GNUPLOT' ...   # doc/figures/NAME.svg from the CSV file; skipped where gnuplot is not installed
#
# Times are a psql client's, in ms, from sending a query to having its whole result: the median of $reps runs after
# $warmups uncounted ones in the same session. Nothing here asserts a time.
# shellcheck shell=bash disable=SC2034

set -euo pipefail
export LC_ALL=C

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=$(basename "$0" .sh)

reps=5 warmups=2 device='' offload=force workers='' csv='' draw_only=0 schema=gpuscan_bench keep=0 settings=() arguments=()

fail() {
    printf '%s.sh: %s\n' "$name" "$1" >&2
    exit 2
}

note() {
    printf '%s.sh: %s\n' "$name" "$1" >&2
}

# What is to be done at the script's end, however it ends: commands, in this order. A trap of one's own would replace this one.
at_exit=() honest_since=''
finish() {
    local status=$? command
    trap - EXIT
    [[ -z $honest_since ]] || "$bench/../script/honest.sh" "bench/$name" since "$honest_since" >&2 || [[ $status != 0 ]] || status=1
    for command in "${at_exit[@]}"; do
        eval "$command"
    done
    exit "$status"
}
trap finish EXIT

# ---- options ----

common_usage() {
    cat <<'EOT'

  --reps N          counted runs of each query; their median counts (default 5)
  --warmups N       runs before them that are not counted (default 2)
  --device NAME     gpuscan.device: host or cuda (default: the server's setting)
  --offload MODE    gpuscan.offload for the device's runs: auto or force (default force)
  --workers N       parallel workers for PostgreSQL (default: the server's setting)
  --set NAME=VALUE  any other setting of the measured sessions; may be repeated
  --keep            leave the tables (schema gpuscan_bench) for the next run
  --csv FILE        where the table is stored (default bench/results/NAME.csv)
  --draw            only draw the figure from an earlier run's CSV file
  --help            this text

The database is the one that the PG* variables name. Exit status: 0, 1 if a result was wrong, 2 for any other error.
EOT
}

# Sets the common options; hands others to the script's own function `option`, and plain words to `arguments`.
parse() {
    local taken
    while (($#)); do
        case $1 in
            --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
        esac
        case $1 in
            --help) usage; exit 0 ;;
            --draw) draw_only=1 ;;
            --keep) keep=1 ;;
            --reps | --warmups | --device | --offload | --workers | --set | --csv)
                (($# >= 2)) || fail "$1 needs a value"
                case $1 in
                    --reps) reps=$(number "$1" "$2") ;;
                    --warmups) warmups=$(number "$1" "$2") ;;
                    --device) device=$2 ;;
                    --offload) offload=$2 ;;
                    --workers) workers=$(number "$1" "$2") ;;
                    --set) [[ $2 == ?*=* ]] || fail "--set takes NAME=VALUE, not '$2'"; settings+=("$2") ;;
                    --csv) csv=$2 ;;
                esac
                shift
                ;;
            *)
                taken=0
                if declare -F option >/dev/null; then option "$@"; fi
                if ((taken)); then
                    (($# >= taken)) || fail "$1 needs a value"
                    shift $((taken - 1))
                elif [[ $1 == -* ]]; then
                    fail "unknown option $1; see --help"
                else
                    arguments+=("$1")
                fi
                ;;
        esac
        shift
    done
    [[ $offload == auto || $offload == force ]] || fail "--offload takes auto or force, not '$offload'"
    ((reps > 0)) || fail "--reps takes a number above 0"
    csv=${csv:-$bench/results/$name.csv}
}

# parse_options LONG,OPTIONS: "$@": getopt's form of the arguments in the array `words`: each option and its value by itself, --, plain words.
parse_options() {
    local quoted
    quoted=$(getopt -n "$name" -o '' -l "help,$1" -- "${@:2}") || exit 2
    words=()
    eval "words=($quoted)"
    [[ " ${words[*]} " != *" --help "* ]] || { usage; exit 0; }
}

number() {
    [[ $2 =~ ^[0-9]+$ ]] || fail "$1 takes a whole number, not '$2'"
    echo "$2"
}

need() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || fail "$program is not installed or not on the PATH"
    done
}

# ---- the server ----

# Stops the private server whose environment (script/server.sh env) this script has taken, so that a later run may go on with it.
halt_server() {
    [[ ! -e $SERVER_DATA/postmaster.pid ]] || $AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -m fast -w stop >/dev/null 2>&1 || true
}

# make_program PROGRAM...: builds them as far as they are older than their sources, unless this machine cannot.
make_program() {
    local program pg_config=${PG_CONFIG:-pg_config}
    if command -v make >/dev/null && command -v "${CXX:-g++}" >/dev/null &&
        command -v "$pg_config" >/dev/null && [[ -f $("$pg_config" --includedir)/libpq-fe.h ]]; then
        make -s -C "$bench" PG_CONFIG="$pg_config" "$@" >&2 || fail "cannot build $*"
        return
    fi
    for program in "$@"; do
        [[ -x $bench/$program ]] || fail "needs make, g++ and libpq's headers (Debian: make g++ libpq-dev), or a built bench/$program"
        note "using $program as it is (no compiler or libpq headers here)"
    done
}

build_events() {
    make_program events/events-gen events/events-run
}

build_tpch() {
    make_program tpch/tpch-gen tpch/tpch-run
}

# The Star Schema Benchmark's programs; the array ssb becomes the command of its runner with the common options.
build_ssb() {
    local s
    make_program ssb/ssb-gen ssb/ssb-run
    ssb=("$bench/ssb/ssb-run" --offload "$offload" ${device:+--device "$device"} ${workers:+--workers "$workers"})
    for s in "${settings[@]}"; do
        ssb+=(--set "$s")
    done
}

# A benchmark with a generator and a runner of its own: loads it if needed, and becomes its runner.
# load_and_run BENCHMARK SCHEMA OPTIONS ARGUMENT...: SCHEMA is where the tables are unless --schema says otherwise ('': the search
# path); OPTIONS are the runner's that only this benchmark has, as parse_options takes them.
load_and_run() {
    local benchmark=$1 schema=$2 sf load=0 generate=() run=() csv=$bench/results/$1.csv with_csv=1
    parse_options "load,cold,first,where,no-extension,freeze,threads:,schema:,dbname:,reps:,warmups:,postgres-reps:,device:,beside:,offload:,workers:,set:,only:,csv:,$3" "${@:4}"
    set -- "${words[@]}"
    while [[ $1 != -- ]]; do
        case $1 in
            --load) load=1; shift; continue ;;
            --freeze) generate+=("$1"); shift; continue ;;
            --cold | --first | --where | --no-extension | --refusals) run+=("$1"); shift; continue ;;
            --selectivity) run+=("$1") with_csv=0; shift; continue ;;
            --threads) generate+=("$1" "$2") ;;
            --data-seed) generate+=(--seed "$2") ;;
            --dbname) generate+=("$1" "$2"); run+=("$1" "$2") ;;
            --schema) schema=$2 ;;
            --csv) csv=$2 ;;
            *) run+=("$1" "$2") ;;
        esac
        shift 2
    done
    (($# == 2)) || { usage >&2; exit 2; }
    sf=$2
    if [[ -n $schema ]]; then
        generate+=(--schema "$schema")
        run+=(--schema "$schema")
    fi
    ((load)) || generate+=(--if-missing)
    "build_$benchmark"
    "$bench/$benchmark/$benchmark-gen" --sf "$sf" "${generate[@]}" || exit 2
    if ((with_csv)); then
        mkdir -p "$(dirname "$csv")"
        run+=(--csv "$csv")
    fi
    exec "$bench/$benchmark/$benchmark-run" "${run[@]}"
}

# The settings of every measured session.
session_options() {
    local options="-c client_min_messages=warning -c search_path=$schema,public" s
    [[ -z $workers ]] || options+=" -c max_parallel_workers_per_gather=$workers"
    [[ -z $device ]] || options+=" -c gpuscan.device=$device"
    for s in "${settings[@]}"; do
        options+=" -c ${s//\ /\\ }"
    done
    echo "$options"
}

# One statement or more; prints what the last gives, unaligned, without headers.
sql() {
    PGOPTIONS="$(session_options) -c gpuscan.offload=${2:-off}" psql -XAtq -v ON_ERROR_STOP=1 -c "$1"
}

need_server() {
    need psql awk
    local message state
    message=$(psql -XAtqc 'SELECT 1' 2>&1 >/dev/null) || fail "cannot connect: $message"
    message=$(PGOPTIONS='-c client_min_messages=warning' psql -XAtqc 'CREATE EXTENSION IF NOT EXISTS gpuscan' 2>&1) ||
        fail "the server has no extension gpuscan: $message"
    local which=${device:-$(sql 'SHOW gpuscan.device')}
    for _ in $(seq 60); do
        state=$(psql -XAtqc "SELECT count(*) FROM gpuscan.devices WHERE state = 'ready' AND '$which' IN (kind, 'auto')")
        if ((state > 0)); then
            count_hidden
            return
        fi
        sleep 0.5
    done
    psql -Xc 'SELECT * FROM gpuscan.devices' >&2
    fail "no device is ready (wanted: $which)"
}

# Deaths of the device process and fallbacks, which right answers hide: from here to the script's end (finish), where they are told,
# and where one that nobody expects is a failure.
count_hidden() {
    honest_since=$("$bench/../script/honest.sh" since) || fail "cannot read the server's counters"
}

# On what this was measured; goes above the table.
machine() {
    local device_name
    device_name=$(sql "SELECT string_agg(name, ', ') FROM gpuscan.devices
                       WHERE state = 'ready' AND '${device:-$(sql 'SHOW gpuscan.device')}' IN (kind, 'auto')")
    printf '# %s: %s, %s cores, %s; shared_buffers %s, gpuscan.cache_size %s; median of %s after %s warm-ups\n' \
        "$(date +%F)" "$device_name" "$(nproc)" "$(sql "SELECT split_part(version(), ' on ', 1)")" \
        "$(sql 'SHOW shared_buffers')" "$(sql 'SHOW gpuscan.cache_size')" "$reps" "$warmups"
}

# ---- tables ----

# fill TABLE ROWS 'COLUMN DEFINITIONS' 'EXPRESSIONS OVER i' [STORAGE OPTIONS]: i runs from 1 to ROWS. Loaded by one
# connection a core, each its own range; vacuumed, so that every page is all-visible. Kept if it is there already.
fill() {
    local table=$1 rows=$2 definition=$3 expressions=$4 with=${5:-} mark part parts pids=() pid
    mark="gpuscan bench: $rows rows, $definition, $expressions, $with"
    mark=${mark//\'/}
    [[ $(sql "SELECT coalesce(obj_description(to_regclass('$schema.$table'), 'pg_class'), '')") != "$mark" ]] || return 0
    sql "CREATE SCHEMA IF NOT EXISTS $schema; DROP TABLE IF EXISTS $schema.$table;
         CREATE TABLE $schema.$table ($definition) WITH (autovacuum_enabled = off${with:+, $with})"
    parts=$((rows < 100000 ? 1 : $(nproc)))
    for ((part = 0; part < parts; ++part)); do
        sql "INSERT INTO $schema.$table SELECT $expressions
             FROM generate_series($((rows * part / parts + 1))::bigint, $((rows * (part + 1) / parts))) AS i" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || fail "cannot load $schema.$table"
    done
    PGOPTIONS='' psql -Xqc "SET client_min_messages = warning" -c "SET maintenance_work_mem = '256MB'" \
        -c "VACUUM (ANALYZE) $schema.$table" || fail "cannot vacuum $schema.$table"
    sql "COMMENT ON TABLE $schema.$table IS '$mark'"
}

drop_tables() {
    ((keep)) || sql "DROP SCHEMA IF EXISTS $schema CASCADE"
}

# ---- times ----

median() {
    sort -g | awk '{ v[NR] = $1 } END { if (NR) printf "%.3f\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# times MODE QUERY [SETUP]: the counted times of QUERY under gpuscan.offload = MODE, one a line. What the statements give goes to the
# file $output, if that is set.
times() {
    local i
    {
        [[ -z ${3:-} ]] || printf '%s;\n' "$3"
        for ((i = 0; i < warmups; ++i)); do printf '%s;\n' "$2"; done
        # kernels that a warm-up has compiled quickly are compiled once more, with all optimisations
        ((warmups == 0)) || [[ $1 = off ]] || printf 'SELECT pg_sleep(0.5);\n'
        printf '%s\n' '\timing on'
        for ((i = 0; i < reps; ++i)); do printf '%s;\n' "$2"; done
    } | PGOPTIONS="$(session_options) -c gpuscan.offload=$1" psql -XAtq -v ON_ERROR_STOP=1 -o "${output:-/dev/null}" |
        awk '$1 == "Time:" { print $2 }'
}

on_postgres() { times off "$1" "${2:-}" | median; }
on_device() { times "$offload" "$1" "${2:-}" | median; }

# plans QUERY [COUNT]: executed plans, hot, as JSON. field KEY sums the numbers of that key in each of them, one a line.
plans() {
    local i
    {
        printf '%s;\n' "$1"
        printf '%s\n' '\o'
        for ((i = 0; i < ${2:-1}; ++i)); do printf 'EXPLAIN (ANALYZE, COSTS off, FORMAT json) %s;\n' "$1"; done
    } | PGOPTIONS="$(session_options) -c gpuscan.offload=$offload" psql -XAtq -v ON_ERROR_STOP=1 -o /dev/null
}
field() {
    awk -F'": ' -v key="\"$1" '{ sub(/^ +/, "") } $1 == key { sum += $2 } $1 == "\"Execution Time" { printf "%.3f\n", sum; sum = 0 }'
}
nodes() { grep -c '"Custom Plan Provider": "Gpu' || true; }
# Time in the device's kernels, 0 if no device took part.
kernel_ms() { plans "$1" "$reps" | field 'Device Run Time' | median; }

# same QUERY: whether the device gives PostgreSQL's rows, whatever their order.
same() {
    local postgres gpuscan
    postgres=$(sql "$1" off | sort | sha256sum)
    gpuscan=$(sql "$1" "$offload" | sort | sha256sum)
    [[ $postgres == "$gpuscan" ]]
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f\n", a / b; else print "-" }'; }

# ---- results ----

widths=()

# start_table NAME[:WIDTH]...: the header of the table that is printed and of the CSV file.
start_table() {
    local column names=() width
    mkdir -p "$(dirname "$csv")"
    widths=()
    for column in "$@"; do
        names+=("${column%%:*}")
        width=${column#"${column%%:*}"}
        width=${width#:}
        widths+=("${width:-$((${#column} < 10 ? 10 : ${#column}))}")
    done
    (IFS=,; echo "${names[*]}") >"$csv"
    print_row "${names[@]}"
}

row() {
    (IFS=,; echo "$*") >>"$csv"
    print_row "$@"
}

print_row() {
    local i=0 value
    for value in "$@"; do
        printf "%-${widths[i]}s  " "$value"
        i=$((i + 1))
    done
    printf '\n'
}

# draw NAME: doc/figures/NAME.svg, by the gnuplot commands on standard input; `csv` is the file's name there. The data go
# beside the figure.
draw() {
    local figures=$bench/../doc/figures commands
    commands=$(cat)
    if ! command -v gnuplot >/dev/null; then
        note "no figure: gnuplot is not installed; draw it elsewhere by $name.sh --draw --csv FILE"
        return 0
    fi
    [[ -f $csv ]] || fail "no results in $csv"
    mkdir -p "$figures"
    [[ $csv -ef $figures/$1.csv ]] || cp "$csv" "$figures/$1.csv"
    gnuplot <<EOT || { note "no figure: gnuplot failed"; return 0; }
csv = '$csv'
set terminal svg size 720,420 font 'sans,12' noenhanced
set output '$figures/$1.svg'
set datafile separator ','
set key autotitle columnhead outside bottom center horizontal
set grid ytics lc rgb '#dddddd'
set border 3
set tics nomirror
$commands
EOT
    note "drawn: doc/figures/$1.svg"
}
