// Window functions over rows in device memory: what engine/result/window.hpp does on the host, with kernels (device/windows.cuh).
//
// Window by window:
//
//   sort       the numbers of rows (order.hpp), unless they come in the window's order already
//   edges      of partitions and of groups of rows that tie, counted, so that each row finds where its own begin and end
//   bounds     of frames whose offsets count groups or values, by a search in the row's partition
//   functions  each reads its columns in order, and prefix sums of them where it is about frames
//   drop       when all functions are there, rows that no test passes
//
// Floats and extremes of frames that neither begin with their partition nor are narrow are the host's, and so are those of equal values
// that look different, rows of which ORDER BY with LIMIT chooses, and more rows than a kernel numbers.
#pragma once

#include "cuda/windows/order.hpp"

namespace gpuscan::cuda {

// May the windows of this program be computed here?
bool can_compute_windows(const Program &program);

// The columns of the program's payload become those of its result. False: some value is wider than kernels can add up or order. Throws
// DeviceError as apply_windows() does, OutOfDeviceMemory, Cancelled.
bool compute_windows(RowKernels &kernels, const Program &program, const std::vector<HeldColumn> &columns, uint64_t rows,
                     DeviceRows &result);

// Bounds of the columns' values, and whether some have more than 64 bits.
void find_ranges(RowKernels &kernels, DeviceRows &rows);

// As who reads the column wants it: an integer type, and what values stay below (0: anything). Throws DeviceError for a value that is
// too large.
void cast_column(RowKernels &kernels, DeviceRows::Column &column, uint64_t rows, Type type, int128 limit);

} // namespace gpuscan::cuda
