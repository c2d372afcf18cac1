// Window functions over delivered rows.
//
// In the device process, on its host's cores, when all rows of all passes are there. Window by window:
//
//   sort      the rows, by partition and order (row_sort.hpp); not where they already come so
//   edges     a byte for each row: does it begin a partition, or a group of rows that tie?
//   bounds    where offsets count values or groups: of each row's frame, found once for all functions
//   frames    threads share the rows, wherever partitions begin: what a partition's rows before a thread's add up to is found first. Bounds
//             of frames never go back within a partition, so each function goes over its rows once: a frame that begins with its partition only grows; one that moves gives up exact sums and counts again, keeps a queue
//             of candidates for its minimum, and adds floats up in two stacks, since what was added to a float cannot be taken away
//             (Leis, Kundhavi, Kemper and Neumann, "Efficient Processing of Window Functions in Analytical SQL Queries", VLDB
//             2015, section 4, on cumulative and removable aggregation; with constant offsets no segment tree is needed). Frames of which rows are
//             left out have one (window_exclusion.hpp)
//
// A window without functions is an order, into which the rows that are left are brought. Rows that tie come in any order, and functions that look at single rows tell it, as between PostgreSQL's own plans.
#pragma once

#include <atomic>

#include "engine/device.hpp"

namespace gpuscan {

// The rows of the program's main pipeline, with the columns of Program::row_types(), in the order of the last window. Throws
// OutOfWorkMemory, Cancelled; DeviceError where a sum overflows, a number is none that PostgreSQL allows, or rows that tie have equal values
// of which it shows either. `threads`: 0: as many as are worth it.
RowTable apply_windows(const Program &program, RowTable rows, const WorkMemoryRef &memory,
                       const std::atomic<uint32_t> *cancel, unsigned threads = 0);

} // namespace gpuscan
