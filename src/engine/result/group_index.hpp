// Groups by their keys: an open-addressing table over key tuples, load at most 1/2.
//
// Keys are equal where NULL flags and bits are equal: devices canonicalise floats (one NaN, no -0.0) before they group.
#pragma once

#include <atomic>

#include "engine/device.hpp"

namespace gpuscan {

class GroupIndex {
  public:
    // The groups count in `memory`; `cancel` is looked at while they are added. Both may be nullptr.
    GroupIndex(size_t nkeys, size_t nstates, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel);

    size_t nkeys() const { return nkeys_; }
    size_t size() const { return groups_.ngroups; }
    // The number of the group with these keys, added if new; its states are empty then.
    size_t find(const ir::Value *keys, const uint8_t *nulls);
    ir::AggregateState *states(size_t group) { return groups_.states.data() + group * nstates_; }
    // Makes the groups of a table, which are all different, those of an index that is empty.
    void take(GroupTable &&table);
    // The groups, in the order in which they came. Leaves the index empty.
    GroupTable finish();
    // What find() looks for: the same for equal keys.
    uint64_t hash(const ir::Value *keys, const uint8_t *nulls) const;
    // The groups that are there.
    const GroupTable &table() const { return groups_; }
    // Throws Cancelled where nobody waits any more; to be called with the number of every step.
    void check_cancel(size_t done) const;

  private:
    void grow();

    size_t nkeys_, nstates_;
    WorkMemoryRef memory_;
    const std::atomic<uint32_t> *cancel_;
    GroupTable groups_;
    WorkArray<uint64_t> slots_; // upper half of the hash, group + 1; 0 = empty. Made when a group is looked for
};

} // namespace gpuscan
