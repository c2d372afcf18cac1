#!/usr/bin/env bash
# SSB's queries beside writers: how much longer each takes while orders are updated and inserted, and once that has ended.
usage() {
    cat <<'TEXT'
Usage: bench/trickle.sh [OPTION]...

Runs the 13 queries of the Star Schema Benchmark one after the other, in one session, for some seconds, over tables that bench/ssb.sh
has loaded: first while nobody writes, then beside pgbench, which updates one order and inserts one at a time, then six times
after that, in a session that has run them before, beside it. The table has medians and 99th percentiles, and both against the
median without writers. Autovacuum stays as it is.

  --seconds N       beside writers (default 60); without them a quarter as long
  --rate N          orders updated and orders inserted a second (default 500)
  --compare         in the end, compare all results with PostgreSQL's
TEXT
    common_usage
}

seconds=60 rate=500 compare=0
option() {
    case $1 in
        --seconds) seconds=$(number "$1" "${2:-}") taken=2 ;;
        --rate) rate=$(number "$1" "${2:-}") taken=2 ;;
        --compare) compare=1 taken=1 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse "$@"
((${#arguments[@]} == 0)) || fail "what is '${arguments[0]}'? See --help"
((seconds >= 4)) || fail "--seconds takes a number from 4 on"
need pgbench
need_server
orders=$(sql "SELECT CASE WHEN to_regclass('lineorder') IS NULL THEN 0 ELSE (SELECT max(lo_orderkey) FROM lineorder) END")
((orders > 0)) || fail "there is no table lineorder: load one by bench/ssb.sh SF"
sql "CREATE INDEX IF NOT EXISTS gpuscan_trickle ON lineorder (lo_orderkey)"

work=$(mktemp -d)
at_exit+=("rm -rf '$work'" "sql 'DROP INDEX IF EXISTS gpuscan_trickle'")
queries=("$bench"/ssb/queries/q*.sql)
for query in "${queries[@]}"; do sed 's/--.*//' "$query" | tr '\n' ' ' && echo; done >"$work/once.sql"
cat >"$work/write.sql" <<EOT
\set updated random(1, $orders)
\set inserted random(1, $orders)
UPDATE lineorder SET lo_tax = lo_tax WHERE lo_orderkey = :updated;
INSERT INTO lineorder SELECT * FROM lineorder WHERE lo_orderkey = :inserted;
EOT

# rounds_of NUMBER: the queries so often
rounds_of() {
    awk -v rounds="$1" '{ query[NR] = $0 } END { while (rounds-- > 0) for (i = 1; i <= NR; ++i) print query[i] }' "$work/once.sql"
}
# times_of SECONDS: of all executions of a script's statements, in their order
times_of() {
    local script
    script=$(mktemp "$work/XXXXXX.sql")
    { echo '\timing on' && cat; } >"$script"
    PGOPTIONS="$(session_options) -c gpuscan.offload=$offload" timeout "$1" psql -Xq -v ON_ERROR_STOP=1 -o /dev/null -f "$script" |
        awk '$1 == "Time:" { print $2 }'
}
write_for() { pgbench -n -c 4 -j 4 -R "$rate" -T "$1" -f "$work/write.sql"; }
# of_query NUMBER QUANTILE FILE, without the first three rounds
of_query() {
    awk -v q="$1" -v n="${#queries[@]}" 'NR > 3 * n && (NR - 1) % n == q' "$3" | sort -g |
        awk -v quantile="$2" '{ v[NR] = $1 } END { at = int(NR * quantile) + 1; if (at > NR) at = NR; if (NR) print v[at] }'
}

machine
rounds_of 3 | times_of 600 >/dev/null # (brings the columns, and compiles)
sleep 1
rounds_of $((seconds * 25)) | times_of $((seconds / 4)) >"$work/static" || true # (timeout)
write_for $((seconds + 2)) >"$work/writers" 2>&1 &
writers=$!
sleep 1
rounds_of $((seconds * 100)) | times_of "$seconds" >"$work/beside" || true
wait "$writers" || true
# The last writers end after this session's first rounds, which bring what has been written so far.
{
    rounds_of 3
    echo "\\! touch '$work/warm'"
    echo "\\! while [ -d '$work' ] && ! [ -e '$work/written' ]; do sleep 0.02; done"
    rounds_of 6
} | times_of 600 >"$work/after" &
after=$!
until [ -e "$work/warm" ] || ! kill -0 "$after" 2>/dev/null; do sleep 0.1; done
write_for 2 >"$work/last_writers" 2>&1 || fail "pgbench failed"
touch "$work/written"
wait "$after" || fail "the queries after writing failed"
grep -q '^tps' "$work/writers" || { cat "$work/writers" >&2; fail "pgbench failed"; }

start_table query:8 static_ms beside_ms ratio:8 p99_ms:8 p99_ratio
for i in "${!queries[@]}"; do
    static=$(of_query "$i" 0.5 "$work/static") beside=$(of_query "$i" 0.5 "$work/beside") p99=$(of_query "$i" 0.99 "$work/beside")
    row "$(basename "${queries[i]}" .sql)" "$static" "$beside" "$(ratio "$beside" "$static")" "$p99" "$(ratio "$p99" "$static")"
done
awk -F, 'NR > 1 { s += $2; b += $3 } END { printf "sums of medians: %.1f ms, %.1f beside writers, %.2f times\n", s, b, b / s }' "$csv"
awk -v n="${#queries[@]}" 'NR > 3 * n { s += $1 } NR > 3 * n && NR % n == 0 { printf "%s%.1f", (NR > 4 * n ? ", " : "sums after writing: "), s; s = 0 } END { print " ms" }' "$work/after"
grep -E '^(tps|latency average)' "$work/writers"
if ((compare)); then
    for query in "${queries[@]}"; do
        same "$(sed 's/--.*//; s/;//' "$query")" || fail "$(basename "$query" .sql): another result than PostgreSQL's"
    done
    echo "all results are PostgreSQL's"
fi
echo "written: $csv"
