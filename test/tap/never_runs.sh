#!/usr/bin/env bash
# Servers on which no device can ever run a query, or on which its cache is too small: the planner knows, and gpuscan.status() names the
# command that mends it.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

start_server 'gpuscan.device = host' 'gpuscan.cache_size = 64MB' 'max_parallel_workers_per_gather = 0'
sql 'CREATE TABLE t AS SELECT i AS id, i % 10 AS k, i AS a, i AS b FROM generate_series(1, 1000000) i'
sql 'VACUUM (FREEZE, ANALYZE) t'

query='SELECT k, sum(id), sum(a), sum(b) FROM t GROUP BY k'
remedy() { sql "SELECT remedy FROM gpuscan.status() WHERE item = '$1' AND state <> 'ok'"; }
advice() { sql "SELECT change FROM gpuscan.advise('$query') WHERE part = 'the query'"; }
on_device() { sql "EXPLAIN $query" | grep -c GpuScan; }
rows_read() { sql "SELECT coalesce(sum(amount), 0) > 0 FROM gpuscan.explain_cost('$query') WHERE alternative = 'host' AND component = 'feed' AND work = 'backend_row'"; }
refused() { sql "SET gpuscan.offload = force; SET gpuscan.explain_refusals = on; EXPLAIN $query" | sed -n 's/^Refused: //p'; }

is 'on the device' "$(on_device)" 1
is 'nothing is refused' "$(refused)" ''
is 'the cache is large enough' "$(remedy 'cache size')$(advice)" ''
is 'pages are decoded' "$(rows_read)" f
sql 'ALTER SYSTEM SET gpuscan.cache_size = 1024'
sql 'SELECT pg_reload_conf()' >/dev/null
sleep 0.5
is 'pages that will not be cached are read row by row' "$(rows_read)" t
is 'status tells of a small cache' "$(remedy 'cache size')" "ALTER SYSTEM SET gpuscan.cache_size = '20 MB'; SELECT pg_reload_conf()"
is 'so does advice' "$(advice | cut -d';' -f1)" "ALTER SYSTEM SET gpuscan.cache_size = '20 MB'"

if [ "$(sql "SELECT current_setting('server_version_num')::int < 170000")" = t ]; then
    script/server.sh restart "$SERVER" 'old_snapshot_threshold = 60' || exit 1
    wait_until 30 "SELECT bool_or(state = 'ready') FROM gpuscan.devices"
    is 'old snapshots: refused' "$(refused)" 'old_snapshot_threshold is set'
    is 'old snapshots: not planned' "$(on_device)" 0
    is 'old snapshots: status' "$(remedy old_snapshot_threshold)" 'ALTER SYSTEM SET old_snapshot_threshold = -1; then restart the server'
    script/server.sh restart "$SERVER" 'old_snapshot_threshold = -1' || exit 1
fi

script/server.sh restart "$SERVER" 'max_worker_processes = 0' || exit 1
sleep 11 # (before, the supervisor might still come)
is 'no workers: refused' "$(refused)" 'all max_worker_processes were taken when the server started, so nobody starts the device process'
is 'no workers: not planned' "$(on_device)" 0
is 'no workers: status' "$(remedy 'CPU engine')" 'ALTER SYSTEM SET max_worker_processes = 8; then restart the server'
is 'no workers: devices' "$(sql "SELECT DISTINCT state FROM gpuscan.devices")" 'not started'
nothing_in_log 'PANIC|TRAP|was terminated by signal' 'nothing bad in the log'
