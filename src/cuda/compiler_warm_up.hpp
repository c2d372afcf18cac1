// Kernels that no query asks for: what a compiler translates before the first query comes.
//
// The first kernels that a process compiles cost twice what later ones do. NVRTC is 100 MB of code, which is read from
// its file where it is first executed, and its memory is taken from the kernel page by page. The first of these
// two kernels takes a new process 0.85 s, and 0.45 s when it comes again (NVRTC's own cache being off). So every compiler begins
// with them. They have what kernels of queries have: filters, join tables of all kinds, lookups, groups in
// shared memory, wide sums, a build.
#pragma once

#include <string>
#include <vector>

namespace gpuscan::cuda {

// Their texts, as codegen::generate() writes them.
std::vector<std::string> warm_up_sources();

} // namespace gpuscan::cuda
