// Moving rows of a column into another frame on the GPU, and zeros for what gets rows.
#pragma once

#include "cuda/shared_state.hpp"
#include "engine/store/frame.hpp"

namespace gpuscan::cuda {

void pack_rows(SharedState &state, const std::vector<PackJob> &jobs, const std::vector<BufferEnd> &zeros);
// Queued. Throws DeviceError where one begins behind its buffer's end.
void queue_zeros(SharedState &state, StreamContext &streams, const std::vector<BufferEnd> &ends);

} // namespace gpuscan::cuda
