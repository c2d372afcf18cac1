// A reference for every device: an interpreter that runs programs row by row.
//
// The interpreter is as naive as it can be: one row, one expression node, one 128-bit integer or double at a time,
// nested loops for joins, a std::map for groups. It shares only ir.hpp and, for float errors, nothing: overflow is found
// in wider arithmetic or by looking at the result, in its own words.
//
//     Case c = random_case(seed);                   // program, sources, lookups (random_cases.hpp)
//     Expected e = interpret(c);                    // groups, or "a row meets an error"
//     check(device, c);                             // does a device come to the same? (reference_check.hpp)
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

#include "device/semantics.cuh"
#include "engine/device.hpp"
#include "engine/ir/program.hpp"
#include "engine/result/group_merge.hpp"
#include "engine/result/unmatched.hpp"

namespace gpuscan::reference {

using namespace ir;

struct Datum {
    bool null = false;
    int128 i = 0; // integers, Bool, Code
    double d = 0; // floats
};

struct SqlError {};

// An argument of a function as its own type, and back.
template <class T> T value_of(const Datum &a) {
    if constexpr (sem::IsFloat<T>::value)
        return static_cast<T>(a.d);
    else
        return static_cast<T>(a.i);
}
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
enum class Speculation { None, Right, TooWide };

struct Case {
    Program program;
    std::vector<std::vector<Chunk>> sources; // per source
    std::vector<LookupData> lookups;
    size_t passes = 1; // run the main pipeline over its chunks in that many calls
    Speculation speculation = Speculation::None;
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
    std::map<Key, std::vector<Datum>> order_keys; // of these rows, where they have an order
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
            run_unmatched(out);
        } catch (SqlError &) {
            out.error = true;
        }
        out.sum_error = sum_error_;
        out.may_error = may_error_;
        if (p_.main().sink == SinkKind::Aggregate && p_.main().keys.count == 0 && out.groups.empty())
            out.groups[Key()].resize(p_.main().aggregates.count);
        return out;
    }

    // What an expression is for a row of the main pipeline's source, before its joins. Throws SqlError.
    Datum evaluate(Index expr, const Row &row) { return value(expr, row); }
    static Datum call(Function function, const Datum &a, const Datum &b = Datum()) { return called(function, a, b); }

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
    void run_unmatched(Expected &out) {
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
            if (++out.rows[key] == 1)
                for (Index o = 0; o < pipeline.order.count; ++o)
                    out.order_keys[key].push_back(value(p_.orders[pipeline.order.first + o].expr, row));
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

    template <int arguments, class T, class F> static auto apply(F function, const Datum &a, const Datum &b) {
        if constexpr (arguments == 1)
            return function(value_of<T>(a));
        else
            return function(value_of<T>(a), value_of<T>(b));
    }

    static Datum called(Function function, const Datum &a, const Datum &b) {
        Datum r;
        int error = 0;
        switch (function) {
#define GPUSCAN_CALL(name, of, arguments, argument, ...)                                                               \
    case Function::name:                                                                                               \
        set(r, apply<arguments, ValueOf<Type::argument>::T>([&](auto... x) { return sem::of(x..., error); }, a, b));   \
        break;
            GPUSCAN_FUNCTIONS(GPUSCAN_CALL)
#undef GPUSCAN_CALL
        }
        if (error)
            throw SqlError();
        return r;
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
            const Datum b = operand_count(e) == 2 ? value(e.b, row) : a;
            r.null = a.null || b.null;
            return r.null ? r : called(static_cast<Function>(e.c), a, b);
        }
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

} // namespace gpuscan::reference
