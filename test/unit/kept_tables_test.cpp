// Join tables that outlive their execution: found again by equal bytes over living columns only, the oldest leave first.
#include <gtest/gtest.h>

#include "engine/build_identity.hpp"
#include "engine/kept_tables.hpp"
#include "program_builder.hpp"

namespace gpuscan {
namespace {

using namespace test;

struct Table : BuiltTable {
    ColumnStats key_bounds(ir::Index) const override { return {}; }
    explicit Table(size_t size) : size(size) {}
    size_t bytes() const override { return size; }
    size_t size;
};

BuildIdentity identity(const std::string &bytes, const std::vector<BufferRef> &read) {
    return {bytes, {read.begin(), read.end()}};
}

TEST(KeptTablesTest, FoundByEqualBytes) {
    KeptTables tables;
    const BufferRef column = std::make_shared<Buffer>();
    const BuiltTableRef table = std::make_shared<Table>(10);
    const uint64_t id = tables.keep(identity("a", {column}), table);
    EXPECT_NE(id, 0u);
    EXPECT_EQ(tables.find(identity("a", {column})).table, table);
    EXPECT_EQ(tables.find(identity("a", {column})).id, id);
    EXPECT_EQ(tables.find(identity("ab", {column})).table, nullptr);
    EXPECT_EQ(tables.keep(identity("a", {column}), std::make_shared<Table>(20)), id) << "the first one stays";
    EXPECT_EQ(tables.bytes(), 10u);
}

TEST(KeptTablesTest, DeadWithAnyOfItsColumns) {
    KeptTables tables;
    BufferRef first = std::make_shared<Buffer>(), second = std::make_shared<Buffer>();
    tables.keep(identity("a", {first, second}), std::make_shared<Table>(10));
    const uint64_t other = tables.keep(identity("b", {first}), std::make_shared<Table>(10));
    second.reset();
    EXPECT_EQ(tables.find(identity("a", {first})).table, nullptr);
    EXPECT_EQ(tables.bytes(), 10u);
    EXPECT_EQ(tables.find(identity("b", {first})).id, other);
    first.reset();
    tables.drop_dead();
    EXPECT_EQ(tables.bytes(), 0u);
    first = std::make_shared<Buffer>();
    EXPECT_NE(tables.keep(identity("b", {first}), std::make_shared<Table>(10)), other) << "ids are not given twice";
}

TEST(KeptTablesTest, TheLeastRecentlyUsedGoFirst) {
    KeptTables tables;
    tables.set_limit(30);
    for (const char *name : {"a", "b", "c"})
        tables.keep(identity(name, {}), std::make_shared<Table>(10));
    EXPECT_NE(tables.find(identity("a", {})).table, nullptr);
    tables.keep(identity("d", {}), std::make_shared<Table>(10));
    EXPECT_EQ(tables.find(identity("b", {})).table, nullptr);
    EXPECT_EQ(tables.keep(identity("e", {}), std::make_shared<Table>(31)), 0u) << "larger than all that is kept";
    EXPECT_EQ(tables.bytes(), 30u);
    tables.set_limit(10);
    EXPECT_NE(tables.find(identity("d", {})).table, nullptr);
    EXPECT_TRUE(tables.drop_one());
    EXPECT_FALSE(tables.drop_one());
    EXPECT_EQ(tables.bytes(), 0u);
}

TEST(KeptTablesTest, TablesInUseStay) {
    KeptTables tables;
    const BuiltTableRef used = std::make_shared<Table>(10);
    tables.keep(identity("used", {}), used);
    tables.keep(identity("idle", {}), std::make_shared<Table>(10));
    EXPECT_TRUE(tables.drop_one());
    EXPECT_FALSE(tables.drop_one()) << "letting it go would give no memory back";
    EXPECT_EQ(tables.find(identity("used", {})).table, used);
}

// One build beside different others is described alike; whatever it computes otherwise shows.
TEST(BuildIdentityTest, TellsBuildsApart) {
    const std::vector<uint8_t> values = {1, 0}, other_values = {0, 1}, nulls = {0, 0};
    auto describe = [&](int64_t constant, ir::Index key, bool second_source, const std::vector<uint8_t> &lookup,
                        uint64_t id, ir::Function part = ir::Function::Month) {
        ProgramBuilder b;
        if (second_source)
            b.column(Type::I64, 0, 0);
        const ir::Index s = b.source({{Type::I32, 1, {}}, {Type::Code, 1, {}}, {Type::I32, 1, {}}});
        const ir::Index inner = b.build(s, {}, {}, {b.column(Type::I32, 0, 0)}, {});
        const ir::Index filter = b.compare(ir::Op::Lt, b.column(Type::I32, 0, 0), b.constant(Type::I32, constant));
        const ir::Index text = b.lookup(Type::Bool, s, 1, b.column(Type::Code, 0, 1));
        const ir::Index call =
            b.expr(ir::Op::Call, Type::I64, b.column(Type::I32, 0, 0), ir::none, static_cast<ir::Index>(part));
        const ir::Index day = b.compare(ir::Op::Eq, call, b.constant(Type::I64, 3));
        const ir::Index build = b.build(s, {{filter, 0}, {text, 0}, {day, 0}}, {{inner, {b.column(Type::I32, 0, 2)}}},
                                        {b.column(Type::I32, 0, key)}, {b.column(Type::Code, 0, 1)});
        return describe_build(
            b.program, build,
            [&](ir::Index) {
                return LookupContents{&lookup, &nulls};
            },
            [&](ir::Index) { return id; });
    };
    const std::string one = describe(5, 0, false, values, 1);
    EXPECT_EQ(one, describe(5, 0, true, values, 1));
    EXPECT_NE(one, describe(6, 0, false, values, 1));
    EXPECT_NE(one, describe(5, 2, false, values, 1));
    EXPECT_NE(one, describe(5, 0, false, other_values, 1));
    EXPECT_NE(one, describe(5, 0, false, values, 2));
    EXPECT_NE(one, describe(5, 0, false, values, 1, ir::Function::Day));
}

} // namespace
} // namespace gpuscan
