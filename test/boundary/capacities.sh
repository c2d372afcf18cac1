#!/usr/bin/env bash
# The capacities in the source: every integer constant of the engine, the CUDA device and the server's side that has a value from
# 2 to 2^21, by name. So a new one is tested without anybody thinking of it.
# Usage: test/boundary/capacities.sh            "VALUE NAME FILE", a line each
#        test/boundary/capacities.sh boundaries MOST   what test/boundary/run.sh tries: n - 1, n and n + 1 of each, no more than MOST
set -euo pipefail
cd "$(dirname "$0")/../.."
most_value=$((1 << 21))

# "NAME EXPRESSION FILE": casts, suffixes and namespaces taken off, so that the shell can compute it.
declared() {
    grep -rHoE 'constexpr (static )?[a-zA-Z_0-9: ]+ [a-z_0-9]+ = [^;"{]+;' src --include='*.cpp' --include='*.hpp' --include='*.h' --include='*.cuh' |
        sed -nE 's/^([^:]+):.*constexpr .* ([a-z_0-9]+) = ([^;]+);$/\2\t\3\t\1/p' |
        sed -E "s/\b(size_t|u?int[0-9]*_t|uint64|uint32|int|unsigned|long|static_cast<[^>]*>|Index|[a-z]+::)(\()/\2/g; s/([0-9])'([0-9])/\1\2/g; s/\b(0x[0-9a-f]+|[0-9]+)[uUlL]+\b/\1/g; s/[a-z_]+:://g"
}

declare -A expression=() value=()
names=() files=()
while IFS=$'\t' read -r name text file; do
    case $text in *[\"\'.\?]* | *sizeof* | *static_cast* | *lengthof* | *INT*MAX* | *std* | *-\>*) continue ;; esac
    expression[$name]=$text
    names+=("$name	$text")
    files+=("$file")
done < <(declared)

# value_of EXPRESSION: with the constants that it names put in their places; nothing if one of them is unknown
value_of() {
    local text=$1 word
    for _ in 1 2 3 4; do
        for word in $(grep -oE '\b[a-z_][a-z_0-9]*\b' <<<"$text" || true); do
            [[ $word != 0x* ]] || continue
            [ -n "${expression[$word]:-}" ] || return 0
            text=$(sed -E "s/\b$word\b/(${expression[$word]//\//\\/})/g" <<<"$text")
        done
    done
    [[ $text =~ ^[0-9a-fx\ \(\)+*/%\<\>\-]+$ ]] || return 0
    (echo $((text))) 2>/dev/null || true
}

list() {
    local i name text found
    for i in "${!names[@]}"; do
        IFS=$'\t' read -r name text <<<"${names[i]}"
        found=${value[$text]:-$(value_of "$text")}
        value[$text]=$found
        if [ -n "$found" ] && [ "$found" -ge 2 ] && [ "$found" -le $most_value ]; then
            echo "$found $name ${files[i]}"
        fi
    done | sort -n
}

case ${1:-list} in
    list) list ;;
    boundaries)
        {
            list | cut -d' ' -f1
            for ((power = 2; power <= 1 << 17; power *= 2)); do # widths of codes, of packed values, and of every table that doubles
                echo $power
            done
            for ((entries = 256, all = 256; all <= 1 << 17; entries *= 2, all += entries)); do # blocks that double, all full
                echo $all
            done
        } | awk -v most="$2" '{ for (i = -1; i <= 1; i++) if ($1 + i <= most) print $1 + i }' | sort -nu
        ;;
esac
