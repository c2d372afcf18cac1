#!/usr/bin/env bash
# The device process is killed again and again (KILL, SEGV, STOP and then KILL) while four sessions run queries: every
# session lives, every answer is right, the server is never restarted, and the device comes back.
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host'
sql "CREATE TABLE fact (id int, k int, v int8, n numeric(10,2), t text);
     INSERT INTO fact SELECT i, i % 500, i * 3, i / 4.0, 't' || i % 300 FROM generate_series(1, 200000) i;
     CREATE TABLE dim AS SELECT i AS k, i % 7 AS grp FROM generate_series(0, 450) i;
     VACUUM (FREEZE, ANALYZE) fact; VACUUM (FREEZE, ANALYZE) dim;
     CREATE TABLE answers (query text PRIMARY KEY, answer text);
     CREATE FUNCTION answer_of(query text) RETURNS text LANGUAGE plpgsql AS \$\$
     DECLARE answer text;
     BEGIN
         EXECUTE format('SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM (%s) x', query) INTO answer;
         RETURN answer;
     END \$\$;
     SET gpuscan.offload = off;
     INSERT INTO answers SELECT q, answer_of(q) FROM unnest(ARRAY['SELECT count(*), sum(v), sum(n), min(t) FROM fact', 'SELECT grp, count(*), sum(n) FROM fact JOIN dim USING (k) GROUP BY grp',
         'SELECT t, count(*), sum(v) FROM fact WHERE k < 300 GROUP BY t', 'SELECT count(*), sum(a.v) FROM fact a JOIN fact b ON a.id = b.id WHERE b.t LIKE ''t1%''',
         'SELECT id, v, n, t, grp FROM fact JOIN dim USING (k) WHERE id % 100 < 10', 'SELECT id, sum(n) OVER (ORDER BY id) FROM fact WHERE k = 7']) q;
     CREATE FUNCTION verify() RETURNS void LANGUAGE plpgsql AS \$\$
     DECLARE
         a answers;
         got text;
     BEGIN
         FOR a IN SELECT * FROM answers LOOP
             got := answer_of(a.query);
             IF got IS DISTINCT FROM a.answer THEN
                 RAISE EXCEPTION 'wrong answer to %', a.query USING DETAIL = left(got, 500), ERRCODE = 'data_corrupted';
             END IF;
         END LOOP;
     END \$\$;"
started=$(sql 'SELECT pg_postmaster_start_time()')
supervisors=$(sql "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity WHERE backend_type LIKE 'gpuscan%'")
restarts=$(sql 'SELECT restarts FROM gpuscan.stat')

echo 'SELECT verify();' >"$tap_files/verify.sql"
PGOPTIONS='-c gpuscan.offload=force' pgbench -n -f "$tap_files/verify.sql" -c 4 -j 1 -T 45 >"$tap_files/pgbench.log" 2>&1 &
sessions=$!

kills=0
pid=0
end=$((SECONDS + 42))
while [ "$SECONDS" -lt "$end" ]; do
    for signal in KILL SEGV TERM 'STOP KILL'; do
        wait_until 20 "SELECT state = 'ready' AND pid <> $pid FROM gpuscan.devices WHERE kind = 'host'" || break 2
        sleep "0.$((RANDOM % 10))"
        pid=$(sql "SELECT pid FROM gpuscan.devices WHERE kind = 'host'")
        for one in $signal; do
            kill "-$one" "$pid"
            [ "$one" != STOP ] || sleep 0.3
        done
        kills=$((kills + 1))
    done
done
wait "$sessions"
ok 'four sessions live through it with right answers' test $?
! grep -E 'ERROR|aborted|server closed|FATAL' "$tap_files/pgbench.log" | head -n 5 | grep .
result $? 'no query failed'
note "$kills kills;$(grep 'actually processed' "$tap_files/pgbench.log" | tr -s ' ')"
ok 'the device process was killed several times' test "$kills" -ge 4
ok 'the device is ready again' wait_until 30 "SELECT state = 'ready' FROM gpuscan.devices WHERE kind = 'host'"
ok 'and answers the next query' wait_until 10 "SELECT plan_of('SELECT count(*), sum(v), sum(n), min(t) FROM fact') = 'device'"
ok 'restarts are counted' test "$(sql 'SELECT restarts FROM gpuscan.stat')" -ge $((restarts + kills))
is 'the server was never restarted' "$(sql 'SELECT pg_postmaster_start_time()')" "$started"
is 'the supervisor is the same' "$(sql "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity WHERE backend_type LIKE 'gpuscan%'")" "$supervisors"
nothing_in_log 'reinitializing|terminating any other|PANIC|TRAP|leak' 'PostgreSQL noticed nothing'
# The queries in a plan that was made before, prepared and cursor alike, survive, too.
pid=$(sql "SELECT pid FROM gpuscan.devices WHERE kind = 'host'")
answer=$(psql -XAtq 2>&1 <<SQL
SET gpuscan.offload = force;
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT count(*), sum(v) FROM fact;
EXECUTE p;
BEGIN;
DECLARE c CURSOR FOR SELECT grp, count(*) FROM fact JOIN dim USING (k) GROUP BY grp ORDER BY grp;
FETCH 1 FROM c;
SET LOCAL work_mem = '64kB';
DECLARE r CURSOR FOR SELECT 'row', n FROM fact WHERE n = 5 ORDER BY n;
DECLARE s CURSOR FOR SELECT a.id FROM fact a JOIN fact b ON a.id = b.id;
MOVE 1000 IN s;
\! kill -9 $pid
FETCH 1 FROM c;
FETCH 1 FROM r;
MOVE 198998 IN s;
CREATE TEMP TABLE left_over (id int);
DO 'DECLARE s refcursor := \$\$s\$\$; id int; BEGIN LOOP FETCH s INTO id; EXIT WHEN NOT FOUND; INSERT INTO left_over VALUES (id); END LOOP; END';
SELECT count(*), count(id) FROM left_over;
EXECUTE p;
COMMIT;
SQL
)
is 'cursor and prepared statement over a kill' "$(tr '\n' ' ' <<<"$answer")" "200000|60000300000 0|26000 1|26000 row|5.00 2|2 200000|60000300000 "

# A process that dies while PostgreSQL evaluates an expression for its pages: the fragment is sent again, and all pages come anew.
for signal in KILL SEGV; do
    form="SELECT left(md5(repeat(t || id, 1000) || '$signal'), 1), count(*) FROM fact GROUP BY 1"
    kept="SELECT pages FROM gpuscan.cached_columns WHERE expression LIKE '%repeat%$signal%'"
    wait_until 30 "SELECT state = 'ready' FROM gpuscan.devices WHERE kind = 'host'"
    sleep 5 # the next one comes at once if this one has lived for so long
    pid=$(sql "SELECT pid FROM gpuscan.devices WHERE kind = 'host'")
    sql "SET gpuscan.offload = force; SELECT answer_of(\$q\$$form\$q\$)" >"$tap_files/fed" 2>&1 &
    feeding=$!
    sleep 1
    is "$signal: nothing is published yet" "$(sql "$kept")" ''
    kill "-$signal" "$pid"
    ok 'the query is still feeding' kill -0 "$feeding"
    wait "$feeding"
    is 'its answer' "$(cat "$tap_files/fed")" "$(sql "SET gpuscan.offload = off; SELECT answer_of(\$q\$$form\$q\$)")"
    is 'the next process has all pages' "$(sql "$kept")" "$(sql "SELECT pg_relation_size('fact') / 8192")"
done
