#!/usr/bin/env bash
# Storage with chosen latencies (bench/asymmetric-storage): known accesses are counted by the right pattern and take, by the library's
# own clock, what was asked for; a server's pages are counted as PostgreSQL counts them; nothing else is delayed.
# How fast PostgreSQL is does not matter here.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

here=bench/asymmetric-storage
storage=$here/storage.sh
work=$(mktemp -d)
at_exit+=("rm -rf '$work'")
make -s -C bench PG_CONFIG="${PG_CONFIG:-pg_config}" asymmetric-storage/{preload.so,storage-control,accesses} || exit 1

# value NAME: of what was read last
value() {
    awk -v name="$1" '$1 == name { print $2 }' "$work/shown"
}

# The sleeps and the true accesses make up what was asked for, but for what is not owed long enough: a slice per process.
# account PROCESSES: says what is wrong
account() {
    awk -v processes="$1" '{ v[$1] = $2 } END {
        for (p in v) if (p ~ /_pages$/ && p !~ /_ahead_/) {
            pattern = p; sub(/^(relation|temporary)_/, "", pattern); sub(/_pages$/, "", pattern)
            cost += v[p] * v[(pattern == "skipped" ? "seq_read" : pattern) "_us"]
        }
        if (cost - v["charged_us"] > 1 || v["charged_us"] - cost > 1) print "charged", v["charged_us"], "for accesses that cost", cost
        paid = v["slept_us"] - v["late_us"] + v["made_up_us"] - v["queued_us"] + v["own_us"]
        owed = v["charged_us"] - paid
        if (owed < -10 || owed > processes * v["slice_us"] + 10) print "charged", v["charged_us"], "paid", paid
    }' "$work/shown"
}

# --- known accesses ---

# expect PATTERN PAGES PROCESSES 'NAME VALUE'...: counts; all others that are pages are 0
expect() {
    local pattern=$1 pages=$2 processes=$3 said seconds
    shift 3
    $here/storage-control reset "$work/state"
    said=$(LD_PRELOAD=$PWD/$here/preload.so ASYMMETRIC_STORAGE=$work/state $here/accesses "$work/$pattern-$processes" "$pattern" "$pages" "$processes")
    $here/storage-control show "$work/state" >"$work/shown"
    is "$pattern, $processes at once: pages" "$(grep '_pages ' "$work/shown" | grep -v ' 0$' | sort)" "$(printf '%s\n' "$@" | sort)"
    is "$pattern, $processes at once: charged, and slept" "$(account "$processes")" ''
    # Nobody is faster than the storage, which serves one process after the other; only true accesses are side by side.
    seconds=$(sed -E 's/.* ([0-9.]+) s$/\1/' <<<"$said")
    ok "$pattern, $processes at once: takes as long" \
        awk -v s="$seconds" -v slept="$(($(value charged_us) - $(value own_us)))" -v n="$processes" 'BEGIN { exit !(s * 1e6 >= slept - n * 510) }'
}

$here/storage-control create "$work/state" --program accesses --seq-read 2.5 --random-read 20 --seq-write 7 --random-write 33
expect seq_read 20000 1 'relation_random_read_pages 1' 'relation_seq_read_pages 19999'
expect random_read 5000 1 'relation_random_read_pages 5000'
expect seq_write 10000 1 'relation_random_write_pages 1' 'relation_seq_write_pages 9999'
expect random_write 5000 1 'relation_random_write_pages 5000'
expect vectored_read 20000 1 'relation_random_read_pages 1' 'relation_seq_read_pages 19999'
# 10 pages in sequence, then 990 requests, each of which passes over three pages.
expect skipping_read 1000 1 'relation_random_read_pages 1' 'relation_seq_read_pages 999' 'relation_skipped_pages 2967'
# Of eight pages the second four are read first, and the first four cost nothing any more.
expect swapped_read 8010 1 'relation_random_read_pages 1' 'relation_seq_read_pages 4009' 'relation_skipped_pages 4000' 'relation_ahead_pages 4000'
# More files than streams; then fewer.
expect interleaved_write 4000 1 'temporary_random_write_pages 4000'
$here/storage-control set "$work/state" --streams 16
rm -rf "$work/interleaved_write-1"
expect interleaved_write 4000 1 'temporary_random_write_pages 16' 'temporary_seq_write_pages 3984'
expect other_write 1000 1
# Several processes take turns.
expect random_read 2000 3 'relation_random_read_pages 6000'
expect seq_read 5000 3 'relation_random_read_pages 3' 'relation_seq_read_pages 14997'

is 'io_uring is refused by the library' \
    "$(LD_PRELOAD=$PWD/$here/preload.so ASYMMETRIC_STORAGE=$work/state $here/accesses "$work" io_uring 0 0 2>&1 | head -n 1)" \
    'asymmetric storage: io_method = io_uring is refused, since its reads cannot be delayed; use worker or sync'
is 'io_uring is refused by the script' "$($storage --state "$work/none" -- script/server.sh start 'io_method = io_uring' 2>&1)" \
    "storage.sh: io_method = io_uring is refused: the kernel would read behind the library's back; use worker or sync"
$storage --state "$work/nobody" -- true 2>/dev/null
is 'a command that starts no server fails' $? 3

