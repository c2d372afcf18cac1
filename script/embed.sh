#!/usr/bin/env bash
# Print a C++ source that holds text files as string constants (declared in src/cuda/embedded.hpp).
# Usage: script/embed.sh ROOT FILE...        (each FILE lies below ROOT; its name is its path from there)
set -euo pipefail
root=${1%/}
shift

echo '#include "cuda/embedded.hpp"'
echo 'namespace gpuscan {'
echo 'const EmbeddedSource embedded_sources[] = {'
for file in "$@"; do
    printf '{"%s",\n' "${file#"$root"/}"
    # Pieces of a hundred lines: compilers may limit the length of one literal.
    awk '(NR - 1) % 100 == 0 { if (NR > 1) print ")gpuscan\""; printf "R\"gpuscan(" }
         { print }
         END { print NR ? ")gpuscan\"" : "\"\"" }' "$file"
    echo '},'
done
echo '{nullptr, nullptr}};'
echo "const unsigned embedded_source_count = $#;"
echo '}'
