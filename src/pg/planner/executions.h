// What do executions take of this backend's processor, and who wants to know it?
#pragma once

namespace gpuscan {

void executions_init(); // by _PG_init

} // namespace gpuscan
