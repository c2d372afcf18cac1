// See cache_statistics.hpp.
#include "engine/store/cache_statistics.hpp"

#include <algorithm>

#include "device/semantics.cuh"

namespace gpuscan {

static uint64_t fingerprint(const ColumnLocator &column) {
    const uint64_t relation = uint64_t(column.database) << 32 | column.relation;
    const uint64_t attribute = uint64_t(column.tablespace) << 32 | column.attnum;
    return sem::hash_combine(sem::hash64(relation), attribute);
}

void CacheStatistics::add(const ColumnLocator &column, int64_t pages) {
    const uint64_t wanted = fingerprint(column);
    if (auto *slot = table_.find(wanted)) {
        const int64_t sum = static_cast<int64_t>(slot->count.load(std::memory_order_relaxed)) + pages;
        return slot->count.store(static_cast<uint64_t>(std::max<int64_t>(sum, 0)), std::memory_order_release);
    }
    auto *slot = table_.least(wanted);
    if (pages > 0 && slot->count.load(std::memory_order_relaxed) == 0)
        table_.take(slot, wanted, static_cast<uint64_t>(pages));
}

uint64_t CacheStatistics::pages(const ColumnLocator &column) const { return table_.count(fingerprint(column)); }

} // namespace gpuscan
