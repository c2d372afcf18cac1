#!/usr/bin/env bash
# The device process reads in WAL which pages have changed (src/server/wal_follower.hpp): then queries compare no page, whoever writes; and
# where WAL does not say it in time, or says it otherwise, the answers are right all the same: commits that are seen before they are
# flushed, files of a database that has been moved to and fro, files of WAL that are gone, much WAL between two queries.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host' 'autovacuum = off' 'wal_writer_delay = 10s' 'min_wal_size = 32MB' 'max_wal_size = 64MB' \
    'wal_keep_size = 0' 'gpuscan.device_timeout = 120s'

query='SELECT k, count(*), sum(v), max(id) FROM t GROUP BY k ORDER BY k'
# asked DATABASE: is the device's answer PostgreSQL's, and how many pages were compared for it? (In transactions that write nothing.)
asked() {
    PGDATABASE=$1 sql "SELECT pages_compared AS before FROM gpuscan.stat \\gset
        SET gpuscan.offload = force;
        SELECT string_agg(x::text, ' ') AS device FROM ($query) x \\gset
        SELECT pages_compared - :before AS compared FROM gpuscan.stat \\gset
        SET gpuscan.offload = off;
        SELECT string_agg(x::text, ' ') = :'device', :compared FROM ($query) x"
}
# quiet NAME: right, and nothing was compared
quiet() { is "$1" "$(asked "$PGDATABASE")" 't|0'; }
# right NAME: ... but what WAL has named may have been
right() { is "$1" "$(asked "$PGDATABASE" | cut -d '|' -f 1)" t; }

sql "CREATE TABLE t (id int PRIMARY KEY, k int, v int8) WITH (fillfactor = 90);
     INSERT INTO t SELECT i, i % 7, i FROM generate_series(1, 200000) i"
# VACUUM names pages that it does not change. Which is known once its WAL is flushed, by a transaction that writes some.
vacuum() { sql 'VACUUM t' && sql "SELECT pg_logical_emit_message(true, 'gpuscan', 'flush')" >/dev/null; }
vacuum
asked "$PGDATABASE" >/dev/null
quiet 'a second query compares nothing'
few_compared() {
    local answer
    answer=$(asked "$PGDATABASE")
    [ "${answer%|*}" = t ] && [ "${answer#*|}" -le "$2" ]
    result $? "$1"
    note "pages compared: ${answer#*|}"
    quiet '... and the next one compares nothing'
}
sql 'UPDATE t SET v = v + 1 WHERE id % 5000 = 0'
few_compared 'behind an update little more than the changed pages' 150
sql 'DELETE FROM t WHERE id % 9999 = 0; INSERT INTO t SELECT i, 3, i FROM generate_series(200001, 200500) i'
few_compared 'behind a delete and an insert' 150
sql 'BEGIN; UPDATE t SET v = 0 WHERE id < 500; ROLLBACK'
few_compared 'behind a rollback' 150
vacuum
right 'right behind VACUUM'
quiet '... and then nothing is compared'
is 'who has written sees it' "$(sql "SET gpuscan.offload = force; BEGIN; UPDATE t SET v = v + 1 WHERE id = 7; SELECT sum(v) FROM t WHERE id < 20; ROLLBACK")" 191

# Few pages are read row by row, by 17 queries if it is one of 4,500; but not so long where nobody has written for some queries. (The
# pages are nearly empty, so that queries read the WAL of the load themselves.)
sql "CREATE TABLE calm (id int PRIMARY KEY, v int8, filler text) WITH (fillfactor = 10);
     INSERT INTO calm SELECT i, i, repeat('x', 700) FROM generate_series(1, 4500) i; VACUUM calm"
