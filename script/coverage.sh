#!/usr/bin/env bash
# What runs where, by asking the planner: the tables of doc/sql-support.md (script/coverage.sql), so that they cannot claim what the code
# does not do; and every function, operator and aggregate over common types (script/catalogue.sql), whose answers are compared with
# PostgreSQL's.
#
# Usage: script/coverage.sh               writes the tables and asks about the catalogue; starts a private server
#        script/coverage.sh --check       compares the tables; exit status 1 and the differences where they are not those of the code
#        script/coverage.sh --catalogue   the catalogue only; exit status 1 and the queries where an answer is another
# ROWS: of the table that the catalogue is asked about (50,000). With the PG* variables of a server that has the extension, that server is
# asked (the tests do so). PLANTED_DIFFERENCE=true: about an expression with another answer only. What runs where, and why not, is written to build/coverage.tsv.
set -euo pipefail
cd "$(dirname "$0")/.."
page=doc/sql-support.md
begin='<!-- coverage: written by make coverage -->'
end='<!-- end of coverage -->'
listing=${BUILD:-build}/coverage.tsv
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

# ask FILE [OPTION]...: the file's queries in a database of its own
ask() {
    psql -Xqc "DROP DATABASE IF EXISTS $database" -c "CREATE DATABASE $database" postgres 2>/dev/null
    psql -Xqc 'CREATE EXTENSION gpuscan' "$database"
    since=${since:-$(PGDATABASE=$database script/honest.sh since)}
    psql -Xq -v ON_ERROR_STOP=1 "${@:2}" -f "$1" "$database"
    psql -Xqc "DROP DATABASE $database" postgres
}

if [ "${1:-}" != --catalogue ]; then
    ask script/coverage.sql >"$tables"
    if [ "${1:-}" = --check ]; then
        diff <(sed -n "/^$begin\$/,/^$end\$/p" "$page" | sed '1d;$d') "$tables"
        exit
    fi
    sed -i -e "/^$begin\$/,/^$end\$/{/^$begin\$/{p;r $tables
};/^$end\$/p;d}" "$page"
fi
mkdir -p "$(dirname "$listing")"
ask script/catalogue.sql -v rows="${ROWS:-50000}" -v listing="$listing" -v planted="${PLANTED_DIFFERENCE:-false}" | tee "$tables"
grep -q ', differences 0$' "$tables"
