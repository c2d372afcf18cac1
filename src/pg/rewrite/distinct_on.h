// DISTINCT ON, as the first row of each partition of a window.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Could there be anything to rewrite? A look, no more.
bool may_have_distinct_on(const Query *query);

// Rewrites in place wherever that cannot be noticed; false: nothing was changed.
bool number_distinct_rows(Query *query);

} // namespace gpuscan
