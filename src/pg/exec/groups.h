// The groups of a finished run: kept as the device sent them, and made tuples of slice by slice; see groups.cpp.
#pragma once

#include "pg/exec/rows.h"

namespace gpuscan {

// Fetches every group into run->groups, and the texts that they show. False: see failure.
bool fetch_groups(FragmentRun *run);

// Begins again with the first group. The targets must stay as they are until the next begin.
void begin_groups(FragmentRun *run, const RowTargets *targets);

// Fills the first targets->count attributes of a virtual slot, whatever further ones there are keep their values; false
// at the end. What the values point to lives until the next call.
bool next_group(FragmentRun *run, TupleTableSlot *slot);

// Gives back what memory contexts do not know: to be called before the run's context is reset.
void release_groups(GroupStore *store);

} // namespace gpuscan
