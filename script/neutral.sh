#!/usr/bin/env bash
# PostgreSQL's own regression tests under page costs that are PostgreSQL's own in other words: nothing may change, neither what
# the tests print, EXPLAIN's output among it, nor the plan of any statement, with its costs. Two new servers of the same build
# run the tests, one without gpuscan, one with it and with these costs. What they print is compared, and all plans that
# they make (test/neutral/plan_log.cpp: in whole, costs to EXPLAIN's hundredths on 15, to the last bit later). That is done for
# plans as PostgreSQL's tests have them, nearly all of them serial, and for plans that are parallel wherever that is possible, as
# it costs nothing then. What fails in both does not count.
#
# Tests run one after the other, statements draw the same random numbers, so that statistics are the same, and those parallel
# plans find no workers, so that rows come in one order. If something differs still, a server without gpuscan runs the tests
# once more, and what differs between these two is named, and not counted.
#
# The last line is "neutral MAJOR: files N, the same M; plans P, the same Q"; the exit status says whether all were.
#
# Usage: script/neutral.sh [serial|parallel] [TEST...]     default: both, and all of PostgreSQL's schedule; TEST: only
#                                                          these, in this order, after test_setup
# Settings of the environment: PG (15, 17 or 18: built into the cache if it is not there; default 15), BUILD,
# NEUTRAL_KEEP (a folder for what the tests printed and the plans; it must not be there).
set -euo pipefail
cd "$(dirname "$0")/.."
unset PGOPTIONS PGSERVICE PGPASSFILE PGPASSWORD PSQLRC
export BUILD=${BUILD:-build} PG=${PG:-15}

modes=(serial parallel)
if [ "${1:-}" = serial ] || [ "${1:-}" = parallel ]; then
    modes=("$1")
    shift
fi

script/setup.sh build
script/build-postgres.sh "$PG"
pg_config=$(script/pg-config.sh "$PG")
sources=$(script/build-postgres.sh --tests "$("$pg_config" --version | cut -d' ' -f2)")
regress=$sources/src/test/regress

