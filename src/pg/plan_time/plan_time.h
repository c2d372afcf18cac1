// What a path takes in time: PostgreSQL's steps at their rates (engine/cost/executor_cost.hpp), a device's nodes as they have been estimated.
#pragma once

#include "pg/pg.h"

#include "engine/cost/executor_cost.hpp"
#include "pg/cost/cache_admission.h"

namespace gpuscan {

// ns, from the start to the last row.
double path_ns(PlannerInfo *root, const Path *path);
// As path_ns, counted. `missing_columns` gets what devices bring for it; of MissingColumns *.
void count_path(PlannerInfo *root, const Path *path, executor::Work *work, List **missing_columns = nullptr);

List *path_missing_columns(PlannerInfo *root, const Path *path);
// Is it among these?
bool brings(const List *missing_columns, const MissingColumns *missing);

} // namespace gpuscan
