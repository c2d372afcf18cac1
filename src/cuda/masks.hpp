// The row masks of a run in device memory.
#pragma once

#include "cuda/shared_state.hpp"

namespace gpuscan::cuda {

struct DeviceMasks {
    std::vector<CUdeviceptr> masks; // by chunk; 0: every row takes part
    BufferRef uploaded, patched;    // hold them
    size_t link_bytes = 0;
};

// Queues whatever has to be copied, or made of masks that are there already.
DeviceMasks put_masks(SharedState &state, StreamContext &streams, const std::vector<ChunkView> &chunks);
// Queues Device::copy_mask().
void copy_mask(SharedState &state, StreamContext &streams, Buffer &to, const Buffer &from, size_t bytes,
               const std::vector<RowRange> &without);

} // namespace gpuscan::cuda
