#!/usr/bin/env bash
# What gpuscan costs where it does not help: throughput of pgbench -S, and the planning time of joins of ten tables, against
# a server that does not load it. Two servers, measured in pairs that alternate which one comes first; a pair gives a
# ratio, and the table shows the ratios' geometric mean with its 95 % confidence interval (Student's t over logarithms).
#
# Besides elapsed time the processor time of the backends is compared, which other programs on the machine disturb less.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'USAGE'
Usage: bench/overhead.sh [OPTION]...

Starts two private servers (script/server.sh), one with gpuscan, one without, and compares them.

  --pairs N            pairs of each measurement (default 20)
  --seconds N          length of one pgbench run (default 3)
  --plans N            plannings in one run (default 40)
  --only LIST          some of: select star chain aggregate large (default all)
  --with CONNINFO, --without CONNINFO   two running servers instead of private ones
  --set NAME=VALUE     a setting of the private server with gpuscan, such as gpuscan.offload=force

  select      pgbench -S -c 2, tables of scale 1
  star        plan: one table of 1,000 rows joined to nine of 100, no aggregation
  chain       plan: ten tables in a chain, no aggregation
  aggregate   plan: the star with GROUP BY, as small
  large       plan: the same, and statistics that claim a billion rows, so that a device plan is worth a look
USAGE
}

fail() {
    echo "overhead.sh: $*" >&2
    exit 2
}

pairs=20 seconds=3 plans=40 only='select star chain aggregate large' with='' without='' settings=()
while (($#)); do
    case $1 in
        --help) usage; exit 0 ;;
        --pairs | --seconds | --plans | --only | --with | --without | --set)
            (($# >= 2)) || fail "$1 needs a value"
            case $1 in
                --pairs) pairs=$2 ;;
                --seconds) seconds=$2 ;;
                --plans) plans=$2 ;;
                --only) only=${2//,/ } ;;
                --with) with=$2 ;;
                --without) without=$2 ;;
                --set) settings+=("${2%%=*} = '${2#*=}'") ;;
            esac
            shift 2
            ;;
        *) fail "unknown option $1; see --help" ;;
    esac
done
((pairs >= 2)) || fail "at least two pairs are needed"

servers=()
work=$(mktemp -d)
cleanup() {
    local server
    for server in "${servers[@]}"; do
        script/server.sh stop "$server" || true
    done
    rm -rf "$work"
}
trap cleanup EXIT

if [[ -z $with || -z $without ]]; then
    [[ -z $with$without ]] || fail "--with and --without come together"
    plain=("jit = on" "autovacuum = off" "shared_buffers = 256MB")
    eval "$(script/server.sh start "${plain[@]}" "${settings[@]}")"
    servers+=("$SERVER")
    with="host=$PGHOST port=$PGPORT user=$PGUSER dbname=$PGDATABASE"
    eval "$(script/server.sh start "${plain[@]}" "shared_preload_libraries = ''")"
    servers+=("$SERVER")
    without="host=$PGHOST port=$PGPORT user=$PGUSER dbname=$PGDATABASE"
    psql -XqAt -d "$with" -c 'CREATE EXTENSION gpuscan' >/dev/null
fi

# --- data ---

star_from="fact" star_where="true" chain_from="t0" chain_where="true"
for i in 1 2 3 4 5 6 7 8 9; do
    star_from+=", t$i" star_where+=" AND fact.k$i = t$i.id"
    chain_from+=", t$i" chain_where+=" AND t$((i - 1)).next = t$i.id"
done

prepare() { # CONNINFO
    pgbench -i -q -s 1 -d "$1" >/dev/null 2>&1 || pgbench -i -q -s 1 "$1" >/dev/null 2>&1 || fail "pgbench -i failed"
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
        cat <<'SQL'
CREATE FUNCTION plan(query text, times int, OUT wall_us float8, OUT cpu_us float8) LANGUAGE plpgsql AS $$
DECLARE
    started timestamptz;
    cpu float8;
    line text;
BEGIN
    EXECUTE 'EXPLAIN ' || query INTO line;
    started := clock_timestamp();
    cpu := split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8;
    FOR i IN 1 .. times LOOP
        EXECUTE 'EXPLAIN ' || query INTO line;
    END LOOP;
    cpu_us := (split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 - cpu) / 1000 / times;
    wall_us := extract(epoch FROM clock_timestamp() - started) * 1e6 / times;
END $$;
SQL
    } | psql -XqAt -v ON_ERROR_STOP=1 -d "$1" >/dev/null || fail "cannot prepare the tables"
}
prepare "$with"
prepare "$without"

