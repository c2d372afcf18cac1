// See cached_builds.hpp.
#include "engine/store/cached_builds.hpp"

namespace gpuscan {

void CachedBuilds::add(uint64_t fingerprint) {
    if (has(fingerprint))
        return;
    auto *slot = table_.least(fingerprint);
    const bool is_free = slot->count.load(std::memory_order_relaxed) == 0;
    table_.take(slot, fingerprint, ++last_);
    if (is_free)
        count_.fetch_add(1, std::memory_order_relaxed);
}

void CachedBuilds::remove(uint64_t fingerprint) {
    if (!has(fingerprint))
        return;
    table_.take(table_.find(fingerprint), 0, 0);
    count_.fetch_sub(1, std::memory_order_relaxed);
}

void CachedBuilds::clear() {
    table_.clear();
    last_ = 0;
    count_.store(0, std::memory_order_relaxed);
}

} // namespace gpuscan
