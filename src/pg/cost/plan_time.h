// What a path takes in time: PostgreSQL's steps at their rates (engine/executor_cost.hpp), a device's nodes as they have been estimated.
#pragma once

#include "pg/pg.h"

#include "engine/executor_cost.hpp"
#include "pg/cost/investment.h"

namespace gpuscan {

// ns, from the start to the last row.
double path_ns(PlannerInfo *root, const Path *path);
// As path_ns, counted. `loads` gets what devices bring for it; of Load *.
void count_path(PlannerInfo *root, const Path *path, executor::Work *work, List **loads = nullptr);

List *path_loads(PlannerInfo *root, const Path *path);
// Is it among these?
bool brings(const List *loads, const Load *load);

// ---- query levels ----

// Of a level's last paths the one that PostgreSQL will take; NULL: there is none.
const Path *path_taken(const PlannerInfo *root, const RelOptInfo *final);
// Levels above that have it as a subquery will ask what it takes, and brings.
void note_level(const PlannerInfo *root, const Path *path, double ns, const List *loads);
void forget_levels(); // where planning a statement begins

// What a unit of the costs of a level's plan takes; 0: nobody has noted it.
double level_ns_per_unit(const PlannerInfo *root);
// The same of a subquery's plan; the usual one, if nobody has.
double subplan_ns_per_unit(const PlannerInfo *root, int plan_id);
// What the level's subqueries take that are computed once (init plans, CTEs).
double init_plans_ns(const PlannerInfo *root);
// What devices bring for these.
List *init_plans_loads(const PlannerInfo *root);

} // namespace gpuscan
