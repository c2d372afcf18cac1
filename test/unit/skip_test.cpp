// Skipping by bounds: rows that are left out change no answer and hide no error; and what can be left out is.
#include "engine/store/skip.hpp"
#include "host/host_device.hpp"
#include "program_builder.hpp"
#include "random_cases.hpp"
#include "reference_check.hpp"

namespace gpuscan {
namespace {

using namespace ir;
using reference::Case;
using reference::Datum;
using test::ProgramBuilder;

constexpr uint32_t zone = 64; // the least that a slice may begin at

// Values that follow the rows' order, so that zones differ.
void cluster(Case &c, uint64_t seed) {
    std::mt19937_64 random(seed);
    for (reference::Chunk &chunk : c.sources[c.program.main().source]) {
        const uint64_t shift = random() % 21;
        for (Index i = 0; i < chunk.columns.size(); ++i) {
            const Range columns = c.program.sources[c.program.main().source].columns;
            const Type type = c.program.source_columns[columns.first + i].type;
            if (is_float(type) || type == Type::Code || type == Type::Bool || random() % 3 == 0)
                continue;
            for (uint32_t r = 0; r < chunk.nrows; ++r)
                chunk.columns[i][r].i = static_cast<int128>((r / zone * 3 + shift) % 21) - 10;
            if (random() % 3 == 0 && chunk.nrows > 0) // a zone of NULLs, where they may be
                for (uint32_t r = 0; r < std::min(zone, chunk.nrows); ++r)
                    chunk.columns[i][r].null = c.program.source_columns[columns.first + i].nullable != 0;
        }
    }
}

// The bounds of the zones of each column, as a cache has them; `views` get their addresses.
std::vector<ZoneMap> zones_of(const std::vector<reference::Chunk> &chunks, std::vector<ChunkView> &views) {
    std::vector<ZoneMap> all;
    for (size_t i = 0; i < chunks.size(); ++i)
        for (size_t c = 0; c < chunks[i].columns.size(); ++c) {
            ZoneMap zones(chunks[i].nrows / zone + 1);
            for (uint32_t r = 0; r < chunks[i].nrows; ++r) {
                const Datum &v = chunks[i].columns[c][r];
                ColumnStats one;
                one.any_null = v.null;
                one.any_value = !v.null;
                one.any_wide = !v.null && v.i != static_cast<int64_t>(v.i);
                if (!v.null && !one.any_wide)
                    one.min = one.max = static_cast<int64_t>(v.i);
                zones[r / zone].merge(one);
            }
            all.push_back(std::move(zones));
            views[i].columns[c].zones = all.back().data(); // (moving the vectors about keeps their memory)
        }
    return all;
}

struct Contents {
    std::vector<uint8_t> values, nulls;
};

std::vector<Contents> contents_of(const Case &c) {
    std::vector<Contents> contents;
    for (size_t l = 0; l < c.lookups.size(); ++l) {
        const size_t width = type_width(c.program.lookups[l].type);
        Contents one;
        for (const Datum &v : c.lookups[l].entries) {
            one.values.resize(one.values.size() + width);
            reference::put_bytes(c.program.lookups[l].type, v, &one.values[one.values.size() - width]);
            one.nulls.push_back(v.null);
        }
        contents.push_back(std::move(one));
    }
    return contents;
}

struct Outcome {
    Skipped skipped;
    bool error = false;
};

Outcome run_skipping(Device &device, const Case &c) {
    const reference::Expected want = reference::interpret(c);
    const std::vector<Contents> contents = contents_of(c);
    Outcome outcome;
    try {
        auto execution = reference::start_on(device, c, nullptr);
        const Index pipeline = static_cast<Index>(c.program.pipelines.size() - 1), source = c.program.main().source;
        GroupMerger merger(c.program);
        RowTable rows;
        for (size_t pass = 0; pass < c.passes; ++pass) {
            const auto &chunks = c.sources[source];
            const std::vector<reference::Chunk> part(
                chunks.begin() + static_cast<long>(chunks.size() * pass / c.passes),
                chunks.begin() + static_cast<long>(chunks.size() * (pass + 1) / c.passes));
            reference::Loaded data = reference::load(device, c.program, source, part);
            const std::vector<ZoneMap> zones = zones_of(part, data.views);
            Skipper skipper(
                c.program, pipeline,
                [&](Index lookup) {
                    return LookupContents{&contents[lookup].values, &contents[lookup].nulls};
                },
                [&](Index build, Index key) { return execution->finished_build(build)->key_bounds(key); });
            const Skipped skipped = skipper.skip(data.views, zone);
            outcome.skipped.chunks += skipped.chunks;
            outcome.skipped.rows += skipped.rows;
            if (c.program.main().sink == SinkKind::Rows) {
                RowTable some = execution->run_rows(data.views);
                for (RowBlock &block : some.blocks)
                    rows.add(std::move(block));
            } else {
                merger.add(execution->run_aggregate(data.views));
            }
        }
        run_unmatched(
            c.program, *execution,
            [&](const Program &program) { return reference::prepare_on(device, c, program, nullptr); },
            [&](Execution &rest, const std::vector<ChunkView> &views) {
                if (c.program.main().sink == SinkKind::Rows) {
                    RowTable some = rest.run_rows(views);
                    for (RowBlock &block : some.blocks)
                        rows.add(std::move(block));
                } else {
                    merger.add(rest.run_aggregate(views));
                }
                return true;
            });
        EXPECT_FALSE(want.error && c.program.main().limit == 0) << "no error raised";
        if (want.error || want.sum_error)
            return outcome;
        if (c.program.main().sink == SinkKind::Rows)
            reference::expect_same(c.program, want, rows);
        else
            reference::expect_same(c.program, want, merger.finish());
    } catch (const RowError &) {
        EXPECT_TRUE(want.error || want.sum_error) << "unexpected error raised";
        outcome.error = true;
    }
    return outcome;
}

TEST(Skip, ChangesNoAnswer) {
    auto device = make_host_device(2);
    uint64_t skipping = 0, errors = 0;
    for (uint64_t seed = 1; seed <= 1500 && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Case c = seed % 3 == 0   ? reference::random_rows(seed)
                 : seed % 3 == 1 ? reference::random_case(seed)
                                 : reference::random_case(seed, true);
        cluster(c, seed);
        const Outcome outcome = run_skipping(*device, c);
        skipping += outcome.skipped.rows > 0;
        errors += outcome.error;
    }
    EXPECT_GT(skipping, 200u);
    EXPECT_GT(errors, 50u);
}

// One column of rows 0, 1, 2, ... in zones, and a second one with NULLs only in the last zone.
class SkipTest : public ::testing::Test {
  protected:
    SkipTest() {
        b.source({{Type::I32, 0, {}}, {Type::I64, 1, {}}, {Type::Code, 1, {}}});
        a = b.column(Type::I32, 0, 0);
        n = b.column(Type::I64, 0, 1);
        code = b.column(Type::Code, 0, 2);
        view.nrows = 4 * zone;
        zones.resize(3, ZoneMap(4));
        for (uint32_t z = 0; z < 4; ++z) {
            zones[0][z] = stats(z * zone, z * zone + zone - 1);
            zones[1][z] = stats(-5, 5);
            zones[1][z].any_null = z == 3;
            zones[2][z] = stats(2 * z, 2 * z + 1);
        }
        view.columns.resize(3);
        const Type types[] = {Type::I32, Type::I64, Type::Code};
        for (size_t c = 0; c < 3; ++c) {
            view.columns[c].type = types[c];
            view.columns[c].values = nowhere;
            view.columns[c].zones = zones[c].data();
            view.columns[c].has_range = true;
        }
        view.columns[0].min = 0, view.columns[0].max = 4 * zone - 1;
        view.columns[1].min = -5, view.columns[1].max = 5;
        view.columns[1].nulls = nowhere;
        view.columns[2].min = 0, view.columns[2].max = 7;
    }
    static ColumnStats stats(int64_t min, int64_t max) {
        ColumnStats s;
        s.any_value = true;
        s.min = min;
        s.max = max;
        return s;
    }
    Index number(int64_t value) { return b.constant(Type::I32, value); }
    Index large(int64_t value) { return b.constant(Type::I64, value); }

