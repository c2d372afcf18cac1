// What generated kernels are made of: loads, probes, hash inserts, aggregation and reductions.
//
// A generated kernel (engine/codegen/codegen.cpp) is one pass over the rows of a list of chunks. Each thread takes four
// consecutive rows, so that a column of 4-byte values costs one 16-byte load, and skips the loads of later columns when
// none of its four rows is alive; that is the shape of the fastest star-join kernels we know (Crystal's tiles, with the
// early exit of its optimised variants), and eight rows a thread were slower on an H200. A block takes
// several consecutive tiles at a time, so that it seldom has to read the description of a chunk.
//
// Compiled quickly (GPUSCAN_QUICK, cuda/kernel_cache.hpp) the same text makes a smaller kernel, because every line costs a
// first execution a fraction of a millisecond of the compiler's: one loop goes through all parts of tiles, of a row for each thread,
// chunks are found by walking, and threads add up to device memory what blocks would reduce first.
//
// Tables of a join, after Kaldewey et al., "GPU Join Processing Revisited" (section 4: an unpartitioned table in device
// memory, built with atomics; nothing is gained by partitioning):
//     packed   entries of 1, 2, 4 or 8 bytes indexed by key, holding the payload itself; 0 = no such row
//     rows     entries of 4 bytes indexed by key: number of a row, counted from 1; payload in arrays by row
//     hash     open addressing at no more than half load; 8-byte slots: 32 bits of hash or key, 32 bits of row
// Rows with equal keys form a chain through `next`, so one pass builds all of it and learns whether keys are unique.
// Without keys a row's partners are looked for among all rows, in their order; where they lie between bounds, that is the order of
// the lower one, and two searches find the rows to look at (host/join_intervals.cpp tells how).
//
// Group-by follows Sitaridi & Ross, "Ameliorating Memory Contention of OLAP Operators on GPU Processors" (section 4): small
// tables stand in shared memory, several copies of each (by lane), so that neither a popular value nor a popular bank
// makes a queue. Sums in shared memory are made of 32-bit atomics with carry (2 words, 3 or 5): 4 to 20 times faster than
// the 64-bit atomic on an H200.
#pragma once

#include "device/semantics.cuh"
#include "device/status.cuh"

