// How many groups can there be, where a key is an expression (expression_values.h, value_bound.h)?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// The keys of these clauses (of SortGroupClause *), or of these references to them, in the level's target list; NIL: one is not there
// (those of a set operation).
List *keys_of_clauses(const PlannerInfo *root, const List *clauses);
List *keys_of_references(const PlannerInfo *root, const List *references);

// Groups by these keys (of Expr *), at least 1; HUGE_VAL: PostgreSQL's own estimate has to do. To be asked when the level's base relations have
// their rows.
double max_groups(PlannerInfo *root, const List *keys);

// ... of so many rows: never more than PostgreSQL expects.
double expected_groups(PlannerInfo *root, List *keys, double rows);

} // namespace gpuscan
