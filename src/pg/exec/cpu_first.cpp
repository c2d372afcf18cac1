// See cpu_first.h. A plan may be kept for long, so the node asks whether the columns have come meanwhile; a relation without all-visible pages
// has none to bring.
#include "pg/pg.h"

#include "pg/exec/cpu_first.h"

#include "pg/cost/estimate.h"
#include "pg/exec/state.h"
#include "pg/service/area.h"

namespace gpuscan {
namespace {

constexpr double nearly_all = 0.9;

bool has_columns(const Residency *residency, const SourceRelation *source, int ncolumns) {
    Relation relation = source->relation;
    ResidentColumn column = {locator_tablespace(relation->rd_locator), locator_database(relation->rd_locator),
                             locator_relation(relation->rd_locator), 0};
    for (int i = 0; i < ncolumns; ++i) {
        if (source->attnums[i] <= 0)
            continue;
        column.attnum = static_cast<uint32>(source->attnums[i]);
        if (static_cast<double>(residency->pages(column)) < nearly_all * relation->rd_rel->relallvisible)
            return false;
    }
    return true;
}

bool has_all_columns(const GpuScanState *state, bool gpu) {
    const protocol::Area *area = service_area();
    for (int i = 0; area != nullptr && i < state->fragment->nsources; ++i) {
        const SourceRelations *relations = &state->run.relations[i];
        for (int k = 0; k < relations->count; ++k)
            if (!has_columns(&area->residency[gpu], &relations->at[k], state->fragment->sources[i].ncolumns))
                return false;
    }
    return true;
}

double time_to_spend(const GpuScanState *state) {
    const Estimate *estimate = estimate_of_scan(reinterpret_cast<const CustomScan *>(state->css.ss.ps.plan));
    if (estimate == nullptr || estimate->cpu_first_ns <= 0 || has_all_columns(state, estimate->gpu))
        return 0;
    return estimate->cpu_first_ns;
}

} // namespace

bool is_cpu_first(GpuScanState *state) {
    CpuFirst *first = &state->cpu_first;
    if (!first->looked)
        first->left_ns = time_to_spend(state);
    first->looked = true;
    if (first->left_ns <= 0)
        return false;
    show_fallback(state);
    ++first->executions;
    return true;
}

TupleTableSlot *next_of_cpu_first(GpuScanState *state) {
    instr_time begin, end;
    INSTR_TIME_SET_CURRENT(begin);
    TupleTableSlot *slot = ExecProcNode(state->fallback);
    INSTR_TIME_SET_CURRENT(end);
    INSTR_TIME_SUBTRACT(end, begin);
    state->cpu_first.left_ns -= INSTR_TIME_GET_DOUBLE(end) * 1e9;
    return slot;
}

} // namespace gpuscan
