// A level's rows, groups and windows as a subquery, which the level then reads.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// LIMIT and OFFSET stay above; a subquery in them may refer to CTEs that go below. Such a level cannot move.
bool limits_by_subquery(const Query *query);

// The level without what stands above its rows (DISTINCT, ORDER BY, LIMIT), for a subquery; its parts are shared with `query`, but for what
// the caller replaces. Columns of levels above are still named as at `query`.
Query *level_below(const Query *query);

// `query` reads the rows of `subquery`, which it calls `name`, and nothing else: CTEs, conditions, groups and privileges are the subquery's.
// Its target list, windows, DISTINCT, ORDER BY and LIMIT stay. The columns of the subquery have names.
void read_subquery(Query *query, Query *subquery, const char *name);

} // namespace gpuscan
