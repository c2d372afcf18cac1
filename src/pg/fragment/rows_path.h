// The CustomPath of a fragment that delivers rows instead of groups.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/candidates.h"

namespace gpuscan {

// Adds a GpuScan path that delivers the candidate's rows to its base or join relation, where they are shippable; else
// refuses. With `force` it becomes the relation's only path, else PostgreSQL chooses by cost. `ordered`: and another one that
// delivers the topmost relation's rows in the order that the query level goes on with, as far as a device knows it.
bool add_rows_path(PlannerInfo *root, const Candidate *candidate, RelOptInfo *rel, bool force, bool ordered);

// Would the rows do, in another order and made anew, for whatever the query levels make of them? Else a reason.
bool rows_are_fit(const PlannerInfo *root);

// What delivering so many rows costs beside their number: entries of dictionaries that their texts are shown from, and bytes of a row.
double dictionary_entries(PlannerInfo *root, double rows, const FragmentSpec *spec);
double row_bytes(const Fragment *fragment);

// The relation that all of the query level's scans and joins end in.
bool is_topmost(const PlannerInfo *root, const RelOptInfo *rel);

} // namespace gpuscan
