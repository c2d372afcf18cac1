// Decoding heap pages on the GPU; see decode.cuh.
#pragma once

#include <atomic>
#include <memory>

#include "cuda/shared_state.hpp"
#include "engine/store/decode.hpp"

namespace gpuscan::cuda {

void decode_pages(SharedState &state, const DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel);

} // namespace gpuscan::cuda
