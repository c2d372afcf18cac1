#!/usr/bin/env bash
# gpuscan-calibrate measure against a small server: values for every tier, scratch tables that are gone afterwards whatever happens, what a
# role, a standby or a server without a device cannot, and the way into the configuration and the profile, and back. No times are judged.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

make -s PG_CONFIG="${PG_CONFIG:-pg_config}" calibrate || exit 1
program=${BUILD:-build}/calibrate/gpuscan-calibrate
start_server 'gpuscan.device = host' "gpuscan.cost_profile_file = 'machine.profile'" 'shared_buffers = 32MB' 'max_parallel_workers_per_gather = 0' \
    'autovacuum = off' 'wal_level = replica' 'max_wal_senders = 4' 'hot_standby = on'
here=$tap_files
wait_until 30 "SELECT (pg_stat_file('machine.profile', true)).size > 0" || exit 1
psql -Xq -v ON_ERROR_STOP=1 -c "CREATE TABLE own AS SELECT i, repeat('y', 200) AS p FROM generate_series(1, 40000) i" -c 'VACUUM (ANALYZE) own' \
    -c 'CREATE ROLE analyst LOGIN' -c 'GRANT SELECT ON own TO analyst' || exit 1

# measure NAME OPTION...: with the file NAME; what it says goes to NAME.said and NAME.out
measure() {
    local name=$1
    shift
    "$program" measure --out "$here/$name" --rows 20000 --storage-time 2 "$@" >"$here/$name.out" 2>"$here/$name.said"
}
status() {
    "$@"
    echo $?
}
said() { grep -qF -- "$2" "$here/$1.said"; }
schemas() { sql "SELECT count(*) FROM pg_namespace WHERE nspname = 'gpuscan_calibrate_scratch'"; }
settings() { sql "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings WHERE name LIKE '%page_cost' OR name LIKE 'cpu_%_cost'"; }
unit() { sql "SELECT round(value::numeric, 3) FROM gpuscan.cost_profile WHERE name = 'ns_per_unit'"; }
before=$(settings)

# --- the whole way ---

