// Can executing a plan of PostgreSQL's raise an error?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// False if it may, or if the plan has a node that this does not know. (An error that any statement can meet, a full disk, a cancel,
// does not count.) `estate` executes the statement: the init plans that the plan would have executed are part of the question.
bool is_error_free_plan(const EState *estate, const Plan *plan);

// The same of an init plan, which may have more rows than it should have.
bool is_error_free_init_plan(const EState *estate, const SubPlanState *state);

} // namespace gpuscan
