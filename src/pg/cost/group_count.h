// How many groups can there be, where a key is an expression of a column (expression_values.h)?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Groups by these clauses (of SortGroupClause *) of the level's target list, at least 1; HUGE_VAL: PostgreSQL's own estimate has to do. To be
// asked when the level's base relations have their rows.
double max_groups(PlannerInfo *root, const List *clauses);

} // namespace gpuscan
