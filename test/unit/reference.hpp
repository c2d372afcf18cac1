// A reference for every device: an interpreter that runs programs row by row.
//
// The interpreter is as naive as it can be: one row, one expression node, one 128-bit integer or double at a time,
// nested loops for joins, a std::map for groups. It shares only ir.hpp and, for float errors, nothing: overflow is found
// in wider arithmetic or by looking at the result, in its own words.
//
//     Case c = random_case(seed);                   // program, sources, lookups (random_cases.hpp)
//     Expected e = interpret(c);                    // groups, or "a row meets an error"
//     GroupTable t = run_on(device, c);             // may throw RowError
//     expect_same(c.program, e, t);              // or all of it: check(device, c)
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cuda/semantics.cuh"
#include "engine/device.hpp"
#include "engine/group_merge.hpp"
#include "engine/program.hpp"
#include "engine/unmet.hpp"

namespace gpuscan::reference {

using namespace ir;

struct Datum {
    bool null = false;
    int128 i = 0; // integers, Bool, Code
    double d = 0; // floats
};

struct SqlError {};

// An argument of a function as its own type, and back.
template <Type type> struct ValueOf;
template <> struct ValueOf<Type::I32> {
    static int32_t from(const Datum &a) { return static_cast<int32_t>(a.i); }
};
template <> struct ValueOf<Type::I64> {
    static int64_t from(const Datum &a) { return static_cast<int64_t>(a.i); }
};
template <> struct ValueOf<Type::I128> {
    static int128 from(const Datum &a) { return a.i; }
};
template <> struct ValueOf<Type::F64> {
    static double from(const Datum &a) { return a.d; }
};
inline void set(Datum &r, int32_t value) { r.i = value; }
inline void set(Datum &r, int64_t value) { r.i = value; }
inline void set(Datum &r, int128 value) { r.i = value; }
inline void set(Datum &r, double value) { r.d = value; }

// ---- data ----

struct Chunk {
    uint32_t nrows = 0;
    std::vector<std::vector<Datum>> columns;
    std::vector<bool> mask;      // empty: every row
    std::vector<uint8_t> ranged; // per column: tell min and max
    std::vector<uint8_t>
        narrow; // per column: stored in a frame, this many times wider than need be, plus one; 0: whole
};

struct LookupData {
    std::vector<Datum> entries; // the last one is NULL's
};

// What a device is told before a case runs.
enum class Outlook { None, Right, TooWide };

struct Case {
    Program program;
    std::vector<std::vector<Chunk>> sources; // per source
    std::vector<LookupData> lookups;
    size_t passes = 1; // run the main pipeline over its chunks in that many calls
    Outlook outlook = Outlook::None;
};

using Key = std::vector<std::pair<bool, std::pair<uint64_t, uint64_t>>>; // NULL flag, bits

struct State {
    int64_t count = 0;
    int128 i = 0;
    double d = 0;
};

struct Expected {
    bool error = false;
    bool sum_error = false; // a sum overflowed in this order of its rows; in another it might not: either is right
    bool may_error = false; // AND and OR whose left side decides have a right side that raises: PostgreSQL does not
    std::map<Key, std::vector<State>> groups;
    std::map<Key, size_t> rows; // of a Rows pipeline: how often each occurs
    size_t nrows = 0;
};

// ---- values and bytes ----

inline void put_bytes(Type type, const Datum &v, uint8_t *to) {
    if (type == Type::F32) {
        float f = static_cast<float>(v.d);
        memcpy(to, &f, 4);
    } else if (type == Type::F64) {
        memcpy(to, &v.d, 8);
    } else {
        memcpy(to, &v.i, type_width(type)); // little-endian
    }
}

inline std::pair<uint64_t, uint64_t> bits(Type type, const Datum &v) {
    if (type == Type::F64) {
        double d = std::isnan(v.d) ? std::nan("") : v.d == 0 ? 0.0 : v.d;
        uint64_t b;
        memcpy(&b, &d, 8);
        return {b, 0};
    }
    if (type == Type::F32) {
        float f = std::isnan(v.d) ? std::nanf("") : v.d == 0 ? 0.0f : static_cast<float>(v.d);
        uint32_t b;
        memcpy(&b, &f, 4);
        return {b, 0};
    }
    return {static_cast<uint64_t>(v.i), static_cast<uint64_t>(static_cast<uint128>(v.i) >> 64)};
}

// The same of a value that is delivered: a zero keeps its sign.
inline std::pair<uint64_t, uint64_t> delivered_bits(Type type, const Datum &v) {
    std::pair<uint64_t, uint64_t> b = bits(type, v);
    if (is_float(type) && v.d == 0 && std::signbit(v.d))
        b.first = uint64_t(1) << (type_width(type) * 8 - 1);
    return b;
}

// ---- the interpreter ----

inline int compare(Type type, const Datum &a, const Datum &b) {
    if (!is_float(type))
        return a.i < b.i ? -1 : a.i > b.i;
    bool na = std::isnan(a.d), nb = std::isnan(b.d);
    if (na || nb)
        return na && nb ? 0 : na ? 1 : -1;
    return a.d < b.d ? -1 : a.d > b.d;
}

inline int128 check_range(Type type, int128 v) {
    if (type != Type::I128) {
        int bits = static_cast<int>(type_width(type)) * 8;
        int128 bound = static_cast<int128>(1) << (bits - 1);
        if (v < -bound || v >= bound)
            throw SqlError();
    }
    return v;
}

inline double check_float(Type type, double result, bool inf_input, bool zero_allowed) {
    if (type == Type::F32)
        result = static_cast<float>(result);
    if ((std::isinf(result) && !inf_input) || (result == 0 && !zero_allowed))
        throw SqlError();
    return result;
}

inline Datum arithmetic(Op op, Type type, const Datum &a, const Datum &b) {
    Datum r;
    if (is_float(type)) {
        bool inf = std::isinf(a.d) || std::isinf(b.d);
        float x = static_cast<float>(a.d), y = static_cast<float>(b.d);
        bool f32 = type == Type::F32;
        switch (op) {
        case Op::Add:
            r.d = check_float(type, f32 ? x + y : a.d + b.d, inf, true);
            break;
        case Op::Sub:
            r.d = check_float(type, f32 ? x - y : a.d - b.d, inf, true);
            break;
        case Op::Mul:
            r.d = check_float(type, f32 ? x * y : a.d * b.d, inf, a.d == 0 || b.d == 0);
            break;
        default:
            if (b.d == 0 && !std::isnan(a.d))
                throw SqlError();
            r.d = check_float(type, f32 ? x / y : a.d / b.d, std::isinf(a.d), a.d == 0 || std::isinf(b.d));
        }
        return r;
    }
    switch (op) {
    case Op::Add:
        if (__builtin_add_overflow(a.i, b.i, &r.i))
            throw SqlError();
        break;
    case Op::Sub:
        if (__builtin_sub_overflow(a.i, b.i, &r.i))
            throw SqlError();
        break;
    case Op::Mul:
        if (__builtin_mul_overflow(a.i, b.i, &r.i))
            throw SqlError();
        break;
    default:
        if (b.i == 0)
            throw SqlError();
        if (b.i == -1) {
            int128 zero = 0;
            if (op == Op::Div && __builtin_sub_overflow(zero, a.i, &r.i))
                throw SqlError();
        } else {
            r.i = op == Op::Div ? a.i / b.i : a.i % b.i;
        }
    }
    check_range(type, r.i);
    return r;
}

inline Datum cast(Type from, Type to, const Datum &a) {
    Datum r;
    if (is_float(to)) {
        if (is_float(from)) {
            r.d = a.d;
            if (from == Type::F64 && to == Type::F32)
                r.d = check_float(Type::F32, a.d, std::isinf(a.d), a.d == 0);
            return r;
        }
        r.d = to == Type::F32 ? static_cast<double>(static_cast<float>(a.i)) : static_cast<double>(a.i);
        return r;
    }
    if (is_float(from)) {
        double v = std::nearbyint(a.d);
        double bound = std::ldexp(1.0, static_cast<int>(type_width(to)) * 8 - 1);
        if (!(v >= -bound && v < bound))
            throw SqlError();
        r.i = static_cast<int128>(v);
        return r;
    }
    r.i = check_range(to, a.i);
    return r;
}

// A row of a pipeline: per step, the values of its columns.
using Row = std::vector<std::vector<Datum>>;

class Interpreter {
  public:
    explicit Interpreter(const Case &c) : c_(c), p_(c.program) {}

