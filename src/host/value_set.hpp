// Which values has each group had, where they lie too far apart for bits? A set of pairs of a group's number and a value.
//
// Each thread has a small table that stays in its cache; when that is full, its pairs are appended to parts by their hash, and it begins
// anew. A pair may be in a part several times. A part that has grown is rid of these, so that all parts take no more than twice what the
// thread's different pairs do. In the end each part of all threads is one set, small enough for a cache again (partitioning before
// building: Leis et al., "Morsel-Driven Parallelism", section 4.4).
#pragma once

#include <vector>

#include "engine/util/cancel_point.hpp"
#include "host/work.hpp"

namespace gpuscan::host {

struct ValuePair {
    uint64_t low, high; // of the value (key_words)
    uint32_t group;     // + 1; 0: no pair
    uint32_t hash;
};

class ValueSet {
  public:
    static constexpr size_t parts = 256;

    // `secret`: the same for all threads. Nobody who chooses values knows which of them collide.
    ValueSet(const WorkContext &work, uint64_t secret);
    void add(uint32_t group, uint64_t low, uint64_t high);
    // Nothing more is added: all pairs are in the parts.
    void end();
    const WorkArray<ValuePair> &part(size_t index) const { return parts_[index].pairs; }
    void release(size_t index) { parts_[index].pairs.release(); }

  private:
    struct Part {
        explicit Part(const WorkMemoryRef &memory) : pairs(memory) {}
        WorkArray<ValuePair> pairs;
        size_t most; // then it is rid of repetitions
    };
    void flush();

    const WorkContext &work_;
    const uint64_t secret_;
    CancelPoint cancel_;
    WorkArray<ValuePair> slots_;
    WorkArray<uint32_t> scratch_;
    size_t used_ = 0;
    std::vector<Part> parts_;
};

// Leaves the first of equal pairs. `slots`: memory for it.
void remove_repetitions(WorkArray<ValuePair> &pairs, WorkArray<uint32_t> &slots, CancelPoint &cancel);

} // namespace gpuscan::host
