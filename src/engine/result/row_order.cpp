// How rows compare, and taking some of them (see row_order.hpp).
#include "engine/result/row_order.hpp"

#include <algorithm>
#include <cstring>

namespace gpuscan {
namespace {

constexpr unsigned value_bits(Type type) {
    return type == Type::Bool ? 1 : static_cast<unsigned>(type_width(type)) * 8;
}

template <class T> T load(const uint8_t *values, size_t row) {
    T value;
    memcpy(&value, values + row * sizeof value, sizeof value);
    return value;
}

// Unsigned numbers that order as floats do.
template <class Bits, class Float> Bits float_order(Float value) {
    if (value != value)
        return ~Bits(0);
    if (value == 0)
        value = 0; // not -0
    Bits bits;
    memcpy(&bits, &value, sizeof bits);
    const Bits sign = Bits(1) << (sizeof bits * 8 - 1);
    return bits & sign ? ~bits : bits | sign;
}

// Calls visit(order): order(row) is the value's place among all of its type, an unsigned number of its width.
template <class Visit> void with_order(Type type, const uint8_t *values, const Visit &visit) {
    switch (type) {
    case Type::Bool:
        return visit([=](size_t row) { return static_cast<uint8_t>(values[row] != 0); });
    case Type::I16:
        return visit([=](size_t row) { return static_cast<uint16_t>(load<uint16_t>(values, row) ^ 0x8000u); });
    case Type::I32:
        return visit([=](size_t row) { return load<uint32_t>(values, row) ^ 0x80000000u; });
    case Type::I64:
        return visit([=](size_t row) { return load<uint64_t>(values, row) ^ (uint64_t(1) << 63); });
    case Type::I128:
        return visit([=](size_t row) { return load<uint128>(values, row) ^ (uint128(1) << 127); });
    case Type::F32:
        return visit([=](size_t row) { return float_order<uint32_t>(load<float>(values, row)); });
    case Type::F64:
        return visit([=](size_t row) { return float_order<uint64_t>(load<double>(values, row)); });
    case Type::Code:
        return;
    }
}

constexpr KeyRange all_values(Type type) {
    const unsigned bits = value_bits(type);
    return {0, bits == 128 ? ~uint128(0) : (uint128(1) << bits) - 1};
}

// How many bits hold the distances from the range's end.
unsigned range_bits(const KeyRange &range) {
    unsigned bits = 0;
    for (uint128 left = range.high > range.low ? range.high - range.low : 0; left != 0; left >>= 1)
        ++bits;
    return bits;
}

struct OrderedValue {
    bool late; // of NULL and values, what comes second
    uint128 bits;
};

OrderedValue ordered_value(const SortColumn &key, const RowBlock &block, size_t row) {
    const RowBlock::Column &column = block.columns[key.column];
    const bool null = column.nulls && column.nulls[row];
    if (null)
        return {!key.nulls_first, 0};
    uint128 bits = 0;
    with_order(key.type, column.values, [&](auto order) { bits = order(row); });
    return {key.nulls_first, key.descending ? all_values(key.type).high - bits : bits};
}

template <size_t width>
void gather_values(const RowTable &rows, const RowEntry *entries, size_t n, size_t column, uint8_t *to) {
    for (size_t i = 0; i < n; ++i)
        memcpy(to + i * width, rows.blocks[entries[i].block].columns[column].values + size_t(entries[i].row) * width,
               width);
}

struct Columns {
    std::vector<WorkArray<uint8_t>> values, nulls;
};

} // namespace

void stop_if(const std::atomic<uint32_t> *cancel) {
    if (cancel && cancel->load(std::memory_order_relaxed) != 0)
        throw Cancelled();
}

static std::vector<KeyRange> any_values(const std::vector<SortColumn> &keys) {
    std::vector<KeyRange> ranges;
    for (const SortColumn &key : keys)
        ranges.push_back(all_values(key.type));
    return ranges;
}

RowOrder::RowOrder(const std::vector<SortColumn> &keys, std::vector<bool> nullable)
    : RowOrder(keys, std::move(nullable), any_values(keys)) {}

RowOrder::RowOrder(std::vector<SortColumn> keys, std::vector<bool> nullable, std::vector<KeyRange> ranges)
    : keys_(std::move(keys)), nullable_(std::move(nullable)), ranges_(std::move(ranges)) {
    unsigned bits = 0;
    for (size_t k = 0; k < keys_.size(); ++k)
        bits += range_bits(ranges_[k]) + (nullable_[k] ? 1 : 0);
    whole_ = bits <= 64;
}

namespace {

// Where a key's bits stand in the numbers.
struct Place {
    unsigned late;        // the bit that tells NULLs from values
    unsigned cut, left;   // a value's last `cut` bits are left out, and `left` bits follow
    bool nullable, empty; // empty: no bit of the value has room
};

template <class Order>
void add_key(const SortColumn &key, const KeyRange &range, const Place &at, const uint8_t *nulls, size_t first,
             size_t n, uint64_t *out, Order order) {
    using Bits = decltype(order(first));
    const Bits low = static_cast<Bits>(range.low), high = static_cast<Bits>(range.high);
    const uint64_t late_value = at.nullable && key.nulls_first ? uint64_t(1) << at.late : 0;
    const uint64_t late_null = at.nullable && !key.nulls_first ? uint64_t(1) << at.late : 0;
    const bool descending = key.descending;
    for (size_t i = 0; i < n; ++i) {
        const Bits value = order(first + i);
        const Bits distance = static_cast<Bits>(descending ? high - value : value - low);
        const uint64_t bits = at.empty ? 0 : static_cast<uint64_t>(distance >> at.cut) << at.left;
        out[i] |= nulls && nulls[i] ? late_null : late_value | bits;
    }
}

} // namespace

void RowOrder::prefixes(const RowBlock &block, size_t first, size_t n, uint64_t *out) const {
    memset(out, 0, n * sizeof *out);
    unsigned left = 64;
    for (size_t k = 0; k < keys_.size() && left > 0; ++k) {
        const SortColumn &key = keys_[k];
        const RowBlock::Column &column = block.columns[key.column];
        const unsigned width = range_bits(ranges_[k]);
        Place at{};
        at.nullable = nullable_[k];
        if (at.nullable)
            at.late = --left;
        const unsigned taken = std::min(width, left);
        at.empty = taken == 0;
        at.cut = at.empty ? 0 : width - taken;
        at.left = at.empty ? 0 : left -= taken;
        with_order(key.type, column.values, [&](auto order) {
            add_key(key, ranges_[k], at, column.nulls ? column.nulls + first : nullptr, first, n, out, order);
        });
    }
}

void add_to_range(const SortColumn &key, const RowBlock &block, size_t first, size_t n, KeyRange *range) {
    const RowBlock::Column &column = block.columns[key.column];
    with_order(key.type, column.values, [&](auto order) {
        using Bits = decltype(order(first));
        Bits low = static_cast<Bits>(~Bits(0)), high = 0;
        bool any = false;
        for (size_t i = first; i < first + n; ++i) {
            const bool null = column.nulls && column.nulls[i];
            const Bits value = order(i);
            low = std::min(low, null ? low : value);
            high = std::max(high, null ? high : value);
            any |= !null;
        }
        if (any)
            *range = {std::min<uint128>(range->low, low), std::max<uint128>(range->high, high)};
    });
}

bool RowOrder::before(const RowBlock &x, size_t row_of_x, const RowBlock &y, size_t row_of_y) const {
    for (const SortColumn &key : keys_) {
        const OrderedValue a = ordered_value(key, x, row_of_x), b = ordered_value(key, y, row_of_y);
        if (a.late != b.late)
            return b.late;
        if (a.bits != b.bits)
            return a.bits < b.bits;
    }
    return false;
}

RowBlock gather_rows(const RowTable &rows, const RowEntry *entries, size_t n, const std::vector<Type> &types,
                     const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel) {
    auto columns = std::make_shared<Columns>();
    RowBlock block;
    block.nrows = n;
    for (size_t c = 0; c < types.size(); ++c) {
        WorkArray<uint8_t> values(memory), nulls(memory);
        values.resize(n * type_width(types[c]));
        switch (type_width(types[c])) {
        case 1:
            gather_values<1>(rows, entries, n, c, values.data());
            break;
        case 2:
            gather_values<2>(rows, entries, n, c, values.data());
            break;
        case 4:
            gather_values<4>(rows, entries, n, c, values.data());
            break;
        case 8:
            gather_values<8>(rows, entries, n, c, values.data());
            break;
        default:
            gather_values<16>(rows, entries, n, c, values.data());
        }
        const bool nullable = std::any_of(rows.blocks.begin(), rows.blocks.end(),
                                          [&](const RowBlock &from) { return from.columns[c].nulls != nullptr; });
        if (nullable) {
            nulls.resize(n);
            for (size_t i = 0; i < n; ++i) {
                const uint8_t *from = rows.blocks[entries[i].block].columns[c].nulls;
                nulls[i] = from ? from[entries[i].row] : 0;
            }
        }
        block.columns.push_back({values.data(), nullable ? nulls.data() : nullptr});
        columns->values.push_back(std::move(values));
        columns->nulls.push_back(std::move(nulls));
        stop_if(cancel);
    }
    block.memory = std::move(columns);
    return block;
}

} // namespace gpuscan
