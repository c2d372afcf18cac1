#!/usr/bin/env bash
# What partitions cost: the same rows as one table, in daily partitions and in hash partitions.
usage() {
    cat <<'TEXT'
Usage: bench/partitions.sh [OPTION]...

Each query has PostgreSQL's and gpuscan's time to plan it (EXPLAIN) and to plan and execute it, hot, and gpuscan's first execution
after the cache was emptied. `over` is gpuscan's hot time beyond PostgreSQL's planning, in hot times of the one table.

  --rows N          rows of each table (default 5000000)
  --days N          range partitions (default 1461)
  --hashes N        hash partitions (default 500)
TEXT
    common_usage
}

rows=5000000 days=1461 hashes=500
option() {
    case $1 in
        --rows) rows=$(number "$1" "${2:-}") taken=2 ;;
        --days) days=$(number "$1" "${2:-}") taken=2 ;;
        --hashes) hashes=$(number "$1" "${2:-}") taken=2 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse "$@"
((${#arguments[@]} == 0)) || fail "what is '${arguments[0]}'? See --help"
((rows >= days && days > 31 && hashes > 0)) || fail "too few rows or partitions"
((draw_only == 0)) || fail "there is no figure to draw"

need_server
wrong=0

mark="gpuscan bench: $rows rows, $days days, $hashes hashes"
if [[ $(sql "SELECT coalesce(obj_description(to_regclass('$schema.days'), 'pg_class'), '')") != "$mark" ]]; then
    columns='day date NOT NULL, id integer NOT NULL, shop integer NOT NULL, amount numeric(10,2), kind text'
    sql "CREATE SCHEMA IF NOT EXISTS $schema; DROP TABLE IF EXISTS $schema.one, $schema.hashes, $schema.days, $schema.shops"
    sql "CREATE TABLE $schema.one ($columns) WITH (autovacuum_enabled = off);
         CREATE TABLE $schema.days ($columns) PARTITION BY RANGE (day);
         CREATE TABLE $schema.hashes ($columns) PARTITION BY HASH (id);
         CREATE TABLE $schema.shops AS SELECT i AS shop, 'region ' || i % 7 AS region FROM generate_series(0, 499) AS i"
    sql "DO \$\$ BEGIN
             FOR i IN 0 .. $days - 1 LOOP
                 EXECUTE format('CREATE TABLE $schema.day_%s PARTITION OF $schema.days FOR VALUES FROM (%L) TO (%L) WITH (autovacuum_enabled = off)',
                                i, date '2021-01-01' + i, date '2021-01-01' + i + 1);
                 IF i % 100 = 99 THEN COMMIT; END IF;
             END LOOP;
             FOR i IN 0 .. $hashes - 1 LOOP
                 EXECUTE format('CREATE TABLE $schema.hash_%s PARTITION OF $schema.hashes FOR VALUES WITH (MODULUS $hashes, REMAINDER %s) WITH (autovacuum_enabled = off)', i, i);
                 IF i % 100 = 99 THEN COMMIT; END IF;
             END LOOP;
         END \$\$"
    sql "INSERT INTO $schema.one SELECT date '2021-01-01' + (i * $days / $rows)::integer, i, (i * 7919) % 500, i % 10000 / 100.0, 'kind ' || i % 20
         FROM generate_series(0::bigint, $rows - 1) AS i"
    sql "INSERT INTO $schema.days SELECT * FROM $schema.one; INSERT INTO $schema.hashes SELECT * FROM $schema.one"
    for table in one days hashes shops; do
        psql -Xqc "SET client_min_messages = warning" -c "VACUUM (ANALYZE) $schema.$table" || fail "cannot vacuum $schema.$table"
    done
    sql "COMMENT ON TABLE $schema.days IS '$mark'"
fi

# query NAME TABLE
query() {
    case $1 in
        sums) echo "SELECT count(*), sum(amount) FROM $2" ;;
        groups) echo "SELECT kind, count(*), sum(amount) FROM $2 GROUP BY kind" ;;
        month) echo "SELECT count(*), sum(amount) FROM $2 WHERE day >= '2021-01-01' AND day < '2021-02-01'" ;;
        join) echo "SELECT region, count(*), sum(amount) FROM $2 JOIN shops USING (shop) WHERE day >= '2021-06-01' GROUP BY region" ;;
    esac
}
# The time to plan it, without EXPLAIN's own work.
planning_ms() { times "$1" "EXPLAIN (COSTS off) $2" | median; }
# The first execution after the cache was emptied, in a session that knows the tables.
first_ms() {
    local i
    for ((i = 0; i < reps; ++i)); do
        {
            printf 'EXPLAIN %s;\nSELECT gpuscan.evict();\n\\timing on\n%s;\n' "$1" "$1"
        } | PGOPTIONS="$(session_options) -c gpuscan.offload=$offload" psql -XAtq -v ON_ERROR_STOP=1 -o /dev/null | awk '$1 == "Time:" { print $2 }'
    done | median
}

machine
start_table query:8 table:8 pg_plan:9 postgres:9 plan:9 hot:9 first:9 over:7
for name_of in sums groups month join; do
    for table in one days hashes; do
        text=$(query $name_of $table)
        same "$text" || { note "$name_of, $table: another result than PostgreSQL's"; wrong=1; }
        pg_plan=$(planning_ms off "$text")
        hot=$(on_device "$text")
        [[ $table != one ]] || one=$hot
        row $name_of $table "$pg_plan" "$(on_postgres "$text")" "$(planning_ms "$offload" "$text")" "$hot" "$(first_ms "$text")" \
            "$(awk "BEGIN { printf \"%.2f\", ($hot - $pg_plan) / $one }")"
    done
done
drop_tables
echo "written: $csv"
exit $wrong
