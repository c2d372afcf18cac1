// Which groups are wanted, against one group after the other: conditions, the first ones in an order, ties, errors; tables of
// few groups and of many, one and several of them. And groups in an order.
#include <cmath>
#include <limits>
#include <random>

#include "case_builder.hpp"
#include "host/group_filter.hpp"
#include "host/group_sort.hpp"
#include "reference.hpp"

namespace gpuscan {
namespace {

using namespace reference;

// Key a; count(*), sum(i) of integers, sum(f) of floats, min(m).
struct Sifted {
    Builder b;
    Pipeline main;
    Index key, count, sum, floats, smallest;

    Sifted() {
        const Index s = b.source({Type::I32, Type::I64, Type::F64});
        main.source = s;
        main.keys = b.list({b.column(Type::I32, 0, 0)});
        main.aggregates =
            b.aggregates({aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Sum, b.column(Type::I64, 0, 1)),
                          aggregate(AggregateKind::Sum, b.column(Type::F64, 0, 2)),
                          aggregate(AggregateKind::Min, b.column(Type::I64, 0, 1))});
        key = b.column(Type::I32, group_keys, 0);
        count = b.column(Type::I64, group_counts, 0);
        sum = b.column(Type::I128, group_values, 1);
        floats = b.column(Type::F64, group_values, 2);
        smallest = b.column(Type::I64, group_values, 3);
    }

