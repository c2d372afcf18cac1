// The inner loops for any machine.
#include "device/semantics.cuh"
#include "host/kernels/kernels.hpp"

#define GPUSCAN_KERNELS base
#define GPUSCAN_KERNELS_NAME "base"
#include "host/kernels/kernels_body.hpp"
