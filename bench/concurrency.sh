#!/usr/bin/env bash
# How does throughput grow with the number of sessions? Each session runs the 13 queries of the Star Schema Benchmark in
# random order for some seconds (pgbench); every answer that is not the device's own is counted as a fallback.
usage() {
    cat <<'TEXT'
Usage: bench/concurrency.sh SF [OPTION]...

Throughput of the Star Schema Benchmark's 13 queries at scale factor SF by 1, 2, 4 and more sessions at once. The tables are
loaded first if they are missing.

  --sessions N      largest number of sessions (default 8)
  --seconds N       length of one run (default 10)
  --protocol NAME   simple, extended or prepared (default simple)
TEXT
    common_usage
}

sessions=8 seconds=10 protocol=simple
option() {
    case $1 in
        --sessions) sessions=$2 taken=2 ;;
        --seconds) seconds=$2 taken=2 ;;
        --protocol) protocol=$2 taken=2 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse "$@"
((${#arguments[@]} == 1)) || fail "the scale factor, please; see --help"
need_server
need pgbench
build_ssb
schema=public
"$bench/ssb/ssb-gen" --sf "${arguments[0]}" --if-missing >&2 || fail "cannot load the tables"
machine

files=()
for query in "$bench"/ssb/queries/q*.sql; do
    files+=(-f "$query")
done
log=$(mktemp)
at_exit+=('rm -f "$log"')

# run SESSIONS SECONDS: queries per second and mean latency in ms
run() {
    PGOPTIONS="$(session_options) -c gpuscan.offload=$offload" \
        pgbench -n -M "$protocol" -c "$1" -j "$1" -T "$2" "${files[@]}" >"$log" 2>&1 || {
        tail -n 5 "$log" >&2
        fail "pgbench failed with $1 sessions"
    }
    awk '/^latency average/ { latency = $4 } /^tps/ { tps = $3 } END { print tps, latency }' "$log"
}

run 1 2 >/dev/null
run "$sessions" 2 >/dev/null
start_table sessions queries_per_s:14 ratio latency_ms fallbacks device_memory_mb:16
one=''
for ((n = 1; n <= sessions; n *= 2)); do
    fallbacks=$(sql 'SELECT fallbacks FROM gpuscan.stat')
    read -r tps latency <<<"$(run "$n" "$seconds")"
    one=${one:-$tps}
    row "$n" "$tps" "$(ratio "$tps" "$one")" "$latency" "$(($(sql 'SELECT fallbacks FROM gpuscan.stat') - fallbacks))" \
        "$(sql "SELECT max(memory_used) / 1048576 FROM gpuscan.devices WHERE state = 'ready' AND '${device:-auto}' IN (kind, 'auto')")"
done
