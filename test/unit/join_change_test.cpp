// A join table made of another one, without some of its rows and with others (host/join_change.cpp): is it the table of what there is then?
// For every form of table and type of key, with duplicates, NULLs and rows that are equal in all.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "host/join_table.hpp"

namespace gpuscan::host {
namespace {

struct Shape {
    const char *name;
    std::vector<Type> keys, payload;
    uint64_t values; // of each key
    int64_t factor;  // between them
    size_t rows;
    bool wide_payload; // beyond 32 bits
    const char *form;  // as JoinTable::describe() begins
};

// A row: its keys' and payload's bytes, NULLs of the payload included.
using Row = std::string;

class JoinChangeTest : public ::testing::TestWithParam<Shape> {
  protected:
    JoinChangeTest() : pool_(3), work_{pool_, nullptr, std::make_shared<WorkMemory>()} {}

    BuildRows empty() const {
        BuildRows rows;
        for (Type type : GetParam().keys)
            rows.keys.emplace_back(type, work_.memory);
        for (Type type : GetParam().payload)
            rows.payload.emplace_back(type, work_.memory);
        return rows;
    }

    static void put(Type type, int64_t value, WorkArray<uint8_t> &to) {
        const auto add = [&](auto v) { to.append(reinterpret_cast<const uint8_t *>(&v), sizeof v); };
        switch (type) {
        case Type::Bool:
            return add(static_cast<uint8_t>(value & 1));
        case Type::I16:
            return add(static_cast<int16_t>(value));
        case Type::I32:
            return add(static_cast<int32_t>(value));
        case Type::I64:
            return add(value);
        case Type::I128:
            return add(int128(value) << (value % 3 == 0 ? 70 : 0));
        case Type::F32:
            return add(static_cast<float>(value) / 4);
        case Type::F64:
            return add(static_cast<double>(value) / 4);
        case Type::Code:
            return add(static_cast<uint32_t>(value < 0 ? -value : value));
        }
    }

    void add_row(BuildRows &rows) {
        const Shape &s = GetParam();
        for (BuildRows::Column &key : rows.keys)
            put(key.type, (static_cast<int64_t>(random_() % s.values) - static_cast<int64_t>(s.values / 2)) * s.factor,
                key.values);
        for (BuildRows::Column &column : rows.payload) {
            put(column.type, static_cast<int64_t>(random_() % 5) * (s.wide_payload ? int64_t(1) << 40 : 1),
                column.values);
            if (column.nulls.empty() && rows.n > 0)
                column.nulls.resize(rows.n, 0);
            column.nulls.push_back(random_() % 7 == 0);
        }
        ++rows.n;
    }

    static void copy_row(const BuildRows &from, size_t row, BuildRows &to) {
        const auto copy = [&](const std::vector<BuildRows::Column> &f, std::vector<BuildRows::Column> &t) {
            for (size_t c = 0; c < f.size(); ++c) {
                const size_t width = type_width(f[c].type);
                t[c].values.append(f[c].values.data() + row * width, width);
                if (!f[c].nulls.empty())
                    t[c].nulls.push_back(f[c].nulls[row]);
            }
        };
        copy(from.keys, to.keys);
        copy(from.payload, to.payload);
        ++to.n;
    }

    static std::multimap<Row, int> contents(const BuildRows &rows) {
        std::multimap<Row, int> all;
        for (size_t row = 0; row < rows.n; ++row) {
            Row text;
            for (const auto *columns : {&rows.keys, &rows.payload})
                for (const BuildRows::Column &column : *columns) {
                    const size_t width = type_width(column.type);
                    const bool null = !column.nulls.empty() && column.nulls[row] != 0;
                    text += null ? 'N' : 'V';
                    if (!null)
                        text.append(reinterpret_cast<const char *>(column.values.data()) + row * width, width);
                }
            all.emplace(text, 0);
        }
        return all;
    }

    JoinTable built(const std::vector<const BuildRows *> &of) {
        std::vector<BuildRows> parts;
        for (const BuildRows *rows : of) {
            parts.push_back(empty());
            for (size_t row = 0; row < rows->n; ++row)
                copy_row(*rows, row, parts.back());
        }
        JoinTable table;
        table.build(work_, parts, JoinTable::Use::Partners);
        return table;
    }

