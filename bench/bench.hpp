// What the benchmarks of the engine alone have in common: time, medians, numbers without order.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
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

// A permutation of the 64-bit numbers (MurmurHash3's finalizer).
inline uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

} // namespace gpuscan::bench
