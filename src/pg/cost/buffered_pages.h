// How many of a relation's pages stand in shared buffers now?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// A part of all, 0 to 1, by looking for some of them. Of a small relation, whose pages take no time to speak of, 1.
double buffered_share(PlannerInfo *root, const RelOptInfo *rel);

} // namespace gpuscan
