// How much has a fragment to do with the dictionaries of its text columns?
#pragma once

#include "pg/pg.h"

#include "pg/cost/device_cost.h"
#include "pg/plan/fragment.h"

namespace gpuscan {

// Columns of texts that the query reads of a relation, and how many different texts they have in all.
void texts_of_relation(PlannerInfo *root, const RelOptInfo *rel, double *columns, double *entries);

// By the statistics of the columns. False: one has more distinct texts than a device's dictionary takes.
bool text_work(PlannerInfo *root, const Fragment *fragment, TextWork *work);

} // namespace gpuscan
