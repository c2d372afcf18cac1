// The inner loops for machines with AVX2.
#ifdef __x86_64__
#include <immintrin.h>

#include "device/semantics.cuh"
#include "host/kernels/kernels.hpp"

#ifdef __clang__ // (which fuzzes, and does not know the other pragma)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt")
#endif
#define GPUSCAN_KERNELS avx2
#define GPUSCAN_AVX2 // (see kernels_avx512.cpp)
#define GPUSCAN_KERNELS_NAME "avx2"
#include "host/kernels/kernels_body.hpp"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
