// Merging groups of several passes: keys with NULLs, every kind of state, errors.
#include "case_builder.hpp"
#include "engine/result/group_merge.hpp"
#include "reference_check.hpp"

namespace gpuscan {
namespace {

using namespace reference;

// select k, count(*), sum(k), min(k), max(k), sum(f), min(f) group by k
Program grouped(bool keys) {
    Builder b;
    Index s = b.source({Type::I64, Type::F64});
    Index k = b.column(Type::I64, 0, 0), f = b.column(Type::F64, 0, 1);
    Pipeline main;
    main.source = s;
    if (keys)
        main.keys = b.list({k});
    main.aggregates = b.aggregates({aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Sum, k),
                                    aggregate(AggregateKind::Min, k), aggregate(AggregateKind::Max, k),
                                    aggregate(AggregateKind::Sum, f), aggregate(AggregateKind::Min, f)});
    b.p.pipelines = {main};
    return b.p;
}

AggregateState state(int64_t count, int128 v) {
    return {count, static_cast<uint64_t>(v), static_cast<int64_t>(v >> 64)};
}
AggregateState state(int64_t count, double v) {
    AggregateState s;
    s.count = count;
    memcpy(&s.low, &v, 8);
    return s;
}

void add_group(GroupTable &t, const int64_t *key, int64_t rows, int128 sum, double real) {
    ++t.ngroups;
    if (key != nullptr) {
        t.keys.push_back({static_cast<uint64_t>(*key), *key < 0 ? -1 : 0});
        t.key_nulls.push_back(*key == 99);
    }
    for (int i = 0; i < 4; ++i)
        t.states.push_back(i == 0 ? state(rows, static_cast<int128>(0)) : state(rows, sum));
    t.states.push_back(state(rows, real));
    t.states.push_back(state(rows, real));
}

TEST(GroupMerger, Combines) {
    GroupMerger merger(grouped(true));
    const int64_t minus = -1, null = 99;
    GroupTable a, b;
    int128 big = static_cast<int128>(1) << 100;
    add_group(a, &minus, 2, big, 1.5);
    add_group(a, &null, 1, -5, NAN);
    add_group(b, &null, 3, 7, 2.0);
    add_group(b, &minus, 5, -big * 2, -0.5);
    merger.add(a);
    merger.add(b);
    GroupTable got = merger.finish();
    ASSERT_EQ(2u, got.ngroups);
    EXPECT_FALSE(got.key_nulls[0]);
    EXPECT_TRUE(got.key_nulls[1]);
    EXPECT_EQ(-1, got.keys[0].high);
    const AggregateState *s = got.states.data();
    EXPECT_EQ(7, s[0].count);
    EXPECT_TRUE(wide(s[1].low, s[1].high) == -big);
    EXPECT_TRUE(wide(s[2].low, s[2].high) == -big * 2);
    EXPECT_TRUE(wide(s[3].low, s[3].high) == big);
    double v;
    memcpy(&v, &s[4].low, 8);
    EXPECT_EQ(1.0, v);
    memcpy(&v, &s[5].low, 8);
    EXPECT_EQ(-0.5, v);
    memcpy(&v, &s[6 + 5].low, 8);
    EXPECT_EQ(2.0, v); // NaN is above all
    EXPECT_EQ(0u, merger.finish().ngroups);
}

TEST(GroupMerger, EmptyStatesDoNotCount) {
    GroupMerger merger(grouped(false));
    GroupTable a, b;
    add_group(a, nullptr, 0, 0, 0);
    add_group(b, nullptr, 1, 5, 2.5);
    merger.add(a);
    merger.add(b);
    merger.add(a);
    GroupTable got = merger.finish();
    ASSERT_EQ(1u, got.ngroups);
    EXPECT_EQ(5u, got.states[2].low); // min
    EXPECT_EQ(1, got.states[2].count);
}

TEST(GroupMerger, OneGroupWithoutKeys) {
    GroupMerger merger(grouped(false));
    GroupTable got = merger.finish();
    ASSERT_EQ(1u, got.ngroups);
    ASSERT_EQ(6u, got.states.size());
    EXPECT_EQ(0, got.states[0].count);
}

TEST(GroupMerger, Overflow) {
    GroupTable t;
    add_group(t, nullptr, 1, static_cast<int128>(0), 1.7e308);
    GroupMerger real(grouped(false));
    real.add(t);
    EXPECT_THROW(real.add(t), RowError);
    GroupTable u;
    add_group(u, nullptr, 1, static_cast<int128>(1) << 126, 0);
    GroupMerger integer(grouped(false));
    integer.add(u);
    EXPECT_THROW(integer.add(u), RowError);
}

TEST(GroupMerger, ManyGroups) {
    GroupMerger merger(grouped(true));
    for (int pass = 0; pass < 3; ++pass) {
        GroupTable t;
        for (int64_t k = 0; k < 50000; ++k)
            if (k != 99)
                add_group(t, &k, 1, k, 0.5);
        merger.add(t);
    }
    GroupTable got = merger.finish();
    ASSERT_EQ(49999u, got.ngroups);
    for (size_t g = 0; g < got.ngroups; ++g)
        ASSERT_EQ(got.keys[g].low * 3, got.states[g * 6 + 1].low);
}

// The first table is taken as it is, and the others are added to it.
TEST(GroupMerger, TakesTheFirstTable) {
    auto memory = std::make_shared<WorkMemory>();
    GroupMerger merger(grouped(true), memory);
    GroupTable a, b;
    for (int64_t key = 0; key < 1000; ++key)
        add_group(a, &key, 1, key, 0.5);
    for (int64_t key = 500; key < 1500; ++key)
        add_group(b, &key, 2, key, 0.5);
    merger.add(std::move(a));
    EXPECT_GT(memory->used(), 1000u * 100);
    merger.add(std::move(b));
    GroupTable got = merger.finish();
    ASSERT_EQ(1500u, got.ngroups);
    for (size_t g = 0; g < got.ngroups; ++g)
        ASSERT_EQ(got.keys[g].low < 500 ? 1 : got.keys[g].low < 1000 ? 3 : 2, got.states[g * 6].count);
    merger.add(std::move(got));
    got = merger.finish();
    EXPECT_EQ(1500u, got.ngroups);
    got = GroupTable();
    EXPECT_EQ(0u, memory->used());
}

TEST(GroupMerger, LimitAndCancel) {
    auto memory = std::make_shared<WorkMemory>();
    GroupTable many;
    for (int64_t key = 100; key < 100100; ++key)
        add_group(many, &key, 1, key, 0.5);
    {
        memory->set_limit(size_t(1) << 20);
        GroupMerger merger(grouped(true), memory);
        EXPECT_THROW(merger.add(many), OutOfWorkMemory);
        EXPECT_LE(memory->used(), size_t(1) << 20);
    }
    EXPECT_EQ(0u, memory->used());
    {
        GroupMerger merger(grouped(true), memory);
        EXPECT_THROW(merger.add(std::move(many)), OutOfWorkMemory);
    }
    EXPECT_EQ(0u, memory->used());
    std::atomic<uint32_t> cancel{1};
    GroupMerger merger(grouped(true), nullptr, &cancel);
    EXPECT_THROW(merger.add(many), Cancelled);
}

} // namespace
} // namespace gpuscan
