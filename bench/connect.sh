#!/usr/bin/env bash
# What the first query of a session costs: the Star Schema Benchmark's queries, each in a new connection, while the service
# knows plan and kernels already.
usage() {
    cat <<'TEXT'
Usage: bench/connect.sh [OPTION]...

Runs the 13 queries of the Star Schema Benchmark (load them by bench/ssb.sh SF) hot in one session and each in new sessions.
"more" is a new session's time less the hot time less that of "SELECT 1" in a new session, which is PostgreSQL's own cost of a
connection; "own" is the part of it that PostgreSQL needs without gpuscan, to read its catalogs for the same plan.

  --only LIST       some of the queries, such as q1.1,q4.3
TEXT
    common_usage
}

only=()
option() {
    case $1 in
        --only) only=(--only "${2:-}") taken=2 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse "$@"
((${#arguments[@]} == 0)) || fail "what is '${arguments[0]}'? See --help"

draw_figure() {
    draw connect <<'GNUPLOT'
set title 'First query of a session: ms beyond the hot time and a connection'
set style data histograms
set style fill solid
set ylabel 'ms'
plot csv using 5:xtic(1) title 'gpuscan', '' using 6 title 'PostgreSQL alone (catalogs)'
GNUPLOT
}

if ((draw_only)); then draw_figure; exit; fi

need_server
build_ssb
machine
mkdir -p "$(dirname "$csv")"
"${ssb[@]}" --new-connections --reps "$reps" --warmups "$warmups" "${only[@]}" --csv "$csv"
draw_figure