    // What is left of the chunk under these conditions, as the zones' numbers.
    std::string left(const std::vector<ProgramBuilder::ConjunctSpec> &conjuncts,
                     const std::vector<ProgramBuilder::JoinSpec> &joins = {}) {
        ProgramBuilder all = b;
        all.aggregate(0, conjuncts, joins, {}, {{AggregateKind::CountRows}});
        Skipper skipper(
            all.program, static_cast<Index>(all.program.pipelines.size() - 1),
            [&](Index) {
                return truth.empty() ? LookupContents{nullptr, nullptr} : LookupContents{&truth, &nulls};
            },
            [&](Index, Index) { return table; });
        std::vector<ChunkView> chunks = {view};
        const Skipped skipped = skipper.skip(chunks, zone);
        std::string text;
        uint32_t rows = 0;
        for (const ChunkView &chunk : chunks) {
            const auto first = static_cast<const uint8_t *>(chunk.columns[0].values) - nowhere;
            for (uint32_t z = 0; z < chunk.nrows / zone; ++z)
                text += std::to_string(static_cast<uint32_t>(first) / 4 / zone + z);
            EXPECT_EQ(static_cast<const uint8_t *>(chunk.columns[1].values) - nowhere, 2 * first);
            EXPECT_EQ(chunk.columns[1].nulls - nowhere, first / 4);
            rows += chunk.nrows;
        }
        EXPECT_EQ(skipped.rows, view.nrows - rows);
        EXPECT_EQ(skipped.chunks, chunks.empty());
        return text;
    }

