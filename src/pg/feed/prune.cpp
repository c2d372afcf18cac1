// Which leaves does this execution not need? What only parameters decide, PostgreSQL's Append decides when it starts.
//
// 18: for the whole statement, before any node starts; the executor's state has the result (is_pruned in compat.h).
// Before: when the Append itself starts. The CPU plan that the node carries has that Append above the same leaves, so it is
// started, and what the Append has no state for was pruned. (That a leaf has no state says nothing: a fragment within the CPU
// plan starts its own CPU plan only when it needs it.) An Append prunes only what holds no row that its own scans let pass, and
// the CPU plan delivers what the device delivers: nothing can be missed.
//
// Pruning by values that become known only while the statement runs (subqueries, joins) is not done; there the filters do.
#include "pg/exec/state.h"
#include "pg/fragment/plan_tree.h"

namespace gpuscan {
namespace {

bool prunes_at_start(const PartitionPruneInfo *info) {
    if (!info)
        return false;
    ListCell *cell, *inner;
    foreach (cell, info->prune_infos)
        foreach (inner, static_cast<List *>(lfirst(cell)))
            if (static_cast<const PartitionedRelPruneInfo *>(lfirst(inner))->initial_pruning_steps != NIL)
                return true;
    return false;
}

bool prunes_somewhere(const Plan *plan) {
    check_stack_depth();
    if (IsA(plan, Append) && prunes_at_start(prune_info_of(reinterpret_cast<const Append *>(plan))))
        return true;
    if (IsA(plan, MergeAppend) && prunes_at_start(prune_info_of(reinterpret_cast<const MergeAppend *>(plan))))
        return true;
    ListCell *cell;
    foreach (cell, plans_below(plan))
        if (prunes_somewhere(static_cast<const Plan *>(lfirst(cell))))
            return true;
    return false;
}

// The table that a node scans, by its place in the range table; 0: the node scans none.
int scanned_relation(const Plan *plan) {
    switch (nodeTag(plan)) {
    case T_SeqScan:
    case T_IndexScan:
    case T_IndexOnlyScan:
    case T_BitmapHeapScan:
    case T_TidScan:
    case T_TidRangeScan:
        return static_cast<int>(reinterpret_cast<const Scan *>(plan)->scanrelid);
    default:
        return 0;
    }
}

Bitmapset *add_scanned(const Plan *plan, Bitmapset *found) {
    check_stack_depth();
    if (scanned_relation(plan) > 0)
        found = bms_add_member(found, scanned_relation(plan));
    ListCell *cell;
    foreach (cell, plans_below(plan))
        found = add_scanned(static_cast<const Plan *>(lfirst(cell)), found);
    return found;
}

// The children of an Append that has started, and has no state for them.
void note_children(const List *plans, PlanState **states, int nstates, Bitmapset **pruned) {
    int started = 0; // in the order of the plans
    ListCell *cell;
    foreach (cell, plans) {
        const Plan *plan = static_cast<const Plan *>(lfirst(cell));
        if (started < nstates && states[started]->plan == plan)
            ++started;
        else
            *pruned = add_scanned(plan, *pruned);
    }
}

bool note_pruned(PlanState *state, void *context) {
    Bitmapset **const pruned = static_cast<Bitmapset **>(context);
    if (IsA(state, AppendState)) {
        const AppendState *append = reinterpret_cast<const AppendState *>(state);
        note_children(reinterpret_cast<const Append *>(state->plan)->appendplans, append->appendplans,
                      append->as_nplans, pruned);
    } else if (IsA(state, MergeAppendState)) {
        const MergeAppendState *append = reinterpret_cast<const MergeAppendState *>(state);
        note_children(reinterpret_cast<const MergeAppend *>(state->plan)->mergeplans, append->mergeplans,
                      append->ms_nplans, pruned);
    } else if (is_gpuscan(state)) {
        note_pruned(start_fallback(reinterpret_cast<GpuScanState *>(state)), context);
    }
    return walk_states(state, note_pruned, context);
}

} // namespace

Bitmapset *pruned_leaves(GpuScanState *state) {
    bool has_leaves = false;
    for (int i = 0; i < state->fragment->nsources; ++i)
        has_leaves = has_leaves || state->fragment->sources[i].leaves != NIL;
    if (!has_leaves)
        return nullptr;
    const CustomScan *node = reinterpret_cast<const CustomScan *>(state->css.ss.ps.plan);
    if (!prunes_somewhere(static_cast<const Plan *>(linitial(node->custom_plans))))
        return nullptr;
    Bitmapset *pruned = nullptr;
    note_pruned(start_fallback(state), &pruned);
    return pruned;
}

} // namespace gpuscan
