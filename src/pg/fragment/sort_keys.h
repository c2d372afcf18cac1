// Path keys of the planner as sort keys of a fragment.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment_spec.h"

namespace gpuscan {

// Adds to the spec's order as many of the path keys as may be possible, from the first on: each as the query level
// writes it. `relids`: the relations of which columns are there; NULL: what is above the level's groups.
void ask_for_sort_keys(const PlannerInfo *root, List *pathkeys, Relids relids, FragmentSpec *b);

} // namespace gpuscan
