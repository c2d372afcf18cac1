// The exact costs of joins and of the inputs that are made for a join.
#pragma once

#include "pg/pg.h"

#include "pg/page_costs/page_cost_model.h"
#include "pg/page_costs/planner_formulas.h"

namespace gpuscan {

// What initial_cost_* computes, exactly. Of the path these need the inputs, the clauses, the keys to sort by and whether it is
// aware of others; it need not exist yet.
JoinCostWorkspace begin_hash(PlannerInfo *root, const HashPath *path, JoinPathExtraData *extra);
JoinCostWorkspace begin_merge(PlannerInfo *root, const MergePath *path, JoinPathExtraData *extra);
JoinCostWorkspace begin_nested_loop(PlannerInfo *root, const NestPath *path, JoinPathExtraData *extra);

void recost_material(MaterialPath *path);
void recost_unique(PlannerInfo *root, UniquePath *path, const SpecialJoinInfo *join);

// Is the path's temporary file read again when the path is?
bool reads_files_again(const Path *path);

// What a join with files costs at the least while joins are made: each page at the price of the time, and an eighth of work_mem is
// less than any of these files has.
inline Cost least_with_files() { return page_cost_model()->for_joins.seq * (sort_memory() / 8 / BLCKSZ); }

// Is there any among these? `any_price`: costs of inputs have changed, or duplicates of an input may have been removed without files
// because these were too dear.
inline bool may_be_taken(const List *paths, bool any_price) {
    return paths != NIL && (any_price || !paths_are_in_order_of_total ||
                            static_cast<const Path *>(llast(paths))->total_cost >= least_with_files());
}

// Takes the joins of these two relations that have files (`inputs_changed`: all) out of the list, which is in order of costs,
// and makes their costs exact.
List *take_spilled_joins(PlannerInfo *root, List **paths, const RelOptInfo *outer, const RelOptInfo *inner,
                         JoinType asked, JoinPathExtraData *extra, bool inputs_changed);

} // namespace gpuscan
