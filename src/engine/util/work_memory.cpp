// The account of what running fragments use; see work_memory.hpp.
#include "engine/util/work_memory.hpp"

#include <string>

#include "engine/device.hpp"

namespace gpuscan {

void WorkMemory::charge(size_t bytes) {
    size_t used = used_.load(std::memory_order_relaxed);
    do {
        const size_t most = limit();
        while (bytes <= most && bytes > most - std::min(used, most) && reclaim_ && reclaim_())
            used = used_.load(std::memory_order_relaxed);
        if (used > most || bytes > most - used)
            throw OutOfWorkMemory("hash tables and groups need more than the working memory of " +
                                  std::to_string(most >> 20) + " MB (it follows gpuscan.cache_size)");
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

} // namespace gpuscan
