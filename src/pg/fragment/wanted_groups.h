// Which of its groups or rows need a fragment deliver? HAVING, and the first ones of ORDER BY ... LIMIT.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

// Is there a LIMIT? LIMIT NULL, which LIMIT ALL is written as, is none.
bool has_limit(const Query *query);

// Asks for whatever the query may let the device drop; `having` in the order in which PostgreSQL tests it.
void ask_for_groups(PlannerInfo *root, List *having, FragmentSpec *spec);

// Keeps of that what the device can decide, and what is right if it does. `results` is computed from the groups.
void finalize_wanted_groups(const PlannerInfo *root, List *results, const Fragment *trial, FragmentSpec *spec);

// Of so many groups or rows, how many will be delivered?
double wanted_groups(const FragmentSpec *spec, double groups);

// Rows that come in the order of `spec->order` may be read in part, by LIMIT, a cursor, a function, or a client that stops. PostgreSQL sorts
// rows with all that it shows of them, so it meets every row's errors before it shows the first: asks the device to check for those.
void ask_for_checks(const PlannerInfo *root, FragmentSpec *spec);

// The same of rows in the order of `spec->order`: the first ones, where Limit is what follows.
void ask_for_first_rows(const PlannerInfo *root, FragmentSpec *spec);
void finalize_first_rows(const PlannerInfo *root, const Fragment *trial, FragmentSpec *spec);

} // namespace gpuscan
