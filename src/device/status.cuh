// Bits that kernels set, and others or the host read.
#pragma once

#include "device/semantics.cuh"

namespace gpuscan {

// The status word.
constexpr uint32_t status_row_error = 1;    // a row met an SQL error
constexpr uint32_t status_bad_lookup = 2;   // a code beyond its lookup table, or a key outside its bounds
constexpr uint32_t status_table_full = 4;   // a group table has to grow
constexpr uint32_t status_duplicates = 8;   // a key occurs twice in a join table
constexpr uint32_t status_no_bound = 16;    // a bound that only orders a join table's rows met an SQL error
constexpr uint32_t status_wide = 32;        // a value has more than the 64 bits that a kernel of windows adds up
constexpr uint32_t status_no_such_row = 64; // a join table lacks a row that it should lose

// A slot of a set of numbers below 2^63 that has one; 0: it is free.
constexpr uint64_t in_set = 1ULL << 63;

} // namespace gpuscan
