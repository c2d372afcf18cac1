// Groups that ORDER BY ... LIMIT wants, chosen where they stand on the GPU: none of them may be missing, and hardly any other come; skipped
// where there is no GPU. (Conditions over groups: CudaDeviceTest.GroupConditions.)
#include <algorithm>
#include <optional>
#include <random>

#include "case_builder.hpp"
#include "cuda_fixture.hpp"
#include "reference_check.hpp"

namespace gpuscan {
namespace {

using namespace reference;
using test::shared;

enum class Form { Dense, Hash, Wide };

class CudaWantedGroupsTest : public test::CudaTest {
  protected:
    void SetUp() override {
        test::CudaTest::SetUp();
        if (!shared().device)
            return;
        std::mt19937_64 random(4711);
        for (auto *column : {&keys_, &wide_keys_, &small_, &large_})
            column->resize(rows);
        for (uint32_t i = 0; i < rows; ++i) {
            // Every group comes once, and then the first ones more often.
            const uint32_t g = i < groups ? i : static_cast<uint32_t>(std::min(random() % groups, random() % groups));
            keys_[i].null = g == 11;
            keys_[i].i = keys_[i].null ? 0 : static_cast<int>(g) - 1000;
            wide_keys_[i].null = g == 12;
            wide_keys_[i].i =
                wide_keys_[i].null ? int128(0) : int128(static_cast<int64_t>((g + 1) * 0x9e3779b97f4a7c15ULL));
            small_[i].null = g % 7 == 3 || random() % 3 == 0;
            small_[i].i = small_[i].null ? 0 : static_cast<int>(random() % 1000) - 500;
            large_[i].null = g % 5 == 2;
            large_[i].i = large_[i].null ? int128(0) : int128(static_cast<int64_t>(random())) / (g % 3 + 1);
        }
    }