# --- one run: prints elapsed time and processor time per transaction, in microseconds ---

ticks=$(getconf CLK_TCK)
postmaster() { psql -XqAt -d "$1" -c "SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)"; }
children_ticks() { # of all backends that have ended
    local line
    line=$(<"/proc/$1/stat")
    # shellcheck disable=SC2086
    set -- ${line##*) }
    echo $((${14} + ${15}))
}

run_select() {
    local pid before tps
    pid=$(postmaster "$1")
    before=$(children_ticks "$pid")
    pgbench -n -S -c 2 -j 2 -T "$seconds" "$1" >"$work/pgbench.log" 2>&1 || fail "pgbench failed: $(tail -n 3 "$work/pgbench.log")"
    sleep 0.2 # until the postmaster has seen its backends end
    tps=$(awk '/^tps/ { print $3; exit }' "$work/pgbench.log")
    awk -v tps="$tps" -v ticks="$(($(children_ticks "$pid") - before))" -v hz="$ticks" -v s="$seconds" \
        'BEGIN { print 1e6 / tps, ticks / hz * 1e6 / (tps * s) }'
}

run_plan() { # CONNINFO QUERY
    PGOPTIONS='-c search_path=overhead' psql -XqAt -F ' ' -d "$1" -v query="$2" -v times="$plans" <<'SQL'
SELECT wall_us, cpu_us FROM plan(:'query', :times);
SQL
}

run() { # CONNINFO MEASUREMENT
    case $2 in
        select) run_select "$1" ;;
        star) run_plan "$1" "SELECT fact.id, t1.v + t9.v FROM $star_from WHERE $star_where" ;;
        chain) run_plan "$1" "SELECT t0.id, t9.v FROM $chain_from WHERE $chain_where" ;;
        aggregate) run_plan "$1" "SELECT t1.v, sum(fact.v) FROM $star_from WHERE $star_where GROUP BY t1.v" ;;
        large) run_plan "$1" "SELECT t1.v, sum(fact.v) FROM ${star_from/fact/large fact} WHERE $star_where GROUP BY t1.v" ;;
        *) fail "unknown measurement $2; see --help" ;;
    esac
}

# --- pairs ---

printf '%-10s %6s %12s %12s  %-28s %-28s\n' measure pairs 'without us' 'with us' 'elapsed with/without (95 %)' 'processor with/without (95 %)'
for measure in $only; do
    run "$with" "$measure" >/dev/null
    run "$without" "$measure" >/dev/null
    : >"$work/$measure"
    for ((pair = 0; pair < pairs; ++pair)); do
        if ((pair % 2)); then
            a=$(run "$with" "$measure") && b=$(run "$without" "$measure")
        else
            b=$(run "$without" "$measure") && a=$(run "$with" "$measure")
        fi
        echo "$a $b" >>"$work/$measure"
    done
    awk -v name="$measure" '
        # Student t, two-sided 95 %, by degrees of freedom (Cornish-Fisher around the normal quantile)
        function t95(df,   z) { z = 1.959964; return z + (z^3 + z) / (4 * df) + (5 * z^5 + 16 * z^3 + 3 * z) / (96 * df^2) }
        function interval(s, ss, n,   m, sd, h) {
            m = s / n; sd = sqrt((ss - n * m * m) / (n - 1)); h = t95(n - 1) * sd / sqrt(n)
            return sprintf("%.4f (%.4f .. %.4f)", exp(m), exp(m - h), exp(m + h))
        }
        { w = log($1 / $3); c = log($2 / $4); sw += w; sww += w * w; sc += c; scc += c * c; with += $1; without += $3 }
        END { printf "%-10s %6d %12.1f %12.1f  %-28s %-28s\n", name, NR, without / NR, with / NR, interval(sw, sww, NR), interval(sc, scc, NR) }
    ' "$work/$measure"
done
