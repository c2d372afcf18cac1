#!/usr/bin/env bash
# How does the time of an expression grow with its length? Each shape of test/sql/shapes.sql with n parts, planned and executed,
# by PostgreSQL alone and by the device (forced), the best of three.
#
# Usage: bench/growth.sh [N...]     against the server named by PGHOST, ...; in a database of its own (default: 10 20 40 80)
# Prints a line for each shape and n that takes more than PostgreSQL, and the worst: device <= 5 * PostgreSQL + 50 ms is wanted.
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

lengths=$(printf '%s,' "${@:-10,20,40,80}")
PGOPTIONS='-c client_min_messages=warning' psql -Xqc 'DROP DATABASE IF EXISTS growth' -c 'CREATE DATABASE growth'
export PGDATABASE=growth PGOPTIONS='-c client_min_messages=warning'
need_server
psql -Xq -v ON_ERROR_STOP=1 -f "$bench/../test/sql/shapes.sql"
psql -Xq -v ON_ERROR_STOP=1 <<SQL
CREATE FUNCTION milliseconds(query text, mode text) RETURNS float8 LANGUAGE plpgsql AS \$\$
DECLARE
    start timestamptz;
    best float8 := 'infinity';
BEGIN
    PERFORM set_config('gpuscan.offload', mode, true);
    FOR i IN 1 .. 3 LOOP
        start := clock_timestamp();
        EXECUTE query;
        best := least(best, 1000 * extract(epoch FROM clock_timestamp() - start));
    END LOOP;
    RETURN best;
EXCEPTION WHEN statement_too_complex THEN -- PostgreSQL's own limit
    RETURN NULL;
END \$\$;
CREATE TABLE took AS
SELECT shape, n, milliseconds(query, 'off') plain, milliseconds(query, 'force') device
FROM shapes() shape, unnest('{${lengths%,}}'::int[]) n, shape_query(shape, n) query;
\pset footer off
SELECT shape, n, round(plain::numeric, 1) "PostgreSQL ms", round(device::numeric, 1) "device ms", round((device / plain)::numeric, 2) ratio
FROM took WHERE device > plain ORDER BY device / plain DESC;
SELECT count(*) cases, count(*) FILTER (WHERE device > 5 * plain + 50) "above the bar", round(max(device / plain)::numeric, 2) "worst ratio",
       round(max(device)::numeric, 1) "longest ms" FROM took;
SQL
