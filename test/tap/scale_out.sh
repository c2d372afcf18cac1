#!/usr/bin/env bash
# postgres_fdw over three nodes: partitions of a star schema on each, joins and aggregations pushed to them. The coordinator's database
# `device` has all of it on devices, `plain` the same tables without gpuscan: same answers and errors, by cursors, after writes, in one
# snapshot of each node, and when a node's device process dies.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"
# shellcheck source=script/nodes.bash
. script/nodes.bash

at_exit+=("stop_nodes tap/scale_out | sed 's/^/# /'; result \"\${PIPESTATUS[0]}\" 'nothing hidden on any node'")
start_nodes 'gpuscan.device = host' 'max_parallel_workers_per_gather = 0' || exit 1
for n in 1 2 3; do
    on_node "$n" psql -Xq -v ON_ERROR_STOP=1 -v node="$n" -v rows=20000 -f bench/scale-out/node.sql || exit 1
done

# on DATABASE STATEMENTS: in a session of the coordinator
on() {
    on_node 0 psql -XAtq -v ON_ERROR_STOP=1 -d "$1" <<<"$2"
}
# database NAME OFFLOAD
database() {
    on postgres "CREATE DATABASE $1; ALTER DATABASE $1 SET gpuscan.offload = $2" || exit 1
    on_node 0 psql -XAtq -v ON_ERROR_STOP=1 -d "$1" -v nodes="$nodes" -f bench/scale-out/coordinator.sql \
        -v options="-c gpuscan.offload=$2 -c default_transaction_read_only=on -c cursor_tuple_fraction=1 -c log_statement=all" || exit 1
    on "$1" "CREATE TABLE continent AS SELECT 'nation ' || i AS nation, 'continent ' || i % 5 AS continent FROM generate_series(0, 20) i;
             VACUUM (FREEZE, ANALYZE) continent"
}
database plain off
database device force
# What the nodes' devices have answered, and a way to write to node 2.
on plain "CREATE SERVER writer FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$nodes/node2', dbname 'postgres');
          CREATE USER MAPPING FOR postgres SERVER writer OPTIONS (user 'postgres');
          CREATE SCHEMA writer; IMPORT FOREIGN SCHEMA public LIMIT TO (sales) FROM SERVER writer INTO writer;
          SELECT format('CREATE SCHEMA node%s', n), format('IMPORT FOREIGN SCHEMA gpuscan LIMIT TO (stat) FROM SERVER node%s INTO node%1\$s', n)
              FROM generate_series(1, 3) n \\gexec" || exit 1
answered() {
    on plain "SELECT fragments - fallbacks FROM node1.stat; SELECT fragments - fallbacks FROM node2.stat; SELECT fragments - fallbacks FROM node3.stat"
}

# check NAME QUERY PATTERN...: the same answers, each node's device has answered for the second, and each node's part of the plan has
# the patterns
check() {
    local name=$1 query=$2 before after plan wanted got pattern status=0
    shift 2
    wanted=$(on plain "$query")
    before=$(answered)
    got=$(on device "$query")
    after=$(answered)
    is "$name: answers" "$got" "${wanted:-an answer}"
    is "$name: on each device" "$(paste <(echo "$before") <(echo "$after") | awk '$2 > $1 { n++ } END { print n + 0 }')" 3
    plan=$(on device "EXPLAIN (VERBOSE, COSTS OFF) $query")
    for pattern; do
        [ "$(grep -cE "$pattern" <<<"$plan")" -ge 3 ] || status=1
    done
    result "$status" "$name: pushed to the nodes"
    [ "$status" = 0 ] || sed 's/^/#   /' <<<"$plan"
}
async='Async Foreign Scan'
aggregate='Relations: Aggregate on'
star='sales JOIN customer USING (node, customer) JOIN product USING (node, product)'

check 'groups by the partition key' "SELECT node, nation, category, count(*), sum(quantity * price), max(sold) FROM $star GROUP BY node, nation, category ORDER BY 1, 2, 3" \
    "$async" "$aggregate .* JOIN .* JOIN"
check 'groups of such groups' "SELECT nation, sum(s), sum(n) FROM (SELECT node, nation, sum(quantity * price) s, count(*) n FROM $star WHERE brand IN ('brand 1', 'brand 2') GROUP BY node, nation) x GROUP BY nation ORDER BY 1" \
    "$async" "$aggregate .* JOIN .* JOIN"
check 'HAVING' "SELECT node, product, sum(price) FROM sales GROUP BY node, product HAVING count(*) > 9 AND sum(price) > 12000 ORDER BY 1, 2" \
    "$async" "$aggregate" 'Remote SQL: .* HAVING'
check 'ORDER BY with LIMIT' "SELECT node, customer, sum(quantity * price) FROM sales GROUP BY node, customer ORDER BY 3 DESC, 1, 2 LIMIT 10" "$async" "$aggregate"
check 'NULLs among the keys' "SELECT node, segment, product, count(*), count(discount), avg(discount), min(discount) FROM sales JOIN customer USING (node, customer) GROUP BY node, segment, product ORDER BY 1, 2, 3" \
    "$async" "$aggregate .* JOIN"
check 'count(DISTINCT) of a node' "SELECT node, count(DISTINCT customer), count(DISTINCT product) FROM sales GROUP BY node ORDER BY 1" "$async" "$aggregate"
check 'timestamps' "SELECT node, count(*), min(sold), max(sold), sum(price) FROM sales WHERE sold >= '2023-01-01 UTC' AND sold < '2023-03-01 UTC' GROUP BY node ORDER BY 1" \
    "$async" "$aggregate" 'Remote SQL: .* WHERE .*sold'
