// Window functions over groups, as window functions over the rows of a subquery.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Could there be anything to rewrite? A look, no more.
bool may_have_grouped_windows(const Query *query);

// Rewrites in place wherever that cannot be noticed; false: nothing was changed.
bool lift_grouped_windows(Query *query);

} // namespace gpuscan
