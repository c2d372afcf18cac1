#!/usr/bin/env bash
# What may befall a table while queries read it on a device, as far as that takes whole servers: old exported snapshots
# beside freezing; a table's end that VACUUM cuts off, rewrites, indexes and partitions, beside writers in few buffers; inserts that fail
# while a table is first read; logical replication's apply; a crash that loses commits; promotion of a standby in the middle of a statement; IDs
# of transactions and multixacts that wrap around, with data checksums. Everywhere the device's answers are compared with PostgreSQL's
# under one snapshot. (Crashes for longer: test/stress/crashes.sh.)
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

# same(queries): raises if the device's answers are not PostgreSQL's. STABLE: one snapshot, the caller's.
same="CREATE FUNCTION same(VARIADIC queries text[]) RETURNS text LANGUAGE plpgsql STABLE AS \$\$
    DECLARE
        query text;
        plain text;
        device text;
    BEGIN
        PERFORM set_config('gpuscan.offload', 'off', true);
        FOREACH query IN ARRAY queries LOOP
            query := format('SELECT string_agg(x::text, E''\n'' ORDER BY x::text) FROM (%s) x', query);
            EXECUTE query INTO plain;
            PERFORM set_config('gpuscan.offload', 'force', true);
            EXECUTE query INTO device;
            PERFORM set_config('gpuscan.offload', 'off', true);
            IF plain IS DISTINCT FROM device THEN -- A partition that has been attached meanwhile is there for the snapshot, too.
                EXECUTE query INTO plain;
            END IF;
            IF plain IS DISTINCT FROM device THEN
                RAISE EXCEPTION 'answers differ for %', query USING DETAIL = format(E'PostgreSQL:\n%s\ndevice:\n%s', left(plain, 500), left(device, 500)),
                    ERRCODE = 'data_corrupted';
            END IF;
        END LOOP;
        RETURN 'same';
    END \$\$"
# The queries about a table as in `live`.
of() { echo "'SELECT count(*), sum(v), min(id), max(id), count(t) FROM $1', 'SELECT k, count(*), sum(v), max(t) FROM $1 GROUP BY k'"; }
# live_table NAME ROWS [MORE]: not vacuumed, in other pages than the last
live_table() {
    sql "CREATE TABLE $1 (id int PRIMARY KEY, k int NOT NULL, v int8, t text) ${3:-} WITH (fillfactor = 80, autovacuum_enabled = off);
         INSERT INTO $1 SELECT i, i % 17, i, 'text ' || i % 7 FROM generate_series(1, $2) i"
}

# crowd NAME CLIENTS SECONDS SQL: a crowd of sessions, which crowds_end waits for
crowd() {
    echo "$4" >"$tap_files/$1.sql"
    pgbench -n -f "$tap_files/$1.sql" -c "$2" -j 1 -T "$3" --max-tries=1000 >"$tap_files/$1.log" 2>&1 &
    crowds+=("$1:$!")
}
crowds=()
# crowds_end NAME: no session of them failed or saw a difference
crowds_end() {
    local one failed=0
    for one in "${crowds[@]}"; do
        if ! wait "${one#*:}" || grep -qE 'ERROR|aborted' "$tap_files/${one%:*}.log"; then
            grep -E -A 8 'ERROR|FATAL|aborted' "$tap_files/${one%:*}.log" | head -n 20 | sed "s/^/# ${one%:*}: /"
            failed=1
        fi
    done
    result "$failed" "$1"
    note "transactions:$(for one in "${crowds[@]}"; do echo " ${one%:*} $(sed -n 's/.*actually processed: //p' "$tap_files/${one%:*}.log")"; done | tr '\n' ',')"
    crowds=()
}
# device_worked NAME FRAGMENTS: since `fragments` was set
fragments=0
device_worked() {
    local now
    now=$(sql 'SELECT fragments FROM gpuscan.stat')
    ok "$1: the device answered at least $2 queries" test $((now - fragments)) -ge "$2"
    fragments=$now
}

start_server 'gpuscan.device = host' 'shared_buffers = 4MB' 'gpuscan.cache_size = 128MB' 'wal_level = logical' 'max_wal_senders = 8' 'hot_standby = on' \
    'max_connections = 60'