ok 'measures' measure whole --profile "$here/profile"
is 'no table is left' "$(schemas)" 0
is 'settings are what they were' "$(settings)" "$before"
values() { psql -XAtq -v j="$("$program" report "$here/$1" --format json)" <<<"SELECT count(*) FROM json_array_elements(:'j'::json->'values') v WHERE $2"; }
ok 'the processor' test "$(values whole "v->>'tier' = 'processor' AND v->>'source' = 'measured'")" -ge 2
is 'storage: five settings' "$(values whole "v->>'tier' = 'storage' AND v->>'name' LIKE 'gpuscan.%'")" 5
ok 'the device: its weights are there' test "$(values whole "v->>'tier' = 'host'")" -ge 20
ok 'some are measured' test "$(values whole "v->>'tier' = 'host' AND v->>'source' = 'measured'")" -ge 5
ok 'some are not, and say why' test "$(values whole "v->>'source' = 'kept' AND v->>'note' <> ''")" -ge 5
is 'steps of the executor: all of them' "$(values whole "v->>'tier' = 'server'")" "$(sql "SELECT count(*) FROM gpuscan.cost_profile WHERE device = 'server'")"
ok 'most are measured' test "$(values whole "v->>'tier' = 'server' AND v->>'source' = 'measured'")" -ge 10
ok 'by most of the queries' test "$(grep -c '"type":"left out".*"part":"steps"\|"part":"steps".*"type":"left out"' "$here/whole")" -le 15
samples() { grep '"type":"sample"' "$here/$1" | grep '"part":"device"' | grep -- "$2"; }
ok 'joins build their tables in each execution' test "$(samples whole '"query":"[^"]*join' | grep -cv '"rows_built":0\.0')" -ge 4
is 'all of them' "$(grep '"type":"left out"' "$here/whole" | grep -c '"query":"[^"]*join\|it was kept')" 0
is 'no team brings so few pages' "$(samples whole 'in a team' | wc -l)" 0
ok 'is told so' said whole '4 of 4 queries for feeding workers are among them'
is 'weights of a team are kept' "$(values whole "v->>'tier' = 'host' AND v->>'name' IN ('page_in_team', 'team_started') AND v->>'source' = 'kept'")" 2
is 'intervals hold their values' "$(values whole "(v->>'low')::float8 > (v->>'value')::float8 OR (v->>'high')::float8 < (v->>'value')::float8")" 0
is 'nothing is negative' "$(values whole "(v->>'value')::float8 < 0 AND v->>'source' = 'measured'")" 0
ok 'a report' grep -q '^cpu\|^processor' "$here/whole.out"
is 'the same later' "$("$program" report "$here/whole")" "$(<"$here/whole.out")"
is 'settings to be set' "$("$program" report "$here/whole" --format settings | sed 's/^/SET /; s/$/;/' | psql -XAtq -v ON_ERROR_STOP=1 2>&1)" ''
ok 'with steps' grep -q '^row_hashed = .* measured$' "$here/profile"
ok 'a profile in a file' grep -q '^ns_per_unit = ' "$here/profile"
is 'an existing file is not overwritten' "$(status measure whole)" 1
is 'no page for a browser' "$(status "$program" report "$here/whole" --format html 2>/dev/null)" 2
is 'anneal does not go on with it' "$(status "$program" anneal --resume --out "$here/whole" 2>/dev/null)" 2
echo 'SELECT count(*) FROM own WHERE i < 100' >"$here/q.sql"
from_it() { "$program" anneal --workload "$here/q.sql" --start-from "$here/whole" --out "$here/anneal" --cycles 2 --period 2 --harvest 2 --rounds 2 --quiet >/dev/null; }
ok 'a search starts from it' from_it
is 'with its weights' "$(sed -n 's/^cpu_tuple_cost = //p' <("$program" report "$here/whole" --format settings))" \
    "$(psql -XAtq -v j="$("$program" report "$here/anneal" --format json)" <<<"SELECT :'j'::json->'start'->>'cpu_tuple_cost'")"

# --- apply and undo ---

apply() { "$program" "$@" >"$here/apply.out" 2>"$here/apply.said" </dev/null; }
old=$(unit)
sed 's/\("name":"ns_per_unit",[^}]*"value":\)[0-9.e+-]*,"low":[0-9.e+-]*,/\11000.0,"low":10.0,/' "$here/whole" >"$here/busy"
is 'times of a busy machine: refused' "$(status apply apply "$here/busy" --yes)" 1
ok 'and says so' said apply 'the machine was too busy while it was measured'
cp "$SERVER_DATA/machine.profile" "$here/old.profile"
is 'asks before' "$(status apply apply "$here/whole" --part all --force)" 1
ok 'shows settings' grep -qE '^  cpu_tuple_cost +\(not set\) -> ' "$here/apply.out"
ok 'and the profile' grep -qE '^  server.ns_per_unit +[0-9.]+ -> ' "$here/apply.out"
ok 'with its steps' grep -qE '^  server.tuple +[0-9.]+ -> ' "$here/apply.out"
is 'changes nothing' "$(settings) $(unit)" "$before $old"
is 'who may not' "$(status apply apply "$here/whole" --part all --force --yes -U analyst)" 1
ok 'statements' apply apply "$here/whole" --part all --force --show
ok 'of the profile, too' grep -q '^SELECT gpuscan.set_cost_profile(' "$here/apply.out"
ok 'applies' apply apply "$here/whole" --part all --force --yes
wanted=$(sed -n 's/^ns_per_unit = \([0-9.e+]*\) .*/\1/p' "$here/profile")
ok 'the profile is in force' wait_until 10 "SELECT value = $wanted FROM gpuscan.cost_profile WHERE name = 'ns_per_unit'"
ok 'its steps are' test "$(sql "SELECT value FROM gpuscan.cost_profile WHERE device = 'server' AND name = 'tuple'")" = "$(sed -n 's/^tuple = \([0-9.e+]*\) .*/\1/p' "$here/profile")"
ok 'settings are' wait_until 10 "SELECT current_setting('gpuscan.seq_write_page_cost')::float8 > 0"
ok 'the profile that was there is kept' cmp "$here/old.profile" "$SERVER_DATA/machine.profile.previous"
is 'nothing else is left there' "$(cd "$SERVER_DATA" && echo machine.profile*)" 'machine.profile machine.profile.previous'
is 'not twice' "$(status apply apply "$here/whole" --part all --force --yes)" 1
echo '# mine' >>"$SERVER_DATA/machine.profile"
is 'undo sees what others did' "$(status apply undo "$here/whole" --yes)" 1
ok 'and says so' said apply 'the profile has been changed since'
ok 'undoes' apply undo "$here/whole" --yes --force
ok 'the profile is back' wait_until 10 "SELECT round(value::numeric, 3) = $old FROM gpuscan.cost_profile WHERE name = 'ns_per_unit'"
ok 'as it was' cmp "$here/old.profile" "$SERVER_DATA/machine.profile"
ok 'settings are back' wait_until 10 "SELECT current_setting('gpuscan.seq_write_page_cost') = '-1'"
is 'all of them' "$(settings)" "$before"
ok 'the profile alone' apply apply "$here/whole" --force --yes
is 'sets nothing' "$(settings)" "$before"
ok 'undone' apply undo "$here/whole" --yes

# --- gpuscan.set_cost_profile ---

fails() { [[ $(psql -XAtq -c "$1" 2>&1) == *"$2"* ]]; }
ok 'a broken profile is refused' fails "SELECT gpuscan.set_cost_profile(E'[host]\ncondition = x')" 'profile, line 2: "x" is not a number'
ok 'so is an unknown name' fails "SELECT gpuscan.set_cost_profile(E'[host]\nno_such = 1')" 'profile, line 2: unknown name "no_such"'
ok 'an empty one, too' fails "SELECT gpuscan.set_cost_profile(E' \\n')" 'the profile is empty'
ok 'and changes nothing' cmp "$here/old.profile" "$SERVER_DATA/machine.profile"
ok 'not for everybody' fails "SET ROLE analyst; SELECT gpuscan.set_cost_profile('')" 'permission denied for function set_cost_profile'
ok 'the view is' test "$(sql "SET ROLE analyst; SELECT count(*) > 40 FROM gpuscan.cost_profile")" = t

# --- deaths ---

begin() {
    "$program" measure --out "$here/$1" --rows 400000 --quiet >"$here/$1.out" 2>"$here/$1.said" &
    client=$!
    wait_until 30 "SELECT count(*) = 1 FROM pg_namespace WHERE nspname = 'gpuscan_calibrate_scratch'"
}
for signal in INT TERM; do
    begin stopped
    sleep 0.3
    kill -$signal $client
    wait $client
    is "$signal: exit status" $? 130
    is "$signal: no table is left" "$(schemas)" 0
    ok "$signal: no file either" test ! -e "$here/stopped"
done
"$program" measure --out "$here/killed" --rows 20000 --repeats 1000 --quiet >/dev/null 2>&1 &
client=$!
wait_until 30 "SELECT count(*) = 1 FROM pg_namespace WHERE nspname = 'gpuscan_calibrate_scratch'"
sleep 0.5
kill -9 $client
wait $client 2>/dev/null
is 'kill -9: tables are left' "$(schemas)" 1
is 'kill -9: its file tells' "$("$program" report "$here/killed" | grep -c 'stopped before its end')" 1
is 'kill -9: which is not applied' "$(status apply apply "$here/killed" --yes)" 1
ok 'the next one drops them' measure next
is 'and its own' "$(schemas)" 0
sql 'CREATE SCHEMA gpuscan_calibrate_scratch'
is 'a schema of that name that is not ours: refused' "$(status measure mine)" 1
ok 'says so' said mine "not of this program's making"
is 'it is there still' "$(schemas)" 1
sql 'DROP SCHEMA gpuscan_calibrate_scratch'

# --- what cannot be ---

ok 'a role that may create nothing' measure little -U analyst
ok 'is told why' said little 'this role may not create a schema in this database'
ok 'has the processor' test "$(values little "v->>'name' = 'cpu_tuple_cost' AND v->>'source' = 'measured'")" = 1
ok 'and no measured device' test "$(values little "v->>'tier' = 'host' AND v->>'source' = 'measured'")" = 0
sql 'REVOKE EXECUTE ON FUNCTION gpuscan.explain_cost(text) FROM PUBLIC'
ok 'a role that may not count steps' measure refused -U analyst
ok 'is told so' said refused "steps of PostgreSQL's executor are not measured: this role may not use"
is 'and keeps them' "$(values refused "v->>'tier' = 'server' AND v->>'name' <> 'ns_per_unit'")" 0
sql 'GRANT EXECUTE ON FUNCTION gpuscan.explain_cost(text) TO PUBLIC'
psql -Xqc 'CREATE DATABASE plain'
ok 'a database without the extension' measure plain -d plain
ok 'is told so' said plain 'this database has no extension gpuscan'
is 'without pages of its own' "$(values plain "v->>'name' = 'gpuscan.seq_read_page_cost' AND v->>'source' = 'kept'")" 1
ok 'without a device' measure none --set gpuscan.device=none
ok 'which is told' said none 'no device is measured: gpuscan.device is none'
is 'its weights are not among the values' "$(values none "v->>'tier' = 'host'")" 0

primary_port=$PGPORT standby_port=$((PGPORT + 1)) standby=$SERVER/standby
$AS_SERVER "$SERVER_BIN/pg_basebackup" -h "$PGHOST" -p "$primary_port" -U postgres -D "$standby" -R -X stream -c fast --no-sync || exit 1
at_exit+=("\$AS_SERVER '$SERVER_BIN/pg_ctl' -D '$standby' -m immediate -w stop >/dev/null 2>&1")
$AS_SERVER bash -c "echo 'port = $standby_port' >>'$standby/postgresql.conf'"
$AS_SERVER "$SERVER_BIN/pg_ctl" -D "$standby" -l "$SERVER/standby.log" -w -t 60 start >/dev/null || { tail "$SERVER/standby.log"; exit 1; }
ok 'a standby' measure standby -p "$standby_port"
ok 'says that it is one' said standby 'the server is a standby'
ok 'sees pages and temporary files' test "$(values standby "v->>'tier' = 'storage' AND v->>'source' = 'measured'")" -ge 2
echo 'SELECT count(*) FROM own WHERE i < 100' >"$here/own.sql"
search() { "$program" anneal --out "$here/walk" --workload "$here/own.sql" -p "$standby_port" --cycles 10 --harvest 5 --settle 5 --rounds 2 --quiet >"$here/search.log" 2>&1 || { sed 's/^/# /' "$here/search.log"; return 1; }; }
ok 'a search on it' search
ok 'which ends' grep -q '"type":"result".*"complete":true' "$here/walk"
nothing_in_log 'PANIC|TRAP|leak' 'nothing bad in the log'
