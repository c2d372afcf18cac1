// Which codes a deferred lookup is asked for: the programs that collect them.
#include <gtest/gtest.h>

#include "engine/store/deferred_evaluation.hpp"
#include "program_builder.hpp"

namespace gpuscan {
namespace {

using namespace ir;
using test::ProgramBuilder;

class DeferredEvaluationTest : public ::testing::Test {
  protected:
    DeferredEvaluationTest() {
        source = b.source({{Type::Code}, {Type::Code}, {Type::I32}});
        n = b.column(Type::I32, 0, 2);
        above = b.compare(Op::Gt, n, b.constant(Type::I32, 5));
    }

    Index deferred(Index column) {
        const Index node = b.lookup(Type::Bool, source, column, b.column(Type::Code, 0, column));
        b.program.lookups.back().deferred = 1;
        return node;
    }

    // The conjuncts of the program that collects the codes of a deferred lookup.
    static std::vector<Index> conjuncts(const Program &p) {
        std::vector<Index> exprs;
        for (Index i = 0; i < p.main().conjuncts.count; ++i)
            exprs.push_back(p.conjuncts[p.main().conjuncts.first + i].expr);
        return exprs;
    }

    // Is the expression true for a row where these nodes have the values (1 true, 0 false, -1 NULL)?
    static int value(const Program &p, Index i, const std::map<Index, int> &known) {
        const auto given = known.find(i);
        if (given != known.end())
            return given->second;
        const Expr &e = p.exprs[i];
        auto of = [&](Index operand) { return value(p, operand, known); };
        switch (e.op) {
        case Op::And:
            return of(e.a) == 0 || of(e.b) == 0 ? 0 : of(e.a) < 0 || of(e.b) < 0 ? -1 : 1;
        case Op::Or:
            return of(e.a) == 1 || of(e.b) == 1 ? 1 : of(e.a) < 0 || of(e.b) < 0 ? -1 : 0;
        case Op::Not:
            return of(e.a) < 0 ? -1 : 1 - of(e.a);
        case Op::IsTrue:
            return of(e.a) == 1;
        case Op::IsNull:
            return of(e.a) < 0;
        default:
            ADD_FAILURE() << "a node that no condition is made of";
            return -1;
        }
    }