    std::mt19937 random_{7};
    ThreadPool pool_;
    WorkContext work_;
};

TEST_P(JoinChangeTest, IsTheTableOfWhatThereIsThen) {
    const Shape &shape = GetParam();
    BuildRows rows = empty();
    for (size_t i = 0; i < shape.rows; ++i)
        add_row(rows);
    const JoinTable before = built({&rows});
    EXPECT_EQ(before.describe().substr(0, strlen(shape.form)), shape.form) << before.describe();
    BuildRows same = empty();
    ASSERT_TRUE(before.read(work_, {}, same));
    EXPECT_EQ(contents(same), contents(rows));

    for (const size_t every : {size_t(1), size_t(3), size_t(500)}) {
        std::vector<BuildRows> gone;
        BuildRows left = empty(), come = empty(), read = empty();
        gone.push_back(empty());
        gone.push_back(empty());
        for (size_t i = 0; i < rows.n; ++i)
            copy_row(rows, i, i % every == 0 ? gone[i % 2] : left);
        for (int i = 0; i < 40; ++i)
            add_row(come);
        ASSERT_TRUE(before.read(work_, gone, read));
        EXPECT_EQ(contents(read), contents(left));
        const JoinTable after = built({&read, &come});
        BuildRows again = empty();
        ASSERT_TRUE(after.read(work_, {}, again));
        std::multimap<Row, int> expected = contents(left);
        expected.merge(contents(come));
        EXPECT_EQ(contents(again), expected);
    }
    // Rows that it has not: by key, or by payload, or once too often.
    std::vector<BuildRows> others;
    others.push_back(empty());
    for (size_t i = 0; i < rows.n; ++i)
        copy_row(rows, i, others[0]);
    if (rows.n > 0)
        copy_row(rows, 0, others[0]);
    else
        add_row(others[0]);
    BuildRows read = empty();
    EXPECT_FALSE(before.read(work_, others, read));
    EXPECT_EQ(read.n, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, JoinChangeTest,
    ::testing::Values(Shape{"Empty", {Type::I32}, {Type::I32}, 8, 1, 0, false, "empty"},
                      Shape{"Bitmap", {Type::I32}, {Type::I32, Type::F64}, 1u << 30, 0, 1, true, "dense"},
                      Shape{"Dense", {Type::I32}, {Type::I16, Type::I64, Type::Code}, 700, 3, 3000, true, "dense"},
                      Shape{"DenseOfTwo", {Type::Code, Type::I16}, {Type::Bool}, 40, 1, 5000, false, "dense"},
                      Shape{"Hash", {Type::I64}, {Type::F32, Type::I128}, 900, 1000000007, 3000, false, "hash"},
                      Shape{"HashUnique", {Type::I64}, {Type::I32}, 1u << 31, 1 << 20, 200, false, "hash"},
                      Shape{"HashOfTwo", {Type::I32, Type::I64}, {}, 300, 1000003, 3000, false, "hash"},
                      Shape{"Wide", {Type::I128}, {Type::I32, Type::F64}, 900, 1, 3000, false, "hash"},
                      Shape{
                          "WideOfThree", {Type::I128, Type::Code, Type::I16}, {Type::I64}, 20, 1, 3000, true, "hash"}),
    [](const auto &shape) { return std::string(shape.param.name); });

// Where all rows of a key would look at each other the table is not changed, and no two are found to be equal.
TEST(ManyRowsOfAKeyTest, AreBuilt) {
    ThreadPool pool(3);
    const WorkContext work{pool, nullptr, std::make_shared<WorkMemory>()};
    const auto rows_of = [&](int32_t first, int32_t end) {
        BuildRows rows;
        rows.keys.emplace_back(Type::I32, work.memory);
        rows.payload.emplace_back(Type::I32, work.memory);
        for (int32_t i = first; i < end; ++i, ++rows.n) {
            const int32_t key = 7;
            rows.keys[0].values.append(reinterpret_cast<const uint8_t *>(&key), sizeof key);
            rows.payload[0].values.append(reinterpret_cast<const uint8_t *>(&i), sizeof i);
        }
        return rows;
    };
    const auto parts_of = [&](int32_t first, int32_t end) {
        std::vector<BuildRows> parts;
        parts.push_back(rows_of(first, end));
        return parts;
    };
    const auto build = [&](JoinTable &built, int32_t rows) {
        std::vector<BuildRows> parts = parts_of(0, rows);
        built.build(work, parts, JoinTable::Use::Partners);
    };
    JoinTable table, some, same;
    build(table, 120000);
    build(some, 60000);
    build(same, 60000);
    BuildRows left = rows_of(0, 0);
    EXPECT_FALSE(table.read(work, parts_of(100000, 120000), left));
    EXPECT_FALSE(some.has_same_rows(work, same));
    EXPECT_TRUE(table.read(work, parts_of(119999, 120000), left));
    EXPECT_EQ(left.n, 119999u);
}

} // namespace
} // namespace gpuscan::host
