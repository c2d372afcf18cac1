#!/usr/bin/env bash
# Build PostgreSQL with assertions from Debian's source packages and install it into a cache. Does nothing when it is
# there already, with the same patches.
#
# Usage: script/build-postgres.sh MAJOR                       into the cache as MAJOR
#        script/build-postgres.sh MAJOR patched PATCH...      with patches applied (patch -p1), as MAJOR-patched
#        script/build-postgres.sh MAJOR oracle PATCH...       the same, as MAJOR-oracle
#        script/build-postgres.sh --prefix MAJOR[-patched|-oracle]    print the directory in the cache
#        script/build-postgres.sh --tests VERSION    only the sources of that release's own regression and isolation tests
#                                                    (and contrib/spi), into the cache as tests-VERSION; prints the directory
# The cache is GPUSCAN_PG_CACHE, by default /var/cache/gpuscan for root (the server runs as the user postgres, who cannot
# look into root's home) and ~/.cache/gpuscan for others.
#
# The source tarball comes from the Debian mirror that this machine's apt already uses, through apt with private lists:
# apt checks the archive's signature and the tarball's SHA256, and the system's own lists stay as they are.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [ "$(id -u)" = 0 ]; then
    cache=${GPUSCAN_PG_CACHE:-/var/cache/gpuscan}
else
    cache=${GPUSCAN_PG_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuscan}
fi
if [ "${1:-}" = --prefix ]; then
    echo "$cache/pg-$2"
    exit 0
fi

tests='' # of which release
if [ "${1:-}" = --tests ]; then
    tests=${2:?which version?}
    echo "$cache/tests-$tests"
    [ ! -d "$cache/tests-$tests/src/test/recovery" ] || exit 0
    set -- "${tests%%[.a-z]*}"
fi
major=${1:?usage: build-postgres.sh MAJOR [patched|oracle PATCH...]}
shift
name=pg-$major
if [ "${1:-}" = patched ] || [ "${1:-}" = oracle ]; then
    name=pg-$major-$1
    shift
    [ $# -gt 0 ] || { echo "build-postgres.sh: no patches given" >&2; exit 1; }
fi
prefix=$cache/$name
patches=()
for patch in "$@"; do
    patches+=("$(realpath "$patch")")
done

# What an installation was made of: the way of building (raise the number when it changes below) and the patches. The
# tarball's version is left out, so that a minor release of PostgreSQL costs no rebuild; remove the directory to get one.
recipe=$({ echo "build 3"; cat /dev/null "${patches[@]}"; } | sha256sum | cut -d' ' -f1)
if [ -z "$tests" ] && [ "$(cat "$prefix/recipe" 2>/dev/null)" = "$recipe" ]; then
    echo "PostgreSQL $("$prefix/bin/pg_config" --version | cut -d' ' -f2-) is in $prefix"
    exit 0
fi

[ -n "$tests" ] || "$here/setup.sh" postgres-build

work=$(mktemp -d "${TMPDIR:-/tmp}/gpuscan-build.XXXXXX")
trap 'rm -rf "$work"' EXIT
phase() {
    echo "$(date +%H:%M:%S) $name: $*" >&2
}

# --- the source ---

# The mirrors of this machine's own Debian archive, in both formats of apt: "main URI" or "security URI", one a line.
mirrors() {
    {
        awk '$1 == "URIs:" { for (i = 2; i <= NF; i++) print $i }' /etc/apt/sources.list.d/*.sources
        sed -nE 's/^deb(-src)? (\[[^]]*\] )?([^ ]+) .*/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list
    } 2>/dev/null | grep debian | sed 's,/*$,,' | sort -u | sed -E '/security/{s/^/security /;b};s/^/main /'
    return 0
}

private_apt() {
    local tool=$1
    shift
    "$tool" -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State="$work/state" \
        -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)" \
        -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# download URI FILE [HASH]: by apt's own program, so that a mirror's proxy and credentials are apt's
download() {
    /usr/lib/apt/apt-helper -qq -o Acquire::Retries=1 -o APT::Sandbox::User="$(id -un)" download-file "$@" >>"$work/apt.log" 2>&1
}

# Debian 12 has 15, Debian 13 has 17, 18 is in the suites after it, and later ones begin in experimental.
releases() {
    case $major in
        15) echo bookworm ;;
        17) echo trixie ;;
        18) echo "sid forky" ;;
        *) echo "sid forky experimental" ;;
    esac
}

# wanted FILE: the tarball of a release that was asked for
wanted() {
    [ -z "$tests" ] || [ "$(basename "$1" | sed -E 's/.*_(.*)\.orig\.tar\..*/\1/')" = "$tests" ]
}

