// Grouping the groups of a device once more, for what one pass over the rows cannot say.
//
//   DISTINCT      where neither bits nor sets tell the values (Execution::run_to_result), the device groups by the keys and by
//                 the aggregate's argument, so that every value comes once in a group (or a few times, if there are several
//                 such arguments); here the argument leaves the key, its values are counted and added, and the states of the
//                 other aggregates are combined, as those of several passes are
//   grouping sets the device groups by the keys of all sets; here each set combines the groups that differ in other keys
//                 only (Gray et al., "Data Cube: A Relational Aggregation Operator Generalizing Group-By, Cross-Tab, and
//                 Sub-Totals", section 5: distributive and algebraic aggregates are computed from the finest groups)
//
// Rows are many and groups are few, else none of this would be faster than sorting; so it is done on the host, set by set.
// Where the groups are many all the same, several threads do it: each groups a slice of them for itself, then each combines a
// part of the keys out of what all have (Leis et al., "Morsel-Driven Parallelism", section 4.4). A value that may come several
// times in a group is one thread's, by the hash of both, wherever it stands; or by the value, if the values lie so close together that
// each group has a bit for each of them.
#include "engine/result/second_aggregation.hpp"

#include "device/semantics.cuh"
#include "engine/util/in_parallel.hpp"

namespace gpuscan {
namespace {

using namespace ir;

constexpr uint64_t bits_per_group = 64; // of the device, for finding out which values a result's group has had

class SecondAggregation {
  public:
    SecondAggregation(const Program &program, const GroupTable &from, const WorkMemoryRef &memory,
                      const std::atomic<uint32_t> *cancel)
        : program_(program), main_(program.main()), from_(from), memory_(memory), cancel_(cancel), combiner_(program) {}

    GroupTable run(Index set) {
        const uint32_t members = program_.sets[main_.sets.first + set].keys;
        const unsigned threads = threads_worth(from_.ngroups);
        std::vector<GroupIndex> parts;
        for (Index d = 0; d < main_.distincts.count && bounds_.empty(); ++d)
            if (!comes_once(members, program_.distincts[main_.distincts.first + d].key))
                bounds_ = bounds_of_keys();
        for (unsigned t = 0; t < threads; ++t)
            parts.push_back(empty());
        in_slices(threads, from_.ngroups, [&](unsigned thread, uint64_t first, uint64_t last) {
            add_slice(set, members, first, last, parts[thread]);
            for (Index d = 0; d < main_.distincts.count; ++d)
                if (!comes_once(members, program_.distincts[main_.distincts.first + d].key))
                    add_values(set, members, d, thread, threads, parts[thread]);
        });
        if (members == 0) { // one group, even of nothing
            Keys keys(*this, set);
            parts[0].find(keys.values.data(), keys.nulls.data());
        }
        if (threads > 1)
            merge(parts);
        GroupTable all = parts[0].finish();
        for (unsigned t = 1; t < threads; ++t)
            all.append(parts[t].finish());
        return all;
    }

  private:
    // A result's key.
    struct Keys {
        Keys(const SecondAggregation &r, Index set)
            : values(r.program_.result_keys()), nulls(r.program_.result_keys(), 1), second(r) {
            if (r.main_.sets.count > 1) {
                values.back().low = set;
                nulls.back() = 0;
            }
        }
        // Those of a group of the device that the set has.
        void take(uint32_t members, size_t group) {
            const size_t at = group * second.main_.keys.count;
            for (Index k = 0; k < second.main_.result_keys; ++k)
                if (members >> k & 1) {
                    values[k] = second.from_.keys[at + k];
                    nulls[k] = second.from_.key_nulls[at + k];
                }
        }
        std::vector<Value> values;
        std::vector<uint8_t> nulls;
        const SecondAggregation &second;
    };

    GroupIndex empty() const {
        return GroupIndex(program_.result_keys(), program_.grouped_aggregates(), memory_, cancel_);
    }

    // States, and values that come once, of some groups.
    void add_slice(Index set, uint32_t members, size_t first, size_t last, GroupIndex &to) const {
        Finder finder(*this, set, members, to);
        const size_t nkeys = main_.keys.count, naggregates = combiner_.size();
        for (size_t g = first; g < last; ++g) {
            to.check_cancel(g - first);
            AggregateState *const states = to.states(finder.find(g));
            combiner_.combine(states, from_.states.data() + g * naggregates);
            for (Index d = 0; d < main_.distincts.count; ++d) {
                const Distinct &distinct = program_.distincts[main_.distincts.first + d];
                const Index k = distinct.key;
                if (comes_once(members, k) && !from_.key_nulls[g * nkeys + k])
                    add(states[naggregates + d], distinct, from_.keys[g * nkeys + k]);
            }
        }
    }