# pages KIND NUMBER: of so many executions
pages() {
    {
        echo "SET gpuscan.offload = force; SELECT pages_$1 AS before FROM gpuscan.stat \\gset"
        for _ in $(seq "$2"); do echo 'SELECT sum(v) FROM calm \g /dev/null'; done
        echo "SELECT pages_$1 - :before FROM gpuscan.stat"
    } | psql -XAtq -v ON_ERROR_STOP=1
}
write_calm() { sql "UPDATE calm SET v = v + 1 WHERE id = $1" && sql "SELECT pg_logical_emit_message(true, 'gpuscan', 'flush')" >/dev/null; }
sql "SELECT pg_logical_emit_message(true, 'gpuscan', 'flush')" >/dev/null
pages cached 1 >/dev/null
write_calm 77
is 'a page that has just changed is read row by row' "$(pages rowwise 2)" 2
pages rowwise 8 >/dev/null
is 'until nobody writes any more' "$(pages rowwise 2)" 0
for i in 1 2 3 4 5 6 7 8; do write_calm 77 && pages rowwise 1 >/dev/null; done
is '... which takes no shorter gap than those between writes' "$(pages rowwise 3)" 3

# Commits that others see first, and WAL is flushed later.
sql "CREATE FUNCTION same() RETURNS text LANGUAGE plpgsql STABLE AS \$\$
    DECLARE plain text; device text;
    BEGIN
        PERFORM set_config('gpuscan.offload', 'off', true);
        SELECT string_agg(x::text, ' ') INTO plain FROM ($query) x;
        PERFORM set_config('gpuscan.offload', 'force', true);
        EXECUTE 'SELECT string_agg(x::text, '' '') FROM ($query) x' INTO device;
        IF plain IS DISTINCT FROM device THEN
            RAISE EXCEPTION 'answers differ' USING DETAIL = plain || ' but on the device ' || device;
        END IF;
        RETURN 'same';
    END \$\$"
for mode in off on; do
    cat >"$tap_files/write.sql" <<<"\\set id random(1, 200000)
SET synchronous_commit = $mode;
UPDATE t SET v = v + 1 WHERE id = :id;
SELECT same();"
    pgbench -n -f "$tap_files/write.sql" -c 4 -j 1 -t 100 >"$tap_files/write.log" 2>&1
    is "writers with synchronous_commit = $mode see every change" "$(sed -n 's/.*actually processed: //p' "$tap_files/write.log")" 400/400
done
seen=0
for i in 1 2 3 4 5 6 7 8 9 10; do
    sql "SET synchronous_commit = off; UPDATE t SET v = v + 1 WHERE id % 1000 = $i"
    [ "$(asked "$PGDATABASE" | cut -d '|' -f 1)" != t ] || seen=$((seen + 1))
done
is 'so do others' "$seen" 10

# Much WAL between two queries, in files that are used again: nobody reads it meanwhile.
process=$(sql "SELECT pid FROM gpuscan.devices WHERE kind = 'host'")
kill -STOP "$process"
for i in 1 2 3 4 5 6; do
    sql "CREATE TABLE filler$i AS SELECT repeat('x', 1000) FROM generate_series(1, 40000); UPDATE t SET v = v - 1 WHERE id % 999 = $i; DROP TABLE filler$i; CHECKPOINT"
done
kill -CONT "$process"
behind=$(asked "$PGDATABASE")
is 'right behind much WAL' "${behind%|*}" t
is '... since pages were compared' "$((${behind#*|} > 200))" 1
caught_up() {
    for _ in $(seq 100); do
        [ "$(asked "$PGDATABASE")" = 't|0' ] && return
        sleep 0.1
    done
    return 1
}
ok 'and then WAL is followed again' caught_up

# Files that change without a word of their blocks.
$AS_SERVER mkdir "$SERVER_DATA/../space"
sql "CREATE TABLESPACE space LOCATION '$(realpath "$SERVER_DATA/../space")'"
sql 'CREATE DATABASE moved'
PGDATABASE=moved sql "CREATE EXTENSION gpuscan; CREATE TABLE t (id int, k int, v int8); INSERT INTO t SELECT i, i % 7, i FROM generate_series(1, 20000) i"
for _ in 1 2 3; do
    is 'a database answers' "$(asked moved | cut -d '|' -f 1)" t
    sql 'ALTER DATABASE moved SET TABLESPACE space'
    PGDATABASE=moved sql 'UPDATE t SET v = v + 1 WHERE id % 100 = 0'
    sql 'ALTER DATABASE moved SET TABLESPACE pg_default'
done
is 'also where it has been moved to and fro' "$(asked moved | cut -d '|' -f 1)" t
sql 'DROP DATABASE moved; DROP TABLESPACE space'

is 'the device process has not died' "$(sql 'SELECT restarts FROM gpuscan.stat')" 0