sql "$same"

# ---- a snapshot that was exported before everything changes, beside new ones ----
live_table live 12000
coproc exporter { exec psql -XAtq; }
echo 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot();' >&"${exporter[1]}"
read -r -t 20 snapshot <&"${exporter[0]}"
# shellcheck disable=SC2154
exported=$exporter_PID
imported() { sql "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'; $1; COMMIT"; }
then=$(imported "SET LOCAL gpuscan.offload = off; SELECT count(*), sum(v), max(t) FROM live")
for change in 'UPDATE live SET v = v + 1000, t = $$new$$ WHERE id % 40 = 0' 'VACUUM live' 'DELETE FROM live WHERE id BETWEEN 500 AND 900' 'VACUUM (FREEZE) live' \
    'INSERT INTO live SELECT i, 1, 1, $$more$$ FROM generate_series(20001, 23000) i' 'VACUUM (FREEZE, INDEX_CLEANUP on) live' \
    'UPDATE live SET k = 3 WHERE id < 3000' 'VACUUM (FREEZE) live'; do
    sql "$change"
    answers=$(sql "SELECT same($(of live))")-$(imported "SELECT same($(of live))")-$(sql "SELECT same($(of live))")
    [ "$answers" = same-same-same ] || break
done
is 'old and new snapshots beside VACUUM' "$answers" same-same-same
is 'the old one sees what it saw' "$(imported "SET LOCAL gpuscan.offload = force; SELECT count(*), sum(v), max(t) FROM live")" "$then"
echo 'COMMIT; \q' >&"${exporter[1]}"
wait "$exported"
is 'and when it has ended' "$(sql "VACUUM (FREEZE) live; SELECT same($(of live))")" same
device_worked 'snapshots' 40

# ---- updates that fail while a vacuumed table is first read: they add dead tuples to pages that were all-visible ----
live_table aborted 200000
fragments=$(sql 'SELECT fragments FROM gpuscan.stat')
echo "\\set id random(1, 200000)
    BEGIN; UPDATE aborted SET v = 0 WHERE id = :id; INSERT INTO aborted VALUES (-1, 1, 1, 'aborted'); ROLLBACK;" >"$tap_files/aborter.sql"
pgbench -n -f "$tap_files/aborter.sql" -c 1 -R 30 -T 60 >"$tap_files/aborter.log" 2>&1 &
aborter=$!
answers=$(for _ in 1 2 3 4 5 6 7 8; do
    sql 'VACUUM (INDEX_CLEANUP on) aborted; SELECT gpuscan.evict($$aborted$$); SET gpuscan.offload = force; SELECT count(*), sum(v), max(t) FROM aborted'
done | grep '|' | sort | uniq -c | tr -s ' ')
kill "$aborter"
is 'updates that fail while a table is first read' "$answers" ' 8 200000|20000100000|text 6'
is 'after them' "$(sql "SELECT same($(of aborted))")" same
device_worked 'failing updates' 8

# ---- rows that nobody sees any more, whose values out of line are gone while the rows are still there ----
live_table toasted 50
sql "CREATE EXTENSION pageinspect; ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL;
     INSERT INTO toasted SELECT i, 1, 1, repeat(md5(i::text), 300) FROM generate_series(101, 110) i;
     BEGIN; INSERT INTO toasted SELECT i, 1, 1, repeat(md5(i::text), 300) FROM generate_series(201, 210) i; ROLLBACK;
     DELETE FROM toasted WHERE id > 105"
toast=$(sql "SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'toasted'")
sql "VACUUM $toast"
is 'rows without their values' "$(sql "SELECT count(*) FROM heap_page_items(get_raw_page('toasted', 0)) WHERE lp_flags = 1")-$(sql "SELECT count(DISTINCT chunk_id) FROM $toast")" 70-5
is 'are no trouble' "$(sql "SELECT same($(of toasted))")-$(sql "SELECT same($(of toasted), 'SELECT id, length(t) FROM toasted')")" same-same

# ---- everything at once, in few buffers ----
sql "CREATE TABLE scanned AS SELECT i, repeat('x', 100) AS pad FROM generate_series(1, 80000) i"
live_table cut 8000
live_table rewritten 8000
sql "CREATE TABLE parts (id int, k int NOT NULL, v int8, t text) PARTITION BY RANGE (id);
     CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (4000);
     CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (4000) TO (8000);
     INSERT INTO parts SELECT i, i % 17, i, 'text ' || i % 7 FROM generate_series(0, 7999) i"
