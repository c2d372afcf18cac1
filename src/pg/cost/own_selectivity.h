// How many of the rows pass conditions, where PostgreSQL has not asked yet?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Of conditions that are ANDed, RestrictInfos or expressions, of one query level: the share of the rows for which all hold, 0 to 1.
Selectivity own_selectivity(PlannerInfo *root, const List *conditions);

} // namespace gpuscan
