// What do plans cost that are made for whatever values a statement's parameters have?
//
// After five executions of a prepared statement PostgreSQL compares the mean cost of the plans that it made for given values with the cost
// of one for any (plancache.c, choose_custom_plan). The latter expects a default share of rows, 0.5 % between two bounds, and so an index is
// often the cheapest for it. Where the former run on a device and the latter on none, the sixth execution may take a hundred times what the
// fifth did, and all that follow.
//
// So it costs what its executions have taken, if that is more: when the mean of them is twice what was known, PostgreSQL is told to plan
// anew, and compares again. (So it is with all other plans of the session; that comes once for each
// doubling.)
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// A device takes part in a plan for given values of this statement (statement_hash()).
void note_custom_plan(uint64 statement);
bool knows_custom_plans(); // of any statement

// A plan for any values, on no device, is expected to take `ns`: raises its cost to what the executions of earlier ones have taken.
void price_generic_plan(uint64 statement, PlannedStmt *plan, double ns);

// Of executions (executions.h): is it one of such a plan; one begins; it has taken so much more.
bool is_generic_execution(const QueryDesc *query);
void begin_generic_execution(const QueryDesc *query);
void add_generic_execution(const QueryDesc *query, double ns);

} // namespace gpuscan
