// Merging the groups of several passes (and of several threads) into one table: one group per key, states combined.
#pragma once

#include <atomic>
#include <vector>

#include "engine/ir/program.hpp"
#include "engine/result/group_index.hpp"

namespace gpuscan {

// How the states of a program's aggregates go together.
class StateCombiner {
  public:
    explicit StateCombiner(const Program &program);
    size_t size() const { return aggregates_.size(); }
    // Adds the states of one group to those of another. Throws RowError where a combined sum overflows.
    void combine(ir::AggregateState *into, const ir::AggregateState *from) const;

  private:
    struct Aggregate {
        ir::AggregateKind kind;
        Type type;
    };
    std::vector<Aggregate> aggregates_;
};

// Adds the number and the sum of a group's different values to others (ir::Distinct). Throws RowError where the sum overflows.
void add_distinct_values(ir::AggregateState &into, const ir::AggregateState &from);

class GroupMerger {
  public:
    // The groups count in `memory`; `cancel` is looked at while they are added. Both may be nullptr.
    explicit GroupMerger(const Program &program, const WorkMemoryRef &memory = nullptr,
                         const std::atomic<uint32_t> *cancel = nullptr);
    // Of groups by the first `nkeys` keys alone (Execution::run_to_result).
    GroupMerger(const Program &program, size_t nkeys, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel);

    // Throw RowError where a combined sum overflows. After any exception the merger is of no use.
    void add(const GroupTable &table);
    void add(GroupTable &&table); // the first table is taken as it is
    // The merged groups; without GROUP BY exactly one, even if nothing was added. Leaves the merger empty.
    GroupTable finish();

  private:
    StateCombiner combiner_;
    GroupIndex groups_;
};

} // namespace gpuscan
