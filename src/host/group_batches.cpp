// Expressions over groups; see group_batches.hpp.
#include "host/group_batches.hpp"

#include <cstring>

namespace gpuscan::host {

using namespace ir;

Index GroupEvaluation::column_of(const Expr &e) {
    for (size_t i = 0; i < columns.size(); ++i)
        if (columns[i].step == e.a && columns[i].index == e.b)
            return static_cast<Index>(i);
    columns.push_back({e.a, e.b, e.type});
    return static_cast<Index>(columns.size() - 1);
}

GroupEvaluation::GroupEvaluation(const Program &program, Range conditions, const WorkMemoryRef &memory,
                                 const std::vector<LookupRef> &lookups)
    : nkeys(program.result_keys()), naggregates(program.result_aggregates()) {
    Program p;
    p.exprs = program.exprs;
    p.constants = program.constants;
    p.lookups = program.lookups;
    for (Expr &e : p.exprs)
        if (e.op == Op::Column && is_group_step(e.a)) {
            e.b = column_of(e);
            e.a = 0;
        }
    Pipeline pipeline;
    pipeline.source = 0;
    pipeline.sink = SinkKind::Rows;
    for (Index c = 0; c < conditions.count; ++c)
        p.conjuncts.push_back({program.lists[conditions.first + c], 0});
    pipeline.conjuncts.count = conditions.count;
    p.sources.push_back({{0, static_cast<Index>(columns.size())}});
    for (const Column &column : columns)
        p.source_columns.push_back({column.type, 1, {}});
    p.pipelines.push_back(pipeline);
    context = Context(p);
    context.memory = memory;
    if (!lookups.empty())
        context.lookups = lookups;
}

GroupBatches::GroupBatches(const GroupEvaluation &scope, const std::atomic<uint32_t> *cancel, PipelineRunner::Sink sink)
    : scope_(scope), buffers_(scope.columns.size()), runner_(scope.context, 0, cancel, std::move(sink)) {
    chunk_.columns.resize(scope.columns.size());
    for (size_t i = 0; i < buffers_.size(); ++i) {
        const size_t values = batch_rows + batch_slack;
        buffers_[i].values.reset(new uint8_t[values * type_width(scope.columns[i].type)]);
        buffers_[i].nulls.reset(new uint8_t[values]);
        chunk_.columns[i].type = scope.columns[i].type;
        chunk_.columns[i].values = buffers_[i].values.get();
    }
}

void GroupBatches::run(const GroupTable &groups, size_t at, size_t n) {
    for (size_t i = 0; i < buffers_.size(); ++i)
        load(groups, i, at, n);
    chunk_.nrows = static_cast<uint32_t>(n);
    runner_.run(chunk_, 0, static_cast<uint32_t>(n));
}

void GroupBatches::load(const GroupTable &groups, size_t column, size_t at, size_t n) {
    const GroupEvaluation::Column &from = scope_.columns[column];
    const size_t width = type_width(from.type);
    uint8_t *const values = buffers_[column].values.get(), *const nulls = buffers_[column].nulls.get();
    uint8_t any_null = 0;
    if (from.step == group_keys) {
        for (size_t i = 0; i < n; ++i) {
            const size_t k = (at + i) * scope_.nkeys + from.index;
            memcpy(values + i * width, &groups.keys[k], width);
            nulls[i] = groups.key_nulls[k];
            any_null |= nulls[i];
        }
    } else {
        const bool counts = from.step == group_counts;
        for (size_t i = 0; i < n; ++i) {
            const AggregateState &s = groups.states[(at + i) * scope_.naggregates + from.index];
            memcpy(values + i * width, counts ? static_cast<const void *>(&s.count) : &s.low, width);
            nulls[i] = !counts && s.count == 0;
            any_null |= nulls[i];
        }
    }
    chunk_.columns[column].nulls = any_null ? nulls : nullptr;
}

} // namespace gpuscan::host
