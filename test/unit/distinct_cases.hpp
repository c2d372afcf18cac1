// Groups with DISTINCT aggregates, straight to the groups of the result and by the second grouping, against maps. Tests of both devices
// run them.
#pragma once

#include "case_builder.hpp"
#include "engine/result/second_aggregation.hpp"
#include "reference_check.hpp"

namespace gpuscan::reference {

// select keys, count(*), sum(v), then of each argument count and sum of its DISTINCT values group by keys. Columns: 0 few values, 1 more of
// them, 2 many, 3 far apart, 4 codes, 5 128 bits, 6 floats, 7 NULL alone, 8 v
struct DistinctCase {
    const char *name;
    std::vector<Index> keys, arguments;
};

inline std::vector<DistinctCase> distinct_cases() {
    return {{"one group", {}, {1}},
            {"one group, all arguments near", {}, {0, 1, 2, 4, 7}},
            {"few groups", {0}, {1}},
            {"few groups, several arguments", {0}, {2, 4, 1, 7}},
            {"a key that is an argument", {0, 4}, {0, 2}},
            {"one argument twice", {1}, {4, 4}},
            {"many groups", {2}, {0, 4}},
            {"very many numbers", {2, 0}, {0}},
            {"far more numbers than groups", {2, 0}, {1, 4}},
            {"groups far apart", {3}, {1, 4}},
            {"arguments far apart", {0}, {3}},
            {"wide arguments", {0, 1}, {5}},
            {"floats", {1}, {6}},
            {"near and far arguments", {0}, {4, 5, 3, 6, 1}},
            {"a NULL key", {7}, {1, 7}}};
}

constexpr Type distinct_types[] = {Type::I16,  Type::I32, Type::I64, Type::I64, Type::Code,
                                   Type::I128, Type::F64, Type::I32, Type::I64};

inline Program distinct_program(const DistinctCase &c) {
    Builder b;
    const std::vector<Type> types(std::begin(distinct_types), std::end(distinct_types));
    Pipeline main;
    main.source = b.source(types);
    std::vector<Index> columns, keys;
    for (Index i = 0; i < types.size(); ++i)
        columns.push_back(b.column(types[i], 0, i));
    for (Index key : c.keys)
        keys.push_back(columns[key]);
    for (Index argument : c.arguments) {
        Distinct distinct;
        const auto there = std::find(keys.begin(), keys.end(), columns[argument]);
        distinct.key = static_cast<Index>(there - keys.begin());
        distinct.counts_only = argument == 1;
        if (there == keys.end())
            keys.push_back(columns[argument]);
        b.p.distincts.push_back(distinct);
    }
    main.keys = b.list(keys);
    main.aggregates =
        b.aggregates({aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Sum, columns.back())});
    main.result_keys = static_cast<Index>(c.keys.size());
    main.sets.count = 1;
    b.p.sets = {{(1u << main.result_keys) - 1}};
    main.distincts.count = static_cast<Index>(c.arguments.size());
    b.p.pipelines = {main};
    const std::string bytes = serialize_program(b.p);
    return parse_program(bytes.data(), bytes.size());
}

inline std::vector<Chunk> distinct_rows(uint32_t rows, unsigned chunks) {
    std::vector<Chunk> all;
    uint64_t random = 88172645463325252u;
    for (unsigned c = 0; c < chunks; ++c) {
        std::vector<std::vector<Datum>> columns(std::size(distinct_types), std::vector<Datum>(rows));
        for (uint32_t r = 0; r < rows; ++r) {
            for (size_t i = 0; i < columns.size(); ++i) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                Datum &v = columns[i][r];
                const int64_t some = static_cast<int64_t>(random >> 33);
                switch (i) {
                case 0:
                    v.i = some % 5 - 2;
                    break;
                case 1:
                    v.i = some % 130 - 64;
                    break;
                case 2:
                    v.i = some % 5000 - 1000;
                    break;
                case 3:
                    v.i = some % 700 * 0x1234567890123LL;
                    break;
                case 4:
                    v.i = some % (c == 0 ? 64 : 300);
                    break;
                case 5:
                    v.i = (static_cast<int128>(some % 50) << 100) - some % 3;
                    break;
                case 6:
                    v.d = static_cast<double>(some % 40) / 8;
                    break;
                case 7:
                    v.null = true;
                    break;
                default:
                    v.i = some;
                }
                v.null = v.null || (i != 8 && some % 11 == 7);
                if (v.null)
                    v = Datum{true};
            }
        }
        all.push_back(chunk_of(columns));
    }
    return all;
}

