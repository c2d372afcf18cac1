// What the levels of a query take, and what devices bring for them: the levels around a subquery ask after it has been planned.
#pragma once

#include "pg/pg.h"

#include "pg/cost/cache_admission.h"

namespace gpuscan {

// Of a level's last paths the one that PostgreSQL will take; NULL: there is none.
const Path *path_taken(const PlannerInfo *root, const RelOptInfo *final);
// Levels above that have it as a subquery will ask what it takes, and brings.
void note_level(const PlannerInfo *root, const Path *path, double ns, const List *missing_columns);
void forget_levels(); // where planning a statement begins

// What a unit of the costs of a subquery's plan takes; the usual one, if nobody has noted it.
double subplan_ns_per_unit(const PlannerInfo *root, int plan_id);
// What the level's subqueries take that are computed once (init plans, CTEs).
double init_plans_ns(const PlannerInfo *root);
Cost init_plans_cost(const PlannerInfo *root); // the same by PostgreSQL's costs
// What devices bring for these.
List *init_plans_missing_columns(const PlannerInfo *root);

} // namespace gpuscan
