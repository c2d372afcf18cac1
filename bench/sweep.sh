#!/usr/bin/env bash
# Are there cliffs? Families of queries in which one parameter grows, by PostgreSQL alone and by gpuscan, side by side.
usage() {
    cat <<'TEXT'
Usage: bench/sweep.sh [OPTION]... [FAMILY]...

Loads a table of sales, one of items and one of ranges, and runs each family with each value of its parameter: how many rows pass,
how many groups, keys, values of a list, arms of a CASE, rows of a join's other side there are. Results are compared first.
The last column says
  jump     gpuscan's time has grown by more than 2.5 times and 3 ms from one value to the next, PostgreSQL's, which follows the work,
           by less than half of that
  slower   it is longer than PostgreSQL's by more than 5 % and 0.5 ms
and the last line counts both. With --offload auto (the default here) a plan may be PostgreSQL's own.

  --rows N          rows of the table of sales (default 2000000)
TEXT
    common_usage
}

rows=2000000
option() {
    case $1 in
        --rows) rows=$(number "$1" "${2:-}") taken=2 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
offload=auto reps=3 warmups=4
parse "$@"
((rows >= 10000)) || fail "--rows takes a number from 10000 on"
((draw_only == 0)) || fail "there is no figure to draw"
need_server

# id in order; k each of 0 .. rows - 1 once, in no order; u of 0 .. 999; skewed: half of the rows are 0, a quarter 1, ...
items=$((rows / 10))
fill sales "$rows" 'id bigint NOT NULL, k int NOT NULL, u int NOT NULL, skewed int NOT NULL, maybe int, amount numeric(12,2), price numeric, f float8, name text, at timestamp, doc jsonb' \
    "i, i * 2654435761 % $rows, i * 40503 % 1000, (20 - floor(log(2, (i * 48271 % 1048576 + 1)::numeric)))::int, nullif(i % 7, 3), i * 7919 % 1000000 / 100.0, i * 7919 % 100000 / 10.0, sqrt(i), 'item number ' || i * 2654435761 % $rows, timestamp '2020-01-01' + i * interval '37 seconds', jsonb_build_object('k', i % 100, 'tag', 't' || i % 1000)"
fill items "$items" 'id int NOT NULL, part int NOT NULL, kind int NOT NULL, title text' "i, i * 30011 % $items, i % 100, 'item number ' || i"
fill spans "$items" 'lo int NOT NULL, hi int NOT NULL, label int NOT NULL' "i * 10, i * 10 + 9, i % 50"
fill wide "$((rows / 10))" "$(seq -f 'c%g int' -s ', ' 1 40)" "$(seq -f 'i %% (7 + %g)' -s ', ' 1 40)"

# joined SEPARATOR FORMAT N: the numbers 1 .. N, printed so.
joined() { seq -f "$2" -s "$1" 1 "$3"; }

# chain N: so many joins.
chain() {
    local i
    for ((i = 1; i <= $1; ++i)); do
        printf 'JOIN items i%d ON i%d.id = sales.k ' "$i" "$i"
    done
}

