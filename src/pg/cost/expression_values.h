// How many different values have expressions of one column?
//
// PostgreSQL takes an expression without statistics of its own for as different as its columns (estimate_num_groups): of the weeks of
// 500,000 timestamps, 500,000. But it has statistics of the column: the most common values, and a histogram, whose bounds have equally
// many rows between them. So values are drawn from these, the expressions are evaluated for them, and the different results are
// counted.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// The one column that the expression is over; NULL: it is over none, or over several, or something in it may not be evaluated
// for values that the query might never see: what changes from row to row, or is not PostgreSQL's own.
const Var *column_of_expression(Node *expression);

// Different combinations of the expressions' values, each over this column and nothing else. HUGE_VAL: not known, because there are no
// statistics, the user may not see them, few rows pass, an expression has raised an error or takes long, or this is a standby.
double expression_values(PlannerInfo *root, const Var *column, const List *expressions);

} // namespace gpuscan
