// The 13 queries of the Star Schema Benchmark (O'Neil, O'Neil, Chen, Revilak, TPCTC 2009).
#pragma once

#include "../common/benchmark.hpp"

namespace bench {

inline Benchmark ssb_benchmark() {
    return {"ssb-run",
            "the 13 queries of the Star Schema Benchmark",
            "ssb-gen",
            {"lineorder", "customer", "supplier", "part", "date"},
            1,
            {"q1.1", "q1.2", "q1.3", "q2.1", "q2.2", "q2.3", "q3.1", "q3.2", "q3.3", "q3.4", "q4.1", "q4.2", "q4.3"},
            nullptr,
            nullptr,
            nullptr,
            nullptr};
}

} // namespace bench
