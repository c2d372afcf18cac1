// Plans statements: as they are written, and in other ways where these may pay.
#pragma once

#include "pg/pg.h"

#include <optimizer/planner.h>

#include "engine/cost/executor_cost.hpp"

namespace gpuscan {

// What the plan of a statement takes, devices' parts among it, and what of that are steps of PostgreSQL's executor.
struct PlannedTime {
    double ns; // 0: not known
    executor::Work work;
};

// From now on, each statement's is written there (NULL: nowhere); returns where it was written before.
PlannedTime *tell_planned_time(PlannedTime *to);

// `previous`: whoever plans statements else; NULL: PostgreSQL. By planner_init.
void statement_init(planner_hook_type previous);

// With the best of its plans. `parse` is scribbled on.
PlannedStmt *plan_statement(Query *parse, const char *query_string, int options, ParamListInfo params);

} // namespace gpuscan
