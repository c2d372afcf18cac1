#!/usr/bin/env bash
# A benchmark like TPC-H (specification revision 3; data and random numbers are our own): loads it if needed, runs its 22
# queries with gpuscan off and on, prints one table and stores it in bench/results/tpch.csv.
# Needs bash and libpq, and a C++ compiler unless the programs are built already.
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
    cat <<'TEXT'
Usage: bench/tpch.sh SF [OPTION]...

Runs the 22 queries of TPC-H at scale factor SF in the database that the PG* variables name. The tables are loaded first if
they are missing. The column "aggregates" says whether gpuscan aggregates the largest table that a query reads.

  --seed N          random parameters of the queries (default: those of the specification's validation run)
  --load            load the tables anew
  --data-seed N     other data of the same kind
  --threads N       connections for loading (default: one for each core)
  --reps N          hot runs of each query with gpuscan; their median counts (default 5)
  --refusals        show for each query why parts of it stay with PostgreSQL
  --timeout S       seconds that a query may take, on either side (default: any number)
  --cold            also time each query with gpuscan's cache empty (stored in tpch_cold.csv)
  --first           also time each query's first execution ever, kernels compiled (stored in the column first_ms)
  --device NAME     gpuscan.device: host or cuda
  --offload MODE    gpuscan.offload: auto or force (default: the server's setting)
  --workers N       parallel workers for PostgreSQL (default: the server's setting)
  --schema NAME     schema of the tables (default tpch: the Star Schema Benchmark has tables of the same names)
  --csv FILE        where the table is stored (default bench/results/tpch.csv)
  --no-extension    PostgreSQL alone
  --freeze          load by COPY FREEZE in the transaction that creates the tables: no VACUUM, and no WAL under wal_level =
                    minimal; one connection loads
  --warmups N, --postgres-reps N, --postgres-warmups N, --budget S, --answers DIR, --set NAME=VALUE, --only LIST,
  --dbname CONNINFO: see tpch-run --help
  --help            this text

Exit status: 0 if all results are equal, 1 if some are not or a query failed, 2 for any other error.
TEXT
}

load_and_run tpch tpch refusals,seed:,data-seed:,postgres-warmups:,timeout:,budget:,answers: "$@"
