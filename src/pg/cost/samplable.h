// Which conditions can be tried on values from a column's statistics, while a query is planned?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// The one column that the condition is over; NULL: it is over none, or over several, or there is something in it that may not be
// evaluated for values which the query might never see: a function that takes long, that changes from row to row, that is not
// PostgreSQL's own, or that raises errors for usual values. (Beyond the ends of their types' ranges those on the list may raise some, too.)
const Var *samplable_column(Node *condition);

} // namespace gpuscan
