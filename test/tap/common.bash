# What test/tap/*.sh share: one private server per file, lines of TAP, the exit status, a limit of time: 900 s, or what a line
# "# Limit: N s" of the file says. To be sourced.
# shellcheck shell=bash
set -uo pipefail
if [ -z "${TAP_LIMITED:-}" ]; then
    limit=$(sed -nE 's/^# Limit: ([0-9]+) s.*/\1/p' "$0")
    TAP_LIMITED=1 exec timeout --foreground -k 10 "${limit:-900}" bash "$0" "$@"
fi
unset TAP_LIMITED
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
unset PGOPTIONS SERVER SERVER_LOG # of whoever runs the tests

tap_tests=0
tap_failed=0
at_exit=()
below=() # a command that the server is started by

# result STATUS NAME: one line of TAP
result() {
    tap_tests=$((tap_tests + 1))
    if [ "$1" = 0 ]; then
        echo "ok $tap_tests - $2"
    else
        echo "not ok $tap_tests - $2"
        tap_failed=$((tap_failed + 1))
    fi
}

# ok NAME COMMAND...: the command succeeds
ok() {
    local name=$1 status=0
    shift
    "$@" || status=$?
    result "$status" "$name"
}

# is NAME GOT WANTED
is() {
    [ "$2" = "$3" ]
    result $? "$1"
    [ "$2" = "$3" ] || printf '#   got:    %s\n#   wanted: %s\n' "$2" "$3"
}

note() {
    echo "# $*"
}

milliseconds() {
    echo $(($(date +%s%N) / 1000000))
}

sql() {
    psql -XAtq -v ON_ERROR_STOP=1 <<<"$1"
}

# wait_until SECONDS QUERY: until the query returns t
wait_until() {
    local end=$((SECONDS + $1))
    until [ "$(sql "$2" 2>/dev/null)" = t ]; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

# start_server 'SETTING = VALUE'...: with gpuscan and the functions of test/sql/support.sql; the device is ready
start_server() {
    local environment
    environment=$("${below[@]}" script/server.sh start "$@") || exit 1
    eval "$environment"
    tap_files=$(mktemp -d)
    psql -Xq -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION gpuscan' -f test/sql/support.sql || exit 1
    wait_until 30 "SELECT bool_or(state = 'ready') FROM gpuscan.devices" || { echo "Bail out! the device is not ready"; exit 1; }
}

# nothing_in_log PATTERN NAME
nothing_in_log() {
    ! grep -E "$1" "$SERVER_LOG" | head -n 5 | sed 's/^/#   /' | grep .
    result $? "$2"
}

# What a right answer hides (script/honest.sh), in the server's log.
check_honesty() {
    [ -e "${SERVER_LOG:-}" ] || return 0
    script/honest.sh "tap/$(basename "$0" .sh)" "$SERVER_LOG" | sed 's/^/# /'
    result "${PIPESTATUS[0]}" 'no death of the device process and no fallback that is not expected'
}

# For tests of more than one server.
stop_server() {
    check_honesty
    script/server.sh stop "$SERVER"
    SERVER='' SERVER_LOG=''
}

finish_tap() {
    local status=$? command
    trap - EXIT
    for command in "${at_exit[@]}"; do
        eval "$command"
    done
    check_honesty
    if [ "$status" != 0 ] || [ "$tap_failed" != 0 ]; then
        [ ! -e "${SERVER_LOG:-}" ] || { echo "# the end of the server's log:"; tail -n 40 "$SERVER_LOG" | sed 's/^/#   /'; }
    fi
    [ -z "${SERVER:-}" ] || script/server.sh stop "$SERVER"
    rm -rf "${tap_files:-}"
    echo "1..$tap_tests"
    [ "$status" = 0 ] && [ "$tap_failed" = 0 ] && [ "$tap_tests" -gt 0 ] || exit 1
}
trap finish_tap EXIT
