// What a path takes in time: PostgreSQL's steps at their rates (engine/cost/executor_cost.hpp), a device's nodes as they have been estimated.
#pragma once

#include "pg/pg.h"

#include "engine/cost/executor_cost.hpp"
#include "pg/cost/investment.h"

namespace gpuscan {

// ns, from the start to the last row.
double path_ns(PlannerInfo *root, const Path *path);
// As path_ns, counted. `loads` gets what devices bring for it; of Load *.
void count_path(PlannerInfo *root, const Path *path, executor::Work *work, List **loads = nullptr);

List *path_loads(PlannerInfo *root, const Path *path);
// Is it among these?
bool brings(const List *loads, const Load *load);

} // namespace gpuscan
