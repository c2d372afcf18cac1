// Grouping the groups of a device once more, for what one pass over the rows cannot say.
//
//   DISTINCT      the device groups by the keys and by the aggregate's argument, so that every value comes once in a group (or
//                 a few times, if there are several such arguments); here the argument leaves the key, its values are
//                 counted and added, and the states of the other aggregates are combined, as those of several passes are
//   grouping sets the device groups by the keys of all sets; here each set combines the groups that differ in other keys
//                 only (Gray et al., "Data Cube: A Relational Aggregation Operator Generalizing Group-By, Cross-Tab, and
//                 Sub-Totals", section 5: distributive and algebraic aggregates are computed from the finest groups)
//
// Rows are many and groups are few, else none of this would be faster than sorting; so it is done on the host, set by set.
#include "engine/regroup.hpp"

#include "cuda/semantics.cuh"

namespace gpuscan {
namespace {

using namespace ir;

int128 wide(uint64_t low, int64_t high) {
    return static_cast<int128>((static_cast<uint128>(static_cast<uint64_t>(high)) << 64) | low);
}

class Regrouper {
  public:
    Regrouper(const Program &program, const GroupTable &from, const WorkMemoryRef &memory,
              const std::atomic<uint32_t> *cancel)
        : program_(program), main_(program.main()), from_(from), memory_(memory), cancel_(cancel), combiner_(program) {}

    GroupTable run(Index set) {
        const uint32_t members = program_.sets[main_.sets.first + set].keys;
        GroupIndex to(program_.result_keys(), program_.result_aggregates(), memory_, cancel_);
        std::vector<GroupIndex> seen; // (group, value) of each distinct
        for (Index d = 0; d < main_.distincts.count; ++d)
            seen.emplace_back(2, 0, memory_, cancel_);
        std::vector<Value> keys(to.nkeys());
        std::vector<uint8_t> nulls(to.nkeys(), 1);
        if (main_.sets.count > 1) {
            keys.back().low = set;
            nulls.back() = 0;
        }
        if (members == 0) // one group, even of nothing
            to.find(keys.data(), nulls.data());
        const size_t nkeys = main_.keys.count, naggregates = combiner_.size();
        for (size_t g = 0; g < from_.ngroups; ++g) {
            to.check_cancel(g);
            for (Index k = 0; k < main_.result_keys; ++k)
                if (members >> k & 1) {
                    keys[k] = from_.keys[g * nkeys + k];
                    nulls[k] = from_.key_nulls[g * nkeys + k];
                }
            const size_t group = to.find(keys.data(), nulls.data());
            AggregateState *const states = to.states(group);
            combiner_.combine(states, from_.states.data() + g * naggregates);
            for (Index d = 0; d < main_.distincts.count; ++d) {
                const Index k = program_.distincts[main_.distincts.first + d].key;
                const size_t at = g * nkeys + k;
                if (!from_.key_nulls[at] && (comes_once(members, k) || is_new(seen[d], group, from_.keys[at])))
                    add(states[naggregates + d], program_.exprs[program_.lists[main_.keys.first + k]].type,
                        from_.keys[at]);
            }
        }
        return to.finish();
    }

  private:
    // Does no group of this set meet the same value of key `k` twice? Where that key is all that the groups have lost.
    bool comes_once(uint32_t members, Index k) const {
        return main_.keys.count == main_.result_keys + 1 && k == main_.result_keys &&
               members == (1u << main_.result_keys) - 1;
    }

    static bool is_new(GroupIndex &seen, size_t group, const Value &value) {
        const Value key[2] = {{group, 0}, value};
        const uint8_t nulls[2] = {0, 0};
        const size_t before = seen.size();
        return seen.find(key, nulls) == before;
    }

    static void add(AggregateState &state, Type type, const Value &value) {
        ++state.count;
        if (!is_integer(type))
            return;
        int error = 0;
        const int128 sum = sem::add(wide(state.low, state.high), wide(value.low, value.high), error);
        if (error)
            throw RowError("a sum overflows");
        state.low = static_cast<uint64_t>(sum);
        state.high = static_cast<int64_t>(sum >> 64);
    }

    const Program &program_;
    const Pipeline &main_;
    const GroupTable &from_;
    const WorkMemoryRef &memory_;
    const std::atomic<uint32_t> *const cancel_;
    const StateCombiner combiner_;
};

} // namespace

GroupTable regroup(const Program &program, const GroupTable &groups, const WorkMemoryRef &memory,
                   const std::atomic<uint32_t> *cancel) {
    Regrouper regrouper(program, groups, memory, cancel);
    GroupTable all = regrouper.run(0);
    for (Index set = 1; set < program.main().sets.count; ++set) {
        const GroupTable more = regrouper.run(set);
        all.ngroups += more.ngroups;
        all.keys.append(more.keys.data(), more.keys.size());
        all.key_nulls.append(more.key_nulls.data(), more.key_nulls.size());
        all.states.append(more.states.data(), more.states.size());
    }
    return all;
}

} // namespace gpuscan