    static constexpr uint32_t groups = 7000, rows = 16000; // a dense table of fewer comes as it is
    std::vector<Datum> keys_, wide_keys_, small_, large_;
};

// The constant's index.
Index number(Builder &b, int64_t value) { return b.p.exprs[b.constant(Type::I64, value)].a; }

// What a group is by an order's column; nothing: NULL.
using Known = std::optional<int128>;

struct Column {
    const char *name;
    Type type;
    Index step, number;
};

Known known(const GroupTable &table, size_t g, const Column &column, size_t nkeys, size_t naggregates) {
    auto wide = [](uint64_t low, int64_t high) {
        return static_cast<int128>((static_cast<uint128>(static_cast<uint64_t>(high)) << 64) | low);
    };
    if (column.step == group_keys) {
        const Value &key = table.keys[g * nkeys + column.number];
        return table.key_nulls[g * nkeys + column.number] ? Known() : Known(wide(key.low, key.high));
    }
    const AggregateState &state = table.states[g * naggregates + column.number];
    if (column.step == group_counts)
        return int128(state.count);
    return state.count == 0 ? Known() : Known(wide(state.low, state.high));
}

std::vector<std::string> names_of(const GroupTable &table, size_t nkeys, const std::vector<size_t> *which) {
    std::vector<std::string> names;
    for (size_t i = 0; i < (which ? which->size() : table.ngroups); ++i) {
        const size_t g = which ? (*which)[i] : i;
        std::string name;
        for (size_t k = 0; k < nkeys; ++k)
            name += table.key_nulls[g * nkeys + k]
                        ? "null "
                        : std::to_string(static_cast<int64_t>(table.keys[g * nkeys + k].low)) + " ";
        names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

TEST_F(CudaWantedGroupsTest, FirstOnes) {
    for (const Form form : {Form::Dense, Form::Hash, Form::Wide}) {
        GroupTuning tuning;
        tuning.chosen_groups = 100;
        if (form != Form::Dense)
            tuning.dense_bytes = 0;
        shared().device->tune_groups(tuning);
        Builder b;
        Pipeline main;
        main.source = b.source({Type::I32, Type::I64, Type::I32, Type::I64});
        std::vector<Index> keys = {b.column(Type::I32, 0, 0)};
        if (form == Form::Wide)
            keys.push_back(b.column(Type::I64, 0, 1));
        main.keys = b.list(keys);
        const Index small = b.column(Type::I32, 0, 2), large = b.column(Type::I64, 0, 3);
        const std::vector<Aggregate> aggregates = {
            aggregate(AggregateKind::CountRows),  aggregate(AggregateKind::Count, small),
            aggregate(AggregateKind::Sum, small), aggregate(AggregateKind::Sum, large),
            aggregate(AggregateKind::Min, large), aggregate(AggregateKind::Max, small)};
        main.aggregates = b.aggregates(aggregates);
        b.p.pipelines = {main};
        Case c;
        c.program = b.p;
        c.sources = {{chunk_of({keys_, wide_keys_, small_, large_})}};
        const GroupTable all = run_on(device(), c);
        ASSERT_EQ(groups, all.ngroups);

        std::vector<Column> columns = {{"count(*)", Type::I64, group_counts, 0},
                                       {"count(small)", Type::I64, group_counts, 1},
                                       {"sum(small)", Type::I128, group_values, 2},
                                       {"sum(large)", Type::I128, group_values, 3},
                                       {"min(large)", Type::I64, group_values, 4},
                                       {"max(small)", Type::I32, group_values, 5},
                                       {"key", Type::I32, group_keys, 0}};
        if (form == Form::Wide)
            columns.push_back({"wide key", Type::I64, group_keys, 1});
        for (const Column &column : columns)
            for (const unsigned how : {0u, 1u, 2u, 3u, 4u + 1u}) {
                const bool descending = how & 1, nulls_first = how & 2, having = how & 4;
                const uint64_t wanted = how == 3 ? 1 : how == 2 ? 1500 : 57;
                SCOPED_TRACE(std::string(column.name) + ", form " + std::to_string(static_cast<int>(form)) + ", how " +
                             std::to_string(how));
                Builder with = b;
                Pipeline &ordered = with.p.pipelines[0];
                if (having)
                    ordered.having = with.list(
                        {with.binary(Op::Le, with.column(Type::I64, group_counts, 0), with.constant(Type::I64, 3))});
                ordered.order.first = static_cast<Index>(with.p.orders.size());
                ordered.order.count = 2;
                Index first = with.column(column.type, column.step, column.number);
                if (column.type == Type::I32)
                    first = with.unary(Op::Cast, Type::I64, first);
                with.p.orders.push_back({first, descending, nulls_first, {}});
                with.p.orders.push_back({with.column(Type::I64, group_counts, 0), 0, 0, {}});
                ordered.top = number(with, static_cast<int64_t>(wanted - 1));
                ordered.top_offset = number(with, 1);

                std::vector<size_t> passing, want;
                for (size_t g = 0; g < all.ngroups; ++g)
                    if (!having || all.states[g * aggregates.size()].count <= 3)
                        passing.push_back(g);
                auto place = [&](size_t g) { // smaller comes first
                    const Known value = known(all, g, column, keys.size(), aggregates.size());
                    return value ? std::pair<int, int128>(1, descending ? -*value : *value)
                                 : std::pair<int, int128>(nulls_first ? 0 : 2, 0);
                };
                std::vector<std::pair<int, int128>> places;
                for (const size_t g : passing)
                    places.push_back(place(g));
                std::sort(places.begin(), places.end());
                ASSERT_LT(wanted, places.size());
                for (const size_t g : passing)
                    if (place(g) <= places[wanted - 1])
                        want.push_back(g);

                Case chosen = c;
                chosen.program = with.p;
                auto execution = start_on(device(), chosen, nullptr);
                std::vector<std::string> got;
                size_t count = 0;
                each_pass(device(), chosen, [&](const std::vector<ChunkView> &views) {
                    auto take = [&](const GroupTable &table) {
                        const auto names = names_of(table, keys.size(), nullptr);
                        got.insert(got.end(), names.begin(), names.end());
                        count += table.ngroups;
                    };
                    take(execution->start_aggregate(views));
                    while (execution->groups_left() > 0)
                        take(execution->more_groups());
                });
                std::sort(got.begin(), got.end());
                const auto names = names_of(all, keys.size(), &want);
                EXPECT_TRUE(std::includes(got.begin(), got.end(), names.begin(), names.end()));
                // Exact where 28 bits tell values apart.
                const bool exact = column.number != 3 && column.number != 4 && column.type != Type::I64;
                EXPECT_LE(count, exact || column.step == group_counts ? want.size() : want.size() + 20);
                EXPECT_EQ(groups - count, execution->groups_dropped());
            }
    }
}

// Of a table that is done in parts each has first ones of its own.
TEST_F(CudaWantedGroupsTest, Parts) {
    GroupTuning tuning;
    tuning.chosen_groups = 100;
    tuning.dense_bytes = 0;
    tuning.table_bytes = 128u << 10;
    shared().device->tune_groups(tuning);
    for (const uint64_t wanted : {uint64_t(40), uint64_t(0), UINT64_MAX}) {
        Builder b;
        Pipeline main;
        main.source = b.source({Type::I32, Type::I64, Type::I32, Type::I64});
        main.keys = b.list({b.column(Type::I32, 0, 0)});
        main.aggregates = b.aggregates(
            {aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Sum, b.column(Type::I32, 0, 2))});
        main.order.first = static_cast<Index>(b.p.orders.size());
        main.order.count = 1;
        b.p.orders.push_back({b.column(Type::I128, group_values, 1), 1, 0, {}});
        Datum limit;
        limit.null = wanted == UINT64_MAX;
        limit.i = limit.null ? int128(0) : int128(wanted);
        main.top = b.p.exprs[b.constant(Type::I64, limit)].a;
        b.p.pipelines = {main};
        Case c;
        c.program = b.p;
        c.sources = {{chunk_of({keys_, wide_keys_, small_, large_})}};
        auto execution = start_on(device(), c, nullptr);
        std::vector<int128> sums;
        size_t got = 0;
        each_pass(device(), c, [&](const std::vector<ChunkView> &views) {
            auto take = [&](const GroupTable &table) {
                got += table.ngroups;
                for (size_t g = 0; g < table.ngroups; ++g)
                    if (const Known sum = known(table, g, {"sum", Type::I128, group_values, 1}, 1, 2))
                        sums.push_back(-*sum);
            };
            take(execution->start_aggregate(views));
            while (execution->groups_left() > 0)
                take(execution->more_groups());
        });
        EXPECT_EQ(groups - got, execution->groups_dropped());
        if (wanted != 40) { // none, which is for whoever reads them to say, and all
            EXPECT_EQ(groups, got);
            continue;
        }
        EXPECT_LT(got, groups / 2);
        c.program.pipelines[0].order.count = 0;
        c.program.pipelines[0].top = none;
        const GroupTable all = run_on(device(), c);
        std::vector<int128> want;
        for (size_t g = 0; g < all.ngroups; ++g)
            if (const Known sum = known(all, g, {"sum", Type::I128, group_values, 1}, 1, 2))
                want.push_back(-*sum);
        std::sort(want.begin(), want.end());
        std::sort(sums.begin(), sums.end());
        want.resize(wanted);
        EXPECT_TRUE(std::includes(sums.begin(), sums.end(), want.begin(), want.end()));
    }
}

// Where a group's values may be errors, a condition is not plain, or the kernel does not know the first sort key, all groups come.
TEST_F(CudaWantedGroupsTest, AllWhereAnErrorMayHide) {
    GroupTuning tuning;
    tuning.chosen_groups = 100;
    shared().device->tune_groups(tuning);
    for (const int why : {0, 1, 2, 3}) {
        Builder b;
        Pipeline main;
        main.source = b.source({Type::I32, Type::I64, Type::I32, Type::I64});
        main.keys = b.list({b.column(Type::I32, 0, 0)});
        const Index small = b.column(Type::I32, 0, 2), large = b.column(Type::I64, 0, 3);
        Aggregate sum = aggregate(AggregateKind::Sum, large);
        sum.narrow = why == 0 ? sizeof(int64_t) : 0;
        main.aggregates = b.aggregates({aggregate(AggregateKind::CountRows), sum, aggregate(AggregateKind::Max, small),
                                        aggregate(AggregateKind::Min, b.unary(Op::Cast, Type::F64, small))});
        const Index count = b.column(Type::I64, group_counts, 0), most = b.column(Type::I32, group_values, 2);
        if (why == 1)
            main.having = b.list({b.binary(Op::Lt, b.binary(Op::Sub, count, b.constant(Type::I64, 1)),
                                           b.constant(Type::I64, INT64_MAX))});
        main.order.first = static_cast<Index>(b.p.orders.size());
        main.order.count = 2;
        b.p.orders.push_back({why == 3 ? b.column(Type::F64, group_values, 3) : count, 1, 0, {}});
        b.p.orders.push_back({why == 2 ? b.binary(Op::Sub, count, count) : most, 0, 0, {}});
        main.top = number(b, 5);
        b.p.pipelines = {main};
        Case c;
        c.program = b.p;
        c.sources = {{chunk_of({keys_, wide_keys_, small_, large_})}};
        auto execution = start_on(device(), c, nullptr);
        size_t got = 0;
        each_pass(device(), c, [&](const std::vector<ChunkView> &views) {
            got += execution->start_aggregate(views).ngroups;
            while (execution->groups_left() > 0)
                got += execution->more_groups().ngroups;
        });
        EXPECT_EQ(groups, got) << why;
        EXPECT_EQ(0u, execution->groups_dropped()) << why;
    }
}

} // namespace
} // namespace gpuscan
