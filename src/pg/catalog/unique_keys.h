// Which relations may have several rows of a key that is unique now?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Has one of these base relations a unique index that is newer than the rows that the statement sees? PostgreSQL makes IN an inner join where
// the other side is unique, and its executor stops at the first row of a key; a device's inner join has all of them. Under READ COMMITTED a
// statement's locks are older than its snapshot, so there is none.
bool has_newer_unique_key(const PlannerInfo *root, Relids relations);

} // namespace gpuscan
