#!/usr/bin/env bash
# Everyday queries, as people and as Grafana, Superset, Metabase, Tableau, Looker and Power BI write them, over a shop with plain numeric
# amounts, events with jsonb, and logs with URLs (bench/everyday): what does gpuscan make of them, and why not more?
usage() {
    cat <<'TEXT'
Usage: bench/everyday.sh [OPTION]...

Runs each query with gpuscan off, for the first time with gpuscan, and hot, compares the answers, and prints a table for each schema.
(First times are those of new sessions; pg_first_ms is PostgreSQL's.)
The column "where" says how much a device does: device (all but a last sort), part, or postgres; for the last two the reasons follow.
Window functions and ordered-set aggregates are summed apart. The tables are loaded first if they are missing.

  --rows N          rows of the largest tables (default 1000000)
  --only LIST       some of the schemas shop, events, logs, or some queries: shop.margin,logs.pages
  --duckdb          also DuckDB, in memory, with a thread a core; its library comes from npm, unless build/everyday has it
  --cold            drop all cached columns before each first execution
TEXT
    common_usage
}

rows=1000000 only='' duckdb=0 cold=0
option() {
    case $1 in
        --rows) rows=$(number "$1" "${2:-}") taken=2 ;;
        --only) only=${2:-} taken=2 ;;
        --duckdb) duckdb=1 taken=1 ;;
        --cold) cold=1 taken=1 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
