// See residency.hpp.
#include "engine/residency.hpp"

#include <algorithm>

#include "cuda/semantics.cuh"

namespace gpuscan {

uint64_t Residency::fingerprint(const ResidentColumn &column) {
    const uint64_t relation = uint64_t(column.database) << 32 | column.relation;
    const uint64_t attribute = uint64_t(column.tablespace) << 32 | column.attnum;
    return sem::hash_combine(sem::hash64(relation), attribute);
}

void Residency::add(const ResidentColumn &column, int64_t pages) {
    const uint64_t wanted = fingerprint(column);
    Slot *free = nullptr;
    for (Slot &slot : slots_[wanted % buckets]) {
        const uint64_t count = slot.pages.load(std::memory_order_relaxed);
        if (slot.fingerprint.load(std::memory_order_relaxed) == wanted) {
            const int64_t sum = static_cast<int64_t>(count) + pages;
            return slot.pages.store(static_cast<uint64_t>(std::max<int64_t>(sum, 0)), std::memory_order_release);
        }
        if (count == 0 && free == nullptr)
            free = &slot;
    }
    if (free == nullptr || pages <= 0)
        return;
    free->fingerprint.store(wanted, std::memory_order_relaxed);
    free->pages.store(static_cast<uint64_t>(pages), std::memory_order_release);
}

uint64_t Residency::pages(const ResidentColumn &column) const {
    const uint64_t wanted = fingerprint(column);
    for (const Slot &slot : slots_[wanted % buckets])
        if (slot.fingerprint.load(std::memory_order_relaxed) == wanted)
            return slot.pages.load(std::memory_order_relaxed);
    return 0;
}

void Residency::clear() {
    for (auto &bucket : slots_)
        for (Slot &slot : bucket) {
            slot.pages.store(0, std::memory_order_relaxed);
            slot.fingerprint.store(0, std::memory_order_relaxed);
        }
}

} // namespace gpuscan
