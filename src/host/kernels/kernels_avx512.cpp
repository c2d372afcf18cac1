// The inner loops for machines with AVX-512.
#ifdef __x86_64__
#include <immintrin.h>

#include "device/semantics.cuh"
#include "host/kernels/kernels.hpp"

#ifdef __clang__ // (which fuzzes, and does not know the other pragma)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi,bmi2,popcnt"))),   \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi,bmi2,popcnt")
#endif
#define GPUSCAN_KERNELS avx512
#define GPUSCAN_AVX2
#define GPUSCAN_AVX512 // __AVX512BW__ and the like are not defined by the pragma: g++ 12 reads the whole file before it
#define GPUSCAN_KERNELS_NAME "avx512"
#include "host/kernels/kernels_body.hpp"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