    ProgramBuilder b;
    Index a, n, code;
    ChunkView view;
    std::vector<ZoneMap> zones;
    std::vector<uint8_t> truth, nulls;
    ColumnStats table;
    uint8_t nowhere[4 * zone * 8] = {};
};

TEST_F(SkipTest, Comparisons) {
    EXPECT_EQ(left({}), "0123");
    EXPECT_EQ(left({{b.compare(Op::Lt, a, number(zone))}}), "0");
    EXPECT_EQ(left({{b.compare(Op::Le, a, number(zone))}}), "01");
    EXPECT_EQ(left({{b.compare(Op::Gt, a, number(3 * zone - 1))}}), "3");
    EXPECT_EQ(left({{b.compare(Op::Ge, a, number(3 * zone - 1))}}), "23");
    EXPECT_EQ(left({{b.compare(Op::Ge, number(zone), a)}}), "01");
    EXPECT_EQ(left({{b.compare(Op::Eq, a, number(2 * zone))}}), "2");
    EXPECT_EQ(left({{b.compare(Op::Eq, a, number(4 * zone))}}), "");
    EXPECT_EQ(left({{b.compare(Op::Ne, a, number(5))}}), "0123");
    EXPECT_EQ(left({{b.compare(Op::Ge, a, number(zone))}, {b.compare(Op::Lt, a, number(2 * zone))}}), "1");
    EXPECT_EQ(left({{b.compare(Op::Lt, a, number(0))}}), "");
    EXPECT_EQ(left({{b.compare(Op::Eq, a, b.constant(Type::I32, 0, true))}}), "");
    EXPECT_EQ(left({{b.constant(Type::Bool, 0)}}), "");
}

TEST_F(SkipTest, LogicAndNulls) {
    const Index first = b.compare(Op::Lt, a, number(zone)), last = b.compare(Op::Ge, a, number(3 * zone));
    EXPECT_EQ(left({{b.expr(Op::Or, Type::Bool, first, last)}}), "03");
    EXPECT_EQ(left({{b.expr(Op::And, Type::Bool, first, last)}}), "");
    EXPECT_EQ(left({{b.expr(Op::Not, Type::Bool, first)}}), "123");
    EXPECT_EQ(left({{b.expr(Op::IsTrue, Type::Bool, last)}}), "3");
    EXPECT_EQ(left({{b.expr(Op::IsNull, Type::Bool, n)}}), "3");
    EXPECT_EQ(left({{b.expr(Op::IsNull, Type::Bool, a)}}), "");
    const Index absent = b.constant(Type::I32, 0, true);
    EXPECT_EQ(left({{b.compare(Op::Lt, b.expr(Op::Case, Type::I32, last, a, absent), number(zone))}}), "");
    EXPECT_EQ(left({{b.compare(Op::Lt, b.expr(Op::Case, Type::I32, first, a, absent), number(zone))}}), "0");
    EXPECT_EQ(left({{b.expr(Op::Case, Type::Bool, last, b.constant(Type::Bool, 1), b.constant(Type::Bool, 0))}}), "3");
    EXPECT_EQ(left({{b.compare(Op::Lt, b.expr(Op::Coalesce, Type::I32, absent, a), number(zone))}}), "0");
    zones[0][1] = ColumnStats(); // nothing but NULLs
    zones[0][1].any_null = true;
    EXPECT_EQ(left({{b.compare(Op::Ge, a, number(0))}}), "023");
    EXPECT_EQ(left({{b.expr(Op::IsNotNull, Type::Bool, a)}}), "023");
}

TEST_F(SkipTest, Arithmetic) {
    const Index sum = b.expr(Op::Add, Type::I32, a, number(100));
    EXPECT_EQ(left({{b.compare(Op::Lt, sum, number(100 + zone))}}), "0");
    const Index negative = b.expr(Op::Neg, Type::I32, a);
    EXPECT_EQ(left({{b.compare(Op::Gt, negative, number(-static_cast<int64_t>(zone)))}}), "0");
    const Index quarter = b.expr(Op::Div, Type::I32, a, number(zone));
    EXPECT_EQ(left({{b.compare(Op::Eq, quarter, number(2))}}), "2");
    const Index wide = b.expr(Op::Mul, Type::I64, b.expr(Op::Cast, Type::I64, a), large(1000000000));
    EXPECT_EQ(left({{b.compare(Op::Lt, wide, large(1000000000))}}), "0");
}

// A condition that could raise an error ends the search: PostgreSQL would show it.
TEST_F(SkipTest, ErrorsAreNotHidden) {
    const Index none_left = b.compare(Op::Lt, a, number(0));
    const Index overflow = b.compare(Op::Gt, b.expr(Op::Add, Type::I32, a, number(INT32_MAX)), number(0));
    EXPECT_EQ(left({{overflow}, {none_left}}), "0123");
    EXPECT_EQ(left({{none_left}, {overflow}}), "");
    const Index by_zero = b.compare(Op::Gt, b.expr(Op::Div, Type::I64, large(1), n), large(5));
    EXPECT_EQ(left({{by_zero}}), "0123");
    EXPECT_EQ(left({{b.compare(Op::Eq, a, number(7))}, {by_zero}}), "0");
    // Only the last zones could overflow.
    const Index late = b.compare(Op::Lt, b.expr(Op::Add, Type::I32, a, number(INT32_MAX - 2 * zone)), number(0));
    EXPECT_EQ(left({{late}}), "23");
}

// Nothing but NULLs in the chunk: there are no bounds to compute with.
TEST_F(SkipTest, NoValueHasNoBounds) {
    for (ZoneMap &of_column : zones)
        of_column.clear();
    for (ColumnView &column : view.columns)
        column.zones = nullptr;
    view.columns[1].min = INT64_MAX, view.columns[1].max = INT64_MIN;
    EXPECT_EQ(left({{b.compare(Op::Gt, n, large(3))}}), "");
    EXPECT_EQ(left({{b.expr(Op::IsNotNull, Type::Bool, n)}}), "");
    const Index most = b.expr(Op::Add, Type::I64, n, large(INT64_MAX));
    const Index zero = b.expr(Op::Add, Type::I64, most, large(1)); // the largest value there is not would be 0
    for (Op op : {Op::Div, Op::Mod})
        EXPECT_EQ(left({{b.compare(Op::Gt, b.expr(op, Type::I64, large(1), zero), large(3))}}), "0123");
}

TEST_F(SkipTest, TextsByTheirTables) {
    truth = {0, 0, 0, 1, 0, 0, 0, 0, 0};
    nulls = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    const Index matches = b.lookup(Type::Bool, 0, 2, code);
    EXPECT_EQ(left({{matches}}), "1");
    zones[2][3].any_null = true;
    truth.back() = 1;
    EXPECT_EQ(left({{matches}}), "13");
    nulls.back() = 1;
    EXPECT_EQ(left({{matches}}), "1");
    truth.resize(3), nulls.resize(3); // covers the codes of the first zone only
    EXPECT_EQ(left({{matches}}), "123");
}

// What may be asked only of rows that have passed all before it rules out nothing, and so does what stands behind it, if it may fail:
// whatever the bounds say of that.
TEST_F(SkipTest, GuardedConditionsTellNothing) {
    const Index first = b.compare(Op::Lt, a, number(zone)), none_left = b.compare(Op::Lt, a, number(0));
    EXPECT_EQ(left({{none_left, 0, true}}), "0123");
    EXPECT_EQ(left({{first}, {none_left, 0, true}}), "0");
    EXPECT_EQ(left({{none_left, 0, true}, {first}}), "0");
    const Index sum = b.compare(Op::Lt, b.expr(Op::Add, Type::I32, a, number(1)), number(0));
    EXPECT_EQ(left({{sum, 0, true}, {first}}), "0123");
    const Index source = b.source({{Type::I32, 0, {}}});
    const Index build = b.build(source, {}, {}, {b.column(Type::I32, 0, 0)}, {});
    table = stats(zone + 3, zone + 9);
    EXPECT_EQ(left({}, {{build, {a}, JoinKind::Inner, {}, true}}), "0123");
}

TEST_F(SkipTest, JoinsByTheBoundsOfTheirKeys) {
    const Index source = b.source({{Type::I32, 0, {}}});
    const Index key = b.column(Type::I32, 0, 0);
    const Index build = b.build(source, {}, {}, {key}, {});
    table = stats(zone + 3, zone + 9);
    EXPECT_EQ(left({}, {{build, {a}}}), "1");
    table.any_wide = true;
    EXPECT_EQ(left({}, {{build, {a}}}), "0123");
    table = ColumnStats();
    EXPECT_EQ(left({}, {{build, {a}}}), "");
    // An error before the join, or of its key, counts; one behind it does not.
    const Index overflow = b.expr(Op::Add, Type::I32, a, number(INT32_MAX));
    EXPECT_EQ(left({}, {{build, {overflow}}}), "0123");
    EXPECT_EQ(left({{b.compare(Op::Gt, overflow, number(0)), 0}}, {{build, {a}}}), "0123");
    EXPECT_EQ(left({{b.compare(Op::Gt, overflow, number(0)), 1}}, {{build, {a}}}), "");
}

TEST(ZoneMapTest, WidenMoveTell) {
    ColumnStats low, high, all;
    low.any_value = high.any_value = all.any_value = true;
    low.min = 0, low.max = 9;
    high.min = 90, high.max = 99;
    all.min = 0, all.max = 99;
    ZoneMap zones;
    widen_zone_map(zones, 0, 0, low);
    EXPECT_TRUE(zones.empty());
    widen_zone_map(zones, 0, zone_rows, low);
    widen_zone_map(zones, zone_rows, 10, high);
    ASSERT_EQ(zones.size(), 2u);
    EXPECT_EQ(zones[0].max, 9);
    EXPECT_EQ(zones[1].min, 90);
    EXPECT_TRUE(zone_map_narrows(zones, all));
    ZoneMap moved;
    move_zone_map(zones, zone_rows - 1, 3, moved, 5);
    ASSERT_EQ(moved.size(), 1u);
    EXPECT_EQ(moved[0].min, 0);
    EXPECT_EQ(moved[0].max, 99);
    widen_zone_map(zones, zone_rows - 1, 2, all);
    EXPECT_FALSE(zone_map_narrows(zones, all));
    EXPECT_FALSE(zone_map_narrows(moved, all));
}

} // namespace
} // namespace gpuscan
