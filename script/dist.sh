#!/usr/bin/env bash
# Pack the sources of the present commit: build/gpuscan-RELEASE.tar.gz for packages, .zip for PGXN. Usage: script/dist.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
release=$(sed -n 's/^  "version": "\(.*\)",/\1/p' META.json)
mkdir -p build
for format in tar.gz zip; do
    git archive --format=$format --prefix="gpuscan-$release/" -o "build/gpuscan-$release.$format" HEAD
    echo "build/gpuscan-$release.$format"
done
