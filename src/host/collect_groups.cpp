// From the groups of each thread to one table (see aggregator.hpp).
#include <algorithm>
#include <utility>

#include "engine/result/group_merge.hpp"
#include "host/aggregator.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

constexpr size_t groups_per_part = 16 * 1024; // some hundred kB of keys, states and slots
constexpr size_t max_parts = 1024;
constexpr uint32_t groups_ahead = 16; // prefetched
constexpr unsigned hash_bits = 64;
constexpr unsigned max_range_bits = 16; // numbers of a range, whose places take a quarter of a megabyte
constexpr unsigned min_range_bits = 10;
constexpr size_t enough_ranges = 64;         // for all threads to have work
constexpr size_t few_groups_per_number = 16; // one group in so many numbers: ranges would be mostly empty

class Collector {
  public:
    Collector(const WorkContext &work, const Context &context, const Grouping &grouping,
              std::vector<std::unique_ptr<Aggregator>> &threads)
        : work_(work), context_(context), grouping_(grouping), threads_(threads), combiner_(context.program) {}

    GroupTable collect();

  private:
    // A thread's groups in the order of their parts.
    struct Order {
        explicit Order(const WorkMemoryRef &memory) : groups(memory) {}
        WorkArray<uint32_t> groups;
        std::vector<uint32_t> starts; // of each part, and the end
    };

    GroupTable sized(size_t ngroups) const;
    void write(const Aggregator &from, uint32_t group, GroupTable &to, size_t at) const;
    GroupTable by_number();
    GroupTable in_order();
    GroupTable by_range();
    GroupTable by_hash();
    template <class PartOf> std::vector<Order> order_groups(size_t parts, PartOf part_of) const;
    template <class Each> void each_group(size_t part, const std::vector<Order> &orders, Each each) const;
    size_t count_range(size_t part, unsigned bits, const std::vector<Order> &orders) const;
    void write_range(size_t part, unsigned bits, const std::vector<Order> &orders, GroupTable &out, size_t at) const;
    GroupTable merge_part(size_t part, const std::vector<Order> &orders) const;
    GroupTable join(std::vector<GroupTable> &tables) const;

    const WorkContext &work_;
    const Context &context_;
    const Grouping &grouping_;
    std::vector<std::unique_ptr<Aggregator>> &threads_;
    const StateCombiner combiner_;
    size_t groups_ = 0; // of all threads
};

GroupTable Collector::collect() {
    threads_.erase(std::remove(threads_.begin(), threads_.end(), nullptr), threads_.end());
    for (auto &thread : threads_)
        thread->end();
    if (threads_.empty()) {
        GroupTable none = sized(grouping_.form == Grouping::Form::None ? 1 : 0);
        std::fill(none.states.begin(), none.states.end(), AggregateState());
        return none;
    }
    if (!grouping_.in_order_met())
        return by_number();
    if (threads_.size() == 1)
        return in_order();
    for (const auto &thread : threads_)
        groups_ += thread->groups();
    return grouping_.sparse && groups_ >= grouping_.domain / few_groups_per_number ? by_range() : by_hash();
}

GroupTable Collector::sized(size_t ngroups) const {
    GroupTable table(work_.memory);
    table.ngroups = ngroups;
    table.keys.resize(ngroups * grouping_.keys.size());
    table.key_nulls.resize(ngroups * grouping_.keys.size());
    table.states.resize(ngroups * combiner_.size());
    return table;
}

void Collector::write(const Aggregator &from, uint32_t group, GroupTable &to, size_t at) const {
    const size_t nkeys = grouping_.keys.size();
    for (size_t k = 0; k < nkeys; ++k)
        from.key(group, k, to.keys[at * nkeys + k], to.key_nulls[at * nkeys + k]);
    from.states(group, to.states.data() + at * combiner_.size());
}

