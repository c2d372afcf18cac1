// How many different values have expressions of columns, by a sample of these?
//
// PostgreSQL takes an expression without statistics of its own for as different as its columns (estimate_num_groups): of the weeks of
// 500,000 timestamps, 500,000. But it has statistics of each column: the most common values, and a histogram, whose bounds have equally
// many rows between them. So values are drawn from these, the expressions are evaluated for them, and the different results are
// counted. Values that the query's own conditions on these columns do not let pass do not count.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// The columns that the expression is over, of Var *, each once. NIL: none, or something in it may not be evaluated for values that the query
// might never see: what changes from row to row, or is not PostgreSQL's own.
List *columns_of_expression(Node *expression);

// Is each of the columns (of Var *) there? False: there are none.
bool are_among(const List *columns, const List *others);

// Different combinations of the expressions' values, each over these columns of tables and nothing else. HUGE_VAL: not known, because there are
// no statistics, the user may not see them, few rows pass, an expression has raised an error or takes long, or this is a standby.
double expression_values(PlannerInfo *root, const List *columns, const List *expressions);

} // namespace gpuscan
