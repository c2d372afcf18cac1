// A program like those of queries over a fact table with dimensions; see compiler_warm_up.hpp.
#include "cuda/compiler_warm_up.hpp"

#include "engine/codegen/codegen.hpp"
#include "engine/ir/program.hpp"
#include "engine/store/frame.hpp"

namespace gpuscan::cuda {

namespace {

using namespace ir;
using codegen::TableKind;
using codegen::TableShape;

// SELECT d1.text, d2.number, sum(f.a * f.b), sum(f.numeric), sum(f.float), min(f.a), count(*) FROM f, d1, d2, d3
// WHERE f.a BETWEEN .. AND .. AND f.text LIKE .. AND d1.number <> .. GROUP BY d1.text, d2.number
class WarmUpProgram {
  public:
    WarmUpProgram() {
        const Index dimension = source({Type::I32, Type::Code, Type::I32});
        const Index fact =
            source({Type::I32, Type::I32, Type::I64, Type::I32, Type::I32, Type::Code, Type::I128, Type::F64});
        build(dimension);
        aggregate(fact);
    }

    std::string build_source() const {
        codegen::Request r = request(0);
        return codegen::generate(r).source;
    }

    std::string aggregate_source() const {
        codegen::Request r = request(1);
        TableShape packed, rows, hash;
        packed.kind = TableKind::Packed;
        packed.unique = true;
        packed.entry_bytes = 2;
        packed.keys = {Type::I32};
        packed.payload = {Type::Code, Type::I32};
        packed.payload_nullable = {0, 0};
        rows = packed;
        rows.kind = TableKind::Rows;
        rows.payload_nullable = {1, 1};
        hash = packed;
        hash.kind = TableKind::Hash;
        hash.keys = {Type::I64};
        r.tables = {&packed, &rows, &hash};
        r.group.grouping = codegen::GroupingKind::Shared;
        r.group.copies = 4;
        using codegen::SumKind;
        r.group.sums = {SumKind::Halves, SumKind::Digits, SumKind::Double, SumKind::Narrow, SumKind::Narrow};
        return codegen::generate(r).source;
    }

  private:
    Program program_;

    template <class T> static Index size(const std::vector<T> &v) { return static_cast<Index>(v.size()); }

    Index source(const std::vector<Type> &types) {
        program_.sources.push_back({{size(program_.source_columns), size(types)}});
        for (Type type : types) {
            SourceColumn column = {};
            column.type = type;
            program_.source_columns.push_back(column);
        }
        return size(program_.sources) - 1;
    }

    Index expr(Op op, Type type, Index a, Index b = none) {
        Expr e = {};
        e.op = op;
        e.type = type;
        e.a = a;
        e.b = b;
        program_.exprs.push_back(e);
        return size(program_.exprs) - 1;
    }
    Index column(Type type, Index step, Index index) { return expr(Op::Column, type, step, index); }
    Index compared(Op op, Index value) { // with a constant
        Constant c = {};
        c.type = program_.exprs[value].type;
        program_.constants.push_back(c);
        return expr(op, Type::Bool, value, expr(Op::Const, c.type, size(program_.constants) - 1));
    }
    Index looked_up(Index source, Index index) {
        Lookup l = {};
        l.type = Type::Bool;
        l.source = source;
        l.column = index;
        program_.lookups.push_back(l);
        return expr(Op::Lookup, Type::Bool, column(Type::Code, 0, index), size(program_.lookups) - 1);
    }
    Range list(const std::vector<Index> &items) {
        const Range range = {size(program_.lists), size(items)};
        program_.lists.insert(program_.lists.end(), items.begin(), items.end());
        return range;
    }
    void filter(Pipeline &pipeline, Index condition, Index after = 0) {
        pipeline.conjuncts.first = pipeline.conjuncts.count == 0 ? size(program_.conjuncts) : pipeline.conjuncts.first;
        program_.conjuncts.push_back({condition, after});
        ++pipeline.conjuncts.count;
    }

    void add(AggregateKind kind, Index argument) {
        Aggregate aggregate = {};
        aggregate.kind = kind;
        aggregate.arg = argument;
        program_.aggregates.push_back(aggregate);
    }

    void build(Index dimension) {
        Pipeline p = {};
        p.source = dimension;
        p.sink = SinkKind::Build;
        filter(p, looked_up(dimension, 1));
        filter(p, compared(Op::Le, column(Type::I32, 0, 2)));
        p.keys = list({column(Type::I32, 0, 0)});
        p.payload = list({column(Type::Code, 0, 1), column(Type::I32, 0, 2)});
        program_.pipelines.push_back(p);
    }

    void aggregate(Index fact) {
        Pipeline p = {};
        p.source = fact;
        const Index a = column(Type::I32, 0, 3), b = column(Type::I32, 0, 4);
        filter(p, compared(Op::Ge, a));
        filter(p, compared(Op::Le, a));
        filter(p, looked_up(fact, 5));
        filter(p, compared(Op::Ne, column(Type::I32, 1, 1)), 1);
        p.joins = {size(program_.joins), 3};
        for (Index k = 0; k < 3; ++k) {
            Join join;
            join.build = 0;
            join.keys = list({column(k == 2 ? Type::I64 : Type::I32, 0, k)});
            program_.joins.push_back(join);
        }
        p.keys = list({column(Type::Code, 1, 0), column(Type::I32, 2, 1)});
        const Index product = expr(Op::Mul, Type::I64, expr(Op::Cast, Type::I64, a), expr(Op::Cast, Type::I64, b));
        p.aggregates = {size(program_.aggregates), 5};
        add(AggregateKind::Sum, product);
        add(AggregateKind::Sum, column(Type::I128, 0, 6));
        add(AggregateKind::Sum, column(Type::F64, 0, 7));
        add(AggregateKind::Min, a);
        add(AggregateKind::CountRows, none);
        program_.pipelines.push_back(p);
    }

    // Columns in narrow frames, some with NULLs.
    codegen::Request request(Index pipeline) const {
        codegen::Request r;
        r.program = &program_;
        r.pipeline = pipeline;
        const Range columns = program_.sources[program_.pipelines[pipeline].source].columns;
        for (Index c = 0; c < columns.count; ++c) {
            const Type type = program_.source_columns[columns.first + c].type;
            const bool narrow = type == Type::I32 || type == Type::Code;
            Frame frame;
            frame.width = 2;
            r.source_form.push_back(narrow ? codegen::form_of(frame) : 0);
            r.source_nullable.push_back(c % 2 == 1);
        }
        r.lookup_nullable.assign(program_.lookups.size(), 1);
        return r;
    }
};

} // namespace

std::vector<std::string> warm_up_sources() {
    const WarmUpProgram program;
    return {program.aggregate_source(), program.build_source()};
}

} // namespace gpuscan::cuda
