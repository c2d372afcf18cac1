#!/usr/bin/env bash
# What page costs (gpuscan.*_page_cost) cost the planner: processor time of planning TPC-H's queries with and without them, in two
# sessions of one private server, in turn (bench/overhead/planning.cpp).
#
# Usage: bench/planning.sh [--sf F] [OPTION]... [NAME=VALUE]...
#   --sf F      scale factor of the tables (default 0.2)
#   others      those of bench/overhead/overhead-planning; see its --help
# Without NAME=VALUE: four page costs that are not PostgreSQL's. `gpuscan.offload=off` alone shows what the method sees.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scale=0.2
if [[ ${1:-} == --sf ]]; then
    scale=$2
    shift 2
fi
arguments=("$@")
if [[ " $* " != *=* ]]; then
    arguments+=(gpuscan.random_read_page_cost=8 gpuscan.seq_write_page_cost=3 gpuscan.random_write_page_cost=7
        gpuscan.hashagg_write_page_cost=10)
fi
pg_config=${PG_CONFIG:-$(script/pg-config.sh)}
make -s -C bench PG_CONFIG="$pg_config" overhead/overhead-planning tpch/tpch-gen
environment=$(script/server.sh start 'gpuscan.device = none' 'autovacuum = off')
eval "$environment"
# shellcheck source=script/stop_honestly.bash
. script/stop_honestly.bash
trap 'stop_honestly bench/planning' EXIT
trap 'exit 130' INT TERM HUP
bench/tpch/tpch-gen --sf "$scale" --quiet
psql -Xqc 'vacuum analyze'
bench/overhead/overhead-planning --common gpuscan.offload=off "${arguments[@]}"
