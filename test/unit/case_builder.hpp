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

} // namespace gpuscan::reference