    Expected run() {
        Expected out;
        try {
            tables_.resize(p_.pipelines.size());
            for (Index i = 0; i < p_.pipelines.size(); ++i)
                run_pipeline(i, out);
            run_unmet(out);
        } catch (SqlError &) {
            out.error = true;
        }
        out.sum_error = sum_error_;
        out.may_error = may_error_;
        if (p_.main().sink == SinkKind::Aggregate && p_.main().keys.count == 0 && out.groups.empty())
            out.groups[Key()].resize(p_.main().aggregates.count);
        return out;
    }

  private:
    struct BuildRow {
        std::vector<Datum> keys, payload;
        bool met = false; // by the main pipeline's join with the number that is looked at
    };

    const Case &c_;
    const Program &p_;
    std::vector<std::vector<BuildRow>> tables_;
    std::set<std::pair<Index, size_t>> met_; // joins of the main pipeline that keep their tables' rows, and such rows
    bool sum_error_ = false, may_error_ = false;

    void run_pipeline(Index index, Expected &out) {
        const Pipeline &pipeline = p_.pipelines[index];
        for (const Chunk &chunk : c_.sources[pipeline.source])
            for (uint32_t r = 0; r < chunk.nrows; ++r) {
                if (!chunk.mask.empty() && !chunk.mask[r])
                    continue;
                Row row(1);
                for (const auto &column : chunk.columns)
                    row[0].push_back(column[r]);
                advance(index, row, out);
            }
    }

