// The executor node of a fragment: registration, called once by _PG_init.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Registers the CustomScan methods, so that plans that were serialized (parallel workers) find them.
void executor_init();

} // namespace gpuscan