# By apt, from every suite of every mirror. What an index names but the pool lacks is noted in $work/named, with its place.
fetch_by_index() {
    local release kind mirror suite uri file
    mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/source"
    : >"$work/named"
    for release in $(releases); do
        while read -r kind mirror; do
            for suite in $(if [ "$kind" = security ]; then echo "$release-security"; else echo "$release" "$release-updates"; fi); do
                echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/sources.list"
                private_apt apt-get update >"$work/apt.log" 2>&1 || continue
                uri=$(private_apt apt-get source --print-uris "postgresql-$major" 2>/dev/null | sed -nE "s/^'([^']*\.orig\.tar\.[a-z0-9]+)'.*/\1/p")
                [ -n "$uri" ] || continue
                echo "$uri" >>"$work/named"
                (cd "$work/source" && private_apt apt-get source --download-only --tar-only "postgresql-$major") >>"$work/apt.log" 2>&1 || true
                for file in "$work/source/postgresql-${major}_"*.orig.tar.*; do
                    [ -e "$file" ] || continue
                    ! wanted "$file" || return 0
                    rm -f "$file"
                done
                phase "$suite names $(basename "$uri"), which is not to be had there: $(tail -n 1 "$work/apt.log")"
            done
        done < <(mirrors)
    done
    return 1
}

# An index can name a tarball days before the pool has it, or after. The pool keeps older minor releases; each has a .dsc
# that its maintainer signed, and that names the tarball's hash. So nothing is trusted that Debian's keyring does not know.
fetch_older() {
    local uri place extension newest minor revision dsc hash file
    [ -s "$work/named" ] || return 1
    "$here/setup.sh" postgres-keyring
    while read -r uri; do
        place=$(dirname "$uri")
        extension=${uri##*.}
        newest=$(basename "$uri" | sed -nE "s/^postgresql-${major}_${major}\.([0-9]+)\.orig.*/\1/p")
        [ -n "$newest" ] || continue # a release candidate has none before it
        for ((minor = newest; minor >= 0 && minor > newest - 6; --minor)); do
            file=$work/source/postgresql-${major}_$major.$minor.orig.tar.$extension
            wanted "$file" || continue
            for revision in 0%2bdeb13u1 0%2bdeb12u1 1; do
                dsc=$work/postgresql-$major.$minor.dsc
                download "$place/postgresql-${major}_$major.$minor-$revision.dsc" "$dsc" || continue
                gpgv -q --keyring /usr/share/keyrings/debian-keyring.gpg --output "$dsc.signed" "$dsc" >>"$work/apt.log" 2>&1 || continue
                hash=$(awk '/^Checksums-Sha256:/ { on = 1; next } /^[^ ]/ { on = 0 } on && /orig\.tar\.[a-z0-9]+$/ { print $1 }' "$dsc.signed")
                if [ -n "$hash" ] && download "$place/$(basename "$file")" "$file" "SHA256:$hash" && [ -e "$file" ]; then
                    phase "taking $major.$minor, the newest release whose tarball and signature are to be had"
                    return 0
                fi
                rm -f "$file"
            done
        done
    done < <(sort -u "$work/named")
    return 1
}

# Exit status 3: there is no such source anywhere today (CI says so and goes on).
fetch_source() {
    fetch_by_index || fetch_older || {
        echo "build-postgres.sh: cannot fetch the source of postgresql-$major${tests:+ ($tests)}" >&2
        exit 3
    }
}

phase "fetching the source"
fetch_source
if [ -n "$tests" ]; then
    mkdir -p "$work/tests" "$cache"
    tar -C "$work/tests" --strip-components=1 --wildcards -xf "$work"/source/postgresql-"$major"_*.orig.tar.* \
        '*/src/test/regress' '*/src/test/isolation' '*/src/test/recovery' '*/src/test/perl' '*/contrib/spi'
    chmod -R a+rX "$work/tests"
    rm -rf "$cache/tests-$tests"
    mv "$work/tests" "$cache/tests-$tests"
    exit 0
fi
tar -C "$work" -xf "$work"/source/postgresql-"$major"_*.orig.tar.*
cd "$work"/postgresql-*/
for patch in "${patches[@]}"; do
    patch -s -p1 <"$patch"
done

# --- the build ---

# PostgreSQL makes its generated headers first only if it believes to be the outermost make.
unset MAKELEVEL MAKEFLAGS MFLAGS

run() {
    "$@" >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; exit 1; }
}

compiler=gcc
! command -v ccache >/dev/null || compiler="ccache gcc"
phase "configuring $(sed -n "s/^PACKAGE_VERSION='\(.*\)'/\1/p" configure)"
rm -rf "$prefix"
run ./configure --prefix="$prefix" --enable-cassert --enable-debug --with-icu --without-readline --without-llvm \
    CC="$compiler" CFLAGS="-O1 -fno-omit-frame-pointer" CXXFLAGS="-O1 -fno-omit-frame-pointer"
phase "building"
run make -s -j"$(nproc)" all
phase "installing"
run make -s install
# (the second line: what PostgreSQL's own suites ask for)
for extension in pageinspect pg_visibility pg_freespacemap pg_buffercache postgres_fdw file_fdw \
    auto_explain amcheck pg_prewarm test_decoding; do
    run make -s -j"$(nproc)" -C "contrib/$extension" install
done
# pg_regress, pg_isolation_regress and isolationtester, and the PGXS that names them.
run make -s -j"$(nproc)" -C src/test/regress all install
run make -s -j"$(nproc)" -C src/test/isolation all install
echo "$recipe" >"$prefix/recipe"
phase "done: $("$prefix/bin/pg_config" --version) in $prefix"
