// Self-joins of one table with indexes: of few rows, where a device that reads all of the table has lost, and of many. Few means
// what it does in heterodb/pg-strom#1054 and #1055: 5,000,000 rows, of which 10,000 in a row or 5,000 here and there.
#pragma once

#include <string>

#include "../common/benchmark.hpp"

namespace bench {

Benchmark indexed_benchmark();

} // namespace bench
