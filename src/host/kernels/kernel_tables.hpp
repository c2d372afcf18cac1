// The inner loops once per instruction set (kernels_base.cpp, kernels_avx2.cpp, kernels_avx512.cpp), and which of them this
// machine can run; for whoever chooses among them, and for the test that compares them.
#pragma once

#include "host/kernels/kernels.hpp"

namespace gpuscan::host {

namespace base {
extern const Kernels table;
}
#ifdef __x86_64__
namespace avx2 {
extern const Kernels table;
bool can_run();
} // namespace avx2
namespace avx512 {
extern const Kernels table;
bool can_run();
} // namespace avx512
#endif

} // namespace gpuscan::host
