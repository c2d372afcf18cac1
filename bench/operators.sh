#!/usr/bin/env bash
# The operators of relational algebra against the device's copy bandwidth: Diamos, Wu, Lele, Wang, Yalamanchili, "Relational
# Algorithms for Multi-Bulk-Synchronous Processors" (2012), section 5, figure 9 (there 8,192 to 16 M tuples, shares of 57 to
# 99 % on an NVIDIA C2050).
usage() {
    cat <<'TEXT'
Usage: bench/operators.sh [OPTION]...

Runs select, project, product, the set operations and join through SQL over relations of several sizes, and prints
for each the time of PostgreSQL, of gpuscan, and of the device's kernels alone, and which share of the device's measured
copy bandwidth the kernels reach. As in the paper every byte of the input relations counts once; the result is consumed by
an aggregate on the device (the paper writes it to memory and counts that too).

An operator can often be said in several ways; each form is a line of its own. "device" says whether gpuscan ran it ("yes"),
only handed the relations' rows to an operator of PostgreSQL's ("rows"), or left it to PostgreSQL altogether ("no"): the share
is shown for the first, PostgreSQL's time (of one run after the warm-ups) for all.

  --rows LIST       rows of the relations (default 8192,65536,524288,4194304,16777216; powers of two)
  --only LIST       some of the operators: select,project,product,intersect,union,difference,join
  --copy GBPS       the copy bandwidth, instead of measuring it by bench/copy_bandwidth
  --no-postgres     leave PostgreSQL's own times and the comparison of the results out
TEXT
    common_usage
}

rows=8192,65536,524288,4194304,16777216 only='' copy='' with_postgres=1
option() {
    case $1 in
        --rows) rows=${2:-} taken=2 ;;
        --only) only=,${2:-}, taken=2 ;;
        --copy) copy=${2:-} taken=2 ;;
        --no-postgres) with_postgres=0 taken=1 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse "$@"