    // Values that may come several times: all groups are looked at, and of all pairs of group and value those that are
    // this thread's.
    void add_values(Index set, uint32_t members, Index number, unsigned thread, unsigned threads,
                    GroupIndex &to) const {
        const Distinct &distinct = program_.distincts[main_.distincts.first + number];
        const Index k = distinct.key;
        if (add_close_values(set, members, number, thread, threads, to))
            return;
        const size_t nkeys = main_.keys.count, naggregates = combiner_.size();
        GroupIndex seen(2, 0, memory_, cancel_); // (group, value)
        Keys keys(*this, set);
        for (size_t g = 0; g < from_.ngroups; ++g) {
            to.check_cancel(g);
            const Value &value = from_.keys[g * nkeys + k];
            if (from_.key_nulls[g * nkeys + k])
                continue;
            keys.take(members, g);
            const uint64_t hash =
                sem::hash_combine(sem::hash_combine(to.hash(keys.values.data(), keys.nulls.data()), value.low),
                                  static_cast<uint64_t>(value.high));
            if (part_of(hash, threads) != thread)
                continue;
            const size_t group = to.find(keys.values.data(), keys.nulls.data());
            if (is_new(seen, group, value))
                add(to.states(group)[naggregates + number], distinct, value);
        }
    }

    // The same with a bit for each group and value. False, and nothing added: that would be too many bits.
    bool add_close_values(Index set, uint32_t members, Index number, unsigned thread, unsigned threads,
                          GroupIndex &to) const {
        const Distinct &distinct = program_.distincts[main_.distincts.first + number];
        const Bounds &bounds = bounds_[distinct.key];
        const uint64_t most_bits = from_.ngroups * bits_per_group;
        if (bounds.values == 0 || bounds.values > most_bits || places_of_keys(members, most_bits / bounds.values) == 0)
            return false;
        // This thread's values are those from `first` on.
        const uint64_t first = bounds.values * thread / threads, width = bounds.values * (thread + 1) / threads - first;
        const size_t nkeys = main_.keys.count, naggregates = combiner_.size();
        WorkArray<uint64_t> seen(memory_); // of each group that `to` has, `width` bits
        Finder finder(*this, set, members, to);
        for (size_t g = 0; g < from_.ngroups; ++g) {
            to.check_cancel(g);
            const Value &value = from_.keys[g * nkeys + distinct.key];
            const uint64_t bit = value.low - bounds.least - first;
            if (bit >= width || from_.key_nulls[g * nkeys + distinct.key])
                continue;
            const size_t group = finder.find(g);
            const uint64_t at = group * width + bit;
            if (at / 64 >= seen.size())
                seen.resize((group + 1) * width / 64 + 1, 0);
            uint64_t &word = seen[at / 64];
            const uint64_t mask = uint64_t(1) << (at % 64);
            if ((word & mask) == 0)
                add(to.states(group)[naggregates + number], distinct, value);
            word |= mask;
        }
        return true;
    }

    // Of a key's values that are not NULL; values: how many there are between the bounds, 0: too many, or they are no small integers.
    struct Bounds {
        uint64_t least = 0, values = 0;
    };
    std::vector<Bounds> bounds_of_keys() const {
        const size_t nkeys = main_.keys.count;
        const unsigned threads = threads_worth(from_.ngroups);
        struct Range {
            int64_t least = INT64_MAX, most = INT64_MIN;
            bool is_small = true;
        };
        std::vector<Range> ranges(threads * nkeys);
        in_slices(threads, from_.ngroups, [&](unsigned thread, uint64_t first, uint64_t last) {
            for (size_t k = 0; k < nkeys; ++k) {
                Range range;
                range.is_small = is_integer(type_of(k)) || type_of(k) == Type::Code;
                for (size_t at = first * nkeys + k; range.is_small && at < last * nkeys; at += nkeys) {
                    if (from_.key_nulls[at])
                        continue;
                    const int64_t value = static_cast<int64_t>(from_.keys[at].low);
                    range.least = std::min(range.least, value);
                    range.most = std::max(range.most, value);
                    range.is_small = from_.keys[at].high == (value < 0 ? -1 : 0);
                }
                ranges[thread * nkeys + k] = range;
            }
        });
        std::vector<Bounds> bounds(nkeys);
        for (size_t k = 0; k < nkeys; ++k) {
            Range all;
            for (size_t at = k; at < ranges.size(); at += nkeys)
                all = {std::min(all.least, ranges[at].least), std::max(all.most, ranges[at].most),
                       all.is_small && ranges[at].is_small};
            const uint64_t least = static_cast<uint64_t>(all.least);
            if (all.is_small && all.least <= all.most)
                bounds[k] = {least, static_cast<uint64_t>(all.most) - least + 1};
        }
        return bounds;
    }

