// Bits of the status word that kernels set and the host reads.
#pragma once

#include "device/semantics.cuh"

namespace gpuscan {

constexpr uint32_t status_row_error = 1;  // a row met an SQL error
constexpr uint32_t status_bad_lookup = 2; // a code beyond its lookup table, or a key outside its bounds
constexpr uint32_t status_table_full = 4; // a group table has to grow
constexpr uint32_t status_duplicates = 8; // a key occurs twice in a join table

} // namespace gpuscan
