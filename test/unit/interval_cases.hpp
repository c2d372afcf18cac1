// Joins by intervals, so many entries that all threads sort one key's: for all devices.
#pragma once

#include <random>

#include "case_builder.hpp"
#include "reference_check.hpp"

namespace gpuscan::test {

using namespace reference;

struct IntervalShape {
    JoinKind kind;
    bool keyed;
    bool low, high, strict;
    size_t entries, rows;
};

// count(*) and the sum of an entry's number, over rows (key, x) joined with entries (key, low, high, number).
inline void check_interval_join(Device &device, const IntervalShape &shape) {
    std::mt19937_64 random(shape.entries + shape.rows);
    const auto drawn = [&](size_t n, int64_t below, int nulls) {
        std::vector<Datum> values(n);
        for (Datum &d : values) {
            d.i = static_cast<int64_t>(random() % static_cast<uint64_t>(below));
            d.null = nulls > 0 && random() % static_cast<uint64_t>(nulls) == 0;
        }
        return values;
    };
    const int64_t domain = static_cast<int64_t>(shape.entries) * 3;
    std::vector<Datum> keys = drawn(shape.entries, 3, 0), low = drawn(shape.entries, domain, 50), high = low,
                       number(shape.entries);
    for (size_t i = 0; i < shape.entries; ++i) {
        high[i].i += static_cast<int64_t>(random() % 8) - 2; // now and then an empty one
        high[i].null = random() % 40 == 0;
        number[i].i = static_cast<int64_t>(i);
    }
    const std::vector<Datum> row_keys = drawn(shape.rows, 4, 0), x = drawn(shape.rows, domain, 30);

    int64_t count = 0;
    int128 sum = 0;
    for (size_t r = 0; r < shape.rows; ++r) {
        bool any = false;
        for (size_t e = 0; e < shape.entries; ++e) {
            if (shape.keyed && row_keys[r].i != keys[e].i)
                continue;
            const int64_t at = static_cast<int64_t>(x[r].i), from = static_cast<int64_t>(low[e].i),
                          to = static_cast<int64_t>(high[e].i);
            if (x[r].null || (shape.low && (low[e].null || !(shape.strict ? from < at : from <= at))) ||
                (shape.high && (high[e].null || !(shape.strict ? at < to : at <= to))))
                continue;
            any = true;
            if (!delivers_payload(shape.kind))
                break;
            ++count;
            sum += number[e].i;
        }
        count +=
            shape.kind == JoinKind::Left || shape.kind == JoinKind::Anti ? !any : shape.kind == JoinKind::Semi && any;
    }

    Builder b;
    const Index table = b.source({Type::I32, Type::I64, Type::I64, Type::I64}),
                main_rows = b.source({Type::I32, Type::I64});
    Pipeline build, main;
    build.source = table;
    build.sink = SinkKind::Build;
    build.keys = shape.keyed ? b.list({b.column(Type::I32, 0, 0)}) : Range();
    build.payload = b.list({b.column(Type::I64, 0, 1), b.column(Type::I64, 0, 2), b.column(Type::I64, 0, 3)});
    main.source = main_rows;
    Join join;
    join.build = 0;
    join.kind = shape.kind;
    join.keys = shape.keyed ? b.list({b.column(Type::I32, 0, 0)}) : Range();
    const Index at = b.column(Type::I64, 0, 1);
    std::vector<Index> conditions;
    if (shape.low)
        conditions.push_back(b.binary(shape.strict ? Op::Lt : Op::Le, b.column(Type::I64, 1, 0), at));
    if (shape.high)
        conditions.push_back(b.binary(shape.strict ? Op::Lt : Op::Le, at, b.column(Type::I64, 1, 1)));
    if (shape.kind != JoinKind::Inner)
        join.filters = b.list(conditions);
    main.joins = b.joins({join});
    std::vector<Conjunct> conjuncts;
    for (const Index condition : conditions)
        if (shape.kind == JoinKind::Inner)
            conjuncts.push_back({condition, 1});
    main.conjuncts = b.conjuncts(conjuncts);
    std::vector<Aggregate> aggregates{aggregate(AggregateKind::CountRows)};
    if (delivers_payload(shape.kind))
        aggregates.push_back(aggregate(AggregateKind::Sum, b.column(Type::I64, 1, 2)));
    main.aggregates = b.aggregates(aggregates);
    b.p.pipelines = {build, main};
    Case c;
    c.program = b.p;
    c.sources = {{chunk_of({keys, low, high, number})}, {chunk_of({row_keys, x})}};
    const GroupTable got = run_on(device, c);
    ASSERT_EQ(1u, got.ngroups);
    EXPECT_EQ(count, got.states[0].count);
    if (delivers_payload(shape.kind)) {
        EXPECT_EQ(static_cast<uint64_t>(sum), got.states[1].low);
    }
}

inline void check_interval_joins(Device &device, size_t entries, size_t rows) {
    for (JoinKind kind : {JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti})
        for (bool keyed : {false, true})
            for (int bounds = 1; bounds <= 3; ++bounds) {
                // (One bound alone leaves half of all pairs.)
                const size_t n = bounds == 3 ? entries : entries / 100 + 1;
                const IntervalShape shape{kind, keyed, (bounds & 1) != 0, (bounds & 2) != 0, bounds != 3 || keyed,
                                          n,    rows};
                SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + (keyed ? ", keyed" : "") + ", bounds " +
                             std::to_string(bounds));
                check_interval_join(device, shape);
            }
}

} // namespace gpuscan::test
