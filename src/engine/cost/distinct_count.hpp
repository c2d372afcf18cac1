// How many different values are there among many, by a sample of them?
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuscan {

// Of `population` values (at least n), n are given as hashes, drawn at random; they are sorted in place. The estimator is Duj2a of
// Haas and Stokes, "Estimating the Number of Classes in a Finite Population" (JASA 93, 1998). ANALYZE's, their Duj1, takes values for
// equally frequent: of 5,000 that follow Zipf's law 1,000 draws are 700 to it, and 4,000 to Duj2a. At most `population`; 0 if n is.
double distinct_count(uint32_t *hashes, size_t n, double population);

// How many of the n values occur once? They are sorted in place. Their share is about how likely the next draw is none of these values.
size_t count_singles(uint32_t *hashes, size_t n);

} // namespace gpuscan
