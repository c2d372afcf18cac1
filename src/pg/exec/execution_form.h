// Which executions are of one form? What one of them came to says something of the next: that a device cannot answer it
// (fallback_history.h), or that it ends the device process.
#pragma once

#include "pg/exec/run.h"

namespace gpuscan {

// Not 0. The same for the same program over the same columns, whatever its constants are.
uint64 execution_form(const FragmentRun *run);

} // namespace gpuscan
