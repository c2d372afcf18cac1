# For scripts that start a private server (script/server.sh) and leave nothing running: what the server's log says of deaths and
# fallbacks (script/honest.sh) is a part of their result. Sourced, not run; from the folder above script/:
#
#     trap 'stop_honestly demo' EXIT      stops the server of SERVER, and the script fails if its log has what nobody expects
# shellcheck shell=bash

stop_honestly() {
    local status=$? name=$1
    trap - EXIT
    if [ -e "${SERVER_LOG:-}" ]; then
        script/honest.sh "$name" "$SERVER_LOG" >&2 || [ "$status" != 0 ] || status=1
    fi
    [ -z "${SERVER:-}" ] || script/server.sh stop "$SERVER"
    exit "$status"
}