crowd readers 3 8 "\\set n random(1, 3)
    BEGIN ISOLATION LEVEL REPEATABLE READ;
    \\if :n = 1
    SELECT same($(of cut));
    SELECT pg_sleep(0.02);
    SELECT same($(of cut));
    \\elif :n = 2
    SELECT same($(of rewritten));
    SELECT same($(of rewritten));
    \\else
    SELECT same($(of parts));
    SELECT same($(of parts));
    \\endif
    COMMIT;"
crowd cut 1 8 "INSERT INTO cut SELECT i, 0, 1, 'end' FROM generate_series(10001, 12000) i;
    DELETE FROM cut WHERE id > 10000;
    VACUUM (TRUNCATE) cut;"
crowd writers 2 8 "\\set id random(1, 8000)
    \\set n random(1, 5)
    UPDATE rewritten SET v = v + 1, t = 'new ' || :n WHERE id = :id;
    UPDATE cut SET v = v - 1 WHERE id = :id;
    UPDATE parts SET v = v + 1 WHERE id = :id;
    BEGIN;
    SAVEPOINT s;
    DELETE FROM rewritten WHERE id BETWEEN :id AND :id + 20;
    ROLLBACK TO s;
    UPDATE rewritten SET k = :n WHERE id BETWEEN :id AND :id + 3;
    COMMIT;"
crowd rewrites 1 8 "VACUUM rewritten;
    CREATE INDEX CONCURRENTLY rewritten_v ON rewritten (v);
    VACUUM (FULL) rewritten;
    REINDEX TABLE CONCURRENTLY rewritten;
    BEGIN;
    TRUNCATE rewritten;
    INSERT INTO rewritten SELECT i, 1, 1, 'rolled back' FROM generate_series(1, 500) i;
    SELECT same($(of rewritten));
    ROLLBACK;
    CLUSTER rewritten USING rewritten_pkey;
    DROP INDEX CONCURRENTLY rewritten_v;"
crowd parts 1 8 "ALTER TABLE parts DETACH PARTITION parts_2 CONCURRENTLY;
    UPDATE parts_2 SET v = 0 WHERE id % 500 = 0;
    SELECT pg_sleep(0.05);
    ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (4000) TO (8000);
    VACUUM parts;"
crowd scans 1 8 'SELECT count(pad) FROM scanned;'
crowds_end 'readers beside truncation, rewrites, indexes, partitions, scans'
device_worked 'everything at once' 50

# ---- the tables of a subscription, while its worker applies changes ----
live_table published 6000
sql "CREATE TABLE sums (id int PRIMARY KEY, amount int8); INSERT INTO sums SELECT i, 100 FROM generate_series(1, 1000) i;
     CREATE PUBLICATION everything FOR TABLE published, sums"
sql "CREATE DATABASE subscriber"
sql "SELECT pg_create_logical_replication_slot('subscription', 'pgoutput')" >/dev/null
export PGDATABASE=subscriber
sql "CREATE EXTENSION gpuscan; CREATE TABLE published (id int PRIMARY KEY, k int NOT NULL, v int8, t text); CREATE TABLE sums (id int PRIMARY KEY, amount int8)"
sql "$same"
sql "CREATE SUBSCRIPTION subscription CONNECTION 'host=$PGHOST port=$PGPORT user=$PGUSER dbname=postgres' PUBLICATION everything
     WITH (create_slot = false, slot_name = 'subscription')"
ok 'the subscription has copied its tables' wait_until 60 "SELECT count(*) = 2 AND bool_and(srsubstate IN ('r', 's')) FROM pg_subscription_rel"
PGDATABASE=postgres crowd transfers 2 6 "\\set a random(1, 1000)
    \\set b random(1, 1000)
    \\set x random(1, 50)
    BEGIN ISOLATION LEVEL REPEATABLE READ;
    UPDATE sums SET amount = amount - :x WHERE id = :a;
    UPDATE sums SET amount = amount + :x WHERE id = :b;
    UPDATE published SET v = v + 1, t = 'new' WHERE id = :a;
    DELETE FROM published WHERE id = 3000 + :b;
    INSERT INTO published VALUES (3000 + :b, 1, :x, 'again');
    COMMIT;"
