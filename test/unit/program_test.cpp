// Programs on the wire: what is written is read back, and nothing that is broken gets through.
#include <stdexcept>

#include "engine/ir/program.hpp"
#include "random_cases.hpp"

namespace gpuscan {
namespace {

using namespace reference;

template <class T> bool same_bytes(const std::vector<T> &a, const std::vector<T> &b) {
    return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

TEST(Program, RoundTrip) {
    for (uint64_t seed = 1; seed < 200; ++seed) {
        Program p = seed % 3 == 0 ? random_rows(seed).program : random_case(seed).program;
        std::string wire = serialize_program(p);
        Program q = parse_program(wire.data(), wire.size());
        EXPECT_TRUE(same_bytes(p.exprs, q.exprs));
        EXPECT_TRUE(same_bytes(p.constants, q.constants));
        EXPECT_TRUE(same_bytes(p.lists, q.lists));
        EXPECT_EQ(p.pipelines.size(), q.pipelines.size());
        EXPECT_EQ(p.main().limit, q.main().limit);
        EXPECT_EQ(wire, serialize_program(q));
    }
}

TEST(Program, TruncatedEverywhere) {
    std::string wire = serialize_program(random_case(7).program);
    for (size_t n = 0; n + 8 < wire.size(); ++n) {
        std::string part = wire.substr(0, n); // its own allocation, so that a sanitizer sees reads beyond
        EXPECT_THROW(parse_program(part.data(), part.size()), std::runtime_error) << n;
    }
}

// Whatever bytes change, the answer is a program that can run or an exception.
TEST(Program, FlippedBytes) {
    std::mt19937 random(1);
    size_t refused = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string wire = serialize_program(random_case(1 + static_cast<uint64_t>(round) % 50).program);
        for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips)
            wire[random() % wire.size()] = static_cast<char>(random() % 3 ? random() % 8 : random());
        try {
            parse_program(wire.data(), wire.size());
        } catch (const std::runtime_error &) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 5000u);
}

// select sum(a + b) from t join u on t.a = u.a where a < 3
Builder small() {
    Builder b;
    Index u = b.source({Type::I32, Type::F64}), t = b.source({Type::I32, Type::I32, Type::Code});
    Pipeline build, main;
    build.source = u;
    build.sink = SinkKind::Build;
    build.keys = b.list({b.column(Type::I32, 0, 0)});
    build.payload = b.list({b.column(Type::F64, 0, 1)});
    Index a = b.column(Type::I32, 0, 0);
    main.source = t;
    main.conjuncts = b.conjuncts({{b.binary(Op::Lt, a, b.constant(Type::I32, 3)), 0}});
    main.joins = b.joins({{0, b.list({a})}});
    main.aggregates = b.aggregates({aggregate(AggregateKind::Sum, b.binary(Op::Add, a, b.column(Type::I32, 0, 1)))});
    b.p.pipelines = {build, main};
    return b;
}

bool accepted(const Builder &b) {
    std::string wire = serialize_program(b.p);
    try {
        parse_program(wire.data(), wire.size());
        return true;
    } catch (const std::runtime_error &) {
        return false;
    }
}

TEST(Program, Accepted) { EXPECT_TRUE(accepted(small())); }

TEST(Program, Budgets) {
    auto of_depth = [](Index depth) {
        Builder b = small();
        Index e = b.p.conjuncts[0].expr;
        Index deep = b.unary(Op::Not, Type::Bool, e);
        std::vector<Index> depths(b.p.exprs.size(), 1);
        for (size_t i = 0; i < b.p.exprs.size(); ++i)
            for_each_operand(b.p.exprs[i],
                             [&](Index operand) { depths[i] = std::max(depths[i], depths[operand] + 1); });
        for (Index d = depths[deep]; d < depth; ++d)
            deep = b.unary(Op::Not, Type::Bool, deep);
        b.p.conjuncts[0].expr = deep;
        return accepted(b);
    };
    EXPECT_TRUE(of_depth(max_expr_depth));
    EXPECT_FALSE(of_depth(max_expr_depth + 1));
    auto of_size = [](Index size) {
        Builder b = small();
        while (b.p.exprs.size() < size)
            b.unary(Op::Not, Type::Bool, b.p.conjuncts[0].expr);
        return accepted(b);
    };
    EXPECT_TRUE(of_size(max_exprs));
    EXPECT_FALSE(of_size(max_exprs + 1));
}

TEST(Program, Refused) {
    auto refused = [](auto change) {
        Builder b = small();
        change(b);
        return !accepted(b);
    };
    auto lookup = [](Builder &b, Index column, Type type) {
        Lookup l;
        l.type = type;
        l.source = 1;
        l.column = column;
        b.p.lookups.push_back(l);
    };
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines.clear(); }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines[0].sink = SinkKind::Aggregate; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines[1].sink = SinkKind::Build; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines[1].source = 2; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines[0].keys.count = 0; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines[0].keys.first = 0xfffffff0; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines[1].aggregates.count = 2; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.joins[0].build = 1; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.joins[0].keys.count = 2; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.conjuncts[0].after = 2; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.conjuncts[0].expr = b.p.joins[0].keys.first; })); // not Bool
    EXPECT_TRUE(refused([](Builder &b) { b.p.exprs.back().a = static_cast<Index>(b.p.exprs.size() - 1); }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.exprs.back().type = Type::I64; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.exprs.back().op = static_cast<Op>(200); }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.exprs[0].type = static_cast<Type>(8); }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.source_columns[0].type = Type::I64; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.constants[0].type = Type::I64; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.aggregates[0].kind = static_cast<AggregateKind>(9); }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.aggregates[0].arg = none; }));
    // what no pipeline uses names expressions that exist, too
    EXPECT_TRUE(refused([](Builder &b) { b.p.lists.push_back(static_cast<Index>(b.p.exprs.size())); }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.conjuncts.push_back({static_cast<Index>(b.p.exprs.size()), 0}); }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.orders.push_back({static_cast<Index>(b.p.exprs.size())}); }));
    EXPECT_TRUE(refused([](Builder &b) {
        b.p.aggregates.push_back(aggregate(AggregateKind::Max, static_cast<Index>(b.p.exprs.size())));
    }));
    EXPECT_FALSE(refused([](Builder &b) { b.p.lists.push_back(0); }));
    // a column of the join's payload before the join
    EXPECT_TRUE(refused([](Builder &b) {
        Index c = b.unary(Op::IsNull, Type::Bool, b.column(Type::F64, 1, 0));
        b.p.conjuncts[0].expr = c;
    }));
    EXPECT_FALSE(refused([](Builder &b) {
        b.p.conjuncts[0] = {b.unary(Op::IsNull, Type::Bool, b.column(Type::F64, 1, 0)), 1};
    }));
    // filters see the join's own partners; what an error in them would mean is not defined where partners are only sought
    auto join = [](Builder &b, JoinKind kind, Index filter) {
        b.p.joins[0].kind = kind;
        b.p.joins[0].filters = b.list({filter});
        b.p.aggregates[0] = aggregate(AggregateKind::CountRows);
        b.p.pipelines[1].aggregates = {0, 1};
        b.p.pipelines[1].conjuncts.count = 0;
    };
    auto is_null = [](Builder &b) { return b.unary(Op::IsNull, Type::Bool, b.column(Type::F64, 1, 0)); };
    for (JoinKind kind : {JoinKind::Left, JoinKind::Semi, JoinKind::Anti})
        EXPECT_FALSE(refused([&](Builder &b) { join(b, kind, is_null(b)); }));
    EXPECT_TRUE(refused([&](Builder &b) { join(b, JoinKind::Inner, is_null(b)); }));
    EXPECT_TRUE(refused([&](Builder &b) { join(b, static_cast<JoinKind>(6), is_null(b)); }));
    EXPECT_TRUE(refused([&](Builder &b) { join(b, JoinKind::Left, b.column(Type::F64, 1, 0)); }));
    EXPECT_TRUE(refused([&](Builder &b) {
        join(b, JoinKind::Semi, is_null(b));
        b.p.aggregates[0] = aggregate(AggregateKind::Count, b.column(Type::F64, 1, 0));
    }));
    auto raises = [](Builder &b) {
        const Index sum = b.binary(Op::Add, b.column(Type::F64, 1, 0), b.column(Type::F64, 1, 0));
        return b.unary(Op::IsNull, Type::Bool, sum);
    };
    EXPECT_FALSE(refused([&](Builder &b) { join(b, JoinKind::Left, raises(b)); }));
    EXPECT_TRUE(refused([&](Builder &b) { join(b, JoinKind::Anti, raises(b)); }));
    // a pipeline of rows has no groups, and only such a pipeline has a limit
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines[1].sink = SinkKind::Rows; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines[0].sink = SinkKind::Rows; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines[1].limit = 1; }));
    EXPECT_TRUE(refused([](Builder &b) { b.p.pipelines[1].sink = static_cast<SinkKind>(3); }));
    auto deliver = [](Builder &b, Index output) {
        Pipeline &main = b.p.pipelines[1];
        main.sink = SinkKind::Rows;
        main.aggregates.count = 0;
        main.payload = b.list({output});
    };
    EXPECT_FALSE(refused([&](Builder &b) {
        deliver(b, b.column(Type::F64, 1, 0));
        b.p.pipelines[1].limit = 5;
    }));
    EXPECT_FALSE(refused([&](Builder &b) { deliver(b, b.column(Type::Code, 0, 2)); }));
    EXPECT_TRUE(refused([&](Builder &b) { deliver(b, b.column(Type::F64, 2, 0)); }));
    EXPECT_TRUE(refused([&](Builder &b) {
        deliver(b, b.column(Type::Code, 0, 2));
        b.p.pipelines[1].keys = b.p.pipelines[1].payload;
    }));
    EXPECT_TRUE(refused([&](Builder &b) {
        b.p.pipelines[1].sink = SinkKind::Rows;
        b.p.pipelines[1].aggregates.count = 0;
        b.p.pipelines[1].payload = b.list(std::vector<Index>(max_row_outputs + 1, b.column(Type::Code, 0, 2)));
    }));
    // codes have no order, lookups read coded columns only
    EXPECT_TRUE(refused([](Builder &b) {
        Index c = b.column(Type::Code, 0, 2);
        b.p.conjuncts[0].expr = b.binary(Op::Lt, c, c);
    }));
    EXPECT_TRUE(refused([&](Builder &b) { lookup(b, 0, Type::Bool); }));
    EXPECT_TRUE(refused([&](Builder &b) { lookup(b, 3, Type::Bool); }));
    EXPECT_TRUE(refused([&](Builder &b) { lookup(b, 2, Type::I128); }));
    EXPECT_FALSE(refused([&](Builder &b) { lookup(b, 2, Type::Bool); }));
    EXPECT_TRUE(refused([&](Builder &b) { // deferred, of nothing
        lookup(b, 2, Type::Bool);
        b.p.lookups.back().deferred = 1;
        b.p.lookups.back().source = none;
    }));
}

} // namespace
} // namespace gpuscan
