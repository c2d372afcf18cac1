#!/usr/bin/env bash
# gpuscan-calibrate against a small server: it finds weights, survives the death of client and server without executing anything twice,
# refuses what cannot be calibrated with, keeps others out, and changes settings only when told, and back.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

make -s PG_CONFIG="${PG_CONFIG:-pg_config}" calibrate || exit 1
make -s -C bench PG_CONFIG="${PG_CONFIG:-pg_config}" tpch/tpch-gen tpch/tpch-run || exit 1
program=${BUILD:-build}/calibrate/gpuscan-calibrate
preload=gpuscan
[ ! -e "$("${PG_CONFIG:-pg_config}" --pkglibdir)/pg_stat_statements.so" ] || preload='gpuscan, pg_stat_statements'
start_server "shared_preload_libraries = '$preload'" 'gpuscan.device = host' 'gpuscan.offload = off' 'work_mem = 256kB' 'shared_buffers = 16MB' 'max_parallel_workers_per_gather = 0' 'autovacuum = off'
bench/tpch/tpch-gen --sf 0.01 --quiet
psql -Xq -v ON_ERROR_STOP=1 -c 'VACUUM (FREEZE, ANALYZE)' -c 'CREATE ROLE analyst LOGIN' -c 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO analyst' || exit 1
here=$tap_files
mkdir "$here/tpch" "$here/keys" "$here/bad"
for query in q2 q3 q4 q9 q12 q18; do
    bench/tpch/tpch-run --no-extension --only $query --print >"$here/tpch/$query.sql"
done
echo 'SELECT sum(l_quantity) FROM lineitem WHERE l_orderkey IN (1, 2, 3, 32, 33, 34)' >"$here/keys/lines.sql"
echo 'SELECT * FROM orders WHERE o_orderkey = 7' >"$here/keys/order.sql"

short=(--cycles 60 --period 20 --harvest 20 --rounds 3)
# calibrate NAME OPTION...: anneal with the file NAME; what it says goes to NAME.said and NAME.out
calibrate() {
    local name=$1
    shift
    "$program" anneal --out "$here/$name" "$@" >"$here/$name.out" 2>"$here/$name.said" && return
    local status=$?
    sed 's/^/# /' "$here/$name.said" >&2
    return $status
}
# begin NAME OPTION...: the same, in the background; its process is $client
begin() {
    local name=$1
    shift
    "$program" anneal --out "$here/$name" "$@" >"$here/$name.out" 2>"$here/$name.said" &
    client=$!
}
# status COMMAND...: its exit status
status() {
    "$@"
    echo $?
}
said() { grep -qF -- "$2" "$here/$1.said"; }
count() { grep -c "\"type\":\"$2\"" "$here/$1"; }
# wait_for NAME TYPE NUMBER: until the file has so many such lines
wait_for() {
    local end=$((SECONDS + 30))
    until [ -e "$here/$1" ] && [ "$(count "$1" "$2")" -ge "$3" ]; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.02
    done
}
settings() { sql "SELECT pg_catalog.string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings WHERE name LIKE '%page_cost' OR name LIKE 'cpu_%_cost'"; }
before=$(settings)

# --- what cannot be calibrated with ---

