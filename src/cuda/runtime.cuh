// What generated kernels are made of: loads, probes, hash inserts, aggregation and reductions.
//
// A generated kernel (engine/codegen.cpp) is one pass over the rows of a list of chunks. Each thread takes four
// consecutive rows, so that a column of 4-byte values costs one 16-byte load, and skips the loads of later columns when
// none of its four rows is alive; that is the shape of the fastest star-join kernels we know (Crystal's tiles, with the
// early exit of its optimised variants), and eight rows a thread were slower on an H200.
//
// Tables of a join, after Kaldewey et al., "GPU Join Processing Revisited" (section 4: an unpartitioned table in device
// memory, built with atomics; nothing is gained by partitioning):
//     packed   entries of 1, 2, 4 or 8 bytes indexed by key, holding the payload itself; 0 = no such row
//     rows     entries of 4 bytes indexed by key: number of a row, counted from 1; payload in arrays by row
//     hash     open addressing at no more than half load; 8-byte slots: 32 bits of hash or key, 32 bits of row
// Rows with equal keys form a chain through `next`, so one pass builds all of it and learns whether keys are unique.
//
// Group-by follows Sitaridi & Ross, "Ameliorating Memory Contention of OLAP Operators on GPU Processors" (section 4): small
// tables stand in shared memory, several copies of each (by lane), so that neither a popular value nor a popular bank
// makes a queue. 64-bit sums in shared memory are made of two 32-bit atomics with carry: 4 to 20 times faster than the
// 64-bit atomic on an H200.
#pragma once

#include "cuda/semantics.cuh"
#include "cuda/status.cuh"

