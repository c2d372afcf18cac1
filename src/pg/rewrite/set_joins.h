// UNION, INTERSECT and EXCEPT as joins, so that a device does them as a whole.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Rewrites in place wherever that cannot be noticed; false: nothing was changed. (may_have_set_operations: could there be
// anything to rewrite?)
bool join_set_operations(Query *query);

} // namespace gpuscan
