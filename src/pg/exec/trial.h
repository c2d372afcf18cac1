// Running a plan that may raise an error, where an error only means that PostgreSQL's own plan has to run.
//
// PostgreSQL executes an init plan when a row asks for its value, and the inner side of a join when the outer side has rows. The
// device needs both before it has looked at any row. So a plan that could raise an error is executed in an executor state of its own,
// within a subtransaction (attempt.h): if it raises one, everything that it holds goes with the subtransaction, and the CPU plan
// decides whether anybody had to see the error. Plans that raise none (error_free_plan.h) run in the query's own state.
#pragma once

#include "pg/attempt.h"

namespace gpuscan {

// Calls `use` with the started state of `plan`, which belongs to the statement that `estate` executes, and copies what EXPLAIN shows of
// it into `shown`, the plan's state within `estate`. The parameters that the plan reads must have been evaluated (evaluate_plan_params).
Attempt try_plan(EState *estate, PlanState *shown, void (*use)(PlanState *state, void *argument), void *argument);

// Executes the init plan behind `state` as ExecSetParamPlan does, and hands its values over to the query. Failed: its parameters are as
// before, and a later ExecSetParamPlan executes it.
Attempt try_init_plan(EState *estate, SubPlanState *state);

} // namespace gpuscan
