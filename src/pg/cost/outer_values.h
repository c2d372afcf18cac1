// Is a query level evaluated anew for the rows of a level above?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Does the level ask for columns of a level above (a correlated subquery)? To be asked when its expressions have been preprocessed.
bool asks_for_outer_values(const PlannerInfo *root);

} // namespace gpuscan
