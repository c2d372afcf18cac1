// The CustomPath of an aggregating fragment and the CustomScan made of it.
#pragma once

#include "pg/pg.h"

#include "pg/plan/fragments.h"

namespace gpuscan {

// Adds a GpuScan path to the grouping relation where the candidate, aggregated, is shippable; else refuses.
bool add_aggregate_path(PlannerInfo *root, const Candidate *candidate, RelOptInfo *input, RelOptInfo *output,
                        const GroupPathExtraData *extra);

} // namespace gpuscan
