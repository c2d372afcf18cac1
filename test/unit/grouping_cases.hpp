// Groups for every way in which a device may keep them: keys that are NULL, all equal, few, many, far apart; sums that
// carry in both directions, need 128 bits or more; floats with zeros of both signs. Tests of both devices run them.
#pragma once

#include "case_builder.hpp"
#include "reference_check.hpp"

namespace gpuscan::reference {

struct GroupingCase {
    std::string name;
    Case program;
    bool overflows = false; // a sum leaves 128 bits
};

inline std::vector<GroupingCase> grouping_cases(uint32_t rows = 4500) {
    enum class Keys { None, Equal, Null, Few, Many, Skewed, Far, Several };
    enum class Values { Small, Carry, Extreme, Overflow };
    const std::vector<std::pair<const char *, Keys>> keys = {{"no key", Keys::None},    {"equal keys", Keys::Equal},
                                                             {"NULL keys", Keys::Null}, {"few groups", Keys::Few},
                                                             {"groups", Keys::Many},    {"skewed groups", Keys::Skewed},
                                                             {"far keys", Keys::Far},   {"two keys", Keys::Several}};
    const std::vector<std::pair<const char *, Values>> values = {{"small values", Values::Small},
                                                                 {"carries", Values::Carry},
                                                                 {"extremes", Values::Extreme},
                                                                 {"overflow", Values::Overflow}};
    std::vector<GroupingCase> cases;
    for (const auto &[key_name, key_kind] : keys)
        for (const auto &[value_name, value_kind] : values) {
            if (value_kind == Values::Overflow && key_kind != Keys::None && key_kind != Keys::Equal &&
                key_kind != Keys::Far)
                continue;
            Builder b;
            const Index t = b.source({Type::I64, Type::I16, Type::I32, Type::I64, Type::I128, Type::F64, Type::Code});
            Pipeline main;
            main.source = t;
            const Index k = b.column(Type::I64, 0, 0), k2 = b.column(Type::I16, 0, 1);
            const Index v32 = b.column(Type::I32, 0, 2), v64 = b.column(Type::I64, 0, 3),
                        v128 = b.column(Type::I128, 0, 4), real = b.column(Type::F64, 0, 5),
                        code = b.column(Type::Code, 0, 6);
            if (key_kind == Keys::Several)
                main.keys = b.list({k, k2});
            else if (key_kind != Keys::None)
                main.keys = b.list({k});
            std::vector<Aggregate> aggregates = {
                aggregate(AggregateKind::CountRows),    aggregate(AggregateKind::Count, v32),
                aggregate(AggregateKind::Sum, v32),     aggregate(AggregateKind::Min, v32),
                aggregate(AggregateKind::Max, v32),     aggregate(AggregateKind::Sum, v64),
                aggregate(AggregateKind::Min, v64),     aggregate(AggregateKind::Sum, real),
                aggregate(AggregateKind::Max, real),    aggregate(AggregateKind::Max, code),
                aggregate(AggregateKind::BitAnd, v64),  aggregate(AggregateKind::BitOr, v32),
                aggregate(AggregateKind::BitXor, v64),  aggregate(AggregateKind::BitXor, k2),
                aggregate(AggregateKind::LongSum, real)};
            // Without these (their extremes stand in device memory only) groups may be kept in shared memory.
            if (value_kind == Values::Extreme || value_kind == Values::Overflow) {
                aggregates.push_back(aggregate(AggregateKind::Sum, v128));
                aggregates.push_back(aggregate(AggregateKind::Min, v128));
            }
            main.aggregates = b.aggregates(aggregates);
            b.p.pipelines = {main};
            std::vector<std::vector<Datum>> columns(7, std::vector<Datum>(rows));
            for (uint32_t i = 0; i < rows; ++i) {
                const uint64_t random = (i + 1) * 0x9e3779b97f4a7c15ULL;
                const uint64_t noise = (random ^ (random >> 29)) >> 7;
                Datum &key = columns[0][i];
                switch (key_kind) {
                case Keys::None:
                case Keys::Equal:
                    key.i = 7;
                    break;
                case Keys::Null:
                    key.null = i % 3 != 0;
                    key.i = i % 3 == 0 ? static_cast<int>(i % 5) : 0;
                    break;
                case Keys::Few:
                case Keys::Several:
                    key.i = static_cast<int>(noise % 6) - 3;
                    key.null = i % 11 == 0;
                    break;
                case Keys::Many:
                    key.i = static_cast<int>(noise % 1500) - 700;
                    break;
                case Keys::Skewed: // half of the rows in one group, a quarter in the next
                    key.i = __builtin_ctzll(noise | (1ULL << 40)) * 31 + static_cast<int>(i % 97 == 0 ? i : 0);
                    break;
                case Keys::Far:
                    key.i = static_cast<int128>(static_cast<int64_t>(noise % 700 * 0x1234567890123ULL));
                    break;
                }
                if (key.null)
                    key.i = 0;
                columns[1][i].i = static_cast<int>(i % 4) - 2;
                columns[2][i].null = i % 13 == 5;
                columns[2][i].i = columns[2][i].null ? 0
                                  : value_kind == Values::Small
                                      ? static_cast<int>(i % 100)
                                      : (i % 2 ? int128(INT32_MIN) + static_cast<int>(i % 3) : int128(INT32_MAX));
                switch (value_kind) {
                case Values::Small:
                    columns[3][i].i = i % 1000;
                    break;
                case Values::Carry: // around the borders of 32-bit words, up and down
                    columns[3][i].i = (i % 4 == 0   ? int128(1) << 32
                                       : i % 4 == 1 ? -(int128(1) << 32)
                                       : i % 4 == 2 ? (int128(1) << 32) - 1
                                                    : -1) -
                                      static_cast<int>(i % 2);
                    break;
                default:
                    columns[3][i].i = key_kind == Keys::Far || i % 2 ? int128(INT64_MIN) : int128(INT64_MAX);
                }
                columns[4][i].i = value_kind == Values::Overflow ? (int128(1) << 126)
                                  : i % 2                        ? -(int128(1) << 110) + i
                                                                 : (int128(1) << 110) - 3;
                // By group as well as by row: groups of nothing but -0.0, of zeros of both signs, of numbers.
                const int64_t kind = static_cast<int64_t>(key.i) % 4;
                columns[5][i].d = kind == 1 ? -0.0 : kind == 2 ? (i % 2 ? 0.0 : -0.0) : i % 1000 / 8.0 - 50;
                columns[6][i].i = noise % 5000;
            }
            Chunk chunk;
            chunk.nrows = rows;
            chunk.columns = columns;
            chunk.ranged = {1, 1, 1, 1, 0, 0, 1};
            GroupingCase c;
            c.name = std::string(key_name) + ", " + value_name;
            c.overflows = value_kind == Values::Overflow;
            c.program.program = b.p;
            c.program.sources = {{chunk, chunk}};
            cases.push_back(c);
            // Keys of unknown range need a hash table.
            if (key_kind != Keys::None && key_kind != Keys::Several) {
                for (Chunk &part : cases.back().program.sources[0])
                    part.ranged[0] = key_kind == Keys::Far ? 0 : 1;
                GroupingCase unknown = cases.back();
                unknown.name += ", by hash";
                for (Chunk &part : unknown.program.sources[0])
                    part.ranged[0] = 0;
                cases.push_back(unknown);
            }
        }
    return cases;
}

// Every case; where a sum has to overflow, that it does.
inline void run_grouping_cases(Device &device, const std::vector<GroupingCase> &cases) {
    for (const GroupingCase &c : cases) {
        SCOPED_TRACE(c.name);
        if (c.overflows)
            EXPECT_THROW(run_on(device, c.program), RowError);
        else
            expect_same(c.program.program, interpret(c.program), run_on(device, c.program));
    }
}

} // namespace gpuscan::reference
