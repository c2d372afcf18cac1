// Which leaves does this execution not need? What only parameters decide, PostgreSQL's Append decides when it starts.
//
// 18: for the whole statement, before any node starts; the executor's state has the result (is_pruned in compat.h).
// Before: when the Append itself starts. The CPU plan that the node carries has that Append above the same leaves, so it is
// started, and the leaves that stand below its Append but have no state are those that were pruned. An Append prunes only what
// holds no row that its own scans let pass, and the CPU plan delivers what the device delivers: nothing can be missed.
//
// Pruning by values that become known only while the statement runs (subqueries, joins) is not done; there the filters do.
#include "pg/exec/plan_tree.h"
#include "pg/exec/state.h"

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

// Leaves below an Append that prunes.
Bitmapset *prunable(const Plan *plan, bool below, Bitmapset *found) {
    check_stack_depth();
    if (IsA(plan, Append))
        below = below || prunes_at_start(prune_info_of(reinterpret_cast<const Append *>(plan)));
    else if (IsA(plan, MergeAppend))
        below = below || prunes_at_start(prune_info_of(reinterpret_cast<const MergeAppend *>(plan)));
    else if (below && scanned_relation(plan) > 0)
        found = bms_add_member(found, scanned_relation(plan));
    ListCell *cell;
    foreach (cell, plans_below(plan))
        found = prunable(static_cast<const Plan *>(lfirst(cell)), below, found);
    return found;
}

struct Started {
    Bitmapset *scanned;
};

bool note_started(PlanState *state, void *context) {
    Started *started = static_cast<Started *>(context);
    if (scanned_relation(state->plan) > 0)
        started->scanned = bms_add_member(started->scanned, scanned_relation(state->plan));
    return walk_states(state, note_started, context);
}

} // namespace

Bitmapset *pruned_leaves(GpuScanState *state) {
    bool has_leaves = false;
    for (int i = 0; i < state->fragment->nsources; ++i)
        has_leaves = has_leaves || state->fragment->sources[i].leaves != NIL;
    if (!has_leaves)
        return nullptr;
    const CustomScan *node = reinterpret_cast<const CustomScan *>(state->css.ss.ps.plan);
    Bitmapset *leaves = prunable(static_cast<const Plan *>(linitial(node->custom_plans)), false, nullptr);
    if (bms_is_empty(leaves))
        return nullptr;
    Started started = {};
    note_started(start_fallback(state), &started);
    return bms_difference(leaves, started.scanned);
}

} // namespace gpuscan