// The same numbers mean the same groups in every thread. Without GROUP BY the one group exists without rows too.
GroupTable Collector::by_number() {
    const uint32_t domain = grouping_.domain;
    auto exists = [&](uint32_t group) {
        return grouping_.form == Grouping::Form::None ||
               std::any_of(threads_.begin(), threads_.end(), [&](const auto &t) { return t->has_rows(group); });
    };
    std::vector<size_t> at((domain + piece_rows - 1) / piece_rows);
    work_.pieces(domain, piece_rows, [&](size_t begin, size_t end) {
        for (size_t group = begin; group < end; ++group)
            at[begin / piece_rows] += exists(static_cast<uint32_t>(group));
    });
    size_t ngroups = 0;
    for (size_t &count : at)
        ngroups += std::exchange(count, ngroups);
    GroupTable out = sized(ngroups);
    work_.pieces(domain, piece_rows, [&](size_t begin, size_t end) {
        size_t to = at[begin / piece_rows];
        std::vector<AggregateState> more(combiner_.size());
        for (uint32_t group = static_cast<uint32_t>(begin); group < end; ++group) {
            if (!exists(group))
                continue;
            write(*threads_[0], group, out, to);
            for (size_t t = 1; t < threads_.size(); ++t) {
                threads_[t]->states(group, more.data());
                combiner_.combine(out.states.data() + to * combiner_.size(), more.data());
            }
            ++to;
        }
    });
    return out;
}

GroupTable Collector::in_order() {
    const Aggregator &thread = *threads_[0];
    GroupTable out = sized(thread.groups());
    work_.pieces(thread.groups(), piece_rows, [&](size_t begin, size_t end) {
        for (size_t group = begin; group < end; ++group)
            write(thread, static_cast<uint32_t>(group), out, group);
    });
    return out;
}

// Each thread's groups by parts; part_of(thread, group) is less than `parts`.
template <class PartOf> std::vector<Collector::Order> Collector::order_groups(size_t parts, PartOf part_of) const {
    std::vector<Order> orders;
    for (size_t t = 0; t < threads_.size(); ++t)
        orders.emplace_back(work_.memory);
    work_.pool.run(threads_.size(), [&](size_t t, unsigned) {
        const Aggregator &thread = *threads_[t];
        Order &order = orders[t];
        const uint32_t n = thread.groups();
        order.starts.assign(parts + 1, 0);
        for (uint32_t group = 0; group < n; ++group) {
            if (group % piece_rows == 0)
                work_.check_cancel();
            ++order.starts[part_of(thread, group) + 1];
        }
        for (size_t part = 1; part < order.starts.size(); ++part)
            order.starts[part] += order.starts[part - 1];
        std::vector<uint32_t> next = order.starts;
        order.groups.resize(n);
        for (uint32_t group = 0; group < n; ++group) {
            if (group % piece_rows == 0)
                work_.check_cancel();
            order.groups[next[part_of(thread, group)]++] = group;
        }
    });
    return orders;
}

// Calls each(thread, group) for a part's groups of all threads.
template <class Each> void Collector::each_group(size_t part, const std::vector<Order> &orders, Each each) const {
    for (size_t t = 0; t < orders.size(); ++t)
        for (uint32_t i = orders[t].starts[part]; i < orders[t].starts[part + 1]; ++i)
            each(t, orders[t].groups[i]);
}

// Of a range of numbers all threads' groups are found by number. How many there are is counted first, so that each is written once,
// where it will stay.
GroupTable Collector::by_range() {
    unsigned bits = min_range_bits;
    while (bits < max_range_bits && grouping_.domain >> bits > enough_ranges)
        ++bits;
    const size_t ranges = ((grouping_.domain - 1) >> bits) + 1;
    const std::vector<Order> orders =
        order_groups(ranges, [bits](const Aggregator &thread, uint32_t group) { return thread.number(group) >> bits; });
    std::vector<size_t> at(ranges);
    work_.pool.run(ranges, [&](size_t part, unsigned) { at[part] = count_range(part, bits, orders); });
    size_t ngroups = 0;
    for (size_t &count : at)
        ngroups += std::exchange(count, ngroups);
    GroupTable out = sized(ngroups);
    work_.pool.run(ranges, [&](size_t part, unsigned) { write_range(part, bits, orders, out, at[part]); });
    threads_.clear();
    return out;
}

