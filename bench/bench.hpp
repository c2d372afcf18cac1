// What the benchmarks of the engine alone have in common: time, medians.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace gpuscan::bench {

using Clock = std::chrono::steady_clock;

inline double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Of at least one value.
inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

} // namespace gpuscan::bench
