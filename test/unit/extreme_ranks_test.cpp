// Which programs may run over rough ranks, and which of the rough ranges a result shows.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/result/extreme_ranks.hpp"
#include "program_builder.hpp"

namespace gpuscan {
namespace {

using test::ProgramBuilder;

constexpr size_t many = 100000;

// A source with a text and an integer, and the rank of the text.
struct Ranks {
    ProgramBuilder b;
    ir::Index source, number, rank;

    Ranks() {
        source = b.source({{Type::Code}, {Type::I32}});
        const ir::Index text = b.column(Type::Code, 0, 0);
        number = b.column(Type::I32, 0, 1);
        rank = b.lookup(Type::I32, source, 0, text);
    }
    bool may_be_rough(size_t entries = many) const { return ExtremeRanks(b.program).may_be_rough(0, entries); }
    void order_rows(int64_t top, std::initializer_list<ir::Index> keys) {
        b.constant(Type::I64, top);
        ir::Pipeline &main = b.program.pipelines.back();
        main.result_keys = main.payload.count;
        main.order.first = static_cast<ir::Index>(b.program.orders.size());
        main.order.count = static_cast<ir::Index>(keys.size());
        main.top = static_cast<ir::Index>(b.program.constants.size() - 1);
        for (ir::Index key : keys)
            b.program.orders.push_back({key, 0, 0, {}});
    }
};

TEST(ExtremeRanks, OfMinAndMax) {
    for (ir::AggregateKind kind : {ir::AggregateKind::Min, ir::AggregateKind::Max, ir::AggregateKind::Sum}) {
        Ranks r;
        r.b.aggregate(r.source, {}, {}, {}, {{ir::AggregateKind::Sum, r.number}, {kind, r.rank}});
        EXPECT_EQ(kind != ir::AggregateKind::Sum, r.may_be_rough());
        EXPECT_FALSE(r.may_be_rough(100)); // all are soon sorted
    }
}

TEST(ExtremeRanks, NotWhereOtherThingsAreMadeOfThem) {
    { // a condition
        Ranks r;
        const ir::Index low = r.b.compare(ir::Op::Lt, r.rank, r.b.constant(Type::I32, 5));
        r.b.aggregate(r.source, {{low}}, {}, {}, {{ir::AggregateKind::Min, r.rank}});
        EXPECT_FALSE(r.may_be_rough());
    }
    { // another expression
        Ranks r;
        const ir::Index wide = r.b.expr(ir::Op::Cast, Type::I64, r.rank);
        r.b.aggregate(r.source, {}, {}, {}, {{ir::AggregateKind::Min, r.rank}, {ir::AggregateKind::Max, wide}});
        EXPECT_FALSE(r.may_be_rough());
    }
    { // many groups may show many texts
        Ranks r;
        r.b.aggregate(r.source, {}, {}, {r.number}, {{ir::AggregateKind::Min, r.rank}});
        EXPECT_FALSE(r.may_be_rough());
    }
    { // the payload of a build
        Ranks r;
        const ir::Index built = r.b.build(r.source, {}, {}, {r.number}, {r.rank});
        r.b.aggregate(r.source, {}, {{built, {r.number}}}, {}, {{ir::AggregateKind::Min, r.rank}});
        EXPECT_FALSE(r.may_be_rough());
    }
    { // HAVING
        Ranks r;
        r.b.aggregate(r.source, {}, {}, {}, {{ir::AggregateKind::Min, r.rank}});
        r.b.program.pipelines.back().having.count = 1;
        EXPECT_FALSE(r.may_be_rough());
    }
}

TEST(ExtremeRanks, OfTheFirstRows) {
    for (int64_t top : {0, 10, 300, 50000}) {
        Ranks r;
        r.b.rows(r.source, {}, {}, {r.number, r.rank});
        r.order_rows(top, {r.rank, r.number});
        EXPECT_EQ(top <= 300, r.may_be_rough()) << top;
    }
    Ranks all, other;
    all.b.rows(all.source, {}, {}, {all.number, all.rank});
    EXPECT_FALSE(all.may_be_rough()); // rows without an order
    other.b.rows(other.source, {}, {}, {other.number, other.rank});
    other.order_rows(10, {other.number});
    EXPECT_FALSE(other.may_be_rough()); // the rank is shown, but orders nothing
}

struct Rough {
    LookupTable table{Type::I32, many};
    Rough() { table.rough = {{10, 20, 0}, {20, 30, 0}, {40, 60, 0}}; }
};

TEST(ExtremeRanks, ShownByGroups) {
    Ranks r;
    r.b.aggregate(r.source, {}, {}, {},
                  {{ir::AggregateKind::Min, r.rank}, {ir::AggregateKind::CountRows}, {ir::AggregateKind::Max, r.rank}});
    const ExtremeRanks extremes(r.b.program);
    const Rough rough;
    GroupTable groups;
    groups.ngroups = 1;
    auto shown = [&](int64_t low, int64_t high, int64_t count) {
        groups.states.resize(3);
        groups.states[0] = {count, static_cast<uint64_t>(low), 0};
        groups.states[1] = {count, 40, 0};
        groups.states[2] = {count, static_cast<uint64_t>(high), 0};
        return extremes.shown(0, rough.table, groups);
    };
    EXPECT_EQ((std::vector<size_t>{0, 2}), shown(10, 40, 5));
    EXPECT_EQ((std::vector<size_t>{1}), shown(9, 20, 5));
    EXPECT_EQ((std::vector<size_t>{}), shown(0, 99, 5));
    EXPECT_EQ((std::vector<size_t>{}), shown(10, 20, 0)); // NULL
}

TEST(ExtremeRanks, ShownByRows) {
    Ranks r;
    r.b.rows(r.source, {}, {}, {r.number, r.rank});
    r.order_rows(10, {r.rank});
    const ExtremeRanks extremes(r.b.program);
    const Rough rough;
    const int32_t numbers[] = {10, 20, 40, 10}, ranks[] = {20, 3, 10, 40};
    const uint8_t nulls[] = {0, 0, 1, 0};
    RowBlock block;
    block.nrows = 4;
    block.columns.push_back({reinterpret_cast<const uint8_t *>(numbers), nullptr});
    block.columns.push_back({reinterpret_cast<const uint8_t *>(ranks), nulls});
    RowTable rows;
    rows.add(block);
    EXPECT_EQ((std::vector<size_t>{1, 2}), extremes.shown(0, rough.table, rows));
}

} // namespace
} // namespace gpuscan
