#!/usr/bin/env bash
# 16 MB of shared_buffers, a table several times as large, fifty sessions at once, some of them writing: nobody ever
# runs out of buffers to pin, and every answer is right.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'shared_buffers = 16MB' 'max_connections = 120' 'gpuscan.device = host' 'gpuscan.cache_size = 8MB'
psql -Xq -v ON_ERROR_STOP=1 -f test/stress/setup.sql 2>"$tap_files/setup.log" || { cat "$tap_files/setup.log"; exit 1; }
sql "CREATE TABLE big AS SELECT i AS id, i % 97 AS k, i::int8 AS v, repeat('x', 60) AS pad FROM generate_series(1, 400000) i;
     VACUUM (FREEZE, ANALYZE) big;
     CREATE FUNCTION big_check(low int) RETURNS void LANGUAGE plpgsql AS \$\$
     DECLARE
         c int8;
         s numeric;
     BEGIN
         SELECT count(*), sum(v) INTO c, s FROM big WHERE id > low;
         IF c <> 400000 - low OR s <> 80000200000 - low::numeric * (low + 1) / 2 THEN
             RAISE EXCEPTION 'wrong answer: % %', c, s;
         END IF;
     END \$\$"
ok 'the table is larger than shared_buffers' test "$(sql "SELECT pg_relation_size('big') > 2 * 16 * 1024 * 1024")" = t
cat >"$tap_files/reader.sql" <<'SQL'
\set which random(0, 5)
\set low random(0, 399999)
SELECT big_check(:low);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT stress_check(:which);
COMMIT;
SQL
fragments=$(sql 'SELECT fragments FROM gpuscan.stat')
PGOPTIONS='-c gpuscan.offload=force' pgbench -n -f "$tap_files/reader.sql" -c 47 -j 1 -T 25 --max-tries=100 >"$tap_files/readers.log" 2>&1 &
readers=$!
pgbench -n -f test/stress/writer.sql -c 2 -j 1 -T 25 --max-tries=100 >"$tap_files/writers.log" 2>&1 &
writers=$!
pgbench -n -f test/stress/vacuum.sql -c 1 -j 1 -T 25 >"$tap_files/vacuum.log" 2>&1 &
vacuum=$!
wait "$readers"
result $? 'readers'
wait "$writers"
result $? 'writers'
wait "$vacuum"
result $? 'vacuum'
! grep -hE 'ERROR|aborted|FATAL' "$tap_files"/*.log | sort | uniq -c | head -n 5 | grep .
result $? 'no query failed'
note "$(grep 'actually processed' "$tap_files/readers.log"); $(sql "SELECT fallbacks || ' of ' || fragments || ' fragments fell back' FROM gpuscan.stat")"
ok 'the device was used' test "$(sql 'SELECT fragments FROM gpuscan.stat')" -gt $((fragments + 50))
nothing_in_log 'no unpinned buffers|PANIC|TRAP|leak|was terminated' 'no lack of buffers in the log'
is 'in the end the device answers' "$(sql "SELECT check_query('SELECT k, count(*), sum(v) FROM big GROUP BY k')")" 'ok (97 rows)'
