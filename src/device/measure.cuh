// Kernels that measure the GPU's memory and the link; see cuda/measure.cpp, which includes this file too.
#pragma once

#include "device/semantics.cuh"

namespace gpuscan {
namespace measuring {

constexpr uint32_t threads = 256;

enum Pattern : uint32_t { SequentialRead, SequentialWrite, RandomRead, RandomWrite };

struct Argument {
    uint32_t *memory;
    uint64_t words;    // a power of two
    uint64_t accesses; // random: of each thread
    uint32_t pattern, seed;
    uint32_t *sink; // of what is of no use otherwise
};

#ifdef __CUDACC__

// 16 bytes a thread and step.
__device__ __forceinline__ uint32_t stream(const Argument &a, bool write, uint64_t first, uint64_t step) {
    uint4 *const at = reinterpret_cast<uint4 *>(a.memory);
    uint32_t sum = 0;
    for (uint64_t i = first; i < a.words / 4; i += step) {
        if (write) {
            at[i] = uint4{a.seed, a.seed, a.seed, a.seed};
        } else {
            const uint4 four = at[i];
            sum += four.x ^ four.y ^ four.z ^ four.w;
        }
    }
    return sum;
}

// Accesses that do not depend on one another.
__device__ __forceinline__ uint32_t scatter(const Argument &a, bool write, uint64_t thread) {
    uint64_t state = (thread + 1) * 0x9E3779B97F4A7C15ull + a.seed;
    uint32_t sum = 0;
    for (uint64_t i = 0; i < a.accesses; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint32_t *const word = a.memory + (state & (a.words - 1));
        if (write)
            atomicAdd(word, 1u);
        else
            sum += *word;
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(256) measure(const Argument a) {
    const uint64_t thread = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint64_t all = uint64_t(gridDim.x) * blockDim.x;
    uint32_t sum = 0;
    if (a.pattern == SequentialRead || a.pattern == SequentialWrite)
        sum = stream(a, a.pattern == SequentialWrite, thread, all);
    else
        sum = scatter(a, a.pattern == RandomWrite, thread);
    if (sum == 0x5EED5EEDu && a.words == 1)
        *a.sink = sum;
}

#endif

} // namespace measuring
} // namespace gpuscan
