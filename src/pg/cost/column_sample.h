// What share of a column's rows passes a condition, by the column's statistics?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// `condition` is over this column and nothing else, and may be evaluated for any of its values (samplable.h). `expected` is the share that
// PostgreSQL expects. False: there are too few statistics, the user may not see them, or the condition has raised an error.
bool share_by_sample(PlannerInfo *root, const Var *column, Expr *condition, Selectivity expected, Selectivity *share);

} // namespace gpuscan
