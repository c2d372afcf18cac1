// Percentiles and modes of groups: every type, order and kind, keys in tables and in hash tables, grouping sets, large groups that several
// threads search, NULLs, NaN and zeros; against a reference that sorts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "cell.hpp"
#include "engine/result/ordered_sets.hpp"
#include "program_builder.hpp"

namespace gpuscan {
namespace {

using namespace ir;
using test::Cell;
using test::store;

bool before(Type type, const Cell &a, const Cell &b, unsigned spelling = 0) {
    if (!is_float(type))
        return a.i >> spelling < b.i >> spelling;
    return a.f == a.f && (b.f != b.f || a.f < b.f);
}
bool same(Type type, const Cell &a, const Cell &b, unsigned spelling = 0) {
    return !before(type, a, b, spelling) && !before(type, b, a, spelling);
}

Cell cell_of(Type type, const AggregateState &state) {
    Cell cell;
    cell.null = state.count == 0;
    if (type == Type::F64) {
        memcpy(&cell.f, &state.low, sizeof cell.f);
    } else if (type == Type::F32) {
        float narrow;
        memcpy(&narrow, &state.low, sizeof narrow);
        cell.f = static_cast<double>(narrow);
    } else {
        cell.i = static_cast<int128>(static_cast<uint128>(static_cast<uint64_t>(state.high)) << 64 | state.low);
    }
    return cell;
}

// Rows of some columns, keys first, as a device delivers them: in several blocks.
struct Case {
    test::ProgramBuilder builder;
    std::vector<Type> types;
    size_t nkeys;
    std::vector<std::vector<Cell>> rows;
    std::vector<OrderedSet> sets;

    Case(std::vector<Type> key_types, const std::vector<Type> &arguments) : types(key_types), nkeys(key_types.size()) {
        types.insert(types.end(), arguments.begin(), arguments.end());
        std::vector<SourceColumn> columns;
        for (const Type type : types)
            columns.push_back({type, 1, {}});
        const Index source = builder.source(columns);
        std::vector<Index> keys, lists;
        for (size_t c = 0; c < types.size(); ++c)
            (c < nkeys ? keys : lists).push_back(builder.column(types[c], 0, static_cast<Index>(c)));
        builder.aggregate(source, {}, {}, keys, {{AggregateKind::CountRows}});
        Pipeline &main = builder.program.pipelines.back();
        main.arguments = {static_cast<Index>(builder.program.lists.size()), static_cast<Index>(lists.size())};
        builder.program.lists.insert(builder.program.lists.end(), lists.begin(), lists.end());
    }

    void add(OrderedSetKind kind, Index argument, double fraction = NAN, bool descending = false,
             uint8_t spelling = 0) {
        OrderedSet set;
        set.spelling = spelling;
        set.kind = kind;
        set.argument = argument;
        set.descending = descending;
        if (kind != OrderedSetKind::Mode) {
            uint64_t bits;
            memcpy(&bits, &fraction, sizeof bits);
            set.fraction = builder.program.exprs[builder.constant_bits(Type::F64, bits)].a;
            builder.program.constants[set.fraction].null = fraction != fraction;
        }
        sets.push_back(set);
    }

    // The groups that a device would make: of each grouping set one for each combination of its keys.
    Program finish() {
        Program program = builder.program;
        program.ordered_sets = sets;
        program.pipelines.back().ordered_sets = {0, static_cast<Index>(sets.size())};
        const std::string bytes = serialize_program(program);
        return parse_program(bytes.data(), bytes.size());
    }

