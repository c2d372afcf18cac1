// The device process: everything that happens between its fork and its end.
#pragma once

#include <cstddef>

#include "server/page_identity.hpp"
#include "server/protocol.hpp"

namespace gpuscan {

// What the supervisor passes to its child.
struct DeviceProcessOptions {
    protocol::Area *area;
    BufferPool pool;
    const void *protect[4]; // addresses inside mappings that must become read-only (PostgreSQL's shared memory)
    int nprotect;
    void *detach;          // PostgreSQL's System V interlock segment, or nullptr
    const char *cache_dir; // for compiled kernels, below the data directory
};

// Runs until the parent dies or asks by SIGTERM; never returns to PostgreSQL code.
[[noreturn]] void device_process_main(const DeviceProcessOptions &options);

} // namespace gpuscan
