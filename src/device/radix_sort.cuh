// Sorting rows by words of 64 bits, and keeping the order of rows with equal ones.
//
// From the last digit of eight bits to the first (Satish, Harris and Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs",
// 2009, section 3). For each digit:
//
//   count    each block counts the digits of its tile
//   places   a scan over the counts, digit by digit and within one tile by tile, says where a tile's rows of a digit go (scan.cuh)
//   scatter  each block brings its tile into order in shared memory and copies it to those places, so that neighbours are written
//            together. Within a warp, rows with one digit find each other by a vote (as in Adinets and Merrill, "Onesweep", 2022, section 3.3)
//
// A row travels as its word and its number.
#pragma once

#include "device/scan.cuh"

namespace gpuscan {
namespace radix {

constexpr uint32_t digit_bits = 8, digits = 1 << digit_bits;
constexpr uint32_t threads = 256, warps = threads / 32, items = 12, tile_rows = threads * items;

struct Argument {
    const uint64_t *words;
    const uint32_t *numbers; // null pointer: rows stand in the order of their numbers
    uint64_t *to_words;
    uint32_t *to_numbers;
    uint32_t *counts; // [digit][tile]
    uint64_t rows;
    uint32_t tiles;
    uint32_t shift; // of the digit
};

// From counts to places.
struct Places : scan::Count {
    uint64_t rows;
    uint32_t *counts;
    Sum *totals;
#ifdef __CUDACC__
    __device__ Sum at(uint64_t row) const { return counts[row]; }
    __device__ void put(uint64_t row, Sum before, Sum) const { counts[row] = before; }
#endif
};

#ifdef __CUDACC__

static_assert(digits == threads, "each thread has a digit");

__device__ __forceinline__ uint32_t digit_of(const Argument &a, uint64_t word) {
    return (uint32_t)(word >> a.shift) & (digits - 1);
}

__device__ __forceinline__ void count_digits(const Argument &a) {
    __shared__ uint32_t counts[digits];
    for (uint64_t tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        counts[threadIdx.x] = 0;
        __syncthreads();
        const uint64_t first = tile * tile_rows;
        for (uint32_t i = 0; i < items; ++i) {
            const uint64_t row = first + i * threads + threadIdx.x;
            if (row < a.rows)
                atomicAdd(&counts[digit_of(a, a.words[row])], 1u);
        }
        __syncthreads();
        a.counts[(uint64_t)threadIdx.x * a.tiles + tile] = counts[threadIdx.x];
        __syncthreads();
    }
}

__device__ __forceinline__ void scatter_rows(const Argument &a) {
    __shared__ uint64_t words[tile_rows];
    __shared__ uint32_t numbers[tile_rows];
    __shared__ uint32_t counts[warps][digits]; // by warp, then where the warp's rows of the digit begin in the tile
    __shared__ uint32_t moves[digits];         // from a row's place in the tile to its place of all
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const Places places = {};
    for (uint64_t tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        for (uint32_t w = 0; w < warps; ++w)
            counts[w][threadIdx.x] = 0;
        __syncthreads();
        // A warp's rows lie side by side, and are taken in their order.
        const uint64_t first = tile * tile_rows + warp * (32 * items) + lane;
        uint64_t word[items];
        uint32_t rank[items];
#pragma unroll
        for (uint32_t i = 0; i < items; ++i) {
            const uint64_t row = first + i * 32;
            const bool there = row < a.rows;
            word[i] = there ? a.words[row] : 0;
            const uint32_t digit = there ? digit_of(a, word[i]) : digits;
            const uint32_t same = __match_any_sync(0xffffffffu, digit);
            const uint32_t leader = (uint32_t)__ffs((int)same) - 1;
            uint32_t before = 0;
            if (lane == leader && there) {
                before = counts[warp][digit];
                counts[warp][digit] = before + (uint32_t)__popc(same);
            }
            before = __shfl_sync(0xffffffffu, before, (int)leader);
            rank[i] = before + (uint32_t)__popc(same & ((1u << lane) - 1));
            __syncwarp();
        }
        __syncthreads();
        uint32_t mine = 0, all;
        for (uint32_t w = 0; w < warps; ++w) {
            const uint32_t count = counts[w][threadIdx.x];
            counts[w][threadIdx.x] = mine;
            mine += count;
        }
        const uint32_t begin = scan::scan_block(places, mine, numbers, all);
        for (uint32_t w = 0; w < warps; ++w)
            counts[w][threadIdx.x] += begin;
        moves[threadIdx.x] = a.counts[(uint64_t)threadIdx.x * a.tiles + tile] - begin;
        __syncthreads();
#pragma unroll
        for (uint32_t i = 0; i < items; ++i) {
            const uint64_t row = first + i * 32;
            if (row >= a.rows)
                continue;
            const uint32_t at = counts[warp][digit_of(a, word[i])] + rank[i];
            words[at] = word[i];
            numbers[at] = a.numbers ? a.numbers[row] : (uint32_t)row;
        }
        __syncthreads();
        for (uint32_t at = threadIdx.x; at < all; at += threads) {
            const uint32_t to = moves[digit_of(a, words[at])] + at;
            a.to_words[to] = words[at];
            a.to_numbers[to] = numbers[at];
        }
        __syncthreads();
    }
}

#endif

} // namespace radix
} // namespace gpuscan
