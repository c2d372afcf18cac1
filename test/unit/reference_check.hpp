// Running a case on a device, and comparing what comes of it with the interpreter's answer (reference.hpp).
//
//     GroupTable t = run_on(device, c);             // may throw RowError
//     expect_same(c.program, interpret(c), t);      // or all of it: check(device, c)
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>

#include "engine/ir/build_identity.hpp"
#include "engine/result/group_merge.hpp"
#include "engine/result/unmatched.hpp"
#include "reference.hpp"

namespace gpuscan::reference {

// ---- running a case on a device ----

// The chunks of a source in device memory.
struct Loaded {
    std::vector<ChunkView> views;
    std::vector<BufferRef> buffers;
    std::vector<std::vector<uint64_t>> masks;
    std::deque<std::vector<RowRange>> without; // (views point to them)
};

// A column in a frame: the narrowest one, or the narrow[c] - 1 times next wider one.
inline std::vector<uint8_t> narrow(const Chunk &chunk, size_t c, ColumnView &column) {
    ColumnStats stats;
    for (const Datum &v : chunk.columns[c]) {
        if (v.null)
            continue;
        ColumnStats one;
        one.any_value = true;
        one.any_wide = v.i != static_cast<int64_t>(v.i);
        one.min = one.max = static_cast<int64_t>(v.i);
        stats.merge(one);
    }
    column.frame = frame_for(column.type, stats);
    for (uint8_t wider = 1; wider < chunk.narrow[c] && !column.frame.is_whole(); ++wider)
        column.frame.width = column.frame.width == 0 ? 1 : static_cast<uint8_t>(column.frame.width * 2);
    if (column.frame.width >= type_width(column.type))
        column.frame = Frame();
    const size_t width = column.frame.bytes(column.type);
    std::vector<uint8_t> bytes(width == 0 ? 0 : chunk.nrows * width + 64);
    for (uint32_t r = 0; r < chunk.nrows && width > 0; ++r) {
        const Datum &v = chunk.columns[c][r];
        const uint64_t stored = v.null ? r : static_cast<uint64_t>(v.i) - static_cast<uint64_t>(column.frame.base);
        if (column.frame.is_whole())
            put_bytes(column.type, v, &bytes[r * width]);
        else
            memcpy(&bytes[r * width], &stored, width);
    }
    if (column.type == Type::I128 && chunk.ranged[c] && !stats.any_wide) {
        column.has_range = true;
        column.min = stats.min;
        column.max = stats.max;
    }
    return bytes;
}

// Rows that take no part, every other run of them as a range.
inline void put_mask(const Chunk &chunk, ChunkView &view, Loaded &out) {
    std::vector<uint64_t> mask((chunk.nrows + 63) / 64, ~uint64_t(0));
    std::vector<RowRange> without;
    bool any_bit = false, as_range = chunk.nrows % 2 == 0;
    for (uint32_t r = 0, end; r < chunk.nrows; r = end) {
        for (end = r + 1; end < chunk.nrows && bool(chunk.mask[end]) == bool(chunk.mask[r]);)
            ++end;
        if (chunk.mask[r])
            continue;
        as_range = !as_range;
        if (as_range)
            without.push_back({r, end});
        any_bit |= !as_range;
        for (uint32_t row = r; row < end && !as_range; ++row)
            mask[row / 64] &= ~(uint64_t(1) << (row % 64));
    }
    out.masks.push_back(std::move(mask));
    out.without.push_back(std::move(without));
    if (any_bit)
        view.row_mask = out.masks.back().data();
    if (!out.without.back().empty())
        view.without = &out.without.back();
}

inline Loaded load(Device &device, const Program &program, Index source, const std::vector<Chunk> &chunks) {
    Loaded out;
    Range columns = program.sources[source].columns;
    for (const Chunk &chunk : chunks) {
        ChunkView view;
        view.nrows = chunk.nrows;
        if (!chunk.mask.empty())
            put_mask(chunk, view, out);
        for (Index c = 0; c < columns.count; ++c) {
            ColumnView column;
            column.type = program.source_columns[columns.first + c].type;
            size_t width = type_width(column.type);
            std::vector<uint8_t> bytes(chunk.nrows * width + 16), nulls(chunk.nrows + 1);
            bool any_null = false;
            column.min = INT64_MAX;
            column.max = INT64_MIN;
            for (uint32_t r = 0; r < chunk.nrows; ++r) {
                const Datum &v = chunk.columns[c][r]; // bytes under a NULL are whatever the generator left there
                put_bytes(column.type, v, &bytes[r * width]);
                nulls[r] = v.null;
                any_null |= v.null;
                if (!v.null && !is_float(column.type) && column.type != Type::I128) {
                    column.min = std::min(column.min, static_cast<int64_t>(v.i));
                    column.max = std::max(column.max, static_cast<int64_t>(v.i));
                }
            }
            column.has_range = chunk.ranged[c] && !is_float(column.type) && column.type != Type::I128;
            if (c < chunk.narrow.size() && chunk.narrow[c] != 0)
                bytes = narrow(chunk, c, column);
            if (!bytes.empty()) {
                BufferRef values = device.allocate(bytes.size());
                device.upload(*values, 0, bytes.data(), bytes.size());
                column.values = values->data;
                out.buffers.push_back(values);
            }
            if (any_null) {
                BufferRef flags = device.allocate(nulls.size());
                device.upload(*flags, 0, nulls.data(), nulls.size());
                column.nulls = static_cast<const uint8_t *>(flags->data);
                out.buffers.push_back(flags);
            }
            view.columns.push_back(column);
        }
        out.views.push_back(view);
    }
    return out;
}

// Tells an execution what its pipelines will read, with bounds that are right or, as those of a cache may be, too wide.
inline void speculate(Device &device, const Case &c, const Program &program, Execution &execution, bool too_wide) {
    std::vector<Loaded> data;
    std::vector<std::vector<ChunkView>> chunks;
    for (const Pipeline &pipeline : program.pipelines) {
        data.push_back(load(device, program, pipeline.source, c.sources[pipeline.source]));
        chunks.push_back(data.back().views);
        for (ChunkView &chunk : chunks.back())
            for (size_t i = 0; i < chunk.columns.size() && too_wide; ++i) {
                ColumnView &column = chunk.columns[i];
                column.has_range = column.has_range && i % 3 != 2;
                column.min = std::max<int64_t>(column.min, INT64_MIN + 300) - 300;
                column.max = std::min<int64_t>(column.max, INT64_MAX - 300) + 300;
            }
    }
    execution.speculate(chunks);
}

// An execution of a program of the case whose lookups are set.
inline std::unique_ptr<Execution> prepare_on(Device &device, const Case &c, const Program &program,
                                             const std::atomic<uint32_t> *cancel,
                                             Speculation speculation = Speculation::None) {
    auto execution = device.prepare(program, cancel);
    if (speculation != Speculation::None)
        speculate(device, c, program, *execution, speculation == Speculation::TooWide);
    for (Index l = 0; l < c.lookups.size(); ++l) {
        Type type = program.lookups[l].type;
        const auto &entries = c.lookups[l].entries;
        auto table = std::make_shared<LookupTable>(type, entries.size() - 1);
        for (size_t i = 0; i < entries.size(); ++i) {
            put_bytes(type, entries[i], &table->values[i * type_width(type)]);
            table->nulls[i] = entries[i].null;
        }
        table->finish();
        table->id = l % 2; // kept ones and others
        execution->set_lookup(l, std::move(table));
    }
    return execution;
}

// Gives the execution the table of a build by way of another one: one without the last chunk. That loses the first chunk's rows, and gets
// these and the last one's. (Of a set of keys nothing is taken out: another row may have the key.) A device may have to compile first.
inline void build_by_change(Execution &execution, Execution &before, const Program &program, Index build,
                            const std::vector<ChunkView> &views) {
    for (Index i = 0; i < build; ++i)
        before.use_build(i, execution.finished_build(i));
    before.run_build(build, {views.begin(), views.end() - 1});
    before.finish_build(build);
    std::vector<ChunkView> gone = {views.front()}, come = {views.front(), views.back()};
    if (is_set_of_keys(program, build)) {
        gone.clear();
        come.erase(come.begin());
    }
    bool changed = false;
    for (int tries = 0; tries < 3000 && !changed; ++tries) {
        changed = execution.change_build(build, before.finished_build(build), gone, come);
        if (!changed)
            usleep(10 * 1000);
    }
    EXPECT_TRUE(changed) << execution.stats().joins.at(build);
}

// The same with its join tables built.
inline std::unique_ptr<Execution> start_on(Device &device, const Case &c, const std::atomic<uint32_t> *cancel) {
    Program program = parse_program(serialize_program(c.program).data(), serialize_program(c.program).size());
    auto prepare = [&] { return prepare_on(device, c, program, cancel, c.speculation); };
    auto execution = prepare();
    for (Index i = 0; i + 1 < program.pipelines.size(); ++i) {
        Index source = program.pipelines[i].source;
        Loaded data = load(device, program, source, c.sources[source]);
        if (program.exprs.size() % 3 == 0 && data.views.size() > 1 && program.pipelines[i].keys.count > 0) {
            build_by_change(*execution, *prepare(), program, i, data.views);
            continue;
        }
        execution->run_build(i, data.views);
        execution->finish_build(i);
    }
    if (program.exprs.size() % 2 != 0) { // the tables outlive their execution
        auto next = prepare();
        for (Index i = 0; i + 1 < program.pipelines.size(); ++i)
            next->use_build(i, execution->finished_build(i));
        execution = std::move(next);
    }
    return execution;
}

// Calls run(chunks) for each pass of the main pipeline.
template <class Run> void each_pass(Device &device, const Case &c, Run run) {
    const Index source = c.program.main().source;
    const auto &chunks = c.sources[source];
    for (size_t pass = 0; pass < c.passes; ++pass) {
        size_t from = chunks.size() * pass / c.passes, to = chunks.size() * (pass + 1) / c.passes;
        std::vector<Chunk> part(chunks.begin() + static_cast<long>(from), chunks.begin() + static_cast<long>(to));
        Loaded data = load(device, c.program, source, part);
        run(data.views);
    }
}

inline GroupTable run_on(Device &device, const Case &c, const std::atomic<uint32_t> *cancel = nullptr,
                         ExecutionStats *stats = nullptr) {
    auto execution = start_on(device, c, cancel);
    GroupMerger merger(c.program);
    each_pass(device, c, [&](const std::vector<ChunkView> &views) {
        merger.add(c.passes == 1 ? execution->start_aggregate(views) : execution->run_aggregate(views));
        while (execution->groups_left() > 0)
            merger.add(execution->more_groups());
    });
    gpuscan::run_unmatched(
        c.program, *execution, [&](const Program &program) { return prepare_on(device, c, program, cancel); },
        [&](Execution &rest, const std::vector<ChunkView> &views) {
            merger.add(rest.run_aggregate(views));
            return true;
        });
    if (stats != nullptr)
        *stats = execution->stats();
    return merger.finish();
}

// The rows of all passes.
inline RowTable rows_on(Device &device, const Case &c, const std::atomic<uint32_t> *cancel = nullptr,
                        ExecutionStats *stats = nullptr) {
    auto execution = start_on(device, c, cancel);
    RowTable all;
    const uint64_t limit = c.program.main().limit;
    auto take = [&](RowTable rows) {
        for (RowBlock &block : rows.blocks)
            all.add(std::move(block));
        return limit == 0 || all.nrows < limit;
    };
    each_pass(device, c, [&](const std::vector<ChunkView> &views) { take(execution->run_rows(views)); });
    if (take(RowTable()))
        gpuscan::run_unmatched(
            c.program, *execution, [&](const Program &program) { return prepare_on(device, c, program, cancel); },
            [&](Execution &rest, const std::vector<ChunkView> &views) { return take(rest.run_rows(views)); });
    if (stats != nullptr)
        *stats = execution->stats();
    return all;
}

// ---- comparing ----

inline int128 wide(uint64_t low, int64_t high) {
    return static_cast<int128>(static_cast<uint128>(static_cast<uint64_t>(high)) << 64 | low);
}

inline std::string text(int128 v) {
    return std::to_string(static_cast<int64_t>(v >> 64)) + ":" + std::to_string(static_cast<uint64_t>(v));
}

// "" when the states agree. Sums of doubles may differ by their order of addition.
inline std::string difference(const Aggregate &aggregate, Type type, const State &want, const AggregateState &got) {
    if (want.count != got.count)
        return "count " + std::to_string(got.count) + ", expected " + std::to_string(want.count);
    if (want.count == 0 || aggregate.kind == AggregateKind::CountRows || aggregate.kind == AggregateKind::Count)
        return "";
    if (!is_float(type)) {
        int128 v = wide(got.low, got.high);
        return v == want.i ? "" : text(v) + ", expected " + text(want.i);
    }
    double v;
    memcpy(&v, &got.low, 8);
    if (type == Type::F32) {
        float f;
        memcpy(&f, &got.low, 4);
        v = f;
    }
    // A sum is zero with the sign of -0.0 only if nothing but -0.0 was added, in whatever order.
    if (aggregate.kind == AggregateKind::Sum && v == 0 && want.d == 0 && std::signbit(v) != std::signbit(want.d))
        return "a zero of the other sign";
    double tolerance = aggregate.kind == AggregateKind::Sum || aggregate.kind == AggregateKind::LongSum
                           ? 1e-9 * std::fabs(want.d) + 1e-6
                           : 0;
    if ((std::isnan(v) && std::isnan(want.d)) || v == want.d || std::fabs(v - want.d) <= tolerance)
        return "";
    return std::to_string(v) + ", expected " + std::to_string(want.d);
}

inline void expect_same(const Program &p, const Expected &want, const GroupTable &got) {
    size_t nkeys = p.main().keys.count, naggregates = p.main().aggregates.count;
    EXPECT_EQ(want.groups.size(), got.ngroups);
    ASSERT_EQ(got.keys.size(), got.ngroups * nkeys);
    ASSERT_EQ(got.key_nulls.size(), got.ngroups * nkeys);
    ASSERT_EQ(got.states.size(), got.ngroups * naggregates);
    for (size_t g = 0; g < got.ngroups; ++g) {
        Key key;
        for (size_t k = 0; k < nkeys; ++k) {
            const Value &v = got.keys[g * nkeys + k];
            bool null = got.key_nulls[g * nkeys + k];
            key.push_back({null, null ? std::pair<uint64_t, uint64_t>()
                                      : std::pair<uint64_t, uint64_t>(v.low, static_cast<uint64_t>(v.high))});
        }
        auto found = want.groups.find(key);
        ASSERT_TRUE(found != want.groups.end()) << "unexpected group " << g;
        for (size_t a = 0; a < naggregates; ++a) {
            const Aggregate &aggregate = p.aggregates[p.main().aggregates.first + a];
            Type type = aggregate.arg == none ? Type::I64 : p.exprs[aggregate.arg].type;
            EXPECT_EQ("", difference(aggregate, type, found->second[a], got.states[g * naggregates + a]))
                << "group " << g << ", aggregate " << a;
        }
    }
}

// How often each row occurs in a result.
inline std::map<Key, size_t> count_rows(const Program &p, const RowTable &rows) {
    std::map<Key, size_t> counts;
    size_t total = 0;
    for (const RowBlock &block : rows.blocks) {
        EXPECT_EQ(p.main().payload.count, block.columns.size());
        total += block.nrows;
        for (size_t r = 0; r < block.nrows; ++r) {
            Key key;
            for (Index i = 0; i < p.main().payload.count; ++i) {
                const Type type = p.exprs[p.lists[p.main().payload.first + i]].type;
                const RowBlock::Column &column = block.columns[i];
                std::pair<bool, std::pair<uint64_t, uint64_t>> v;
                v.first = column.nulls != nullptr && column.nulls[r];
                if (!v.first) {
                    const uint8_t *const bytes = column.values + r * type_width(type);
                    Datum datum;
                    if (type == Type::F32) {
                        float f;
                        memcpy(&f, bytes, 4);
                        datum.d = static_cast<double>(f);
                    } else if (type == Type::F64) {
                        memcpy(&datum.d, bytes, 8);
                    } else {
                        memcpy(&datum.i, bytes, type_width(type));
                        const unsigned unused = 128 - 8 * static_cast<unsigned>(type_width(type));
                        if (is_integer(type)) // sign-extended
                            datum.i = static_cast<int128>(static_cast<uint128>(datum.i) << unused) >> unused;
                    }
                    v.second = delivered_bits(type, datum);
                }
                key.push_back(v);
            }
            ++counts[key];
        }
    }
    EXPECT_EQ(rows.nrows, total);
    return counts;
}

// How many of the rows are wanted, first ones of an order; all: UINT64_MAX.
inline uint64_t rows_wanted(const Program &p) {
    auto number = [&](Index constant, uint64_t absent) {
        return constant == none || p.constants[constant].null ? absent : p.constants[constant].low;
    };
    const uint64_t top = p.main().order.count > 0 ? number(p.main().top, UINT64_MAX) : UINT64_MAX;
    return top == UINT64_MAX ? top : top + number(p.main().top_offset, 0);
}

inline bool before(const Program &p, const std::vector<Datum> &x, const std::vector<Datum> &y) {
    for (Index o = 0; o < p.main().order.count; ++o) {
        const OrderKey &key = p.orders[p.main().order.first + o];
        if (x[o].null && y[o].null)
            continue;
        if (x[o].null || y[o].null)
            return x[o].null == (key.nulls_first != 0);
        const int c = compare(p.exprs[key.expr].type, x[o], y[o]);
        if (c != 0)
            return (c < 0) == (key.descending == 0);
    }
    return false;
}

// The first ones must be there, those equal to the last of them as often as are wanted (with ties: all); others may be.
inline void expect_first(const Program &p, const Expected &want, const std::map<Key, size_t> &counts, uint64_t wanted) {
    std::vector<Key> order;
    for (const auto &row : want.rows)
        order.push_back(row.first);
    auto key_of = [&](const Key &row) -> const std::vector<Datum> & { return want.order_keys.at(row); };
    std::sort(order.begin(), order.end(), [&](const Key &x, const Key &y) { return before(p, key_of(x), key_of(y)); });
    uint64_t there = 0;
    for (size_t first = 0, last; first < order.size() && there < wanted; first = last) {
        uint64_t equal = 0, delivered = 0;
        for (last = first; last < order.size() && !before(p, key_of(order[first]), key_of(order[last])); ++last) {
            equal += want.rows.at(order[last]);
            const auto found = counts.find(order[last]);
            delivered += found == counts.end() ? 0 : found->second;
        }
        EXPECT_GE(delivered, p.main().ties ? equal : std::min(equal, wanted - there))
            << "one of the first rows is missing";
        there += equal;
    }
}

inline void expect_same(const Program &p, const Expected &want, const RowTable &got) {
    const std::map<Key, size_t> counts = count_rows(p, got);
    const uint64_t limit = p.main().limit, wanted = rows_wanted(p);
    if (limit == 0 && wanted == UINT64_MAX) {
        EXPECT_EQ(want.nrows, got.nrows);
        EXPECT_TRUE(want.rows == counts) << "other rows than expected";
        return;
    }
    if (limit != 0) {
        EXPECT_GE(got.nrows, std::min<uint64_t>(want.nrows, limit));
    }
    for (const auto &row : counts) {
        auto found = want.rows.find(row.first);
        EXPECT_TRUE(found != want.rows.end() && found->second >= row.second) << "a row too many";
    }
    if (wanted != UINT64_MAX)
        expect_first(p, want, counts, wanted);
}

// Runs a case on a device and compares; answers whether a row met an error. `eager`: the device may evaluate both sides
// of every AND and OR.
inline bool check(Device &device, const Case &c, bool eager = false) {
    Expected want = interpret(c);
    try {
        if (c.program.main().sink == SinkKind::Rows) {
            RowTable got = rows_on(device, c);
            EXPECT_FALSE(want.error && c.program.main().limit == 0) << "no error raised";
            if (!want.error)
                expect_same(c.program, want, got);
            return false;
        }
        GroupTable got = run_on(device, c);
        EXPECT_FALSE(want.error) << "no error raised";
        if (!want.error && !want.sum_error)
            expect_same(c.program, want, got);
        return false;
    } catch (const RowError &) {
        EXPECT_TRUE(want.error || want.sum_error || (eager && want.may_error)) << "unexpected error raised";
        return true;
    }
}

} // namespace gpuscan::reference
