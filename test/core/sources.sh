#!/usr/bin/env bash
# Where PostgreSQL's own tests lie, in the cache of script/build-postgres.sh; fetches them if they are not there.
# Usage: test/core/sources.sh MAJOR      prints the directory, of the installed minor release, else of a near one; status 3: not to be had
# (Another minor release's do as well, because no expected file is looked at: no download where there are some.)
set -euo pipefail
cd "$(dirname "$0")/../.."
major=${1:?usage: sources.sh MAJOR}
version=$("$(script/pg-config.sh "$major")" --version | cut -d' ' -f2)
cache=$(dirname "$(script/build-postgres.sh --prefix "$major")")
found=''
for directory in "$cache"/tests-"$major".* "$cache/tests-$version"; do
    [ ! -d "$directory/src/test/recovery" ] || found=$directory
done
# (The archive does not always have the source of the release that it has packages of.)
if [ -z "$found" ]; then
    for back in 0 1 2 3 4; do
        other=$version
        [ "$back" = 0 ] || other=${version%.*}.$((${version##*[!0-9]} - back))
        ! found=$(script/build-postgres.sh --tests "$other") || break
        found=''
    done
fi
[ -n "$found" ] || { echo "sources.sh: the tests of PostgreSQL $major are not to be had" >&2; exit 3; }
echo "$found"
