// Building the programs of cases by hand (reference.hpp).
#pragma once

#include "reference.hpp"

namespace gpuscan::reference {

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
    template <class T> static Range append(std::vector<T> &to, const std::vector<T> &items) {
        const Range r{static_cast<Index>(to.size()), static_cast<Index>(items.size())};
        to.insert(to.end(), items.begin(), items.end());
        return r;
    }
    Range list(const std::vector<Index> &items) { return append(p.lists, items); }
    Range conjuncts(const std::vector<Conjunct> &items) { return append(p.conjuncts, items); }
    Range joins(const std::vector<Join> &items) { return append(p.joins, items); }
    Range aggregates(const std::vector<Aggregate> &items) { return append(p.aggregates, items); }
};

inline Aggregate aggregate(AggregateKind kind, Index arg = none) {
    Aggregate a;
    a.kind = kind;
    a.arg = arg;
    return a;
}

inline Chunk chunk_of(const std::vector<std::vector<Datum>> &columns) {
    Chunk c;
    c.nrows = static_cast<uint32_t>(columns[0].size());
    c.columns = columns;
    c.ranged.assign(columns.size(), 1);
    return c;
}

inline std::vector<Datum> numbers(uint32_t n, int64_t step, int64_t modulo) {
    std::vector<Datum> out(n);
    for (uint32_t i = 0; i < n; ++i)
        out[i].i = i * step % modulo;
    return out;
}

// select k, count(*), sum(v), sum(w), min(w), max(w) from t join u on t.k = u.k group by t.k
inline Case join_case(std::vector<Chunk> probe, std::vector<Chunk> build, Type key_type,
                      Type payload_type = Type::I32) {
    Builder b;
    Index u = b.source({key_type, payload_type}), t = b.source({key_type, Type::I64});
    Pipeline build_pipeline, main;
    build_pipeline.source = u;
    build_pipeline.sink = SinkKind::Build;
    build_pipeline.keys = b.list({b.column(key_type, 0, 0)});
    build_pipeline.payload = b.list({b.column(payload_type, 0, 1)});
    main.source = t;
    main.joins = b.joins({{0, b.list({b.column(key_type, 0, 0)})}});
    main.keys = b.list({b.column(key_type, 0, 0)});
    main.aggregates =
        b.aggregates({aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Sum, b.column(Type::I64, 0, 1)),
                      aggregate(AggregateKind::Sum, b.column(payload_type, 1, 0)),
                      aggregate(AggregateKind::Min, b.column(payload_type, 1, 0)),
                      aggregate(AggregateKind::Max, b.column(payload_type, 1, 0))});
    b.p.pipelines = {build_pipeline, main};
    Case c;
    c.program = b.p;
    c.sources = {std::move(build), std::move(probe)};
    return c;
}

} // namespace gpuscan::reference
