// Which columns have no NULL in any row that the statement can see?
//
// NOT NULL is what the catalogue says now. A snapshot may be older (repeatable read, a stable function's, a wait for the lock): then
// another transaction may have filled the NULLs since and declared NOT NULL afterwards, and the snapshot sees the rows of
// then. So a declaration counts if the snapshot sees the transaction that wrote it. PostgreSQL up to 16 draws no conclusions from NOT NULL
// while it plans; 17 and later do for IS NULL, and are wrong there in the same way.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Who relies on it: an execution under the active snapshot, or a plan, which may be executed under others.
enum class Reliance { Execution, Plan };

// The column of the relation and, with `children`, of every table that inherits from it. False if there is no active snapshot.
bool is_never_null(Relation relation, AttrNumber attnum, bool children, Reliance reliance);

} // namespace gpuscan
