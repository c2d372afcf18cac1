// Which values have the arguments of DISTINCT aggregates had in each group of the result?
//
// The second grouping (engine/result/second_aggregation.hpp) can tell for any program, from groups by the arguments as well: often there
// is nearly one for each row. Where a group has a number that all threads know (aggregator.hpp: dense), and the values lie between bounds
// that are not far apart, a bit for each group and value says the same, in a few bytes instead of a hundred, for all arguments in one pass
// over the rows; and the device groups by the keys of the result alone. The bits are all threads': most rows find theirs set, and only
// look. Values that lie too far apart, as those of uuids, are a set for each argument (value_set.hpp): there too an argument costs what its
// own values do, where groups by several have all combinations.
#pragma once

#include <memory>
#include <vector>

#include "host/aggregator.hpp"
#include "host/value_set.hpp"

namespace gpuscan::host {

class DistinctValues {
  public:
    // Of the chunks' rows, grouped by the keys of the result; nullptr: this is no way for them.
    static std::unique_ptr<DistinctValues> plan(const WorkContext &work, const Context &context,
                                                const std::vector<ChunkView> &chunks, const Grouping &grouping);

    // A batch's rows, by the numbers of their groups.
    void add(unsigned worker, const uint32_t *numbers, const Batch &batch, Evaluator &evaluator);

    // The groups by the keys of the result, with the states of DISTINCT aggregates behind the others.
    GroupTable with_states(GroupTable &&groups);
    // Is there no set?
    bool by_bits() const;

  private:
    struct Argument {
        Argument(const ir::Distinct &distinct, Grouping::Key key, const WorkMemoryRef &memory)
            : distinct(distinct), key(key), bits(memory), states(memory) {}
        bool adds() const { return !distinct.counts_only && is_integer(key.type); }
        size_t words() const { return key.stride / word_bits; }

        ir::Distinct distinct;
        Grouping::Key key;                           // its stride: bits of a group, the last one that is used is NULL's
        WorkArray<uint64_t> bits;                    // empty: it has sets
        std::vector<std::unique_ptr<ValueSet>> sets; // by worker; nullptr: it has had no row
        WorkArray<ir::AggregateState> states;        // by number, when the sets have ended
    };
    static constexpr uint32_t word_bits = 64;

    DistinctValues(const WorkContext &work, const Grouping &grouping, size_t naggregates);
    static bool plan_argument(const Context &context, const ir::Distinct &distinct, ValueRanges &ranges,
                              Grouping::Key &key);
    static void add_to_bits(Argument &argument, const uint32_t *numbers, Vec v, uint32_t n);
    void add_to_set(Argument &argument, unsigned worker, const uint32_t *numbers, Vec v, uint32_t n);
    void end_sets(Argument &argument);
    uint32_t number_of(const GroupTable &groups, size_t group) const;
    static ir::AggregateState state_of(const Argument &argument, uint32_t number, size_t first, size_t last);

    const WorkContext &work_;
    const Grouping &grouping_;
    const size_t naggregates_;
    const uint64_t secret_; // of its sets
    std::vector<Argument> arguments_;
};

} // namespace gpuscan::host
