// Nanoseconds of a clock that never goes back and that all processes of the machine share.
#pragma once

#include <time.h>

#include <cstdint>

namespace gpuscan {

inline uint64_t monotonic_ns() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace gpuscan
