#pragma once

#include <cstdint>

namespace gpuscan {

// Bytes of memory that this process can ever have: the machine's, or what the control group (a container's, a service's) allows, if that
// is less. Read once.
uint64_t machine_memory();

// Processor cores that are online; at least 1. Asked once.
int machine_cores();

} // namespace gpuscan