# refused NAME MESSAGE OPTION...: says so, exit status 2, no file
refused() {
    local name=$1 message=$2
    shift 2
    is "$name: refused" "$(status calibrate refused "$@")" 2
    ok "$name: says why" said refused "$message"
    ok "$name: leaves no file" test ! -e "$here/refused"
}
query() { printf '%s\n' "$1" >"$here/bad/q.sql"; }
refused 'no workload' 'there is no file or directory' --workload "$here/none"
refused 'an empty workload' 'empty workload: no query' --workload "$here/bad"
query $'SELECT 1;\nSELECT a\nFORM t'
refused 'a syntax error' "$here/bad/q.sql:3: syntax error at or near \"t\"" --workload "$here/bad"
query 'SELECT $1'
refused 'a parameter' 'this query has parameters ($1)' --workload "$here/bad"
query 'SELECT 1; SELECT * FROM nowhere'
refused 'a table that is not there' 'relation "nowhere" does not exist' --workload "$here/bad"
query 'WITH gone AS (DELETE FROM region RETURNING *) SELECT * FROM gone'
refused 'a query that writes' 'this query writes; only queries that read are executed' --workload "$here/bad"
query 'SELECT * FROM region FOR UPDATE'
refused 'a query that locks rows' 'this query locks rows' --workload "$here/bad"
query 'SELECT 1 INTO made'
refused 'a query that makes a table' 'this query writes' --workload "$here/bad"
sql "CREATE FUNCTION sly() RETURNS int LANGUAGE plpgsql AS 'BEGIN DELETE FROM region; RETURN 1; END'"
query 'SELECT sly()'
refused 'a function that writes' 'this query writes' --workload "$here/bad"
query 'SELECT 1/(count(*) - 5) FROM region'
refused 'a query that fails' "$here/bad/q.sql:1: division by zero" --workload "$here/bad"
query 'SELECT count(*) FROM lineitem, lineitem a, lineitem b'
refused 'only queries that never end' 'no query of the workload ended within' --workload "$here/bad" --timeout 0.3 --harvest 2
is 'no server' "$(status calibrate refused --workload "$here/keys" -h "$here/none")" 1
ok 'no server: leaves no file' test ! -e "$here/refused"
is 'a wrong weight' "$(status calibrate refused --workload "$here/keys" --start work_mem=3)" 2
is 'nothing was deleted' "$(sql 'SELECT count(*) FROM region')" 5

(ulimit -f 0; calibrate nothing --workload "$here/keys" --quiet)
is 'a disk without any room: exit status' $? 1
ok 'leaves no file' test ! -e "$here/nothing"

# --- the whole way, by a role that may only read ---

ok 'anneals' calibrate whole --workload "$here/tpch" "${short[@]}" --quiet -U analyst
ok 'as one that may not reads no configuration files' test "$(status env PGUSER=analyst "$program" apply "$here/whole" --yes --force 2>"$here/apply.said")" = 1
ok 'and is told who may' said apply 'a superuser can'
is 'cycles are kept' "$(count whole cycle)" 60
# (Of 60 cycles of 6 queries in 4 chains. On a busy machine more pairs are near the best, and are repeated.)
ok 'few executions' test "$(count whole execution)" -lt 360
is 'each query is warmed up once' "$(grep -c '"warm-up"' "$here/whole")" 6
"$program" report "$here/whole" --format settings >"$here/whole.settings"
is 'weights to be set' "$(sed 's/^/SET /; s/$/;/' "$here/whole.settings" | psql -XAtq -v ON_ERROR_STOP=1 2>&1)$(wc -l <"$here/whole.settings")" 8
is 'the anchor stays' "$(head -n 1 "$here/whole.settings")" 'gpuscan.seq_read_page_cost = 1'
"$program" report "$here/whole" --format json >"$here/whole.json"
is 'JSON' "$(psql -XAtq -v j="$(<"$here/whole.json")" <<<"SELECT json_array_length(:'j'::json->'trace'), :'j'::json->'result'->>'complete', json_array_length(:'j'::json->'result'->'queries')")" '60|true|6'
ok 'a report' grep -q '^total ' <("$program" report "$here/whole")
ok 'plan changes in words' grep -qE '^q[0-9]+: .* instead of ' <("$program" report "$here/whole")
ok 'costs against times' grep -qE '^Costs rank the queries. times by -?[01]\.[0-9]+ under the present weights, by ' <("$program" report "$here/whole")
is 'results of another kind: refused' "$(status "$program" report "$here/whole" --results "$here/whole.json" 2>/dev/null)" 1
cp "$here/whole" "$here/again"
"$program" report "$here/whole" --format html >"$here/whole.html"
is 'a page, with what a browser would refuse nowhere' "$(psql -XAtq -v p="$(tail -n +2 "$here/whole.html")" <<<"SELECT xpath_exists('//svg', replace(:'p', '<meta charset=\"utf-8\">', '')::xml)")" t
ok 'resuming what is finished reports it' calibrate again --resume
is 'and does nothing' "$(cmp "$here/whole" "$here/again")" ''
is 'an existing file is not overwritten' "$(status calibrate whole --workload "$here/tpch")" 1

