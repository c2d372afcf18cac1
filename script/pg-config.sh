#!/usr/bin/env bash
# Print the path of the pg_config to build against.
# Usage: script/pg-config.sh [MAJOR | MAJOR-patched | MAJOR-oracle]
#   without an argument: PG_CONFIG, else pg_config from PATH; with one: the build of that version in the cache
#   (script/build-postgres.sh), else the installed Debian package.
set -euo pipefail
major=${1:-}
here=$(dirname "$0")

if [ -z "$major" ]; then
    command -v "${PG_CONFIG:-pg_config}" || { echo "pg-config.sh: no pg_config: run script/setup.sh" >&2; exit 1; }
    exit 0
fi
for candidate in "$("$here/build-postgres.sh" --prefix "$major")/bin/pg_config" "/usr/lib/postgresql/$major/bin/pg_config"; do
    if [ -x "$candidate" ]; then
        echo "$candidate"
        exit 0
    fi
done
echo "pg-config.sh: no PostgreSQL $major: run \"make pg-$major\" or install postgresql-server-dev-$major" >&2
exit 1
