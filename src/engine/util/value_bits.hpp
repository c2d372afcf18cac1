// The values of DISTINCT aggregates: a bit for each group and value, or sets of what groups have had? The planner asks, too.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpuscan {

// Up to so many bytes of bits.
struct BitsWorth {
    uint64_t always, per_row;
    uint32_t groups; // with numbers below this at least, all others have sets

    double most(double rows) const {
        return std::max(static_cast<double>(always), rows * static_cast<double>(per_row));
    }
};

constexpr uint64_t set_bytes = 16; // of a row, in a set that is half full
constexpr BitsWorth host_bits = {uint64_t(1) << 20, set_bytes, 64 * 1024};
constexpr BitsWorth gpu_bits = {uint64_t(16) << 20, set_bytes, 1 << 20};

} // namespace gpuscan
