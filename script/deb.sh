#!/usr/bin/env bash
# Build Debian packages in build/deb, from a copy of the sources: postgresql-N-gpuscan for each PostgreSQL N whose development files come
# from a package, gpuscan-calibrate, and packages of their debug symbols. Usage: script/deb.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${BUILD:-build}/deb

script/setup.sh deb
release=$(sed -n 's/^  "version": "\(.*\)",/\1/p' META.json)
tree=$build/gpuscan-$release
rm -rf "$build"
mkdir -p "$tree"
# (what git tracks or would track; without git, everything but what was built)
if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard
else
    find . -path ./build -prune -o -type f -print0
fi | tar -c --null -T - --ignore-failed-read | tar -x -C "$tree"

export PG_SUPPORTED_VERSIONS=installed
(cd "$tree" && pg_buildext updatecontrol && dpkg-buildpackage --build=binary --no-sign)
rm -rf "$tree"
ls -l "$build"/*.deb