// By keys: two states of aggregates, then those of each argument.
using DistinctResult = std::map<Key, std::vector<State>>;

inline DistinctResult interpret_distinct(const DistinctCase &c, const std::vector<Chunk> &chunks) {
    auto bits_of = [&](const Chunk &chunk, Index column, uint32_t row) {
        const Datum &v = chunk.columns[column][row];
        return std::make_pair(v.null, v.null ? std::pair<uint64_t, uint64_t>() : bits(distinct_types[column], v));
    };
    std::map<Key, std::vector<std::map<std::pair<uint64_t, uint64_t>, int128>>> values;
    DistinctResult result;
    if (c.keys.empty())
        result[{}];
    for (const Chunk &chunk : chunks)
        for (uint32_t row = 0; row < chunk.nrows; ++row) {
            Key key;
            for (Index k : c.keys)
                key.push_back(bits_of(chunk, k, row));
            std::vector<State> &states = result[key];
            states.resize(2);
            ++states[0].count;
            ++states[1].count;
            states[1].i += chunk.columns[8][row].i;
            auto &of_group = values[key];
            of_group.resize(c.arguments.size());
            for (size_t a = 0; a < c.arguments.size(); ++a)
                if (const auto v = bits_of(chunk, c.arguments[a], row); !v.first)
                    of_group[a][v.second] = chunk.columns[c.arguments[a]][row].i;
        }
    for (auto &[key, states] : result) {
        states.resize(2 + c.arguments.size());
        for (size_t a = 0; a < c.arguments.size() && values.count(key) != 0; ++a)
            for (const auto &[value, number] : values[key][a]) {
                ++states[2 + a].count;
                states[2 + a].i += number;
            }
    }
    return result;
}

inline void expect_same(const DistinctCase &c, const DistinctResult &want, const GroupTable &got) {
    const size_t nkeys = c.keys.size(), nstates = 2 + c.arguments.size();
    ASSERT_EQ(want.size(), got.ngroups);
    ASSERT_EQ(got.ngroups * nkeys, got.keys.size());
    ASSERT_EQ(got.ngroups * nkeys, got.key_nulls.size());
    ASSERT_EQ(got.ngroups * nstates, got.states.size());
    std::set<Key> seen;
    for (size_t g = 0; g < got.ngroups; ++g) {
        Key key;
        for (size_t k = g * nkeys; k < (g + 1) * nkeys; ++k)
            key.push_back({got.key_nulls[k] != 0,
                           got.key_nulls[k] != 0
                               ? std::pair<uint64_t, uint64_t>()
                               : std::make_pair(got.keys[k].low, static_cast<uint64_t>(got.keys[k].high))});
        EXPECT_TRUE(seen.insert(key).second) << "a group twice";
        const auto found = want.find(key);
        ASSERT_TRUE(found != want.end()) << "unexpected group " << g;
        for (size_t s = 0; s < nstates; ++s) {
            const State &state = found->second[s];
            const AggregateState &is = got.states[g * nstates + s];
            ASSERT_EQ(state.count, is.count) << "state " << s;
            const Index column = s < 2 ? 8 : c.arguments[s - 2];
            if (s > 0 && is_integer(distinct_types[column]) && column != 1) {
                ASSERT_TRUE(state.i == wide(is.low, is.high)) << "state " << s << ", column " << column;
            }
        }
    }
}

// `straight`: is the case one that the device need not group by arguments for?
template <class Straight> void run_distinct_cases(Device &device, uint32_t rows, Straight straight) {
    const std::vector<std::vector<Chunk>> inputs = {distinct_rows(rows, 2), distinct_rows(0, 1), {}};
    for (const DistinctCase &c : distinct_cases())
        for (const std::vector<Chunk> &chunks : inputs) {
            SCOPED_TRACE(std::string(c.name) + ", " + std::to_string(chunks.size()) + " chunks");
            const Program program = distinct_program(c);
            const DistinctResult want = interpret_distinct(c, chunks);
            Loaded data = load(device, program, 0, chunks);
            GroupTable groups;
            const bool is_result = device.prepare(program, nullptr)->run_to_result(data.views, groups);
            if (is_result)
                expect_same(c, want, groups);
            if (chunks.size() == 2) {
                EXPECT_EQ(straight(c), is_result);
            }
            GroupMerger merger(program);
            merger.add(device.prepare(program, nullptr)->run_aggregate(data.views));
            expect_same(c, want, aggregate_again(program, merger.finish(), nullptr, nullptr));
        }
}

} // namespace gpuscan::reference
