// Executions of cached plans, for the credits of relations (cache_admission.h).
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// What a statement owes to a relation for each execution.
struct AdmissionCredit {
    Oid relid;
    Cost cost;
};

// The plan costs so much, and a device would save these credits once it had what it lacks; `shortfall`: of the credits that the plan's
// executions add, so much makes the device's plan the cheaper one.
void remember_credits(const PlannedStmt *plan, Cost cost, const AdmissionCredit *credits, int ncredits, Cost shortfall);

// A fragment has brought columns or compiled kernels: what this execution takes is not what the next one will.
void note_first_execution();
uint32 first_executions(); // how many there were

// Of executions (planner/executions.h): does the plan owe credit; one begins; it has taken so much more.
bool owes_credit(const PlannedStmt *plan);
void credit_execution(const PlannedStmt *plan);
void credit_taken(const PlannedStmt *plan, Cost taken);

} // namespace gpuscan
