// Takes the right to write PostgreSQL's shared memory from this process.
#pragma once

#include "server/device_process.hpp"

namespace gpuscan {

// Makes every mapping that holds one of options.protect read-only, and detaches options.detach. False with a reason on
// stderr when that cannot be done for all of them: then the process must not go on.
bool guard_memory(const DeviceProcessOptions &options);

} // namespace gpuscan