    ProgramBuilder b;
    Index source, n, above;
};

TEST_F(DeferredEvaluationTest, NothingIsDeferredWithoutALookup) {
    b.aggregate(source, {{above}}, {}, {}, {{AggregateKind::CountRows}});
    EXPECT_TRUE(deferred_lookups_of(b.program, 0).empty());
}

TEST_F(DeferredEvaluationTest, FiltersBeforeItComeFirst) {
    const Index f = deferred(0), g = deferred(1);
    b.aggregate(source, {{above}, {f}, {g}}, {}, {f}, {{AggregateKind::CountRows}});
    const std::vector<DeferredLookup> found = deferred_lookups_of(b.program, 0);
    ASSERT_EQ(2u, found.size()); // the key's codes are known by then
    EXPECT_EQ(f, found[0].node);
    EXPECT_EQ(g, found[1].node);
    const Program first = program_of_deferred(b.program, 0, found[0]);
    EXPECT_EQ(std::vector<Index>({above}), conjuncts(first));
    EXPECT_EQ(SinkKind::Aggregate, first.main().sink);
    ASSERT_EQ(1u, first.main().keys.count);
    EXPECT_EQ(b.program.exprs[f].a, first.lists[first.main().keys.first]);
    EXPECT_EQ(std::vector<Index>({above, f}), conjuncts(program_of_deferred(b.program, 0, found[1])));
}

TEST_F(DeferredEvaluationTest, OnlyWhereItIsEvaluated) {
    const Index f = deferred(0), g = deferred(1);
    const Index arms = b.expr(Op::Case, Type::Bool, above, f, g);
    b.aggregate(source, {{arms}}, {}, {}, {{AggregateKind::CountRows}});
    const std::vector<DeferredLookup> found = deferred_lookups_of(b.program, 0);
    ASSERT_EQ(2u, found.size());
    for (int truth : {1, 0, -1}) {
        for (const DeferredLookup &deferred : found) {
            const Program p = program_of_deferred(b.program, 0, deferred);
            ASSERT_EQ(1u, conjuncts(p).size());
            EXPECT_EQ((deferred.node == f) == (truth == 1), value(p, conjuncts(p)[0], {{above, truth}}) == 1);
        }
    }
}

TEST_F(DeferredEvaluationTest, AndOrAndCoalesceStopWhereTheyAreDecided) {
    struct Case {
        Op op;
        bool met[3]; // where the left side is true, false, NULL
    };
    for (const Case &c : {Case{Op::And, {true, false, true}}, Case{Op::Or, {false, true, true}},
                          Case{Op::Coalesce, {false, false, true}}}) {
        DeferredEvaluationTest::b = ProgramBuilder();
        source = b.source({{Type::Code}, {Type::Code}, {Type::I32}});
        n = b.column(Type::I32, 0, 2);
        above = b.compare(Op::Gt, n, b.constant(Type::I32, 5));
        const Index f = deferred(0);
        b.aggregate(source, {{b.expr(c.op, Type::Bool, above, f)}}, {}, {}, {{AggregateKind::CountRows}});
        const std::vector<DeferredLookup> found = deferred_lookups_of(b.program, 0);
        ASSERT_EQ(1u, found.size());
        const Program p = program_of_deferred(b.program, 0, found[0]);
        const int truths[] = {1, 0, -1};
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(c.met[i], value(p, conjuncts(p)[0], {{above, truths[i]}}) == 1);
    }
}

// (above AND f) OR (f AND g): whoever asks for g needs to know f, and f is asked for twice, under different conditions.
TEST_F(DeferredEvaluationTest, ConditionsReadWhatIsThere) {
    const Index f = deferred(0), g = deferred(1);
    const Index left = b.expr(Op::And, Type::Bool, above, f), right = b.expr(Op::And, Type::Bool, f, g);
    b.aggregate(source, {{b.expr(Op::Or, Type::Bool, left, right)}}, {}, {}, {{AggregateKind::CountRows}});
    const std::vector<DeferredLookup> found = deferred_lookups_of(b.program, 0);
    ASSERT_EQ(3u, found.size());
    EXPECT_EQ(f, found[0].node);
    EXPECT_EQ(f, found[1].node);
    EXPECT_EQ(g, found[2].node);
    const Program first = program_of_deferred(b.program, 0, found[0]);
    const Program second = program_of_deferred(b.program, 0, found[1]);
    EXPECT_EQ(1, value(first, conjuncts(first)[0], {{above, 1}}));
    EXPECT_EQ(0, value(first, conjuncts(first)[0], {{above, 0}}));
    EXPECT_EQ(1, value(second, conjuncts(second)[0], {{above, 0}, {f, 1}}));
    EXPECT_EQ(0, value(second, conjuncts(second)[0], {{above, 1}, {f, 1}}));
}

TEST_F(DeferredEvaluationTest, JoinsBeforeItAreThere) {
    const Index other = b.source({{Type::Code}, {Type::I32}});
    const Index key = b.column(Type::I32, 0, 1);
    b.build(other, {}, {}, {key}, {b.column(Type::Code, 0, 0)});
    const Index f = deferred(0);
    const Index g = b.lookup(Type::Bool, other, 0, b.column(Type::Code, 1, 0));
    b.program.lookups.back().deferred = 1;
    b.aggregate(source, {{f}, {g, 1}}, {{0, {n}}}, {}, {{AggregateKind::CountRows}});
    EXPECT_TRUE(deferred_lookups_of(b.program, 0).empty());
    const std::vector<DeferredLookup> found = deferred_lookups_of(b.program, 1);
    ASSERT_EQ(2u, found.size());
    EXPECT_EQ(0u, program_of_deferred(b.program, 1, found[0]).main().joins.count);
    const Program second = program_of_deferred(b.program, 1, found[1]);
    EXPECT_EQ(1u, second.main().joins.count);
    EXPECT_EQ(std::vector<Index>({f}), conjuncts(second));
    EXPECT_EQ(2u, second.pipelines.size());
    b.program.joins[0].kind = JoinKind::Right;
    EXPECT_THROW(deferred_lookups_of(b.program, 1), std::runtime_error);
}

} // namespace
} // namespace gpuscan
