// How many different values are there among many, by a sample of them?
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuscan {

// Of `population` values (at least n), n are given as hashes, drawn at random; they are sorted in place. The estimator is Duj1 of
// Haas and Stokes, "Estimating the Number of Classes in a Finite Population" (JASA 93, 1998), which ANALYZE uses as well: n d / (n - f1 +
// f1 n / population), with d different values in the sample, of which f1 occur once. At most `population`; 0 if n is.
double distinct_count(uint32_t *hashes, size_t n, double population);

} // namespace gpuscan
