#!/usr/bin/env bash
# What gpuscan costs where it does not help: selects by key as pgbench -S does them, and the planning time of joins of ten
# tables, against a server that does not load it. Two servers with the same settings, which answer in turn, a fraction of a
# second each (bench/overhead/pairs.cpp).
#
# Two processes that run the same program differ by a few percent for as long as they live, by where their memory happens to
# lie, and a server's backends share that. So both servers start anew in every round, a round gives one ratio (the median of
# its own), and the table shows the rounds' geometric mean with its 95 % confidence interval (Student's t over logarithms).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'USAGE'
Usage: bench/overhead.sh [OPTION]...

Starts two private servers (script/server.sh), one with gpuscan, one without, and compares them.

  --rounds N           starts of both servers (default 40)
  --fours N            ratios of each measurement in a round, each of four slices (default 5)
  --slice MS           length of a slice (default 100)
  --clients N          sessions of each server that select (default 2)
  --only LIST          some of: simple prepared star chain aggregate large (default all)
  --same               neither server loads gpuscan: shows what the method itself sees
  --with CONNINFO, --without CONNINFO   two running servers instead of private ones: new sessions in every round
  --restart COMMAND    what starts these two anew before every round (default: they run on)
  --set NAME=VALUE     a setting of the private server with gpuscan, such as gpuscan.offload=force

  simple      select of an account by its key, as pgbench -S, tables of scale 1
  prepared    the same as pgbench -S -M prepared
  star        plan: one table of 1,000 rows joined to nine of 100, no aggregation
  chain       plan: ten tables in a chain, no aggregation
  aggregate   plan: the star with GROUP BY, as small
  large       plan: the same, and statistics that claim a billion rows, so that a device plan is made and chosen

The last line, with private servers: processor time of gpuscan's own processes while nothing is asked of them.
USAGE
}

fail() {
    echo "overhead.sh: $*" >&2
    exit 2
}

rounds=40 only='simple prepared star chain aggregate large' with='' without='' restart='' settings=() same=0 pairs=()
while (($#)); do
    case $1 in
        --help) usage; exit 0 ;;
        --same) same=1; shift ;;
        --rounds | --fours | --slice | --clients | --only | --with | --without | --restart | --set)
            (($# >= 2)) || fail "$1 needs a value"
            case $1 in
                --rounds) rounds=$2 ;;
                --fours | --slice | --clients) pairs+=("$1" "$2") ;;
                --only) only=${2//,/ } ;;
                --with) with=$2 ;;
                --without) without=$2 ;;
                --restart) restart=$2 ;;
                --set) settings+=("${2%%=*} = '${2#*=}'") ;;
            esac
            shift 2
            ;;
        *) fail "unknown option $1; see --help" ;;
    esac
done
((rounds >= 2)) || fail "at least two rounds are needed"

servers=()
work=$(mktemp -d)
cleanup() {
    local status=$? server
    trap - EXIT
    for server in "${servers[@]}"; do
        script/honest.sh bench/overhead "$server/server.log" >&2 || [[ $status != 0 ]] || status=1
        script/server.sh stop "$server" || true
    done
    rm -rf "$work"
    exit "$status"
}
trap cleanup EXIT

make -s -C bench PG_CONFIG="${PG_CONFIG:-$(script/pg-config.sh)}" overhead/overhead-pairs ||
    [[ -x bench/overhead/overhead-pairs ]] || fail "cannot build overhead-pairs"

start() { # SETTING...; sets `started`
    eval "$(script/server.sh start "autovacuum = off" "$@")"
    servers+=("$SERVER")
    started="host=$PGHOST port=$PGPORT user=$PGUSER dbname=$PGDATABASE"
}

private=0 plain="shared_preload_libraries = ''"
if [[ -z $with$without ]]; then
    private=1
    if ((same)); then start "$plain"; else start "${settings[@]}"; fi
    with=$started
    start "$plain"
    without=$started
elif [[ -z $with || -z $without ]]; then
    fail "--with and --without come together"
fi

value() { psql -XqAt -d "$1" -c "$2"; } # CONNINFO QUERY

# Without a device gpuscan would have nothing to plan for.
await_device() {
    local i
    ((!same)) || return 0
    for ((i = 0; i < 240; ++i)); do
        [[ $(value "$with" "SELECT count(*) FROM gpuscan.devices WHERE state = 'ready'") == 0 ]] || return 0
        sleep 0.25
    done
    fail "no device is ready"
}

# --- data ---

star_from="fact" star_where="true" chain_from="t0" chain_where="true"
for i in 1 2 3 4 5 6 7 8 9; do
    star_from+=", t$i" star_where+=" AND fact.k$i = t$i.id"
    chain_from+=", t$i" chain_where+=" AND t$((i - 1)).next = t$i.id"
done

