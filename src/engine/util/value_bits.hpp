// How many bytes of bits, for groups and the values of DISTINCT aggregates, are worth making? The planner asks, too.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpuscan {

// Clearing and reading them costs a row less than a group of its own for its value would, up to so many bytes for each.
struct BitsWorth {
    uint64_t always, per_row;

    double most(double rows) const {
        return std::max(static_cast<double>(always), rows * static_cast<double>(per_row));
    }
};

constexpr BitsWorth host_bits = {uint64_t(1) << 20, 16};
constexpr BitsWorth gpu_bits = {uint64_t(16) << 20, 512};

} // namespace gpuscan
