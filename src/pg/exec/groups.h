// The groups of a run between the device and the executor; see groups.cpp.
#pragma once

#include "pg/exec/run.h"

namespace gpuscan {

// Keeps the groups of one reply to Fetch. False: see failure.
bool groups_add(FragmentRun *run, const char *reply, Size size);
// Makes the next group current (emit.h: show_group); false: there is none.
bool groups_next(FragmentRun *run);
// From the first one again.
void groups_rewind(FragmentRun *run);
// Gives back what memory contexts do not know: to be called before `context` is reset.
void groups_close(FragmentRun *run);

} // namespace gpuscan
