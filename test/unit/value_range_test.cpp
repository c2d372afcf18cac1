// Interval arithmetic: what it says of an expression holds of every row, and it says something.
#include <gtest/gtest.h>

#include "engine/ir/expr_walk.hpp"
#include "engine/ir/value_range.hpp"
#include "program_builder.hpp"
#include "random_cases.hpp"

namespace gpuscan {
namespace {

using namespace ir;
using reference::Case;
using reference::Datum;
using reference::Interpreter;
using test::ProgramBuilder;

constexpr uint32_t most_rows = 24;

// The bounds of values that are not floats.
ValueRange hull_of(const std::vector<Datum> &values, Type type) {
    int128 min = 1, max = 0;
    bool null = false, any = false;
    for (const Datum &v : values) {
        null = null || v.null;
        if (v.null)
            continue;
        min = any ? std::min(min, v.i) : v.i;
        max = any ? std::max(max, v.i) : v.i;
        any = true;
    }
    ValueRange r = is_float(type) ? ValueRange() : ValueRange::of(min, max, null);
    r.null = null;
    r.value = any;
    return r;
}

struct Said {
    uint64_t known = 0, no_value = 0, never_null = 0, no_error = 0, errors = 0;
};

void expect_within(const ValueRange &r, Type type, const Datum &v) {
    if (v.null) {
        EXPECT_TRUE(r.null) << "NULL";
        return;
    }
    EXPECT_TRUE(r.value) << "a value";
    if (r.known) {
        EXPECT_FALSE(is_float(type));
        EXPECT_TRUE(r.min <= v.i && v.i <= r.max)
            << static_cast<double>(v.i) << " is not between " << static_cast<double>(r.min) << " and "
            << static_cast<double>(r.max);
    }
}

// The source's rows are first narrowed to a few, so that bounds are tight; `random` hides some of what is known.
void check_chunk(const Case &c, const reference::Chunk &chunk, std::mt19937_64 &random, Said &said) {
    const Program &p = c.program;
    const uint32_t nrows = std::min(chunk.nrows, most_rows),
                   first = static_cast<uint32_t>(random() % (chunk.nrows - nrows + 1));
    std::vector<reference::Row> rows(nrows, reference::Row(1));
    std::vector<ValueRange> columns;
    for (size_t i = 0; i < chunk.columns.size(); ++i) {
        const std::vector<Datum> values(chunk.columns[i].begin() + first, chunk.columns[i].begin() + first + nrows);
        const Type type = p.source_columns[p.sources[p.main().source].columns.first + i].type;
        columns.push_back(random() % 5 == 0 ? ValueRange() : hull_of(values, type));
        for (uint32_t r = 0; r < nrows; ++r)
            rows[r][0].push_back(values[r]);
    }
    ValueRanges ranges(p, {[&](const Expr &e) { return columns[e.b]; },
                           [&](const Expr &e, const ValueRange &) { return hull_of(c.lookups[e.b].entries, e.type); }});
    const std::vector<uint8_t> later = somewhere(p.exprs, [](const Expr &e) { return e.op == Op::Column && e.a != 0; });
    std::vector<Index> roots;
    for (Index i = 0; i < p.main().conjuncts.count; ++i)
        roots.push_back(p.conjuncts[p.main().conjuncts.first + i].expr);
    for (const Range &list : {p.main().keys, p.main().payload})
        for (Index i = 0; i < list.count; ++i)
            roots.push_back(p.lists[list.first + i]);
    Interpreter interpreter(c);
    for_each_needed(p.exprs, roots, [&](Index node) {
        if (later[node])
            return true;
        SCOPED_TRACE("node " + std::to_string(node) + " of operator " +
                     std::to_string(static_cast<int>(p.exprs[node].op)));
        const ValueRange r = ranges.of(node);
        EXPECT_LE(r.min, r.max);
        for (const reference::Row &row : rows) {
            try {
                expect_within(r, p.exprs[node].type, interpreter.evaluate(node, row));
            } catch (const reference::SqlError &) {
                EXPECT_TRUE(r.raises) << "an error";
                ++said.errors;
            }
        }
        said.known += r.known;
        said.no_value += !r.value;
        said.never_null += !r.null;
        said.no_error += !r.raises && raises_itself(p.exprs.data(), p.exprs[node]);
        return !::testing::Test::HasFailure();
    });
}

TEST(ValueRanges, HoldOfEveryRow) {
    Said said;
    for (uint64_t seed = 1; seed <= 4000 && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Case c =
            seed % 2 == 0 ? reference::random_case(seed, seed % 3 == 0) : reference::random_rows(seed, seed % 3 == 0);
        std::mt19937_64 random(seed);
        for (const reference::Chunk &chunk : c.sources[c.program.main().source])
            if (chunk.nrows > 0)
                check_chunk(c, chunk, random, said);
    }
    EXPECT_GT(said.known, 10000u);
    EXPECT_GT(said.no_value, 100u);
    EXPECT_GT(said.never_null, 5000u);
    EXPECT_GT(said.no_error, 1000u);
    EXPECT_GT(said.errors, 100u);
}

// What the table says of each function, of arguments near its limits and near the ends of the calendar.
TEST(ValueRanges, ImagesOfFunctions) {
    std::mt19937_64 random(1);
    for (Index i = 0; i < function_count; ++i) {
        const Function f = static_cast<Function>(i);
        const FunctionInfo &info = function_info(f);
        SCOPED_TRACE(info.name);
        if (info.image.kind == Image::Kind::Any)
            continue;
        ASSERT_EQ(info.arguments, 1);
        const bool grows = info.image.kind == Image::Kind::Grows;
        const bool day = info.argument == Type::I32;
        const int64_t ends[] = {day ? -2451545 : -211813488000000000, day ? 2145031942 : 9223371331199999999};
        for (int n = 0; n < 50000 && !::testing::Test::HasFailure(); ++n) {
            const int64_t near = static_cast<int64_t>(random() >> random() % 64);
            Datum a, b;
            if (grows) {
                const uint64_t span = static_cast<uint64_t>(info.image.max - info.image.min);
                a.i = n % 2 == 0 ? info.image.min + static_cast<int64_t>(random() % span)
                                 : info.image.max - near % static_cast<int64_t>(span);
                a.i = std::max<int128>(std::min<int128>(a.i, info.image.max), info.image.min);
                b.i = std::min<int128>(info.image.max, a.i + static_cast<int64_t>(random() >> (1 + random() % 63)));
                EXPECT_LE(Interpreter::call(f, a).i, Interpreter::call(f, b).i); // (throws where one is an error)
                continue;
            }
            const int128 v = n % 3 == 0   ? near
                             : n % 3 == 1 ? static_cast<int128>(ends[0]) + (near & INT64_MAX)
                                          : static_cast<int128>(ends[1]) - (near & INT64_MAX);
            a.i = std::max<int128>(std::min<int128>(v, ends[1]), ends[0]);
            const int128 r = Interpreter::call(f, a).i;
            EXPECT_TRUE(info.image.min <= r && r <= info.image.max) << static_cast<double>(a.i);
        }
    }
}

// By hand: one column, of which so much is known.
class ValueRangeTest : public ::testing::Test {
  protected:
    ProgramBuilder b;
    Index column(Type type, const ValueRange &r) {
        known.push_back(r);
        return b.column(type, 0, static_cast<Index>(known.size() - 1));
    }
    ValueRange of(Index expr) const {
        ValueRanges ranges(b.program, {[&](const Expr &e) { return known[e.b]; }, nullptr});
        return ranges.of(expr);
    }
    void expect(const ValueRange &r, int128 min, int128 max, bool raises) const {
        EXPECT_TRUE(r.known && r.min == min && r.max == max)
            << static_cast<double>(r.min) << " " << static_cast<double>(r.max);
        EXPECT_EQ(r.raises, raises);
    }
    std::vector<ValueRange> known;
};

TEST_F(ValueRangeTest, Integers) {
    const Index all = column(Type::I64, ValueRange()), some = column(Type::I64, ValueRange::of(-3, 10)),
                one = b.constant(Type::I64, 1);
    expect(of(all), INT64_MIN, INT64_MAX, false);
    expect(of(b.expr(Op::Neg, Type::I64, all)), -INT64_MAX, INT64_MAX, true);
    expect(of(b.expr(Op::Neg, Type::I64, some)), -10, 3, false);
    expect(of(b.expr(Op::Add, Type::I64, all, one)), int128(INT64_MIN) + 1, INT64_MAX, true);
    expect(of(b.expr(Op::Mul, Type::I64, some, some)), -30, 100, false);
    expect(of(b.expr(Op::Div, Type::I64, one, some)), INT64_MIN, INT64_MAX, true);
    expect(of(b.expr(Op::Mod, Type::I64, some, b.constant(Type::I64, 4))), -3, 3, false);
    expect(of(b.expr(Op::Cast, Type::I16, all)), INT16_MIN, INT16_MAX, true);
    expect(of(b.expr(Op::Cast, Type::I16, some)), -3, 10, false);
    const Index day = column(Type::I32, ValueRange::of(0, 400)), any_day = column(Type::I32, ValueRange());
    const Index year = static_cast<Index>(Function::Year);
    expect(of(b.expr(Op::Call, Type::I64, day, none, year)), 2000, 2001, false);
    expect(of(b.expr(Op::Call, Type::I64, any_day, none, year)), INT64_MIN, INT64_MAX, true);
    const Index shifted = b.expr(Op::Call, Type::I64, some, some, static_cast<Index>(Function::ShiftLeft64));
    expect(of(shifted), INT64_MIN, INT64_MAX, true);
}

// 128 bits: what is known is far from their ends.
TEST_F(ValueRangeTest, LargeIntegers) {
    const int128 large = int128(1) << 99;
    const Index x = column(Type::I128, ValueRange::of(-large, large));
    EXPECT_FALSE(of(x).raises);
    const Index twice = b.expr(Op::Add, Type::I128, x, x);
    expect(of(twice), -2 * large, 2 * large, false);
    const Index more = b.expr(Op::Add, Type::I128, twice, twice);
    EXPECT_FALSE(of(more).known);
    EXPECT_TRUE(of(more).raises);
    EXPECT_FALSE(of(b.expr(Op::Mul, Type::I128, x, x)).known);
    EXPECT_FALSE(of(b.expr(Op::Neg, Type::I128, column(Type::I128, ValueRange()))).known);
}

TEST_F(ValueRangeTest, FloatsHaveNoBounds) {
    const Index f = column(Type::F64, ValueRange::of(1, 2)), n = column(Type::I32, ValueRange::of(1, 2, false));
    EXPECT_FALSE(of(f).known);
    EXPECT_FALSE(of(b.expr(Op::Cast, Type::F64, n)).known);
    EXPECT_FALSE(of(b.expr(Op::Cast, Type::F64, n)).null);
    EXPECT_TRUE(of(b.expr(Op::Cast, Type::I32, f)).raises);
    const Index nan = b.compare(Op::Gt, f, b.constant_bits(Type::F64, 0));
    expect(of(nan), 0, 1, false);
}

TEST_F(ValueRangeTest, Nulls) {
    const Index nothing = column(Type::I32, ValueRange::of(1, 0)), n = column(Type::I32, ValueRange::of(5, 6, false));
    EXPECT_FALSE(of(nothing).value);
    EXPECT_FALSE(of(b.expr(Op::Add, Type::I32, n, nothing)).value);
    expect(of(b.expr(Op::IsNull, Type::Bool, nothing)), 1, 1, false);
    expect(of(b.expr(Op::Coalesce, Type::I32, nothing, n)), 5, 6, false);
    EXPECT_FALSE(of(b.expr(Op::Coalesce, Type::I32, nothing, n)).null);
    expect(of(b.expr(Op::Case, Type::I32, b.compare(Op::Lt, n, b.constant(Type::I32, 6)), n, nothing)), 5, 6, false);
    expect(of(b.expr(Op::Case, Type::I32, b.compare(Op::Lt, n, b.constant(Type::I32, 7)), b.constant(Type::I32, 1), n)),
           1, 1, false);
}

} // namespace
} // namespace gpuscan
