// The groups of a finished run as tuples.
#pragma once

#include "pg/exec/run.h"

namespace gpuscan {

// Every group can be shown as PostgreSQL would show it; false: see failure. To be asked before the first one is shown.
bool groups_can_be_shown(FragmentRun *run);

// Fills the (cleared) scan slot with one group; Datums live in the current context or the run's.
void show_group(const FragmentRun *run, uint64 group, TupleTableSlot *slot);

} // namespace gpuscan
