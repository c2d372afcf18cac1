#!/usr/bin/env bash
# Stress: writers, VACUUM, DDL and readers at once. Every reader compares the device's answer with PostgreSQL's in one
# snapshot and stops the run at the first difference. At the end: no difference, no lost session, no leaked pin or
# memory in the log, and the device must have been used.
#
# Usage: test/stress/run.sh SECONDS     against the server named by PGHOST, PGPORT, ...; exit status 0 if all is well.
# Environment: SERVER_LOG (file of the server's log, looked at for leaks), STRESS_READERS (3), STRESS_WRITERS (2),
# STRESS_BESIDE (not empty: something else runs beside it, and may have columns cached).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:-60}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
psql=(psql -X -q -v ON_ERROR_STOP=1)

"${psql[@]}" -f "$here/setup.sql" >"$out/setup.log" 2>&1 || { cat "$out/setup.log"; exit 1; }
"${psql[@]}" -c 'SELECT gpuscan.evict(NULL)' >/dev/null || exit 1
since=$("$here/../../script/honest.sh" since) || exit 1
before=$("${psql[@]}" -Atc "SELECT fragments || ' ' || fallbacks FROM gpuscan.stat") || exit 1

# Name, script and number of clients of each crowd; deadlocks and serialization failures are tried again.
pids=()
crowd() {
    pgbench -n -M simple -f "$here/$2" -c "$3" -j 1 -T "$seconds" --max-tries=100 >"$out/$1.log" 2>&1 &
    pids+=("$1:$!")
}
crowd reader reader.sql "${STRESS_READERS:-3}"
crowd writer writer.sql "${STRESS_WRITERS:-2}"
crowd vacuum vacuum.sql 1
crowd ddl ddl.sql 1

failed=0
for entry in "${pids[@]}"; do
    if ! wait "${entry#*:}" || grep -qE 'ERROR|aborted|server closed' "$out/${entry%%:*}.log"; then
        echo "stress: ${entry%%:*} failed:"
        tail -n 40 "$out/${entry%%:*}.log"
        failed=1
    fi
done
echo "stress: $(grep -h 'number of transactions actually processed' "$out"/reader.log | tr -s ' ') by readers," \
    "$(grep -h 'number of transactions actually processed' "$out"/writer.log | tr -s ' ') by writers"

after=$("${psql[@]}" -Atc "SELECT fragments || ' ' || fallbacks FROM gpuscan.stat") || exit 1
read -r fragments fallbacks <<<"$before"
read -r fragments_after fallbacks_after <<<"$after"
used=$((fragments_after - fragments))
fell=$((fallbacks_after - fallbacks))
echo "stress: $used fragments, $fell of them answered by the CPU plan"
# (Whoever started the server adds up what its log tells, so it is not added here.)
env -u GPUSCAN_HONEST "$here/../../script/honest.sh" stress since "$since" || failed=1
if [ "$used" -lt 50 ] || [ "$fell" -gt $((used / 10)) ]; then
    echo "stress: the device was hardly used"
    failed=1
fi
# Dropping the tables gives the cached columns back (the device process looks every quarter of a second).
"${psql[@]}" -c 'DROP TABLE fact, dim' >/dev/null || failed=1
"${psql[@]}" -c CHECKPOINT >/dev/null
for _ in $(seq 40); do
    left=$("${psql[@]}" -Atc "SELECT sum(cache_bytes) FROM gpuscan.devices") || exit 1
    [ "$left" = 0 ] && break
    sleep 0.25
done
if [ "$left" != 0 ] && [ -z "${STRESS_BESIDE:-}" ]; then
    echo "stress: $left bytes of cached columns are left after DROP TABLE"
    failed=1
fi
if [ -n "${SERVER_LOG:-}" ] && grep -E 'leak|TRAP|PANIC|was terminated by signal' "$SERVER_LOG" | head -n 5 | grep .; then
    echo "stress: the server's log shows the lines above"
    failed=1
fi
exit "$failed"
