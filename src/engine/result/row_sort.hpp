// Putting delivered rows into the order that somebody above wants, so that PostgreSQL need not sort them.
//
// In the device process, on its host's cores, when all rows of all passes are there (they are in host memory then, on
// whichever device they were found):
//
//   numbers   every row gets the first 64 bits of its keys (row_order.hpp)
//   runs      each thread sorts its slice of the rows by these numbers; where they are equal and 64 bits have not held all
//             of the keys, by the keys themselves
//   merge     samples of the runs divide the order into one range per thread, which merges its parts of all runs and
//             gathers the columns of its rows (Diamos et al., section 3: partition, then merge independent sections; DeWitt,
//             Naughton & Schneider, "Parallel Sorting on a Shared-Nothing Architecture using Probabilistic Splitting", 1991)
//
// Rows with equal keys come in any order.
#pragma once

#include <atomic>
#include <vector>

#include "engine/result/row_order.hpp"

namespace gpuscan {

// The first types.size() columns of the rows, ordered; types are theirs. Throws OutOfWorkMemory, Cancelled.
RowTable sort_rows(RowTable rows, const std::vector<SortColumn> &order, const std::vector<Type> &types,
                   const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel);

} // namespace gpuscan
