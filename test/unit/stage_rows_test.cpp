// Groups and rows as rows of the next program: every field, NULLs, bounds, and what has no value there.
#include "case_builder.hpp"
#include "engine/result/stage_rows.hpp"
#include "reference_check.hpp"

namespace gpuscan {
namespace {

using namespace reference;

// select k, f, b, count(*), sum(k), min(f), sum(f) group by k, f, b
Program grouped() {
    Builder b;
    Index s = b.source({Type::I64, Type::F64, Type::Bool});
    Index k = b.column(Type::I64, 0, 0), f = b.column(Type::F64, 0, 1);
    Pipeline main;
    main.source = s;
    main.keys = b.list({k, f, b.column(Type::Bool, 0, 2)});
    main.aggregates = b.aggregates({aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Sum, k),
                                    aggregate(AggregateKind::Min, f), aggregate(AggregateKind::Sum, f)});
    b.p.pipelines = {main};
    return b.p;
}

uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void add_group(GroupTable &t, int64_t key, bool null, int64_t count, int128 sum, double least, double total) {
    ++t.ngroups;
    t.keys.push_back({static_cast<uint64_t>(key), key < 0 ? -1 : 0});
    t.keys.push_back({bits_of(least), 0});
    t.keys.push_back({static_cast<uint64_t>(key & 1), 0});
    for (int k = 0; k < 3; ++k)
        t.key_nulls.push_back(null);
    t.states.push_back({count, 0, 0});
    t.states.push_back({count, static_cast<uint64_t>(sum), static_cast<int64_t>(sum >> 64)});
    t.states.push_back({count, bits_of(least), 0});
    t.states.push_back({count, bits_of(total), 0});
}

ir::StageColumn column(ir::GroupField field, Type type, Index index, uint8_t digits = 0, uint8_t refused = 0) {
    return {field, type, digits, refused, index};
}

StageRows make_rows(const std::vector<ir::StageColumn> &columns) {
    return {grouped(), columns, std::vector<std::shared_ptr<Dictionary>>(columns.size()), nullptr};
}

template <class T> std::vector<T> values(const StageRows &rows, size_t c) {
    std::vector<T> all(rows.nrows());
    memcpy(all.data(), rows.columns()[c].values.data(), all.size() * sizeof(T));
    return all;
}

std::vector<uint8_t> nulls(const StageRows &rows, size_t c) {
    const WorkArray<uint8_t> &flags = rows.columns()[c].nulls;
    return {flags.begin(), flags.end()};
}

using ir::GroupField;

TEST(StageRows, EveryField) {
    StageRows rows = make_rows({column(GroupField::Key, Type::I64, 0), column(GroupField::Key, Type::I16, 0),
                                column(GroupField::Key, Type::F64, 1), column(GroupField::Key, Type::Bool, 2),
                                column(GroupField::Count, Type::I64, 0), column(GroupField::Value, Type::I128, 1),
                                column(GroupField::Value, Type::I32, 1), column(GroupField::Value, Type::F64, 2),
                                column(GroupField::Average, Type::F64, 3)});
    GroupTable a, b;
    add_group(a, -3, false, 2, -70, -0.5, 5);
    add_group(a, 8, true, 0, 1, 1, 1);
    add_group(b, 7, false, 4, 1000, 2.5, -1);
    rows.add(a, nullptr);
    rows.add(b, nullptr);
    rows.add(GroupTable(), nullptr);
    ASSERT_EQ(rows.nrows(), 3u);
    EXPECT_EQ(rows.row_bytes(), 8u + 2 + 8 + 1 + 8 + 16 + 4 + 8 + 8 + 9);
    EXPECT_EQ(values<int64_t>(rows, 0), (std::vector<int64_t>{-3, 0, 7}));
    EXPECT_EQ(values<int16_t>(rows, 1), (std::vector<int16_t>{-3, 0, 7}));
    EXPECT_EQ(values<double>(rows, 2), (std::vector<double>{-0.5, 0, 2.5}));
    EXPECT_EQ(values<uint8_t>(rows, 3), (std::vector<uint8_t>{1, 0, 1}));
    EXPECT_EQ(values<int64_t>(rows, 4), (std::vector<int64_t>{2, 0, 4}));
    EXPECT_TRUE(values<int128>(rows, 5) == (std::vector<int128>{-70, 0, 1000}));
    EXPECT_EQ(values<int32_t>(rows, 6), (std::vector<int32_t>{-70, 0, 1000}));
    EXPECT_EQ(values<double>(rows, 7), (std::vector<double>{-0.5, 0, 2.5}));
    EXPECT_EQ(values<double>(rows, 8), (std::vector<double>{2.5, 0, -0.25}));
    for (size_t c = 0; c < 9; ++c)
        EXPECT_EQ(nulls(rows, c), (std::vector<uint8_t>{0, c != 4, 0}));
    EXPECT_EQ(rows.columns()[0].stats.min, -3);
    EXPECT_EQ(rows.columns()[0].stats.max, 7);
    EXPECT_EQ(rows.columns()[4].stats.min, 0);
    EXPECT_FALSE(rows.columns()[4].stats.any_null);
    EXPECT_TRUE(rows.columns()[5].stats.any_null);
}

TEST(StageRows, ValuesThatTheColumnCannotHave) {
    GroupTable large, ten, infinite, zero;
    add_group(large, 1, false, 1, int128(1) << 64, 1, 1);
    add_group(ten, 1, false, 1, -10, 1, 1);
    add_group(infinite, 1, false, 1, 1, 1, INFINITY);
    add_group(zero, 1, false, 1, 1, -0.0, 0);
    const auto takes = [](const ir::StageColumn &c, const GroupTable &groups) {
        StageRows rows = make_rows({c});
        try {
            rows.add(groups, nullptr);
            return true;
        } catch (const DeviceError &) {
            return false;
        }
    };
    EXPECT_FALSE(takes(column(GroupField::Value, Type::I64, 1), large));
    EXPECT_TRUE(takes(column(GroupField::Value, Type::I128, 1), large));
    EXPECT_FALSE(takes(column(GroupField::Value, Type::I128, 1, 19), large));
    EXPECT_TRUE(takes(column(GroupField::Value, Type::I128, 1, 20), large));
    EXPECT_FALSE(takes(column(GroupField::Value, Type::I64, 1, 1), ten));
    EXPECT_TRUE(takes(column(GroupField::Value, Type::I64, 1, 2), ten));
    EXPECT_FALSE(takes(column(GroupField::Value, Type::F64, 3, 0, ir::refuse_infinite), infinite));
    EXPECT_FALSE(takes(column(GroupField::Average, Type::F64, 3, 0, ir::refuse_infinite), infinite));
    EXPECT_TRUE(takes(column(GroupField::Value, Type::F64, 3), infinite));
    EXPECT_FALSE(takes(column(GroupField::Value, Type::F64, 2, 0, ir::refuse_zero), zero));
    EXPECT_TRUE(takes(column(GroupField::Value, Type::F64, 3, 0, ir::refuse_infinite), zero));
}

TEST(StageRows, FieldsThatGroupsDoNotHave) {
    for (const ir::StageColumn &wrong :
         {column(GroupField::Key, Type::I64, 3), column(GroupField::Key, Type::F64, 0),
          column(GroupField::Key, Type::Code, 0), column(GroupField::Value, Type::I64, 4),
          column(GroupField::Value, Type::F64, 1), column(GroupField::Value, Type::I64, 2),
          column(GroupField::Count, Type::Bool, 0), column(GroupField::Average, Type::F64, 1),
          column(GroupField::Value, Type::I128, 1, 39), column(static_cast<GroupField>(5), Type::I64, 0),
          column(GroupField::Cell, Type::I64, 0)})
        EXPECT_THROW(make_rows({wrong}), DeviceError);
}

// select a (I32), b (I128), f (F64), c (Bool)
Program delivered() {
    Builder b;
    const Index s = b.source({Type::I32, Type::I128, Type::F64, Type::Bool});
    Pipeline main;
    main.source = s;
    main.sink = SinkKind::Rows;
    main.payload = b.list(
        {b.column(Type::I32, 0, 0), b.column(Type::I128, 0, 1), b.column(Type::F64, 0, 2), b.column(Type::Bool, 0, 3)});
    b.p.pipelines = {main};
    return b.p;
}

struct Cells {
    std::vector<int32_t> a;
    std::vector<int128> b;
    std::vector<double> f;
    std::vector<uint8_t> c, nulls_of_b;
};

// (The cells outlive the block.)
RowBlock block_of(const Cells &cells) {
    const auto bytes = [](const auto &values) { return reinterpret_cast<const uint8_t *>(values.data()); };
    RowBlock block;
    block.nrows = cells.a.size();
    block.columns = {{bytes(cells.a), nullptr},
                     {bytes(cells.b), cells.nulls_of_b.data()},
                     {bytes(cells.f), nullptr},
                     {bytes(cells.c), nullptr}};
    return block;
}

TEST(StageRows, CellsOfRows) {
    const Cells first{{1, -2, 3}, {7, int128(1) << 70, -9}, {0.5, -INFINITY, NAN}, {1, 0, 1}, {0, 0, 1}},
        second{{40}, {5}, {-0.0}, {0}, {0}};
    RowTable table;
    table.add(block_of(first));
    table.add(block_of(second));
    StageRows rows(delivered(),
                   {column(GroupField::Cell, Type::I64, 0), column(GroupField::Cell, Type::I128, 1),
                    column(GroupField::Cell, Type::F64, 2), column(GroupField::Cell, Type::Bool, 3)},
                   std::vector<std::shared_ptr<Dictionary>>(4), nullptr);
    rows.add(table, nullptr);
    rows.add(table, nullptr);
    rows.add(RowTable(), nullptr);
    ASSERT_EQ(rows.nrows(), 8u);
    EXPECT_EQ(values<int64_t>(rows, 0), (std::vector<int64_t>{1, -2, 3, 40, 1, -2, 3, 40}));
    EXPECT_TRUE(values<int128>(rows, 1) == (std::vector<int128>{7, int128(1) << 70, 0, 5, 7, int128(1) << 70, 0, 5}));
    EXPECT_EQ(nulls(rows, 1), (std::vector<uint8_t>{0, 0, 1, 0, 0, 0, 1, 0}));
    EXPECT_EQ(values<uint8_t>(rows, 3), (std::vector<uint8_t>{1, 0, 1, 0, 1, 0, 1, 0}));
    const std::vector<double> floats = values<double>(rows, 2);
    EXPECT_EQ(floats[1], -INFINITY);
    EXPECT_TRUE(std::isnan(floats[2]) && std::signbit(floats[3]));
    EXPECT_EQ(rows.columns()[0].stats.min, -2);
    EXPECT_EQ(rows.columns()[0].stats.max, 40);
    EXPECT_FALSE(rows.columns()[0].stats.any_null);
    EXPECT_TRUE(rows.columns()[1].stats.any_null && rows.columns()[1].stats.any_wide);
    EXPECT_EQ(rows.columns()[1].stats.max, 7);
}

TEST(StageRows, CellsThatTheColumnCannotHave) {
    const Cells cells{{40000}, {int128(1) << 64}, {1}, {1}, {0}};
    RowTable table;
    table.add(block_of(cells));
    const auto takes = [&](const ir::StageColumn &c) {
        StageRows rows(delivered(), {c}, {nullptr}, nullptr);
        try {
            rows.add(table, nullptr);
            return true;
        } catch (const DeviceError &) {
            return false;
        }
    };
    EXPECT_FALSE(takes(column(GroupField::Cell, Type::I16, 0)));
    EXPECT_TRUE(takes(column(GroupField::Cell, Type::I32, 0)));
    EXPECT_FALSE(takes(column(GroupField::Cell, Type::I32, 0, 4)));
    EXPECT_TRUE(takes(column(GroupField::Cell, Type::I64, 0, 5)));
    EXPECT_FALSE(takes(column(GroupField::Cell, Type::I64, 1)));
    EXPECT_FALSE(takes(column(GroupField::Cell, Type::I128, 1, 19)));
    for (const ir::StageColumn &wrong :
         {column(GroupField::Cell, Type::I32, 4), column(GroupField::Cell, Type::F64, 0),
          column(GroupField::Cell, Type::Code, 0), column(GroupField::Cell, Type::I32, 2),
          column(GroupField::Key, Type::I32, 0), column(GroupField::Count, Type::I64, 0)})
        EXPECT_THROW(StageRows(delivered(), {wrong}, {nullptr}, nullptr), DeviceError);
    std::atomic<uint32_t> cancel{1};
    StageRows rows(delivered(), {column(GroupField::Cell, Type::I32, 0)}, {nullptr}, nullptr);
    EXPECT_THROW(rows.add(table, &cancel), Cancelled);
}

TEST(StageRows, CountInWorkMemory) {
    const auto memory = std::make_shared<WorkMemory>();
    GroupTable groups;
    for (int i = 0; i < 1000; ++i)
        add_group(groups, i, false, 1, i, 1, 1);
    {
        StageRows rows(grouped(), {column(GroupField::Key, Type::I64, 0)}, {nullptr}, memory);
        rows.add(groups, nullptr);
        EXPECT_GE(memory->used(), 9000u);
        std::atomic<uint32_t> cancel{1};
        EXPECT_THROW(rows.add(groups, &cancel), Cancelled);
        memory->set_limit(10000);
        EXPECT_THROW(rows.add(groups, nullptr), OutOfWorkMemory);
    }
    EXPECT_EQ(memory->used(), 0u);
}

} // namespace
} // namespace gpuscan
