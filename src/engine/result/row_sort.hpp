// Putting delivered rows into the order that somebody above wants, so that PostgreSQL need not sort them.
//
// In the device process, on its host's cores, when all rows of all passes are there (they are in host memory then, on
// whichever device they were found):
//
//   ranges    of each key's values
//   numbers   every row gets the first 64 bits of its keys, as few of each as the ranges need (row_order.hpp)
//   divide    samples of the numbers divide the order into one range per thread, to which each thread moves the rows of its slice
//             (DeWitt, Naughton & Schneider, "Parallel Sorting on a Shared-Nothing Architecture using Probabilistic Splitting", 1991)
//   sort      each thread sorts its range by the numbers' bytes, from the last one on, those left out that are alike in all; where
//             numbers are equal and 64 bits have not held all of the keys, by the keys themselves; and gathers the columns of its rows
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
