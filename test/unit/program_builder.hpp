// Writing programs by hand in tests and benchmarks: each call appends to the flat arrays and returns the index.
#pragma once

#include <initializer_list>
#include <vector>

#include "engine/ir/program.hpp"

namespace gpuscan::test {

class ProgramBuilder {
  public:
    Program program;

    ir::Index source(const std::vector<ir::SourceColumn> &columns) {
        ir::Source s;
        s.columns.first = size(program.source_columns);
        s.columns.count = size(columns);
        program.source_columns.insert(program.source_columns.end(), columns.begin(), columns.end());
        program.sources.push_back(s);
        return size(program.sources) - 1;
    }

    ir::Index expr(ir::Op op, Type type, ir::Index a = ir::none, ir::Index b = ir::none, ir::Index c = ir::none) {
        ir::Expr e{};
        e.op = op;
        e.type = type;
        e.a = a;
        e.b = b;
        e.c = c;
        program.exprs.push_back(e);
        return size(program.exprs) - 1;
    }
    ir::Index column(Type type, ir::Index step, ir::Index index) { return expr(ir::Op::Column, type, step, index); }
    ir::Index constant(Type type, int64_t value, bool null = false) {
        ir::Constant c{};
        c.type = type;
        c.null = null;
        c.low = static_cast<uint64_t>(value);
        c.high = value < 0 ? -1 : 0;
        program.constants.push_back(c);
        return expr(ir::Op::Const, type, size(program.constants) - 1);
    }
    ir::Index constant_bits(Type type, uint64_t bits) {
        const ir::Index index = constant(type, 0);
        program.constants.back().low = bits;
        return index;
    }
    ir::Index compare(ir::Op op, ir::Index a, ir::Index b) { return expr(op, Type::Bool, a, b); }
    ir::Index lookup(Type type, ir::Index source, ir::Index column, ir::Index argument) {
        ir::Lookup l{};
        l.type = type;
        l.source = source;
        l.column = column;
        program.lookups.push_back(l);
        return expr(ir::Op::Lookup, type, argument, size(program.lookups) - 1);
    }

    struct JoinSpec {
        ir::Index build;
        std::vector<ir::Index> keys;
        ir::JoinKind kind = ir::JoinKind::Inner;
        std::vector<ir::Index> filters = {};
        bool guarded = false;
    };
    struct ConjunctSpec {
        ir::Index expr;
        ir::Index after = 0;
        bool guarded = false;
    };
    struct AggregateSpec {
        ir::AggregateKind kind;
        ir::Index arg = ir::none;
    };

    ir::Index build(ir::Index source, const std::vector<ConjunctSpec> &conjuncts, const std::vector<JoinSpec> &joins,
                    const std::vector<ir::Index> &keys, const std::vector<ir::Index> &payload) {
        ir::Pipeline p = pipeline(source, conjuncts, joins, keys);
        p.sink = ir::SinkKind::Build;
        p.payload = list(payload);
        program.pipelines.push_back(p);
        return size(program.pipelines) - 1;
    }
    ir::Index aggregate(ir::Index source, const std::vector<ConjunctSpec> &conjuncts,
                        const std::vector<JoinSpec> &joins, const std::vector<ir::Index> &keys,
                        const std::vector<AggregateSpec> &aggregates) {
        ir::Pipeline p = pipeline(source, conjuncts, joins, keys);
        p.sink = ir::SinkKind::Aggregate;
        p.aggregates.first = size(program.aggregates);
        p.aggregates.count = size(aggregates);
        for (const AggregateSpec &spec : aggregates) {
            ir::Aggregate a{};
            a.kind = spec.kind;
            a.arg = spec.arg;
            program.aggregates.push_back(a);
        }
        program.pipelines.push_back(p);
        return size(program.pipelines) - 1;
    }

    ir::Index rows(ir::Index source, const std::vector<ConjunctSpec> &conjuncts, const std::vector<JoinSpec> &joins,
                   const std::vector<ir::Index> &outputs, uint64_t limit = 0) {
        ir::Pipeline p = pipeline(source, conjuncts, joins, {});
        p.sink = ir::SinkKind::Rows;
        p.payload = list(outputs);
        p.limit = limit;
        program.pipelines.push_back(p);
        return size(program.pipelines) - 1;
    }

  private:
    template <class T> static ir::Index size(const std::vector<T> &v) { return static_cast<ir::Index>(v.size()); }

    ir::Range list(const std::vector<ir::Index> &items) {
        ir::Range r{size(program.lists), size(items)};
        program.lists.insert(program.lists.end(), items.begin(), items.end());
        return r;
    }
    ir::Pipeline pipeline(ir::Index source, const std::vector<ConjunctSpec> &conjuncts,
                          const std::vector<JoinSpec> &joins, const std::vector<ir::Index> &keys) {
        ir::Pipeline p{};
        p.source = source;
        p.conjuncts = {size(program.conjuncts), size(conjuncts)};
        for (const ConjunctSpec &spec : conjuncts)
            program.conjuncts.push_back({spec.expr, spec.after, static_cast<uint8_t>(spec.guarded)});
        p.joins = {size(program.joins), size(joins)};
        for (const JoinSpec &spec : joins) {
            ir::Join j;
            j.build = spec.build;
            j.keys = list(spec.keys);
            j.kind = spec.kind;
            j.guarded = spec.guarded ? 1 : 0;
            j.filters = list(spec.filters);
            program.joins.push_back(j);
        }
        p.keys = list(keys);
        return p;
    }
};

} // namespace gpuscan::test