namespace gpuscan {
namespace rt {

typedef sem::i128 i128;
typedef sem::u128 u128;

constexpr uint32_t no_match = 0xffffffffu;

// ---- loads -------------------------------------------------------------------------------------------------------

template <int bytes> struct Vector;
template <> struct Vector<4> {
    typedef unsigned int type;
    static constexpr int count = 1;
};
template <> struct Vector<8> {
    typedef uint2 type;
    static constexpr int count = 1;
};
template <> struct Vector<16> {
    typedef uint4 type;
    static constexpr int count = 1;
};
template <> struct Vector<32> {
    typedef uint4 type;
    static constexpr int count = 2;
};
template <> struct Vector<64> {
    typedef uint4 type;
    static constexpr int count = 4;
};

// Values row..row+3 of a column, as far as there are rows. row is a multiple of 4, columns are aligned to 16 bytes.
template <class T> __device__ __forceinline__ void load4(T (&v)[4], const T *column, uint32_t row, uint32_t nrows) {
    if (nrows - row >= 4) {
        typedef Vector<4 * (int)sizeof(T)> V;
        union {
            typename V::type wide[V::count];
            T narrow[4];
        } u;
#pragma unroll
        for (int i = 0; i < V::count; ++i)
            u.wide[i] = __ldg((const typename V::type *)(column + row) + i);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            v[i] = u.narrow[i];
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            v[i] = row + i < nrows ? column[row + i] : (T)0;
    }
}

// NULL flags of four rows; a chunk without NULLs has none.
__device__ __forceinline__ void load4_nulls(uint8_t (&v)[4], const uint8_t *column, uint32_t row, uint32_t nrows) {
    if (column) {
        load4(v, column, row, nrows);
    } else {
        v[0] = v[1] = v[2] = v[3] = 0;
    }
}

// v[r] without an array in memory: r is not known at compile time.
template <class T> __device__ __forceinline__ T pick(const T (&v)[4], int r) {
    return r < 2 ? (r == 0 ? v[0] : v[1]) : (r == 2 ? v[2] : v[3]);
}

__device__ __forceinline__ float bits_float(uint64_t bits) { return __uint_as_float((uint32_t)bits); }
__device__ __forceinline__ double bits_double(uint64_t bits) { return __longlong_as_double((long long)bits); }
__device__ __forceinline__ i128 bits_i128(uint64_t low, uint64_t high) { return (i128)(((u128)high << 64) | low); }

// ---- keys as words -----------------------------------------------------------------------------------------------

__device__ __forceinline__ uint64_t key_word(bool v) { return v; }
__device__ __forceinline__ uint64_t key_word(int16_t v) { return (uint64_t)(int64_t)v; }
__device__ __forceinline__ uint64_t key_word(int32_t v) { return (uint64_t)(int64_t)v; }
__device__ __forceinline__ uint64_t key_word(int64_t v) { return (uint64_t)v; }
__device__ __forceinline__ uint64_t key_word(uint32_t v) { return v; }
__device__ __forceinline__ uint64_t key_word(i128 v) { return (uint64_t)v; } // of a narrow range, modulo 2^64
// Of floats the bits, where -0.0 is 0.0 and there is one NaN, the positive quiet one.
__device__ __forceinline__ uint64_t key_word(float v) {
    return sem::is_nan(v) ? 0x7fc00000u : v == 0 ? 0u : __float_as_uint(v);
}
__device__ __forceinline__ uint64_t key_word(double v) {
    return sem::is_nan(v) ? 0x7ff8000000000000ULL : v == 0 ? 0ULL : (uint64_t)__double_as_longlong(v);
}

// Order-preserving unsigned codes for min and max; 0 is the smallest, with which every group starts.
__device__ __forceinline__ uint64_t order_word(bool v) { return v; }
__device__ __forceinline__ uint64_t order_word(uint32_t v) { return v; }
__device__ __forceinline__ uint64_t order_word(int64_t v) { return (uint64_t)v ^ 0x8000000000000000ULL; }
__device__ __forceinline__ uint64_t order_word(int16_t v) { return order_word((int64_t)v); }
__device__ __forceinline__ uint64_t order_word(int32_t v) { return order_word((int64_t)v); }
__device__ __forceinline__ uint64_t order_word(double v) {
    uint64_t bits = key_word(v);
    return bits >> 63 ? ~bits : bits | 0x8000000000000000ULL;
}
__device__ __forceinline__ uint64_t order_word(float v) { return order_word((double)v); }
__device__ __forceinline__ u128 order_word(i128 v) { return (u128)v ^ ((u128)1 << 127); }

__device__ __forceinline__ bool is_finite(double v) { return v - v == 0; }

// ---- join: build -------------------------------------------------------------------------------------------------

// A place in an array that many threads append to: one atomic for the threads of a warp that come together.
__device__ __forceinline__ uint64_t append(uint64_t *counter) {
    const uint32_t mask = __activemask();
    const uint32_t lane = threadIdx.x & 31;
    const int leader = __ffs((int)mask) - 1;
    unsigned long long first = 0;
    if ((int)lane == leader)
        first = atomicAdd((unsigned long long *)counter, (unsigned long long)__popc(mask));
    first = __shfl_sync(mask, first, leader);
    return first + (uint64_t)__popc(mask & ((1u << lane) - 1));
}

// ---- join: probe -------------------------------------------------------------------------------------------------

// First row of a key's chain in a table indexed by key.
__device__ __forceinline__ uint32_t rows_first(const uint32_t *heads, uint64_t index) {
    return __ldg(heads + index) - 1; // 0 becomes no_match
}
__device__ __forceinline__ uint32_t rows_next(const uint32_t *next, uint32_t row) { return __ldg(next + row) - 1; }

// ---- aggregation in shared memory --------------------------------------------------------------------------------

// One 64-bit counter as two arrays of 32-bit words.
__device__ __forceinline__ void shared_add(uint32_t *low, uint32_t *high, uint64_t v) {
    const uint32_t add = (uint32_t)v;
    const uint32_t old = atomicAdd(low, add);
    const uint32_t carry = (uint32_t)(v >> 32) + (old + add < add ? 1u : 0u);
    if (carry)
        atomicAdd(high, carry);
}

// ---- aggregation in device memory --------------------------------------------------------------------------------

__device__ __forceinline__ void global_add(uint64_t *at, uint64_t v) {
    atomicAdd((unsigned long long *)at, (unsigned long long)v);
}
__device__ __forceinline__ void global_add_double(uint64_t *at, double v) { atomicAdd((double *)at, v); }
__device__ __forceinline__ void global_max(uint64_t *at, uint64_t v) {
    if (*(volatile uint64_t *)at < v)
        atomicMax((unsigned long long *)at, (unsigned long long)v);
}

// 128 bits: a lock word, the high and the low half. The high half only grows, so most values are refused unlocked. The
// waiting is for a thread that holds the lock and goes on independently (sm_70 and later).
__device__ __forceinline__ void global_max_wide(uint64_t *at, u128 v) {
    volatile uint64_t *const halves = (volatile uint64_t *)at;
    if (halves[1] > (uint64_t)(v >> 64))
        return;
    for (bool done = false; !done;) {
        if (atomicCAS((unsigned long long *)at, 0ULL, 1ULL) != 0)
            continue;
        __threadfence();
        if ((((u128)halves[1] << 64) | halves[2]) < v) {
            halves[1] = (uint64_t)(v >> 64);
            halves[2] = (uint64_t)v;
        }
        __threadfence();
        atomicExch((unsigned long long *)at, 0ULL);
        done = true;
    }
}

__device__ __forceinline__ void shared_add_double(double *at, double v) { atomicAdd(at, v); }
__device__ __forceinline__ void shared_max(uint64_t *at, uint64_t v) {
    if (*(volatile uint64_t *)at < v)
        atomicMax((unsigned long long *)at, (unsigned long long)v);
}

// The entry of a group whose key is one word; keys have bit 63 set, 0 is a free entry. no_match: the table is full.
__device__ __forceinline__ uint32_t find_group(uint64_t *keys, uint32_t mask, uint64_t key, uint64_t *groups,
                                               uint64_t limit, uint32_t *status) {
    uint32_t slot = (uint32_t)(sem::hash64(key) >> 20) & mask;
    for (uint32_t probes = 0; probes <= mask; ++probes) {
        uint64_t found = *(volatile uint64_t *)(keys + slot);
        if (found == 0) {
            found = atomicCAS((unsigned long long *)(keys + slot), 0ULL, (unsigned long long)key);
            if (found == 0) {
                if (append(groups) >= limit)
                    atomicOr(status, status_table_full);
                return slot;
            }
        }
        if (found == key)
            return slot;
        if ((probes & 63) == 63 && *(volatile uint32_t *)status & status_table_full)
            break;
        slot = (slot + 1) & mask;
    }
    atomicOr(status, status_table_full);
    return no_match;
}

// The same for keys of several words. state: 0 free, 1 being written, 2 ready. One atomic per thread and a spin that
// only waits for a thread that has already won: it ends on GPUs whose threads advance independently (sm_70 and later).
template <int words>
__device__ __forceinline__ uint32_t find_group_wide(uint32_t *state, uint64_t *keys, uint32_t mask,
                                                    const uint64_t (&key)[words], uint64_t *groups, uint64_t limit,
                                                    uint32_t *status) {
    uint64_t hash = 0;
#pragma unroll
    for (int i = 0; i < words; ++i)
        hash = sem::hash_combine(hash, key[i]);
    uint32_t slot = (uint32_t)(hash >> 20) & mask;
    for (uint32_t probes = 0; probes <= mask;) {
        uint32_t seen = *(volatile uint32_t *)(state + slot);
        if (seen == 0) {
            seen = atomicCAS(state + slot, 0u, 1u);
            if (seen == 0) {
#pragma unroll
                for (int i = 0; i < words; ++i)
                    *(volatile uint64_t *)(keys + (uint64_t)slot * words + i) = key[i];
                __threadfence();
                *(volatile uint32_t *)(state + slot) = 2;
                if (append(groups) >= limit)
                    atomicOr(status, status_table_full);
                return slot;
            }
        }
        if (seen == 1)
            continue; // look again
        __threadfence();
        bool same = true;
#pragma unroll
        for (int i = 0; i < words; ++i)
            same &= *(volatile uint64_t *)(keys + (uint64_t)slot * words + i) == key[i];
        if (same)
            return slot;
        if ((probes & 63) == 63 && *(volatile uint32_t *)status & status_table_full)
            break;
        ++probes;
        slot = (slot + 1) & mask;
    }
    atomicOr(status, status_table_full);
    return no_match;
}

// ---- reductions of a block: the result is valid in thread 0 ------------------------------------------------------

template <class T> __device__ __forceinline__ T shuffle_down(T v, int by) {
    union {
        T value;
        uint32_t words[sizeof(T) / 4];
    } u;
    u.value = v;
#pragma unroll
    for (int i = 0; i < (int)(sizeof(T) / 4); ++i)
        u.words[i] = __shfl_down_sync(0xffffffffu, u.words[i], by);
    return u.value;
}

struct Plus {
    template <class T> __device__ __forceinline__ static T apply(T a, T b) { return a + b; }
};
struct Largest {
    template <class T> __device__ __forceinline__ static T apply(T a, T b) { return a > b ? a : b; }
};

// `scratch`: 32 times 16 bytes of shared memory. Every thread of the block must come here. 0 is neutral.
template <class Operation, class T> __device__ __forceinline__ T block_reduce(T v, void *scratch) {
    T *parts = (T *)scratch;
#pragma unroll
    for (int by = 16; by > 0; by /= 2)
        v = Operation::apply(v, shuffle_down(v, by));
    __syncthreads(); // scratch may still be read by the reduction before
    if ((threadIdx.x & 31) == 0)
        parts[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : (T)0;
#pragma unroll
        for (int by = 16; by > 0; by /= 2)
            v = Operation::apply(v, shuffle_down(v, by));
    }
    return v;
}

// An exact sum of 128-bit values: four 32-bit digits in 64 bits each, the last one signed.
struct Digits {
    uint64_t digit[4] = {0, 0, 0, 0};
    __device__ __forceinline__ void add(i128 v) {
        digit[0] += (uint32_t)v;
        digit[1] += (uint32_t)(v >> 32);
        digit[2] += (uint32_t)(v >> 64);
        digit[3] += (uint64_t)(int64_t)(v >> 96);
    }
};

// A 128-bit sum as four 64-bit counters of 32-bit digits, the last one signed (ir.hpp: sums are exact in 128 bits).
__device__ __forceinline__ void add_digits(uint64_t *at, i128 v) {
    global_add(at, (uint32_t)v);
    global_add(at + 1, (uint32_t)(v >> 32));
    global_add(at + 2, (uint32_t)(v >> 64));
    global_add(at + 3, (uint64_t)(int64_t)(v >> 96));
}

} // namespace rt
} // namespace gpuscan
