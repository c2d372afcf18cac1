#!/usr/bin/env bash
# The comparison of calibrations from bad weights (bench/bad-starts.sh): each search is on its own, the best of its walk is compared, and
# what is done is not done again.
# Long
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

dir=$(mktemp -d)
at_exit+=("bench/bad-starts.sh '$dir' --remove >/dev/null 2>&1" "rm -rf '$dir'")
chmod 755 "$dir"
starts() { bench/bad-starts.sh "$dir" --sf 0.01 --starts 2 --rounds 1 --cycles 30 "$@" >"$dir/table" 2>"$dir/said"; }

ok 'two starts' starts
is 'a table' "$(cut -c1-12 "$dir/table" | sed 's/ *$//' | head -n -1 | tr '\n' ',')" 'start,(defaults),from these,start1,start2,'
ok 'ends with the figures' grep -qE '^starts 2, within 5 % of the best [0-2], executed at most [0-9.]+ % of the \(cycle, query\) pairs$' "$dir/table"
is 'weights far from the defaults' "$(sed -n 's/.*start 1:.*cpu_tuple_cost=\([0-9.e+-]*\).*/\1/p' "$dir/said" | awk '{ f = $1 / 0.01; print (f >= 9.9 && f <= 101 || f >= 0.0099 && f <= 0.101) }')" 1
is 'nothing is shared' "$(cat "$dir"/*.jsonl | grep -c '"type":"known"')" 0
cp "$dir/start2.jsonl" "$dir/before"
ok 'again' starts
ok 'without another search' cmp "$dir/start2.jsonl" "$dir/before"
