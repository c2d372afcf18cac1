#!/usr/bin/env bash
# Install the Debian packages that gpuscan's targets need, as root or through sudo; silent and idle when all are there.
# Usage: script/setup.sh [build] [ci] [browser] [bench] [core] [fuzz] [sqlsmith] [postgres-build] [postgres-keyring]       (default: build)
#   build           compiler, PostgreSQL with its development files, pgTAP and pg_prove, libpq, CLI11, nlohmann-json, Eigen, GoogleTest
#   ci              formatter and linters
#   browser         Chromium, in which test/tap/explain_page.sh looks at a page
#   deb             debhelper with PostgreSQL's parts, lintian, rpmlint and the rpm that it runs, help2man, and mmdebstrap for a bare system to try the packages in
#   bench           gnuplot, for the figures of the benchmarks
#   core            python3, which compares what PostgreSQL's own tests print, and the Perl module that its recovery tests need
#   fuzz            clang with libFuzzer and the sanitizers' runtimes
#   sqlsmith        sqlsmith, for make sqlsmith
#   postgres-build  what PostgreSQL's own build needs beyond that
#   postgres-keyring  the keys of Debian's maintainers, to verify a source that no index names any more
set -euo pipefail

# The release's own PostgreSQL, unless another one is installed already.
if pgxs=$(pg_config --pgxs 2>/dev/null) && [ -e "$pgxs" ]; then
    major=$(pg_config --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
else
    # shellcheck disable=SC1091
    case $(. /etc/os-release && echo "${VERSION_CODENAME:-}") in
        bookworm) major=15 ;;
        trixie) major=17 ;;
        noble) major=16 ;;
        *)
            echo "setup.sh: unknown Debian release: install PostgreSQL 15..18 with its development files yourself" >&2
            exit 1
            ;;
    esac
fi

packages=()
for group in "${@:-build}"; do
    case $group in
        build) packages+=(make g++ ccache "postgresql-$major" "postgresql-server-dev-$major" "postgresql-$major-pgtap" libtap-parser-sourcehandler-pgtap-perl libpq-dev libcli11-dev nlohmann-json3-dev libeigen3-dev libgtest-dev util-linux) ;;
        ci) packages+=(clang-format-14 cppcheck shellcheck git) ;;
        browser) packages+=(chromium) ;;
        core) packages+=(python3-minimal libipc-run-perl) ;;
        deb) packages+=(debhelper dpkg-dev fakeroot help2man lintian mmdebstrap rpm rpmlint postgresql-server-dev-all libpq-dev libcli11-dev nlohmann-json3-dev) ;;
        bench) packages+=(gnuplot-nox) ;;
        fuzz) packages+=(clang libclang-rt-dev ccache make libgtest-dev nlohmann-json3-dev) ;;
        sqlsmith) packages+=(sqlsmith) ;;
        postgres-build) packages+=(gcc make ccache bison flex perl patch xz-utils bzip2 pkg-config libicu-dev zlib1g-dev) ;;
        postgres-keyring) packages+=(debian-keyring gpgv) ;;
        *) echo "setup.sh: unknown group $group" >&2; exit 2 ;;
    esac
done

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root() {
    if [ "$(id -u)" = 0 ]; then
        env "$@"
    else
        sudo env "$@"
    fi
}
install_packages() {
    as_root DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends "$@" </dev/null >/dev/null
}

echo "installing ${missing[*]}"
as_root apt-get -qq update </dev/null
# Debian's server package makes and starts a cluster of its own. If the server comes only by us, there shall be none.
case " ${missing[*]} " in
    *" postgresql-$major "*)
        install_packages postgresql-common
        as_root mkdir -p /etc/postgresql-common/createcluster.d
        printf '# no cluster for a server that was installed to develop gpuscan\ncreate_main_cluster = false\n' |
            as_root tee /etc/postgresql-common/createcluster.d/gpuscan.conf >/dev/null
        ;;
esac
install_packages "${missing[@]}"
