// Writing the program of a join's unmatched rows; see unmatched.hpp.
#include "engine/result/unmatched.hpp"

#include <algorithm>
#include <map>

namespace gpuscan {

using namespace ir;

namespace {

class Rewriter {
  public:
    Rewriter(const Program &program, Index step)
        : from_(program), to_(program), step_(step), offset_(static_cast<Index>(program.exprs.size())) {}

    Program rewrite() {
        Pipeline pipeline = from_.main();
        pipeline.source = add_source(from_.pipelines[from_.joins[pipeline.joins.first + step_].build]);
        for (const Expr &e : from_.exprs)
            to_.exprs.push_back(moved(e));
        pipeline.conjuncts = later_conjuncts(pipeline.conjuncts);
        pipeline.joins = later_joins(pipeline.joins);
        pipeline.keys = list(pipeline.keys);
        pipeline.payload = list(pipeline.payload);
        pipeline.aggregates = aggregates(pipeline.aggregates);
        if (pipeline.sink == SinkKind::Rows) // (groups are asked for what they are, not for where they come from)
            pipeline.order = order(pipeline.order);
        pipeline.windows = pipeline.window_functions = {}; // which are of all rows, when these are among them
        pipeline.arguments = pipeline.ordered_sets = {};   // likewise
        to_.pipelines.back() = pipeline;
        return std::move(to_);
    }

  private:
    static Index size(size_t n) { return static_cast<Index>(n); }

    Index add_source(const Pipeline &build) {
        Source source;
        source.columns = {size(to_.source_columns.size()), build.payload.count};
        for (Index i = 0; i < build.payload.count; ++i) {
            SourceColumn column{};
            column.type = from_.exprs[from_.lists[build.payload.first + i]].type;
            to_.source_columns.push_back(column);
        }
        to_.sources.push_back(source);
        return size(to_.sources.size()) - 1;
    }

    Index null_of(Type type) {
        const auto place = nulls_.emplace(type, size(to_.constants.size()));
        if (place.second) {
            Constant null{};
            null.type = type;
            null.null = 1;
            to_.constants.push_back(null);
        }
        return place.first->second;
    }

    // The expression behind the joins up to and with this one. (Those of the builds are moved, too, and never used.)
    Expr moved(Expr e) {
        const int operands = operand_count(e);
        e.a += operands >= 1 ? offset_ : 0;
        e.b += operands >= 2 ? offset_ : 0;
        e.c += operands >= 3 ? offset_ : 0;
        if (e.op != Op::Column)
            return e;
        if (e.a > step_) {
            e.a -= step_ + 1;
            return e;
        }
        e.op = Op::Const;
        e.a = null_of(e.type);
        e.b = none;
        return e;
    }

    Range list(Range range) {
        const Range result{size(to_.lists.size()), range.count};
        for (Index i = 0; i < range.count; ++i)
            to_.lists.push_back(from_.lists[range.first + i] + offset_);
        return result;
    }

    Range later_conjuncts(Range range) {
        Range result{size(to_.conjuncts.size()), 0};
        for (Index i = 0; i < range.count; ++i) {
            Conjunct conjunct = from_.conjuncts[range.first + i];
            if (conjunct.after <= step_)
                continue;
            conjunct.expr += offset_;
            conjunct.after -= step_ + 1;
            to_.conjuncts.push_back(conjunct);
            ++result.count;
        }
        return result;
    }

    Range later_joins(Range range) {
        Range result{size(to_.joins.size()), 0};
        for (Index i = step_ + 1; i < range.count; ++i) {
            Join join = from_.joins[range.first + i];
            join.keys = list(join.keys);
            join.filters = list(join.filters);
            to_.joins.push_back(join);
            ++result.count;
        }
        return result;
    }

    Range order(Range range) {
        const Range result{size(to_.orders.size()), range.count};
        for (Index i = 0; i < range.count; ++i) {
            OrderKey key = from_.orders[range.first + i];
            key.expr += offset_;
            to_.orders.push_back(key);
        }
        return result;
    }

    Range aggregates(Range range) {
        const Range result{size(to_.aggregates.size()), range.count};
        for (Index i = 0; i < range.count; ++i) {
            Aggregate aggregate = from_.aggregates[range.first + i];
            if (aggregate.arg != none)
                aggregate.arg += offset_;
            to_.aggregates.push_back(aggregate);
        }
        return result;
    }

    const Program &from_;
    Program to_;
    const Index step_, offset_;
    std::map<Type, Index> nulls_;
};

} // namespace

Program program_of_unmatched(const Program &program, Index step) { return Rewriter(program, step).rewrite(); }

bool has_unmatched(const Program &program) {
    const Range joins = program.main().joins;
    return std::any_of(program.joins.begin() + joins.first, program.joins.begin() + joins.first + joins.count,
                       [](const Join &join) { return keeps_table(join.kind); });
}

void run_unmatched(const Program &program, Execution &main,
                   const std::function<std::unique_ptr<Execution>(const Program &)> &prepare,
                   const std::function<bool(Execution &, const std::vector<ChunkView> &)> &run) {
    struct Earlier {
        std::unique_ptr<Execution> execution;
        Index next; // number of the join behind the one whose rows it ran over
        Index step; // of that one
    };
    std::vector<Earlier> earlier;
    const Range joins = program.main().joins;
    for (Index step = 0; step < joins.count; ++step) {
        const Join &join = program.joins[joins.first + step];
        if (!keeps_table(join.kind))
            continue;
        std::vector<uint64_t> unmatched = main.unmatched(joins.first + step);
        for (const Earlier &other : earlier) {
            const std::vector<uint64_t> there = other.execution->unmatched(other.next + step - other.step - 1);
            for (size_t i = 0; i < unmatched.size(); ++i)
                unmatched[i] &= there[i];
        }
        if (std::all_of(unmatched.begin(), unmatched.end(), [](uint64_t bits) { return bits == 0; }))
            continue;
        const Program left = program_of_unmatched(program, step);
        std::unique_ptr<Execution> execution = prepare(left);
        for (Index i = step + 1; i < joins.count; ++i) {
            const Index build = program.joins[joins.first + i].build;
            if (!execution->finished_build(build))
                execution->use_build(build, main.finished_build(build));
        }
        std::shared_ptr<void> memory;
        ChunkView chunk = main.table_rows(join.build, memory);
        chunk.row_mask = unmatched.data();
        if (!run(*execution, {chunk}))
            return;
        earlier.push_back({std::move(execution), left.main().joins.first, step});
    }
}

} // namespace gpuscan
