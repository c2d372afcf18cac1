// Row masks without some ranges of rows: what a query reads of chunks of which few pages have changed.
//
// The structures are filled by the host (cuda/masks.cpp includes this file too). A block copies one piece of a mask and then clears
// its ranges, so that nothing but its own threads has to be waited for.
#pragma once

#include "device/semantics.cuh"

namespace gpuscan {
namespace masks {

constexpr uint32_t threads = 256;
constexpr uint32_t piece_words = 4096;

struct Range {
    uint32_t first, end; // rows
};

struct Piece {
    const uint64_t *from; // of the mask it is made of; null: all ones
    uint64_t *to;
    uint32_t words;
    uint32_t row; // that the first bit stands for, as ranges count
    uint32_t first_range, end_range;
};

struct Argument {
    const Piece *pieces;
    const Range *ranges;
};

#ifdef __CUDACC__

__device__ __forceinline__ void clear(const Piece &piece, const Range &range) {
    const uint32_t end_row = piece.row + piece.words * 64;
    const uint32_t first = (range.first > piece.row ? range.first : piece.row) - piece.row;
    const uint32_t end = (range.end < end_row ? range.end : end_row) - piece.row;
    for (uint32_t row = first; row < end;) {
        const uint32_t n = 64 - row % 64 < end - row ? 64 - row % 64 : end - row;
        const uint64_t ones = n == 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
        atomicAnd((unsigned long long *)&piece.to[row / 64], (unsigned long long)~(ones << (row % 64)));
        row += n;
    }
}

extern "C" __global__ void mask_without(const Argument argument) {
    const Piece piece = argument.pieces[blockIdx.x];
    for (uint32_t word = threadIdx.x; word < piece.words; word += threads)
        piece.to[word] = piece.from ? piece.from[word] : ~(uint64_t)0;
    __syncthreads();
    for (uint32_t range = piece.first_range + threadIdx.x; range < piece.end_range; range += threads)
        clear(piece, argument.ranges[range]);
}

#endif

} // namespace masks
} // namespace gpuscan
