#!/usr/bin/env bash
# A dashboard's questions to the events of a web shop: loads them if needed, runs the questions with gpuscan off and on,
# prints one table and stores it in bench/results/events.csv.
# Needs bash and libpq, and a C++ compiler unless the programs are built already.
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
    cat <<'EOF'
Usage: bench/events.sh SF [OPTION]...

Loads 5,000,000 * SF events if they are missing, and runs fourteen queries of a dashboard (bench/events/queries) in the database
that the PG* variables name.

  --load            load the tables anew
  --where           show what ran where, and why, instead of times of kernels and planning
  --beside NAME     also time each query on this device: host or cuda
  --csv FILE        where the table is stored (default bench/results/events.csv)
  --help            this text
  other options     as bench/ssb.sh --help has them

Exit status: 0 if all results are equal, 1 if some are not or a query failed, 2 for any other error.
EOF
}

load_and_run events '' '' "$@"
