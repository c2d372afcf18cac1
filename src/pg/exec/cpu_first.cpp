// See cpu_first.h. A plan may be kept for long, so the node asks whether the columns have come meanwhile; a relation without pages that
// can be cached has none to bring.
#include "pg/pg.h"

#include "pg/exec/cpu_first.h"

#include <algorithm>

#include "pg/catalog/expression_text.h"
#include "pg/cost/cached_pages.h"
#include "pg/cost/estimate.h"
#include "pg/exec/state.h"
#include "pg/service/area.h"

namespace gpuscan {
namespace {

constexpr double nearly_all = 0.9;

bool has_columns(const CacheStatistics *cache_statistics, const SourceRelation *source, int ncolumns) {
    const Form_pg_class class_form = source->relation->rd_rel;
    const double enough = nearly_all * (RecoveryInProgress() ? class_form->relallvisible : class_form->relpages);
    const auto is_there = [=](uint32 number) {
        return static_cast<double>(cache_statistics->pages(column_locator(source->relation, number))) >= enough;
    };
    ListCell *cell;
    foreach (cell, source->expressions)
        if (!is_there(expression_number(expression_key(static_cast<Expr *>(lfirst(cell))))))
            return false;
    return std::all_of(source->attnums, source->attnums + ncolumns,
                       [=](AttrNumber attnum) { return attnum == 0 || is_there(static_cast<uint32>(attnum)); });
}

bool has_all_columns(const GpuScanState *state, bool gpu) {
    const protocol::Area *area = service_area();
    for (int i = 0; area != nullptr && i < state->fragment->nsources; ++i) {
        const SourceRelations *relations = &state->run.relations[i];
        for (int k = 0; k < relations->count; ++k)
            if (!has_columns(&area->cache_statistics[gpu], &relations->at[k],
                             state->fragment->sources[i].columns.count))
                return false;
    }
    return true;
}

const Estimate *estimate_of(const GpuScanState *state) {
    return estimate_of_scan(reinterpret_cast<const CustomScan *>(state->css.ss.ps.plan));
}

double allowed_ns(const GpuScanState *state) {
    const Estimate *estimate = estimate_of(state);
    if (estimate == nullptr || estimate->cpu_first_ns <= 0 || has_all_columns(state, estimate->gpu))
        return 0;
    return estimate->cpu_first_ns;
}

// `paid`: the columns are brought now.
void note_admission_credit(const GpuScanState *state, bool paid) {
    protocol::Area *area = service_area();
    if (area == nullptr)
        return;
    AdmissionCredits *credits = &area->admission_credits[estimate_of(state)->gpu];
    const uint64 ns = static_cast<uint64>(state->cpu_first.spent_ns);
    for (int i = 0; i < state->fragment->nsources; ++i) {
        const FragmentSource *source = &state->fragment->sources[i];
        if (source->is_relation && paid)
            credits->spend(MyDatabaseId, source->relid, credits->of(MyDatabaseId, source->relid));
        else if (source->is_relation)
            credits->add(MyDatabaseId, source->relid, ns);
    }
}

// It may have workers, sorted rows and tables, and will not be asked again unless the device fails.
void stop_cpu_plan(PlanState *plan) {
    ExecShutdownNode(plan);
    if (plan->chgParam != nullptr)
        ExecReScan(plan);
}

} // namespace

bool is_cpu_first(GpuScanState *state) {
    CpuFirst *first = &state->cpu_first;
    if (!first->looked)
        first->allowed_ns = allowed_ns(state);
    first->looked = true;
    if (first->allowed_ns <= 0)
        return false;
    if (first->spent_ns < first->allowed_ns) {
        show_fallback(state);
        ++first->executions;
        return true;
    }
    first->allowed_ns = 0;
    stop_cpu_plan(state->fallback);
    note_admission_credit(state, true);
    return false;
}

TupleTableSlot *next_of_cpu_first(GpuScanState *state) {
    instr_time begin, end;
    INSTR_TIME_SET_CURRENT(begin);
    TupleTableSlot *slot = ExecProcNode(state->fallback);
    INSTR_TIME_SET_CURRENT(end);
    INSTR_TIME_SUBTRACT(end, begin);
    state->cpu_first.spent_ns += INSTR_TIME_GET_DOUBLE(end) * 1e9;
    return slot;
}

void end_cpu_first(const GpuScanState *state) {
    if (state->cpu_first.executions > 0 && state->cpu_first.allowed_ns > 0)
        note_admission_credit(state, false);
}

} // namespace gpuscan
