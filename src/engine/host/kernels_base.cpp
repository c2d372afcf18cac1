// The inner loops for any machine.
#include "cuda/semantics.cuh"
#include "engine/host/kernels.hpp"

#define GPUSCAN_KERNELS base
#define GPUSCAN_KERNELS_NAME "base"
#include "engine/host/kernels_body.hpp"
