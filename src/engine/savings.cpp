// See savings.hpp.
#include "engine/savings.hpp"

#include <algorithm>

#include "cuda/semantics.cuh"

namespace gpuscan {

uint64_t Savings::fingerprint(uint32_t database, uint32_t relation) {
    return std::max<uint64_t>(sem::hash64(uint64_t(database) << 32 | relation), 1);
}

uint64_t Savings::of(uint32_t database, uint32_t relation) const {
    const uint64_t wanted = fingerprint(database, relation);
    for (const Slot &slot : slots_[wanted % buckets])
        if (slot.fingerprint.load(std::memory_order_relaxed) == wanted)
            return slot.ns.load(std::memory_order_relaxed);
    return 0;
}

void Savings::add(uint32_t database, uint32_t relation, uint64_t ns) {
    const uint64_t wanted = fingerprint(database, relation);
    Slot *least = nullptr;
    for (Slot &slot : slots_[wanted % buckets]) {
        if (slot.fingerprint.load(std::memory_order_relaxed) == wanted) {
            slot.ns.fetch_add(ns, std::memory_order_relaxed);
            return;
        }
        if (least == nullptr || slot.ns.load(std::memory_order_relaxed) < least->ns.load(std::memory_order_relaxed))
            least = &slot; // a free one has 0
    }
    least->fingerprint.store(wanted, std::memory_order_relaxed);
    least->ns.store(ns, std::memory_order_relaxed);
}

void Savings::spend(uint32_t database, uint32_t relation, uint64_t ns) {
    const uint64_t wanted = fingerprint(database, relation);
    for (Slot &slot : slots_[wanted % buckets]) {
        if (slot.fingerprint.load(std::memory_order_relaxed) != wanted)
            continue;
        uint64_t before = slot.ns.load(std::memory_order_relaxed);
        while (!slot.ns.compare_exchange_weak(before, before - std::min(before, ns), std::memory_order_relaxed)) {
        }
        return;
    }
}

} // namespace gpuscan
