// The second grouping, against maps: DISTINCT values of one key and of several, grouping sets, no rows, errors.
#include <map>
#include <random>
#include <set>

#include "case_builder.hpp"
#include "engine/result/second_aggregation.hpp"
#include "engine/util/in_parallel.hpp"
#include "reference.hpp"

namespace gpuscan {
namespace {

using namespace reference;

// Keys a, b (of the result) and x, y; count(*), sum(y).
struct Grouped {
    Builder b;
    GroupTable groups;

    explicit Grouped(Index result_keys, std::vector<GroupingSet> sets, std::vector<Distinct> distincts,
                     size_t nkeys = 4) {
        const Index s = b.source({Type::I32, Type::Code, Type::I64, Type::F64});
        Pipeline main;
        main.source = s;
        const Type types[] = {Type::I32, Type::Code, Type::I64, Type::F64};
        std::vector<Index> keys;
        for (Index k = 0; k < nkeys; ++k)
            keys.push_back(b.column(types[k], 0, k));
        main.keys = b.list(keys);
        main.aggregates = b.aggregates(
            {aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Sum, b.column(Type::I64, 0, 2))});
        main.result_keys = result_keys;
        main.sets.count = static_cast<Index>(sets.size());
        main.distincts.count = static_cast<Index>(distincts.size());
        b.p.sets = std::move(sets);
        b.p.distincts = std::move(distincts);
        b.p.pipelines = {main};
    }

    // -1 is NULL.
    void add(const std::vector<int64_t> &keys, int64_t rows, int64_t sum) {
        for (int64_t key : keys) {
            groups.keys.push_back(key < 0 ? Value() : Value{static_cast<uint64_t>(key), 0});
            groups.key_nulls.push_back(key < 0);
        }
        groups.states.push_back({rows, 0, 0});
        groups.states.push_back({rows, static_cast<uint64_t>(sum), sum < 0 ? -1 : 0});
        ++groups.ngroups;
    }

    GroupTable run() const {
        const std::string bytes = serialize_program(b.p);
        return aggregate_again(parse_program(bytes.data(), bytes.size()), groups, nullptr, nullptr);
    }
};

int64_t value(const Value &v, bool null) { return null ? -1 : static_cast<int64_t>(v.low); }

// `groups` random ones; the values of result keys and of others are that many.
void random_groups_against_maps(int groups, const std::vector<int> &ranges,
                                const std::vector<std::vector<uint32_t>> &all_sets) {
    struct Want {
        int64_t rows = 0, sum = 0;
        std::set<int64_t> x, y;
    };
    std::mt19937_64 random(7);
    for (const std::vector<uint32_t> &masks : all_sets) {
        std::vector<GroupingSet> sets;
        for (uint32_t mask : masks)
            sets.push_back({mask});
        Grouped g(2, sets, {{2}, {3}, {0}});
        std::map<std::vector<int64_t>, Want> want;
        std::set<std::vector<int64_t>> seen;
        for (int i = 0; i < groups; ++i) {
            std::vector<int64_t> keys;
            for (int range : ranges)
                keys.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(range)) - 1);
            if (!seen.insert(keys).second)
                continue;
            const int64_t rows = 1 + static_cast<int64_t>(random() % 9), sum = i - 5000;
            g.add(keys, rows, sum);
            for (size_t s = 0; s < masks.size(); ++s) {
                Want &w = want[{masks[s] & 1 ? keys[0] : -1, masks[s] & 2 ? keys[1] : -1, static_cast<int64_t>(s)}];
                w.rows += rows;
                w.sum += sum;
                w.x.insert(keys[2]);
                w.y.insert(keys[3]);
            }
        }
        const GroupTable got = g.run();
        const size_t nkeys = masks.size() > 1 ? 3 : 2;
        ASSERT_EQ(want.size(), got.ngroups);
        ASSERT_EQ(got.ngroups * nkeys, got.keys.size());
        ASSERT_EQ(got.ngroups * 5, got.states.size());
        for (size_t i = 0; i < got.ngroups; ++i) {
            const Value *key = &got.keys[i * nkeys];
            const uint8_t *null = &got.key_nulls[i * nkeys];
            const auto found =
                want.find({value(key[0], null[0]), value(key[1], null[1]), nkeys == 3 ? value(key[2], null[2]) : 0});
            ASSERT_TRUE(found != want.end());
            const Want &w = found->second;
            const AggregateState *states = &got.states[i * 5];
            EXPECT_EQ(w.rows, states[0].count);
            EXPECT_EQ(w.sum, static_cast<int64_t>(states[1].low));
            int64_t x_sum = 0;
            for (int64_t x : w.x)
                x_sum += x < 0 ? 0 : x;
            EXPECT_EQ(static_cast<int64_t>(w.x.size() - w.x.count(-1)), states[2].count);
            EXPECT_EQ(x_sum, static_cast<int64_t>(states[2].low));
            EXPECT_EQ(static_cast<int64_t>(w.y.size() - w.y.count(-1)), states[3].count);
            EXPECT_EQ(0u, states[3].low); // floats are only counted
        }
    }
}

