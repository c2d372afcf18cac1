#!/usr/bin/env bash
# make demo and make demo-events, small: they end well with the right answers, twice, and what they tell to try next works as it is printed.
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

tap_files=$(mktemp -d)
export SF=0.01 DEMO_STATE=$tap_files/demo-server
at_exit+=('make -s demo-stop')

# demo TARGET: what it prints goes to $tap_files/TARGET, the commands to try next to $tap_files/TARGET.next
demo() {
    make -s "$1" >"$tap_files/$1" 2>&1 || { tail -n 20 "$tap_files/$1" | sed 's/^/#   /'; return 1; }
    sed -n 's/^    //p' "$tap_files/$1" >"$tap_files/$1.next"
}
# The server's directory, as the first command has it.
server_of() { sed -nE '1s/.* env ([^)]*)\).*/\1/p' "$tap_files/$1.next"; }
# try_next TARGET: each of the commands but those that begin with make, in one shell as a user would paste them
try_next() {
    grep -v '^make ' "$tap_files/$1.next" | bash -e >"$tap_files/$1.tried" 2>&1 || { tail -n 20 "$tap_files/$1.tried" | sed 's/^/#   /'; return 1; }
}
tried() { grep -qE "$2" "$tap_files/$1.tried"; }

ok 'make demo' demo demo
ok 'all answers are equal' grep -q '^13/13 equal' "$tap_files/demo"
ok 'it says whether there is a GPU' grep -qE '^(No GPU takes part: .|gpuscan runs on the GPU, .)' "$tap_files/demo"
is 'seven commands to try next' "$(wc -l <"$tap_files/demo.next")" 7
ok 'they work' try_next demo
ok 'gpuscan is preloaded' tried demo '^ preload +\| ok '
ok 'a plan is shown' tried demo 'Execution Time: '
ok 'a reason is given' tried demo 'WITHIN GROUP'

first=$(server_of demo)
ok 'make demo once more' demo demo
is 'uses the same server' "$(server_of demo)" "$first"

next=$(sed -nE 's/^make (demo-events) .*/\1/p' "$tap_files/demo.next")
ok 'make demo-events, which it names' demo "$next"
is 'uses the same server, too' "$(server_of demo-events)" "$first"
ok 'all answers are equal' grep -q '^14/14 equal' "$tap_files/demo-events"
ok 'the commands that it names work' try_next demo-events
ok 'the reason of a query is given beside its times' grep -qE '^one_user .* PostgreSQL: estimated' "$tap_files/demo-events"

stop=$(grep '^make demo-stop' "$tap_files/demo-events.next")
ok 'the command that stops the server' bash -c "$stop"
ok 'leaves nothing' test ! -e "$first"
ok 'and works without a server' bash -c "$stop"
