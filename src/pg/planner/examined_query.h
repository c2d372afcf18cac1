// A query that a function is given as a text, to tell of its plans: nothing is executed, and privileges are those of EXPLAIN.
#pragma once

#include "pg/pg.h"

#include "pg/planner/statement.h"

namespace gpuscan {

struct ExaminedQuery {
    const char *function; // that was given it, for messages
    const char *text;
    RawStmt *statement;
    mutable PlannedTime time; // of what has been planned last
};

// Parses the text and calls `work`. Errors of the query point into its own text, not into that of the statement that calls the function.
void examine(ExaminedQuery *query, const char *function, const char *text, void (*work)(void *context), void *context);

// Under the settings of now; it changes nothing that later plannings see.
PlannedStmt *plan_examined(const ExaminedQuery *query);

// As EXPLAIN does it: an error if the role may not run the plan.
void check_examined_privileges(const ExaminedQuery *query, PlannedStmt *plan);

// The plan's nodes on a device, as CustomScan *.
List *device_scans_of(const PlannedStmt *plan);

bool is_device_ready(int device); // 0: host, 1: cuda

} // namespace gpuscan
