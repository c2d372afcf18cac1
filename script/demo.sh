#!/usr/bin/env bash
# A first look at gpuscan on a private server: installs what is missing, builds, loads, runs queries with gpuscan off and on, prints the
# table, stores it in bench/results, and says what to try next. The server stays up for that; a second demo uses it again.
# Usage: script/demo.sh [ssb]    the 13 queries of the Star Schema Benchmark
#        script/demo.sh events   a dashboard's questions to the events of a web shop
#        script/demo.sh stop     stops the server and removes it with its data; nothing happens if there is none
# Settings of the environment: SF (scale factor, 1: 6 million line orders, 5 million events), BUILD, DEMO_STATE (the file that remembers
# the server, $BUILD/demo-server).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=script/stop_honestly.bash
. script/stop_honestly.bash
export BUILD=${BUILD:-build}
benchmark=${1:-ssb}
state=${DEMO_STATE:-$BUILD/demo-server} # holds the name of the server's directory

phase() {
    echo "$(date +%H:%M:%S) ---- $*"
}

server=$(cat "$state" 2>/dev/null) || true
[ -e "$server/server.env" ] || server=''

case $benchmark in
    # The second example is one of which PostgreSQL does a part.
    ssb)
        table=lineorder query=bench/ssb/queries/q3.1.sql
        partly='SELECT lo_shipmode, array_agg(DISTINCT lo_orderpriority ORDER BY lo_orderpriority) FROM lineorder GROUP BY lo_shipmode'
        options=() other=demo-events says='the same for the events of a web shop: jsonb, percentiles, retention'
        ;;
    events)
        table=events query=bench/events/queries/revenue.sql
        partly='SELECT country, array_agg(duration_ms ORDER BY duration_ms DESC) FROM events GROUP BY country'
        options=(--reps 3 --postgres-reps 1) other=demo says='the same for the Star Schema Benchmark'
        ;;
    stop)
        [ -z "$server" ] || script/server.sh stop "$server"
        rm -f "$state"
        exit
        ;;
    *) sed -n '2,/^set/{/^#/p}' "$0" | cut -c3-; exit 2 ;;
esac

script/setup.sh build
phase "build and server"
if [ -n "$server" ]; then
    script/server.sh install "$server"
    script/server.sh restart "$server"
    environment=$(script/server.sh env "$server")
    eval "$environment"
else
    environment=$(script/server.sh start --demo)
    eval "$environment"
    trap 'stop_honestly demo' EXIT
    trap 'exit 130' INT TERM HUP
    echo "$SERVER" >"$state"
fi
since=$(($(stat -c %s "$SERVER_LOG") + 1))

sql() { PGOPTIONS='-c client_min_messages=warning' psql -XAtqc "$1"; }
sql 'CREATE EXTENSION IF NOT EXISTS gpuscan'
for _ in $(seq 120); do
    [ "$(sql "SELECT bool_or(state = 'starting') FROM gpuscan.devices")" = t ] || break
    sleep 0.5
done
gpu=$(sql "SELECT name FROM gpuscan.devices WHERE kind = 'cuda' AND state = 'ready'")
if [ -n "$gpu" ]; then
    echo "gpuscan runs on the GPU, $gpu. The column \"host ms\" has the times of its CPU engine, with $(nproc) cores."
    options+=(--beside host)
else
    echo "No GPU takes part: $(sql "SELECT note FROM gpuscan.devices WHERE kind = 'cuda'")."
    echo "gpuscan runs on its CPU engine, with $(nproc) cores."
fi
echo "Times are those of repeated queries, whose columns are cached; the ratio says how many times as long PostgreSQL takes."

phase "the tables and queries of bench/$benchmark, scale factor ${SF:=1}"
bench/"$benchmark".sh "$SF" --load --where "${options[@]}"
script/honest.sh demo "$SERVER_LOG" "$since"
trap - EXIT

cat <<TEXT

The server stays up, in $SERVER. What to try next, in this directory:
    eval "\$(script/server.sh env $SERVER)"    # from now on this shell's psql goes there
    psql -c 'SELECT * FROM gpuscan.status()'    # is it on, and is anything missing?
    psql -c "EXPLAIN (ANALYZE) \$(cat $query)"    # what ran where
    psql -c 'SELECT * FROM gpuscan.advise(\$\$$partly\$\$)'    # why is this query not faster?
    psql -c "SELECT kind, state, pg_size_pretty(cache_bytes) AS cached, pg_size_pretty(pg_table_size('$table')) AS \"table\" FROM gpuscan.devices WHERE state = 'ready'"
    make $other    # $says
    make demo-stop    # stops this server and removes it with its data
TEXT