TEST(Regroup, RandomGroupsAgainstMaps) {
    random_groups_against_maps(20000, {7, 40, 30, 5}, {{3}, {0}, {3, 1, 0}, {0, 1, 2, 3}, {1, 1}, {2}});
    random_groups_against_maps(20000, {1000, 1000, 1 << 30, 5}, {{3}, {0}, {1}}); // too far apart for tables
}

TEST(Regroup, ByManyThreads) {
    random_groups_against_maps(2 * groups_per_thread, {50, 400, 300, 5}, {{3}});
    random_groups_against_maps(2 * groups_per_thread, {2, 3, 400, 300}, {{1, 0}});
}

TEST(Regroup, OneDistinctKeyNeedsNoTable) {
    Grouped g(2, {{3}}, {{2}}, 3);
    for (int64_t x = -1; x < 10; ++x)
        g.add({1, 2, x}, 2, 3);
    g.add({1, -1, 4}, 1, 1);
    const GroupTable got = g.run();
    ASSERT_EQ(2u, got.ngroups);
    EXPECT_EQ(22, got.states[0].count);
    EXPECT_EQ(10, got.states[2].count);
    EXPECT_EQ(45u, got.states[2].low);
    EXPECT_EQ(1, got.states[5].count);
}

TEST(Regroup, NothingIsOneGroupOfTheEmptySet) {
    EXPECT_EQ(0u, Grouped(2, {{3}}, {{2}}).run().ngroups);
    const GroupTable none = Grouped(0, {{0}}, {{2}}, 3).run();
    ASSERT_EQ(1u, none.ngroups);
    EXPECT_EQ(0, none.states[0].count);
    EXPECT_EQ(0, none.states[2].count);
    const GroupTable cube = Grouped(2, {{3}, {1}, {0}}, {}, 2).run();
    ASSERT_EQ(1u, cube.ngroups);
    EXPECT_EQ(2u, cube.keys[2].low); // the number of the set
    EXPECT_TRUE(cube.key_nulls[0] && cube.key_nulls[1]);
}

TEST(Regroup, SumsOverflow) {
    Grouped g(0, {{0}}, {}, 1);
    const uint64_t top = uint64_t(1) << 62;
    for (int64_t i = 0; i < 2; ++i) {
        g.add({i}, 1, 0);
        g.groups.states[g.groups.states.size() - 1].high = static_cast<int64_t>(top);
    }
    EXPECT_THROW(g.run(), RowError);
}

TEST(Regroup, Cancelled) {
    Grouped g(1, {{1}}, {});
    g.add({1, 1, 1, 1}, 1, 1);
    const std::atomic<uint32_t> cancel{1};
    EXPECT_THROW(aggregate_again(g.b.p, g.groups, nullptr, &cancel), Cancelled);
}

TEST(Regroup, ProgramsAreChecked) {
    auto refused = [](Grouped g) {
        try {
            g.run();
        } catch (const std::runtime_error &) {
            return true;
        }
        return false;
    };
    EXPECT_FALSE(refused(Grouped(2, {{3}}, {{3}})));
    EXPECT_TRUE(refused(Grouped(2, {{4}}, {})));    // a key that the result does not have
    EXPECT_TRUE(refused(Grouped(5, {{3}}, {})));    // more keys than there are
    EXPECT_TRUE(refused(Grouped(2, {{3}}, {{4}}))); // of no key
    EXPECT_TRUE(refused(Grouped(2, {}, {{3}})));    // without a set
}

} // namespace
} // namespace gpuscan
