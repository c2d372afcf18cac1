#!/usr/bin/env bash
# What does gpuscan gain on the nodes of a cluster? A star schema over three nodes by postgres_fdw, queries whose joins and aggregations
# the nodes do and queries for whose rows the coordinator asks; nodes and coordinator with gpuscan off and on.
usage() {
    cat <<'TEXT'
Usage: bench/scale-out.sh [OPTION]...

Starts four private servers below /tmp, loads them (bench/scale-out/*.sql) and removes them. `push` says what the nodes do: all joins and
the aggregation, or only the joins, or a scan. `same` compares answers.

  --rows N          rows of the fact table on each node (default 2000000)
  --rounds N        whole repetitions, gpuscan off and on in turn (default 3); the last line is the ratio of the sums of each
  --fetch-size N    rows that postgres_fdw asks for at once (default: its own, 100)
  --options TEXT    of the sessions on the nodes (default '-c default_transaction_read_only=on -c cursor_tuple_fraction=1')
  --estimates NAME  use_remote_estimate: on or off (default on)
TEXT
    common_usage
}

rows=2000000 rounds=3 fetch_size=100 options='-c default_transaction_read_only=on -c cursor_tuple_fraction=1' estimates=on
option() {
    case $1 in
        --rows) rows=$(number "$1" "${2:-}") taken=2 ;;
        --rounds) rounds=$(number "$1" "${2:-}") taken=2 ;;
        --fetch-size) fetch_size=$(number "$1" "${2:-}") taken=2 ;;
        --options) options=$2 taken=2 ;;
        --estimates) estimates=$2 taken=2 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse "$@"
cd "$bench/.."
# shellcheck source=script/nodes.bash
. script/nodes.bash
trap 'exit 130' INT TERM HUP
at_exit+=('stop_nodes bench/scale-out >&2 || status=1')
start_nodes --demo 'gpuscan.device = host' || fail 'no servers'
for n in 1 2 3; do
    on_node "$n" psql -Xq -v ON_ERROR_STOP=1 -v node="$n" -v rows="$rows" -f bench/scale-out/node.sql || fail "cannot load node $n"
done
for mode in off "$offload"; do
    on_node 0 psql -Xqc "CREATE DATABASE \"$mode\""
    on_node 0 psql -XAtqd "$mode" -v ON_ERROR_STOP=1 -v nodes="$nodes" -v options="-c gpuscan.offload=$mode $options" \
        -f bench/scale-out/coordinator.sql || fail 'cannot make the foreign tables'
    for n in 1 2 3; do
        on_node 0 psql -XAtqd "$mode" -c "ALTER SERVER node$n OPTIONS (ADD fetch_size '$fetch_size', SET use_remote_estimate '$estimates')"
    done
done
# From here on the session that is measured is the coordinator's.
# shellcheck disable=SC1090
. "$nodes/0.env"

star='sales JOIN customer USING (node, customer) JOIN product USING (node, product)'
names=(groups star star_selective top_customers rows_joined distinct)
queries=(
    "SELECT sum(n), sum(s) FROM (SELECT node, quantity, count(*) n, sum(price * (1 - discount)) s FROM sales GROUP BY node, quantity) x"
    "SELECT nation, category, sum(s), sum(n) FROM (SELECT node, nation, category, sum(quantity * price) s, count(*) n FROM $star GROUP BY node, nation, category) x GROUP BY nation, category"
    "SELECT nation, sum(s) FROM (SELECT node, nation, sum(quantity * price) s FROM $star WHERE brand = 'brand 3' AND sold >= '2024-01-01 UTC' GROUP BY node, nation) x GROUP BY nation"
    "SELECT node, customer, sum(price) s FROM sales GROUP BY node, customer HAVING count(*) > 10 ORDER BY s DESC, node, customer LIMIT 10"
    "SELECT segment, count(*), sum(price) FROM $star WHERE brand = 'brand 3' GROUP BY segment"
    "SELECT count(*), sum(price), count(DISTINCT customer) FROM sales WHERE sold >= '2025-12-01 UTC'"
)

pushed() {
    local plan
    plan=$(PGDATABASE=$offload sql "EXPLAIN (VERBOSE, COSTS OFF) $1" "$offload" | grep 'Relations:' || true)
    case $plan in
        *Aggregate*) echo aggregation ;;
        *JOIN*) echo joins ;;
        *) echo scan ;;
    esac
}
# The coordinator's answers, from the database whose sessions on the nodes have gpuscan off or on.
answer() { PGDATABASE=$1 sql "$2" "$1" | sort | sha256sum; }

printf '# %s: %s cores, %s; three nodes of %s rows each, fetch_size %s, use_remote_estimate %s, %s; median of %s after %s warm-ups\n' \
    "$(date +%F)" "$(nproc)" "$(sql "SELECT split_part(version(), ' on ', 1)")" "$rows" "$fetch_size" "$estimates" "$options" "$reps" "$warmups"
wrong=0
start_table round query:16 push:12 postgres_ms:12 gpuscan_ms:12 ratio same
ratios=()
for ((round = 1; round <= rounds; ++round)); do
    sums=(0 0)
    for i in "${!queries[@]}"; do
        query=${queries[i]} same=yes
        [[ $(answer off "$query") == "$(answer "$offload" "$query")" ]] || same=no wrong=1
        postgres=$(PGDATABASE=off times off "$query" | median)
        gpuscan=$(PGDATABASE=$offload times "$offload" "$query" | median)
        row "$round" "${names[i]}" "$(pushed "$query")" "$postgres" "$gpuscan" "$(ratio "$postgres" "$gpuscan")" "$same"
        sums=("$(awk "BEGIN { print ${sums[0]} + $postgres }")" "$(awk "BEGIN { print ${sums[1]} + $gpuscan }")")
    done
    ratios+=("$(ratio "${sums[0]}" "${sums[1]}")")
done
echo "sums of the rounds, ratio: ${ratios[*]}"
exit "$wrong"