points=0 jumps=0 slower=0 wrong=0
# sweep FAMILY 'VALUES' QUERY: the query for each value, which stands for :x in it, and its multiples for :list, :arms,
# :ors, :sums, :keys, :likes; :chain is so many joins.
sweep() {
    local family=$1 x query postgres gpuscan marks before_postgres='' before_gpuscan=''
    ((${#arguments[@]} == 0)) || [[ " ${arguments[*]} " == *" $family "* ]] || return 0
    for x in $2; do
        query=$3
        query=${query//:list/$([[ $3 != *:list* ]] || joined , '%.0f' "$x" | awk -F, -v OFS=, -v n="$rows" '{ for (i = 1; i <= NF; ++i) $i = $i * 7919 % n } 1')}
        query=${query//:arms/$([[ $3 != *:arms* ]] || joined ' ' 'WHEN u = %.0f THEN k %% 10' "$x")}
        query=${query//:ors/$([[ $3 != *:ors* ]] || joined ' OR ' 'u = 3 * %.0f' "$x")}
        query=${query//:sums/$([[ $3 != *:sums* ]] || joined ', ' 'sum(c%.0f)' "$x")}
        query=${query//:keys/$([[ $3 != *:keys* ]] || joined ', ' 'c%.0f' "$x")}
        query=${query//:chain/$([[ $3 != *:chain* ]] || chain "$x")}
        query=${query//:likes/$([[ $3 != *:likes* ]] || joined ' OR ' "name LIKE '%%%.0f77%%'" "$x")}
        query=${query//:x/$x}
        same "$query" || { note "$family, $x: another result than PostgreSQL's"; wrong=1; }
        postgres=$(reps=1 warmups=1 on_postgres "$query")
        gpuscan=$(on_device "$query")
        marks=$(awk -v p="$postgres" -v g="$gpuscan" -v p0="$before_postgres" -v g0="$before_gpuscan" 'BEGIN {
            if (g0 != "" && g > 2.5 * g0 && g > g0 + 3 && p < p0 * g / g0 / 2) printf "jump "
            if (g > p * 1.05 && g > p + 0.5) printf "slower" }')
        row "$family" "$x" "$postgres" "$gpuscan" "$(ratio "$postgres" "$gpuscan")" "$marks"
        points=$((points + 1))
        [[ $marks != *jump* ]] || jumps=$((jumps + 1))
        [[ $marks != *slower* ]] || slower=$((slower + 1))
        before_postgres=$postgres before_gpuscan=$gpuscan
    done
}

machine
start_table family:22 x:10 postgres_ms gpuscan_ms ratio:8 marks
n=$rows
# how many rows pass
sweep filter_scattered "0 $((n / 1000)) $((n / 100)) $((n / 10)) $((n / 2)) $n" 'SELECT count(*), sum(amount) FROM sales WHERE k < :x'
sweep filter_in_order "0 $((n / 1000)) $((n / 100)) $((n / 10)) $((n / 2)) $n" 'SELECT count(*), sum(amount) FROM sales WHERE id <= :x'
sweep filter_plain_numeric '0 10 100 1000 5000 10000' 'SELECT count(*), sum(price) FROM sales WHERE price < :x'
sweep filter_text_prefix '123456 12345 1234 123 12 1' "SELECT count(*), sum(u) FROM sales WHERE name LIKE 'item number :x%'"
sweep filter_jsonb '0 1 10 50 100' "SELECT count(*), sum(u) FROM sales WHERE (doc ->> 'k')::int < :x"
sweep rows_delivered '1 10 1000 10000 100000' 'SELECT id, k, amount, name FROM sales WHERE k < :x'
# lists and arms
sweep in_list '1 2 5 10 20 50 100 250 1000' 'SELECT count(*), sum(amount) FROM sales WHERE k IN (:list)'
sweep in_list_bigint '1 5 20 100 250' 'SELECT count(*), sum(amount) FROM sales WHERE id IN (:list)'
sweep ors '1 5 20 64' 'SELECT count(*), sum(amount) FROM sales WHERE :ors'
sweep case_arms '1 4 16 64 128' 'SELECT sum(CASE :arms ELSE 7 END) FROM sales'
sweep likes '1 2 4 8' 'SELECT count(*) FROM sales WHERE :likes'
# groups
sweep groups_dense '1 10 100 1000 10000 100000 1000000' 'SELECT count(*), sum(c), max(s) FROM (SELECT k % :x, count(*) c, sum(u) s FROM sales GROUP BY 1) x'
sweep groups_sparse '1 10 100 1000 10000 100000 1000000' 'SELECT count(*), sum(c), max(s) FROM (SELECT (k % :x)::bigint * 1000003, count(*) c, sum(u) s FROM sales GROUP BY 1) x'
sweep groups_text '1 10 100 1000 10000 100000' "SELECT count(*), sum(c) FROM (SELECT 'x' || k % :x, count(*) c FROM sales GROUP BY 1) x"
sweep groups_delivered '10 1000 10000 100000 500000' 'SELECT k % :x AS g, count(*), sum(amount) FROM sales GROUP BY 1'
sweep groups_skewed '2 5 10 20' 'SELECT least(skewed, :x), count(*), sum(amount) FROM sales GROUP BY 1'
sweep keys '1 2 4 8 12 16 20' 'SELECT :keys, count(*) FROM wide WHERE c40 < 3 GROUP BY :keys ORDER BY count(*) DESC, :keys LIMIT 5'
sweep aggregates '1 4 8 16 32 40' 'SELECT c1, :sums FROM wide GROUP BY c1'
sweep count_distinct '10 1000 100000 1000000' 'SELECT count(DISTINCT k % :x), count(*) FROM sales'
sweep count_distinct_grouped '10 1000 100000 1000000' 'SELECT u % 10, count(DISTINCT k % :x), sum(amount) FROM sales GROUP BY 1'
sweep top_n '1 10 100 1000 10000 100000' 'SELECT id, amount FROM sales ORDER BY amount DESC, id LIMIT :x'
sweep top_groups '1 10 100 1000 10000' 'SELECT k % 100000 AS g, sum(amount) FROM sales GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT :x'
sweep having '1 10 100 1000 10000' 'SELECT k % 100000 AS g, count(*) FROM sales GROUP BY 1 HAVING sum(u) % 10000 < :x'
# joins
sweep join_selective '1 10 50 100' 'SELECT count(*), sum(amount) FROM sales JOIN items ON items.id = sales.k WHERE kind < :x'
sweep join_build_rows "10 100 1000 10000 $items" 'SELECT count(*), sum(amount) FROM sales JOIN items ON items.id = sales.k WHERE items.id <= :x'
sweep join_scattered_keys "10 100 1000 10000 $items" 'SELECT count(*), sum(amount) FROM sales JOIN items ON items.part = sales.k WHERE items.id <= :x'
sweep join_sparse_keys "10 1000 10000 $items" 'SELECT count(*), sum(amount) FROM sales JOIN items ON items.id::bigint * 1000003 = sales.k::bigint * 1000003 WHERE items.id <= :x'
sweep join_text "10 1000 10000 $items" 'SELECT count(*), sum(amount) FROM sales JOIN items ON title = name WHERE items.id <= :x'
sweep join_duplicates '1 2 5 10 20' 'SELECT count(*), sum(amount) FROM sales JOIN items ON items.id % (100 / :x) = sales.u % 100 WHERE items.id <= 100'
sweep join_groups '10 100 1000 10000 100000' 'SELECT count(*), sum(s) FROM (SELECT items.id % :x AS g, sum(amount) s FROM sales JOIN items ON items.id = sales.k GROUP BY 1) x'
sweep left_join '1 10 50 100' 'SELECT count(*), count(items.id), sum(amount) FROM sales LEFT JOIN items ON items.id = sales.k AND kind < :x'
sweep semi_join '1 10 50 100' 'SELECT count(*), sum(amount) FROM sales WHERE k IN (SELECT id FROM items WHERE kind < :x)'
sweep anti_join '1 10 50 100' 'SELECT count(*), sum(amount) FROM sales WHERE NOT EXISTS (SELECT FROM items WHERE items.id = k AND kind < :x)'
sweep join_ranges '10 100 1000 10000' 'SELECT count(*), sum(label) FROM sales JOIN spans ON k BETWEEN lo AND hi WHERE lo <= :x * 10 AND sales.id <= 20000'
sweep joins '1 2 3 4 6' 'SELECT count(*), sum(amount) FROM sales :chain WHERE i1.kind < 10 * :x'
# sorts, windows, time
sweep time_buckets '10 60 3600 86400 604800' "SELECT count(*), sum(c) FROM (SELECT floor(extract(epoch FROM at) / :x) * :x AS b, count(*) c FROM sales GROUP BY 1) x"
sweep window_partitions '1 10 1000 100000' 'SELECT sum(r), count(*) FROM (SELECT rank() OVER (PARTITION BY k % :x ORDER BY amount) r FROM sales) x'
sweep correlated '10 1000 10000 100000' 'SELECT count(*) FROM items WHERE id <= 200 AND kind > 1.2 * (SELECT avg(kind) FROM items i WHERE i.part % :x = items.part % :x)'
sweep set_operations '10 1000 100000' 'SELECT count(*) FROM (SELECT k % :x FROM sales INTERSECT SELECT id FROM items) x'
drop_tables
echo "written: $csv"
echo "$points points, $jumps jumps, $slower slower"
exit "$wrong"
