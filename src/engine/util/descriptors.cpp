// Closing file descriptors; see descriptors.hpp.
#include "engine/util/descriptors.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace gpuscan {
namespace {

constexpr unsigned max_tried = 65536; // where the kernel has no close_range (before 5.9)

void close_between(unsigned first, unsigned last) {
    if (first > last)
        return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, last, 0) == 0)
        return;
#endif
    struct rlimit limit;
    const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < max_tried;
    const unsigned end = std::min(known ? static_cast<unsigned>(limit.rlim_cur) : max_tried, last);
    for (unsigned fd = first; fd <= end; ++fd)
        close(static_cast<int>(fd));
}

} // namespace

void close_descriptors(int first, int kept) {
    if (kept < first) {
        close_between(static_cast<unsigned>(first), UINT_MAX);
        return;
    }
    if (kept > first)
        close_between(static_cast<unsigned>(first), static_cast<unsigned>(kept) - 1);
    close_between(static_cast<unsigned>(kept) + 1, UINT_MAX);
}

} // namespace gpuscan
