#!/usr/bin/env bash
# The Star Schema Benchmark at scale factor 1 on a private server: installs what is missing, builds, loads, runs the 13
# queries with gpuscan off and on, prints the table, stores it in bench/results/ssb.csv and leaves nothing running.
# Usage: script/demo.sh        (KEEP=1 in the environment leaves the server up and says how to connect and to stop it)
set -euo pipefail
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build}

phase() {
    echo "$(date +%H:%M:%S) ---- $*"
}

script/setup.sh build
phase "build and server"
environment=$(script/server.sh start --demo)
eval "$environment"
trap 'script/server.sh stop "$SERVER"' EXIT
trap 'exit 130' INT TERM HUP

phase "Star Schema Benchmark, scale factor 1"
bench/ssb.sh 1 --load

if [ "${KEEP:-}" = 1 ]; then
    trap - EXIT
    cat <<TEXT

The server is up. Connect with
    psql -h $PGHOST -p $PGPORT -U $PGUSER -d $PGDATABASE
and stop it, which removes it with its data, with
    script/server.sh stop $SERVER
TEXT
fi
