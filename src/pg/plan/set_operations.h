// Set operations and unions below an aggregation, so that each side can be done by a device.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Could there be anything to rewrite? A look, no more.
bool may_have_set_operations(const Query *query);

// Rewrites in place wherever that cannot be noticed; false: nothing was changed.
bool spread_set_operations(Query *query);

} // namespace gpuscan
