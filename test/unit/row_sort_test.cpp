// Rows in order: every type, NULLs at either end, ascending and descending, several keys, ties, many threads; against
// std::stable_sort by the definition of the order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "engine/result/row_sort.hpp"

namespace gpuscan {
namespace {

struct Data {
    std::vector<Type> types;
    std::vector<std::vector<uint8_t>> values, nulls; // per column; an empty nulls: none
    size_t n = 0;
};

template <class T> void put(std::vector<uint8_t> &to, T value) {
    const size_t at = to.size();
    to.resize(at + sizeof value);
    memcpy(to.data() + at, &value, sizeof value);
}

template <class T> T get(const uint8_t *values, size_t i) {
    T value;
    memcpy(&value, values + i * sizeof value, sizeof value);
    return value;
}

// A range below 100 is kept: all keys of a row fit into a few bits then.
template <class T> void put_integer(std::vector<uint8_t> &to, std::mt19937_64 &random, uint64_t range) {
    const uint64_t choice = range < 100 ? 2 : random() % 20;
    if (choice == 0)
        put<T>(to, std::numeric_limits<T>::min());
    else if (choice == 1)
        put<T>(to, std::numeric_limits<T>::max());
    else
        put<T>(to, static_cast<T>(random() % range) - static_cast<T>(range / 2));
}

template <class T> void put_float(std::vector<uint8_t> &to, std::mt19937_64 &random) {
    const T special[] = {std::numeric_limits<T>::quiet_NaN(),
                         std::numeric_limits<T>::infinity(),
                         -std::numeric_limits<T>::infinity(),
                         T(0),
                         -T(0),
                         std::numeric_limits<T>::denorm_min()};
    const uint64_t choice = random() % 12;
    put<T>(to, choice < 6 ? special[choice] : static_cast<T>(static_cast<int64_t>(random() % 200) - 100) / 8);
}

void put_value(std::vector<uint8_t> &to, Type type, std::mt19937_64 &random, uint64_t range) {
    switch (type) {
    case Type::Bool:
        return put<uint8_t>(to, random() % 2);
    case Type::I16:
        return put_integer<int16_t>(to, random, std::min<uint64_t>(range, 30000));
    case Type::I32:
        return put_integer<int32_t>(to, random, range);
    case Type::I64:
        return put_integer<int64_t>(to, random, range);
    case Type::I128: {
        int128 value = static_cast<int128>(random() % range) - static_cast<int128>(range / 2);
        if (range >= 100 && random() % 2)
            value *= static_cast<int128>(1) << 90;
        return put(to, value);
    }
    case Type::F32:
        return put_float<float>(to, random);
    case Type::F64:
        return put_float<double>(to, random);
    case Type::Code:
        break;
    }
}

Data make(const std::vector<Type> &types, size_t n, uint64_t seed, uint64_t range, int null_percent) {
    std::mt19937_64 random(seed);
    Data data;
    data.types = types;
    data.types.push_back(Type::I64); // which row it was
    data.n = n;
    for (size_t c = 0; c <= types.size(); ++c) {
        data.values.emplace_back();
        data.nulls.emplace_back();
        for (size_t i = 0; i < n; ++i) {
            if (c == types.size()) {
                put<int64_t>(data.values[c], static_cast<int64_t>(i));
                continue;
            }
            put_value(data.values[c], types[c], random, range);
            if (null_percent > 0)
                data.nulls[c].push_back(static_cast<int>(random() % 100) < null_percent);
        }
    }
    return data;
}

// In blocks of different sizes.
RowTable table_of(const Data &data, size_t block_rows) {
    RowTable table;
    for (size_t first = 0; first < data.n; first += block_rows, block_rows += 7) {
        RowBlock block;
        block.nrows = std::min(block_rows, data.n - first);
        for (size_t c = 0; c < data.types.size(); ++c)
            block.columns.push_back({data.values[c].data() + first * type_width(data.types[c]),
                                     data.nulls[c].empty() ? nullptr : data.nulls[c].data() + first});
        table.add(std::move(block));
    }
    return table;
}

template <class T> int compare(T a, T b) {
    if (a != a || b != b) // NaN is above all
        return (a != a) - (b != b);
    return a < b ? -1 : b < a ? 1 : 0;
}

int compare_values(const Data &data, size_t c, size_t x, size_t y) {
    const uint8_t *values = data.values[c].data();
    switch (data.types[c]) {
    case Type::Bool:
        return compare(get<uint8_t>(values, x), get<uint8_t>(values, y));
    case Type::I16:
        return compare(get<int16_t>(values, x), get<int16_t>(values, y));
    case Type::I32:
        return compare(get<int32_t>(values, x), get<int32_t>(values, y));
    case Type::I64:
        return compare(get<int64_t>(values, x), get<int64_t>(values, y));
    case Type::I128:
        return compare(get<int128>(values, x), get<int128>(values, y));
    case Type::F32:
        return compare(get<float>(values, x), get<float>(values, y));
    default:
        return compare(get<double>(values, x), get<double>(values, y));
    }
}

int compare_rows(const Data &data, const std::vector<SortColumn> &order, size_t x, size_t y) {
    for (const SortColumn &key : order) {
        const std::vector<uint8_t> &nulls = data.nulls[key.column];
        const bool a = !nulls.empty() && nulls[x], b = !nulls.empty() && nulls[y];
        if (a || b) {
            if (a != b)
                return a == key.nulls_first ? -1 : 1;
            continue;
        }
        if (const int c = compare_values(data, key.column, x, y))
            return key.descending ? -c : c;
    }
    return 0;
}

void check(const Data &data, const std::vector<SortColumn> &order, size_t block_rows) {
    auto memory = std::make_shared<WorkMemory>();
    {
        RowTable sorted = sort_rows(table_of(data, block_rows), order, data.types, memory, nullptr);
        ASSERT_EQ(sorted.nrows, data.n);
        std::vector<bool> seen(data.n);
        size_t before = data.n, rows = 0;
        for (const RowBlock &block : sorted.blocks)
            for (size_t i = 0; i < block.nrows; ++i, ++rows) {
                const size_t row = static_cast<size_t>(get<int64_t>(block.columns.back().values, i));
                ASSERT_FALSE(seen[row]);
                seen[row] = true;
                if (before != data.n) {
                    ASSERT_LE(compare_rows(data, order, before, row), 0) << "row " << rows;
                }
                before = row;
                for (size_t c = 0; c + 1 < data.types.size(); ++c) {
                    const size_t width = type_width(data.types[c]);
                    ASSERT_EQ(memcmp(block.columns[c].values + i * width, data.values[c].data() + row * width, width),
                              0);
                    ASSERT_EQ(block.columns[c].nulls ? block.columns[c].nulls[i] : 0,
                              data.nulls[c].empty() ? 0 : data.nulls[c][row]);
                }
            }
        ASSERT_EQ(rows, data.n);
    }
    EXPECT_EQ(memory->used(), 0u);
}

constexpr Type all_types[] = {Type::Bool, Type::I16, Type::I32, Type::I64, Type::I128, Type::F32, Type::F64};

TEST(RowSort, EveryTypeAndDirection) {
    for (const Type type : all_types)
        for (int flags = 0; flags < 4; ++flags)
            for (const int nulls : {0, 20, 100})
                check(make({type}, 1500, 7, 300, nulls), {{0, type, (flags & 1) != 0, (flags & 2) != 0}}, 100);
}

TEST(RowSort, SeveralKeysWithinAndBeyondTheNumbers) {
    for (uint64_t seed = 1; seed < 60; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<Type> types;
        std::vector<SortColumn> order;
        for (size_t k = 1 + random() % 4; k > 0; --k)
            types.push_back(all_types[random() % 7]);
        for (size_t c = 0; c < types.size(); ++c)
            order.push_back({c, types[c], random() % 2 == 0, random() % 2 == 0});
        std::shuffle(order.begin(), order.end(), random);
        check(make(types, 700, seed, seed % 2 == 0 ? 5 : 100, seed % 3 == 0 ? 0 : 15), order, 1 + random() % 400);
    }
}

TEST(RowSort, ManyRowsInThreads) {
    for (const uint64_t range : {2ull, 1000ull, 1ull << 40})
        check(make({Type::I64, Type::I32}, 200000, range, range, 5),
              {{0, Type::I64, false, false}, {1, Type::I32, true, true}}, 5000);
}

TEST(RowSort, FewRowsAndNone) {
    check(make({Type::I32}, 0, 1, 10, 0), {{0, Type::I32, false, false}}, 10);
    check(make({Type::I32}, 1, 1, 10, 50), {{0, Type::I32, false, false}}, 10);
    check(make({Type::I32}, 2, 1, 10, 50), {{0, Type::I32, false, false}}, 1);
}

TEST(RowSort, LeavesOutTheLastColumnsAndTellsWhenMemoryIsShort) {
    const Data data = make({Type::I32, Type::I64}, 1000, 3, 100, 10);
    auto memory = std::make_shared<WorkMemory>();
    RowTable sorted = sort_rows(table_of(data, 90), {{1, Type::I64, false, false}}, {Type::I32}, memory, nullptr);
    EXPECT_EQ(sorted.blocks[0].columns.size(), 1u);
    memory->set_limit(memory->used() + 100);
    EXPECT_THROW(sort_rows(table_of(data, 90), {{1, Type::I64, false, false}}, {Type::I32}, memory, nullptr),
                 OutOfWorkMemory);
    memory->set_limit(SIZE_MAX);
    const std::atomic<uint32_t> cancel{1};
    EXPECT_THROW(sort_rows(table_of(data, 90), {{1, Type::I64, false, false}}, {Type::I32}, memory, &cancel),
                 Cancelled);
}

} // namespace
} // namespace gpuscan
