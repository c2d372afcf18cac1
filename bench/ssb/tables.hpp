// The tables of the Star Schema Benchmark.
#pragma once

#include <cstdint>
#include <vector>

#include "../common/loader.hpp"

namespace bench {

// lineorder, customer, supplier, part, date. Amounts are integers of cents; with `htap` they are plain numerics, and customers,
// suppliers and parts have HATtrick's columns c_paymentcnt (0), s_ytd (0) and p_price at their ends.
std::vector<Table> ssb_tables(double sf, uint64_t seed, bool htap);

} // namespace bench