# The same queries for the other model: plans have times, whatever weights chose them.
ok 'takes times over' calibrate taken --workload "$here/tpch" --model original --times "$here/whole" "${short[@]}"
is 'and measures no defaults again' "$(grep -c '"defaults","wanted"\|"warm-up"' "$here/taken")" 0
ok 'says how many' said taken "$(count taken known) times are taken over"
ok 'executes less' test "$(count taken execution)" -lt "$(count whole execution)"
is 'of another server: refused' "$(status calibrate refused --workload "$here/tpch" --times "$here/whole" --set work_mem=1MB)" 2
ok 'of another server: says why' said refused 'times cannot be taken over: work_mem was "256kB" and is now "1MB"'

# --- deaths ---

# resumed NAME: what was in the file when the client died ($here/NAME.dead) is there still, and nothing was executed twice
resumed() {
    local whole
    whole=$(awk '/\n*$/' "$here/$1.dead" | grep -c '}$')
    ok "$1: resumes" calibrate "$1" --resume
    ok "$1: keeps what there was" cmp -s <(head -n "$whole" "$here/$1.dead") <(head -n "$whole" "$here/$1")
    is "$1: executes nothing twice" "$(grep -c '"warm-up"' "$here/$1") $(grep '"defaults","wanted"' "$here/$1" | wc -l) $(count "$1" cycle)" '6 18 60'
    ok "$1: ends with a result" grep -q '"type":"result".*"complete":true' "$here/$1"
}
begin killed --workload "$here/tpch" "${short[@]}"
wait_for killed cycle 25
kill -9 $client
wait $client 2>/dev/null
cp "$here/killed" "$here/killed.dead"
printf '{"type":"execution","que' >>"$here/killed" # as if it had died while it wrote
resumed killed

begin stopped --workload "$here/tpch" "${short[@]}"
wait_for stopped execution 40
kill -INT $client
wait $client
is 'Ctrl-C: exit status' $? 130
ok 'Ctrl-C: says how to go on' said stopped 'nothing is lost: anneal --resume'
ok 'Ctrl-C: reports' test -s "$here/stopped.out"
cp "$here/stopped" "$here/stopped.dead"
resumed stopped

begin restarted --workload "$here/tpch" "${short[@]}"
wait_for restarted execution 20
$AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -l "$SERVER_LOG" -m immediate -w restart >/dev/null 2>&1
wait $client
is 'restart of the server: goes on' $? 0
ok 'restart of the server: says so' said restarted 'connected again'
is 'restart of the server: nothing twice' "$(grep -c '"warm-up"' "$here/restarted")" 6

# A file that may not grow is a full disk without being root.
(ulimit -f 24; calibrate full --workload "$here/tpch" "${short[@]}")
is 'full disk: exit status' $? 1
ok 'full disk: says so' said full "cannot write $here/full: File too large; what was measured before is kept"
cp "$here/full" "$here/full.dead"
resumed full

# A real one, where a file system can be made.
mkdir "$here/disk"
if mount -t tmpfs -o size=32k none "$here/disk" 2>/dev/null; then
    at_exit+=("umount '$here/disk'")
    "$program" anneal --out "$here/disk/file" --workload "$here/tpch" "${short[@]}" >"$here/disk.out" 2>"$here/disk.said"
    is 'no space left: exit status' $? 1
    ok 'no space left: says so' said disk "cannot write $here/disk/file: No space left on device; what was measured before is kept"
    cp "$here/disk/file" "$here/space.dead"
    cp "$here/disk/file" "$here/space"
    resumed space
