// The first rows of an order: types, NULLs at either end, ties, limits around the sizes at which a choice is made, rows that come
// in parts, and what the bound refuses; against std::stable_sort by RowOrder, which row_sort_test.cpp compares with the definition.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "engine/result/first_rows.hpp"

namespace gpuscan {
namespace {

struct Columns {
    std::vector<std::vector<uint8_t>> values, nulls;
};

template <class T> void put(std::vector<uint8_t> &to, T value) {
    to.resize(to.size() + sizeof value);
    memcpy(to.data() + to.size() - sizeof value, &value, sizeof value);
}

void put_value(std::vector<uint8_t> &to, Type type, uint64_t number) {
    const int64_t value = static_cast<int64_t>(number) - 50;
    switch (type) {
    case Type::Bool:
        return put<uint8_t>(to, number % 2);
    case Type::I16:
        return put(to, static_cast<int16_t>(value));
    case Type::I32:
        return put(to, static_cast<int32_t>(value));
    case Type::I64:
        return put(to, value * 1000000007);
    case Type::I128:
        return put(to, static_cast<int128>(value) << (number % 2 ? 0 : 70));
    case Type::F32:
        return put(to, number == 7 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value) / 4);
    case Type::F64:
        return put(to, number == 7 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value) / 4);
    case Type::Code:
        break;
    }
}

// Rows of the given types and, as the last column, their numbers.
RowBlock make_block(const std::vector<Type> &types, size_t n, uint64_t range, uint32_t &number,
                    std::mt19937_64 &random) {
    auto columns = std::make_shared<Columns>();
    RowBlock block;
    block.nrows = n;
    for (size_t c = 0; c <= types.size(); ++c) {
        std::vector<uint8_t> values, nulls;
        const bool nullable = c < types.size() && random() % 2;
        for (size_t i = 0; i < n; ++i) {
            if (c == types.size())
                put(values, number++);
            else
                put_value(values, types[c], random() % range);
            if (nullable)
                nulls.push_back(random() % 5 == 0);
        }
        columns->values.push_back(std::move(values));
        columns->nulls.push_back(std::move(nulls));
    }
    for (size_t c = 0; c <= types.size(); ++c)
        block.columns.push_back(
            {columns->values[c].data(), columns->nulls[c].empty() ? nullptr : columns->nulls[c].data()});
    block.memory = columns;
    return block;
}

uint32_t number_of(const RowBlock &block, size_t row) {
    uint32_t number;
    memcpy(&number, block.columns.back().values + row * sizeof number, sizeof number);
    return number;
}

struct Place {
    const RowBlock *block;
    size_t row;
};

