#!/usr/bin/env bash
# gpuscan-calibrate from beginning to end on a private server with queries like TPC-H's, on more data than the server has memory: installs
# what is missing, builds, loads, measures, searches weights, reports, applies them, undoes that, and leaves nothing running. Some minutes.
# Usage: script/calibrate-demo.sh        (the report, with its page for a browser, stays in $BUILD/calibrate-demo)
# Settings of the environment: SF (scale factor, 0.1), QUERIES (which, "q1 q2 ... q22"), DEVICE (gpuscan.device, none).
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
environment=$(script/server.sh start 'shared_buffers = 16MB' 'work_mem = 1MB' 'effective_cache_size = 64MB' 'max_parallel_workers_per_gather = 0' \
    'autovacuum = off' "gpuscan.device = ${DEVICE:-none}")
eval "$environment"
trap 'stop_honestly calibrate-demo' EXIT
trap 'exit 130' INT TERM HUP
make -s PG_CONFIG="$PG_CONFIG" calibrate
make -s -C bench PG_CONFIG="$PG_CONFIG" tpch/tpch-gen tpch/tpch-run
calibrate=$BUILD/calibrate/gpuscan-calibrate
out=$BUILD/calibrate-demo
rm -rf "$out"
mkdir -p "$out/queries"

queries=${QUERIES:-$(echo q{1..22})}
phase "$(wc -w <<<"$queries") queries and their tables, scale factor ${SF:=0.1}"
bench/tpch/tpch-gen --sf "$SF" --quiet
psql -Xqc 'CREATE EXTENSION gpuscan' -c 'VACUUM (FREEZE, ANALYZE)'
for query in $queries; do
    bench/tpch/tpch-run --no-extension --only "$query" --print >"$out/queries/$query.sql"
done

phase "gpuscan-calibrate measure"
"$calibrate" measure --out "$out/measurement.jsonl"
phase "gpuscan-calibrate anneal"
"$calibrate" anneal --workload "$out/queries" --out "$out/calibration.jsonl" --plans-per-query 5 --repeats 2 --timeout 30 \
    --start-from "$out/measurement.jsonl" >"$out/report.txt"
cat "$out/report.txt"
"$calibrate" report "$out/calibration.jsonl" --format html >"$out/report.html"
"$calibrate" report "$out/calibration.jsonl" --format json >"$out/report.json"

phase "gpuscan-calibrate apply and undo"
show() { psql -Xc "SELECT name, setting FROM pg_settings WHERE name ~ '^(gpuscan\.(seq|random)_(read|write)_page_cost|gpuscan.hashagg_write_page_cost|cpu_.*_cost)$' ORDER BY 1"; }
if "$calibrate" apply "$out/calibration.jsonl" --show; then
    "$calibrate" apply "$out/calibration.jsonl" --yes
    show
    "$calibrate" undo "$out/calibration.jsonl" --yes
    show
else
    echo "(nothing to apply, so nothing to undo)"
fi

echo "The report: $out/report.txt, a page for a browser: $out/report.html"
psql -XAtq -v file="$out/report.json" <<'SQL'
\set report `cat :'file'`
SELECT format('executions %s of %s, before %s s, after %s s', r->>'executions', r->>'pairs', round((r->'total_ms'->>'present')::numeric / 1000, 2),
              round((r->'total_ms'->>'best')::numeric / 1000, 2))
FROM (SELECT :'report'::json->'result') AS report(r)
SQL
