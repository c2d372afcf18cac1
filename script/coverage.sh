#!/usr/bin/env bash
# The tables of doc/sql-support.md that say what runs where: made by asking the planner (script/coverage.sql), so that they cannot
# claim what the code does not do.
#
# Usage: script/coverage.sh            writes them into doc/sql-support.md; starts a private server
#        script/coverage.sh --check    compares; exit status 1 and the differences where they are not those of the code
# With the PG* variables of a server that has the extension, that server is asked (the tests do so).
set -euo pipefail
cd "$(dirname "$0")/.."
page=doc/sql-support.md
begin='<!-- coverage: written by make coverage -->'
end='<!-- end of coverage -->'
tables=$(mktemp)
server=
since=
finish() {
    local status=$?
    trap - EXIT
    rm -f "$tables"
    [ -z "$since" ] || script/honest.sh coverage since "$since" >&2 || [ "$status" != 0 ] || status=1
    [ -z "$server" ] || script/server.sh stop "$server" >/dev/null
    exit "$status"
}
trap finish EXIT
if [ -z "${PGHOST:-}" ]; then
    eval "$(script/server.sh start 'gpuscan.device = host')"
    # shellcheck disable=SC2153 # the line above assigns it
    server=$SERVER
    since='log 1' # all that its log tells
fi
database=gpuscan_coverage
psql -Xqc "DROP DATABASE IF EXISTS $database" -c "CREATE DATABASE $database" postgres 2>/dev/null
psql -Xqc 'CREATE EXTENSION gpuscan' "$database"
since=${since:-$(PGDATABASE=$database script/honest.sh since)}
psql -Xq -v ON_ERROR_STOP=1 -f script/coverage.sql "$database" >"$tables"
psql -Xqc "DROP DATABASE $database" postgres
if [ "${1:-}" = --check ]; then
    diff <(sed -n "/^$begin\$/,/^$end\$/p" "$page" | sed '1d;$d') "$tables"
    exit
fi
sed -i -e "/^$begin\$/,/^$end\$/{/^$begin\$/{p;r $tables
};/^$end\$/p;d}" "$page"
