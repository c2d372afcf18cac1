#!/usr/bin/env bash
# A private PostgreSQL server with gpuscan, below one temporary directory: a copy of the PostgreSQL installation (so that
# nothing is written into the system's directories), the extension installed in that copy, the data, and the socket,
# which is the only way in. Run by root, the server runs as the unprivileged user postgres, else as the caller.
#
# Usage: script/server.sh start [--demo] [--pg MAJOR] [--dir DIR] ['SETTING = VALUE'...]
#            builds, installs, starts; prints shell assignments: PGHOST PGPORT PGUSER PGDATABASE PATH PG_CONFIG,
#            SERVER (the directory), SERVER_BIN, SERVER_DATA, SERVER_LOG, AS_SERVER (the prefix for a command that
#            shall run as the server's user)
#            Plans are priced by built-in weights, so that they are the same on every machine; with --demo by those that the
#            device process measures at its first start, as on a server that is installed the usual way.
#        eval "$(script/server.sh start)"           the usual call
#        script/server.sh install DIR               install the extension again, from the present sources
#        script/server.sh restart DIR ['SETTING = VALUE'...]     settings are added to the earlier ones
#        script/server.sh stop DIR                  stops it and removes DIR
#        script/server.sh env DIR                   prints the assignments again
# Settings of the environment: SANITIZE (see the Makefile), PG (major version), PG_CONFIG, BUILD, and those of the Makefile.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$(pwd)
port=5432 # only names the socket, which lies in the server's own directory

fail() {
    echo "server.sh: $*" >&2
    exit 1
}

# --- the server's user ---

as_server() {
    if [ "$(id -u)" = 0 ]; then
        (cd / && setpriv --reuid=postgres --regid=postgres --init-groups env HOME="$dir" LC_ALL=C.UTF-8 "$@")
    else
        env LC_ALL=C.UTF-8 "$@"
    fi
}

# --- the private installation ---

# PostgreSQL finds its files relative to its own executable, so a copy of its directories works wherever it lies, as long
# as bin, lib and share keep their places towards each other.
copy_installation() {
    local part source
    for part in --bindir --pkglibdir --sharedir; do
        source=$("$pg_config" "$part")
        mkdir -p "$dir/root$(dirname "$source")"
        [ -d "$dir/root$source" ] || cp -a --reflink=auto "$source" "$dir/root$(dirname "$source")/"
    done
    # JIT stays out: bitcode is large, and no test or benchmark uses it. So does pg_config: no headers are copied.
    rm -rf "$dir/root$("$pg_config" --pkglibdir)"/{bitcode,llvmjit*} "$dir/root$("$pg_config" --bindir)/pg_config"
}

install_extension() {
    local log
    log=$(mktemp)
    if ! make -s -j"$(nproc)" BUILD="${BUILD:-build}" PG_CONFIG="$pg_config" DESTDIR="$dir/root" install >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "the build failed"
    fi
    rm -f "$log"
}

# --- settings ---

write_settings() {
    local memory_mb shared_mb
    memory_mb=$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
    shared_mb=$((memory_mb / 4 < 2048 ? memory_mb / 4 : 2048))
    cat <<CONF
listen_addresses = ''
unix_socket_directories = '$dir'
port = $port
logging_collector = off
log_line_prefix = '%m [%p] %b %q%a '
shared_preload_libraries = 'gpuscan'
autovacuum = on
jit = off
fsync = off
max_worker_processes = 32
gpuscan.log_fallbacks = on  # script/honest.sh reads them
CONF
    if [ "$preset" = demo ]; then
        cat <<CONF
shared_buffers = ${shared_mb}MB
work_mem = 64MB
max_parallel_workers_per_gather = 2
max_wal_size = 8GB
maintenance_work_mem = 256MB
CONF
    else
        cat <<CONF
shared_buffers = 256MB
gpuscan.cache_size = 1GB
gpuscan.cost_profile_file = ''  # plans are the same on every machine
max_connections = 120
max_prepared_transactions = 10
max_wal_size = 4GB
CONF
    fi
}

# --- starting and stopping ---

remember() {
    cat >"$dir/server.env" <<ENV
dir='$dir' pg_config='$pg_config' preset='$preset'
ENV
}