    Program program() {
        Program p = b.p;
        p.pipelines = {main};
        const std::string bytes = serialize_program(p);
        return parse_program(bytes.data(), bytes.size());
    }
};

struct Group {
    int32_t key;
    bool null; // its key
    int64_t rows, values, sum, smallest;
    double real;
};

void add(GroupTable &table, const Group &g) {
    table.keys.push_back(g.null ? Value() : Value{static_cast<uint64_t>(int64_t(g.key)), g.key < 0 ? -1 : 0});
    table.key_nulls.push_back(g.null);
    uint64_t bits;
    memcpy(&bits, &g.real, sizeof bits);
    table.states.push_back({g.rows, 0, 0});
    table.states.push_back({g.values, static_cast<uint64_t>(g.sum), g.sum < 0 ? -1 : 0});
    table.states.push_back({g.values, bits, 0});
    table.states.push_back({g.values, static_cast<uint64_t>(g.smallest), g.smallest < 0 ? -1 : 0});
    ++table.ngroups;
}

// Each key once, so that a group is known by it.
std::vector<Group> random_groups(size_t n, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Group> groups;
    for (size_t i = 0; i < n; ++i) {
        Group g{static_cast<int32_t>(i) - 50, i == 7, 1 + static_cast<int64_t>(random() % 5), 0, 0, 0, 0};
        if (random() % 10 != 0) {
            g.values = g.rows;
            g.sum = static_cast<int64_t>(random() % 400) - 150;
            g.smallest = static_cast<int64_t>(random() % 7);
            const double kinds[] = {-1.5, -0.0, 0.0, 2.25, 1e300, std::nan("")};
            g.real = kinds[random() % 6];
        }
        groups.push_back(g);
    }
    return groups;
}

std::multiset<int64_t> sift(Sifted &s, const std::vector<Group> &groups, size_t tables) {
    const Program program = s.program();
    host::GroupFilter filter(program, nullptr, nullptr);
    for (size_t t = 0; t < tables; ++t) {
        GroupTable table;
        for (size_t i = groups.size() * t / tables; i < groups.size() * (t + 1) / tables; ++i)
            add(table, groups[i]);
        filter.add(std::move(table));
    }
    const GroupTable left = filter.finish();
    EXPECT_EQ(groups.size(), filter.groups_seen());
    EXPECT_EQ(left.ngroups, left.keys.size());
    EXPECT_EQ(left.ngroups * 4, left.states.size());
    std::multiset<int64_t> keys;
    for (size_t i = 0; i < left.ngroups; ++i) {
        const int64_t key = left.key_nulls[i] ? INT64_MIN : static_cast<int64_t>(left.keys[i].low);
        keys.insert(key);
        const Group &g = groups[left.key_nulls[i] ? 7 : static_cast<size_t>(key + 50)];
        EXPECT_EQ(g.sum, static_cast<int64_t>(left.states[i * 4 + 1].low)); // the whole group has moved
        EXPECT_EQ(g.rows, left.states[i * 4].count);
    }
    return keys;
}

int64_t name_of(const Group &g) { return g.null ? INT64_MIN : g.key; }

TEST(GroupFilter, Conditions) {
    for (size_t n : {0u, 1u, 31u, 2048u, 5000u, 200000u})
        for (size_t tables : {1u, 3u}) {
            const std::vector<Group> groups = random_groups(n, n);
            Sifted s;
            const Index big = s.b.binary(Op::Gt, s.sum, s.b.constant(Type::I128, int64_t(100)));
            const Index any = s.b.binary(Op::Or, big, s.b.unary(Op::IsNull, Type::Bool, s.key));
            s.main.having = s.b.list({any, s.b.binary(Op::Ne, s.count, s.b.constant(Type::I64, int64_t(3)))});
            std::multiset<int64_t> want;
            for (const Group &g : groups)
                if (((g.values > 0 && g.sum > 100) || g.null) && g.rows != 3)
                    want.insert(name_of(g));
            EXPECT_EQ(want, sift(s, groups, tables));
        }
}

// The groups in the order of (min(m) descending, NULLs as told; then floats; then the key), which is total without ties.
TEST(GroupFilter, FirstOnes) {
    for (size_t n : {1u, 40u, 5000u, 150000u})
        for (uint64_t top : {0u, 1u, 20u, 4999u, 100000u})
            for (int variant = 0; variant < 8; ++variant) {
                const bool nulls_first = variant & 1, by_key = variant & 2, ties = variant & 4;
                const std::vector<Group> groups = random_groups(n, n + top);
                Sifted s;
                auto order = [&](Index expr, bool descending, bool first) {
                    OrderKey key;
                    key.expr = expr;
                    key.descending = descending;
                    key.nulls_first = first;
                    s.b.p.orders.push_back(key);
                };
                order(s.smallest, true, nulls_first);
                order(s.floats, false, false);
                if (by_key)
                    order(s.key, false, true);
                s.main.order.count = static_cast<Index>(s.b.p.orders.size());
                s.main.top = s.b.p.exprs[s.b.constant(Type::I64, static_cast<int64_t>(top))].a;
                s.main.ties = ties;
                auto rank = [&](const Group &g) {
                    const double real = std::isnan(g.real) ? std::numeric_limits<double>::infinity() : g.real + 0.0;
                    return std::make_tuple(g.values > 0  ? 1
                                           : nulls_first ? 0
                                                         : 2,
                                           -g.smallest, g.values > 0 ? 0 : 1, real, by_key ? name_of(g) : 0);
                };
                std::vector<Group> sorted = groups;
                std::sort(sorted.begin(), sorted.end(),
                          [&](const Group &x, const Group &y) { return rank(x) < rank(y); });
                size_t last = std::min<size_t>(top, n);
                const std::multiset<int64_t> got = sift(s, groups, 1 + n % 3);
                if (ties)
                    while (last > 0 && last < n && rank(sorted[last]) == rank(sorted[last - 1]))
                        ++last;
                ASSERT_EQ(last, got.size());
                // Of groups that are equal to the last one, any may be left.
                std::multiset<decltype(rank(groups[0]))> want_ranks, got_ranks;
                for (size_t i = 0; i < last; ++i)
                    want_ranks.insert(rank(sorted[i]));
                for (int64_t key : got)
                    got_ranks.insert(rank(groups[key == INT64_MIN ? 7 : static_cast<size_t>(key + 50)]));
                ASSERT_EQ(want_ranks, got_ranks);
            }
}

TEST(GroupFilter, NumbersOfGroupsThatAreWanted) {
    const std::vector<Group> groups = random_groups(100, 1);
    auto left = [&](int64_t top, bool top_null, int64_t offset, bool offset_null) {
        Sifted s;
        Datum a, b;
        a.i = top, a.null = top_null;
        b.i = offset, b.null = offset_null;
        s.main.top = s.b.p.exprs[s.b.constant(Type::I64, a)].a;
        s.main.top_offset = s.b.p.exprs[s.b.constant(Type::I64, b)].a;
        return sift(s, groups, 2).size();
    };
    EXPECT_EQ(7u, left(4, false, 3, false));
    EXPECT_EQ(4u, left(4, false, 3, true));
    EXPECT_EQ(100u, left(4, true, 3, false));
    EXPECT_EQ(100u, left(-1, false, 0, false)); // PostgreSQL's error
    EXPECT_EQ(100u, left(INT64_MAX, false, INT64_MAX, false));
    EXPECT_EQ(0u, left(0, false, 0, false));
}

TEST(GroupFilter, Errors) {
    auto run = [](int64_t high, double real, uint8_t narrow, int64_t rows, uint64_t low = 5) {
        Sifted s;
        s.b.p.aggregates[1].narrow = narrow;
        // 10 / (count - 3) > 100
        const Index three = s.b.binary(Op::Sub, s.count, s.b.constant(Type::I64, int64_t(3)));
        s.main.having = s.b.list({s.b.binary(Op::Gt, s.b.binary(Op::Div, s.b.constant(Type::I64, int64_t(10)), three),
                                             s.b.constant(Type::I64, int64_t(100)))});
        GroupTable table;
        add(table, Group{1, false, rows, 1, 5, 5, real});
        table.states[1].high = high;
        table.states[1].low = low;
        const Program program = s.program();
        host::GroupFilter filter(program, nullptr, nullptr);
        filter.add(std::move(table));
        return filter.finish().ngroups;
    };
    EXPECT_EQ(0u, run(0, 1, 8, 2));
    EXPECT_EQ(0u, run(1, 1, 0, 2));
    EXPECT_THROW(run(1, 1, 8, 2), RowError);
    EXPECT_THROW(run(0, std::numeric_limits<double>::infinity(), 8, 2), RowError);
    EXPECT_THROW(run(0, 1, 8, 3), RowError);
    EXPECT_EQ(0u, run(0, 1, 8, 2, INT64_MAX));
    EXPECT_EQ(0u, run(0, 1, 4, 2, INT32_MAX));
    EXPECT_EQ(0u, run(-1, 1, 4, 2, static_cast<uint64_t>(int64_t(INT32_MIN))));
    EXPECT_THROW(run(0, 1, 4, 2, static_cast<uint64_t>(INT32_MAX) + 1), RowError);
    EXPECT_THROW(run(-1, 1, 4, 2, static_cast<uint64_t>(int64_t(INT32_MIN) - 1)), RowError);
    EXPECT_THROW(run(1, 1, 4, 2, 7), RowError);
}

// By floats downwards with NULLs first, then by the sum of the smallest and the count, then by the key with NULL last.
TEST(GroupSort, Orders) {
    for (const size_t n : {0, 1, 2, 300, 200000}) {
        Sifted s;
        const Index expression = s.b.binary(Op::Add, s.smallest, s.count);
        s.b.p.orders = {{s.floats, 1, 1, {}}, {expression, 0, 0, {}}, {s.key, 0, 0, {}}};
        s.main.order.count = 3;
        s.main.sorted = 1;
        const std::vector<Group> groups = random_groups(n, n + 1);
        GroupTable table;
        for (const Group &g : groups)
            add(table, g);
        const GroupTable sorted = host::sort_groups(s.program(), std::move(table), {}, nullptr, nullptr);
        ASSERT_EQ(n, sorted.ngroups);
        auto rank = [](const Group &g) { // smaller comes first
            const double real = std::isnan(g.real) ? -std::numeric_limits<double>::infinity() : 0.0 - g.real;
            return std::make_tuple(g.values != 0, g.values != 0 ? real : 0, g.values == 0,
                                   g.values != 0 ? g.smallest + g.rows : 0, g.null, g.key);
        };
        std::vector<Group> expected = groups;
        std::sort(expected.begin(), expected.end(), [&](const Group &a, const Group &b) { return rank(a) < rank(b); });
        for (size_t i = 0; i < n; ++i) {
            ASSERT_EQ(expected[i].null, sorted.key_nulls[i] != 0) << i << " of " << n;
            if (!expected[i].null) {
                ASSERT_EQ(expected[i].key, static_cast<int32_t>(sorted.keys[i].low)) << i << " of " << n;
            }
            ASSERT_EQ(expected[i].rows, sorted.states[i * 4].count); // the whole group has moved
            ASSERT_EQ(static_cast<uint64_t>(expected[i].sum), sorted.states[i * 4 + 1].low);
        }
    }
}

} // namespace
} // namespace gpuscan
