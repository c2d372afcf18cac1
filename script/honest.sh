#!/usr/bin/env bash
# What a right answer can hide: deaths of the device process and fallbacks to PostgreSQL's plan. Every harness asks here, about what has
# happened on its server while it ran. Fails on each death and fallback that test/expected-fallbacks does not name.
#
# Usage: script/honest.sh NAME LOG [FIRST-BYTE]      of a private server: its log tells all (gpuscan.log_fallbacks = on, %a in log_line_prefix)
#        script/honest.sh since                      of any server, by the PG* variables: prints where it stands now
#        script/honest.sh NAME since WHERE           what has happened from there on: by the log that SERVER_LOG names, else by the
#                                                    server's counters, which know no reasons
#   NAME   of what has run: fallbacks of sessions whose application name is a test's (pg_regress/TEST, isolation/TEST/...) go by
#          regress/TEST and isolation/TEST, all others and deaths by NAME
# Prints one line of sums, and before it each that is not expected. With GPUSCAN_HONEST in the environment the sums are added
# to that file: "restarts expected-restarts fallbacks unexpected-fallbacks row-errors", a line a call.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=${1:?usage: honest.sh NAME LOG [FIRST-BYTE]}

counters() {
    PGOPTIONS='-c client_min_messages=warning' psql -XAtq -F ' ' -c 'SELECT restarts, fallbacks, row_errors FROM gpuscan.stat'
}

if [ "$name" = since ]; then
    if [ -r "${SERVER_LOG:-}" ]; then
        echo "log $(($(stat -c %s "$SERVER_LOG") + 1))"
    else
        echo "counters $(counters)"
    fi
    exit
fi

sleep 0.3 # the supervisor tells of a death a moment later
log=${2:?which log?} first=${3:-1}
if [ "$log" = since ]; then
    read -r kind before <<<"${3:?since when?}"
    if [ "$kind" = log ]; then
        log=$SERVER_LOG first=$before
    else
        # In the words of a log, so that there is one way to read them. What a counter tells has no reason but rows with errors.
        log=$(mktemp)
        trap 'rm -f "$log"' EXIT
        now=$(counters)
        awk -v before="$before" -v now="$now" 'BEGIN {
            split(before, was)
            split(now, is)
            for (i = was[1]; i < is[1]; i++)
                print "gpuscan device process (PID 0) was terminated by signal or exited, by the counters"
            for (i = was[3]; i < is[3]; i++)
                print " LOG:  gpuscan fallback: a row met an error: by the counters"
            for (i = was[2] + is[3] - was[3]; i < is[2]; i++)
                print " LOG:  gpuscan fallback: of any reason, by the counters"
        }' >"$log"
        first=1
    fi
fi

tail -c "+$first" "$log" | awk -v name="$name" -v expected="$here/../test/expected-fallbacks" -v sums="${GPUSCAN_HONEST:-}" '
    BEGIN {
        while ((getline line < expected) > 0) {
            if (line ~ /^(#|$)/)
                continue
            split(line, words, /[ \t]+/)
            tests[++n] = "^" words[1] "$"
            sub(/^[^ \t]+[ \t]+/, "", line)
            reasons[n] = "^" line "$"
        }
    }
    function is_expected(test, reason,    i) {
        for (i = 1; i <= n; i++)
            if (test ~ tests[i] && reason ~ reasons[i])
                return 1
        return 0
    }
    function unexpected(test, reason) {
        if (shown[test, reason]++ == 0)
            print "unexpected in " test ": " reason
    }
    # The query of the fallback in the line before.
    /DETAIL:  Query: / {
        if (pending && ++queries <= 20) {
            sub(/.*DETAIL:  Query: /, "")
            print "    " substr($0, 1, 300)
        }
    }
    { pending = 0 }
    / LOG:  gpuscan fallback: / {
        fallbacks++
        test = $0
        sub(/ LOG:  gpuscan fallback: .*/, "", test)
        reason = $0
        sub(/.* LOG:  gpuscan fallback: /, "", reason)
        if (match(test, /(pg_regress|isolation)\/[^ \/]*/)) {
            test = substr(test, RSTART, RLENGTH)
            sub(/^pg_regress/, name == "core" ? "core" : "regress", test)
        } else
            test = name
        row_errors += reason ~ /^a (row|function) met an error: /
        if (!is_expected(test, reason)) {
            unexpected(test, reason)
            hidden++
            pending = 1
        }
    }
    /gpuscan device process \(PID [0-9]+\) (was terminated by signal|exited with exit code)/ {
        restarts++
        if (is_expected(name, "death"))
            allowed++
        else {
            sub(/.*gpuscan device process/, "the device process")
            unexpected(name, $0)
        }
    }
    END {
        printf("honest %s: restarts %d (%d expected), fallbacks %d (%d unexpected), row errors %d\n", name, restarts, allowed,
            fallbacks, hidden, row_errors)
        if (sums != "")
            printf("%d %d %d %d %d\n", restarts, allowed, fallbacks, hidden, row_errors) >> sums
        exit (restarts > allowed || hidden > 0)
    }'