crowd subscribers 2 6 "BEGIN ISOLATION LEVEL REPEATABLE READ;
    SELECT same($(of published), 'SELECT count(*), sum(amount) FROM sums');
    SET LOCAL gpuscan.offload = force;
    SELECT 1 / (sum(amount) = 100000)::int FROM sums;
    COMMIT;"
crowd vacuums 1 6 'VACUUM published; VACUUM (FREEZE) sums; SELECT pg_sleep(0.2);'
crowds_end "readers beside a subscription's worker"
export PGDATABASE=postgres
end_lsn=$(sql 'SELECT pg_current_wal_lsn()')
wait_until 30 "SELECT confirmed_flush_lsn >= '$end_lsn' FROM pg_replication_slots WHERE slot_name = 'subscription'"
result $? 'the subscriber has caught up'
all="SELECT md5(string_agg(p::text, ' ' ORDER BY id)) FROM published p"
is 'publisher and subscriber agree' "$(PGDATABASE=subscriber sql "SET gpuscan.offload = force; $all")" "$(sql "SET gpuscan.offload = off; $all")"
device_worked 'subscription' 20
PGDATABASE=subscriber sql 'DROP SUBSCRIPTION subscription'

# ---- a crash that loses commits which readers have seen ----
live_table lost 5000
sql "SELECT same($(of lost))" >/dev/null
PGOPTIONS='-c synchronous_commit=off' crowd losers 3 20 "\\set id random(1, 5000)
    UPDATE lost SET v = v + 1 WHERE id = :id;"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    answers=$(sql "SELECT same($(of lost))")
    [ "$answers" = same ] || break
done
is 'before the crash' "$answers" same
kill -KILL "$(head -n 1 "$SERVER_DATA/postmaster.pid")"
for one in "${crowds[@]}"; do wait "${one#*:}"; done
crowds=()
restarted() {
    # shellcheck disable=SC2086
    $AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -l "$SERVER_LOG" -w -t 60 start >/dev/null 2>&1
}
for _ in 1 2 3 4 5 6 7 8 9 10; do # (the old server's processes may take a moment to notice)
    restarted && break
    sleep 1
done
fragments=0
ok 'the server starts again' wait_until 30 "SELECT bool_or(state = 'ready') FROM gpuscan.devices"
is 'nothing is cached' "$(sql 'SELECT sum(cache_bytes) FROM gpuscan.devices')" 0
for table in lost cut rewritten live parts; do
    is "after the crash: $table" "$(sql "SELECT same($(of "$table"))")-$(sql "SELECT same($(of "$table"))")" same-same
done

# ---- a standby that is promoted in the middle of statements ----
standby=$SERVER/standby standby_port=$((PGPORT + 1))
# shellcheck disable=SC2086
$AS_SERVER "$SERVER_BIN/pg_basebackup" -h "$PGHOST" -p "$PGPORT" -U postgres -D "$standby" -R -X stream -c fast --no-sync || exit 1
$AS_SERVER bash -c "printf '%s\n' 'port = $standby_port' 'hot_standby_feedback = on' 'max_standby_streaming_delay = 20s' >>'$standby/postgresql.conf'"
at_exit+=("\$AS_SERVER '$SERVER_BIN/pg_ctl' -D '$standby' -m immediate -w stop >/dev/null 2>&1")
# shellcheck disable=SC2086
$AS_SERVER "$SERVER_BIN/pg_ctl" -D "$standby" -l "$SERVER/standby.log" -w -t 60 start >/dev/null || { tail "$SERVER/standby.log"; exit 1; }
wait_until 10 "SELECT count(*) > 0 FROM pg_stat_replication"
primary_port=$PGPORT PGPORT=$standby_port
wait_until 30 "SELECT bool_or(state = 'ready') FROM gpuscan.devices"
PGPORT=$primary_port sql "UPDATE live SET v = v + 1 WHERE id % 9 = 0; DELETE FROM live WHERE id % 50 = 1; VACUUM live; UPDATE live SET t = 'late' WHERE id % 100 = 0;
     CREATE FUNCTION again(seconds int) RETURNS text LANGUAGE plpgsql STABLE AS \$\$
     DECLARE
         n int := 0;
         before int := 0;
     BEGIN
         WHILE clock_timestamp() < statement_timestamp() + seconds * interval '1 s' LOOP
             PERFORM same($(of live));
             n := n + 1;
             before := before + pg_is_in_recovery()::int;
             IF n % 3 = 0 THEN
                 PERFORM gpuscan.evict('live');
             END IF;
         END LOOP;
         RETURN CASE WHEN before = 0 OR before = n THEN 'not across the promotion' ELSE 'same' END;
     END \$\$"
