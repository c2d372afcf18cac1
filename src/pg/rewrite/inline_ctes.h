// Groups of a CTE that several places read, made at each of them.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Could there be anything to rewrite? A look, no more.
bool may_have_grouped_ctes(const Query *query);

// Rewrites in place wherever that cannot be noticed; false: nothing was changed.
bool inline_grouped_ctes(Query *query);

} // namespace gpuscan
