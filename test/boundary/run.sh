#!/usr/bin/env bash
# Boundaries: for each capacity in the source (capacities.sh) tables and queries of n - 1, n and n + 1 of everything that can be
# counted: rows, pages, different values of each type, copies of one value, groups, spans of integers, lengths of texts, lists,
# bytes of a constant, terms, CASE arms, columns, partitions, rows of LIMIT; values with and without NULLs. PostgreSQL's answer is the reference.
#
# Usage: test/boundary/run.sh [SHARE [SEED]]     against the server named by PGHOST, ...; with gpuscan, in a database of its own
#   SHARE    of the cases that are tried, in per cent (default 100), chosen by SEED (default: today)
# Prints each difference, and at the end "N passed, N failed" and what script/honest.sh says of deaths and fallbacks.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
share=${1:-100} seed=${2:-$(date +%j)}
scripts=$(mktemp -d)
trap 'rm -rf "$scripts"' EXIT

PGOPTIONS='-c client_min_messages=warning' psql -Xqc 'DROP DATABASE IF EXISTS boundary' -c 'CREATE DATABASE boundary'
export PGDATABASE=boundary PGOPTIONS='-c client_min_messages=warning'
psql -Xq -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION gpuscan' -f "$here/../sql/support.sql" -f "$here/tables.sql"

since=$("$here/../../script/honest.sh" since)

boundaries=$("$here/capacities.sh" boundaries 2147483000)
# cases MOST KIND: one case for each boundary up to MOST
cases() {
    local n
    for n in $boundaries; do
        if [ "$n" -ge 1 ] && [ "$n" -le "$1" ]; then echo "$2 $n"; fi
    done
}
{
    for kind in rows 'nulls texts'; do cases 140000 "$kind"; done
    cases 270000 texts
    for type in numeric macaddr uuid jsonb; do cases 140000 "values $type"; done
    for type in bpchar date float8 interval bytea enum; do cases 70000 "values $type"; done
    cases 1100000 integers
    cases 140000 copies
    cases 2147483000 span
    cases 33000 pages
    cases 140000 first_rows
    cases 70000 length
    cases 1100000 constant
    cases 4200 list
    cases 1100 terms
    cases 520 arms
    cases 1100 columns
    cases 300 partitions
} | awk -v share="$share" -v seed="$seed" 'BEGIN { srand(seed) } rand() * 100 < share' >"$scripts/cases"

while read -r line; do
    echo "CALL make('${line% *}', ${line##* }); VACUUM (FREEZE, ANALYZE) b; CALL try('${line% *}', ${line##* });"
done <"$scripts/cases" >"$scripts/script.sql"
psql -XAtq -v ON_ERROR_STOP=1 -f "$scripts/script.sql" >"$scripts/out" 2>&1 || { tail -n 5 "$scripts/out"; echo "0 passed, 1 failed"; exit 1; }
psql -XAtqc "SELECT format(E'%s at %s: %s\n  %s', kind, n, query, verdict) FROM tried WHERE verdict NOT LIKE 'ok%' ORDER BY kind, n LIMIT 50"
psql -XAtqc "SELECT format('boundary: %s cases, %s queries, %s of them errors', (SELECT count(*) FROM (SELECT DISTINCT kind, n FROM tried) c), count(*), count(*) FILTER (WHERE verdict LIKE 'ok (ERROR%')) FROM tried"
read -r passed failed < <(psql -XAtq -F ' ' -c "SELECT count(*) FILTER (WHERE verdict LIKE 'ok%'), count(*) FILTER (WHERE verdict NOT LIKE 'ok%') FROM tried")
echo "$passed passed, $failed failed"
# (Whoever started the server adds up what its log tells, so it is not added here.)
env -u GPUSCAN_HONEST "$here/../../script/honest.sh" boundary since "$since" || failed=1
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
