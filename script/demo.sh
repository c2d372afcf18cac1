#!/usr/bin/env bash
# The Star Schema Benchmark at scale factor 1 on a private server: installs what is missing, builds, loads, runs the 13
# queries with gpuscan off and on, prints the table, stores it in bench/results/ssb.csv and leaves nothing running.
# Usage: script/demo.sh        (KEEP=1 in the environment leaves the server up and says how to connect and to stop it; SF=0.1 takes
#                              another scale factor)
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=script/stop_honestly.bash
. script/stop_honestly.bash
export BUILD=${BUILD:-build}

phase() {
    echo "$(date +%H:%M:%S) ---- $*"
}

script/setup.sh build
phase "build and server"
environment=$(script/server.sh start --demo)
eval "$environment"
trap 'stop_honestly demo' EXIT
trap 'exit 130' INT TERM HUP

phase "Star Schema Benchmark, scale factor ${SF:=1}"
bench/ssb.sh "$SF" --load

if [ "${KEEP:-}" = 1 ]; then
    trap - EXIT
    script/honest.sh demo "$SERVER_LOG"
    cat <<TEXT

The server is up. Connect with
    psql -h $PGHOST -p $PGPORT -U $PGUSER -d $PGDATABASE
and stop it, which removes it with its data, with
    script/server.sh stop $SERVER
TEXT
fi
