// What a kernel finds when it is compiled by g++ instead of NVRTC: CUDA's words, one fiber per thread of a block.
//
// Included before the kernel's own text by the stand-in for NVRTC (fake_nvrtc.cpp). Blocks run one after the other; the
// threads of a block are fibers that run until they end or meet a barrier, a shuffle or a vote. So there are no data
// races to be found here, but the logic of every kernel runs, and runs on any machine.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmath>
#include <cstddef>

#define __CUDACC__ 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
struct uint2 {
    unsigned x, y;
} __attribute__((aligned(8)));
struct uint4 {
    unsigned x, y, z, w;
} __attribute__((aligned(16)));
struct ulonglong2 {
    unsigned long long x, y;
} __attribute__((aligned(16)));
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

namespace emulator {

constexpr unsigned max_threads = 1024;
constexpr size_t stack_bytes = 128 * 1024;

struct Barrier {
    unsigned arrived = 0, generation = 0, members = 0;
};

struct Block {
    ucontext_t scheduler;
    ucontext_t fibers[max_threads];
    bool done[max_threads];
    char *stacks = nullptr;
    unsigned threads = 0, current = 0;
    Barrier all, warps[max_threads / 32];
    alignas(16) unsigned char slots[max_threads][16];
    void (*kernel)(void *) = nullptr;
    void *argument = nullptr;
};
static Block block;

inline void release(Barrier &b) {
    if (b.members > 0 && b.arrived == b.members) {
        b.arrived = 0;
        ++b.generation;
    }
}
inline void wait(Barrier &b) {
    const unsigned mine = b.generation;
    ++b.arrived;
    release(b);
    while (b.generation == mine)
        swapcontext(&block.fibers[block.current], &block.scheduler);
}

} // namespace emulator

static dim3 blockIdx, blockDim, gridDim;
struct ThreadIndex {
    struct X {
        operator unsigned() const { return emulator::block.current; }
    } x;
};
static ThreadIndex threadIdx;

inline void __syncthreads() { emulator::wait(emulator::block.all); }
inline void __threadfence() {}
// Every thread of the block must come here.
inline int __syncthreads_or(int v) {
    emulator::Block &b = emulator::block;
    b.slots[b.current][0] = v != 0;
    emulator::wait(b.all);
    int any = 0;
    for (unsigned i = 0; i < b.threads; ++i)
        any |= b.slots[i][0];
    emulator::wait(b.all);
    return any;
}

template <class T> T emulated_exchange(T v, unsigned from) {
    const unsigned me = emulator::block.current;
    emulator::Barrier &warp = emulator::block.warps[me / 32];
    memcpy(emulator::block.slots[me], &v, sizeof(v));
    emulator::wait(warp);
    T r = v;
    if (from < 32)
        memcpy(&r, emulator::block.slots[me / 32 * 32 + from], sizeof(r));
    emulator::wait(warp);
    return r;
}
template <class T> T __shfl_down_sync(unsigned, T v, int by) {
    return emulated_exchange(v, emulator::block.current % 32 + static_cast<unsigned>(by));
}
template <class T> T __shfl_sync(unsigned mask, T v, int from) { // of the whole warp, or of __activemask()
    return mask == 0xffffffffu ? emulated_exchange(v, static_cast<unsigned>(from)) : v;
}
inline void __syncwarp() { emulator::wait(emulator::block.warps[emulator::block.current / 32]); }
// Of the whole warp, or of __activemask().
template <class T> unsigned __match_any_sync(unsigned mask, T v) {
    if (mask != 0xffffffffu)
        return mask;
    const unsigned first = emulator::block.current / 32 * 32;
    emulator::Barrier &warp = emulator::block.warps[first / 32];
    memcpy(emulator::block.slots[emulator::block.current], &v, sizeof(v));
    emulator::wait(warp);
    unsigned same = 0;
    for (unsigned i = 0; i < 32; ++i)
        same |= unsigned(memcmp(emulator::block.slots[first + i], &v, sizeof(v)) == 0) << i;
    emulator::wait(warp);
    return same;
}
inline unsigned __activemask() { return 1u << (emulator::block.current % 32); }
inline unsigned __ballot_sync(unsigned mask, bool v) {
    if ((mask & (mask - 1)) == 0) // only the thread itself, from __activemask()
        return v ? mask : 0;
    const unsigned me = emulator::block.current;
    emulator::Barrier &warp = emulator::block.warps[me / 32];
    emulator::block.slots[me][0] = v;
    emulator::wait(warp);
    unsigned votes = 0;
    for (unsigned i = 0; i < 32; ++i)
        votes |= static_cast<unsigned>(emulator::block.slots[me / 32 * 32 + i][0]) << i;
    emulator::wait(warp);
    return votes;
}

inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __clzll(long long v) { return v ? __builtin_clzll(static_cast<unsigned long long>(v)) : 64; }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldcs(const T *p) { return *p; }
template <class To, class From> To emulated_bits(From v) {
    static_assert(sizeof(To) == sizeof(From), "");
    To r;
    memcpy(&r, &v, sizeof(r));
    return r;
}
inline float __uint_as_float(unsigned v) { return emulated_bits<float>(v); }
inline unsigned __float_as_uint(float v) { return emulated_bits<unsigned>(v); }
inline double __longlong_as_double(long long v) { return emulated_bits<double>(v); }
inline long long __double_as_longlong(double v) { return emulated_bits<long long>(v); }

template <class T> T atomicAdd(T *at, T v) {
    T old = *at;
    *at = old + v;
    return old;
}
template <class T> T atomicAnd(T *at, T v) {
    T old = *at;
    *at = old & v;
    return old;
}
template <class T> T atomicOr(T *at, T v) {
    T old = *at;
    *at = old | v;
    return old;
}
template <class T> T atomicXor(T *at, T v) {
    T old = *at;
    *at = old ^ v;
    return old;
}
template <class T> T atomicMin(T *at, T v) {
    T old = *at;
    *at = v < old ? v : old;
    return old;
}
inline unsigned atomicMin(unsigned *at, int v) { return atomicMin(at, static_cast<unsigned>(v)); }
template <class T> T atomicMax(T *at, T v) {
    T old = *at;
    *at = v > old ? v : old;
    return old;
}
template <class T> T atomicExch(T *at, T v) {
    T old = *at;
    *at = v;
    return old;
}
template <class T> T atomicCAS(T *at, T expected, T v) {
    T old = *at;
    if (old == expected)
        *at = v;
    return old;
}

namespace emulator {

inline void fiber() {
    block.kernel(block.argument);
    block.done[block.current] = true;
    --block.all.members;
    release(block.all);
    Barrier &warp = block.warps[block.current / 32];
    --warp.members;
    release(warp);
    swapcontext(&block.fibers[block.current], &block.scheduler);
}

inline void run(void (*kernel)(void *), unsigned grid, unsigned rows, unsigned threads, void *argument) {
    if (!block.stacks)
        block.stacks = static_cast<char *>(mmap(nullptr, max_threads * stack_bytes, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    gridDim.x = grid;
    gridDim.y = rows;
    blockDim.x = threads;
    block.threads = threads;
    block.kernel = kernel;
    block.argument = argument;
    for (unsigned i = 0; i < grid * rows; ++i) {
        blockIdx.x = i % grid;
        blockIdx.y = rows - 1 - i / grid; // (from the last one, as no order is promised)
        block.all = Barrier();
        block.all.members = threads;
        for (unsigned w = 0; w * 32 < threads; ++w) {
            block.warps[w] = Barrier();
            block.warps[w].members = 32;
        }
        for (unsigned t = 0; t < threads; ++t) {
            block.done[t] = false;
            getcontext(&block.fibers[t]);
            block.fibers[t].uc_stack.ss_sp = block.stacks + t * stack_bytes;
            block.fibers[t].uc_stack.ss_size = stack_bytes;
            block.fibers[t].uc_link = nullptr;
            makecontext(&block.fibers[t], fiber, 0);
        }
        for (unsigned left = threads; left > 0;)
            for (unsigned t = 0; t < threads; ++t) {
                if (block.done[t])
                    continue;
                block.current = t;
                swapcontext(&block.scheduler, &block.fibers[t]);
                left -= block.done[t];
            }
    }
}

template <class A> void call(void (*kernel)(A), void *argument) { kernel(*static_cast<A *>(argument)); }

} // namespace emulator
