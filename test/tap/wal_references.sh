#!/usr/bin/env bash
# The reader of WAL (src/server/wal_reader.hpp) names the blocks that pg_waldump names, in their order: of records of all kinds, with
# images of pages (compressed, too), longer than pages and files, and of a segment that ends early.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host' 'wal_level = logical' 'wal_compression = on' 'max_prepared_transactions = 2' \
    'autovacuum = off' 'wal_keep_size = 1GB' 'min_wal_size = 1GB'
make -s -C bench wal_references || exit 1

from=$(sql 'SELECT pg_switch_wal()' >/dev/null && sql 'SELECT pg_current_wal_lsn()')
sql "CREATE TABLE t (id int PRIMARY KEY, k int, doc jsonb, note text);
     INSERT INTO t SELECT i, i % 9, jsonb_build_object('a', i), repeat(md5(i::text), i % 40) FROM generate_series(1, 30000) i;
     CREATE INDEX ON t USING gin (doc); CREATE INDEX ON t USING gist (int4range(k, k + 1)); CREATE INDEX ON t USING hash (k);
     CREATE INDEX ON t USING brin (id); CREATE INDEX ON t USING spgist (note)"
sql 'CHECKPOINT'
sql 'UPDATE t SET k = k + 1 WHERE id % 7 = 0; DELETE FROM t WHERE id % 11 = 0'
sql 'SELECT pg_switch_wal()' >/dev/null
sql "BEGIN; INSERT INTO t SELECT 100000 + i, i FROM generate_series(1, 500) i; SAVEPOINT s; UPDATE t SET note = 'x' WHERE id < 300; ROLLBACK TO s;
     UPDATE t SET note = 'y' WHERE id < 200; PREPARE TRANSACTION 'p'"
sql "COMMIT PREPARED 'p'"
sql "SELECT pg_logical_emit_message(false, 'gpuscan', repeat('long', 5000000))" >/dev/null # longer than a segment
sql 'VACUUM (FREEZE) t'
sql 'TRUNCATE t; DROP TABLE t; CREATE SEQUENCE q'
sql "SELECT count(nextval('q')) FROM generate_series(1, 100)" >/dev/null
wait_until 10 'SELECT pg_current_wal_flush_lsn() = pg_current_wal_insert_lsn()'
to=$(sql 'SELECT pg_current_wal_flush_lsn()')

read_wal() { $AS_SERVER "$tap_files/wal_references" "$SERVER_DATA/pg_wal" 1 "$from" "$to" "$@"; }
cp bench/wal_references "$tap_files/" && chmod -R a+rX "$tap_files"
# Without a fork's name it is the main one.
$AS_SERVER "$SERVER_BIN/pg_waldump" -p "$SERVER_DATA/pg_wal" -s "$from" -e "$to" 2>"$tap_files/errors" | tee "$tap_files/records" |
    grep -oE 'blkref #[0-9]+: rel [0-9/]+ (fork [a-z]+ )?blk [0-9]+' |
    sed -E 's/blkref #[0-9]+: rel //; s/ fork fsm blk / 1 /; s/ fork vm blk / 2 /; s/ fork init blk / 3 /; s/ blk / 0 /' >"$tap_files/wanted"
read_wal --list >"$tap_files/told"
result $? 'WAL is read to its end'
echo "# $(wc -l <"$tap_files/wanted") blocks, $(grep -c FPW "$tap_files/records") records with images"
is 'many blocks are named' "$(($(wc -l <"$tap_files/wanted") > 50000))" 1
is 'those that pg_waldump names' "$(diff "$tap_files/told" "$tap_files/wanted" | head -n 5)" ''
is 'as many records' "$(read_wal | sed -E 's/.* ([0-9]+) records.*/\1/')" "$(wc -l <"$tap_files/records")"
is 'among them images of pages' "$(($(grep -c FPW "$tap_files/records") > 100))" 1
is 'what is not there any more is noticed' "$($AS_SERVER "$tap_files/wal_references" "$SERVER_DATA/pg_wal" 1 0/40 "$to" 2>&1 >/dev/null | grep -c 'does not go on')" 1
