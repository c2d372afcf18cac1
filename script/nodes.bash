# For scripts that need a coordinator, node 0, and nodes 1 to 3, each a private server of script/server.sh. Sourced, not run; from the
# folder above script/:
#
#     start_nodes ARGUMENT...       of server.sh start, for each of them; their devices are ready. Sets `nodes`, the directory of
#                                   node0 to node3, where the sockets are
#     on_node N COMMAND...          with the environment of node N
#     stop_nodes NAME               removes them; fails if a log has what nobody expects of NAME (script/honest.sh)
# shellcheck shell=bash

start_nodes() {
    local n
    nodes=$(mktemp -d "${TMPDIR:-/tmp}/gpuscan.XXXXXX")
    chmod 711 "$nodes" # the servers' user passes through
    for n in 0 1 2 3; do
        script/server.sh start --dir "$nodes/node$n" "$@" >"$nodes/$n.env" || return 1
        on_node "$n" psql -Xq -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION gpuscan' || return 1
    done
    for n in 0 1 2 3; do
        until [ "$(on_node "$n" psql -XAtqc "SELECT bool_or(state = 'ready') FROM gpuscan.devices")" = t ]; do
            sleep 0.1
        done
    done
}

on_node() {
    (
        # shellcheck disable=SC1090
        . "$nodes/$1.env"
        shift
        "$@"
    )
}

stop_nodes() {
    local n status=0
    for n in 0 1 2 3; do
        [ -s "$nodes/$n.env" ] || continue
        script/honest.sh "$1" "$nodes/node$n/server.log" || status=1
        script/server.sh stop "$nodes/node$n"
    done
    rm -rf "$nodes"
    return "$status"
}
