#!/usr/bin/env bash
# Compiles the functions in C that PostgreSQL's own tests call.
# Usage: test/core/libraries.sh PG_CONFIG SOURCES DIRECTORY      of that server; SOURCES: of test/core/sources.sh; DIRECTORY is made
set -euo pipefail
pg_config=$1 sources=$2 directory=$3
mkdir "$directory"
for file in "$sources"/src/test/regress/regress.c "$sources"/contrib/spi/{refint,autoinc}.c; do
    [ ! -f "$file" ] || cc -O1 -w -fPIC -shared -I "$("$pg_config" --includedir-server)" -o "$directory/$(basename "$file" .c).so" "$file"
done
