#!/usr/bin/env bash
# What becomes of a query's time while its table changes: loaded, vacuumed, rows updated, deleted, appended, unlogged. Each
# answer is compared with PostgreSQL's. Nobody vacuums but where it is said.
#
# A state has three times: PostgreSQL's own (median), gpuscan's first execution after the change, and its median afterwards.
#
# Then a join with a table of half as many rows, static and beside those who write to that: what becomes of its join table?
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'USAGE'
Usage: bench/live.sh [--rows N] [--reps N] [--device host|cuda] [--offload auto|force]

Starts a private server (script/server.sh), or uses that of PGHOST and PGPORT if they are set, and makes the schema "live".

  --rows N      rows of the table (default 2000000)
  --reps N      executions after the first (default 7)
  --device D    gpuscan.device (default host)
  --offload O   gpuscan.offload (default auto)
USAGE
}

rows=2000000 reps=7 device=host offload=auto
while [ $# -gt 0 ]; do
    case $1 in
    --rows) rows=$2 ;;
    --reps) reps=$2 ;;
    --device) device=$2 ;;
    --offload) offload=$2 ;;
    --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        exit 1
        ;;
    esac
    shift 2
done

files=$(mktemp -d)
chmod 755 "$files" # the server is another user's
if [ -z "${PGHOST:-}" ]; then
    trap 'script/server.sh stop "$files/server" >/dev/null; rm -rf "$files"' EXIT
    script/server.sh start --dir "$files/server" 'shared_buffers = 1GB' "gpuscan.device = $device" 'autovacuum = off' >"$files/env"
    # shellcheck source=/dev/null
    . "$files/env"
else
    trap 'rm -rf "$files"' EXIT
fi
select="SELECT k % 10 AS g, count(*), sum(a), max(b), sum(x) FROM live.t WHERE d < '2022-06-01' GROUP BY 1 ORDER BY 1"

sql() { psql -XqAt -v ON_ERROR_STOP=1 "$@"; }
# times OFFLOAD N: ms of N executions in a session that has planned before; the answer goes to $files/OFFLOAD
times() {
    local i
    {
        printf '%s\n' "SET gpuscan.offload = $1;" "SET gpuscan.device = $device;" '\o /dev/null' 'EXPLAIN SELECT count(*) FROM live.t;' "\\o $files/$1" '\timing on'
        for ((i = 0; i < $2; ++i)); do printf '%s;\n' "$select"; done
    } | psql -XqAt | sed -n 's/^Time: \([0-9.]*\).*/\1/p'
}
median() { sort -n | sed -n "$(($1 / 2 + 1))p"; }
look() {
    local first hot plain equal=equal
    first=$(times "$offload" 1)
    hot=$(times "$offload" "$reps" | median "$reps")
    plain=$(times off "$reps" | median "$reps")
    cmp -s <(sort -u "$files/$offload") <(sort -u "$files/off") || equal=DIFFERENT
    pages=$(sql -c "SET gpuscan.offload = $offload" -c "SET gpuscan.device = $device" -c "EXPLAIN (ANALYZE, COSTS OFF) $select" |
        sed -n -e 's/ *Join 1 Table: [^,]*,[^,]*,* *//p' -e 's/ *Pages: //p' | tr '\n' ' ')
    printf '%-34s %9.1f %9.1f %9.1f %7.2f  %-9s %s\n' "$1" "$plain" "$first" "$hot" "$(awk "BEGIN { print $hot / ${vacuumed:-$hot} }")" "$equal" "$pages"
    hot_ms=$hot
}
sql -c 'SET client_min_messages = warning' -c 'CREATE EXTENSION IF NOT EXISTS gpuscan'
since=$(script/honest.sh since)
fill="SELECT i AS id, i % 1000 AS k, (i * 7919::int8 % 100000)::int AS a, i * 3::int8 AS b, 'text ' || i % 50 AS c, date '2020-01-01' + i % 1000 AS d, (i % 10000 / 100.0)::numeric(12,2) AS x FROM generate_series(1, $rows) i"

printf '%-34s %9s %9s %9s %7s\n' "$rows rows, $device, $offload (ms)" PostgreSQL first hot 'to vac.'
sql -c 'SET client_min_messages = warning' -c 'DROP SCHEMA IF EXISTS live CASCADE; CREATE SCHEMA live' \
    -c "CREATE TABLE live.t AS $fill LIMIT 0" -c "INSERT INTO live.t $fill" -c 'ANALYZE live.t'
look 'loaded by INSERT'
sql -c 'VACUUM live.t'
look 'vacuumed'
vacuumed=$hot_ms
look 'vacuumed'
for part in 10000 1000 100 20; do
    sql -c "UPDATE live.t SET a = a + 1 WHERE hashint8(id) % $part = 0"
    look "1 row in $part updated"
done
sql -c 'VACUUM FULL live.t'
look 'written anew'
sql -c 'DELETE FROM live.t WHERE hashint8(id) % 200 = 0'
look '1 row in 200 deleted'
sql -c "INSERT INTO live.t SELECT * FROM live.t WHERE hashint8(id) % 5 = 0"
look '20 % appended'
sql -c 'ALTER TABLE live.t SET UNLOGGED' -c 'VACUUM live.t'
look 'unlogged'

sql -c 'ALTER TABLE live.t SET LOGGED' -c "CREATE TABLE live.d AS SELECT id, id % 7 AS g, 1 AS v, 1 AS w FROM live.t WHERE id % 2 = 0 GROUP BY id" \
    -c 'CREATE UNIQUE INDEX ON live.d (id)' -c 'VACUUM (ANALYZE) live.t' -c 'VACUUM (ANALYZE) live.d'
select='SELECT g, count(*), sum(a) FROM live.t JOIN live.d USING (id) WHERE v > 0 GROUP BY g ORDER BY g'
look 'join with a table'
vacuumed=$hot_ms
look 'join with a table'
# beside NAME SQL: while a session keeps sending SQL
beside() {
    while printf '%s;\n' "$2"; do :; done | PGAPPNAME='live writer' psql -XqAt >/dev/null 2>&1 &
    sleep 1
    look "$1"
    sql -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'live writer'" >/dev/null
    wait $! || true
}
beside '  an open UPDATE of its rows' "BEGIN; UPDATE live.d SET v = v + 1 WHERE id = 2; SELECT pg_sleep(3600)"
update='WHERE id = 4 + 2 * (random() * 1000)::int; SELECT pg_sleep(0.05)'
beside '  20 a second, columns not read' "UPDATE live.d SET w = w + 1 $update"
beside '  20 a second, columns that are read' "UPDATE live.d SET v = v + 1 $update"
script/honest.sh bench/live since "$since"
sql -c 'SET client_min_messages = warning' -c 'DROP SCHEMA live CASCADE'
