#!/usr/bin/env bash
# Plans under gpuscan's page costs against those of a server whose own source has the model's formulas (test/oracle): builds that
# server into the cache if it is not there, starts it, loads TPC-H at scale factor 0.2, and explains TPC-H's and random queries
# under random costs. First costs that are PostgreSQL's own, which may change nothing, then serial plans, then parallel ones.
# The last line is that of the serial plans; the exit status says whether everything was within its limits.
#
# Usage: script/oracle.sh [VECTORS [SEED]]     default: 30 choices of costs (5,160 plans of each kind), seed 1
# Settings of the environment: PG (15, 17 or 18; default 15), BUILD, and those of script/server.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build}

vectors=${1:-30} seed=${2:-1} major=${PG:-15}

script/setup.sh build
script/build-postgres.sh "$major" oracle "test/oracle/postgresql-$major.patch"
environment=$(PG=$major-oracle script/server.sh start 'gpuscan.device = none' 'shared_buffers = 256MB' 'autovacuum = off')
eval "$environment"
# shellcheck source=script/stop_honestly.bash
. script/stop_honestly.bash
trap 'stop_honestly oracle' EXIT
trap 'exit 130' INT TERM HUP
make -s -C bench PG_CONFIG="$PG_CONFIG" tpch/tpch-gen
make -s -C test/oracle BUILD="$(realpath "$BUILD")" PG_CONFIG="$PG_CONFIG"
bench/tpch/tpch-gen --sf 0.2 --quiet
psql -Xqc 'vacuum analyze'

failed=0
"$BUILD/oracle/oracle" --seed "$seed" --vectors $((vectors / 5 + 1)) --neutral --show 5 || failed=1
"$BUILD/oracle/oracle" --seed "$seed" --vectors $((vectors / 5 + 1)) --neutral --parallel --show 5 || failed=1
"$BUILD/oracle/oracle" --seed "$seed" --vectors "$vectors" --parallel || failed=1
"$BUILD/oracle/oracle" --seed "$seed" --vectors "$vectors" || failed=1
if grep -E 'PANIC|TRAP|was terminated by signal' "$SERVER_LOG"; then failed=1; fi
exit "$failed"