namespace gpuscan {
namespace rt {

typedef sem::i128 i128;
typedef sem::u128 u128;

constexpr uint32_t no_match = 0xffffffffu;

// (Not variables: those would all come into the module.)
#ifdef GPUSCAN_QUICK
enum : bool { quick = true };
#else
enum : bool { quick = false };
#endif

// Rows that a thread holds side by side, and parts of a tile where it holds one.
enum : int { held_rows = quick ? 1 : 4 };
enum : uint32_t { tile_parts = 4 };

// ---- chunks ------------------------------------------------------------------------------------------------------

__device__ __forceinline__ uint64_t min_word(uint64_t a, uint64_t b) { return a < b ? a : b; }

// The chunk that has the tile, or one before it; a chunk's first word is the end of its tiles.
__device__ __forceinline__ uint32_t chunk_of(const uint64_t *chunks, uint32_t words, uint32_t count, uint64_t tile) {
    uint32_t low = 0, high = count; // it is in [low, high)
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (chunks[(uint64_t)(middle - 1) * words] <= tile)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Of the rows base..base+held_rows-1 a bit for each that is there and not masked.
__device__ __forceinline__ uint32_t living(uint32_t base, uint32_t nrows, const uint32_t *mask) {
    uint32_t rows = base >= nrows ? 0 : nrows - base >= held_rows ? (1u << held_rows) - 1 : (1u << (nrows - base)) - 1;
    if (rows && mask)
        rows &= mask[base >> 5] >> (base & 31);
    return rows;
}

// The first of these rows, and those behind it. Of one row nothing is left, and its compiler sees that there is no loop.
__device__ __forceinline__ int first_of(uint32_t rows) { return quick ? 0 : __ffs((int)rows) - 1; }
__device__ __forceinline__ uint32_t without_first(uint32_t rows) { return quick ? 0 : rows & (rows - 1); }

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

// A column of a chunk: its values may be stored in fewer bytes than their type has, relative to a base (engine/store/frame.hpp).
struct Stored {
    const uint8_t *values;
    uint64_t base;
    uint32_t form;
};

// How values are stored, as the low bits of their address say it.
enum Form : uint32_t {
    form_whole = 0,
    form_constant = 1,
    form_1 = 2,
    form_2 = 3,
    form_4 = 5,
    form_8 = 9,
    form_any = 255
};

__device__ __forceinline__ Stored stored(uint64_t address, uint64_t base) {
    Stored c;
    c.values = (const uint8_t *)(address & ~(uint64_t)15);
    c.base = base;
    c.form = (uint32_t)address & 15;
    return c;
}

template <class T, class S> __device__ __forceinline__ T from_base(uint64_t base, S v) {
    if constexpr (sizeof(T) == 16)
        return (T)(int64_t)base + (T)(uint64_t)v;
    else if constexpr (sizeof(T) == 8)
        return (T)(base + v);
    else
        return (T)((uint32_t)base + (uint32_t)v);
}

// Narrow columns can be read up to a multiple of four rows: there is no tail.
template <class S, class T> __device__ __forceinline__ void load4_narrow(T (&v)[4], const Stored &c, uint32_t row) {
    typedef Vector<4 * (int)sizeof(S)> V;
    union {
        typename V::type wide[V::count];
        S narrow[4];
    } u;
#pragma unroll
    for (int i = 0; i < V::count; ++i)
        u.wide[i] = __ldg((const typename V::type *)((const S *)c.values + row) + i);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        v[i] = from_base<T>(c.base, u.narrow[i]);
}

// Values row..row+3, as far as there are rows; all threads of a warp come with the same form.
template <uint32_t form, class T>
__device__ __forceinline__ void load4(T (&v)[4], const Stored &c, uint32_t row, uint32_t nrows) {
    if constexpr (form == form_whole) {
        load4(v, (const T *)c.values, row, nrows);
    } else if constexpr (form == form_constant) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            v[i] = from_base<T>(c.base, 0u);
    } else if constexpr (form == form_1) {
        load4_narrow<uint8_t>(v, c, row);
    } else if constexpr (form == form_2) {
        load4_narrow<uint16_t>(v, c, row);
    } else if constexpr (form == form_4) {
        load4_narrow<uint32_t>(v, c, row);
    } else if constexpr (form == form_8) {
        load4_narrow<uint64_t>(v, c, row);
    } else {
        if (c.form == form_whole)
            load4<form_whole>(v, c, row, nrows);
        else if (sizeof(T) > 1 && c.form == form_1)
            load4<form_1>(v, c, row, nrows);
        else if (sizeof(T) > 2 && c.form == form_2)
            load4<form_2>(v, c, row, nrows);
        else if (sizeof(T) > 4 && c.form == form_4)
            load4<form_4>(v, c, row, nrows);
        else if (sizeof(T) > 8 && c.form == form_8)
            load4<form_8>(v, c, row, nrows);
        else
            load4<form_constant>(v, c, row, nrows);
    }
}

// The value of one row.
template <uint32_t form, class T> __device__ __forceinline__ T load1(const Stored &c, uint32_t row) {
    if constexpr (form == form_whole)
        return ((const T *)c.values)[row];
    else if constexpr (form == form_constant)
        return from_base<T>(c.base, 0u);
    else if constexpr (form == form_1)
        return from_base<T>(c.base, c.values[row]);
    else if constexpr (form == form_2)
        return from_base<T>(c.base, ((const uint16_t *)c.values)[row]);
    else if constexpr (form == form_4)
        return from_base<T>(c.base, ((const uint32_t *)c.values)[row]);
    else if constexpr (form == form_8)
        return from_base<T>(c.base, ((const uint64_t *)c.values)[row]);
    else
        return c.form == form_whole                ? load1<form_whole, T>(c, row)
               : sizeof(T) > 1 && c.form == form_1 ? load1<form_1, T>(c, row)
               : sizeof(T) > 2 && c.form == form_2 ? load1<form_2, T>(c, row)
               : sizeof(T) > 4 && c.form == form_4 ? load1<form_4, T>(c, row)
               : sizeof(T) > 8 && c.form == form_8 ? load1<form_8, T>(c, row)
                                                   : load1<form_constant, T>(c, row);
}

// The rows that a thread holds, of which one at least is there.
template <uint32_t form, class T>
__device__ __forceinline__ void load_rows(T (&v)[held_rows], const Stored &c, uint32_t row, uint32_t nrows) {
    if constexpr (quick)
        v[0] = load1<form, T>(c, row);
    else
        load4<form>(v, c, row, nrows);
}

// Their NULL flags; a chunk without NULLs has none.
template <int rows>
__device__ __forceinline__ void load_nulls(uint8_t (&v)[rows], const uint8_t *column, uint32_t row, uint32_t nrows) {
    if constexpr (rows == 1)
        v[0] = column ? column[row] : 0;
    else if (column)
        load4(v, column, row, nrows);
    else
        v[0] = v[1] = v[2] = v[3] = 0;
}

// v[r] without an array in memory: r is not known at compile time.
template <class T> __device__ __forceinline__ T pick(const T (&v)[held_rows], int r) {
    if constexpr (quick)
        return v[0];
    else
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

// What of a key stands in a row's number (engine/result/row_order.hpp), as its first bits: of types of less than 64 bits zeros follow.
template <bool descending, class Bits> __device__ __forceinline__ uint64_t order_bits(Bits bits) {
    return (uint64_t)(descending ? (Bits)~bits : bits) << (64 - 8 * sizeof(Bits));
}
template <bool descending> __device__ __forceinline__ uint64_t order_number(uint8_t v) {
    return (uint64_t)((v != 0) != descending) << 63;
}
template <bool descending> __device__ __forceinline__ uint64_t order_number(int16_t v) {
    return order_bits<descending>((uint16_t)((uint16_t)v ^ 0x8000u));
}
template <bool descending> __device__ __forceinline__ uint64_t order_number(int32_t v) {
    return order_bits<descending>((uint32_t)v ^ 0x80000000u);
}
template <bool descending> __device__ __forceinline__ uint64_t order_number(int64_t v) {
    return order_bits<descending>((uint64_t)v ^ 0x8000000000000000ull);
}
template <bool descending> __device__ __forceinline__ uint64_t order_number(i128 v) {
    return order_number<descending>((int64_t)(v >> 64));
}
template <bool descending> __device__ __forceinline__ uint64_t order_number(float v) {
    const float value = sem::canonical(v);
    uint32_t bits = 0xffffffffu; // NaN comes last
    if (value == value) {
        memcpy(&bits, &value, sizeof bits);
        bits = bits >> 31 ? ~bits : bits | 0x80000000u;
    }
    return order_bits<descending>(bits);
}
template <bool descending> __device__ __forceinline__ uint64_t order_number(double v) {
    const double value = sem::canonical(v);
    uint64_t bits = ~0ull;
    if (value == value) {
        memcpy(&bits, &value, sizeof bits);
        bits = bits >> 63 ? ~bits : bits | 0x8000000000000000ull;
    }
    return order_bits<descending>(bits);
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

// Beside a sum of floats: how many of its values were not finite, and how many were -0.0.
constexpr uint64_t odd_infinite = 1ULL << 44;
__device__ __forceinline__ uint64_t odd_value(double v) {
    return !is_finite(v) ? odd_infinite : (uint64_t)__double_as_longlong(v) == 0x8000000000000000ULL ? 1 : 0;
}

// The last of so many ascending values that is not above v; the first if there is none.
__device__ __forceinline__ uint32_t search_table(const int64_t *values, uint32_t entries, int64_t v) {
    uint32_t at = 0;
    for (uint32_t left = entries; left > 1;) {
        const uint32_t half = left / 2;
        at = __ldg(values + at + half) <= v ? at + half : at;
        left -= half;
    }
    return at;
}

// ---- appending rows -------------------------------------------------------------------------------------------------

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
__device__ __forceinline__ uint32_t append(uint32_t *counter) {
    const uint32_t mask = __activemask();
    const uint32_t lane = threadIdx.x & 31;
    const int leader = __ffs((int)mask) - 1;
    uint32_t first = 0;
    if ((int)lane == leader)
        first = atomicAdd(counter, (uint32_t)__popc(mask));
    first = __shfl_sync(mask, first, leader);
    return first + (uint32_t)__popc(mask & ((1u << lane) - 1));
}

// The same for the rows that each thread holds, of which one at least has its bit set in `rows`; the others' places say
// nothing. First come the first rows of all threads, then the second ones: threads side by side write side by side.
template <class Count> struct CountWord { typedef unsigned long long type; };
template <> struct CountWord<uint32_t> { typedef uint32_t type; };
template <class Count>
__device__ __forceinline__ void append_rows(Count (&places)[held_rows], Count *counter, uint32_t rows) {
    if constexpr (quick) {
        places[0] = append(counter);
    } else {
        typedef typename CountWord<Count>::type Word;
        const uint32_t mask = __activemask();
        const uint32_t lane = threadIdx.x & 31;
        const uint32_t lower = (1u << lane) - 1;
        const int leader = __ffs((int)mask) - 1;
        uint32_t total = 0;
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            const uint32_t all = __ballot_sync(mask, rows >> r & 1);
            places[r] = total + (uint32_t)__popc(all & lower);
            total += (uint32_t)__popc(all);
        }
        Word first = 0;
        if ((int)lane == leader)
            first = atomicAdd((Word *)counter, (Word)total);
        first = __shfl_sync(mask, first, leader);
#pragma unroll
        for (int r = 0; r < 4; ++r)
            places[r] += (Count)first;
    }
}

// ---- join: probe -------------------------------------------------------------------------------------------------

// First row of a key's chain in a table indexed by key.
__device__ __forceinline__ uint32_t rows_first(const uint32_t *heads, uint64_t index) {
    return __ldg(heads + index) - 1; // 0 becomes no_match
}
__device__ __forceinline__ uint32_t rows_next(const uint32_t *next, uint32_t row) { return __ldg(next + row) - 1; }

// How many of n lower bounds, which ascend, let x pass: they are at most x, or below it.
template <bool strict> __device__ __forceinline__ uint32_t rows_begun(const int64_t *low, uint32_t n, int64_t x) {
    uint32_t first = 0, end = n;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        const int64_t bound = __ldg(low + middle);
        if (strict ? bound < x : bound <= x)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

// The first of n rows up to which an upper bound reaches x; n: none does. It is looked for from the end on, in steps that double: what
// lies behind it will be looked at anyway.
template <bool strict> __device__ __forceinline__ uint32_t rows_reaching(const int64_t *reach, uint32_t n, int64_t x) {
    uint32_t first = 0, end = n;
    for (uint32_t step = 1; end > 0; step *= 2) {
        const uint32_t at = end > step ? end - step : 0;
        const int64_t bound = __ldg(reach + at);
        if (!(strict ? bound > x : bound >= x)) {
            first = at + 1;
            break;
        }
        end = at;
    }
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        const int64_t bound = __ldg(reach + middle);
        if (strict ? bound > x : bound >= x)
            end = middle;
        else
            first = middle + 1;
    }
    return first;
}

// ---- aggregation in shared memory --------------------------------------------------------------------------------

// A signed sum of `words` 32-bit words, `step` apart, the lowest first: each word is added by an atomic of its own, which
// tells whether it wrapped around, and the carry goes into the next. After the last addition the words are the sum, in
// whatever order the additions came.
template <int words, class T> __device__ __forceinline__ void block_sum(uint32_t *at, uint32_t step, T v) {
    uint32_t carry = 0;
#pragma unroll
    for (int w = 0; w < words; ++w) {
        const uint32_t part = w < (int)(sizeof(T) / 4) ? (uint32_t)(v >> (w < (int)(sizeof(T) / 4) ? 32 * w : 0))
                                                       : (uint32_t)(v < 0 ? -1 : 0);
        const uint32_t more = part + carry;
        carry = more < carry ? 1 : 0;
        if (more == 0)
            continue;
        const uint32_t old = atomicAdd(at + w * step, more);
        carry += old + more < more ? 1 : 0;
    }
}
// Two or three of these words as one number.
template <int words> __device__ __forceinline__ i128 block_value(const uint32_t *at, uint32_t step) {
    u128 v = (u128)at[0] | (u128)at[step] << 32;
    if (words == 3)
        v |= (u128)at[2 * step] << 64;
    return (i128)(v << (128 - 32 * words)) >> (128 - 32 * words);
}
template <class T> __device__ __forceinline__ void block_max(T *at, T v) {
    if (*(volatile T *)at < v)
        atomicMax(at, v);
}

// Order-preserving codes of 32 bits, and the 64-bit code that belongs to one.
__device__ __forceinline__ uint32_t order_half(bool v) { return v; }
__device__ __forceinline__ uint32_t order_half(uint32_t v) { return v; }
__device__ __forceinline__ uint32_t order_half(int32_t v) { return (uint32_t)v ^ 0x80000000u; }
__device__ __forceinline__ uint32_t order_half(int16_t v) { return order_half((int32_t)v); }

// The cell of a group whose tag is `mine` (not 0) in its bucket of four, free ones being 0; no_match: others have all four.
// Cells are taken in their order and never given back, so what was read before remains true but for free cells.
__device__ __forceinline__ void load_bucket(uint32_t (&seen)[4], const uint32_t *tags) {
    const uint4 all = *(const uint4 *)tags;
    seen[0] = all.x, seen[1] = all.y, seen[2] = all.z, seen[3] = all.w;
}
__device__ __forceinline__ void load_bucket(uint64_t (&seen)[4], const uint64_t *tags) {
    const ulonglong2 first = ((const ulonglong2 *)tags)[0], second = ((const ulonglong2 *)tags)[1];
    seen[0] = first.x, seen[1] = first.y, seen[2] = second.x, seen[3] = second.y;
}
__device__ __forceinline__ uint32_t compare_and_swap(uint32_t *at, uint32_t v) { return atomicCAS(at, 0u, v); }
__device__ __forceinline__ uint64_t compare_and_swap(uint64_t *at, uint64_t v) {
    return atomicCAS((unsigned long long *)at, 0ULL, (unsigned long long)v);
}
template <class Tag> __device__ __forceinline__ uint32_t claim_cell(Tag *tags, uint32_t bucket, Tag mine) {
    Tag seen[4];
    load_bucket(seen, tags + bucket * 4);
    uint32_t cell = no_match;
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i)
        cell = seen[i] == mine ? bucket * 4 + i : cell;
    if (cell != no_match || seen[3] != 0)
        return cell;
    for (uint32_t i = 0; i < 4; ++i) {
        const Tag owner = compare_and_swap(tags + bucket * 4 + i, mine);
        if (owner == 0 || owner == mine)
            return bucket * 4 + i;
    }
    return no_match;
}

// Lanes of the warp that are here and have the same key, and the sum of what they hold, valid in all of them.
__device__ __forceinline__ uint32_t peers_of(uint32_t key) { return __match_any_sync(__activemask(), key); }
__device__ __forceinline__ int64_t peers_sum(uint32_t peers, int64_t v) {
    if ((peers & (peers - 1)) == 0)
        return v;
#if __CUDA_ARCH__ >= 800
    const uint32_t low = __reduce_add_sync(peers, (uint32_t)v & 0x7ffffffu);
    const uint32_t middle = __reduce_add_sync(peers, (uint32_t)(v >> 27) & 0x7ffffffu);
    const int32_t high = (int32_t)__reduce_add_sync(peers, (int32_t)(v >> 54));
    return (int64_t)low + ((int64_t)middle << 27) + ((int64_t)high << 54);
#else
    int64_t sum = 0;
    for (uint32_t left = peers; left; left &= left - 1)
        sum += __shfl_sync(peers, (long long)v, __ffs((int)left) - 1);
    return sum;
#endif
}

// ---- aggregation in device memory --------------------------------------------------------------------------------

__device__ __forceinline__ void global_add(uint64_t *at, uint64_t v) {
    atomicAdd((unsigned long long *)at, (unsigned long long)v);
}
__device__ __forceinline__ void global_add_double(uint64_t *at, double v) { atomicAdd((double *)at, v); }
// A sum in twice the precision, in device or shared memory: what an addition lacks is known, because the atomic tells to what
// it has added, and is collected beside it, `step` further on. Order and places of the additions change no more than the
// last bits of what is collected.
__device__ __forceinline__ void long_add(double &sum, double &rest, double v) {
    const double before = sum;
    sum = before + v;
    rest += sem::sum_error(before, v, sum);
}
__device__ __forceinline__ void add_long(double *at, uint32_t step, double v, double rest) {
    const double before = atomicAdd(at, v);
    rest += sem::sum_error(before, v, before + v);
    if (rest != 0)
        atomicAdd(at + step, rest);
}
__device__ __forceinline__ void global_add_long(double *at, double v, double rest) { add_long(at, 1, v, rest); }
__device__ __forceinline__ void block_add_long(double *at, uint32_t plane, double v) { add_long(at, plane, v, 0); }
// Shared memory has these two as well. Most values change nothing of a union of bits.
__device__ __forceinline__ void global_or(uint64_t *at, uint64_t v) {
    if (v & ~*(volatile uint64_t *)at)
        atomicOr((unsigned long long *)at, (unsigned long long)v);
}
__device__ __forceinline__ void global_xor(uint64_t *at, uint64_t v) {
    atomicXor((unsigned long long *)at, (unsigned long long)v);
}
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

// Where a group is looked for first, in a table of any size.
__device__ __forceinline__ uint32_t first_slot(uint64_t hash, uint32_t slots) {
    return (uint32_t)(((uint64_t)(uint32_t)(hash >> 20) * slots) >> 32);
}

// The entry of a group whose key is one word, which stands before it; keys have bit 63 set, 0 is a free slot. One slot is
// `stride` words; `fresh` counts new groups. Null pointer: the table is full, or so full that looking takes too long.
constexpr uint32_t max_probes = 2048;
__device__ __forceinline__ uint64_t *find_group(uint64_t *table, uint32_t stride, uint32_t slots, uint64_t key,
                                                uint64_t hash, uint32_t &fresh, uint32_t *status) {
    uint32_t slot = first_slot(hash, slots);
    for (uint32_t probes = 0; probes < max_probes; ++probes) {
        uint64_t *const at = table + (uint64_t)slot * stride;
        uint64_t found = *(volatile uint64_t *)at;
        if (found == 0) {
            found = atomicCAS((unsigned long long *)at, 0ULL, (unsigned long long)key);
            if (found == 0) {
                ++fresh;
                return at + 1;
            }
        }
        if (found == key)
            return at + 1;
        if ((probes & 63) == 63 && *(volatile uint32_t *)status & status_table_full)
            break;
        slot = slot + 1 == slots ? 0 : slot + 1;
    }
    atomicOr(status, status_table_full);
    return nullptr;
}

// Puts a number below 2^63 into a set.
__device__ __forceinline__ void add_to_set(uint64_t *set, uint32_t slots, uint64_t number, uint32_t *status) {
    uint32_t fresh = 0;
    find_group(set, 1, slots, number | in_set, sem::hash64(number), fresh, status);
}

// The same for keys of several words. The first word of a slot is its state: 0 free, 1 being written, 2 ready. One atomic
// per thread and a spin that only waits for a thread that has already won: it ends on GPUs whose threads advance
// independently (sm_70 and later).
template <int words>
__device__ __forceinline__ uint64_t *find_group_wide(uint64_t *table, uint32_t stride, uint32_t slots,
                                                     const uint64_t (&key)[words], uint64_t hash, uint32_t &fresh,
                                                     uint32_t *status) {
    uint32_t slot = first_slot(hash, slots);
    for (uint32_t probes = 0; probes < max_probes;) {
        uint64_t *const at = table + (uint64_t)slot * stride;
        uint32_t *const state = (uint32_t *)at;
        uint32_t seen = *(volatile uint32_t *)state;
        if (seen == 0) {
            seen = atomicCAS(state, 0u, 1u);
            if (seen == 0) {
#pragma unroll
                for (int i = 0; i < words; ++i)
                    *(volatile uint64_t *)(at + 1 + i) = key[i];
                __threadfence();
                *(volatile uint32_t *)state = 2;
                ++fresh;
                return at + 1 + words;
            }
        }
        if (seen == 1)
            continue; // look again
        __threadfence();
        bool same = true;
#pragma unroll
        for (int i = 0; i < words; ++i)
            same &= *(volatile uint64_t *)(at + 1 + i) == key[i];
        if (same)
            return at + 1 + words;
        if ((probes & 63) == 63 && *(volatile uint32_t *)status & status_table_full)
            break;
        ++probes;
        slot = slot + 1 == slots ? 0 : slot + 1;
    }
    atomicOr(status, status_table_full);
    return nullptr;
}

// Adds the threads' counts of new groups; every thread of the block must come here. (One atomic per new group would be
// what a table of many groups waits for.)
__device__ __forceinline__ void add_fresh(uint64_t *groups, uint32_t fresh) {
#pragma unroll
    for (int by = 16; by > 0; by /= 2)
        fresh += __shfl_down_sync(0xffffffffu, fresh, by);
    if ((threadIdx.x & 31) == 0 && fresh)
        atomicAdd((unsigned long long *)groups, (unsigned long long)fresh);
}

template <int words> __device__ __forceinline__ uint64_t hash_words(const uint64_t (&key)[words]) {
    uint64_t hash = 0;
#pragma unroll
    for (int i = 0; i < words; ++i)
        hash = sem::hash_combine(hash, key[i]);
    return hash;
}

// Groups are done in several passes where their table is too large: this pass has those of one part.
__device__ __forceinline__ bool in_part(uint64_t hash, uint64_t parts, uint64_t part) {
    return parts <= 1 || (uint32_t)(hash >> 52) % (uint32_t)parts == (uint32_t)part;
}

// A sketch of the number of different hashes (HyperLogLog): per register the most leading zeros of a hash that belongs to
// it, plus one. Every thread of the block must come to its start and its end.
template <int registers> __device__ __forceinline__ void sketch_start(uint32_t *sketch) {
    for (uint32_t i = threadIdx.x; i < registers; i += blockDim.x)
        sketch[i] = 0;
    __syncthreads();
}
template <int registers> __device__ __forceinline__ void sketch_add(uint32_t *sketch, uint64_t hash) {
    const uint32_t rank = (uint32_t)__clzll((long long)(hash | 1)) + 1;
    block_max(sketch + ((uint32_t)hash & (registers - 1)), rank);
}
template <int registers> __device__ __forceinline__ void sketch_end(const uint32_t *sketch, uint32_t *to) {
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < registers; i += blockDim.x)
        if (sketch[i] > *(volatile uint32_t *)(to + i))
            atomicMax(to + i, sketch[i]);
}

// ---- reductions of a block: the result is valid in the threads that speak ----------------------------------------

// Does this thread add a reduced value to device memory? Compiled quickly each thread does, for itself, but not with 128
// bits, whose maximum has a lock.
template <class T> __device__ __forceinline__ constexpr bool stays_in_threads() { return quick && sizeof(T) <= 8; }
template <class T> __device__ __forceinline__ bool speaks(const T &) {
    return stays_in_threads<T>() || threadIdx.x == 0;
}

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

struct Either {
    template <class T> __device__ __forceinline__ static T apply(T a, T b) { return a | b; }
};
struct Differing {
    template <class T> __device__ __forceinline__ static T apply(T a, T b) { return a ^ b; }
};

// `scratch`: 32 times 16 bytes of shared memory. Every thread of the block must come here. The loops stay loops: this runs
// once for each block, and unrolled it was a sixth of what a kernel without groups takes to compile.
template <class Operation, class T> __device__ __forceinline__ T block_reduce(T v, void *scratch) {
    if constexpr (stays_in_threads<T>())
        return v;
    T *parts = (T *)scratch;
#pragma unroll 1
    for (int by = 16; by > 0; by /= 2)
        v = Operation::apply(v, shuffle_down(v, by));
    __syncthreads(); // scratch may still be read by the reduction before
    if ((threadIdx.x & 31) == 0)
        parts[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (uint32_t warp = 1; warp < blockDim.x / 32; ++warp)
            v = Operation::apply(v, parts[warp]);
    }
    return v;
}

// Sums in twice the precision, of a warp, valid in its first lane. True: this lane speaks.
__device__ __forceinline__ bool warp_reduce_long(double &sum, double &rest) {
    if constexpr (quick)
        return true;
#pragma unroll
    for (int by = 16; by > 0; by /= 2) {
        const double other = shuffle_down(sum, by), other_rest = shuffle_down(rest, by);
        long_add(sum, rest, other);
        rest += other_rest;
    }
    return (threadIdx.x & 31) == 0;
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
