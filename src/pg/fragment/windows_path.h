// The CustomPath of a fragment that delivers rows with the results of window functions.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/candidates.h"

namespace gpuscan {

// Can a device compute all window functions of the query level over the candidate's rows? To be asked while its input is planned.
bool can_compute_windows(PlannerInfo *root, const Candidate *candidate);

// Adds a GpuScan path to the relation of the level's windows. With `force` it becomes the relation's only path. `ordered`: and another
// one that delivers the rows in the order of ORDER BY, as far as a device knows it.
bool add_windows_path(PlannerInfo *root, const Candidate *candidate, const RelOptInfo *input, RelOptInfo *output,
                      bool force, bool ordered);

} // namespace gpuscan
