#!/usr/bin/env bash
# Formatter check, linters and the rules of the house. Usage: script/lint.sh [--fix]
#   --fix   rewrites the sources by clang-format instead
set -euo pipefail
cd "$(dirname "$0")/.."

script/setup.sh ci

# git knows which files are ours, tracked or about to be.
ours() {
    git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
        [ ! -f "$file" ] || echo "$file"
    done
}
mapfile -t sources < <(ours '*.cpp' '*.hpp' '*.h' '*.cuh' '*.cu')
mapfile -t scripts < <(ours '*.sh' '.ci/run')

if [ "${1:-}" = --fix ]; then
    clang-format-14 -i "${sources[@]}"
    exit 0
fi

failures=0
# rule SENTENCE COMMAND...: fails when the command prints anything
rule() {
    local sentence=$1 output
    shift
    output=$("$@" 2>&1 || true)
    if [ -n "$output" ]; then
        head -n 60 <<<"$output"
        echo "lint: $sentence"
        failures=$((failures + 1))
    fi
}

formatted() {
    [ ${#sources[@]} = 0 ] || clang-format-14 --dry-run -Werror "${sources[@]}"
}

scripts_are_sound() {
    shellcheck -x -S warning -e SC2164 "${scripts[@]}"
}

# Headers are not followed (no -I), which takes 60 times as long: what matters lies inside functions, and the compiler sees the rest.
cppcheck_finds_nothing() {
    local files
    mapfile -t files < <(ours 'src/*.cpp')
    [ ${#files[@]} = 0 ] || cppcheck --quiet -j "$(nproc)" --std=c++17 --language=c++ --inline-suppr --enable=warning,portability \
        --suppress=syntaxError --suppress=uninitMemberVar --suppress=unknownMacro --suppress=internalAstError \
        --template='{file}:{line}: {severity}: {message} [{id}]' "${files[@]}"
}

# Own headers are included by their path below src/, so anything else in quotes is the server's.
foreign_includes() {
    local file name
    ours 'src/*' | grep -E '\.(cpp|hpp|h|cuh)$' | grep -vE '^src/pg/(pg|compat)\.h$' | while read -r file; do
        sed -nE 's/^#[[:space:]]*include "(.*)"/\1/p' "$file" | while read -r name; do
            [ -e "src/$name" ] || echo "$file includes \"$name\""
        done
    done
}

# Each folder of src/ has a README.md whose last line says which folders its sources may include.
folders() { ours 'src/*' | grep -E '\.(cpp|hpp|h|cuh)$' | xargs -r dirname | sort -u; }

unread_folders() {
    local folder
    for folder in $(folders); do
        grep -qs '^May include: ' "$folder/README.md" || echo "$folder/README.md"
    done
}

forbidden_includes() {
    local folder known
    known=" $(folders | sed 's|^src/||' | tr '\n' ' ')"
    for folder in $(folders); do
        ours "$folder/*" | grep -xE "$folder/[^/]*\.(cpp|hpp|h|cuh)" | xargs grep -HE '^#[[:space:]]*include "' |
            awk -v known="$known" -v own="${folder#src}" -v allowed="$(grep -s '^May include: ' "$folder/README.md")" '
                { split($0, part, "\""); target = part[2]; if (!sub("/[^/]*$", "", target)) target = "" }
                index(known, " " target " ") && target != substr(own, 2) && !index(allowed, "`" target "`")'
    done
}

unused_permissions() {
    local folder target
    for folder in $(folders); do
        for target in $(grep -s '^May include: ' "$folder/README.md" | grep -o '`[^`]*`' | tr -d '`'); do
            ours "$folder/*" | grep -xE "$folder/[^/]*\.(cpp|hpp|h|cuh)" | xargs grep -qE "^#[[:space:]]*include \"$target/[^/\"]*\"" ||
                echo "$folder/README.md: no source includes $target"
        done
    done
}
# Words of our own for what the field has a term for, which have been replaced.
private_words() {
    ours 'src/*' | xargs grep -HnE -e '[Bb]lueprint|[Hh]armless|[Rr]ehears|[Rr]egroup|[Uu]nmet|[Oo]utlook|ReplyStore|GroupSieve|[Jj]oint_?[Kk]ey|[Ss]uppos(es|ition)' \
        -e '[Dd]emand(ed|s_|_)|_demand|\bDemand|Kept(Table|Build|Lookup)|kept_(tables|builds|lookups|deaths|part)|tables_kept|can_be_kept' \
        -e 'TextSpace|text_space|SpaceText|UseSpace|nspaces|space_code|[Ss]ettl(e|ing)|[Ii]nvestment|[Ss]avings|_offers?\b|\bLoad\b' \
        -e '\bZonesRef\b|zones_tell|\bZoneTables|feed_team|team_size|with_team|struct Team|by_team|storage_tier|StorageTier|storage tier' \
        -e 'constexpr [^=;]*\b(least|fewest|most_[^c])_?[a-z_]* =|[Ff]orese|[Ss]ift(er|ed|s?_)|[Rr]esidency|resident_(pages|column)|ResidentColumn' \
        -e '[Hh]opeless|\bby_row\b' || true
}
crowded_folders() {
    ours 'src/*.cpp' | xargs -r dirname | sort | uniq -c | awk '$1 > 25 { print $2 " has " $1 " sources" }'
}

# Two headers that define a type of the same name in the same namespace.
types_of_one_name() {
    ours 'src/*' | grep -E '\.(hpp|h|cuh)$' | xargs awk '
        FNR == 1 { depth = 0 }
        /^namespace .*\{$/ { name[++depth] = $2 == "{" ? FILENAME : $2 }
        /^\} \/\/ namespace/ { --depth }
        /^(struct|class|union|enum( class)?) [A-Za-z_]+.*\{/ {
            type = $1 == "enum" && $2 == "class" ? $3 : $2
            space = ""
            for (i = 1; i <= depth; i++) space = space name[i] "::"
            type = space type
            if (type in where && where[type] != FILENAME) print type ": " where[type] ", " FILENAME
            where[type] = FILENAME
        }'
}

version_tests() {
    ours 'src/*' | grep -v '^src/pg/compat\.h$' | xargs -r grep -nE 'PG_VERSION_NUM|PG_MAJORVERSION'
}

server_below_the_engine() {
    ours 'src/engine/*' 'src/host/*' 'src/cuda/*' 'src/server/*' 'src/device/*' | xargs -r grep -nE '#[[:space:]]*include [<"](pg/|postgres|cuda_runtime|libpq)'
}

# A harness that does not look at deaths and fallbacks takes a fallback's right answer for success.
blind_harnesses() {
    local file
    ours '*.sh' '*.bash' | while read -r file; do
        ! grep -qE '(environment=|eval ).*server\.sh"? start|^ *script/server\.sh start|server start --dir' "$file" ||
            grep -qE 'honest|count_hidden|common\.bash' "$file" || echo "$file"
    done
}

# foo_1.out is an alternative for foo.sql.
orphaned_results() {
    local result name
    for result in expected/*.out; do
        name=$(basename "$result" .out)
        [ ! -e "$result" ] || [ -e "test/sql/$name.sql" ] || [ -e "test/sql/${name%_[0-9]}.sql" ] || echo "$result"
    done
    for result in test/isolation/expected/*.out; do
        name=$(basename "$result" .out)
        [ ! -e "$result" ] || [ -e "test/isolation/specs/$name.spec" ] ||
            [ -e "test/isolation/specs/${name%_[0-9]}.spec" ] || echo "$result"
    done
}

# META.json has it; packages and the list of changes say the same.
releases_differ() {
    local release
    release=$(sed -n 's/^  "version": "\(.*\)",/\1/p' META.json)
    grep -q "^gpuscan ($release)" debian/changelog || echo "debian/changelog is not about $release"
    grep -q "^Version: *$release$" packaging/gpuscan.spec || echo "packaging/gpuscan.spec is not about $release"
    grep -qE "^## ($release |Unreleased)" CHANGELOG.md || echo "CHANGELOG.md has neither $release nor Unreleased"
}

rule "run \"make format\"" formatted
rule "shellcheck" scripts_are_sound
rule "cppcheck (a false alarm: // cppcheck-suppress with the reason)" cppcheck_finds_nothing
rule "only src/pg/pg.h, with compat.h, includes server headers; own headers are included by their path below src/" foreign_includes
rule "a folder without a README.md that says what it may include" unread_folders
rule "a folder includes what its README.md allows" forbidden_includes
rule "a folder has at most 25 sources" crowded_folders
rule "a folder's README allows no include that nothing uses" unused_permissions
rule "the field's terms, not words of our own" private_words
rule "two types of one name in one namespace" types_of_one_name
rule "only src/pg/compat.h tests PostgreSQL's version" version_tests
rule "the engine and the CUDA device know neither PostgreSQL nor the CUDA runtime" server_below_the_engine
rule "whoever starts a server asks script/honest.sh what its log has" blind_harnesses
rule "one number of the release" releases_differ
rule "expected results without a test" orphaned_results

[ "$failures" = 0 ] || exit 1
echo "lint: clean"