    RowTable table(size_t blocks) const {
        RowTable result;
        for (size_t b = 0; b < blocks; ++b) {
            const size_t first = rows.size() * b / blocks, n = rows.size() * (b + 1) / blocks - first;
            auto memory = std::make_shared<std::vector<std::vector<uint8_t>>>();
            RowBlock block;
            block.nrows = n;
            for (size_t c = 0; c < types.size(); ++c) {
                std::vector<uint8_t> values(n * type_width(types[c]) + 1), nulls(n + 1);
                bool any = false;
                for (size_t i = 0; i < n; ++i) {
                    nulls[i] = rows[first + i][c].null;
                    any |= rows[first + i][c].null;
                    store(rows[first + i][c], types[c], values.data() + i * type_width(types[c]));
                }
                memory->push_back(std::move(values));
                memory->push_back(std::move(nulls));
                block.columns.push_back({(memory->end() - 2)->data(), any ? memory->back().data() : nullptr});
            }
            for (size_t c = 0; c < types.size(); ++c) { // (the vectors have moved, their bytes have not)
                block.columns[c].values = (*memory)[2 * c].data();
                block.columns[c].nulls = block.columns[c].nulls != nullptr ? (*memory)[2 * c + 1].data() : nullptr;
            }
            block.memory = memory;
            result.add(std::move(block));
        }
        return result;
    }
};

Value key_value(Type type, const Cell &cell) {
    if (cell.null)
        return {};
    if (is_float(type)) {
        uint64_t bits;
        memcpy(&bits, &cell.f, sizeof bits);
        return {bits, 0};
    }
    return {static_cast<uint64_t>(cell.i), static_cast<int64_t>(cell.i >> 64)};
}

Cell expected(Type type, const OrderedSet &set, const Constant *fraction, std::vector<Cell> values) {
    Cell none;
    none.null = true;
    if (values.empty() || (fraction != nullptr && fraction->null))
        return none;
    std::stable_sort(values.begin(), values.end(), [type](const Cell &a, const Cell &b) { return before(type, a, b); });
    if (set.descending)
        std::reverse(values.begin(), values.end());
    if (set.kind == OrderedSetKind::Mode) {
        size_t best = 0, most = 0;
        for (size_t i = 0, n = 1; i < values.size(); ++i, ++n) {
            if (i > 0 && !same(type, values[i - 1], values[i], set.spelling))
                n = 1;
            if (n > most) {
                most = n;
                best = i;
            }
        }
        return values[best];
    }
    double p;
    memcpy(&p, &fraction->low, sizeof p);
    if (set.kind == OrderedSetKind::Discrete)
        return values[static_cast<size_t>(std::max(std::ceil(p * static_cast<double>(values.size())), 1.0)) - 1];
    const double exact = p * static_cast<double>(values.size() - 1);
    const Cell low = values[static_cast<size_t>(std::floor(exact))],
               high = values[static_cast<size_t>(std::ceil(exact))];
    Cell cell = low;
    if (std::floor(exact) != std::ceil(exact))
        cell.f = low.f + ((exact - std::floor(exact)) * (high.f - low.f));
    return cell;
}

void check(Case &c, const std::vector<uint32_t> &grouping_sets = {}) {
    Program program = c.builder.program;
    if (!grouping_sets.empty()) {
        Pipeline &main = c.builder.program.pipelines.back();
        main.sets = {0, static_cast<Index>(grouping_sets.size())};
        main.result_keys = static_cast<Index>(c.nkeys);
        c.builder.program.sets.clear();
        for (const uint32_t keys : grouping_sets)
            c.builder.program.sets.push_back({keys});
    }
    program = c.finish();
    const std::vector<uint32_t> all = grouping_sets.empty() ? std::vector<uint32_t>{~0u} : grouping_sets;
    const WorkMemoryRef memory;
    const size_t nkeys = program.result_keys();
    GroupTable groups;
    std::vector<std::vector<std::vector<Cell>>> values; // by group and argument
    for (size_t s = 0; s < all.size(); ++s) {
        std::map<std::vector<std::pair<bool, std::pair<uint64_t, int64_t>>>, size_t> index;
        for (const std::vector<Cell> &row : c.rows) {
            std::vector<std::pair<bool, std::pair<uint64_t, int64_t>>> key;
            for (size_t k = 0; k < c.nkeys; ++k) {
                const bool null = row[k].null || (all[s] >> k & 1) == 0;
                const Value value = null ? Value() : key_value(c.types[k], row[k]);
                key.push_back({null, {value.low, value.high}});
            }
            const auto found = index.emplace(key, groups.ngroups);
            if (found.second) {
                ++groups.ngroups;
                for (const auto &part : key) {
                    groups.keys.push_back({part.second.first, part.second.second});
                    groups.key_nulls.push_back(part.first);
                }
                if (all.size() > 1) {
                    groups.keys.push_back({s, 0});
                    groups.key_nulls.push_back(0);
                }
                groups.states.push_back({static_cast<int64_t>(groups.ngroups), 7, 8});
                values.emplace_back(c.types.size() - c.nkeys);
            }
            for (size_t a = c.nkeys; a < c.types.size(); ++a)
                if (!row[a].null)
                    values[found.first->second][a - c.nkeys].push_back(row[a]);
        }
    }
    ASSERT_EQ(groups.keys.size(), groups.ngroups * nkeys);
    const GroupTable result =
        add_ordered_sets(program, std::move(groups), c.table(c.rows.size() > 50 ? 3 : 1), memory, nullptr);
    ASSERT_EQ(result.ngroups, values.size());
    const size_t nstates = 1 + c.sets.size();
    ASSERT_EQ(result.states.size(), result.ngroups * nstates);
    for (size_t g = 0; g < result.ngroups; ++g) {
        EXPECT_EQ(result.states[g * nstates].count, static_cast<int64_t>(g + 1));
        for (size_t i = 0; i < c.sets.size(); ++i) {
            const OrderedSet &set = c.sets[i];
            const Type type = c.types[c.nkeys + set.argument];
            const Constant *fraction = set.fraction == none ? nullptr : &program.constants[set.fraction];
            const Cell got = cell_of(type, result.states[g * nstates + 1 + i]),
                       want = expected(type, set, fraction, values[g][set.argument]);
            ASSERT_EQ(got.null, want.null) << g << ' ' << i;
            ASSERT_TRUE(got.null || same(type, got, want, set.spelling))
                << g << ' ' << i << ' ' << got.f << ' ' << want.f;
            const bool several =
                set.spelling > 0 && !got.null &&
                std::any_of(values[g][set.argument].begin(), values[g][set.argument].end(),
                            [&](const Cell &cell) { return cell.i != got.i && same(type, cell, got, set.spelling); });
            ASSERT_EQ(result.states[g * nstates + 1 + i].count, got.null ? 0 : several ? several_spellings : 1);
        }
    }
}

Cell integer(int128 value) {
    Cell cell;
    cell.i = value;
    return cell;
}
Cell real(double value) {
    Cell cell;
    cell.f = value;
    return cell;
}
Cell nothing() {
    Cell cell;
    cell.null = true;
    return cell;
}

Cell random_cell(Type type, std::mt19937_64 &random, int64_t range) {
    if (random() % 9 == 0)
        return nothing();
    if (is_float(type)) {
        const double special[] = {NAN, INFINITY, -INFINITY, 0.5};
        return real(random() % 20 == 0 ? special[random() % 4]
                                       : static_cast<double>(1 + static_cast<int64_t>(random()) % range) / 8);
    }
    int128 value = type == Type::Bool ? static_cast<int128>(random() % 2) : static_cast<int64_t>(random()) % range;
    if (type == Type::Code)
        value = value < 0 ? -value : value;
    return integer(type == Type::I128 ? value << 70 : value);
}

const double fractions[] = {0, 1, 0.5, 0.25, 0.9, 1e-300, 0.9999999, NAN};

void add_all(Case &c, Index argument, Type type) {
    for (const bool descending : {false, true}) {
        for (const double fraction : fractions) {
            c.add(OrderedSetKind::Discrete, argument, fraction, descending);
            if (type == Type::F64)
                c.add(OrderedSetKind::Continuous, argument, fraction, descending);
        }
        c.add(OrderedSetKind::Mode, argument, NAN, descending);
    }
}

const Type ordered_types[] = {Type::Bool, Type::I16, Type::I32, Type::I64, Type::I128, Type::F32, Type::F64};

TEST(OrderedSets, EveryTypeInFewAndManyGroups) {
    std::mt19937_64 random(1);
    for (const Type type : ordered_types)
        for (const int64_t groups : {1, 7, 500})
            for (const size_t rows : {1, 70, 3000}) {
                Case c({Type::I32}, {type});
                add_all(c, 0, type);
                for (size_t i = 0; i < rows; ++i)
                    c.rows.push_back({random_cell(Type::I32, random, groups), random_cell(type, random, 30000)});
                check(c);
            }
}

TEST(OrderedSets, KeysOfEveryType) {
    std::mt19937_64 random(2);
    for (const Type type : {Type::Bool, Type::I16, Type::I32, Type::I64, Type::I128, Type::F64, Type::Code}) {
        Case c({type, Type::I64}, {Type::I32, Type::F64});
        add_all(c, 0, Type::I32);
        add_all(c, 1, Type::F64);
        for (size_t i = 0; i < 4000; ++i)
            c.rows.push_back({random_cell(type, random, 12), integer(static_cast<int64_t>(random() % 4) << 40),
                              random_cell(Type::I32, random, 9), random_cell(Type::F64, random, 900)});
        check(c);
    }
}

TEST(OrderedSets, GroupingSets) {
    std::mt19937_64 random(3);
    Case c({Type::I32, Type::Code}, {Type::I64});
    add_all(c, 0, Type::I64);
    for (size_t i = 0; i < 2000; ++i)
        c.rows.push_back({random_cell(Type::I32, random, 9), random_cell(Type::Code, random, 5),
                          random_cell(Type::I64, random, 90)});
    check(c, {3, 1, 2, 0});
    check(c, {3});
}

// Samples that say much, little and nothing of the values.
TEST(OrderedSets, LargeGroups) {
    std::mt19937_64 random(4);
    for (int shape = 0; shape < 5; ++shape) {
        Case c({}, {Type::F64, Type::I64});
        for (const double fraction : {0.001, 0.5, 1.0}) {
            c.add(OrderedSetKind::Continuous, 0, fraction, shape % 2 == 1);
            c.add(OrderedSetKind::Discrete, 1, fraction, shape % 2 == 0);
        }
        c.add(OrderedSetKind::Mode, 1);
        const size_t rows = shape % 3 == 0 ? 1100000 : 60000; // more are all threads' work
        for (size_t i = 0; i < rows; ++i) {
            const int64_t value = shape == 0   ? static_cast<int64_t>(random())
                                  : shape == 1 ? static_cast<int64_t>(i)
                                  : shape == 2 ? 5
                                  : shape == 3
                                      ? static_cast<int64_t>(i % 1000 == 0 ? random() : i % 3)
                                      : static_cast<int64_t>(i % 1171 < 3 ? random() % 100 : 1000 + random() % 7);
            c.rows.push_back({real(static_cast<double>(value) / 3 + 0.1), integer(value)});
        }
        check(c);
    }
}

// Values that are equal but written in different ways: few and many of each, in groups of any size.
TEST(OrderedSets, Spellings) {
    std::mt19937_64 random(6);
    for (const Type type : {Type::I64, Type::I128})
        for (const uint8_t spelling : {1, 6, 56})
            for (const size_t rows : {3, 60, 3000, 40000})
                for (const int64_t range : {2, 90, 50000}) {
                    Case c({Type::I32}, {type});
                    for (const bool descending : {false, true}) {
                        for (const double fraction : fractions)
                            c.add(OrderedSetKind::Discrete, 0, fraction, descending, spelling);
                        c.add(OrderedSetKind::Mode, 0, NAN, descending, spelling);
                    }
                    const size_t rare = 1 + random() % 20;
                    for (size_t i = 0; i < rows; ++i) {
                        int128 value = static_cast<int64_t>(random()) % range;
                        if (spelling == 56)
                            value %= 100; // (that fits beside)
                        value = (value << spelling) + (random() % rare == 0 ? random() % 2 : 0);
                        c.rows.push_back({integer(static_cast<int64_t>(random() % 3)),
                                          random() % 9 == 0 ? nothing() : integer(value)});
                    }
                    check(c);
                }
}

TEST(OrderedSets, NoRows) {
    Case c({}, {Type::I32});
    add_all(c, 0, Type::I32);
    const Program program = c.finish();
    GroupTable one;
    one.ngroups = 1;
    one.states.push_back({0, 0, 0});
    const GroupTable result = add_ordered_sets(program, std::move(one), RowTable(), nullptr, nullptr);
    ASSERT_EQ(result.states.size(), c.sets.size() + 1);
    for (size_t s = 0; s <= c.sets.size(); ++s)
        EXPECT_EQ(result.states[s].count, 0);
}

// PostgreSQL shows the zero that its sort has met there.
TEST(OrderedSets, TwoZeros) {
    for (const bool both : {false, true})
        for (const double shown : {0.0, 0.9}) {
            Case c({}, {Type::F64});
            c.add(OrderedSetKind::Discrete, 0, shown);
            for (int i = 0; i < 10; ++i)
                c.rows.push_back({real(i < 5 ? (both && i % 2 ? -0.0 : 0.0) : i)});
            if (both && shown == 0.0) {
                EXPECT_THROW(check(c), DeviceError);
            } else {
                check(c);
            }
        }
    Case c({}, {Type::F64});
    c.add(OrderedSetKind::Mode, 0);
    for (int i = 0; i < 10; ++i)
        c.rows.push_back({real(i < 6 ? (i % 2 ? -0.0 : 0.0) : 1)});
    EXPECT_THROW(check(c), DeviceError);
}

TEST(OrderedSets, FractionsOutOfRange) {
    for (const double fraction : {-0.1, 1.1, double(INFINITY)}) {
        Case c({}, {Type::F64});
        c.add(OrderedSetKind::Continuous, 0, fraction);
        c.rows.push_back({real(1)});
        EXPECT_THROW(check(c), DeviceError);
    }
}

TEST(OrderedSets, Cancel) {
    Case c({}, {Type::I32});
    c.add(OrderedSetKind::Mode, 0);
    for (int i = 0; i < 1000; ++i)
        c.rows.push_back({integer(i)});
    const std::atomic<uint32_t> cancel{1};
    GroupTable one;
    one.ngroups = 1;
    one.states.push_back({0, 0, 0});
    EXPECT_THROW(add_ordered_sets(c.finish(), std::move(one), c.table(1), nullptr, &cancel), Cancelled);
}

} // namespace
} // namespace gpuscan