work=$(mktemp -d "${TMPDIR:-/tmp}/gpuscan-neutral.XXXXXX")
[ -z "${NEUTRAL_KEEP:-}" ] || mkdir "$NEUTRAL_KEEP"
chmod 755 "$work"
cleanup() {
    local directory
    for directory in "$work"/*.server; do
        [ ! -e "$directory" ] || script/server.sh stop "$(cat "$directory")" || true
    done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

arguments=(--schedule="$regress/parallel_schedule")
[ $# = 0 ] || arguments=(test_setup "$@")
[ "$PG" -lt 16 ] || arguments+=(--expecteddir="$regress")

# The tests' functions in C, and what writes plans down.
mkdir "$work/lib"
for file in "$regress"/regress.c "$sources"/contrib/spi/{refint,autoinc}.c; do
    [ ! -f "$file" ] || cc -O1 -w -fPIC -shared -I "$("$pg_config" --includedir-server)" -o "$work/lib/$(basename "$file" .c).so" "$file"
done
g++ -std=c++17 -O1 -Wall -Wextra -fPIC -shared -isystem "$("$pg_config" --includedir-server)" -o "$work/lib/plan_log.so" \
    test/neutral/plan_log.cpp

# start NAME SETTING...; leaves NAME.env and NAME.server in $work
start() {
    local name=$1
    shift
    script/server.sh start 'autovacuum = off' 'max_prepared_transactions = 0' 'full_page_writes = off' 'gpuscan.device = none' \
        "plan_log.directory = '$work/$name.plans'" "$@" >"$work/$name.env"
    # shellcheck disable=SC1090
    (. "$work/$name.env" && echo "$SERVER" >"$work/$name.server")
    mkdir "$work/$name.plans"
    chmod 777 "$work/$name.plans"
}

# run NAME; leaves the folders NAME.out and NAME.plans
run() (
    name=$1
    # shellcheck disable=SC1090
    . "$work/$name.env"
    tests=$SERVER/tests
    mkdir "$tests"
    [ "$(id -u)" != 0 ] || chown postgres: "$tests"
    # shellcheck disable=SC2086
    $AS_SERVER env PATH="$PATH" "$("$pg_config" --pkglibdir)/pgxs/src/test/regress/pg_regress" --inputdir="$regress" \
        --outputdir="$tests" --dlpath="$work/lib" --bindir="$SERVER_BIN" --host="$PGHOST" --port="$PGPORT" --user=postgres \
        --max-connections=1 "${arguments[@]}" >"$work/$name.log" 2>&1 || true
    echo "$(date +%H:%M:%S) $name: $(grep -E 'tests (passed|failed)|tests? .*passed|failed' "$work/$name.log" | tail -n 1 | sed 's/^[# ]*//')"
    mkdir "$work/$name.out"
    cp "$tests"/results/*.out "$work/$name.out/"
    # What only this server has is its folder (numbers in statements are 0). Constants' bytes are left out of plans, as there
    # may be holes between them, and so are ids of what the tests have made, which are not the same in each run, and where in
    # the statement something was. A statement that calls itself until the stack is full is planned as often as there is room:
    # repetitions count once.
    sed -i "s#$SERVER#SERVER#g" "$work/$name.out"/*.out
    written=$(sed -E 's/[0-9]+/0/g' <<<"$SERVER")
    for file in "$work/$name.plans"/*; do
        sed -E "s#$written#SERVER#g; s#:constvalue [0-9]+ \[[^]]*\]#:constvalue#g; s#:(hashValue|location|stmt_location|stmt_len|relid_map) [-0-9 ]+#:\1 #g
            s#(:[A-Za-z_.]*([iI]d|[oO]id|no|typ|type|tbl|op|User|Table) )[0-9]{5,}\b#\1OID#g
            :list; s#(\(o[^)]* )[0-9]{5,}([ )])#\1OID\2#; t list" "$file" | uniq >"$file.new"
        mv "$file.new" "$file"
    done
    if grep -E 'PANIC|TRAP|was terminated by signal' "$SERVER_LOG"; then touch "$work/crashed"; fi
    script/honest.sh neutral "$SERVER_LOG" || touch "$work/crashed"
    script/server.sh stop "$SERVER"
    rm "$work/$name.server"
)

# The nodes of plans with their costs, one a line, from lines of a diff.
summarize_plans() {
    sed -E 's/^([<>] )([^\t]*)\t/\1\2\n/' |
        grep -aoE '^[<>] .*|\{[A-Z_]+ :[a-z.]*(disabled_nodes [0-9]+ :[a-z.]*)?startup_cost [^ ]+ :[a-z.]*total_cost [^ ]+ :[a-z.]*plan_rows [^ ]+' ||
        true
}

# differing_lines FILE FILE: how many of the first one's are not in the second, or the other way round, whichever are more
differing_lines() {
    { diff -a "$1" "$2" || true; } | awk '/^</ { a++ } /^>/ { b++ } END { print (a > b ? a : b) + 0 }'
}

all_files=0 same_files=0 all_plans=0 same_plans=0

# compare PLAIN NEUTRAL AGAIN: AGAIN may not be there yet; then nothing is shown, and the result says whether all is the same
compare() {
    local plain=$work/$1 neutral=$work/$2 again=$work/$3 file name count differing
    local files=0 equal_files=0 plans=0 equal_plans=0 unstable=()
    for file in "$plain.out"/*.out; do
        name=${file##*/}
        if [ -e "$again.out" ] && ! cmp -s "$file" "$again.out/$name"; then
            unstable+=("$name")
            continue
        fi
        files=$((files + 1))
        if cmp -s "$file" "$neutral.out/$name"; then
            equal_files=$((equal_files + 1))
        elif [ -e "$again.out" ]; then
            diff -u "$file" "$neutral.out/$name" | head -n 60 || true
        fi
    done
    for file in "$plain.plans"/*; do
        name=${file##*/}
        if [ -e "$again.plans" ]; then
            # Statements that are planned twice alike without gpuscan.
            diff -a --unchanged-line-format='%L' --old-line-format='' --new-line-format='' "$file" "$again.plans/$name" \
                >"$work/stable" || true
            diff -a --unchanged-line-format='' --old-line-format='%L' --new-line-format='' "$file" "$again.plans/$name" \
                >"$work/unstable" || true
            if [ -s "$work/unstable" ]; then
                unstable+=("$(wc -l <"$work/unstable") plans of $name")
                differing=$(diff -a "$work/stable" "$neutral.plans/$name" | grep -ac '^<' || true)
            else
                differing=$(differing_lines "$file" "$neutral.plans/$name")
            fi
            [ "$differing" = 0 ] || { diff -a "$work/stable" "$neutral.plans/$name" || true; } | summarize_plans | head -n 60 || true
            count=$(wc -l <"$work/stable")
        else
            differing=$(differing_lines "$file" "$neutral.plans/$name")
            count=$(wc -l <"$file")
        fi
        plans=$((plans + count))
        equal_plans=$((equal_plans + count - differing))
    done
    [ ${#unstable[@]} = 0 ] || printf 'differs between two runs without gpuscan: %s\n' "${unstable[@]}"
    if [ "$files" != "$equal_files" ] || [ "$plans" != "$equal_plans" ]; then
        [ -e "$again.out" ] || return 1
    fi
    echo "$(date +%H:%M:%S) $PG, ${1%-*}: files $files, the same $equal_files; plans $plans, the same $equal_plans"
    all_files=$((all_files + files)) same_files=$((same_files + equal_files))
    all_plans=$((all_plans + plans)) same_plans=$((same_plans + equal_plans))
}

# random_page_cost for the other two, as some tests set that.
neutral=('gpuscan.seq_read_page_cost = 1' 'gpuscan.seq_write_page_cost = 1' 'gpuscan.random_write_page_cost = 1')
plain=("shared_preload_libraries = '$work/lib/plan_log'")
both=("shared_preload_libraries = 'gpuscan, $work/lib/plan_log'")

for mode in "${modes[@]}"; do
    settings=()
    [ "$mode" = serial ] || settings=('parallel_setup_cost = 0' 'parallel_tuple_cost = 0' 'min_parallel_table_scan_size = 0'
        'min_parallel_index_scan_size = 0' 'max_parallel_workers_per_gather = 2' 'max_parallel_workers = 0')
    start "$mode-plain" "${settings[@]}" "${plain[@]}"
    start "$mode-neutral" "${settings[@]}" "${both[@]}" "${neutral[@]}"
    run "$mode-plain" &
    run "$mode-neutral"
    wait
    if ! compare "$mode-plain" "$mode-neutral" "$mode-again"; then
        start "$mode-again" "${settings[@]}" "${plain[@]}"
        run "$mode-again"
        compare "$mode-plain" "$mode-neutral" "$mode-again"
    fi
    [ -z "${NEUTRAL_KEEP:-}" ] || mv "$work/$mode"-*.{out,plans,log} "$NEUTRAL_KEEP/"
    rm -rf "$work/$mode"-*
done

if [ "$all_files" = 0 ] || [ "$all_plans" = 0 ] || [ -e "$work/crashed" ]; then
    echo "neutral $PG: failed: a crash, or nothing was compared"
    exit 1
fi
echo "neutral $PG: files $all_files, the same $same_files; plans $all_plans, the same $same_plans"
[ "$all_files" = "$same_files" ] && [ "$all_plans" = "$same_plans" ]
