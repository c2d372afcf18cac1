// The inner loops for machines with AVX2.
#ifdef __x86_64__
#include <immintrin.h>

#include "cuda/semantics.cuh"
#include "engine/host/kernels.hpp"

#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt")
#define GPUSCAN_KERNELS avx2
#define GPUSCAN_AVX2 // (see kernels_avx512.cpp)
#define GPUSCAN_KERNELS_NAME "avx2"
#include "engine/host/kernels_body.hpp"
#pragma GCC pop_options
#endif
