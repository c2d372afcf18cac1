// Joins by two keys of which one is asked first by the host device's semi-join filter (host/join_table.hpp): both forms of table, types of
// either key, duplicates, NULLs, values beside the filter's, and a filter that lets too much through.
#include "case_builder.hpp"
#include "host/host_device.hpp"
#include "reference_check.hpp"

namespace gpuscan::test {
namespace {

using namespace reference;

constexpr int main_rows = 1800, domain = 1600;

struct Shape {
    Type first, second;
    int build_rows;
    int every;     // of the domain's values comes so seldom among the build side's
    int128 factor; // between values of the second key
    bool nulls;
};

Datum datum(int128 value, bool null) {
    Datum d;
    d.null = null;
    d.i = value;
    return d;
}

Case two_keys(const Shape &shape) {
    Case c;
    Builder b;
    const Index table = b.source({shape.first, shape.second, Type::I32}),
                main = b.source({shape.first, shape.second, Type::I32});
    Pipeline build, probe;
    build.source = table;
    build.sink = SinkKind::Build;
    build.keys = b.list({b.column(shape.first, 0, 0), b.column(shape.second, 0, 1)});
    build.payload = b.list({b.column(Type::I32, 0, 2)});
    probe.source = main;
    Join join;
    join.build = 0;
    join.keys = b.list({b.column(shape.first, 0, 0), b.column(shape.second, 0, 1)});
    probe.joins = b.joins({join});
    probe.keys = b.list({b.column(Type::I32, 0, 2)});
    probe.aggregates =
        b.aggregates({aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Sum, b.column(Type::I32, 1, 0))});
    b.p.pipelines = {build, probe};
    c.program = b.p;

    Chunk rows, build_rows;
    const auto add = [&](Chunk &chunk, int first, int second, int other, bool null) {
        chunk.columns[0].push_back(datum(first - domain / 2, null && other % 2 == 0));
        // (What is beyond 64 bits has the same lower half.)
        const int128 beyond = shape.second == Type::I128 && other % 5 == 1 ? int128(1) << 64 : 0;
        chunk.columns[1].push_back(
            datum(second * shape.factor + (&chunk == &rows ? beyond : 0), null && other % 3 == 0));
        chunk.columns[2].push_back(datum(other % 8, false));
    };
    rows.columns.resize(3);
    build_rows.columns.resize(3);
    // (Both ends of the domain, and beyond them; each tenth row has a partner's keys, if it has any.)
    for (int i = 0; i < main_rows; ++i) {
        const int partner = i % 10 == 0 ? i / 10 * 3 % shape.build_rows : -1;
        add(rows, partner >= 0 ? partner * shape.every % domain : i * 37 % (domain + 100) - 50,
            partner >= 0 ? partner % 4 : i % 5, i / 10, shape.nulls && i % 3 == 0);
    }
    for (int i = 0; i < shape.build_rows; ++i)
        add(build_rows, i * shape.every % domain, i % 4, i, shape.nulls && i % 7 == 0);
    rows.nrows = main_rows;
    build_rows.nrows = static_cast<uint32_t>(shape.build_rows);
    for (Chunk *chunk : {&rows, &build_rows})
        chunk->ranged.assign(3, 1);
    c.sources = {{build_rows}, {rows}};
    return c;
}

TEST(SemiJoinFilter, RowsFindTheirPartners) {
    auto device = make_host_device(2);
    constexpr int128 far = int128(1) << 50, wide = int128(1) << 90;
    for (const Type first : {Type::I16, Type::I32, Type::I64, Type::I128})
        for (const auto &[second, factor] :
             {std::pair<Type, int128>{Type::I64, far}, {Type::I128, far}, {Type::I128, wide}, {Type::I32, 1}})
            for (const int every : {1, 7, 400})
                for (const int rows : {3, 60, 700})
                    for (const bool nulls : {false, true}) {
                        SCOPED_TRACE("types " + std::to_string(int(first)) + " and " + std::to_string(int(second)) +
                                     ", every " + std::to_string(every) + ", " + std::to_string(rows) + " rows" +
                                     (nulls ? ", NULLs" : ""));
                        EXPECT_FALSE(check(*device, two_keys({first, second, rows, every, factor, nulls})));
                    }
}

// A filter is made where it can be of use.
TEST(SemiJoinFilter, IsTold) {
    auto device = make_host_device(2);
    for (const int every : {1, 7}) {
        const Case c = two_keys({Type::I32, Type::I64, 60, every, int128(1) << 50, false});
        ExecutionStats stats;
        expect_same(c.program, interpret(c), run_on(*device, c, nullptr, &stats));
        EXPECT_EQ(every > 1, stats.joins.at(0).find(", semi-join filter") != std::string::npos) << stats.joins.at(0);
    }
}

} // namespace
} // namespace gpuscan::test
