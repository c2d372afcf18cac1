// How much has a fragment to do with the dictionaries of its text columns?
#pragma once

#include "pg/pg.h"

#include "pg/cost/device_cost.h"
#include "pg/fragment/fragment.h"

namespace gpuscan {

// Columns that the query reads of a relation.
struct ColumnKinds {
    double columns;         // all of them
    double varlena;         // of them: without a fixed length
    double texts;           // among them
    double different_texts; // in all of these, by their statistics
};

// The kinds, not the number, of these columns (`read`: attribute numbers as in pull_varattnos()); added to what there is.
void kinds_of_columns(PlannerInfo *root, const RelOptInfo *rel, const Bitmapset *read, ColumnKinds *kinds);

// By the statistics of the columns. False: one has more distinct texts than a device's dictionary takes.
bool text_work(PlannerInfo *root, const Fragment *fragment, TextWork *work);

} // namespace gpuscan