recall() {
    dir=${1:?which directory?}
    [ -f "$dir/server.env" ] || fail "$dir is not a server of this script"
    # shellcheck disable=SC1091
    . "$dir/server.env"
    bin=$dir/root$("$pg_config" --bindir)
}

# What a library that is built with SANITIZE needs to be loaded: the runtime must be in the process from the start. (Leaks are no
# finding: a backend frees by memory contexts. PostgreSQL looks at the stack's depth by addresses, so frames stay on the stack.)
# The server must be one of script/build-postgres.sh: Debian's hangs in bindtextdomain when it starts with AddressSanitizer.
sanitizer() {
    [ -n "${SANITIZE:-}" ] || return 0
    local options=abort_on_error=1:print_stacktrace=1:detect_leaks=0:detect_odr_violation=0:detect_stack_use_after_return=0
    local preload=''
    options+=:quarantine_size_mb=64
    case $SANITIZE in
        *address*) preload=$(g++ -print-file-name=libasan.so) ;;
        *thread*) preload=$(g++ -print-file-name=libtsan.so) ;;
    esac
    echo "LD_PRELOAD=$preload ASAN_OPTIONS=$options UBSAN_OPTIONS=$options TSAN_OPTIONS=$options"
}

launch() {
    # shellcheck disable=SC2046
    if ! as_server env $(sanitizer) "$bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w -t 120 start >/dev/null 2>&1; then
        tail -n 40 "$dir/server.log" >&2
        fail "the server did not start; its log is above"
    fi
}

halt() {
    if [ -f "$dir/data/postmaster.pid" ]; then
        as_server "$bin/pg_ctl" -D "$dir/data" -m fast -w -t 120 stop >/dev/null 2>&1 ||
            as_server "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || true
    fi
}

print_env() {
    local prefix=env
    [ "$(id -u)" != 0 ] || prefix="setpriv --reuid=postgres --regid=postgres --init-groups env HOME=$dir"
    cat <<ENV
export PGHOST='$dir' PGPORT='$port' PGUSER='postgres' PGDATABASE='postgres' PATH='$bin':"\$PATH" PG_CONFIG='$pg_config'
export SERVER='$dir' SERVER_BIN='$bin' SERVER_DATA='$dir/data' SERVER_LOG='$dir/server.log' AS_SERVER='$prefix'
ENV
}

start() {
    preset=test dir=
    local major=${PG:-}
    while [ $# -gt 0 ]; do
        case $1 in
            --demo) preset=demo ;;
            --pg) major=$2; shift ;;
            --dir) dir=$2; shift ;;
            *) break ;;
        esac
        shift
    done
    pg_config=$(script/pg-config.sh "$major")
    if [ -n "$dir" ]; then
        mkdir -p "$dir"
    else
        dir=$(mktemp -d "${TMPDIR:-/tmp}/gpuscan.XXXXXX")
    fi
    dir=$(cd "$dir" && pwd)
    bin=$dir/root$("$pg_config" --bindir)
    trap 'halt; rm -rf "$dir"' EXIT
    copy_installation
    install_extension
    mkdir "$dir/data"
    # Nobody else may reach the socket: whoever does is a superuser.
    chmod 700 "$dir" "$dir/data"
    [ "$(id -u)" != 0 ] || chown postgres: "$dir" "$dir/data"
    as_server "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$dir/initdb.log" 2>&1 ||
        { cat "$dir/initdb.log" >&2; fail "initdb failed"; }
    { write_settings; printf '%s\n' "$@"; } >>"$dir/data/postgresql.conf"
    remember
    launch
    trap - EXIT
    print_env
}

command=${1:-}
[ $# = 0 ] || shift
case $command in
    start) start "$@" ;;
    env) recall "$@"; print_env ;;
    install) recall "$@"; install_extension ;;
    restart)
        recall "$@"
        shift
        halt
        [ $# = 0 ] || printf '%s\n' "$@" >>"$dir/data/postgresql.conf"
        launch
        ;;
    stop) recall "$@"; halt; rm -rf "$dir" ;;
    *) sed -n '2,/^set/{/^#/p}' "$top/script/server.sh" | cut -c3-; exit 2 ;;
esac
