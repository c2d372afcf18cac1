#!/usr/bin/env bash
# More fragments than request slots: they wait in the order in which they came, as long as their CPU plans would take longer, and can be
# cancelled meanwhile. The same while the device process starts, and for fragments under which it dies.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.max_concurrent_fragments = 1' 'gpuscan.device = host' 'gpuscan.host_threads = 1' 'max_connections = 40'
sql "CREATE TABLE fact (id int, k int, v int8);
     INSERT INTO fact SELECT i, i % 500, i * 3 FROM generate_series(1, 1000000) i;
     CREATE TABLE twins AS SELECT 1 AS k, i AS v FROM generate_series(1, 300000) i;
     CREATE TABLE small AS SELECT i AS id FROM generate_series(1, 1000) i;
     VACUUM (FREEZE, ANALYZE) fact; VACUUM (FREEZE, ANALYZE) twins; VACUUM (FREEZE, ANALYZE) small"
export PGOPTIONS='-c gpuscan.offload=force'
query='SELECT k, count(*), sum(v) FROM fact GROUP BY k'
digest="SELECT md5(string_agg(x::text, ' ' ORDER BY x::text)) FROM ($query) x"
endless='SELECT sum(a.v - b.v), count(*) FROM twins a JOIN twins b ON a.k = b.k'
fallbacks() { sql 'SELECT fallbacks FROM gpuscan.stat'; }
answer=$(PGOPTIONS='-c gpuscan.offload=off' sql "$digest")
is 'the query runs on the device' "$(sql "$digest")" "$answer"
sql "CREATE TABLE wide AS SELECT i % 100 AS k, i AS v FROM generate_series(1, 60000) i; VACUUM (FREEZE, ANALYZE) wide"
# (36 million pairs: some 0.1 s on the device, seconds by the CPU plan, so that waiting pays though the machine stops a session for a while)
pairs='SELECT count(*), sum(a.v + b.v) FROM wide a JOIN wide b ON a.k = b.k'
wanted=$(sql "$pairs")
echo "$pairs;" >"$tap_files/pairs.sql"
pgbench -n -f "$tap_files/pairs.sql" -t 20 >/dev/null 2>&1 # how long a slot is held is known from now on

# ---- a slot for twenty sessions ----
before=$(fallbacks)
pgbench -n -f "$tap_files/pairs.sql" -c 20 -j 2 -T 10 -l --log-prefix="$tap_files/latency" >"$tap_files/pgbench.log" 2>&1
result $? 'twenty sessions share a slot'
is 'none of them falls back' "$(fallbacks)" "$before"
# In the order of arrival nobody is overtaken: a round of twenty gives each session one turn.
turns=$(cat "$tap_files"/latency* | awk '{ n[$1]++ } END { for (c in n) { if (min == "" || n[c] < min) min = n[c]; if (n[c] > max) max = n[c] } print min, max }')
note "turns of a session: ${turns/ / to }"
ok 'every session gets as many turns as any other' test "${turns#* }" -le $((${turns% *} + 2))

# ---- who does not wait ----
hold() { # QUERY: a session that holds the slot
    PGAPPNAME=holder psql -XAtqc "$1" >"$tap_files/holder.out" 2>&1 &
    holder=$!
    wait_until 10 "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'holder' AND wait_event = 'GpuscanDevice' OR application_name = 'holder' AND wait_event = 'Extension'"
    sleep 1
}
release() {
    sql "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder' AND state = 'active'" >/dev/null
    wait "$holder"
}
hold "$endless"
before=$(fallbacks)
is 'a query that PostgreSQL answers at once' "$(sql 'SELECT count(*), sum(id) FROM small')" '1000|500500'
is 'does not wait' "$(fallbacks)" $((before + 1))
is 'a query that waits in vain is answered' "$(sql "$digest")" "$answer"
is 'by PostgreSQL' "$(fallbacks)" $((before + 2))

# ---- cancel ----
# A CPU plan that would take for ever, behind a query that takes for ever: it waits.
PGAPPNAME=waiter psql -XAtq -c "$endless" >"$tap_files/waiter.out" 2>&1 &
waiter=$!
sleep 1
begin=$(milliseconds)
sql "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'waiter'" >/dev/null
wait "$waiter"
took=$(($(milliseconds) - begin))
note "cancel of a fragment that waits: $took ms"
ok 'a fragment that waits can be cancelled' grep -q 'canceling statement due to user request' "$tap_files/waiter.out"
ok 'within a second' test "$took" -lt 1000
is 'and has waited' "$(fallbacks)" $((before + 2))
PGAPPNAME=waiter psql -XAtq -c "$endless" >"$tap_files/waiter.out" 2>&1 &
waiter=$!
sleep 1
sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'waiter'" >/dev/null
wait "$waiter"
release
is 'nobody stays in the queue' "$(sql "$digest")" "$answer"
is 'and the slot is found' "$(fallbacks)" $((before + 2))

# ---- a storm ----
# Sessions that come, wait, are cancelled and terminated at any moment: nobody is forgotten in the queue, no slot is lost.
before=$(fallbacks)
end=$((SECONDS + 15))
for i in {1..12}; do
    while [ "$SECONDS" -lt "$end" ]; do
        got=$(PGAPPNAME=storm psql -XAtq -c "$pairs" 2>"$tap_files/storm.$i")
        [ "$got" = "$wanted" ] || grep -qE 'canceling statement|terminating connection' "$tap_files/storm.$i" || { cat "$tap_files/storm.$i"; echo "# $got"; echo wrong >>"$tap_files/storm.wrong"; }
    done &
done
waiting=0 signals=0
while [ "$SECONDS" -lt "$end" ]; do
    for function in pg_cancel_backend pg_terminate_backend; do
        n=$(sql "SELECT count($function(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE application_name = 'storm' AND wait_event IN ('GpuscanDevice', 'Extension') ORDER BY random() LIMIT 2) w")
        signals=$((signals + n))
    done
    n=$(sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'storm' AND wait_event IN ('GpuscanDevice', 'Extension')")
    [ "$n" -le "$waiting" ] || waiting=$n
    sleep 0.05
done
wait
note "up to $waiting sessions waited at once; $signals signals; $(($(fallbacks) - before)) fallbacks"
ok 'many sessions were waiting' test "$waiting" -ge 6
ok 'and were disturbed' test "$signals" -ge 20
ok 'every answer was right, or a clean error' test ! -e "$tap_files/storm.wrong"
before=$(fallbacks)
is 'afterwards nobody is in the queue' "$(sql "$pairs")" "$wanted"
is 'and the slot is there' "$(fallbacks)" "$before"

# ---- a death ----
device() { sql "SELECT pid FROM gpuscan.devices WHERE kind = 'host' AND state = 'ready'"; }
slow='SELECT a.k, count(*), sum(b.v) FROM fact a JOIN fact b ON a.k = b.k WHERE b.id <= 30000 GROUP BY a.k'
slow="SELECT md5(string_agg(x::text, ' ' ORDER BY x::text)) FROM ($slow) x"
wanted=$(sql "$slow")
before=$(fallbacks)
psql -XAtqc "$slow" >"$tap_files/slow.out" 2>&1 &
slow_session=$!
sleep 0.2
kill -KILL "$(device)"
wait "$slow_session"
is 'a fragment under which the process was killed' "$(cat "$tap_files/slow.out")" "$wanted"
is 'goes to the next one' "$(fallbacks)" "$before"
is 'the death is counted' "$(sql 'SELECT restarts FROM gpuscan.stat')" 1
