// The CPU as a device: vectorized, multi-threaded, over the same columnar chunks as a GPU.
#pragma once

#include <memory>

#include "engine/device.hpp"

namespace gpuscan {

// `threads` work on each execution, the calling session's among them.
std::unique_ptr<Device> make_host_device(unsigned threads);

} // namespace gpuscan
