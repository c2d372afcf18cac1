#!/usr/bin/env bash
# gpuscan-explain: what a browser shows of real plans, what text of others does in the page (nothing), what is refused.
# shellcheck source=test/tap/common.bash
. "$(dirname "$0")/common.bash"

script/setup.sh browser || exit 1
make -s PG_CONFIG="${PG_CONFIG:-pg_config}" calibrate || exit 1
program=${BUILD:-build}/explain/gpuscan-explain
start_server 'gpuscan.device = host' 'gpuscan.offload = force' 'max_parallel_workers_per_gather = 0' 'autovacuum = off'
here=$tap_files
sql "CREATE TABLE f AS SELECT i AS id, i % 100 AS k, i % 1000 AS v, 'text ' || i % 10 AS t FROM generate_series(1, 100000) i;
     CREATE TABLE d AS SELECT i AS k, 'name ' || i AS name FROM generate_series(0, 99) i; VACUUM (FREEZE, ANALYZE) f, d"
join="SELECT name, sum(v) FROM f JOIN d USING (k) WHERE t <> 'text 3' GROUP BY 1 ORDER BY 2"

# explain NAME OPTIONS QUERY: NAME.json
explain() { sql "EXPLAIN ($2, FORMAT JSON) $3" >"$here/$1.json"; }
# page NAME: of NAME.json, NAME.html and what a browser makes of it, NAME.dom
page() { "$program" "$here/$1.json" --out "$here/$1.html" && browse "$1"; }
browse() {
    chromium --headless --no-sandbox --disable-gpu --user-data-dir="$here/browser" --dump-dom "file://$here/$1.html" >"$here/$1.dom" 2>"$here/browser.log" && grep -q '</html>' "$here/$1.dom"
}
# text NAME: the page's text without tags, in one line
text() { sed '/<style>/,/<\/style>/d' "$here/$1.dom" | sed 's/<[^>]*>/ /g; s/&lt;/</g; s/&gt;/>/g' | tr -s '\n ' ' '; }
shows() {
    local name=$1 what
    shift
    for what in "$@"; do
        ok "$name: $what" grep -qF -- "$what" <<<"$(text "$name")"
    done
}
lacks() {
    ! grep -qF -- "$2" <<<"$(text "$1")"
    result $? "$1: not $2"
}
# of NAME PATH: a value of the plan, as the page writes milliseconds
ms() { psql -XAtq -v p="$(<"$here/$1.json")" -v path="$2" <<<"SELECT jsonb_path_query_first(:'p'::jsonb, :'path')" | awk '{ printf $1 < 10 ? "%.3f ms" : "%.1f ms", $1 }'; }

# --- what plans show ---

explain ran 'ANALYZE, VERBOSE, BUFFERS' "$join"
ok 'a fragment has a page' page ran
shows ran 'Ran on CPU engine' 'GpuScan nodes 1' 'Device: host' 'No GPU took part' 'Time by stage' 'Build of join tables' 'Kernels' 'host memory' \
    'Join d' "PostgreSQL's plan for the same rows, which was not executed" 'never executed'
for stage in Start Feed Texts Run Fetch Emit; do
    shows ran " $stage $(ms ran "strict \$.**.Actual.\"$stage Time\"") "
done
shows ran "Execution $(ms ran '$[0]."Execution Time"')" "Planning $(ms ran '$[0]."Planning Time"')"
lacks ran 'Fell back'
is 'needs nothing else' "$(grep -E '(src|href)=|url\(|@import|<script' "$here/ran.html")" ''

# (What a GPU would have said.)
sed 's/"Device": "host"/"Device": "NVIDIA <H200>"/; s/"Link Bytes": 0/"Link Bytes": 3145728/; s/"Pages Cached": 0/"Pages Cached": 640/' "$here/ran.json" >"$here/gpu.json"
ok 'a plan of a GPU has a page' page gpu
shows gpu 'Ran on NVIDIA <H200>' 'Ran on the GPU NVIDIA <H200> .' 'link over the link to the GPU 3.0 MB' 'device memory pages whose columns were cached 5.0 MB'
lacks gpu 'CPU engine'

psql -XAtq -c 'BEGIN ISOLATION LEVEL SERIALIZABLE' -c "EXPLAIN (ANALYZE, FORMAT JSON) $join" -c COMMIT >"$here/fell.json"
ok 'a fallback has a page' page fell
shows fell 'Ran on PostgreSQL (fallback)' "PostgreSQL's plan below answered instead of the device. Reason: the transaction is serializable ." 'CPU Plan'
lacks fell 'No GPU took part'

