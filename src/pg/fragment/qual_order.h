// In which order does a device evaluate the quals of a relation or a join?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// In PostgreSQL's order, and between those that can raise an error by the classical rank, (selectivity - 1) / cost. So a qual that
// can raise an error meets the very rows that it meets in a sequential scan, or in a hash join, of PostgreSQL's. `infos`: of
// RestrictInfo *; `ordered`: of Expr *. False: the device cannot do all of them; it is asked about every one with `all`, else until
// one is found that it cannot do. `policy_quals`, if asked for: so many of them, from the first on, are the policies' of row-level
// security or stand before one of these.
bool order_quals(PlannerInfo *root, const List *infos, bool all, List **ordered, int *policy_quals = nullptr);

} // namespace gpuscan
