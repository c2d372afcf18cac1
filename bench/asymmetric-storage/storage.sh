#!/usr/bin/env bash
# Gives a server storage with chosen latencies, on any machine, without root and without a device: a preloaded library lets the
# server's own reads and writes of relations and temporary files take as long as was asked for, by pattern (preload.cpp).
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
here=$bench/asymmetric-storage

usage() {
    cat <<'TEXT'
Usage: bench/asymmetric-storage/storage.sh [OPTION]... -- COMMAND...     runs COMMAND; servers that it starts are on the storage
       bench/asymmetric-storage/storage.sh set DIR [OPTION]...           other latencies, also while servers run
       bench/asymmetric-storage/storage.sh show DIR                      counts by pattern, and times
       bench/asymmetric-storage/storage.sh reset DIR                     counts and times begin at 0 again

  --state DIR       where the storage's state lies; made if it is not there, else used as it is, with the options' changes
                    (default: a new directory, which is printed)
TEXT
    if [[ -x $here/storage-control ]]; then
        "$here/storage-control" --help | sed '1,/^$/d'
    else
        echo '  Other options: see storage-control --help, once "make -C bench" has built it.'
    fi
    cat <<'TEXT'

Example: a private server whose random writes cost ten times its reads, and what happened there

  eval "$(bench/asymmetric-storage/storage.sh --state /tmp/slow --seq-read 20 --random-read 80 --seq-write 20 \
          --random-write 800 -- script/server.sh start)"
  psql -c '...'
  bench/asymmetric-storage/storage.sh show /tmp/slow
  script/server.sh stop "$SERVER"

What is restarted has to be restarted below storage.sh, too. io_method = io_uring (PostgreSQL 18) is refused.
Exit status: that of COMMAND; 2 for wrong options; 3 if COMMAND succeeded and no server has loaded the library.
TEXT
}

control() { "$here/storage-control" "$@" || exit 2; }

build_storage() {
    make_program asymmetric-storage/storage-control asymmetric-storage/preload.so
}

case ${1:-} in
    --help | '') usage; exit 0 ;;
    set | show | reset)
        (($# >= 2)) || fail "$1 needs the directory of the storage"
        build_storage
        control "$1" "$2/state" "${@:3}"
        exit 0
        ;;
esac

state='' options=()
while (($#)); do
    case $1 in
        --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
    esac
    case $1 in
        --help) usage; exit 0 ;;
        --) shift; break ;;
        --state) (($# >= 2)) || fail "$1 needs a value"; state=$2; shift 2 ;;
        -*) (($# >= 2)) || fail "$1 needs a value"; options+=("$1" "$2"); shift 2 ;;
        *) fail "commands come behind --; see --help" ;;
    esac
done
(($#)) || fail "no command; see --help"
for word in "$@"; do
    [[ ! $word =~ io_method[[:space:]]*=?[[:space:]]*\'?io_uring ]] ||
        fail "io_method = io_uring is refused: the kernel would read behind the library's back; use worker or sync"
done

build_storage
if [[ -z $state ]]; then
    state=$(mktemp -d "${TMPDIR:-/tmp}/storage.XXXXXX")
    note "the storage's state is in $state"
fi
mkdir -p "$state"
state=$(cd "$state" && pwd)
# The server may run as a user who cannot read this tree.
chmod 755 "$state"
if [[ -f $state/state ]]; then control set "$state/state" "${options[@]}"; else control create "$state/state" "${options[@]}"; fi
if ! cmp -s "$here/preload.so" "$state/preload.so"; then
    cp "$here/preload.so" "$state/preload.so.new" # a server may have the old one mapped
    mv "$state/preload.so.new" "$state/preload.so"
fi

status=0
LD_PRELOAD="$state/preload.so${LD_PRELOAD:+:$LD_PRELOAD}" ASYMMETRIC_STORAGE=$state/state "$@" || status=$?
if ((status == 0)) && ! "$here/storage-control" check "$state/state"; then
    note "no server has loaded $state/preload.so"
    exit 3
fi
exit "$status"