prepare() { # CONNINFO
    pgbench -i -q -s 1 "$1" >/dev/null 2>&1 || fail "pgbench -i failed"
    {
        echo "SET client_min_messages = warning; DROP SCHEMA IF EXISTS overhead CASCADE; CREATE SCHEMA overhead;"
        echo "SET search_path = overhead;"
        for i in 0 1 2 3 4 5 6 7 8 9; do
            echo "CREATE TABLE t$i (id int PRIMARY KEY, next int NOT NULL, v int NOT NULL);"
            echo "INSERT INTO t$i SELECT i, i % 100, i % 7 FROM generate_series(0, 99) i;"
        done
        echo "CREATE TABLE fact AS SELECT i AS id, i % 97 AS v$(printf ', i * %d %% 100 AS k%d' 3 1 7 2 11 3 13 4 17 5 19 6 23 7 29 8 31 9) FROM generate_series(1, 1000) i;"
        echo "CREATE TABLE large AS TABLE fact;"
        echo "VACUUM (ANALYZE) fact; VACUUM (ANALYZE) large;"
        for i in 0 1 2 3 4 5 6 7 8 9; do echo "VACUUM (ANALYZE) t$i;"; done
        echo "UPDATE pg_class SET reltuples = 1e9 / pg_relation_size(oid) * 8192, relpages = 1, relallvisible = 1 WHERE oid = 'large'::regclass;"
        echo "CHECKPOINT;"
    } | psql -XqAt -v ON_ERROR_STOP=1 -d "$1" >/dev/null || fail "cannot prepare the tables"
}
prepare "$with"
prepare "$without"
((same)) || value "$with" 'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS gpuscan'
await_device

star() { # TABLE TARGETS
    echo "SELECT $2 FROM ${star_from/fact/$1 fact} WHERE $star_where"
}

measures=()
for measure in $only; do
    case $measure in
        simple | prepared) measures+=("$measure") ;;
        star) measures+=("star=$(star fact 'fact.id, t1.v + t9.v')") ;;
        chain) measures+=("chain=SELECT t0.id, t9.v FROM $chain_from WHERE $chain_where") ;;
        aggregate) measures+=("aggregate=$(star fact 't1.v, sum(fact.v)') GROUP BY t1.v") ;;
        large)
            measures+=("large=$(star large 't1.v, sum(fact.v)') GROUP BY t1.v")
            ((same)) || [[ $(value "$with options='-c search_path=overhead'" "EXPLAIN ${measures[-1]#*=}") == *GpuScan* ]] ||
                echo "overhead.sh: no device plan is chosen for 'large'" >&2
            ;;
        *) fail "unknown measurement $measure; see --help" ;;
    esac
done

# --- rounds ---

start_anew() {
    local server
    for server in "${servers[@]}"; do
        script/server.sh restart "$server"
    done
    [[ -z $restart ]] || bash -c "$restart" || fail "the servers do not start"
    await_device
}

path="options='-c search_path=overhead,public'"
for ((round = 0; round < rounds; ++round)); do
    start_anew
    bench/overhead/overhead-pairs "${pairs[@]}" --without "$without $path" --with "$with $path" "${measures[@]}" >>"$work/rounds"
done

printf '%-10s %6s %6s %12s %12s  %-28s %-28s %s\n' measure rounds ratios 'without us' 'with us' \
    'elapsed with/without (95 %)' 'processor with/without (95 %)' 'both inside 3 %'
awk '
    # Student t, two-sided 95 %, by degrees of freedom (Cornish-Fisher around the normal quantile)
    function t95(df,   z) { z = 1.959964; return z + (z^3 + z) / (4 * df) + (5 * z^5 + 16 * z^3 + 3 * z) / (96 * df^2) }
    function interval(s, ss, n,   m, sd, h) {
        m = s / n; sd = sqrt((ss - n * m * m) / (n - 1)); h = t95(n - 1) * sd / sqrt(n)
        if (exp(m - h) < 0.97 || exp(m + h) > 1.03) inside = "no"
        return sprintf("%.4f (%.4f .. %.4f)", exp(m), exp(m - h), exp(m + h))
    }
    !($1 in n) { order[++names] = $1; known[$1] = 1 }
    {
        ++n[$1]; fours[$1] += $2; without[$1] += $3; with[$1] += $4
        e = log($5); se[$1] += e; see[$1] += e * e
        if ($6 > 0) { c = log($6); sc[$1] += c; scc[$1] += c * c } else known[$1] = 0
    }
    END {
        for (i = 1; i <= names; ++i) {
            m = order[i]; inside = "yes"
            elapsed = interval(se[m], see[m], n[m])
            processor = known[m] ? interval(sc[m], scc[m], n[m]) : "unknown"
            printf "%-10s %6d %6d %12.1f %12.1f  %-28s %-28s  %s\n", m, n[m], fours[m], without[m] / n[m], with[m] / n[m], elapsed, processor, inside
        }
    }
' "$work/rounds"

# --- while nothing is asked ---

descendants() { # PID
    local child
    for child in $(<"/proc/$1/task/$1/children"); do
        echo "$child"
        descendants "$child"
    done
}

processor_ns() { # of gpuscan's processes, and how many these are
    local postmaster process
    postmaster=$(value "$with" "SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)")
    for process in $(descendants "$postmaster"); do # (the session that has just asked may be among them)
        ! grep -qs gpuscan "/proc/$process/cmdline" || cat "/proc/$process/task"/*/schedstat
    done | awk '{ ns += $1 } END { print ns + 0, NR }'
}

if ((private && !same)); then
    read -r before tasks < <(processor_ns)
    sleep 10
    read -r after _ < <(processor_ns)
    awk -v ns=$((after - before)) -v tasks="$tasks" 'BEGIN {
        printf "gpuscan at rest (%d threads): %.3f %% of one core\n", tasks, ns / 10e9 * 100 }'
fi