# Some pages are all-visible, and some are not: these are right only for snapshots of a primary.
PGPORT=$primary_port sql 'VACUUM live'
PGPORT=$primary_port sql 'UPDATE live SET v = v + 1 WHERE id % 100 = 0'
lsn=$(PGPORT=$primary_port sql 'SELECT pg_current_wal_lsn()')
wait_until 30 "SELECT pg_last_wal_replay_lsn() >= '$lsn'"
is 'it is a standby' "$(sql 'SELECT pg_is_in_recovery()')-$(sql "SELECT same($(of live))")" t-same
coproc old { exec psql -XAtq; }
# shellcheck disable=SC2154
statements=("$old_PID")
echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT same($(of live));" >&"${old[1]}"
read -r -t 20 answer <&"${old[0]}"
for i in 1 2 3; do
    sql 'SELECT again(5)' >"$tap_files/again.$i" 2>&1 &
    statements+=($!)
done
sleep 1.5
sql 'SELECT pg_promote()' >/dev/null
wait "${statements[@]:1}"
for i in 1 2 3; do
    answer=$(sql "SELECT same($(of live))")
    echo "SELECT same($(of live));" >&"${old[1]}"
    read -r -t 20 line <&"${old[0]}"
    answer+=-$line
    [ "$answer" = same-same ] || break
done
is "a snapshot of the standby's, after pages have become known to be right for new ones" "$answer" same-same
for i in 1 2 3 4 5 6; do
    sql "UPDATE live SET v = v + 1 WHERE id % 10 = $i; DELETE FROM live WHERE id % 60 = $i; VACUUM (FREEZE) live; INSERT INTO live VALUES (-$i, 1, 1, 'promoted')"
    echo "SELECT same($(of live));" >&"${old[1]}"
    read -r -t 20 answer <&"${old[0]}"
    answer+=-$(sql "SELECT same($(of live))")
    [ "$answer" = same-same ] || break
done
is "a snapshot of the standby's after promotion, and new ones" "$answer" same-same
echo '\q' >&"${old[1]}"
wait "${statements[@]}"
is 'statements that go on across the promotion' "$(cat "$tap_files"/again.? | sort -u)" same
ok 'nothing hidden on the standby' script/honest.sh tap/live_hazards "$SERVER/standby.log"
! grep -E 'PANIC|TRAP|leak|was terminated' "$SERVER/standby.log" | grep .
result $? 'nothing bad in the log of the standby'
PGPORT=$primary_port
nothing_in_log 'PANIC|TRAP|leak|was terminated|no unpinned' 'nor in that of the first server'
stop_server

