#!/usr/bin/env bash
# A table of more than one visibility map page, so of several chunks: cold and hot, written to at both ends, vacuumed,
# truncated at its end, with a cache that cannot hold it. Then one that ends about where a chunk does.
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'shared_buffers = 512MB' 'gpuscan.device = host'
sql "CREATE TABLE long (id int, g int2, n numeric(9,2), t text) WITH (fillfactor = 10, autovacuum_enabled = off);
     INSERT INTO long SELECT i, i % 40, i / 4.0, 't' || i % 1000 FROM generate_series(1, 600000) i;
     CREATE TABLE dim AS SELECT i AS k, 'name ' || i % 5 AS name FROM generate_series(0, 30) i;
     VACUUM (FREEZE, ANALYZE) long; VACUUM (FREEZE, ANALYZE) dim"
pages=$(sql "SELECT pg_relation_size('long') / 8192")
ok "the table has two chunks ($pages pages)" test "$pages" -gt 32672 -a "$pages" -lt 65344
check_all() {
    is "$1: aggregates" "$(sql "SELECT check_query('SELECT count(*), sum(id), sum(n), min(t), max(t) FROM long')")" 'ok (1 rows)'
    is "$1: groups" "$(sql "SELECT check_query('SELECT t, count(*), sum(n) FROM long WHERE g < 20 GROUP BY t')" | sed 's/([0-9]*/(N/')" 'ok (N rows)'
    is "$1: join" "$(sql "SELECT check_query('SELECT name, count(*), sum(id) FROM long JOIN dim ON g = k GROUP BY name')")" 'ok (5 rows)'
}
check_all 'cold'
check_all 'hot'
is 'self join, the build side of two chunks' "$(sql "SELECT check_query('SELECT count(*), sum(a.n) FROM long a JOIN long b ON a.id = b.id')")" 'ok (1 rows)'
sql 'UPDATE long SET n = n + 1 WHERE id IN (5, 299999, 599990); DELETE FROM long WHERE id BETWEEN 300 AND 400 OR id BETWEEN 590000 AND 590200'
check_all 'written to'
sql 'VACUUM long'
check_all 'vacuumed'
sql 'INSERT INTO long SELECT i, i % 40, i / 4.0, $$new$$ FROM generate_series(600001, 601000) i'
check_all 'longer'
sql 'DELETE FROM long WHERE id > 450000; VACUUM long'
ok 'VACUUM truncated the table' test "$(sql "SELECT pg_relation_size('long') / 8192")" -lt 32672
check_all 'truncated to one chunk'
sql 'INSERT INTO long SELECT i, i % 40, i / 4.0, $$again$$ || i % 3 FROM generate_series(450001, 600000) i; VACUUM long'
check_all 'extended again'
script/server.sh restart "$SERVER" 'gpuscan.cache_size = 2MB' || exit 1
wait_until 30 "SELECT state = 'ready' FROM gpuscan.devices WHERE kind = 'host'"
check_all 'a cache that cannot hold it'
check_all 'the same again'
ok 'chunks are evicted' test "$(sql 'SELECT chunks_evicted > 0 FROM gpuscan.stat')" = t

# One row a page, so that tables end one page before, at, and one page after the end of a chunk.
script/server.sh restart "$SERVER" 'gpuscan.cache_size = 1GB' || exit 1
wait_until 30 "SELECT state = 'ready' FROM gpuscan.devices WHERE kind = 'host'"
sql "DROP TABLE long;
     CREATE TABLE edge (id int, g int2, n numeric(9,2), t text, pad char(5000)) WITH (autovacuum_enabled = off);
     ALTER TABLE edge ALTER pad SET STORAGE PLAIN"
chunk=32672
last=0
for pages in $((chunk - 1)) "$chunk" $((chunk + 1)) $((2 * chunk + 1)); do
    sql "INSERT INTO edge SELECT i, i % 40, i / 4.0, nullif('t' || i % 1000, 't77'), 'x' FROM generate_series($last + 1, $pages) i;
         VACUUM (ANALYZE) edge"
    last=$pages
    is "$pages pages" "$(sql "SELECT pg_relation_size('edge') / 8192")" "$pages"
    for query in "SELECT count(*), count(t), sum(id), sum(n), min(t), max(id) FROM edge" "SELECT count(*), sum(n) FROM edge WHERE id >= $pages - 1" \
        "SELECT g, count(*), sum(n), max(id) FROM edge WHERE n > 100 GROUP BY g" "SELECT t, count(*) FROM edge GROUP BY t" \
        "SELECT id, t, n FROM edge WHERE id % 999 = 0 OR id > $pages - 40" "SELECT name, count(*), sum(id) FROM edge JOIN dim ON g = k GROUP BY name" \
        "SELECT count(*), sum(b.n) FROM dim JOIN edge b ON b.id = k + $pages - 20"; do
        is "$pages pages: $query" "$(sql "SELECT check_query(\$\$$query\$\$)" | sed 's/([0-9]* rows)/rows/')" 'ok rows'
    done
done
nothing_in_log 'PANIC|TRAP|leak|was terminated' 'nothing bad in the log'
