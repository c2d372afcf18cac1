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

// The value as an unsigned number of value_bits(type) bits.
uint128 order_of(Type type, const uint8_t *values, size_t row) {
    switch (type) {
    case Type::Bool:
        return values[row] != 0;
    case Type::I16:
        return static_cast<uint16_t>(load<uint16_t>(values, row) ^ 0x8000u);
    case Type::I32:
        return load<uint32_t>(values, row) ^ 0x80000000u;
    case Type::I64:
        return load<uint64_t>(values, row) ^ (uint64_t(1) << 63);
    case Type::I128:
        return load<uint128>(values, row) ^ (uint128(1) << 127);
    case Type::F32:
        return float_order<uint32_t>(load<float>(values, row));
    case Type::F64:
        return float_order<uint64_t>(load<double>(values, row));
    case Type::Code:
        break;
    }
    return 0;
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
    const uint128 bits = order_of(key.type, column.values, row);
    const unsigned width = value_bits(key.type);
    const uint128 all = width == 128 ? ~uint128(0) : (uint128(1) << width) - 1;
    return {key.nulls_first, key.descending ? all ^ bits : bits};
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

RowOrder::RowOrder(std::vector<SortColumn> keys, std::vector<bool> nullable)
    : keys_(std::move(keys)), nullable_(std::move(nullable)) {
    unsigned bits = 0;
    for (size_t k = 0; k < keys_.size(); ++k)
        bits += value_bits(keys_[k].type) + (nullable_[k] ? 1 : 0);
    whole_ = bits <= 64;
}

namespace {

// Where a key's bits stand in the numbers.
struct Place {
    unsigned late;      // the bit that tells NULLs from values
    unsigned cut, left; // a value's last `cut` bits are left out, and `left` bits follow
    bool nullable;
};

template <class Bits, class Order>
void add_key(const SortColumn &key, const Place &at, const uint8_t *nulls, size_t n, uint64_t *out, Order order) {
    constexpr unsigned width = sizeof(Bits) * 8;
    const Bits turned = key.descending ? static_cast<Bits>(~Bits(0)) : Bits(0);
    const uint64_t late_value = at.nullable && key.nulls_first ? uint64_t(1) << at.late : 0;
    const uint64_t late_null = at.nullable && !key.nulls_first ? uint64_t(1) << at.late : 0;
    for (size_t i = 0; i < n; ++i) {
        const uint64_t bits =
            at.cut < width ? static_cast<uint64_t>(static_cast<Bits>(order(i) ^ turned) >> at.cut) : 0;
        out[i] |= nulls && nulls[i] ? late_null : late_value | bits << at.left;
    }
}

} // namespace

void RowOrder::prefixes(const RowBlock &block, size_t first, size_t n, uint64_t *out) const {
    memset(out, 0, n * sizeof *out);
    unsigned left = 64;
    for (size_t k = 0; k < keys_.size() && left > 0; ++k) {
        const SortColumn &key = keys_[k];
        const RowBlock::Column &column = block.columns[key.column];
        const unsigned width = value_bits(key.type);
        Place at{};
        at.nullable = nullable_[k];
        if (at.nullable)
            at.late = --left;
        const unsigned taken = std::min(width, left);
        at.cut = width - taken;
        at.left = left -= taken;
        if (taken == 0) // only the bit for NULL
            at.left = 0;
        const uint8_t *values = column.values, *nulls = column.nulls ? column.nulls + first : nullptr;
        switch (key.type) {
        case Type::Bool:
            add_key<uint8_t>({key.column, key.type, false, key.nulls_first}, at, nulls, n, out, [&](size_t i) {
                return static_cast<uint8_t>((values[first + i] != 0) != key.descending);
            });
            break;
        case Type::I16:
            add_key<uint16_t>(key, at, nulls, n, out, [&](size_t i) {
                return static_cast<uint16_t>(load<uint16_t>(values, first + i) ^ 0x8000u);
            });
            break;
        case Type::I32:
            add_key<uint32_t>(key, at, nulls, n, out,
                              [&](size_t i) { return load<uint32_t>(values, first + i) ^ 0x80000000u; });
            break;
        case Type::I64:
            add_key<uint64_t>(key, at, nulls, n, out,
                              [&](size_t i) { return load<uint64_t>(values, first + i) ^ (uint64_t(1) << 63); });
            break;
        case Type::I128:
            add_key<uint128>(key, at, nulls, n, out,
                             [&](size_t i) { return load<uint128>(values, first + i) ^ (uint128(1) << 127); });
            break;
        case Type::F32:
            add_key<uint32_t>(key, at, nulls, n, out,
                              [&](size_t i) { return float_order<uint32_t>(load<float>(values, first + i)); });
            break;
        case Type::F64:
            add_key<uint64_t>(key, at, nulls, n, out,
                              [&](size_t i) { return float_order<uint64_t>(load<double>(values, first + i)); });
            break;
        case Type::Code:
            break;
        }
    }
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
