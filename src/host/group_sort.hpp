// Putting the groups of a result into the order that somebody above wants, so that PostgreSQL need not sort them.
//
//   keys      the sort keys of all groups become columns, by several threads; of a text its rank, by a lookup
//   numbers   these columns and the groups' numbers are rows, which are sorted as delivered rows are (row_sort.hpp)
//   gather    each thread moves its part of the groups into their new places
//
// Once for the whole result, when all passes are merged and HAVING has dropped what it could; groups that the device has kept
// back must be there. Groups with equal keys come in any order.
#pragma once

#include <atomic>
#include <vector>

#include "engine/device.hpp"
#include "engine/ir/program.hpp"

namespace gpuscan::host {

// For a program whose main pipeline is `sorted`. `lookups`: of the program. Throws RowError (a sort key is an expression),
// OutOfWorkMemory, Cancelled.
GroupTable sort_groups(const Program &program, GroupTable groups, const std::vector<LookupRef> &lookups,
                       const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel);

} // namespace gpuscan::host
