// Can a device read a base relation itself, and if not, may PostgreSQL's plan of it feed the device? What stands in the way is told
// as a refusal.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// The relations below a parent that planning has not pruned, as range table indexes; partitioned ones are parents themselves and
// hold no rows; a table with children stands among them.
List *leaves_of(PlannerInfo *root, Index parent);

// A heap, or a parent whose leaves are heaps; its quals are not looked at.
bool device_can_read(PlannerInfo *root, const RangeTblEntry *rte, const List *leaves);

// Rows of PostgreSQL's own plan of it; where it is a relation that only its quals keep from the device, too.
bool plan_may_feed(PlannerInfo *root, const RelOptInfo *rel, const RangeTblEntry *rte);

// Does an expression, or a query that has been planned, call a volatile function, in its subqueries perhaps?
bool is_volatile_when_planned(PlannerInfo *root, Node *node);

} // namespace gpuscan
