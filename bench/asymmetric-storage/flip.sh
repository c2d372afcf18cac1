#!/usr/bin/env bash
# A plan that the asymmetry of reads and writes flips: the same query, planned by PostgreSQL's two page costs and by gpuscan's five,
# timed on a storage that writes at random as it reads at random, and on one where random writes are dear. The page costs are the
# storage's latencies, in sequential reads. No device takes part (gpuscan.device = none): both plans are PostgreSQL's.
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
storage=$bench/asymmetric-storage/storage.sh
reps=5 warmups=1

usage() {
    cat <<'TEXT'
Usage: bench/asymmetric-storage/flip.sh [OPTION]...

Starts a private server (script/server.sh) on a storage with chosen latencies (storage.sh), makes two tables of ROWS rows, and joins
them in 5 MB of work_mem. PostgreSQL's costs choose a hash join, which writes a page to one batch and then one to another; sorts
write their runs in sequence.

  --rows N            rows of each table (default 420000)
  --seq-read US, --random-read US, --seq-write US
                      latencies of a page of 8 kB on both storages (default 20, 40, 20)
  --random-write US   on the storage whose random writes are dear (default 400; on the other one as --random-read)
  --pg MAJOR          PostgreSQL's version (default: the installed one)
  --reps N            runs of each plan on each storage; their median counts (default 5)
  --csv FILE          where the table is stored (default bench/results/flip.csv)
  --help              this text

Columns: the storage; the costs that the plan was made with; its join; PostgreSQL's estimate by these costs; median time; pages of
temporary files by the pattern that the storage saw; and, on each storage, which plan its own costs choose.
Exit status: 0; 1 if the costs of the storage with dear writes choose no other plan; 2 for any other error.
TEXT
}

rows=420000 seq_read=20 random_read=40 seq_write=20 random_write=400 pg='' csv=$bench/results/flip.csv
parse_options rows:,seq-read:,random-read:,seq-write:,random-write:,pg:,reps:,csv: "$@"
set -- "${words[@]}"
while [[ $1 != -- ]]; do
    variable=${1#--}
    printf -v "${variable//-/_}" %s "$2"
    shift 2
done
(($# == 1)) || fail "options only; see --help"
need psql awk

work=$(mktemp -d)
chmod 755 "$work"
SERVER=''
remove_all() {
    [[ -z $SERVER ]] || "$bench/../script/server.sh" stop "$SERVER" || true
    rm -rf "$work"
}
at_exit+=(remove_all)

environment=$(PG=${pg:-${PG:-}} "$storage" --state "$work/storage" -- "$bench/../script/server.sh" start 'shared_buffers = 16MB' \
    'autovacuum = off' 'bgwriter_lru_maxpages = 0' 'gpuscan.device = none') || fail 'no server'
eval "$environment"
count_hidden
settings=(max_parallel_workers_per_gather=0 work_mem=5MB hash_mem_multiplier=1) schema=public
PGOPTIONS=$(session_options)
export PGOPTIONS
# Two keys that are the same numbers in another order.
psql -XAtq -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION gpuscan' \
    -c "CREATE TABLE orders AS SELECT i AS id, repeat(md5(i::text), 5) AS note FROM generate_series(0, $rows - 1) i" \
    -c "CREATE TABLE items AS SELECT (i * 104729::bigint % $rows)::int AS order_id, repeat(md5((-i)::text), 5) AS note FROM generate_series(0, $rows - 1) i" \
    -c 'VACUUM (FREEZE, ANALYZE) orders' -c 'VACUUM (FREEZE, ANALYZE) items' -c CHECKPOINT || fail 'cannot make the tables'
query='SELECT count(o.note), max(i.note) FROM orders o JOIN items i ON i.order_id = o.id'

in_reads() { awk -v us="$1" -v unit="$seq_read" 'BEGIN { print us / unit }'; }

# PostgreSQL's own two suit a storage that writes as it reads.
own="SET seq_page_cost = 1; SET random_page_cost = $(in_reads "$random_read")"
declare -A setups=(
    [postgres]=$own
    [asymmetric]="$own; SET gpuscan.seq_write_page_cost = $(in_reads "$seq_write");
        SET gpuscan.random_write_page_cost = $(in_reads "$random_write");
        SET gpuscan.hashagg_write_page_cost = $(in_reads "$random_write")"
)

join_of() { sed -nE 's/.*((Hash|Merge) Join|Nested Loop).*\(cost=.*/\1/p' <<<"$1" | head -n 1; }
cost_of() { sed -nE '1s/.*\.\.([0-9.]+) rows.*/\1/p' <<<"$1"; }

joins=()
start_table storage:9 costs:11 join:12 cost:11 ms:10 seq_write_pages random_write_pages seq_read_pages random_read_pages chosen
for which in symmetric asymmetric; do
    latency=$random_read
    [[ $which == symmetric ]] || latency=$random_write
    "$storage" set "$work/storage" --seq-read "$seq_read" --random-read "$random_read" --seq-write "$seq_write" --random-write "$latency"
    for costs in postgres asymmetric; do
        setup=${setups[$costs]}
        plan=$(psql -XAtq -c "$setup" -c "EXPLAIN $query")
        joins+=("$(join_of "$plan")")
        [[ $costs == postgres || ${joins[-1]} != "${joins[-2]}" ]] || {
            note "these costs choose the ${joins[-1]}, too"
            exit 1
        }
        ms=$(times off "$query" "$setup" | median)
        "$storage" reset "$work/storage"
        psql -XAtq -c "$setup" -c "$query" >/dev/null
        "$storage" show "$work/storage" >"$work/shown"
        pages() { awk -v name="temporary_$1_pages" '$1 == name { print $2 }' "$work/shown"; }
        chosen=no
        if [[ $which-$costs == symmetric-postgres || $which == "$costs" ]]; then chosen=yes; fi
        row "$which" "$costs" "${joins[-1]}" "$(cost_of "$plan")" "$ms" "$(pages seq_write)" "$(pages random_write)" \
            "$(pages seq_read)" "$(pages random_read)" "$chosen"
    done
done
