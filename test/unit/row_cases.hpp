// What every device that delivers rows must do, beyond random programs: results larger than any buffer, joins that repeat
// rows many times, wide rows, limits, little memory, cancels.
#pragma once

#include <random>
#include <thread>

#include "case_builder.hpp"
#include "reference_check.hpp"

namespace gpuscan::reference {

// select t.k, t.v, u.w, u.d from t join u on t.k = u.k [where t.v < bound] [limit]
inline Case row_case(const std::vector<Chunk> &probe, const std::vector<Chunk> &build, int64_t bound,
                     uint64_t limit = 0) {
    Builder b;
    const Index u = b.source({Type::I32, Type::I64, Type::F64}), t = b.source({Type::I32, Type::I32});
    Pipeline first, main;
    first.source = u;
    first.sink = SinkKind::Build;
    first.keys = b.list({b.column(Type::I32, 0, 0)});
    first.payload = b.list({b.column(Type::I64, 0, 1), b.column(Type::F64, 0, 2)});
    main.source = t;
    main.sink = SinkKind::Rows;
    main.limit = limit;
    const Index k = b.column(Type::I32, 0, 0), v = b.column(Type::I32, 0, 1);
    main.conjuncts = b.conjuncts({{b.binary(Op::Lt, v, b.constant(Type::I32, bound)), 0}});
    main.joins = b.joins({{0, b.list({k})}});
    main.payload = b.list({k, v, b.column(Type::I64, 1, 0), b.column(Type::F64, 1, 1)});
    b.p.pipelines = {first, main};
    Case c;
    c.program = b.p;
    c.sources = {build, probe};
    return c;
}

// Rows i = 0.. of (i % keys, i, NULL now and then).
inline Chunk row_chunk(uint32_t n, int64_t keys, uint32_t nulls = 0) {
    Chunk c;
    c.nrows = n;
    c.columns.resize(2);
    c.ranged = {1, 1};
    for (uint32_t i = 0; i < n; ++i) {
        Datum k, v;
        k.i = i % keys;
        v.i = i;
        v.null = nulls != 0 && i % nulls == 0;
        c.columns[0].push_back(k);
        c.columns[1].push_back(v);
    }
    return c;
}

// `copies` rows of each key 0..keys-1.
inline Chunk row_build(int64_t keys, uint32_t copies) {
    Chunk c = row_chunk(static_cast<uint32_t>(keys) * copies, keys);
    c.ranged.push_back(0);
    c.columns.emplace_back(c.nrows);
    for (uint32_t i = 0; i < c.nrows; ++i) {
        c.columns[2][i].null = i % 3 == 0;
        c.columns[2][i].d = i * 0.25;
    }
    return c;
}

// The sum over the rows of a numeric column.
inline int64_t sum_of(const RowTable &rows, size_t column, size_t width) {
    int64_t sum = 0;
    for (const RowBlock &block : rows.blocks)
        for (size_t r = 0; r < block.nrows; ++r) {
            int64_t wide = 0;
            int32_t narrow = 0;
            memcpy(width == 8 ? static_cast<void *>(&wide) : &narrow, block.columns[column].values + r * width, width);
            sum += width == 8 ? wide : narrow;
        }
    return sum;
}

// Every share of the rows from none to all, over chunk borders.
inline void check_match_rates(Device &device) {
    const std::vector<Chunk> probe = {row_chunk(3000, 100, 7), row_chunk(1, 100), row_chunk(2048, 100),
                                      row_chunk(0, 100), row_chunk(1025, 100, 2)};
    for (int64_t keys : {0, 1, 3, 50, 99, 100}) {
        SCOPED_TRACE(std::to_string(keys) + " of 100 keys");
        for (uint32_t copies : {1u, 3u}) {
            const Case c = row_case(probe, {row_build(keys, copies)}, 2900);
            expect_same(c.program, interpret(c), rows_on(device, c));
        }
    }
    const Case nothing = row_case(probe, {row_build(100, 1)}, -1);
    EXPECT_EQ(0u, rows_on(device, nothing).nrows);
    const Case empty = row_case({}, {row_build(100, 1)}, 10);
    EXPECT_EQ(0u, rows_on(device, empty).nrows);
}

// Rows without a column are still counted.
inline void check_rows_without_columns(Device &device) {
    Case c = row_case({row_chunk(5000, 100), row_chunk(77, 100)}, {row_build(50, 2)}, 4000);
    c.program.pipelines.back().payload.count = 0;
    const RowTable rows = rows_on(device, c);
    EXPECT_EQ(interpret(c).nrows, rows.nrows);
    EXPECT_EQ(2u * 2000 + 2 * 50, rows.nrows);
}

// One probe row meets many: more rows than any of the device's buffers was made for.
inline void check_many_matches(Device &device, uint32_t probes, uint32_t copies) {
    const Case c = row_case({row_chunk(probes, 1)}, {row_build(1, copies)}, 1 << 30);
    const RowTable rows = rows_on(device, c);
    const int64_t n = int64_t(probes) * copies;
    ASSERT_EQ(static_cast<size_t>(n), rows.nrows);
    EXPECT_EQ(int64_t(copies) * probes * (probes - 1) / 2, sum_of(rows, 1, 4));
    EXPECT_EQ(int64_t(probes) * copies * (copies - 1) / 2, sum_of(rows, 2, 8));
    size_t nulls = 0;
    for (const RowBlock &block : rows.blocks) {
        ASSERT_NE(nullptr, block.columns[3].nulls);
        nulls += static_cast<size_t>(std::count(block.columns[3].nulls, block.columns[3].nulls + block.nrows, 1));
    }
    EXPECT_EQ(size_t(probes) * ((copies + 2) / 3), nulls);
}

// A row of 60 columns of all types, each with NULLs.
inline void check_wide_rows(Device &device) {
    Builder b;
    std::vector<Type> types;
    for (int i = 0; i < 60; ++i)
        types.push_back(static_cast<Type>(i % type_count));
    Pipeline main;
    main.source = b.source(types);
    main.sink = SinkKind::Rows;
    std::vector<Index> outputs;
    for (Index i = 0; i < types.size(); ++i)
        outputs.push_back(b.column(types[i], 0, i));
    main.payload = b.list(outputs);
    b.p.pipelines = {main};
    Case c;
    c.program = b.p;
    Chunk chunk;
    chunk.nrows = 3333;
    std::mt19937_64 random(4);
    for (Type type : types) {
        chunk.columns.emplace_back(chunk.nrows);
        chunk.ranged.push_back(0);
        for (Datum &v : chunk.columns.back()) {
            v.null = random() % 9 == 0;
            v.i = type == Type::Bool || type == Type::Code ? static_cast<int128>(random() % 2)
                                                           : static_cast<int128>(static_cast<int64_t>(random()) >> 50);
            if (type == Type::I128)
                v.i *= static_cast<int128>(1) << 80;
            v.d = is_float(type) ? static_cast<double>(static_cast<int64_t>(random()) >> 50) / 8 : 0;
        }
    }
    c.sources = {{chunk}};
    expect_same(c.program, interpret(c), rows_on(device, c));
}

// As many rows as the limit says, of the right ones; far fewer are looked at.
inline void check_limits(Device &device) {
    const std::vector<Chunk> probe = {row_chunk(200000, 100), row_chunk(50000, 100)};
    const Case all = row_case(probe, {row_build(100, 1)}, 1 << 30);
    const Expected want = interpret(all);
    for (uint64_t limit : {1u, 10u, 1000u, 249999u, 250000u, 250001u, 4000000u}) {
        SCOPED_TRACE("limit " + std::to_string(limit));
        const Case c = row_case(probe, {row_build(100, 1)}, 1 << 30, limit);
        expect_same(c.program, want, rows_on(device, c));
    }
}

// A result beyond the working memory is refused; nothing stays charged, and the next one works.
inline void check_row_memory(Device &device) {
    const WorkMemoryRef memory = device.work_memory();
    const size_t before = memory->limit();
    const Case large = row_case({row_chunk(300000, 1)}, {row_build(1, 2)}, 1 << 30);
    const Case small = row_case({row_chunk(300, 1)}, {row_build(1, 2)}, 1 << 30);
    memory->set_limit(size_t(4) << 20);
    EXPECT_THROW(rows_on(device, large), OutOfWorkMemory);
    EXPECT_EQ(0u, memory->used());
    {
        const RowTable rows = rows_on(device, small);
        EXPECT_EQ(600u, rows.nrows);
        EXPECT_GT(memory->used(), 600u * 24);
    }
    EXPECT_EQ(0u, memory->used());
    memory->set_limit(before);
    EXPECT_EQ(600000u, rows_on(device, large).nrows);
}

// A row error in what is delivered, only of rows that are.
inline void check_row_errors(Device &device) {
    Case c = row_case({row_chunk(5000, 100)}, {row_build(100, 1)}, 4000);
    Builder b;
    b.p = c.program;
    Pipeline &main = b.p.pipelines.back();
    const Index limit = b.constant(Type::I32, INT32_MAX - 3999), v = b.column(Type::I32, 0, 1);
    const Index sum = b.binary(Op::Add, v, limit); // overflows from 4000 on
    main.payload = b.list({sum});
    c.program = b.p;
    expect_same(c.program, interpret(c), rows_on(device, c));
    for (Constant &constant : c.program.constants)
        if (constant.low == 4000)
            constant.low = 4001;
    EXPECT_THROW(rows_on(device, c), RowError);
}

} // namespace gpuscan::reference
