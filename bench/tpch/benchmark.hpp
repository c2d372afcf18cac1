// The 22 queries of a benchmark like TPC-H: those of the specification, query 15 in its variant with a common table expression.
#pragma once

#include "../common/benchmark.hpp"

namespace bench {

Benchmark tpch_benchmark();

} // namespace bench
