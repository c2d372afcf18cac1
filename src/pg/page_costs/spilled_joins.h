// Joins that write temporary files, made with exact costs.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// After PostgreSQL has made the paths of this pair, in this direction, under storage::for_joins: makes those that have
// temporary files once more and adds them to the relation's paths. `inputs_changed`: costs of the inputs have been corrected
// since.
void make_spilled_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
                        JoinPathExtraData *extra, bool inputs_changed);

// A semi join's inner side without duplicates is made once for all joins: with exact costs, before the first of them.
void make_unique_paths(PlannerInfo *root, RelOptInfo *rel);

} // namespace gpuscan
