// What a GPU's memory and its link can do.
#pragma once

#include "cuda/shared_state.hpp"
#include "engine/cost/tier_measure.hpp"

namespace gpuscan::cuda {

// Begins with the default weights. Takes at most a gigabyte of the device's memory, and less than that where there is no room.
tier::Measurement measure_gpu(SharedState &state);

} // namespace gpuscan::cuda
