// The exact costs of the paths that join two relations.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// To be called from set_join_pathlist_hook. `inputs_changed`: paths of `outer` or `inner` have been given other costs since
// the joins were made from them.
void recost_joins(PlannerInfo *root, RelOptInfo *joinrel, const RelOptInfo *outer, const RelOptInfo *inner,
                  JoinType type, JoinPathExtraData *extra, bool inputs_changed);

} // namespace gpuscan
