// Merging the groups of several passes (and of several threads) into one table: one group per key, states combined.
#pragma once

#include <vector>

#include "engine/device.hpp"
#include "engine/program.hpp"

namespace gpuscan {

class GroupMerger {
  public:
    explicit GroupMerger(const Program &program);

    // Throws RowError where a combined sum overflows.
    void add(const GroupTable &table);
    // The merged groups; without GROUP BY exactly one, even if nothing was added. Leaves the merger empty.
    GroupTable finish();

  private:
    struct Combine { // how the states of one aggregate go together
        ir::AggregateKind kind;
        Type type;
    };

    size_t find(const ir::Value *keys, const uint8_t *nulls);
    void grow();
    uint64_t hash(const ir::Value *keys, const uint8_t *nulls) const;
    void combine(const Combine &how, ir::AggregateState &into, const ir::AggregateState &from) const;

    size_t nkeys_;
    std::vector<Combine> aggregates_;
    GroupTable groups_;
    std::vector<uint64_t> slots_; // upper half of the hash, group + 1; 0 = empty
};

} // namespace gpuscan