// All rows of the blocks come in parts, each of which drops what the bound refuses, as devices do.
void check(const std::vector<Type> &types, size_t n, uint64_t top, bool ties, uint64_t range, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<SortColumn> keys;
    std::vector<Type> all = types;
    all.push_back(Type::I32);
    for (size_t c = 0; c < types.size(); ++c)
        keys.push_back({c, types[c], random() % 2 == 0, random() % 2 == 0});
    FirstRows first(keys, all, top, ties);
    const RowOrder &order = first.order();
    std::vector<RowBlock> blocks;
    uint32_t number = 0;
    RowTable kept;
    while (number < n) {
        const size_t size = std::min<size_t>(n - number, 1 + random() % 20000);
        blocks.push_back(make_block(types, size, range, number, random));
        const RowBlock &block = blocks.back();
        std::vector<uint64_t> numbers(size);
        order.prefixes(block, 0, size, numbers.data());
        RowTable part;
        part.blocks = {block};
        std::vector<RowEntry> taken;
        for (uint32_t i = 0; i < size; ++i)
            if (!first.refuses(numbers[i]))
                taken.push_back({numbers[i], 0, i});
        kept.add(gather_rows(part, taken.data(), taken.size(), all, nullptr, nullptr));
        if (kept.nrows >= first.worth(0) && random() % 2)
            first.keep(kept, random() % 2 == 0, nullptr, nullptr);
    }
    first.keep(kept, true, nullptr, nullptr);

    std::vector<Place> rows;
    for (const RowBlock &block : blocks)
        for (size_t i = 0; i < block.nrows; ++i)
            rows.push_back({&block, i});
    auto before = [&](const Place &x, const Place &y) { return order.before(*x.block, x.row, *y.block, y.row); };
    std::stable_sort(rows.begin(), rows.end(), before);
    size_t wanted = std::min<size_t>(n, top), most = wanted;
    while (wanted > 0 && most < n && !before(rows[wanted - 1], rows[most]))
        ++most;
    ASSERT_EQ(kept.nrows, ties ? most : wanted) << "top " << top << " of " << n << ", seed " << seed;
    std::vector<bool> is_kept(n);
    for (const RowBlock &block : kept.blocks)
        for (size_t i = 0; i < block.nrows; ++i) {
            ASSERT_FALSE(is_kept[number_of(block, i)]);
            is_kept[number_of(block, i)] = true;
            const RowBlock &from = *std::find_if(blocks.begin(), blocks.end(), [&](const RowBlock &b) {
                return number_of(b, 0) <= number_of(block, i) && number_of(block, i) <= number_of(b, b.nrows - 1);
            });
            const size_t row = number_of(block, i) - number_of(from, 0);
            ASSERT_FALSE(order.before(block, i, from, row) || order.before(from, row, block, i));
        }
    for (size_t i = 0; i < n; ++i) {
        const bool must = i < wanted && (i + 1 == n || most == wanted || before(rows[i], rows[wanted - 1]));
        const bool is = is_kept[number_of(*rows[i].block, rows[i].row)];
        ASSERT_TRUE(is || !must) << "row " << i << ", top " << top << ", seed " << seed;
        ASSERT_TRUE(!is || i < most) << "row " << i << ", top " << top << ", seed " << seed;
    }
}

constexpr Type every_type[] = {Type::Bool, Type::I16, Type::I32, Type::I64, Type::I128, Type::F32, Type::F64};

TEST(FirstRows, EveryType) {
    uint64_t seed = 1;
    for (Type type : every_type)
        for (bool ties : {false, true})
            for (uint64_t range : {3, 100})
                check({type}, 40000, 25, ties, range, seed++);
}

TEST(FirstRows, SeveralKeys) {
    std::mt19937_64 random(5);
    for (uint64_t seed = 100; seed < 130; ++seed) {
        std::vector<Type> types;
        for (size_t i = 0; i < 1 + random() % 4; ++i)
            types.push_back(every_type[random() % 7]);
        check(types, 30000, random() % 300, random() % 2, 2 + random() % 90, seed);
    }
}

TEST(FirstRows, Limits) {
    for (uint64_t top : {0, 1, 2, 8191, 8192, 8193, 16383, 16384, 16385, 29999, 30000, 30001})
        for (bool ties : {false, true})
            check({Type::I32, Type::I64}, 30000, top, ties, 100, top + 7);
    check({Type::I64}, 200000, 5, false, 100, 9); // by several threads
    check({Type::I64}, 200000, 90000, true, 50, 10);
    check({Type::I64}, 1000, UINT64_MAX - 1, false, 50, 11);
}

// 64 bits of keys and one for NULL do not fit a number: those with equal ones are compared by their keys.
TEST(FirstRows, NumbersOfEveryColumn) {
    std::mt19937_64 random(3);
    for (Type type : every_type) {
        uint32_t number = 0;
        const RowBlock block = make_block({type, Type::I16}, 3000, 100, number, random);
        for (bool nulls_first : {false, true}) {
            const RowOrder order({{0, type, nulls_first, nulls_first}, {1, Type::I16, false, nulls_first}},
                                 {true, true});
            std::vector<uint64_t> numbers(3000), again(1000);
            order.prefixes(block, 0, 3000, numbers.data());
            order.prefixes(block, 1500, 1000, again.data());
            EXPECT_TRUE(std::equal(again.begin(), again.end(), numbers.begin() + 1500));
            for (size_t i = 1; i < 3000; ++i) {
                if (numbers[i - 1] < numbers[i]) {
                    ASSERT_TRUE(order.before(block, i - 1, block, i));
                }
                if (order.whole() && numbers[i - 1] == numbers[i]) {
                    ASSERT_FALSE(order.before(block, i - 1, block, i) || order.before(block, i, block, i - 1));
                }
            }
        }
    }
}

} // namespace
} // namespace gpuscan
