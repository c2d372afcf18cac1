// Whom does a query read rows for that its user may not see?
//
// Row-level security and security barriers hide rows by conditions, and promise that the user's own conditions tell nothing of
// those rows unless their functions are leakproof. That a condition cannot raise an error is not enough: how many chunks it
// rules out, for how many texts it is evaluated and how long that takes are answers, too. So of a relation that hides rows
//
//   - the policies' conditions run first, in the order of their security levels (qual_order.cpp),
//   - what is not leakproof rules out no chunks and zones (ir::Conjunct::guarded), and is evaluated for the texts of rows that have
//     passed the policies, never for a dictionary (lookup.cpp),
//
// and of a query that reads one, or reads for a security barrier, neither EXPLAIN nor the counters show how much was read.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Are there policies that the query's user is subject to? `rti`: a base relation.
bool hides_rows(const PlannerInfo *root, Index rti);

// Does the query, or one that it is a part of, have such a relation or a security barrier?
bool hides_counts(const PlannerInfo *root);

} // namespace gpuscan
