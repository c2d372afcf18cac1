// The rows of a finished run: kept as the device sent them, and made tuples of batch by batch.
#pragma once

#include "pg/exec/run.h"

namespace gpuscan {

// Fetches every row into run->rows. False: see failure.
bool fetch_rows(FragmentRun *run);

// Gives temporary files back; the memory goes with the run's context.
void release_rows(RowStore *store);

// Which columns of the rows a slot shows: its attribute i (from 0) is column columns[i].
struct RowTargets {
    int count;
    int *columns;
};

// Begins again with the first row. The targets must stay as they are until the next begin.
void begin_rows(FragmentRun *run, const RowTargets *targets);

// Fills the first targets->count attributes of a virtual slot, whatever further ones there are keep their values; false
// at the end. What the values point to lives until the next call.
bool next_row(FragmentRun *run, TupleTableSlot *slot);

} // namespace gpuscan
