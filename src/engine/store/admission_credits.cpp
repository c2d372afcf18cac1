// See admission_credits.hpp.
#include "engine/store/admission_credits.hpp"

#include <algorithm>

#include "device/semantics.cuh"

namespace gpuscan {

static uint64_t fingerprint(uint32_t database, uint32_t relation) {
    return sem::hash64(uint64_t(database) << 32 | relation);
}

uint64_t AdmissionCredits::of(uint32_t database, uint32_t relation) const {
    return table_.count(fingerprint(database, relation));
}

void AdmissionCredits::add(uint32_t database, uint32_t relation, uint64_t ns) {
    const uint64_t wanted = fingerprint(database, relation);
    if (auto *slot = table_.find(wanted))
        slot->count.fetch_add(ns, std::memory_order_relaxed);
    else
        table_.take(table_.least(wanted), wanted, ns);
}

void AdmissionCredits::forget(uint32_t database, uint32_t relation) {
    if (auto *slot = table_.find(fingerprint(database, relation)))
        table_.take(slot, 0, 0);
}

void AdmissionCredits::forget_all() { table_.clear(); }

void AdmissionCredits::spend(uint32_t database, uint32_t relation, uint64_t ns) {
    auto *slot = table_.find(fingerprint(database, relation));
    if (slot == nullptr)
        return;
    uint64_t before = slot->count.load(std::memory_order_relaxed);
    while (!slot->count.compare_exchange_weak(before, before - std::min(before, ns), std::memory_order_relaxed)) {
    }
}

} // namespace gpuscan
