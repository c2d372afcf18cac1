#!/usr/bin/env bash
# The Star Schema Benchmark (O'Neil, O'Neil, Chen, Revilak, TPCTC 2009): loads it if needed, runs its 13
# queries with gpuscan off and on, prints one table and stores it in bench/results/ssb.csv.
# Needs bash and libpq, and a C++ compiler unless the programs are built already.
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
    cat <<'EOF'
Usage: bench/ssb.sh SF [OPTION]...

Runs the Star Schema Benchmark at scale factor SF in the database that the PG* variables name.
The tables are loaded first if they are missing.

  --load            load the tables anew
  --threads N       connections for loading (default: one for each core)
  --reps N          hot runs of each query with gpuscan; their median counts (default 5)
  --cold            also time each query with gpuscan's cache empty (stored in ssb_cold.csv)
  --first           also time each query's first execution ever, kernels compiled (stored in the column first_ms)
  --where           show what ran where, and why, instead of times of kernels and planning
  --device NAME     gpuscan.device: host or cuda
  --beside NAME     also time each query on this device
  --offload MODE    gpuscan.offload: auto or force (default: the server's setting)
  --workers N       parallel workers for PostgreSQL (default: the server's setting)
  --schema NAME     schema of the tables (default public)
  --csv FILE        where the table is stored (default bench/results/ssb.csv)
  --no-extension    PostgreSQL alone
  --selectivity     show the queries' selectivities beside the paper's instead of running them
  --freeze          load by COPY FREEZE in the transaction that creates the tables: no VACUUM, and no WAL under wal_level =
                    minimal; one connection loads
  --warmups N, --postgres-reps N, --set NAME=VALUE, --only LIST, --dbname CONNINFO: see ssb-run --help
  --help            this text

Exit status: 0 if all results are equal, 1 if some are not or a query failed, 2 for any other error.
EOF
}

load_and_run ssb '' selectivity "$@"