size_t Collector::count_range(size_t part, unsigned bits, const std::vector<Order> &orders) const {
    work_.check_cancel();
    std::vector<bool> met(size_t(1) << bits);
    size_t count = 0;
    each_group(part, orders, [&](size_t t, uint32_t group) {
        const uint32_t number = threads_[t]->number(group) & (met.size() - 1);
        count += !met[number];
        met[number] = true;
    });
    return count;
}

void Collector::write_range(size_t part, unsigned bits, const std::vector<Order> &orders, GroupTable &out,
                            size_t at) const {
    work_.check_cancel();
    std::vector<uint32_t> places(size_t(1) << bits); // of a group in the range + 1; 0: none yet
    std::vector<AggregateState> more(combiner_.size());
    uint32_t count = 0;
    each_group(part, orders, [&](size_t t, uint32_t group) {
        uint32_t &place = places[threads_[t]->number(group) & (places.size() - 1)];
        if (place == 0) {
            write(*threads_[t], group, out, at + count);
            place = ++count;
        } else {
            threads_[t]->states(group, more.data());
            combiner_.combine(out.states.data() + (at + place - 1) * combiner_.size(), more.data());
        }
    });
}

GroupTable Collector::by_hash() {
    unsigned bits = 0;
    while ((size_t(1) << bits) < max_parts && (groups_per_part << bits) < groups_)
        ++bits;
    std::vector<Order> orders = order_groups(size_t(1) << bits, [bits](const Aggregator &thread, uint32_t group) {
        return bits == 0 ? 0 : thread.hash(group) >> (hash_bits - bits);
    });
    std::vector<GroupTable> tables(size_t(1) << bits);
    work_.pool.run(tables.size(), [&](size_t part, unsigned) {
        work_.check_cancel();
        tables[part] = merge_part(part, orders);
    });
    orders.clear();
    threads_.clear();
    return tables.size() == 1 ? std::move(tables[0]) : join(tables);
}

GroupTable Collector::merge_part(size_t part, const std::vector<Order> &orders) const {
    GroupMerger merger(context_.program, grouping_.keys.size(), work_.memory, work_.cancel);
    for (size_t t = 0; t < orders.size(); ++t) {
        const uint32_t begin = orders[t].starts[part], end = orders[t].starts[part + 1];
        GroupTable groups = sized(end - begin);
        for (uint32_t i = begin; i < end; ++i) { // a part's groups lie anywhere in the thread's arrays
            if (i + groups_ahead < end)
                threads_[t]->prefetch(orders[t].groups[i + groups_ahead]);
            write(*threads_[t], orders[t].groups[i], groups, i - begin);
        }
        merger.add(std::move(groups));
    }
    return merger.finish();
}

// One after another, giving back what is copied.
GroupTable Collector::join(std::vector<GroupTable> &tables) const {
    std::vector<size_t> at(tables.size());
    size_t ngroups = 0;
    for (size_t i = 0; i < tables.size(); ++i) {
        at[i] = ngroups;
        ngroups += tables[i].ngroups;
    }
    const size_t nkeys = grouping_.keys.size(), nstates = combiner_.size();
    GroupTable out = sized(ngroups);
    work_.pool.run(tables.size(), [&](size_t i, unsigned) {
        work_.check_cancel();
        const GroupTable from = std::move(tables[i]);
        std::copy_n(from.keys.data(), from.ngroups * nkeys, out.keys.data() + at[i] * nkeys);
        std::copy_n(from.key_nulls.data(), from.ngroups * nkeys, out.key_nulls.data() + at[i] * nkeys);
        std::copy_n(from.states.data(), from.ngroups * nstates, out.states.data() + at[i] * nstates);
    });
    return out;
}

} // namespace

GroupTable collect_groups(const WorkContext &work, const Context &context, const Grouping &grouping,
                          std::vector<std::unique_ptr<Aggregator>> &threads) {
    return Collector(work, context, grouping, threads).collect();
}

} // namespace gpuscan::host
