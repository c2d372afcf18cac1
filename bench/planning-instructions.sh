#!/usr/bin/env bash
# The instructions that planning TPC-H's queries takes with and without settings, by callgrind: unlike processor time (planning.sh) they
# are the same whatever else the machine does. A private server runs under valgrind, without and with the settings; each query
# is explained twice in one session, and the second time counts, when its caches are warm.
#
# Usage: bench/planning-instructions.sh [--sf F] [--unloaded] [NAME=VALUE]...
#   --sf F       scale factor of the tables (default 0.2)
#   --unloaded   the first of the two is a server without gpuscan
#   --common NAME=VALUE    a setting of both; may be repeated (default gpuscan.offload=off)
#   --device NAME          gpuscan.device (default none)
# Without NAME=VALUE: four page costs that are not PostgreSQL's. Needs valgrind. The last line: the instructions without and with, and
# their ratio.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scale=0.2 device=none unloaded=0 common=() settings=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --sf) scale=$2; shift ;;
        --device) device=$2; shift ;;
        --unloaded) unloaded=1 ;;
        --common) common+=("$2"); shift ;;
        *=*) settings+=("$1") ;;
        *) echo "planning-instructions.sh: what is \"$1\"? See its head" >&2; exit 2 ;;
    esac
    shift
done
[[ ${#common[@]} -gt 0 ]] || common=(gpuscan.offload=off)
if [[ ${#settings[@]} -eq 0 && $unloaded = 0 ]]; then
    settings=(gpuscan.random_read_page_cost=8 gpuscan.seq_write_page_cost=3 gpuscan.random_write_page_cost=7
        gpuscan.hashagg_write_page_cost=10)
fi
command -v valgrind >/dev/null || { echo "planning-instructions.sh: no valgrind" >&2; exit 2; }

pg_config=${PG_CONFIG:-$(script/pg-config.sh)}
make -s -C bench PG_CONFIG="$pg_config" overhead/overhead-planning tpch/tpch-gen
environment=$(script/server.sh start "gpuscan.device = $device" 'autovacuum = off')
eval "$environment"
# shellcheck source=script/stop_honestly.bash
. script/stop_honestly.bash
trap 'stop_honestly bench/planning-instructions' EXIT
trap 'exit 130' INT TERM HUP
bench/tpch/tpch-gen --sf "$scale" --quiet
psql -Xqc 'vacuum analyze'
bench/overhead/overhead-planning --print >"$SERVER/queries.sql"

stop() {
    $AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -m fast -w stop >/dev/null
}

counted() { # NAME LIBRARIES SETTING...: one number a query
    local folder=$SERVER/$1 libraries=$2 setting pid first
    shift 2
    mkdir "$folder" && chmod 777 "$folder"
    $AS_SERVER valgrind -q --tool=callgrind --trace-children=yes --toggle-collect=pg_plan_query \
        --dump-after=pg_plan_query --callgrind-out-file="$folder/%p" \
        "$SERVER_BIN/postgres" -D "$SERVER_DATA" -c shared_preload_libraries="$libraries" >>"$SERVER_LOG" 2>&1 &
    for _ in {1..600}; do
        ! psql -Xqc 'select 1' >/dev/null 2>&1 || break
        sleep 0.2
    done
    {
        for setting in "$@"; do echo "set ${setting%%=*} = '${setting#*=}';"; done
        echo 'select pg_backend_pid();'
        cat "$SERVER/queries.sql" "$SERVER/queries.sql"
    } >"$folder.sql"
    psql -XqAtv ON_ERROR_STOP=1 -f "$folder.sql" >"$folder.out"
    stop
    wait $!
    pid=$(grep -m1 -xE '[0-9]+' "$folder.out")
    first=$(grep -c '^explain' "$SERVER/queries.sql")
    # The process number is the first that is planned.
    for ((i = first + 2; i <= 2 * first + 1; ++i)); do sed -n 's/^totals: //p' "$folder/$pid.$i"; done >"$folder.counts"
}

stop
if [[ $unloaded = 1 ]]; then
    counted without ''
else
    counted without gpuscan "${common[@]}"
fi
counted with gpuscan "${common[@]}" "${settings[@]}"
printf '%-6s %12s %12s %8s\n' query without with ratio
paste "$SERVER/without.counts" "$SERVER/with.counts" |
    awk '{ printf "q%-5d %12d %12d %8.4f\n", NR, $1, $2, $2 / $1; a += $1; b += $2 }
         END { printf "instructions without %d, with %d, ratio %.4f\n", a, b, b / a }'
