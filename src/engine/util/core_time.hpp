// What has this thread taken of a processor, in nanoseconds? Others may need it, too, so the time of day says less.
#pragma once

#include <cstdint>
#include <ctime>

namespace gpuscan {

inline uint64_t core_ns() {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace gpuscan