fi

begin gone --workload "$here/tpch" "${short[@]}" --reconnect 1
wait_for gone execution 20
$AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -m immediate -w stop >/dev/null 2>&1
wait $client
is 'a server that does not come back: exit status' $? 1
ok 'a server that does not come back: says so' said gone 'the server did not come back within 1 s'
$AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -l "$SERVER_LOG" -w start >/dev/null 2>&1
cp "$here/gone" "$here/gone.dead"
resumed gone
sql "ALTER SYSTEM SET work_mem = '1MB'; SELECT pg_reload_conf()" >/dev/null 2>&1 || psql -Xqc "ALTER SYSTEM SET work_mem = '1MB'" -c 'SELECT pg_reload_conf()' >/dev/null
sed '$d' "$here/gone" >"$here/other"
is 'other settings: does not go on' "$(status calibrate other --resume)" 2
ok 'other settings: says which' said other 'work_mem was "256kB" and is now "1MB"'
psql -Xqc 'ALTER SYSTEM RESET work_mem' -c 'SELECT pg_reload_conf()' >/dev/null

# --- passwords ---

psql -Xq -c "CREATE ROLE secret LOGIN PASSWORD 'open sesame'" -c 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO secret'
$AS_SERVER sed -i '1i local all secret scram-sha-256' "$SERVER_DATA/pg_hba.conf"
sql 'SELECT pg_reload_conf()' >/dev/null
until ! psql -Xqw -U secret -c 'SELECT' >/dev/null 2>&1; do sleep 0.1; done
few=(--workload "$here/keys" --cycles 5 --harvest 2 --rounds 2 --settle 2 --quiet)
is 'no password: exit status' "$(status calibrate without -U secret -w "${few[@]}")" 1
ok 'no password: says so' said without 'no password supplied'
PGPASSWORD='guess' calibrate wrong -U secret "${few[@]}"
is 'a wrong password: exit status' $? 1
ok 'a wrong password: says so' said wrong 'password authentication failed for user "secret"'
PGPASSWORD='open sesame' ok 'a password of the environment' calibrate right -U secret "${few[@]}"
ok 'is not kept' test "$(grep -c sesame "$here"/right*)" = "$(printf '%s:0\n' "$here"/right*)"
# (on a terminal of its own)
typed() {
    local end=$((SECONDS + 20))
    until grep -q 'Password:' "$here/typed" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; do sleep 0.1; done
    echo 'open sesame'
}
typed | script -qefc "'$program' anneal --out '$here/asked' -U secret ${few[*]@Q}" "$here/typed" >/dev/null
is 'a password of the terminal: exit status' $? 0
ok 'a password of the terminal: it is used' grep -q '"type":"result"' "$here/asked"
is 'a password of the terminal: it is not shown' "$(grep -c sesame "$here/typed" "$here/asked" | tr '\n' ' ')" "$here/typed:0 $here/asked:0 "

# --- one at a time ---

psql -Xqc 'CREATE DATABASE elsewhere'
begin first --workload "$here/tpch" --cycles 100000 --quiet
wait_for first execution 1
is 'a second calibration: refused' "$(status calibrate second --workload "$here/tpch")" 1
ok 'a second calibration: says why' said second 'another calibration runs in this database (server process '
query 'SELECT 1'
is 'in another database: refused' "$(status calibrate second --workload "$here/bad" -d elsewhere)" 1
ok 'in another database: says why' said second 'another calibration runs in database "postgres"'
is 'its file: refused' "$(status calibrate first --resume)" 1
kill -INT $client
wait $client
is 'no lock is left' "$(sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")" 0

# --- some of it never ends ---

