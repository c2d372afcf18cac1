// Subqueries that PostgreSQL evaluates row by row, as joins that it and a device can plan.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Could there be anything to rewrite? A look, no more.
bool may_have_subqueries(const Query *query);

// Rewrites in place wherever that cannot be noticed; false: nothing was changed.
bool decorrelate(Query *query);

} // namespace gpuscan
