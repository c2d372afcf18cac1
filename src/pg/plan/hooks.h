// The planner's hooks; planner_init is called once, by _PG_init.
#pragma once

#include "engine/executor_cost.hpp"

namespace gpuscan {

void planner_init();

// What the plan of a statement takes, devices' parts among it, and what of that are steps of PostgreSQL's executor.
struct PlannedTime {
    double ns; // 0: not known
    executor::Work work;
};

// From now on, each statement's is written there (NULL: nowhere); returns where it was written before.
PlannedTime *tell_planned_time(PlannedTime *to);

} // namespace gpuscan
