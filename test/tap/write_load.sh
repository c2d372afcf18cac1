#!/usr/bin/env bash
# The cache stays useful while others write: with 200 scattered single-row updates a second on a table of a million
# rows, and with as many foreign-key locks, a query decodes fewer than 5 % of its pages again.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'shared_buffers = 512MB' 'gpuscan.device = host' 'autovacuum = off'
sql "CREATE TABLE big (id int PRIMARY KEY, v int8, n numeric(10,2), t text, pad text) WITH (fillfactor = 90);
     INSERT INTO big SELECT i, i, i / 4.0, 't' || i % 50, repeat('p', 80) FROM generate_series(1, 1000000) i;
     VACUUM (FREEZE, ANALYZE) big"
pages=$(sql "SELECT pg_relation_size('big') / 8192")
query='SELECT t, count(*), sum(v), sum(n) FROM big GROUP BY t'

# pages_of PROPERTY: of the last answer
pages_of() {
    sed -nE "s/.*\"$1\": ([0-9]+).*/\1/p" "$tap_files/plan.json" | head -n 1
}
ask() {
    sql "SET gpuscan.offload = force; EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) $query" >"$tap_files/plan.json"
}

# load NAME SCRIPT: the script runs 200 times a second for 20 s, VACUUM every two seconds, two queries a second
load() {
    local name=$1 worst_decoded=0 worst_row=0 queries=0 answered=0 decoded row
    echo "$2" >"$tap_files/$name.sql"
    ask
    pgbench -n -f "$tap_files/$name.sql" -c 4 -j 1 -R 200 -T 20 >"$tap_files/$name.log" 2>&1 &
    local writers=$!
    local end=$((SECONDS + 19)) next=$SECONDS
    while [ "$SECONDS" -lt "$end" ]; do
        if [ "$SECONDS" -ge "$next" ]; then
            sql 'VACUUM big'
            next=$((SECONDS + 2))
        fi
        ask
        queries=$((queries + 1))
        decoded=$(pages_of 'Pages Decoded') row=$(pages_of 'Pages Rowwise')
        [ -z "$decoded" ] || answered=$((answered + 1))
        [ "${decoded:-0}" -le "$worst_decoded" ] || worst_decoded=$decoded
        [ "${row:-0}" -le "$worst_row" ] || worst_row=$row
        sleep 0.4
    done
    wait "$writers"
    result $? "$name: writers"
    note "$name: $pages pages, $queries queries; at most $worst_decoded pages decoded again, $worst_row read row by row;$(grep -E '^tps' "$tap_files/$name.log" | sed 's/tps =//; s/(.*//') transactions a second"
    ok "$name: there were queries" test "$queries" -ge 5
    is "$name: all of them were answered by the device" "$answered" "$queries"
    ok "$name: fewer than 5 % of the pages were decoded again" test $((worst_decoded * 100)) -lt $((pages * 5))
    ok "$name: fewer than 10 % were read row by row" test $((worst_row * 100)) -lt $((pages * 10))
    is "$name: the answer" "$(sql "SELECT check_query('$query')")" 'ok (50 rows)'
}

load updates '\set id random(1, 1000000)
UPDATE big SET v = v + 1 WHERE id = :id;'
load locks '\set id random(1, 1000000)
SELECT 1 FROM big WHERE id = :id FOR KEY SHARE;'
