// The supervising background worker.
#pragma once

namespace gpuscan {

void supervisor_register(); // called by _PG_init while libraries are preloaded

} // namespace gpuscan