# --- a server ---

export PGOPTIONS='-c gpuscan.offload=off -c max_parallel_workers_per_gather=0 -c work_mem=1MB -c jit=off'
below=("$storage" --state "$work/server" --seq-read 2 --random-read 10 --seq-write 2 --random-write 20 --)
chmod 755 "$work"
start_server 'shared_buffers = 8MB' 'autovacuum = off' 'bgwriter_lru_maxpages = 0' 'checkpoint_timeout = 1h' 'gpuscan.device = host'
sql "CREATE TABLE t AS SELECT a, md5(a::text) AS b, repeat('x', 60) AS c FROM generate_series(1, 300000) a;
     CREATE TABLE keys AS SELECT (a * 7919::bigint % 300000)::int AS a FROM generate_series(1, 1000) a;
     CREATE INDEX ON t (a); VACUUM (FREEZE, ANALYZE) t; VACUUM (FREEZE, ANALYZE) keys; CHECKPOINT"

# explain QUERY: runs it on a warm catalog; sets what PostgreSQL read and wrote, and what the storage counted
explain() {
    local plan
    plan=$({
        echo '\o /dev/null'
        echo "EXPLAIN (ANALYZE, BUFFERS) $1;"
        echo '\o'
        echo "\\! $storage reset '$work/server'"
        echo "EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json) $1;"
        echo "\\! $storage show '$work/server' >'$work/shown'"
    } | psql -XAtq -v ON_ERROR_STOP=1)
    plan=$(sed -n '/^\[$/,$p' <<<"$plan")
    # of the topmost node, and of planning
    read_pages=$(awk -F': ' '/"Shared Read Blocks"/ && (++n == 1 || planning) { sum += $2 } /"Planning"/ { planning = 1 } END { print sum + 0 }' <<<"$plan")
    temporary_read=$(awk -F': ' '/"Temp Read Blocks"/ { print $2 + 0; exit }' <<<"$plan")
    temporary_written=$(awk -F': ' '/"Temp Written Blocks"/ { print $2 + 0; exit }' <<<"$plan")
    counted_read=$(($(value relation_seq_read_pages) + $(value relation_random_read_pages) + $(value relation_ahead_pages)))
    counted_temporary_read=$(($(value temporary_seq_read_pages) + $(value temporary_random_read_pages) + $(value temporary_ahead_pages)))
    counted_temporary_written=$(($(value temporary_seq_write_pages) + $(value temporary_random_write_pages)))
}

# counts_agree NAME: but for a few pages, of catalogs that are read before planning begins, and of a table that is scanned twice at the
# same time (17 counts a page as read when it is asked for, though the other scan has read it by then)
counts_agree() {
    note "$1: $counted_read pages read, $read_pages by the plan; temporary pages $counted_temporary_read and $counted_temporary_written"
    ok "$1: pages of relations" test "$counted_read" -ge $((read_pages - 20)) -a "$counted_read" -le $((read_pages + 20))
    is "$1: temporary pages read" "$counted_temporary_read" "$temporary_read"
    is "$1: temporary pages written" "$counted_temporary_written" "$temporary_written"
}

# mostly NAME SMALL LARGE: the first pattern is at most a tenth of the second, which there is
mostly() {
    note "$1: $2 $(value "$2"), $3 $(value "$3")"
    ok "$1" test $(($(value "$2") * 10)) -le "$(value "$3")" -a "$(value "$3")" -gt 100
}

explain 'SELECT count(*), min(c) FROM t'
counts_agree 'scan'
mostly 'a scan reads in sequence' relation_random_read_pages relation_seq_read_pages

explain 'SELECT count(c) FROM keys JOIN t USING (a)'
counts_agree 'index'
mostly 'an index leads to random reads' relation_seq_read_pages relation_random_read_pages

explain 'SELECT * FROM t ORDER BY b, c'
counts_agree 'sort'
mostly 'a sort writes in sequence' temporary_random_write_pages temporary_seq_write_pages

explain 'SELECT count(x.c || y.c) FROM t x JOIN t y USING (b)'
counts_agree 'hash join'
mostly 'a hash join in batches writes at random' temporary_seq_write_pages temporary_random_write_pages
mostly 'and reads them in sequence' temporary_random_read_pages temporary_seq_read_pages

# A backend that dies at any instruction leaves no lock behind.
psql -XAtq -c 'SELECT count(*) FROM t x, t y WHERE x.a <= 1000' >/dev/null 2>&1 &
client=$!
wait_until 30 "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%x.a <=%' AND state = 'active' AND pid <> pg_backend_pid()"
kill -9 "$(sql "SELECT pid FROM pg_stat_activity WHERE query LIKE '%x.a <=%' AND pid <> pg_backend_pid()")"
wait "$client"
ok 'the server comes back' wait_until 60 'SELECT count(*) = 300000 FROM t'

ok 'a restart below the script is on the storage' "${below[@]}" script/server.sh restart "$SERVER"
is 'that is two servers' "$($storage show "$work/server" | awk '$1 == "servers" { print $2 }')" 2
nothing_in_log 'PANIC|TRAP|asymmetric storage' 'nothing bad in the log'