    // Rows of the main pipeline's tables that no row has met, where they are kept.
    void run_unmet(Expected &out) {
        const Index main = static_cast<Index>(p_.pipelines.size() - 1);
        const Range joins = p_.main().joins;
        Datum null;
        null.null = true;
        for (Index k = 0; k < joins.count; ++k) {
            const Join &join = p_.joins[joins.first + k];
            if (!keeps_table(join.kind))
                continue;
            for (size_t i = 0; i < tables_[join.build].size(); ++i) {
                if (met_.count({k, i}) != 0)
                    continue;
                Row row(1, std::vector<Datum>(p_.sources[p_.main().source].columns.count, null));
                for (Index before = 0; before < k; ++before)
                    row.emplace_back(p_.pipelines[p_.joins[joins.first + before].build].payload.count, null);
                row.push_back(tables_[join.build][i].payload);
                advance(main, row, out);
            }
        }
    }

    // `row` has passed row.size() - 1 joins and none of the conjuncts behind the last.
    void advance(Index index, Row &row, Expected &out) {
        const Pipeline &pipeline = p_.pipelines[index];
        Index step = static_cast<Index>(row.size()) - 1;
        for (Index i = 0; i < pipeline.conjuncts.count; ++i) {
            const Conjunct &conjunct = p_.conjuncts[pipeline.conjuncts.first + i];
            if (conjunct.after != step)
                continue;
            Datum v = value(conjunct.expr, row);
            if (v.null || !v.i)
                return;
        }
        if (step == pipeline.joins.count) {
            sink(index, row, out);
            return;
        }
        const Join &join = p_.joins[pipeline.joins.first + step];
        std::vector<Datum> keys;
        for (Index k = 0; k < join.keys.count; ++k)
            keys.push_back(value(p_.lists[join.keys.first + k], row));
        bool met = false;
        for (size_t i = 0; i < tables_[join.build].size(); ++i) {
            const BuildRow &build = tables_[join.build][i];
            bool match = true;
            for (size_t k = 0; k < keys.size(); ++k)
                match = match && !keys[k].null && keys[k].i == build.keys[k].i;
            if (!match)
                continue;
            row.push_back(build.payload);
            for (Index f = 0; match && f < join.filters.count; ++f) {
                const Datum v = value(p_.lists[join.filters.first + f], row);
                match = !v.null && v.i;
            }
            met = met || match;
            if (match && keeps_table(join.kind))
                met_.insert({step, i});
            if (match && delivers_payload(join.kind))
                advance(index, row, out);
            row.pop_back();
        }
        if (join.kind == JoinKind::Inner || join.kind == JoinKind::Right || met == (join.kind != JoinKind::Semi))
            return;
        Datum null; // what lies under it is never seen
        null.null = true;
        row.emplace_back(p_.pipelines[join.build].payload.count, null);
        advance(index, row, out);
        row.pop_back();
    }