    // How many different values of these keys there can be; 0: more than `most`.
    uint64_t places_of_keys(uint32_t members, uint64_t most) const {
        uint64_t places = 1;
        for (Index k = 0; k < main_.result_keys; ++k) {
            if ((members >> k & 1) == 0)
                continue;
            const uint64_t values = bounds_[k].values;
            if (values == 0 || values >= most / places) // (and NULL)
                return 0;
            places *= values + 1;
        }
        return places;
    }

    // Finds the result's group of a group of the device, by a table of all values of the keys if there can be few.
    class Finder {
      public:
        Finder(const SecondAggregation &second, Index set, uint32_t members, GroupIndex &to)
            : second_(second), members_(members), keys_(second, set), to_(to), numbers_(second.memory_) {
            if (!second.bounds_.empty())
                numbers_.resize(second.places_of_keys(members, largest_table), 0);
        }
        size_t find(size_t group) {
            if (numbers_.empty())
                return search(group);
            uint32_t &number = numbers_[place_of(group)];
            if (number == 0)
                number = static_cast<uint32_t>(search(group)) + 1;
            return number - 1;
        }

      private:
        static constexpr uint64_t largest_table = 64 * 1024;

        size_t search(size_t group) {
            keys_.take(members_, group);
            return to_.find(keys_.values.data(), keys_.nulls.data());
        }
        size_t place_of(size_t group) const {
            const size_t at = group * second_.main_.keys.count;
            size_t place = 0;
            for (Index k = 0; k < second_.main_.result_keys; ++k)
                if (members_ >> k & 1) {
                    const Bounds &bounds = second_.bounds_[k];
                    place *= bounds.values + 1;
                    if (!second_.from_.key_nulls[at + k])
                        place += second_.from_.keys[at + k].low - bounds.least + 1;
                }
            return place;
        }

        const SecondAggregation &second_;
        const uint32_t members_;
        Keys keys_;
        GroupIndex &to_;
        WorkArray<uint32_t> numbers_; // + 1; none: search() does it
    };

    // Each thread's groups are those of its slice; afterwards no two threads have the same one.
    void merge(std::vector<GroupIndex> &parts) const {
        std::vector<GroupIndex> merged;
        for (size_t t = 0; t < parts.size(); ++t)
            merged.push_back(empty());
        const unsigned threads = static_cast<unsigned>(parts.size());
        in_slices(threads, threads, [&](unsigned thread, uint64_t, uint64_t) {
            GroupIndex &to = merged[thread];
            const size_t nkeys = to.nkeys(), naggregates = combiner_.size();
            for (const GroupIndex &part : parts) {
                const GroupTable &groups = part.table();
                for (size_t g = 0; g < groups.ngroups; ++g) {
                    to.check_cancel(g);
                    const Value *const keys = groups.keys.data() + g * nkeys;
                    const uint8_t *const nulls = groups.key_nulls.data() + g * nkeys;
                    if (part_of(to.hash(keys, nulls), threads) != thread)
                        continue;
                    const AggregateState *const from = groups.states.data() + g * (naggregates + main_.distincts.count);
                    AggregateState *const states = to.states(to.find(keys, nulls));
                    combiner_.combine(states, from);
                    for (Index d = 0; d < main_.distincts.count; ++d)
                        add_distinct_values(states[naggregates + d], from[naggregates + d]);
                }
            }
        });
        parts.swap(merged);
    }

    // Not the bits by which an index finds its groups, or each thread would use a part of its table only.
    static unsigned part_of(uint64_t hash, unsigned parts) { return static_cast<unsigned>((hash >> 40) % parts); }

    Type type_of(Index key) const { return program_.exprs[program_.lists[main_.keys.first + key]].type; }

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

    void add(AggregateState &state, const Distinct &distinct, const Value &value) const {
        AggregateState one;
        one.count = 1;
        if (!distinct.counts_only && is_integer(type_of(distinct.key))) { // of others only the count is asked for
            one.low = value.low;
            one.high = value.high;
        }
        add_distinct_values(state, one);
    }

    const Program &program_;
    const Pipeline &main_;
    const GroupTable &from_;
    const WorkMemoryRef &memory_;
    const std::atomic<uint32_t> *const cancel_;
    const StateCombiner combiner_;
    std::vector<Bounds> bounds_; // of the keys, if somebody asks
};

} // namespace

GroupTable aggregate_again(const Program &program, const GroupTable &groups, const WorkMemoryRef &memory,
                           const std::atomic<uint32_t> *cancel) {
    SecondAggregation second(program, groups, memory, cancel);
    GroupTable all = second.run(0);
    for (Index set = 1; set < program.main().sets.count; ++set)
        all.append(second.run(set));
    return all;
}

} // namespace gpuscan
