// The groups of a finished run as tuples.
#pragma once

#include "pg/exec/run.h"

namespace gpuscan {

// The current group can be shown as PostgreSQL would show it; false: see failure. To be asked before the first one is shown.
bool group_can_be_shown(FragmentRun *run);

// Fills the (cleared) scan slot with the current group; Datums live in the current context or the run's.
void show_group(const FragmentRun *run, TupleTableSlot *slot);

} // namespace gpuscan
