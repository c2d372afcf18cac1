// Writing the reply to Fetch of a program with groups; see group_page.hpp.
#include "server/group_page.hpp"

#include <algorithm>

#include "engine/device.hpp"
#include "server/message.hpp"

namespace gpuscan {

using protocol::GroupColumn;

namespace {

constexpr size_t max_groups = 64 * 1024; // of a reply; what does not fit is tried again with half of it

// One column of a table of groups: 64-bit words at a distance, upper halves beside them.
struct Words {
    const uint8_t *low;
    const uint8_t *high; // nullptr: all are zero
    size_t stride;
    const uint8_t *nulls; // nullptr: not NULL
    size_t nulls_stride;

    uint64_t low_at(size_t i) const { return word(low, i); }
    uint64_t high_at(size_t i) const { return high != nullptr ? word(high, i) : 0; }
    bool null_at(size_t i) const { return nulls != nullptr && nulls[i * nulls_stride] != 0; }

  private:
    uint64_t word(const uint8_t *from, size_t i) const {
        uint64_t w;
        memcpy(&w, from + i * stride, sizeof w);
        return w;
    }
};

GroupColumn plan(const Words &words, size_t n) {
    GroupColumn column = {};
    int64_t min = INT64_MAX, max = INT64_MIN;
    bool zero = true, sign = true;
    for (size_t i = 0; i < n; ++i) {
        if (words.null_at(i)) {
            column.nulls = 1;
            continue;
        }
        const int64_t low = static_cast<int64_t>(words.low_at(i));
        const uint64_t high = words.high_at(i);
        min = std::min(min, low);
        max = std::max(max, low);
        zero = zero && high == 0;
        sign = sign && high == (low < 0 ? ~uint64_t(0) : 0);
    }
    column.high = zero ? GroupColumn::zero : sign ? GroupColumn::sign : GroupColumn::stored;
    if (min > max)
        return column;
    column.base = min;
    const uint64_t span = static_cast<uint64_t>(max) - static_cast<uint64_t>(min);
    while (column.width < 8 && (span >> (8 * column.width)) != 0)
        column.width = column.width == 0 ? 1 : static_cast<uint8_t>(column.width * 2);
    return column;
}

size_t bytes_of(const GroupColumn &column, size_t n) {
    auto aligned = [](size_t bytes) { return (bytes + 7) & ~size_t(7); };
    return aligned(n * column.width) + (column.high == GroupColumn::stored ? aligned(n * 8) : 0) +
           (column.nulls != 0 ? aligned(n) : 0);
}

template <class Stored> void put_low(const Words &words, const GroupColumn &column, size_t n, uint8_t *to) {
    for (size_t i = 0; i < n; ++i) {
        const uint64_t above = words.null_at(i) ? 0 : words.low_at(i) - static_cast<uint64_t>(column.base);
        const Stored stored = static_cast<Stored>(above);
        memcpy(to + i * sizeof stored, &stored, sizeof stored);
    }
}

void put(const Words &words, const GroupColumn &column, size_t n, MessageWriter &out) {
    if (column.width == 1)
        put_low<uint8_t>(words, column, n, out.part(n));
    else if (column.width == 2)
        put_low<uint16_t>(words, column, n, out.part(2 * n));
    else if (column.width == 4)
        put_low<uint32_t>(words, column, n, out.part(4 * n));
    else if (column.width == 8)
        put_low<uint64_t>(words, column, n, out.part(8 * n));
    if (column.high == GroupColumn::stored) {
        uint8_t *to = out.part(8 * n);
        for (size_t i = 0; i < n; ++i) {
            const uint64_t high = words.high_at(i);
            memcpy(to + 8 * i, &high, sizeof high);
        }
    }
    if (column.nulls != 0) {
        uint8_t *to = out.part(n);
        for (size_t i = 0; i < n; ++i)
            to[i] = words.null_at(i);
    }
}

} // namespace

size_t write_group_page(const GroupTable &groups, size_t first, size_t nkeys, size_t naggregates, MessageWriter &out) {
    std::vector<Words> columns;
    for (size_t k = 0; k < nkeys; ++k) {
        const auto *key = reinterpret_cast<const uint8_t *>(groups.keys.data() + first * nkeys + k);
        columns.push_back({key + offsetof(ir::Value, low), key + offsetof(ir::Value, high), nkeys * sizeof(ir::Value),
                           groups.key_nulls.data() + first * nkeys + k, nkeys});
    }
    for (size_t a = 0; a < naggregates; ++a) {
        using State = ir::AggregateState;
        const auto *state = reinterpret_cast<const uint8_t *>(groups.states.data() + first * naggregates + a);
        const size_t stride = naggregates * sizeof(State);
        columns.push_back({state + offsetof(State, count), nullptr, stride, nullptr, 0});
        columns.push_back({state + offsetof(State, low), state + offsetof(State, high), stride, nullptr, 0});
    }
    const size_t left = groups.ngroups - std::min(first, groups.ngroups);
    std::vector<GroupColumn> plans(columns.size());
    size_t n = std::min(left, max_groups);
    for (;; n /= 2) {
        size_t bytes = sizeof(protocol::FetchReply) + columns.size() * sizeof(GroupColumn);
        for (size_t c = 0; c < columns.size(); ++c) {
            plans[c] = plan(columns[c], n);
            bytes += bytes_of(plans[c], n);
        }
        if (bytes <= out.left())
            break;
        if (n <= 1)
            throw DeviceError("a group does not fit into a reply");
    }
    protocol::FetchReply reply = {};
    reply.ngroups = static_cast<uint32_t>(n);
    reply.nkeys = static_cast<uint32_t>(nkeys);
    reply.naggregates = static_cast<uint32_t>(naggregates);
    out.put(reply);
    for (const GroupColumn &column : plans)
        out.put(column);
    for (size_t c = 0; c < columns.size() && n > 0; ++c)
        put(columns[c], plans[c], n, out);
    return n;
}

} // namespace gpuscan