mkdir "$here/mixed"
cp "$here/keys/order.sql" "$here/mixed"
echo 'SELECT count(*) FROM lineitem, lineitem a, lineitem b' >"$here/mixed/endless.sql"
ok 'goes on without it' calibrate most --workload "$here/mixed" --timeout 0.3 --cycles 5 --harvest 2 --rounds 2
ok 'says so' said most 'endless is left out'
is 'settings are what they were' "$(settings)" "$before"
query 'UPDATE region SET r_comment = r_comment'
ok 'writes, when told' calibrate writing --workload "$here/bad" --allow-writes --cycles 5 --harvest 2 --rounds 2
is 'which are rolled back' "$(sql "SELECT count(*) FROM region WHERE xmax <> 0 AND pg_xact_status(xmax::text::xid8) = 'committed'")" 0

# --- from pg_stat_statements ---

if [ "$preload" != gpuscan ]; then
    refused 'no extension' 'pg_stat_statements is not in this database: CREATE EXTENSION' --workload pg_stat_statements
    psql -Xqc 'CREATE EXTENSION pg_stat_statements' -c 'SELECT pg_stat_statements_reset()' >/dev/null
    refused 'nothing seen' 'pg_stat_statements has no query of this database that can be used' --workload pg_stat_statements
    for key in 1 2 3; do
        sql "SELECT count(*), 'a' || o_comment FROM orders JOIN customer ON o_custkey = c_custkey WHERE c_mktsegment = 'BUILDING' AND o_orderdate >= date '1994-01-01' AND o_orderdate < date '1994-0$key-03' AND o_orderpriority IN ('1-URGENT', '2-HIGH') GROUP BY o_comment ORDER BY 1 DESC LIMIT 5"
    done >/dev/null
    for query in 'SELECT * FROM region' "SELECT * FROM part WHERE p_name LIKE '%green%'" 'SELECT count(*) FROM part WHERE p_size + 1 < 7' \
        'UPDATE region SET r_comment = r_comment' 'SELECT count(*) FROM pg_class'; do sql "$query" >/dev/null; done
    psql -XqU analyst -c 'SELECT count(*) FROM nation WHERE n_regionkey = 1' >/dev/null
    ok 'from pg_stat_statements' calibrate seen --workload pg_stat_statements "${short[@]}" --cycles 20
    ok 'a pattern is left out' grep -qE 'left out: query .*LIKE .*the value of \$1 is not known' "$here/seen.said"
    ok 'so is what is computed' grep -qE 'left out: query .*p_size \+ .*the value of \$' "$here/seen.said"
    ok 'others are taken' said seen '3 queries of pg_stat_statements are taken'
    query_of() { head -n 1 "$here/seen" | psql -XAtq -v ON_ERROR_STOP=1 -v j="$(head -n 1 "$here/seen")" <<<"SELECT q->>'sql', q->>'weight' FROM json_array_elements(:'j'::json->'queries') q WHERE q->>'sql' LIKE '%$1%'"; }
    is 'its calls are its weight' "$(query_of customer | tail -n 1 | sed 's/.*|//')" 3.0
    ok 'usual values' grep -qE "c_mktsegment = CAST\('[A-Z]+ *' AS bpchar\) AND o_orderdate >= CAST\(CAST\('199[0-9]-[0-9-]+' AS date\) AS date *\) AND .*LIMIT CAST\('[1-5]' AS bigint\)" <(query_of customer)
    is 'those of the same column differ' "$(query_of customer | grep -oE "IN \(.*ORDER" | grep -oE "'[0-9]-[^']*'" | sort -u | wc -l)" 2
    ok 'the report has them' grep -qE '^query +defaults .* calls$' "$here/seen.out"
    ok 'only the one' calibrate top --workload pg_stat_statements --top 1 --cycles 2 --harvest 2 --rounds 2 --settle 0
    is 'has one' "$(head -n 1 "$here/top" | grep -o '"weight"' | wc -l)" 1
    ok 'as one that sees its own only' test "$(status calibrate mine --workload pg_stat_statements --cycles 2 --harvest 2 --rounds 2 --settle 0 -U analyst)" = 0
    ok 'and says that there are others' grep -qE '[0-9]+ statements of other users are not shown to this role: GRANT pg_read_all_stats' "$here/mine.said"
    is 'nothing of the calibrations is counted' "$(sql "SELECT count(*) FROM pg_stat_statements WHERE query LIKE 'EXPLAIN (FORMAT%' AND userid = 'postgres'::regrole")" 0
    $AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -l "$SERVER_LOG" -o '-c shared_preload_libraries=gpuscan' -m fast -w restart >/dev/null 2>&1
    refused 'not loaded' 'pg_stat_statements must be loaded via' --workload pg_stat_statements
