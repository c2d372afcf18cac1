#!/usr/bin/env bash
# The hash join over tables in host memory: Kaldewey, Lohman, Mueller, Volk, "GPU Join Processing Revisited" (DaMoN 2012),
# figures 3 to 6 (there a GTX 580 behind PCIe 2: up to 6.1 of 6.3 GB/s at 3 % match, 3.6 GB/s at 100 %).
usage() {
    cat <<'TEXT'
Usage: bench/join.sh [OPTION]...

Runs the engine's own generated kernels on the GPU, without a server (SQL cannot say "read the columns in host memory"):
tables of 8-byte tuples, 4 bytes of key and 4 of payload, in pinned host memory, the hash table in device memory, the
result in host memory again. Needs a CUDA device and the program join_bench ("make cuda-tools").

  size     figures 3 and 4: both tables of one size, 3 % match; time by phase, GB/s of input
  match    figure 5: 2^26 rows each, 1 to 100 % match, with and without the result cache, the result copied out of device
           memory or written to host memory by the kernel
  resident as match, both tables in device memory
  ratio    figure 6: builds of 1, 4, 16, 64 M rows against probes of 1 to 128 M
  group    join and group by: 1,000 groups, 100 % match

  --only LIST       some of them
  --largest N       the largest table has 2^N rows (default 27; at most 28)
  --reps N          counted runs after 2 others; their median counts (default 5)
  --program FILE    join_bench (default: build/bench/join_bench)
  --draw            only draw the figures from an earlier run's CSV files
  --help            this text

Writes bench/results/join_NAME.csv and draws doc/figures/join_NAME.svg. Exit status: 0, 1 if a result had a wrong number of
rows, 2 for any other error.
TEXT
}

only=size,match,resident,ratio,group largest=27 program=''
option() {
    case $1 in
        --only) only=${2:-} taken=2 ;;
        --largest) largest=${2:-} taken=2 ;;
        --program) program=${2:-} taken=2 ;;
    esac
}

# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse "$@"
((${#arguments[@]} == 0)) || fail "what is '${arguments[0]}'? See --help"

# draw_one EXPERIMENT: its figure, if it has one
draw_one() {
    csv=$bench/results/join_$1.csv
    case $1 in
        size)
            draw join_size <<'GNUPLOT'
set key noautotitle
set title 'Join of two tables of one size in host memory, 3 % match'
set xlabel 'rows of each table'
set ylabel 'GB/s of input'
set logscale x 2
set format x '2^%L'
set yrange [0:*]
rows(keys, column) = sprintf("< awk -F, '$1 == \"size\" && $2 == \"%s\" { print $4 \",\" $%d }' %s", keys, column, csv)
link = real(system("awk -F, '$1 == \"link\" { print $12 }' " . csv))
plot rows('hash', 12) using 1:2 with linespoints title 'probe, any keys', \
    rows('dense', 12) using 1:2 with linespoints title 'probe, dense keys', \
    rows('hash', 11) using 1:2 with linespoints title 'build, any keys', \
    rows('dense', 11) using 1:2 with linespoints title 'build, dense keys', \
    rows('hash', 14) using 1:2 with linespoints title 'end to end, any keys', \
    link with lines dashtype 2 lc rgb '#888888' title 'link, reading'
GNUPLOT
            ;;
        match)
            draw join_match <<'GNUPLOT'
set key noautotitle
set title 'Probe of 2^26 rows in host memory by match rate, any keys'
set xlabel '% of the probe rows that match'
set ylabel 'GB/s of probe table'
set yrange [0:*]
rows(path) = sprintf("< awk -F, '$1 == \"match\" && $2 == \"hash\" && $3 == \"%s\" { print $6 \",\" $12 }' %s", path, csv)
link = real(system("awk -F, '$1 == \"link\" { print $12 }' " . csv))
plot rows('cache-host') using 1:2 with linespoints title 'cache, to host memory', \
    rows('plain-host') using 1:2 with linespoints title 'no cache, to host memory', \
    rows('cache-device') using 1:2 with linespoints title 'cache, then copy', \
    rows('plain-device') using 1:2 with linespoints title 'no cache, then copy', \
    link with lines dashtype 2 lc rgb '#888888' title 'link, reading'
GNUPLOT
            ;;
        ratio)
            draw join_ratio <<'GNUPLOT'
set key noautotitle
set title 'End to end by sizes of both tables, 3 % match, any keys'
set xlabel 'rows of the probe table'
set ylabel 'GB/s of input'
set logscale x 2
set format x '2^%L'
set yrange [0:*]
rows(build) = sprintf("< awk -F, '$1 == \"ratio\" && $2 == \"hash\" && $4 == %d { print $5 \",\" $14 }' %s", build, csv)
plot for [n in '1048576 4194304 16777216 67108864'] rows(int(n)) using 1:2 with linespoints \
    title sprintf('build of %d M rows', int(n) / 1048576)
GNUPLOT
            ;;
        group)
            draw join_group <<'GNUPLOT'
set key noautotitle
set title 'Join and group by (1,000 groups), probe of 2^26 rows in host memory'
set xlabel 'rows of the build table'
set ylabel 'GB/s of probe table'
set logscale x 2
set format x '2^%L'
set yrange [0:*]
rows(keys) = sprintf("< awk -F, '$1 == \"group\" && $2 == \"%s\" { print $4 \",\" $12 }' %s", keys, csv)
link = real(system("awk -F, '$1 == \"link\" { print $12 }' " . csv))
plot rows('hash') using 1:2 with linespoints title 'any keys', rows('dense') using 1:2 with linespoints title 'dense keys', \
    link with lines dashtype 2 lc rgb '#888888' title 'link, reading'
GNUPLOT
            ;;
    esac
}

for experiment in ${only//,/ }; do
    [[ " size match resident ratio group " == *" $experiment "* ]] || fail "--only takes size, match, resident, ratio and group, not '$experiment'"
done
if ((!draw_only)); then
    program=${program:-$bench/../build/bench/join_bench}
    [[ -x $program ]] || fail "$program is missing: make cuda-tools, or give --program FILE"
    mkdir -p "$bench/results"
fi
wrong=0
for experiment in ${only//,/ }; do
    if ((!draw_only)); then
        "$program" "$experiment" --reps "$reps" --largest "$(number --largest "$largest")" |
            tee "$bench/results/join_$experiment.csv" || fail "join_bench failed"
        ! grep -q ',wrong$' "$bench/results/join_$experiment.csv" || wrong=1
    fi
    draw_one "$experiment"
done
exit "$wrong"
