// Which page costs PostgreSQL's formulas shall read next. For the files of this folder; see storage_tier.cpp.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// The joins of paths of these two relations, in both directions; until they are left again their paths keep the costs that they
// are made with, so that neither direction has exact costs when it is compared with the other.
void enter_pair(const RelOptInfo *a, const RelOptInfo *b);
void leave_pair(PlannerInfo *root);
// Sorts of so many rows, of which each worker has a share.
void enter_sorts(double rows, int width);

// Settles what has been made of the relation's paths since then.
void settle_relation(PlannerInfo *root, RelOptInfo *rel);

} // namespace gpuscan
