// What do the rows before each row add up to, for any sum that is associative?
//
// In three launches, so that every step sees all of the one before (Sengupta, Harris, Zhang and Owens, "Scan Primitives for GPU
// Computing", 2007, section 3):
//
//   tiles   each block adds up the rows of its tiles
//   totals  one block replaces each tile's sum by that of the tiles before it
//   rows    each block goes over its tiles again, with what stands before them
//
// An *operation* says what a row is worth, how two sums that stand side by side become one, and what is to be done with a row that
// knows the sum before it and the one with it. Sums that begin anew somewhere (a partition) carry a mark that says so.
#pragma once

#include "device/column.cuh"

namespace gpuscan {
namespace scan {

constexpr uint32_t threads = 256, items = 8, tile_rows = threads * items;

// Sums of operations that count.
struct Count {
    typedef uint32_t Sum;
#ifdef __CUDACC__
    __device__ Sum nothing() const { return 0; }
    __device__ Sum add(Sum a, Sum b) const { return a + b; }
#endif
};

#ifdef __CUDACC__

// The sum of the threads before this one; `all` becomes that of all threads. Every thread of the block comes here.
template <class Operation, class Sum>
__device__ __forceinline__ Sum scan_block(const Operation &op, const Sum &mine, Sum *shared, Sum &all) {
    const uint32_t t = threadIdx.x;
    shared[t] = mine;
    __syncthreads();
    for (uint32_t by = 1; by < threads; by *= 2) {
        const Sum sum = t >= by ? op.add(shared[t - by], shared[t]) : shared[t];
        __syncthreads();
        shared[t] = sum;
        __syncthreads();
    }
    all = shared[threads - 1];
    const Sum before = t > 0 ? shared[t - 1] : op.nothing();
    __syncthreads();
    return before;
}

template <class Operation> __device__ __forceinline__ void sum_tiles(const Operation &op) {
    typedef typename Operation::Sum Sum;
    __shared__ Sum shared[threads];
    for (uint64_t tile = blockIdx.x; tile * tile_rows < op.rows; tile += gridDim.x) {
        const uint64_t first = tile * tile_rows + threadIdx.x * items;
        Sum mine = op.nothing(), all;
        for (uint32_t i = 0; i < items && first + i < op.rows; ++i)
            mine = op.add(mine, op.at(first + i));
        scan_block(op, mine, shared, all);
        if (threadIdx.x == 0)
            op.totals[tile] = all;
    }
}

// By one block.
template <class Operation> __device__ __forceinline__ void scan_totals(const Operation &op) {
    typedef typename Operation::Sum Sum;
    __shared__ Sum shared[threads];
    const uint64_t tiles = (op.rows + tile_rows - 1) / tile_rows;
    Sum before = op.nothing();
    for (uint64_t part = 0; part < tiles; part += threads) {
        const uint64_t tile = part + threadIdx.x;
        Sum all;
        const Sum mine = tile < tiles ? op.totals[tile] : op.nothing();
        const Sum sum = scan_block(op, mine, shared, all);
        if (tile < tiles)
            op.totals[tile] = op.add(before, sum);
        before = op.add(before, all);
    }
}

template <class Operation> __device__ __forceinline__ void scan_rows(const Operation &op) {
    typedef typename Operation::Sum Sum;
    __shared__ Sum shared[threads];
    for (uint64_t tile = blockIdx.x; tile * tile_rows < op.rows; tile += gridDim.x) {
        const uint64_t first = tile * tile_rows + threadIdx.x * items;
        Sum worth[items], mine = op.nothing(), all;
        for (uint32_t i = 0; i < items; ++i) {
            worth[i] = first + i < op.rows ? op.at(first + i) : op.nothing();
            mine = op.add(mine, worth[i]);
        }
        Sum before = op.add(op.totals[tile], scan_block(op, mine, shared, all));
        for (uint32_t i = 0; i < items && first + i < op.rows; ++i) {
            const Sum with = op.add(before, worth[i]);
            op.put(first + i, before, with);
            before = with;
        }
    }
}

// The three kernels of an operation, whose structure is their argument.
#define GPUSCAN_SCAN(name, Operation)                                                                                  \
    extern "C" __global__ void name##_tiles(const Operation op) { scan::sum_tiles(op); }                               \
    extern "C" __global__ void name##_totals(const Operation op) { scan::scan_totals(op); }                            \
    extern "C" __global__ void name##_rows(const Operation op) { scan::scan_rows(op); }

#endif

} // namespace scan
} // namespace gpuscan