offload=auto warmups=1
parse "$@"
((${#arguments[@]} == 0)) || fail "what is '${arguments[0]}'? See --help"
settings+=(TimeZone=UTC)
need_server
work=$(mktemp -d)
at_exit+=("rm -rf '$work'")

mark="gpuscan bench: $rows rows, $(cksum <"$bench/everyday/tables.sql")"
if [[ $(sql "SELECT obj_description(to_regclass('everyday_logs.requests'), 'pg_class')") != "$mark" ]]; then
    PGOPTIONS='' psql -Xq -v ON_ERROR_STOP=1 -v rows="$rows" -v mark="$mark" -f "$bench/everyday/tables.sql" >/dev/null || fail 'cannot load the tables'
fi

# A file $work/SCHEMA/NAME.sql for each query, NAME.duckdb beside it, NAME.class with its class: plain, window or ordered-set.
for part in shop events logs; do
    mkdir "$work/$part"
    awk -v prefix="$work/$part/" '
        /^-- query: / {
            name = $3
            sub(/,$/, "", name)
            class = match($0, /class: /) ? substr($0, RSTART + 7) : "plain"
            print class >(prefix name ".class")
            target = prefix name ".sql"
            next
        }
        /^-- duckdb/ { target = prefix name ".duckdb"; next }
        target != "" && !/^--/ && NF { sub(/;$/, ""); print >target }' "$bench/everyday/$part.sql"
    for query in "$work/$part"/*.sql; do
        [[ -z $only || ,$only, == *,$part,* || ,$only, == *",$part.$(basename "$query" .sql),"* ]] || rm "${query%.sql}".*
        [[ ! -e $query || -e ${query%.sql}.duckdb ]] || cp "$query" "${query%.sql}.duckdb"
    done
done
compgen -G "$work/*/*.sql" >/dev/null || fail "--only names no query: $only"

# DuckDB's times of a schema, in $work/SCHEMA/duckdb: lines NAME MS ROWS.
run_duckdb() {
    local data=$work/everyday_$1 table
    mkdir "$data"
    sql "SELECT 'CREATE SCHEMA everyday_$1;' UNION ALL
         SELECT format('CREATE TABLE everyday_$1.%s (%s);', table_name, string_agg(format('\"%s\" %s', column_name,
                CASE data_type WHEN 'numeric' THEN 'DECIMAL(14,5)' WHEN 'jsonb' THEN 'JSON' WHEN 'inet' THEN 'VARCHAR' ELSE data_type END), ', ' ORDER BY ordinal_position))
         FROM information_schema.columns WHERE table_schema = 'everyday_$1' GROUP BY table_name" >"$data/tables.sql"
    for table in $(sql "SELECT relname FROM pg_class WHERE relnamespace = 'everyday_$1'::regnamespace AND relkind = 'r'"); do
        sql "COPY everyday_$1.$table TO STDOUT (FORMAT csv, HEADER)" >"$data/$table.csv"
    done
    "$bench/everyday/duckdb-run" "$library" "$(nproc)" "$warmups" "$reps" "$data" "$work/$1" >"$work/$1/duckdb" || fail 'DuckDB failed'
    rm -r "$data"
}
if ((duckdb)); then
    make_program everyday/duckdb-run
    packages=$bench/../build/everyday
    mkdir -p "$packages"
    packages=$(cd "$packages" && pwd)
    library=$(find "$packages" -name libduckdb.so -print -quit)
    if [[ -z $library ]]; then
        need npm
        cp "$bench/everyday/package.json" "$packages"
        npm install --prefix "$packages" --no-package-lock --no-audit --no-fund --silent >&2 || fail 'npm cannot install DuckDB'
        library=$(find "$packages" -name libduckdb.so -print -quit)
        [[ -n $library ]] || fail 'the package has no libduckdb.so for this machine'
    fi
fi

# ordered FILE: whether the query's last level has an ORDER BY
ordered() { tr '\n' ' ' <"$1" | sed -E ":inner; s/\([^()]*\)//; t inner" | grep -qi 'order by'; }

# equal QUERY-FILE ANSWER ANSWER: the same rows (in the same order, if the query has one); floats to 1e-12
equal() {
    local floats
    ordered "$1" || { sort -o "$2" "$2"; sort -o "$3" "$3"; }
    ! cmp -s "$2" "$3" || return 0
    floats=$(printf '%s \\gdesc\n' "$(<"$1")" | PGOPTIONS=$(session_options) psql -XAtq | awk -F'|' '$2 ~ /^(double precision|real)/ { print NR }' | paste -sd' ')
    paste -d '\n' "$2" "$3" | awk -F'|' -v floats="$floats" '
        function near(a, b) { return a == b || (a != "" && b != "" && (a - b) ^ 2 <= (1e-12 * a) ^ 2) }
        BEGIN { n = split(floats, columns, " "); for (i = 1; i <= n; ++i) float[columns[i]] = 1 }
        NR % 2 { fields = split($0, was, "|"); next }
        NF != fields { exit bad = 1 }
        {
            for (i = 1; i <= NF; ++i)
                if (!float[i] && $i != was[i])
                    exit bad = 1
                else if (float[i]) {
                    items = split($i, now, /[{},]/)
                    if (split(was[i], then, /[{},]/) != items)
                        exit bad = 1
                    for (k = 1; k <= items; ++k)
                        if (!near(now[k], then[k]))
                            exit bad = 1
                }
        }
        END { exit bad || NR % 2 }'
}

# place_of PLAN-FILE
place_of() {
    awk '/^ *Refused: / { next }
        /->|^[A-Z]/ {
            sub(/^ *(-> *)?/, "")
            if (!/^(Limit|Sort|Incremental Sort|Result|Subquery Scan)/ && top == "")
                top = $0
            any = any || /^Custom Scan \(GpuScan\)/
        }
        END { print top ~ /^Custom Scan \(GpuScan\)/ ? "device" : any ? "part" : "postgres" }' "$1"
}

# sums CSV-FILE...: of the queries of each class; of DuckDB only where it has run all
sums() {
    awk -F, 'FNR == 1 { next }
        {
            class = $2 == "plain" ? "plain" : "window and ordered-set"
            n[class]++
            for (i = 3; i <= 5; ++i) sum[class, i] += $i
            if ($6 ~ /^[0-9]/) { duck[class] += $6; ducks[class]++ }
            if ($5 > 1.05 * $3) slow_hot[class] = slow_hot[class] " " $1
            if ($4 > 1.2 * $3) slow_first[class] = slow_first[class] " " $1
            if ($4 > 1.2 * $10) slow_new[class] = slow_new[class] " " $1
            place[class, $8]++
        }
        END {
            for (class in n)
                printf "%s, %d queries: PostgreSQL %.0f ms, first %.0f, hot %.0f%s; device %d, part %d, postgres %d\n  slower than PostgreSQL by 5 %% hot:%s\n  by 20 %% the first time:%s\n  by 20 %% of what it takes PostgreSQL in a new session:%s\n",
                    class, n[class], sum[class, 3], sum[class, 4], sum[class, 5], ducks[class] == n[class] ? sprintf(", DuckDB %.0f", duck[class]) : "",
                    place[class, "device"], place[class, "part"], place[class, "postgres"], slow_hot[class], slow_first[class], slow_new[class]
        }' "$@"
}

# The first reason of each query, by the hot times of the queries that have it.
by_reason() {
    awk -F'\t' '{ sub(/;.*/, "", $3); ms[$3] += $1; names[$3] = names[$3] " " $2 }
        END { for (why in ms) printf "%8.0f ms  %s:%s\n", ms[why], why, names[why] }' "$work/reasons" | sort -gr
}

fallbacks() { sql 'SELECT fallbacks FROM gpuscan.stat'; }

# measure SCHEMA NAME: one line of the table; its reasons go to $work/reasons
measure() {
    local file=$work/$1/$2 query class first hot postgres postgres_first duck=- same=equal before fell place duck_rows
    local beginning="DO 'BEGIN PERFORM count(*) FROM gpuscan.stat; END'" # the library is loaded, and the device known
    query=$(<"$file.sql") class=$(<"$file.class") schema=everyday_$1
    sql "$query" >"$file.postgres"
    postgres=$(warmups=0 on_postgres "$query")
    postgres_first=$(warmups=0 reps=1 on_postgres "$query" "$beginning")
    before=$(fallbacks)
    ((!cold)) || sql 'SELECT gpuscan.evict()' >/dev/null
    first=$(output=$file.first warmups=0 reps=1 times "$offload" "$query" "$beginning" | median)
    hot=$(on_device "$query")
    sql "$query" "$offload" >"$file.hot"
    fell=$(($(fallbacks) - before))
    equal "$file.sql" "$file.postgres" "$file.first" && equal "$file.sql" "$file.postgres" "$file.hot" || { same=DIFFERENT wrong=1; }
    sql "SET gpuscan.explain_refusals = on; EXPLAIN (COSTS OFF) $query" "$offload" >"$file.plan"
    place=$(place_of "$file.plan")
    if ((duckdb)); then
        read -r duck duck_rows < <(awk -v name="$2" '$1 == name { print $2, $3 }' "$work/$1/duckdb")
        [[ $duck == - || $duck_rows == "$(wc -l <"$file.postgres")" ]] || note "$1.$2: DuckDB gives another number of rows: $duck_rows"
    fi
    row "$2" "$class" "$postgres" "$first" "$hot" "$duck" "$same" "$place" "$fell" "$postgres_first"
    if [[ $place != device ]]; then
        sed -n 's/^ *Refused: //p' "$file.plan" >"$file.why"
        # (EXPLAIN says so where costs decide, too.)
        if [[ ! -s $file.why || $(<"$file.why") == 'no table that a device could read' ]]; then
            sql "EXPLAIN (COSTS OFF) $query" force >"$file.forced"
            echo "by cost (forced: $(place_of "$file.forced"))" >"$file.why"
        fi
        printf '%s\t%s.%s (%s)\t%s\n' "$hot" "$1" "$2" "$place" "$(sort -u "$file.why" | paste -sd'~' | sed 's/~/; /g')" >>"$work/reasons"
    fi
}

wrong=0 base=${csv%.csv} tables=()
: >"$work/reasons"
machine
for part in shop events logs; do
    compgen -G "$work/$part/*.sql" >/dev/null || continue
    ((!duckdb)) || run_duckdb "$part"
    csv=${base}_$part.csv
    tables+=("$csv")
    printf '\n%s, %s rows\n' "$part" "$rows"
    start_table query:24 class:12 postgres_ms first_ms hot_ms duckdb_ms same:10 where fallbacks pg_first_ms
    for query in "$work/$part"/*.sql; do
        measure "$part" "$(basename "$query" .sql)"
    done
    sums "$csv"
done
printf '\nWhat did not run on the device as a whole, its hot time in ms, and why\n'
sort -t$'\t' -k3 "$work/reasons"
printf '\nThe same by the first reason\n'
by_reason
printf '\nAll schemas\n'
sums "${tables[@]}"
((keep)) || sql 'DROP SCHEMA everyday_shop, everyday_events, everyday_logs CASCADE'
echo "written: ${tables[*]}"
exit "$wrong"