fi

# --- apply and undo ---

psql -Xqc 'ALTER SYSTEM SET random_page_cost = 900' -c 'SELECT pg_reload_conf()' >/dev/null
wait_until 10 "SELECT current_setting('random_page_cost') = '900'"
before=$(settings)
ok 'from bad settings' calibrate gain --model original --workload "$here/keys" "${short[@]}" --rounds 6
is 'a gain' "$("$program" report "$here/gain" --format json | grep -c '"changed": true')" 2
apply() { "$program" "$@" >"$here/apply.out" 2>"$here/apply.said" </dev/null; }
is 'asks before' "$(status apply apply "$here/gain")" 1
ok 'shows the difference' grep -qE '^  random_page_cost +900 -> [0-9.]+$' "$here/apply.out"
is 'and changes nothing' "$(settings)" "$before"
ok 'statements' apply apply "$here/gain" --show
is 'to be read' "$(grep -c '^ALTER SYSTEM SET .*;$' "$here/apply.out")" 5
is 'undo of nothing' "$(status apply undo "$here/gain" --yes)" 1
sed 's/"high":[0-9.e-]*}/"high":1.01}/' "$here/gain" >"$here/noise"
is 'within the noise: refused' "$(status apply apply "$here/noise" --yes)" 1
ok 'within the noise: says so' said apply 'the gain is within the noise'
is 'who may not' "$(status apply apply "$here/gain" --yes -U analyst)" 1
is 'changes nothing' "$(settings)" "$before"
ok 'applies' apply apply "$here/gain" --yes
wanted=$("$program" report "$here/gain" --format settings | sed -n 's/^random_page_cost = //p')
ok 'it is in force' wait_until 10 "SELECT current_setting('random_page_cost')::float8 = $wanted"
is 'not twice' "$(status apply apply "$here/gain" --yes)" 1
psql -Xqc 'ALTER SYSTEM SET cpu_tuple_cost = 0.5' -c 'SELECT pg_reload_conf()' >/dev/null
is 'undo sees what others did' "$(status apply undo "$here/gain" --yes)" 1
ok 'and says so' said apply 'cpu_tuple_cost has been changed to 0.5 since'
ok 'undoes' apply undo "$here/gain" --yes --force
ok 'it is as it was' wait_until 10 "SELECT current_setting('random_page_cost') = '900' AND current_setting('cpu_tuple_cost') = '0.01'"
is 'all of it' "$(settings)" "$before"
is 'in the file too' "$(grep -c _cost "$SERVER_DATA/postgresql.auto.conf")" 1
psql -Xqc 'CREATE ROLE owner LOGIN' -c 'ALTER DATABASE postgres OWNER TO owner'
ok 'five weights of pages' apply apply "$here/whole" --yes --force
ok 'are in force' wait_until 10 "SELECT current_setting('gpuscan.seq_read_page_cost') = '1'"
ok 'undone' apply undo "$here/whole" --yes
ok 'are gone' wait_until 10 "SELECT current_setting('gpuscan.seq_read_page_cost') = '-1'"
ok 'for the database, by its owner' apply apply "$here/gain" --yes --scope database -U owner
is 'it is in force there' "$(sql "SELECT current_setting('random_page_cost')::float8 = $wanted")" t
ok 'and back' apply undo "$here/gain" --yes -U owner
is 'as it was' "$(settings)" "$before"
nothing_in_log 'PANIC|TRAP|leak' 'nothing bad in the log'
