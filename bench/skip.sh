#!/usr/bin/env bash
# What skipping by bounds is worth: a table in the order of its time, filtered by columns that follow that order and by one
# that does not.
usage() {
    cat <<'TEXT'
Usage: bench/skip.sh [OPTION]...

Loads one table of events, a second apart, by one connection, and sums a column over ranges of the time, of a number that counts
up, and of a number without order, of the same selectivities. Beside the times stand the rows that were skipped.

  --rows N          rows of the table (default 60000000)
TEXT
    common_usage
}

rows=60000000
option() {
    case $1 in
        --rows) rows=$(number "$1" "${2:-}") taken=2 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse "$@"
((${#arguments[@]} == 0)) || fail "what is '${arguments[0]}'? See --help"
((rows >= 1000)) || fail "--rows takes a number from 1000 on"
((draw_only == 0)) || fail "there is no figure to draw"

need_server
wrong=0

mark="gpuscan bench: $rows events"
if [[ $(sql "SELECT coalesce(obj_description(to_regclass('$schema.events'), 'pg_class'), '')") != "$mark" ]]; then
    sql "CREATE SCHEMA IF NOT EXISTS $schema; DROP TABLE IF EXISTS $schema.events;
         CREATE TABLE $schema.events (at timestamp NOT NULL, id integer NOT NULL, scattered integer NOT NULL, amount numeric(10,2))
         WITH (autovacuum_enabled = off)"
    sql "INSERT INTO $schema.events SELECT timestamp '2020-01-01' + i * interval '1 second', i, i * 2654435761 % $rows, i % 10000 / 100.0
         FROM generate_series(1::bigint, $rows) AS i"
    sql "COMMENT ON TABLE $schema.events IS '$mark'"
    psql -Xqc "VACUUM (ANALYZE) $schema.events"
fi

machine
start_table column:10 part:8 postgres_ms gpuscan_ms kernel_ms rows_skipped:12
for part in 1000 100 10 1; do # one row of so many passes
    first=$((rows / 2)) n=$((rows / part))
    for column in at id scattered; do
        case $column in
            at) where="at >= timestamp '2020-01-01' + $((part == 1 ? 0 : first)) * interval '1 second' AND at < timestamp '2020-01-01' + $(((part == 1 ? 0 : first) + n + 1)) * interval '1 second'" ;;
            *) where="$column BETWEEN $((part == 1 ? 0 : first)) AND $(((part == 1 ? 0 : first) + n))" ;;
        esac
        query="SELECT count(*), sum(amount) FROM events WHERE $where"
        same "$query" || { note "$column, 1/$part: another result than PostgreSQL's"; wrong=1; }
        row "$column" "1/$part" "$(reps=1 warmups=1 on_postgres "$query")" "$(on_device "$query")" "$(kernel_ms "$query")" \
            "$(plans "$query" | field 'Rows Skipped' | tail -n 1 | sed 's/\..*//')"
    done
done
drop_tables
echo "written: $csv"
exit "$wrong"
