// How many groups can there be at most, as joins and constants bound them?
//
// PostgreSQL expects of a key as many different values as its own column has among so many rows (estimate_num_groups). But a key that is equal
// to another relation's column has no more of them than that relation has rows left: of lineitem's 200,000 parts 195, where 195 parts of one
// brand and container are joined (TPC-H's query 17); and of a key that is equal to a constant there is one value.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Groups by these clauses (of SortGroupClause *) of the level's target list; HUGE_VAL: not bounded. To be asked when the level's base relations
// have their rows.
double most_groups(PlannerInfo *root, const List *clauses);

} // namespace gpuscan