explain never 'ANALYZE' 'SELECT k, CASE WHEN k < 0 THEN (SELECT sum(v) FROM f) END FROM d LIMIT 1'
ok 'a plan that was not executed has a page' page never
shows never 'Never executed: no row'
explain planned 'VERBOSE' "$join"
ok 'a plan without ANALYZE has a page' page planned
shows planned 'Not executed (EXPLAIN without ANALYZE)' 'Ran on not executed' 'Estimated work by tier'
PGOPTIONS='-c gpuscan.offload=off' explain alone 'ANALYZE' "$join"
ok "PostgreSQL's plan has a page" page alone
shows alone 'no GpuScan node : PostgreSQL runs it alone' 'Ran on PostgreSQL alone' 'Seq Scan'
lacks alone 'Time by stage'
explain quiet 'ANALYZE, COSTS OFF, TIMING OFF' "$join"
ok 'a plan without times has a page' page quiet
shows quiet 'EXPLAIN told no times of stages'
# An init plan's time is the GpuScan node's, and not counted twice.
explain init 'ANALYZE' 'SELECT sum(v) FROM f WHERE v > (SELECT count(*) FROM generate_series(1, 100000)) - 100000'
ok 'an init plan' page init
is 'all nodes together take the time of the first' "$(awk '{ while (match($0, /class="value"><b>[0-9.]+ ms<\/b><small class="">of/)) {
    own += substr($0, RSTART + 17); $0 = substr($0, RSTART + RLENGTH) } } END { print ((own - all) ^ 2 < (0.05 * all + 0.1) ^ 2 ? "yes" : own " of " all) }' \
    all="$(psql -XAtq -v p="$(<"$here/init.json")" <<<"SELECT :'p'::jsonb #>> '{0,Plan,Actual Total Time}'")" "$here/init.html")" yes

# --- where plans come from ---

psql -X -c "EXPLAIN (VERBOSE, FORMAT JSON) $join" >"$here/aligned.json"
"$program" <"$here/aligned.json" >"$here/aligned.html"
ok "psql's aligned output gives the same page" cmp -s "$here/planned.html" "$here/aligned.html"
{ printf '{"Query Text": "SELECT from_auto_explain", '; sed '1,2d; $d' "$here/ran.json"; } >"$here/logged.json"
ok "auto_explain's output" page logged
shows logged 'SELECT from_auto_explain' 'No GPU took part'
ok 'asks the server' "$program" --query "$join" --out "$here/asked.html"
browse asked
shows asked "Query $join" 'No GPU took part'
"$program" --query 'DELETE FROM f' >"$here/out" 2>"$here/said"
is 'a query that writes: exit status' $? 1
ok 'a query that writes: says why' grep -q '^gpuscan-explain: .*read-only transaction' "$here/said"
is 'nothing was deleted' "$(sql 'SELECT count(*) FROM f')" 100000

# --- text of others ---

evil="</pre></script><script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">&amp;\" '"
explain evil 'ANALYZE, VERBOSE' "SELECT count(*) AS \"<script>document.title = 'run'</script>\" FROM f WHERE t <> '${evil//\'/\'\'}'"
"$program" "$here/evil.json" --out "$here/evil.html"
"$program" --query "SELECT count(*) FROM f WHERE t <> '${evil//\'/\'\'}'" --out "$here/query.html"
for name in evil query; do
    sed -i '/Content-Security-Policy/d' "$here/$name.html" # which would hide what was not escaped
    ok "$name: a browser shows it" browse "$name"
    ok "$name: runs nothing" grep -qF '<title>Query plan</title>' "$here/$name.dom"
    is "$name: has no element of its own" "$(grep -E '<script|<img' "$here/$name.dom")" ''
    ok "$name: is shown as it is" grep -qF '&lt;/script&gt;&lt;script&gt;document.title' "$here/$name.dom"
done

# --- what is refused ---

# refused NAME MESSAGE: the file NAME.bad; in one line, exit status 1, no page
refused() {
    "$program" "$here/$1.bad" --out "$here/refused.html" >"$here/out" 2>"$here/said"
    is "$1: exit status" $? 1
    is "$1: what it says" "$(cat "$here/said" "$here/out")" "gpuscan-explain: $2"
    ok "$1: no page" test ! -e "$here/refused.html"
}
: >"$here/nothing.bad"
refused nothing 'the input is empty'
echo 'psql: error: connection failed' >"$here/prose.bad"
refused prose 'the input is not JSON'
sql "EXPLAIN $join" >"$here/text.bad"
refused text "this is EXPLAIN's text format: EXPLAIN (ANALYZE, FORMAT JSON) is wanted"
echo '{"a": [1, 2]}' >"$here/other.bad"
refused other 'this is JSON, but no plan of EXPLAIN: it has no "Plan"'
echo '[{"Plan": {"Node Type": "Sort", "Plans": [{"Node Type": 7}]}}]' >"$here/types.bad"
refused types 'this is JSON, but no plan of EXPLAIN: a node has no "Node Type"'
echo '[{"Plan": {"Node Type" "Sort"}}]' >"$here/broken.bad"
refused broken 'the input is not JSON near byte 29'
awk 'BEGIN { printf "[{\"Plan\": "; for (i = 0; i < 100000; i++) printf "{\"Node Type\": \"x\", \"Plans\": ["; printf "{\"Node Type\": \"x\"}"; for (i = 0; i < 100000; i++) printf "]}"; print "}]" }' >"$here/deep.bad"
refused deep 'the input is nested too deeply'
size=$(($(wc -c <"$here/ran.json") - 3)) # without the bracket and the newline that end it
wrong=''
for length in $(seq 1 $((size / 40)) $size) $size; do
    head -c "$length" "$here/ran.json" >"$here/cut.bad"
    "$program" "$here/cut.bad" >"$here/out" 2>"$here/said"
    [ "$? $(wc -l <"$here/said") $(wc -c <"$here/out")" = '1 1 0' ] || wrong+=" $length"
done
is 'cut off anywhere: refused in one line' "$wrong" ''
is 'no such file: exit status' "$("$program" "$here/none" 2>/dev/null; echo $?)" 1
is 'a wrong option: exit status' "$("$program" --nothing >/dev/null 2>&1; echo $?)" 2
