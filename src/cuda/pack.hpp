// Moving rows of a column into another frame on the GPU.
#pragma once

#include "cuda/shared_state.hpp"
#include "engine/store/frame.hpp"

namespace gpuscan::cuda {

void pack_rows(SharedState &state, const std::vector<PackJob> &jobs);

} // namespace gpuscan::cuda
