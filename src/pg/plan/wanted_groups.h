// Which of its groups need a fragment deliver? HAVING, and the first ones of ORDER BY ... LIMIT.
#pragma once

#include "pg/pg.h"

#include "pg/plan/blueprint.h"

namespace gpuscan {

// Asks for whatever the query may let the device drop; `having` in the order in which PostgreSQL tests it.
void ask_for_groups(PlannerInfo *root, List *having, Blueprint *blueprint);

// Keeps of that what the device can decide, and what is right if it does. `results` is computed from the groups.
void settle_wanted_groups(const PlannerInfo *root, List *results, const Fragment *rehearsal, Blueprint *blueprint);

// Of so many groups, how many will be delivered?
double wanted_groups(const Blueprint *blueprint, double groups);

} // namespace gpuscan
