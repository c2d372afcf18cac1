// Kernels that no query asks for: what a compiler translates before the first query comes.
//
// The first kernels that a process compiles cost many times what later ones do. NVRTC is 100 MB of code, which is read from
// its file where it is first executed, and its memory is taken from the kernel page by page. On a machine that had just
// started, the first of these two kernels took 0.6 s and the second 0.15 to 0.2 s; the same two again, 50 and 40 ms. So every
// compiler begins with them. They have what kernels of queries have: filters, join tables of all kinds, lookups, groups in
// shared memory, wide sums, a build.
#pragma once

#include <string>
#include <vector>

namespace gpuscan::cuda {

// Their texts, as codegen::generate() writes them.
std::vector<std::string> rehearsal_sources();

} // namespace gpuscan::cuda
