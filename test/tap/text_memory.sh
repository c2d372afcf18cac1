#!/usr/bin/env bash
# What functions make of texts is kept by the backend for one execution: no more of it than a dictionary may hold, else PostgreSQL's
# own plan runs, which may spill. A column of more texts is PostgreSQL's, too, until the setting is raised.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host' 'gpuscan.cache_size = 64MB' # of which a dictionary may take as much
sql "CREATE TABLE short AS SELECT i AS id, 's' || i AS name FROM generate_series(1, 3000) i;
     CREATE FUNCTION long(text, int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN repeat(\$1, \$2); END';
     VACUUM (FREEZE, ANALYZE) short"

settings='SET gpuscan.offload = force; SET plan_cache_mode = force_generic_plan;'
explain='EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)'
reason='the texts that functions make take too much memory'
fallback() { # SETUP QUERY
    sql "$settings $1; $explain $2" | sed -n 's/ *Fallback: //p'
}

users='SELECT long(name, 6000), count(*) FROM short GROUP BY 1'
is 'texts of a user function' "$(fallback 'SELECT 1' "$users" | sort -u)" "$reason"
is 'fewer of them' "$(fallback 'SELECT 1' "${users/short/short WHERE id <= 1000}" | sort -u)" ''
is 'shorter ones' "$(fallback 'SELECT 1' "${users/6000/600}" | sort -u)" ''
is 'texts made with a parameter' "$(fallback "PREPARE p (int) AS SELECT repeat(name, \$1), count(*) FROM short GROUP BY 1" 'EXECUTE p(6000)')" "$reason"
is 'shorter ones of these' "$(fallback "PREPARE p (int) AS SELECT repeat(name, \$1), count(*) FROM short GROUP BY 1" 'EXECUTE p(600)')" ''
is 'the answer' "$(sql "SELECT check_query('SELECT left(long(name, 6000), 20), count(*) FROM short GROUP BY long(name, 6000)', 'any')" | tail -n 1)" 'ok (3000 rows)'

sql "CREATE TABLE long_texts AS SELECT i AS id, repeat(md5(i::text), 32) AS name FROM generate_series(1, 90000) i;
     VACUUM (FREEZE, ANALYZE) long_texts"
columns='SELECT count(DISTINCT name) FROM long_texts'
is 'a column of many texts' "$(fallback 'SELECT 1' "$columns")" 'too many distinct values in column 2'
is 'the column again' "$(fallback 'SELECT 1' "$columns")" 'too many distinct values in column 2'
sql "ALTER SYSTEM SET gpuscan.cache_size = '1GB'" >/dev/null
sql 'SELECT pg_reload_conf()' >/dev/null
for ((i = 0; i < 50; ++i)); do # the device process learns of it when it looks
    [[ -n $(fallback 'SELECT 1' "$columns") ]] || break
    sleep 0.1
done
is 'the column under a higher limit' "$(fallback 'SELECT 1' "$columns")" ''
is 'its answer' "$(sql "SELECT check_query('$columns')" | tail -n 1)" 'ok (1 rows)'