check 'numeric' "SELECT node, quantity, sum(price * (1 - discount)), avg(price), sum(price) FILTER (WHERE discount IS NULL) FROM sales GROUP BY node, quantity ORDER BY 1, 2" \
    "$async" "$aggregate" 'Remote SQL: .* FILTER'
check 'an outer join' "SELECT node, brand, count(*), count(category) FROM sales LEFT JOIN product USING (node, product) GROUP BY node, brand ORDER BY 1, 2" \
    "$async" "$aggregate .* LEFT JOIN"
# Groups that span partitions are the coordinator's; their rows have been filtered and joined by the nodes.
check 'groups across nodes' "SELECT segment, count(*), sum(price) FROM $star WHERE brand = 'brand 3' GROUP BY segment ORDER BY 1" 'Relations: .* JOIN .* JOIN'
check 'count(DISTINCT) across nodes' 'SELECT count(*), sum(price), count(DISTINCT customer) FROM sales WHERE discount IS NULL' \
    "$async" 'Remote SQL: .* WHERE .*discount IS NULL'
check 'a table of the coordinator' "SELECT continent, count(*), sum(price) FROM $star JOIN continent USING (nation) WHERE brand = 'brand 3' GROUP BY continent ORDER BY 1" \
    'Relations: .* JOIN .* JOIN'
check 'rows in order' 'SELECT * FROM sales WHERE quantity = 7 ORDER BY id' 'Remote SQL: .* ORDER BY id'
check 'no row of any partition' 'SELECT count(*), sum(price) FROM sales WHERE quantity > 1000' 'Remote SQL: .* WHERE'
check 'a partition without rows' 'SELECT count(*), max(node), sum(price) FILTER (WHERE node = 4) FROM sales' 'Remote SQL'
! on device "EXPLAIN (VERBOSE) SELECT segment, count(*) FROM $star GROUP BY segment" | grep "$aggregate"
result $? 'no node aggregates what spans partitions'

# The cursor, its pieces, and the plan on the node.
ok 'a cursor' grep -q 'DECLARE c[0-9]* CURSOR FOR' "$nodes/node3/server.log"
ok 'in pieces' grep -q 'FETCH 100 FROM c' "$nodes/node3/server.log"
remote=$(on device "EXPLAIN (VERBOSE, COSTS OFF) SELECT node, sum(price) FROM sales GROUP BY node" | sed -n 's/.*Remote SQL: //p' | head -n 1)
is 'the remote query' "$remote" 'SELECT node, sum(price) FROM public.sales GROUP BY 1'
on_node 1 sql "SET gpuscan.offload = force; EXPLAIN $remote" | grep -q 'Custom Scan (GpuScan)'
result $? 'on the node it shows the device'
is 'the coordinator goes on where it stopped' "$(on device "BEGIN; DECLARE c CURSOR FOR SELECT id FROM sales WHERE node = 2 ORDER BY id; MOVE 150 IN c; FETCH 2 FROM c")" \
    "$(on plain 'SELECT id FROM sales WHERE node = 2 ORDER BY id OFFSET 150 LIMIT 2')"

# Errors: from the device's rows, by the words of PostgreSQL.
error_of() {
    on "$1" "\\set VERBOSITY verbose
        SELECT node, sum($2) FROM sales GROUP BY node" 2>&1 | grep -v '^LOCATION'
}
for expression in '10 / (id % 7 - 3)' 'quantity * 2000000000' '(product || price)::int'; do
    is "error of $expression" "$(error_of device "$expression")" "$(error_of plain "$expression")"
    ok '... is one' grep -q 'ERROR:  22' <<<"$(error_of device "$expression")"
done

# Writes through another server: this one's sessions read only.
sums="SELECT node, count(*), sum(price), sum(quantity) FROM sales GROUP BY node ORDER BY node"
before=$(on device "$sums")
on plain 'UPDATE writer.sales SET price = price + 1, quantity = quantity + 3 WHERE id % 1000 = 2; DELETE FROM writer.sales WHERE id % 5000 = 12'
check 'after UPDATE and DELETE' "$sums" "$aggregate"
ok 'which have changed something' test "$before" != "$(on device "$sums")"
ok 'sessions that only read refuse' grep -q 'read-only transaction' <<<"$(on device 'UPDATE sales SET price = 0 WHERE node = 1' 2>&1)"

# One snapshot of each node, from its first query to the end of the transaction, whatever the coordinator's isolation level.
one='SELECT count(*), sum(price) FROM sales WHERE node = 2;'
before=$(on plain "$one")
seen=$(on device "BEGIN; $one
    \\! psql -XAtqd plain -c \"INSERT INTO writer.sales SELECT 2, i, 2, NULL, now(), 1, 0.5, NULL FROM generate_series(1, 7) i\"
    $one COMMIT; $one")
after=$(on plain "$one")
is 'one snapshot for a transaction' "$seen" "$before
$before
$after"
ok '... and new rows after it' test "$before" != "$after"

# A node's device process dies: what a cursor has begun goes on, the next query is answered, and later ones by a device again.
pid=$(on_node 2 sql "SELECT pid FROM gpuscan.devices WHERE kind = 'host'")
rows='SELECT id, price FROM sales WHERE quantity < 20 ORDER BY id'
is 'a cursor over the death of a process' "$(on device "BEGIN; DECLARE c CURSOR FOR $rows; FETCH 1 FROM c;
    \\! kill -9 $pid
    FETCH ALL FROM c")" "$(on plain "$rows")"
is 'the next query' "$(on device "$sums")" "$(on plain "$sums")"
on_node 2 wait_until 30 "SELECT state = 'ready' AND pid <> $pid FROM gpuscan.devices WHERE kind = 'host'"
result $? 'the process is back'
check 'by each device again' "$sums" "$aggregate"