# ---- IDs that wrap around, with data checksums: rows from 1,950 million transactions ago, from just before the end, and from after ----
start_server 'gpuscan.device = host' 'autovacuum = off' 'autovacuum_freeze_max_age = 2000000000' 'vacuum_failsafe_age = 2000000000' 'max_connections = 40'
sql "$same"
live_table frozen 5000
sql 'VACUUM (FREEZE)'
# reset SEGMENT OPTION...: of the stopped server, with an empty segment of the commit log (and of multixacts) where the IDs will be
reset() {
    local segment=$1
    shift
    # shellcheck disable=SC2086
    $AS_SERVER "$SERVER_BIN/pg_ctl" -D "$SERVER_DATA" -m fast -w stop >/dev/null
    for file in "pg_xact/$segment" pg_multixact/offsets/FFFF; do
        [ -e "$SERVER_DATA/$file" ] || $AS_SERVER dd if=/dev/zero of="$SERVER_DATA/$file" bs=8192 count=32 status=none
    done
    # shellcheck disable=SC2086
    $AS_SERVER "$SERVER_BIN/pg_resetwal" -D "$SERVER_DATA" "$@" >/dev/null || return 1
    # shellcheck disable=SC2086
    [ "$($AS_SERVER "$SERVER_BIN/pg_controldata" -D "$SERVER_DATA" | sed -n 's/^Data page checksum version: *//p')" = 1 ] ||
        $AS_SERVER "$SERVER_BIN/pg_checksums" -D "$SERVER_DATA" --enable --no-sync >/dev/null 2>&1
    restarted && wait_until 30 "SELECT bool_or(state = 'ready') FROM gpuscan.devices"
}
ok 'the first leap' reset 08BC -x 2344967296 -u 2344967200 -e 3 -m 4294967200,4294967100
sql 'VACUUM (FREEZE)' 2>/dev/null # (the tables' ages are wrong now)
is 'checksums' "$(sql 'SHOW data_checksums')" on
live_table ancient 5000
sql "UPDATE ancient SET v = v + 1 WHERE id % 10 = 0; DELETE FROM ancient WHERE id % 11 = 0;
     BEGIN; SAVEPOINT s; INSERT INTO ancient SELECT i, 1, 1, 'aborted' FROM generate_series(6001, 6300) i; ROLLBACK TO s; UPDATE ancient SET k = 1 WHERE id % 13 = 0; COMMIT;
     CREATE TABLE unread AS SELECT id, k, v, t FROM ancient"
is 'before the second leap' "$(sql "SELECT same($(of ancient), $(of frozen))")" same
ok 'the second leap' reset 0FFF -x 4294967200
fragments=0
answers=''
for i in 1 2 3 4 5 6 7 8; do # across the end of the numbers, 2^32
    for j in 1 2 3 4 5 6 7 8 9 10; do
        echo "UPDATE frozen SET v = v + 1 WHERE id % 500 = $i$j; UPDATE ancient SET t = 'new' WHERE id = $i * 100 + $j; INSERT INTO ancient VALUES (10000 + $i$j, 1, 1, 'young');"
    done | psql -Xq
    answers+="$(sql "SELECT same($(of ancient), $(of frozen))")"-
done
is 'across the end of the numbers' "$answers" same-same-same-same-same-same-same-same-
is 'it was crossed' "$(sql 'SELECT txid_current() % 4294967296 < 10000')" t
is 'rows of 1,950 million transactions ago' "$(sql 'SELECT min(age(xmin)) > 1949999999 FROM unread')-$(sql "SELECT same($(of unread))")" t-same
is 'nobody has frozen them' "$(sql "SELECT age(relfrozenxid) > 1949999999 FROM pg_class WHERE relname = 'ancient'")" t
# Locks of many at once make multixacts, whose numbers end as well.
crowd lockers 6 4 "\\set id random(1, 40)
    BEGIN;
    SELECT FROM ancient WHERE id = :id FOR KEY SHARE;
    UPDATE frozen SET v = v + 1 WHERE id = :id;
    SELECT FROM frozen WHERE id = :id + 1 FOR KEY SHARE;
    UPDATE ancient SET v = v + 1 WHERE id = 50 + :id % 3;
    COMMIT;"
crowd readers 2 4 "BEGIN ISOLATION LEVEL REPEATABLE READ;
    SELECT same($(of ancient), $(of frozen));
    SELECT same($(of ancient), $(of unread));
    COMMIT;"
crowds_end 'readers beside locks of many'
is 'multixacts have begun anew' "$(sql 'CHECKPOINT; SELECT next_multixact_id::text::int8 BETWEEN 1 AND 1000000 FROM pg_control_checkpoint()')" t
sql 'VACUUM (FREEZE) ancient; VACUUM (FREEZE) unread; VACUUM (FREEZE) frozen'
is 'frozen' "$(sql "SELECT same($(of ancient), $(of frozen), $(of unread))")-$(sql "SELECT same($(of ancient), $(of frozen), $(of unread))")" same-same
device_worked 'wraparound' 50
nothing_in_log 'PANIC|TRAP|leak|was terminated by signal' 'nothing bad in the log'
