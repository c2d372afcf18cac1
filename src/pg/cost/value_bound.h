// How many different values can an expression have at most, whatever rows there are?
//
// What a function does to any argument is known of few, and then needs no statistics: a remainder, a part of a date, a truth value, one of the
// arms of a CASE. Of all others that give equal results for equal arguments: they have no more values than their arguments have combinations.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// NULL counts as a value. HUGE_VAL: it is not known, or it may change from row to row. The level's base relations must be known.
double value_bound(PlannerInfo *root, const Node *expression);

} // namespace gpuscan
