// The planner's hooks; called once, by _PG_init.
#pragma once

namespace gpuscan {

void planner_init();

} // namespace gpuscan