((${#arguments[@]} == 0)) || fail "what is '${arguments[0]}'? See --help"

draw_figure() {
    draw operators <<'GNUPLOT'
set title 'Relational operators: share of the copy bandwidth, kernels alone'
set xlabel 'rows of each relation'
set ylabel '% of copy bandwidth'
set logscale x 2
set yrange [0:*]
forms = system("awk -F, 'NR > 1 && $4 == \"yes\" { print $1 \":\" $2 }' " . csv . " | sort -u")
plot for [f in forms] sprintf("< awk -F, 'BEGIN { print \"rows,share\" } $1 \":\" $2 == \"%s\" && $4 == \"yes\" { print $3 \",\" $9 }' %s", f, csv) \
    using 1:2 with linespoints title f
GNUPLOT
}

if ((draw_only)); then draw_figure; exit; fi

need_server
device_kind=$(sql "SELECT kind FROM gpuscan.devices WHERE state = 'ready' AND '${device:-$(sql 'SHOW gpuscan.device')}' IN (kind, 'auto')
                   ORDER BY kind LIMIT 1")
if [[ -z $copy ]]; then
    make_program copy_bandwidth
    copy=$("$bench/copy_bandwidth" "$device_kind") || fail "cannot measure the copy bandwidth; give --copy GBPS"
fi

# r: key a is a permutation of 0 .. n-1; s: of n/2 .. 3n/2-1, so half of the keys meet. b is any value; c is a sparse key.
relations() {
    local n=$1
    fill "r$n" "$n" 'a integer NOT NULL, b integer NOT NULL, c integer NOT NULL' \
        "(i * 2654435761) % $n, (i * 40503) % 1000, (i * 2654435761) % $n * 31"
    fill "s$n" "$n" 'a integer NOT NULL, b integer NOT NULL, c integer NOT NULL' \
        "(i * 2654435761) % $n + $((n / 2)), (i * 30011) % 1000, ((i * 2654435761) % $n + $((n / 2))) * 31"
    fill few 16 'one integer NOT NULL, b integer NOT NULL' '1, i'
}

# measure OPERATOR FORM BYTES QUERY: BYTES of the input relations that the operator has to read
measure() {
    local postgres='' gpuscan='' kernel='' share='' rate='' ran
    [[ -z $only || $only == *",$1,"* ]] || return 0
    ran=$(who_runs "$4")
    if ((with_postgres)); then postgres=$(reps=1 on_postgres "$4"); fi
    if [[ $ran == yes ]] || ((with_postgres)) && [[ $ran != no ]]; then
        ((!with_postgres)) || same "$4" || { note "$1 ($2), $n rows: another result than PostgreSQL's"; wrong=1; }
        gpuscan=$(on_device "$4")
    fi
    if [[ $ran == yes ]]; then
        kernel=$(kernel_ms "$4")
        rate=$(awk -v b="$3" -v ms="$kernel" 'BEGIN { if (ms > 0) printf "%.2f", b / ms / 1e6 }')
        share=$(awk -v r="$rate" -v c="$copy" 'BEGIN { if (r > 0) printf "%.2f", 100 * r / c }')
    fi
    row "$1" "$2" "$n" "$ran" "$postgres" "$gpuscan" "$kernel" "$rate" "$share"
}

# "yes": one device node does it all; "rows": the device's rows go into an operator of PostgreSQL's; "no": no device node.
who_runs() {
    local json count
    json=$(sql "EXPLAIN (FORMAT json) $1" "$offload")
    count=$(nodes <<<"$json")
    if ((count == 0)); then
        echo no
    elif ((count > 1)) || grep -qE '"Node Type": "(.* Join|Nested Loop|SetOp|Append)"|"Strategy": "(Hashed|Sorted|Mixed)"' <<<"$json"; then
        echo rows
    elif plans "$1" | grep -q '"Fallback"'; then
        echo no
    else
        echo yes
    fi
}

machine
echo "# copy bandwidth of the device ($device_kind): $copy GB/s"
start_table operator form:12 rows device postgres_ms gpuscan_ms kernel_ms gb_per_s share_pct
wrong=0
for n in ${rows//,/ }; do
    ((n > 1 && (n & (n - 1)) == 0)) || fail "--rows takes powers of two, not '$n'"
    relations "$n"
    r=r$n s=s$n
    measure select half $((n * 8)) "SELECT count(*), sum(b) FROM $r WHERE a < $((n / 2))"
    measure select few $((n * 8)) "SELECT count(*), sum(b) FROM $r WHERE a % 100 = 7"
    measure project a_c $((n * 8)) "SELECT sum(a::bigint), sum(c::bigint) FROM $r"
    measure product join_on_1 $((n * 4 + 128)) "SELECT count(*), sum(r.b) FROM (SELECT b, 1 AS one FROM $r) r JOIN few s ON s.one = r.one"
    measure product cross $((n * 4 + 128)) "SELECT count(*), sum(r.b) FROM $r r CROSS JOIN few s"
    measure intersect join_dense $((n * 8)) "SELECT count(*), sum(r.a::bigint) FROM $r r JOIN $s s ON r.a = s.a"
    measure intersect join_sparse $((n * 8)) "SELECT count(*), sum(r.c::bigint) FROM $r r JOIN $s s ON r.c = s.c"
    measure intersect exists $((n * 8)) "SELECT count(*), sum(r.a::bigint) FROM $r r WHERE EXISTS (SELECT FROM $s s WHERE s.a = r.a)"
    measure intersect INTERSECT $((n * 8)) "SELECT count(*), sum(a::bigint) FROM (SELECT a FROM $r INTERSECT SELECT a FROM $s) x"
    measure union distinct $((n * 4)) "SELECT count(*), sum(a::bigint) FROM (SELECT a FROM $r GROUP BY a) x"
    measure union union_all $((n * 8)) "SELECT count(*), sum(a::bigint) FROM (SELECT a FROM (SELECT a FROM $r UNION ALL SELECT a FROM $s) y GROUP BY a) x"
    measure union UNION $((n * 8)) "SELECT count(*), sum(a::bigint) FROM (SELECT a FROM $r UNION SELECT a FROM $s) x"
    measure difference not_exists $((n * 8)) "SELECT count(*), sum(r.a::bigint) FROM $r r WHERE NOT EXISTS (SELECT FROM $s s WHERE s.a = r.a)"
    measure difference EXCEPT $((n * 8)) "SELECT count(*), sum(a::bigint) FROM (SELECT a FROM $r EXCEPT SELECT a FROM $s) x"
    measure join dense $((n * 16)) "SELECT count(*), sum(r.b + s.b) FROM $r r JOIN $s s ON r.a = s.a"
    measure join sparse $((n * 16)) "SELECT count(*), sum(r.b + s.b) FROM $r r JOIN $s s ON r.c = s.c"
    ((keep)) || sql "DROP TABLE $schema.$r, $schema.$s"
done
drop_tables
echo "written: $csv"
draw_figure
exit "$wrong"
