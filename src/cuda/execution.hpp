// One execution of one program on the GPU: builds, probes, groups.
#pragma once

#include <memory>

#include "cuda/shared_state.hpp"
#include "engine/device.hpp"

namespace gpuscan::cuda {

std::unique_ptr<Execution> make_execution(std::shared_ptr<SharedState> state, const Program &program,
                                          const std::atomic<uint32_t> *cancel);

} // namespace gpuscan::cuda
