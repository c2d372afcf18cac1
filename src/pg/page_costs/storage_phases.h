// Which page costs PostgreSQL's formulas shall read next. For the files of this folder; see page_cost_model.cpp.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// The joins of relations.
void enter_joins();
// Sorts of so many rows, of which each worker has a share.
void enter_sorts(double rows, int width);

// Recosts what has been made of the relation's paths since then.
void recost_relation(PlannerInfo *root, RelOptInfo *rel);

} // namespace gpuscan
