// The planner's hooks; planner_init is called once, by _PG_init.
#pragma once

namespace gpuscan {

void planner_init();

// Lets PostgreSQL tell of each pair that it joins, or not. Returns what was before.
bool hook_pairs(bool wanted);

} // namespace gpuscan
