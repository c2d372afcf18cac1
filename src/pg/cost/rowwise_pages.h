// How many pages of a relation does a query have to read row by row, because the cache cannot have them for now?
//
// A page that was changed after the oldest snapshot was taken has rows on which snapshots disagree. As long as that snapshot is there
// every query reads the page anew, whatever the cache has of it. Nobody can tell such pages without looking at them, so what the last
// execution met is kept here, in shared memory, until every snapshot is younger than that execution: then the next one can cache them.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// What an execution has read row by row, in all partitions together.
void note_rowwise_pages(Oid relid, uint64 pages);

// What the next one is expected to, of a relation of so many pages, which the query has locked.
double rowwise_pages(Oid relid, double pages);

} // namespace gpuscan