    void sink(Index index, const Row &row, Expected &out) {
        const Pipeline &pipeline = p_.pipelines[index];
        std::vector<Datum> keys;
        for (Index k = 0; k < pipeline.keys.count; ++k)
            keys.push_back(value(p_.lists[pipeline.keys.first + k], row));
        if (pipeline.sink == SinkKind::Build) {
            for (const Datum &key : keys)
                if (key.null)
                    return;
            BuildRow build{keys, {}};
            for (Index i = 0; i < pipeline.payload.count; ++i)
                build.payload.push_back(value(p_.lists[pipeline.payload.first + i], row));
            tables_[index].push_back(build);
            return;
        }
        Key key;
        if (pipeline.sink == SinkKind::Rows) {
            for (Index i = 0; i < pipeline.payload.count; ++i) {
                const Index expr = p_.lists[pipeline.payload.first + i];
                const Datum v = value(expr, row);
                key.push_back(
                    {v.null, v.null ? std::pair<uint64_t, uint64_t>() : delivered_bits(p_.exprs[expr].type, v)});
            }
            ++out.rows[key];
            ++out.nrows;
            return;
        }
        for (Index k = 0; k < pipeline.keys.count; ++k) {
            Type type = p_.exprs[p_.lists[pipeline.keys.first + k]].type;
            key.push_back({keys[k].null, keys[k].null ? std::pair<uint64_t, uint64_t>() : bits(type, keys[k])});
        }
        std::vector<State> &states = out.groups[key];
        states.resize(pipeline.aggregates.count);
        for (Index a = 0; a < pipeline.aggregates.count; ++a)
            accumulate(p_.aggregates[pipeline.aggregates.first + a], row, states[a]);
    }

    void accumulate(const Aggregate &aggregate, const Row &row, State &s) {
        if (aggregate.kind == AggregateKind::CountRows) {
            ++s.count;
            return;
        }
        Datum v = value(aggregate.arg, row);
        Type type = p_.exprs[aggregate.arg].type;
        if (v.null)
            return;
        bool first = s.count++ == 0;
        switch (aggregate.kind) {
        case AggregateKind::Sum:
        case AggregateKind::LongSum:
            if (type == Type::F64) {
                bool inf = std::isinf(s.d) || std::isinf(v.d);
                s.d = first ? v.d : s.d + v.d; // float8pl begins with the first value: -0.0 alone stays -0.0
                sum_error_ |= std::isinf(s.d) && !inf;
            } else {
                sum_error_ |= __builtin_add_overflow(s.i, v.i, &s.i);
            }
            break;
        case AggregateKind::Min:
        case AggregateKind::Max: {
            Datum old{false, s.i, s.d};
            int order = compare(type, v, old);
            if (first || (aggregate.kind == AggregateKind::Min ? order < 0 : order > 0)) {
                s.i = v.i;
                s.d = v.d;
            }
            break;
        }
        case AggregateKind::BitAnd:
            s.i = first ? v.i : s.i & v.i;
            break;
        case AggregateKind::BitOr:
            s.i |= v.i;
            break;
        case AggregateKind::BitXor:
            s.i ^= v.i;
            break;
        default:
            break;
        }
    }

