// What does an expression take that has not been measured yet, tried on a few values of its columns?
//
// Before the cache has evaluated an expression for its pages, nobody knows what it takes (evaluation_times.h), and by the function's price
// a regular expression is as dear as an addition. So it is evaluated for some values, drawn from the columns' statistics.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Nanoseconds per evaluation. 0: not known, because it may not be evaluated for values that the query might never see, there are no statistics, the
// user may not see them, it has raised an error, or this is a standby.
double tried_ns(PlannerInfo *root, Node *expression);

} // namespace gpuscan
