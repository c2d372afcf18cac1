// Which relations may have several rows of a key that is unique now?
//
// PostgreSQL makes IN an inner join where the other side is unique (reduce_unique_semijoins in analyzejoins.c), and its executor stops at
// the first row of a key; a device's inner join has all of them. Unique is what the catalogue says now, and an older snapshot may see
// several rows: of repeatable read, of a cursor whose statement calls a function with a kept plan, or an imported one.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// The base relations of a query level with a unique index that is newer than rows that its plan may meet. To be asked when the level's joins
// are searched. (Of the snapshot that is active now: that of the statement, whose locks are older under READ COMMITTED, so there is
// nothing newer then. Of kept plans only where an IN has become an inner join, since any transaction that still runs may be
// the one whose snapshot is older. What is imported makes the plan cache plan again.)
Relids relations_with_newer_keys(const PlannerInfo *root);

} // namespace gpuscan