    Datum value(Index index, const Row &row) {
        const Expr &e = p_.exprs[index];
        switch (e.op) {
        case Op::Column:
            return row[e.a][e.b];
        case Op::Const: {
            const Constant &c = p_.constants[e.a];
            Datum v;
            v.null = c.null;
            v.i = static_cast<int128>(static_cast<uint128>(static_cast<uint64_t>(c.high)) << 64 | c.low);
            if (c.type == Type::F64)
                memcpy(&v.d, &c.low, 8);
            if (c.type == Type::F32) {
                float f;
                memcpy(&f, &c.low, 4);
                v.d = f;
            }
            return v;
        }
        case Op::Case: {
            Datum condition = value(e.a, row);
            return value(!condition.null && condition.i ? e.b : e.c, row);
        }
        case Op::Coalesce: {
            Datum a = value(e.a, row);
            return a.null ? value(e.b, row) : a;
        }
        case Op::Search: {
            const Datum a = value(e.a, row);
            const auto &entries = c_.lookups[e.b].entries;
            Datum code;
            code.null = a.null;
            while (!a.null && code.i + 2 < static_cast<int128>(entries.size()) &&
                   entries[static_cast<size_t>(code.i) + 1].i <= a.i)
                ++code.i;
            return code;
        }
        case Op::Lookup: {
            Datum a = value(e.a, row);
            const auto &entries = c_.lookups[e.b].entries;
            return a.null ? entries.back() : entries[static_cast<size_t>(a.i)];
        }
        default:
            break;
        }
        Datum a = value(e.a, row), r;
        Type type = p_.exprs[e.a].type;
        switch (e.op) {
        case Op::IsNull:
            r.i = a.null;
            return r;
        case Op::IsNotNull:
            r.i = !a.null;
            return r;
        case Op::IsTrue:
            r.i = !a.null && a.i;
            return r;
        case Op::Not:
            r.null = a.null;
            r.i = !a.i;
            return r;
        case Op::Neg:
            r.null = a.null;
            if (a.null)
                return r;
            if (is_float(e.type))
                r.d = -a.d;
            else if (__builtin_sub_overflow(static_cast<int128>(0), a.i, &r.i))
                throw SqlError();
            check_range(is_float(e.type) ? Type::I128 : e.type, r.i);
            return r;
        case Op::Cast:
            if (a.null)
                return a;
            return type == e.type ? a : cast(type, e.type, a);
        case Op::Call: {
            if (a.null)
                return a;
            int error = 0;
            switch (static_cast<Function>(e.c)) {
#define GPUSCAN_CALL(name, function, argument, result, raises)                                                         \
    case Function::name:                                                                                               \
        set(r, sem::function(ValueOf<Type::argument>::from(a), error));                                                \
        break;
                GPUSCAN_FUNCTIONS(GPUSCAN_CALL)
#undef GPUSCAN_CALL
            default:
                break;
            }
            if (error)
                throw SqlError();
            return r;
        }
        case Op::Bounded:
            if (!a.null && std::isfinite(a.d) && std::fabs(a.d) > 1e140)
                throw SqlError();
            return a;
        default:
            break;
        }
        if ((e.op == Op::And || e.op == Op::Or) && !a.null && (a.i != 0) == (e.op == Op::Or)) {
            try { // the left side decides: PostgreSQL does not look at the right one
                value(e.b, row);
            } catch (const SqlError &) {
                may_error_ = true;
            }
            return a;
        }
        Datum b = value(e.b, row);
        if (e.op == Op::And || e.op == Op::Or) {
            bool absorbing = e.op == Op::Or; // the value that decides alone
            if ((!a.null && (a.i != 0) == absorbing) || (!b.null && (b.i != 0) == absorbing)) {
                r.i = absorbing;
                return r;
            }
            r.null = a.null || b.null;
            r.i = !absorbing;
            return r;
        }
        r.null = a.null || b.null;
        if (e.op == Op::CallTwo && !r.null) {
            int error = 0;
            switch (static_cast<Function>(e.c)) {
#define GPUSCAN_CALL(name, function, argument, result, raises)                                                         \
    case Function::name:                                                                                               \
        set(r, sem::function(ValueOf<Type::argument>::from(a), ValueOf<Type::argument>::from(b), error));              \
        break;
                GPUSCAN_FUNCTIONS_OF_TWO(GPUSCAN_CALL)
#undef GPUSCAN_CALL
            default:
                break;
            }
            if (error)
                throw SqlError();
            return r;
        }
        if (r.null)
            return r;
        if (e.op >= Op::Eq && e.op <= Op::Ge) {
            int order = compare(type, a, b);
            r.i = e.op == Op::Eq   ? order == 0
                  : e.op == Op::Ne ? order != 0
                  : e.op == Op::Lt ? order < 0
                  : e.op == Op::Le ? order <= 0
                  : e.op == Op::Gt ? order > 0
                                   : order >= 0;
            return r;
        }
        return arithmetic(e.op, e.type, a, b);
    }
};

inline Expected interpret(const Case &c) { return Interpreter(c).run(); }

// ---- running a case on a device ----

// The chunks of a source in device memory.
struct Loaded {
    std::vector<ChunkView> views;
    std::vector<BufferRef> buffers;
    std::vector<std::vector<uint64_t>> masks;
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

inline Loaded load(Device &device, const Program &program, Index source, const std::vector<Chunk> &chunks) {
    Loaded out;
    Range columns = program.sources[source].columns;
    for (const Chunk &chunk : chunks) {
        ChunkView view;
        view.nrows = chunk.nrows;
        if (!chunk.mask.empty()) {
            out.masks.emplace_back((chunk.nrows + 63) / 64, 0);
            for (uint32_t r = 0; r < chunk.nrows; ++r)
                if (chunk.mask[r])
                    out.masks.back()[r / 64] |= uint64_t(1) << (r % 64);
            view.row_mask = out.masks.back().data();
        }
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
inline void show_outlook(Device &device, const Case &c, const Program &program, Execution &execution, bool too_wide) {
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
    execution.foresee(chunks);
}

// An execution of a program of the case whose lookups are set.
inline std::unique_ptr<Execution> prepare_on(Device &device, const Case &c, const Program &program,
                                             const std::atomic<uint32_t> *cancel, Outlook outlook = Outlook::None) {
    auto execution = device.prepare(program, cancel);
    if (outlook != Outlook::None)
        show_outlook(device, c, program, *execution, outlook == Outlook::TooWide);
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

// The same with its join tables built.
inline std::unique_ptr<Execution> start_on(Device &device, const Case &c, const std::atomic<uint32_t> *cancel) {
    Program program = parse_program(serialize_program(c.program).data(), serialize_program(c.program).size());
    auto prepare = [&] { return prepare_on(device, c, program, cancel, c.outlook); };
    auto execution = prepare();
    for (Index i = 0; i + 1 < program.pipelines.size(); ++i) {
        Index source = program.pipelines[i].source;
        Loaded data = load(device, program, source, c.sources[source]);
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
    gpuscan::run_unmet(
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
        gpuscan::run_unmet(
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

inline void expect_same(const Program &p, const Expected &want, const RowTable &got) {
    const std::map<Key, size_t> counts = count_rows(p, got);
    const uint64_t limit = p.main().limit;
    if (limit == 0) {
        EXPECT_EQ(want.nrows, got.nrows);
        EXPECT_TRUE(want.rows == counts) << "other rows than expected";
        return;
    }
    EXPECT_GE(got.nrows, std::min<uint64_t>(want.nrows, limit));
    for (const auto &row : counts) {
        auto found = want.rows.find(row.first);
        EXPECT_TRUE(found != want.rows.end() && found->second >= row.second) << "a row too many";
    }
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

// ---- building programs by hand ----

struct Builder {
    Program p;

    Index add(Expr e) {
        p.exprs.push_back(e);
        return static_cast<Index>(p.exprs.size() - 1);
    }
    Type type(Index e) const { return p.exprs[e].type; }
    Index column(Type type, Index step, Index column) { return add({Op::Column, type, 0, step, column, none}); }
    Index constant(Type type, const Datum &v) {
        Constant c;
        c.type = type;
        c.null = v.null;
        if (!v.null) {
            auto words = bits(type, v);
            if (type == Type::F64)
                memcpy(&words.first, &v.d, 8); // -0.0 stays itself
            c.low = words.first;
            c.high = static_cast<int64_t>(words.second);
        }
        p.constants.push_back(c);
        return add({Op::Const, type, 0, static_cast<Index>(p.constants.size() - 1), none, none});
    }
    Index constant(Type type, int64_t v) {
        Datum d;
        d.i = v;
        d.d = static_cast<double>(v);
        return constant(type, d);
    }
    Index binary(Op op, Index a, Index b) {
        bool comparison = op >= Op::Eq && op <= Op::Or;
        return add({op, comparison ? Type::Bool : type(a), 0, a, b, none});
    }
    Index unary(Op op, Type type, Index a) { return add({op, type, 0, a, none, none}); }
    Index source(const std::vector<Type> &types) {
        Source s;
        s.columns = {static_cast<Index>(p.source_columns.size()), static_cast<Index>(types.size())};
        for (Type t : types)
            p.source_columns.push_back({t});
        p.sources.push_back(s);
        return static_cast<Index>(p.sources.size() - 1);
    }
    Range list(const std::vector<Index> &items) {
        Range r{static_cast<Index>(p.lists.size()), static_cast<Index>(items.size())};
        p.lists.insert(p.lists.end(), items.begin(), items.end());
        return r;
    }
    Range conjuncts(const std::vector<Conjunct> &items) {
        Range r{static_cast<Index>(p.conjuncts.size()), static_cast<Index>(items.size())};
        p.conjuncts.insert(p.conjuncts.end(), items.begin(), items.end());
        return r;
    }
    Range joins(const std::vector<Join> &items) {
        Range r{static_cast<Index>(p.joins.size()), static_cast<Index>(items.size())};
        p.joins.insert(p.joins.end(), items.begin(), items.end());
        return r;
    }
    Range aggregates(const std::vector<Aggregate> &items) {
        Range r{static_cast<Index>(p.aggregates.size()), static_cast<Index>(items.size())};
        p.aggregates.insert(p.aggregates.end(), items.begin(), items.end());
        return r;
    }
};

inline Aggregate aggregate(AggregateKind kind, Index arg = none) {
    Aggregate a;
    a.kind = kind;
    a.arg = arg;
    return a;
}

} // namespace gpuscan::reference
