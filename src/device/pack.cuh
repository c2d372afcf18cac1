// Moving rows of a column from one frame into another; see engine/store/frame.hpp.
//
// The structures are filled by the host (cuda/pack.cpp includes this file too). A block takes one run of rows of its job at a time.
#pragma once

#include "device/semantics.cuh"

namespace gpuscan {
namespace packing {

constexpr uint32_t threads = 256;
constexpr uint32_t whole = 0xff; // Frame::whole

struct Run {
    uint32_t from, to, count;
};

struct Side {
    uint8_t *values;
    uint8_t *nulls; // may be null
    int64_t base;
    uint32_t width; // whole, 0, 1, 2, 4, 8
    uint32_t unused;
};

struct Job {
    const Run *runs;
    uint32_t nruns;
    uint32_t type; // engine/ir/types.hpp's Type
    Side from, to;
};

struct Argument {
    const Job *jobs; // one for each blockIdx.y
};

// Memory that becomes zeros: 16-byte aligned, or shorter than that.
struct Zeros {
    uint8_t *at;
    uint64_t bytes;
};

struct ZeroArgument {
    const Zeros *pieces; // one for each blockIdx.x
};

#ifdef __CUDACC__

// The value of a row, modulo 2^64; `fits` becomes false for one that 64 bits do not hold.
__device__ __forceinline__ int64_t load(const Side &side, uint32_t type, uint64_t row, bool &fits) {
    switch (side.width) {
    case 0:
        return side.base;
    case 1:
        return (int64_t)((uint64_t)side.base + side.values[row]);
    case 2:
        return (int64_t)((uint64_t)side.base + ((const uint16_t *)side.values)[row]);
    case 4:
        return (int64_t)((uint64_t)side.base + ((const uint32_t *)side.values)[row]);
    case 8:
        return (int64_t)((uint64_t)side.base + ((const uint64_t *)side.values)[row]);
    }
    switch (type) {
    case 0:
        return side.values[row];
    case 1:
        return ((const int16_t *)side.values)[row];
    case 2:
        return ((const int32_t *)side.values)[row];
    case 4: {
        const sem::i128 v = ((const sem::i128 *)side.values)[row];
        fits = v == (int64_t)v;
        return (int64_t)v;
    }
    case 7:
        return ((const uint32_t *)side.values)[row];
    default:
        return ((const int64_t *)side.values)[row];
    }
}

__device__ __forceinline__ void store(const Side &side, uint32_t type, uint64_t row, int64_t v, bool fits) {
    const uint64_t d = (uint64_t)v - (uint64_t)side.base;
    fits = fits && v >= side.base;
    switch (side.width) {
    case 0:
        return;
    case 1:
        side.values[row] = fits && d <= 0xff ? (uint8_t)d : 0;
        return;
    case 2:
        ((uint16_t *)side.values)[row] = fits && d <= 0xffff ? (uint16_t)d : 0;
        return;
    case 4:
        ((uint32_t *)side.values)[row] = fits && d <= 0xffffffffu ? (uint32_t)d : 0;
        return;
    case 8:
        ((uint64_t *)side.values)[row] = fits ? d : 0;
        return;
    }
    switch (type) {
    case 0:
        side.values[row] = (uint8_t)v;
        return;
    case 1:
        ((int16_t *)side.values)[row] = (int16_t)v;
        return;
    case 2:
    case 7:
        ((uint32_t *)side.values)[row] = (uint32_t)v;
        return;
    case 4:
        ((sem::i128 *)side.values)[row] = v;
        return;
    default:
        ((int64_t *)side.values)[row] = v;
    }
}

__device__ __forceinline__ void copy_whole(const Job &a, uint64_t from, uint64_t to) {
    switch (a.type) {
    case 4:
        ((sem::i128 *)a.to.values)[to] = ((const sem::i128 *)a.from.values)[from];
        return;
    case 5:
        ((uint32_t *)a.to.values)[to] = ((const uint32_t *)a.from.values)[from];
        return;
    default:
        ((uint64_t *)a.to.values)[to] = ((const uint64_t *)a.from.values)[from];
    }
}

extern "C" __global__ void __launch_bounds__(256) pack_rows(const Argument argument) {
    const Job a = argument.jobs[blockIdx.y];
    // 128-bit integers and floats pass through no 64-bit integer where nothing is narrowed.
    const bool copy = a.from.width == whole && a.to.width == whole && (a.type >= 4 && a.type <= 6);
    for (uint32_t r = blockIdx.x; r < a.nruns; r += gridDim.x) {
        const Run run = a.runs[r];
        for (uint32_t i = threadIdx.x; i < run.count; i += threads) {
            const uint64_t from = (uint64_t)run.from + i, to = (uint64_t)run.to + i;
            if (copy) {
                copy_whole(a, from, to);
            } else {
                bool fits = true;
                const int64_t v = load(a.from, a.type, from, fits);
                store(a.to, a.type, to, v, fits);
            }
            if (a.to.nulls)
                a.to.nulls[to] = a.from.nulls ? a.from.nulls[from] : 0;
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) zero_pieces(const ZeroArgument a) {
    const Zeros piece = a.pieces[blockIdx.x];
    const uint64_t words = piece.bytes / sizeof(sem::i128);
    for (uint64_t i = threadIdx.x; i < words; i += threads)
        ((sem::i128 *)piece.at)[i] = 0;
    for (uint64_t i = words * sizeof(sem::i128) + threadIdx.x; i < piece.bytes; i += threads)
        piece.at[i] = 0;
}

#endif

} // namespace packing
} // namespace gpuscan
