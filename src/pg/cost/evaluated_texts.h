// Of which expressions over a text column has the device kept what PostgreSQL made of the column's texts?
//
// A lookup's table is made once and kept as long as the column's dictionary is (engine/store/cached_lookups.hpp). The planner cannot see these
// tables, so whoever makes one notes it in shared memory. If it has been dropped since, the next execution makes it, and a plan was a little
// too cheap.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

// Of lookups whose tables are kept (lookup_is_cacheable).
void note_evaluated_texts(const Fragment *fragment, const FragmentLookup *lookup);
bool are_texts_evaluated(const Fragment *fragment, const FragmentLookup *lookup);

} // namespace gpuscan
