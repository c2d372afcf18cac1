#!/usr/bin/env bash
# Does the device process hold what its accounts say, however long it works? The crowds of test/stress (readers that compare each
# answer, writers, VACUUM, DDL) and readers of other tables for so many minutes; twice a minute the accounts (gpuscan.devices) and
# what the kernel says that the process holds for itself (RssAnon).
#
# Usage: bench/soak.sh --crashes [MINUTES]     other work, and kill -9 of the device process and of the server: test/stress/crashes.sh
#        bench/soak.sh [MINUTES]     against the server named by PGHOST, ...; 60 minutes by default; as the server's user or root
# Prints a line for each sample and draws nothing; at the end the largest difference, the growth between the means of the third
# and of the last quarter of the time, what is left after gpuscan.evict(), deaths and fallbacks. It is all right when the
# difference is at most 10 % or 64 MB and the growth as well, and nothing died or fell back. The samples stay in bench/results/soak.csv.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ "${1:-}" != --crashes ] || exec bash "$here/../test/stress/crashes.sh" "${@:2}"
minutes=${1:-60}
csv=$here/results/soak.csv
mkdir -p "$here/results"
sql() { PGOPTIONS='-c client_min_messages=warning' psql -XAtqc "$1"; }
sql 'CREATE EXTENSION IF NOT EXISTS gpuscan'
sql "DROP TABLE IF EXISTS soak_texts; CREATE TABLE soak_texts AS SELECT i AS id, i % 1000 AS k, md5((i % 50000)::text) AS t, (i % 777) / 4.0::float8 AS f
     FROM generate_series(1, 400000) i"
sql 'VACUUM (FREEZE, ANALYZE) soak_texts'
query=$(mktemp)
trap 'rm -f "$query"; kill $(jobs -p) 2>/dev/null || true' EXIT
cat >"$query" <<'SQL'
\set n random(1, 999)
SET gpuscan.offload = force;
SELECT k, count(*), sum(f) FROM soak_texts WHERE t LIKE '%' || :n || '%' GROUP BY k ORDER BY 2 DESC LIMIT 3;
SELECT substr(t, 1, 4), count(DISTINCT k) FROM soak_texts WHERE k < :n GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3;
SELECT count(*) FROM soak_texts a JOIN soak_texts b USING (id) WHERE a.k = :n;
SQL
since=$("$here/../script/honest.sh" since)
STRESS_BESIDE=1 bash "$here/../test/stress/run.sh" $((60 * minutes)) >"$here/results/soak.stress" 2>&1 &
stress=$!
pgbench -n -f "$query" -c 2 -T $((60 * minutes)) >"$here/results/soak.readers" 2>&1 &

echo "seconds,accounts_mb,cache_mb,resident_mb" | tee "$csv"
sample() {
    local pid used cache resident
    IFS='|' read -r pid used cache < <(sql "SELECT pid, memory_used, cache_bytes FROM gpuscan.devices WHERE kind = 'host' AND state = 'ready'")
    resident=$(awk '/^RssAnon/ { print $2 * 1024 }' "/proc/$pid/status")
    awk -v at="$1" -v used="$used" -v cache="$cache" -v resident="$resident" \
        'BEGIN { printf "%d,%.1f,%.1f,%.1f\n", at, used / 1048576, cache / 1048576, resident / 1048576 }' | tee -a "$csv"
}
started=$SECONDS
while ((SECONDS - started < 60 * minutes)) && kill -0 "$stress" 2>/dev/null; do
    sleep 30
    sample $((SECONDS - started)) || true
done
status=0
wait "$stress" || status=1
tail -n 4 "$here/results/soak.stress"
awk -F, 'NR > 1 { n++; over = $4 - $2; if (over > most) { most = over; share = over / ($4 > 0 ? $4 : 1) } rest[n] = over }
    END {
        for (i = 1; i <= n; i++) {
            if (i > n / 2 && i <= n * 3 / 4) { third += rest[i]; thirds++ }
            if (i > n * 3 / 4) { last += rest[i]; lasts++ }
        }
        growth = last / (lasts ? lasts : 1) - third / (thirds ? thirds : 1)
        printf "outside of the accounts: at most %.1f MB (%.0f %% of the resident memory); growth %.1f MB\n", most, 100 * share, growth
        exit !((most <= 64 || share <= 0.1) && growth <= 64)
    }' "$csv" || status=1
sql 'SELECT gpuscan.evict()' >/dev/null
sleep 2
echo "after gpuscan.evict(): $(sample $((SECONDS - started)))"
"$here/../script/honest.sh" soak since "$since" || status=1
exit $status
