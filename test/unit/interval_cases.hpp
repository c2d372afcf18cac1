// Joins by intervals, so many entries that all threads sort one key's: for all devices.
#pragma once

#include <random>
#include <string>
#include <utility>

#include "case_builder.hpp"
#include "reference_check.hpp"

namespace gpuscan::test {

using namespace reference;

struct IntervalShape {
    JoinKind kind;
    bool keyed;
    bool low, high, strict;
    size_t entries, rows;
    Type type = Type::I64; // of the bounds' columns, and cast to those of the rows
    int64_t shift = 0;     // added to lower bounds, which are asked last then
};

struct IntervalData {
    std::vector<Datum> keys, low, high; // of entries
    std::vector<Datum> row_keys, x;     // of rows
};

// count(*) and the sum of an entry's number, over rows (key, x) joined with entries (key, low, high, number). What the device says of
// its table.
inline std::string check_interval_data(Device &device, const IntervalShape &shape, const IntervalData &data) {
    std::vector<Datum> number(data.low.size());
    int64_t count = 0;
    int128 sum = 0;
    std::vector<bool> met(data.low.size(), false);
    for (size_t e = 0; e < number.size(); ++e)
        number[e].i = static_cast<int64_t>(e);
    for (size_t r = 0; r < data.x.size(); ++r) {
        bool any = false;
        for (size_t e = 0; e < number.size(); ++e) {
            if (shape.keyed && data.row_keys[r].i != data.keys[e].i)
                continue;
            const int128 at = data.x[r].i, from = data.low[e].i + shape.shift, to = data.high[e].i;
            if (data.x[r].null || (shape.low && (data.low[e].null || !(shape.strict ? from < at : from <= at))) ||
                (shape.high && (data.high[e].null || !(shape.strict ? at < to : at <= to))))
                continue;
            any = met[e] = true;
            if (!delivers_payload(shape.kind))
                break;
            ++count;
            sum += number[e].i;
        }
        if (keeps_rows(shape.kind) || shape.kind == JoinKind::Anti)
            count += !any;
        else if (shape.kind == JoinKind::Semi)
            count += any;
    }
    for (size_t e = 0; keeps_table(shape.kind) && e < number.size(); ++e) {
        count += !met[e];
        sum += met[e] ? 0 : number[e].i;
    }

    Builder b;
    const Index table = b.source({Type::I32, shape.type, shape.type, Type::I64}),
                main_rows = b.source({Type::I32, Type::I64});
    Pipeline build, main;
    build.source = table;
    build.sink = SinkKind::Build;
    build.keys = shape.keyed ? b.list({b.column(Type::I32, 0, 0)}) : Range();
    build.payload = b.list({b.column(shape.type, 0, 1), b.column(shape.type, 0, 2), b.column(Type::I64, 0, 3)});
    main.source = main_rows;
    Join join;
    join.build = 0;
    join.kind = shape.kind;
    join.keys = shape.keyed ? b.list({b.column(Type::I32, 0, 0)}) : Range();
    const Index at = b.column(Type::I64, 0, 1);
    const auto bound = [&](Index column) {
        const Index of = b.column(shape.type, 1, column);
        return shape.type == Type::I64 ? of : b.unary(Op::Cast, Type::I64, of);
    };
    std::vector<Index> conditions;
    if (shape.low) {
        Index low = bound(0);
        if (shape.shift != 0)
            low = b.binary(Op::Add, low, b.constant(Type::I64, shape.shift));
        conditions.push_back(b.binary(shape.strict ? Op::Lt : Op::Le, low, at));
    }
    if (shape.high) {
        const Index high = b.binary(shape.strict ? Op::Lt : Op::Le, at, bound(1));
        conditions.insert(shape.shift != 0 ? conditions.begin() : conditions.end(), high);
    }
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
    c.sources = {{chunk_of({data.keys, data.low, data.high, number})}, {chunk_of({data.row_keys, data.x})}};
    ExecutionStats stats;
    const GroupTable got = run_on(device, c, nullptr, &stats);
    EXPECT_EQ(1u, got.ngroups);
    EXPECT_EQ(count, got.states[0].count);
    if (delivers_payload(shape.kind)) {
        EXPECT_EQ(static_cast<uint64_t>(sum), got.states[1].low);
    }
    return stats.joins.at(0);
}

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
    IntervalData data;
    data.keys = drawn(shape.entries, 3, 0);
    data.low = data.high = drawn(shape.entries, domain, 50);
    for (Datum &high : data.high) {
        high.i += static_cast<int64_t>(random() % 8) - 2; // now and then an empty one
        high.null = random() % 40 == 0;
    }
    data.row_keys = drawn(shape.rows, 4, 0);
    data.x = drawn(shape.rows, domain, 30);
    check_interval_data(device, shape, data);
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

// Entries whose order is no help, or is at the ends of the type; and what the table says of its order.
inline void check_interval_edges(Device &device) {
    struct Entries {
        std::string name;
        std::vector<std::pair<int64_t, int64_t>> bounds;
        bool null_low = false, null_high = false;
    };
    std::vector<Entries> all{{"none", {}}, {"one", {{5, 9}}}, {"two", {{7, 9}, {-3, 8}}}};
    all.push_back({"equal", std::vector<std::pair<int64_t, int64_t>>(300, {5, 9})});
    all.push_back({"empty ones", std::vector<std::pair<int64_t, int64_t>>(300, {9, 5})});
    all.push_back({"no lower bound", all[3].bounds, true, false});
    all.push_back({"no upper bound", all[3].bounds, false, true});
    all.push_back({"ends",
                   {{INT64_MAX, INT64_MAX},
                    {INT64_MIN, INT64_MIN},
                    {INT64_MIN, INT64_MAX},
                    {INT64_MAX, INT64_MIN},
                    {INT64_MIN + 1, INT64_MAX - 1}}});
    all.push_back({"nested", {}});
    for (int64_t i = 0; i < 257; ++i)
        all.back().bounds.push_back({i, i % 16 == 0 ? 600 - i : i + 1});
    const std::vector<IntervalShape> shapes{{JoinKind::Inner, false, true, true, false, 0, 0},
                                            {JoinKind::Left, false, true, true, false, 0, 0},
                                            {JoinKind::Right, false, true, true, false, 0, 0},
                                            {JoinKind::Full, false, true, true, true, 0, 0},
                                            {JoinKind::Semi, false, true, true, true, 0, 0},
                                            {JoinKind::Anti, false, true, true, false, 0, 0},
                                            {JoinKind::Inner, false, true, true, true, 0, 0},
                                            {JoinKind::Inner, false, true, false, false, 0, 0},
                                            {JoinKind::Right, false, false, true, false, 0, 0},
                                            {JoinKind::Inner, false, true, true, false, 0, 0, Type::I16},
                                            {JoinKind::Left, false, true, true, true, 0, 0, Type::I32},
                                            {JoinKind::Inner, false, true, true, false, 0, 0, Type::I64, 5},
                                            {JoinKind::Right, false, true, true, true, 0, 0, Type::I32, -2}};
    for (size_t s = 0; s < shapes.size(); ++s)
        for (const Entries &entries : all) {
            SCOPED_TRACE("shape " + std::to_string(s) + ", entries: " + entries.name);
            const bool ends = entries.name == "ends";
            if (ends && shapes[s].type != Type::I64)
                continue;
            IntervalData data;
            for (const auto &[low, high] : entries.bounds) {
                data.keys.emplace_back();
                data.low.emplace_back();
                data.low.back().i = low;
                data.low.back().null = entries.null_low;
                data.high.emplace_back();
                data.high.back().i = high;
                data.high.back().null = entries.null_high;
            }
            for (int64_t x : {int64_t(4), int64_t(5), int64_t(9), int64_t(10), int64_t(300), int64_t(0), INT64_MIN,
                              INT64_MAX, INT64_MAX - 1}) {
                data.row_keys.emplace_back();
                data.x.emplace_back();
                data.x.back().i = x;
                data.x.back().null = x == 0;
            }
            // (A lower bound beyond the type is no row's error as long as no upper one passes; INT64_MAX passes some.)
            const bool raises = ends && shapes[s].shift != 0;
            std::string said;
            try {
                said = check_interval_data(device, shapes[s], data);
                EXPECT_FALSE(raises);
            } catch (const RowError &) {
                EXPECT_TRUE(raises);
                continue;
            }
            EXPECT_EQ(entries.bounds.size() > 1, said.find("by interval") != std::string::npos) << said;
        }
    // An error that no pair meets: every pair is looked at.
    IntervalData data;
    for (const int64_t low : {int64_t(3), INT64_MAX}) {
        data.keys.emplace_back();
        data.low.emplace_back();
        data.low.back().i = low;
        data.high.emplace_back();
        data.high.back().i = low == 3 ? 20 : -1;
        data.row_keys.emplace_back();
        data.x.emplace_back();
        data.x.back().i = low == 3 ? 8 : 20;
    }
    const IntervalShape raising{JoinKind::Inner, false, true, true, false, 0, 0, Type::I64, 5};
    EXPECT_EQ(std::string::npos, check_interval_data(device, raising, data).find("by interval"));
}

} // namespace gpuscan::test
