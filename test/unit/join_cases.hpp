// Every kind of join over every form of a table, with and without filters of its own: for all devices.
#pragma once

#include "case_builder.hpp"
#include "reference_check.hpp"

namespace gpuscan::test {

using namespace reference;

enum class Spread : uint8_t { Dense, Far, Wide, None }; // how far apart the keys lie, and with it the form of the table

struct JoinShape {
    JoinKind kind;
    Spread spread;
    size_t build_rows;
    int64_t build_keys; // different ones: fewer than rows make duplicates
    bool filtered;
    bool nulls; // in keys and payload
    uint32_t probe_rows;
    int same = 1; // rows of each key in the table of the second join
};

// So many rows of keys 0..96 joined with a table of `build_keys` of them; groups by a column of the left side, and what the
// join delivers is looked at by an aggregate, a filter behind the join and another join's key.
inline Case join_kind_case(const JoinShape &shape) {
    const Type key = shape.spread == Spread::Wide ? Type::I128 : Type::I64;
    const int128 factor = shape.spread == Spread::Wide  ? static_cast<int128>(1) << 90
                          : shape.spread == Spread::Far ? 1000003
                                                        : 1;
    Case c;
    Builder b;
    const Index table = b.source({key, Type::I32, Type::Bool}), next = b.source({Type::I32});
    const Index main = b.source({key, Type::I32, Type::I32});
    Pipeline build, small, probe;
    build.source = table;
    build.sink = small.sink = SinkKind::Build;
    const bool keyed = shape.spread != Spread::None;
    const Index build_key = b.column(key, 0, 0);
    build.keys = keyed ? b.list({build_key}) : Range();
    if (delivers_payload(shape.kind) || shape.filtered) // else its keys are all that is kept
        build.payload = b.list({b.column(Type::I32, 0, 1), b.column(Type::Bool, 0, 2)});
    small.source = next;
    small.keys = b.list({b.column(Type::I32, 0, 0)});
    probe.source = main;
    Join join;
    join.build = 0;
    join.kind = shape.kind;
    const Index probe_key = b.column(key, 0, 0);
    join.keys = keyed ? b.list({probe_key}) : Range();
    const Index payload = b.column(Type::I32, 1, 0), flag = b.column(Type::Bool, 1, 1);
    const Index other = b.binary(Op::Ne, payload, b.column(Type::I32, 0, 1));
    if (shape.filtered)
        join.filters = b.list({other, b.binary(Op::Or, flag, b.binary(Op::Lt, payload, b.constant(Type::I32, 5)))});
    Join second;
    second.build = 1;
    second.kind = JoinKind::Left;
    second.keys = b.list({delivers_payload(shape.kind) ? payload : b.column(Type::I32, 0, 2)});
    probe.joins = b.joins({join, second});
    std::vector<Aggregate> aggregates{aggregate(AggregateKind::CountRows)};
    if (delivers_payload(shape.kind)) {
        aggregates.push_back(aggregate(AggregateKind::Sum, payload));
        aggregates.push_back(aggregate(AggregateKind::Count, flag));
        const Index odd = b.unary(Op::IsNull, Type::Bool, payload);
        probe.conjuncts = b.conjuncts({{b.binary(Op::Or, odd, other), 1}});
    }
    probe.keys = b.list({b.column(Type::I32, 0, 2)});
    probe.aggregates = b.aggregates(aggregates);
    b.p.pipelines = {build, small, probe};
    c.program = b.p;

    auto datum = [&](int128 v, bool null) {
        Datum d;
        d.null = shape.nulls && null;
        d.i = v;
        return d;
    };
    Chunk rows, build_rows, seven;
    rows.nrows = shape.probe_rows;
    rows.columns.resize(3);
    for (int i = 0; i < static_cast<int>(rows.nrows); ++i) {
        rows.columns[0].push_back(datum(i * 7 % 97 * factor, i % 11 == 0));
        rows.columns[1].push_back(datum(i % 13, i % 17 == 0));
        rows.columns[2].push_back(datum(i % 8, i % 19 == 0));
    }
    build_rows.nrows = static_cast<uint32_t>(shape.build_rows);
    build_rows.columns.resize(3);
    for (int i = 0; i < static_cast<int>(shape.build_rows); ++i) {
        build_rows.columns[0].push_back(datum(i % shape.build_keys * factor, i % 5 == 0));
        build_rows.columns[1].push_back(datum(i % 10, i % 7 == 0));
        build_rows.columns[2].push_back(datum(i % 3 == 0, i % 4 == 0));
    }
    seven.nrows = static_cast<uint32_t>(7 * shape.same);
    seven.columns.resize(1);
    for (int i = 0; i < 7 * shape.same; ++i)
        seven.columns[0].push_back(datum(i % 7, false));
    for (Chunk *chunk : {&rows, &build_rows, &seven})
        chunk->ranged.assign(chunk->columns.size(), 1);
    c.sources = {{build_rows}, {seven}, {rows}};
    return c;
}

inline void check_join_kinds(Device &device) {
    for (JoinKind kind :
         {JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti, JoinKind::Right, JoinKind::Full})
        for (Spread spread : {Spread::Dense, Spread::Far, Spread::Wide, Spread::None})
            for (int rows : {0, 1, 60, 200})
                for (bool filtered : {false, true}) {
                    const bool unkeyed = spread == Spread::None;
                    if ((filtered && kind == JoinKind::Inner) || (rows == (unkeyed ? 200 : 1)))
                        continue;
                    const JoinShape shape{kind,
                                          spread,
                                          static_cast<size_t>(rows),
                                          rows == 60 ? 60 : 50,
                                          filtered && kind != JoinKind::Inner,
                                          rows != 60 || filtered,
                                          unkeyed ? 300u : 3000u};
                    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", spread " +
                                 std::to_string(static_cast<int>(spread)) + ", " + std::to_string(rows) + " rows" +
                                 (filtered ? ", filtered" : ""));
                    EXPECT_FALSE(check(device, join_kind_case(shape)));
                }
}

// Few rows with many partners, of which each has several in the next table or one.
inline void check_long_chains(Device &device) {
    for (JoinKind kind : {JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full})
        for (Spread spread : {Spread::Dense, Spread::Far, Spread::None})
            for (bool filtered : {false, true})
                for (int same : {1, 3}) {
                    if (filtered && kind == JoinKind::Inner)
                        continue;
                    const size_t rows = spread == Spread::None ? 4500 : 12000;
                    const JoinShape shape{kind, spread, rows, 50, filtered, true, 23, same};
                    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", spread " +
                                 std::to_string(static_cast<int>(spread)) + ", " + std::to_string(same) + " of a key" +
                                 (filtered ? ", filtered" : ""));
                    EXPECT_FALSE(check(device, join_kind_case(shape)));
                }
}

} // namespace gpuscan::test
