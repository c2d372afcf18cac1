#!/usr/bin/env bash
# Build the Debian packages, let lintian look at them, and use them as a newcomer would: in a bare Debian 12 with nothing but apt, which
# is made and removed here; and the same from the sources. Needs root. Last line: "N passed, N failed".
# Usage: script/deb-check.sh [packages] [source]    default: both
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${BUILD:-build}/deb

[ $# -gt 0 ] || set -- packages source
case " $* " in *" packages "*) script/deb.sh ;; *) script/setup.sh deb && mkdir -p "$build" ;; esac
passed=0 failed=0
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$build/check.log" 2>&1; then
        passed=$((passed + 1))
        echo "ok       $name"
    else
        failed=$((failed + 1))
        echo "FAILED   $name"
        tail -40 "$build/check.log"
    fi
}

# What follows an installation, in the words of README.md, and a query that a device must answer.
cat >"$build/first-hour.sh" <<'EOF'
pg_conftool 15 main set shared_preload_libraries gpuscan
pg_ctlcluster 15 main restart
cd /
query() { setpriv --reuid=postgres --regid=postgres --init-groups psql -XAtq -v ON_ERROR_STOP=1 "$@"; }
query -c 'CREATE EXTENSION gpuscan'
for _ in $(seq 100); do
    [ "$(query -c "SELECT count(*) FROM gpuscan.devices WHERE kind = 'host' AND state = 'ready'")" = 0 ] || break
    sleep 0.1
done
query -c 'CREATE TABLE t AS SELECT i, i % 10 AS k FROM generate_series(1, 300000) i' -c 'VACUUM ANALYZE t'
plan=$(query -c 'EXPLAIN (ANALYZE) SELECT k, sum(i) FROM t GROUP BY k')
echo "$plan"
echo "$plan" | grep -q 'Custom Scan (GpuScan)'
if echo "$plan" | grep -q Fallback; then exit 1; fi
[ "$(query -c 'SELECT sum(s) FROM (SELECT k, sum(i) AS s FROM t GROUP BY k) x')" = 45000150000 ]
[ "$(query -c 'SELECT restarts, fallbacks FROM gpuscan.stat')" = '0|0' ]
pg_ctlcluster 15 main stop
EOF

# in_bare_debian FILES COMMANDS: files come to /root/files, where the commands run
in_bare_debian() {
    { echo 'set -eux; export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8; cd /root/files; apt-get update' && cat; } >"$build/try.sh"
    mmdebstrap --quiet --variant=minbase --customize-hook="mkdir \"\$1\"/root/files" \
        --customize-hook="copy-in $* $build/first-hour.sh $build/try.sh /root/files" \
        --customize-hook='chroot "$1" sh /root/files/try.sh' bookworm /dev/null
}

from_packages() {
    in_bare_debian "$build"/*_amd64.deb <<'EOF'
apt-get install -y --no-install-recommends ./postgresql-15-gpuscan_*.deb ./gpuscan-calibrate_*.deb
gpuscan-calibrate --version
gpuscan-explain --version
. ./first-hour.sh
EOF
}

from_source() {
    script/dist.sh
    in_bare_debian build/gpuscan-*.tar.gz <<'EOF'
apt-get install -y --no-install-recommends make g++ postgresql-15 postgresql-server-dev-15
tar -xzf gpuscan-*.tar.gz
cd gpuscan-*/
make -j"$(nproc)"
make install
cd ..
. ./first-hour.sh
EOF
}

for part; do
    case $part in
    packages)
        check "lintian: no error, no warning" lintian --allow-root --fail-on error,warning "$build"/*.changes
        check "rpmlint: no error" rpmlint packaging/gpuscan.spec
        check "a bare Debian 12: packages, preload, restart, CREATE EXTENSION, a query on a device" from_packages
        ;;
    source) check "a bare Debian 12: from source, preload, restart, CREATE EXTENSION, a query on a device" from_source ;;
    *) check "what is $part?" false ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
