// Counts by fingerprint, of fixed size and in shared memory: what cache_statistics.hpp and admission_credits.hpp keep for planners.
//
// A set-associative table, as a processor's cache is: a fingerprint has one bucket of eight slots. It is read without a lock. Keys
// are 64-bit fingerprints only: two may be the same, once in 10^11 pairs of full tables.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpuscan {

template <size_t Buckets> class CountTable {
  public:
    struct Slot {
        std::atomic<uint64_t> fingerprint;
        std::atomic<uint64_t> count; // 0: the slot is free
    };

    // The fingerprint's slot; nullptr: it has none.
    const Slot *find(uint64_t fingerprint) const {
        for (const Slot &slot : slots_[fingerprint % Buckets])
            if (slot.fingerprint.load(std::memory_order_relaxed) == fingerprint)
                return &slot;
        return nullptr;
    }
    Slot *find(uint64_t fingerprint) {
        return const_cast<Slot *>(static_cast<const CountTable *>(this)->find(fingerprint));
    }
    uint64_t count(uint64_t fingerprint) const {
        const Slot *slot = find(fingerprint);
        return slot != nullptr ? slot->count.load(std::memory_order_relaxed) : 0;
    }
    // The slot in the fingerprint's bucket that counts least: a free one, if there is one.
    Slot *least(uint64_t fingerprint) {
        Slot *least = &slots_[fingerprint % Buckets][0];
        for (Slot &slot : slots_[fingerprint % Buckets])
            if (slot.count.load(std::memory_order_relaxed) < least->count.load(std::memory_order_relaxed))
                least = &slot;
        return least;
    }
    // A free slot in the fingerprint's bucket, or one by chance: for counts that stay when nobody asks for their fingerprints any more.
    Slot *free_or_any(uint64_t fingerprint, uint32_t chance) {
        for (Slot &slot : slots_[fingerprint % Buckets])
            if (slot.count.load(std::memory_order_relaxed) == 0)
                return &slot;
        return &slots_[fingerprint % Buckets][chance % ways];
    }
    // Gives the slot to the fingerprint.
    static void take(Slot *slot, uint64_t fingerprint, uint64_t count) {
        slot->fingerprint.store(fingerprint, std::memory_order_relaxed);
        slot->count.store(count, std::memory_order_release);
    }
    void clear() {
        for (auto &bucket : slots_)
            for (Slot &slot : bucket)
                take(&slot, 0, 0);
    }

  private:
    static constexpr size_t ways = 8;
    Slot slots_[Buckets][ways];
};

} // namespace gpuscan
