// How much has a fragment to do with the dictionaries of its text columns?
#pragma once

#include "pg/pg.h"

#include "pg/cost/device_cost.h"
#include "pg/fragment/fragment.h"

namespace gpuscan {

// Adds to all fields of `kinds` but `all` what these columns of a relation are (`read`: attribute numbers as in pull_varattnos()). Returns how many different texts there are in them, by their statistics.
double kinds_of_columns(PlannerInfo *root, const RelOptInfo *rel, const Bitmapset *read, tier::Columns *kinds);

// By the statistics of the columns. False: one has more distinct texts than a device's dictionary takes.
bool text_work(PlannerInfo *root, const Fragment *fragment, TextWork *work);

// A ledger with what a fragment costs before its pipelines run.
tier::Ledger fragment_ledger(const Fragment *fragment, const TextWork *texts, tier::Breakdown *breakdown);

} // namespace gpuscan
