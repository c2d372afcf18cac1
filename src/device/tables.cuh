// Kernels that do not depend on a query: ranges of collected columns, building join tables.
//
// The rows of a build were collected into one array per key and payload column. A table is built in one pass over them
// (Kaldewey et al., "GPU Join Processing Revisited", section 4.1: latch-free inserts with atomics); rows of equal keys
// are chained through `next`. What the tables look like: device/runtime.cuh.
//
// Rows whose partners lie between bounds are put in the order of a bound: runs of one row each are merged two by two. Each row finds
// its place in the merged run by itself, as the number of rows before it in its own run and, by a search, in the other one (Satish,
// Harris, Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs", section 5). The highest bound so far comes by doubling
// (Hillis, Steele, "Data Parallel Algorithms"). Every step is a launch of its own, so that it sees all of the one before.
//
// The structures are filled by the host (cuda/execution_state.hpp includes this file too); all of them are kernel arguments.
#pragma once

#include "device/column.cuh"
#include "device/semantics.cuh"
#include "device/status.cuh"

namespace gpuscan {
namespace tables {

using Column = FlatColumn; // a collected one

struct ColumnRange {
    int64_t min, max; // of the values that are not NULL; min > max: there is none
};

struct RangesArgument {
    const uint64_t *count; // rows collected so far
    uint64_t first;        // the first of them to look at
    uint64_t capacity;     // rows there is room for
    const Column *columns;
    ColumnRange *ranges; // one per column, set before
    uint32_t ncolumns;
};

constexpr uint32_t max_keys = 4;
constexpr uint32_t max_packed = 16;

struct BuildArgument {
    uint64_t rows;
    Column keys[max_keys];
    uint32_t nkeys;
    uint32_t kind;                            // codegen::TableKind
    uint64_t min[max_keys], stride[max_keys]; // Packed, Rows
    void *entries;                            // entries, heads or slots
    uint32_t *next;                           // Rows, Hash
    uint32_t *status;
    uint64_t mask;        // Hash: slots - 1
    uint32_t exact_tag;   // Hash
    uint32_t entry_bytes; // Packed
    uint32_t npayload;    // Packed
    uint32_t unused;
    Column payload[max_packed];
    uint64_t shift[max_packed], bias[max_packed]; // field = value - bias, 0 = NULL where the column can be NULL
};

// Packed entries that become wider ones.
struct WidenArgument {
    const void *from;
    void *to;
    uint64_t entries;
    uint32_t from_bytes, to_bytes;
};

// A row's bound, and where the row has been. No two are equal, so each has one place in an order.
struct Place {
    int64_t bound;
    uint64_t row;
};
struct PlacesArgument {
    Column bound;
    int64_t null; // what a NULL counts as
    Place *places;
    uint64_t rows;
};
struct MergeArgument {
    const Place *from;
    Place *to;
    uint64_t rows, width; // of runs that are in order
};
// The values of a column in the order of the places; and its bounds, as 64 bits.
struct MoveArgument {
    const Place *places;
    const void *from;
    void *to;
    uint64_t rows;
    uint32_t bytes, unused; // of a value
};
struct MoveBoundArgument {
    const Place *places;
    Column bound;
    int64_t null;
    int64_t *to;
    uint64_t rows;
};
// to[i] = the largest of from[i] and from[i - by].
struct ReachArgument {
    const int64_t *from;
    int64_t *to;
    uint64_t rows, by;
};

// How many values each group has had, and the sums of the low and the high halves of the places of these.
constexpr uint32_t counted_words = 3; // a group's; they start as zeros
struct CountBitsArgument {
    const uint64_t *bits;
    uint64_t groups, words; // words of a group
    uint64_t parts;         // a group's words are counted in so many parts
    uint64_t *out;
    uint32_t adds, unused; // 0: nobody asks for the sums
};
struct CountSetArgument {
    const uint64_t *set;
    uint64_t slots;
    uint64_t values; // of a group
    uint64_t *out;
    uint32_t adds, unused;
};

#ifdef __CUDACC__

// As generated kernels hash a key: I128 is two words.
__device__ __forceinline__ uint64_t hash_row(const BuildArgument &a, uint64_t row) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < a.nkeys; ++i) {
        if (a.keys[i].type == 4) {
            const sem::i128 v = value_at<sem::i128>(a.keys[i], row);
            hash = sem::hash_combine(hash, (uint64_t)v);
            hash = sem::hash_combine(hash, (uint64_t)(v >> 64));
        } else {
            hash = sem::hash_combine(hash, (uint64_t)integer_at(a.keys[i], row));
        }
    }
    return hash;
}

__device__ __forceinline__ bool same_keys(const BuildArgument &a, uint64_t left, uint64_t right) {
    bool same = true;
    for (uint32_t i = 0; i < a.nkeys; ++i)
        same &= a.keys[i].type == 4 ? value_at<sem::i128>(a.keys[i], left) == value_at<sem::i128>(a.keys[i], right)
                                    : integer_at(a.keys[i], left) == integer_at(a.keys[i], right);
    return same;
}

__device__ __forceinline__ uint64_t packed_payload(const BuildArgument &a, uint64_t row) {
    uint64_t packed = 0;
    for (uint32_t i = 0; i < a.npayload; ++i) {
        const bool null = is_null(a.payload[i], row);
        const uint64_t field = null ? 0 : (uint64_t)integer_at(a.payload[i], row) - a.bias[i];
        packed |= field << a.shift[i];
    }
    return packed + 1;
}

__device__ __forceinline__ bool store_packed(const BuildArgument &a, uint64_t index, uint64_t entry) {
    if (a.entry_bytes == 8)
        return atomicCAS((unsigned long long *)a.entries + index, 0ULL, (unsigned long long)entry) == 0;
    const uint32_t per_word = 4 / a.entry_bytes;
    const uint32_t bits = 8 * a.entry_bytes;
    const uint32_t shift = (uint32_t)(index % per_word) * bits;
    const uint32_t field = bits == 32 ? 0xffffffffu : ((1u << bits) - 1) << shift;
    return (atomicOr((uint32_t *)a.entries + index / per_word, (uint32_t)entry << shift) & field) == 0;
}

__device__ __forceinline__ bool store_hash(const BuildArgument &a, uint64_t row) {
    const uint64_t hash = hash_row(a, row);
    const uint32_t tag = a.exact_tag ? (uint32_t)integer_at(a.keys[0], row) : (uint32_t)hash;
    const unsigned long long mine = (unsigned long long)tag << 32 | (uint32_t)(row + 1);
    unsigned long long *const slots = (unsigned long long *)a.entries;
    uint64_t slot = (hash >> 32) & a.mask;
    for (uint64_t probes = 0; probes <= a.mask;) {
        unsigned long long found = *(volatile unsigned long long *)(slots + slot);
        if (found == 0) {
            found = atomicCAS(slots + slot, 0ULL, mine);
            if (found == 0)
                return true;
        }
        if ((uint32_t)(found >> 32) == tag && (a.exact_tag || same_keys(a, (uint32_t)found - 1, row))) {
            a.next[row] = (uint32_t)found;
            if (atomicCAS(slots + slot, found, mine) == found)
                return false;
            continue; // somebody else came before us: look again
        }
        ++probes;
        slot = (slot + 1) & a.mask;
    }
    return false;
}

extern "C" __global__ void column_ranges(const RangesArgument a) {
    uint64_t rows = *a.count;
    if (rows > a.capacity)
        rows = a.capacity;
    for (uint32_t c = 0; c < a.ncolumns; ++c) {
        const Column column = a.columns[c];
        if (column.type > 3 && column.type != 7)
            continue;
        int64_t low = 0x7fffffffffffffffLL;
        int64_t high = -0x7fffffffffffffffLL - 1;
        for (uint64_t row = a.first + blockIdx.x * blockDim.x + threadIdx.x; row < rows;
             row += gridDim.x * blockDim.x) {
            if (is_null(column, row))
                continue;
            const int64_t v = integer_at(column, row);
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        for (int by = 16; by > 0; by /= 2) {
            const int64_t l = __shfl_down_sync(0xffffffffu, low, by);
            const int64_t h = __shfl_down_sync(0xffffffffu, high, by);
            low = l < low ? l : low;
            high = h > high ? h : high;
        }
        if ((threadIdx.x & 31) == 0 && low <= high) {
            atomicMin((long long *)&a.ranges[c].min, (long long)low);
            atomicMax((long long *)&a.ranges[c].max, (long long)high);
        }
    }
}

extern "C" __global__ void build_table(const BuildArgument a) {
    bool fresh = true;
    for (uint64_t row = blockIdx.x * blockDim.x + threadIdx.x; row < a.rows; row += gridDim.x * blockDim.x) {
        if (a.kind == 2) {
            fresh &= store_hash(a, row);
            continue;
        }
        uint64_t index = 0;
        for (uint32_t i = 0; i < a.nkeys; ++i)
            index += ((uint64_t)integer_at(a.keys[i], row) - a.min[i]) * a.stride[i];
        if (a.kind == 0) {
            fresh &= store_packed(a, index, packed_payload(a, row));
        } else {
            const uint32_t before = atomicExch((uint32_t *)a.entries + index, (uint32_t)row + 1);
            a.next[row] = before;
            fresh &= before == 0;
        }
    }
    if (!fresh)
        atomicOr(a.status, status_duplicates);
}

__device__ __forceinline__ uint64_t packed_entry(const void *entries, uint32_t bytes, uint64_t i) {
    return bytes == 1   ? ((const uint8_t *)entries)[i]
           : bytes == 2 ? ((const uint16_t *)entries)[i]
           : bytes == 4 ? ((const uint32_t *)entries)[i]
                        : ((const uint64_t *)entries)[i];
}

extern "C" __global__ void widen_entries(const WidenArgument a) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.entries; i += step) {
        const uint64_t entry = packed_entry(a.from, a.from_bytes, i);
        if (a.to_bytes == 2)
            ((uint16_t *)a.to)[i] = (uint16_t)entry;
        else if (a.to_bytes == 4)
            ((uint32_t *)a.to)[i] = (uint32_t)entry;
        else
            ((uint64_t *)a.to)[i] = entry;
    }
}

__device__ __forceinline__ int64_t bound_at(const Column &column, int64_t null, uint64_t row) {
    return is_null(column, row) ? null : integer_at(column, row);
}

extern "C" __global__ void make_places(const PlacesArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        a.places[i].bound = bound_at(a.bound, a.null, i);
        a.places[i].row = i;
    }
}

extern "C" __global__ void merge_places(const MergeArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const Place mine = a.from[i];
        const uint64_t run = i / a.width, other = (run ^ 1) * a.width;
        uint64_t low = other < a.rows ? other : a.rows;
        uint64_t high = other + a.width < a.rows ? other + a.width : a.rows;
        const uint64_t start = low;
        while (low < high) { // the first of the other run that comes after this one
            const uint64_t middle = low + (high - low) / 2;
            const int64_t bound = a.from[middle].bound;
            if (bound < mine.bound || (bound == mine.bound && a.from[middle].row < mine.row))
                low = middle + 1;
            else
                high = middle;
        }
        a.to[(run & ~1ULL) * a.width + (i - run * a.width) + (low - start)] = mine;
    }
}

template <class T> __device__ __forceinline__ void move_value(const MoveArgument &a, uint64_t i) {
    ((T *)a.to)[i] = ((const T *)a.from)[a.places[i].row];
}

extern "C" __global__ void move_column(const MoveArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        switch (a.bytes) {
        case 1:
            move_value<uint8_t>(a, i);
            break;
        case 2:
            move_value<uint16_t>(a, i);
            break;
        case 4:
            move_value<uint32_t>(a, i);
            break;
        case 8:
            move_value<uint64_t>(a, i);
            break;
        default:
            move_value<sem::i128>(a, i);
        }
    }
}

extern "C" __global__ void move_bound(const MoveBoundArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step())
        a.to[i] = bound_at(a.bound, a.null, a.places[i].row);
}

extern "C" __global__ void extend_reach(const ReachArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const int64_t mine = a.from[i], before = i < a.by ? mine : a.from[i - a.by];
        a.to[i] = before > mine ? before : mine;
    }
}

// A warp takes a part of a group's words.
extern "C" __global__ void count_bits(const CountBitsArgument a) {
    const uint32_t lane = threadIdx.x & 31;
    const uint64_t warps = (uint64_t)gridDim.x * blockDim.x / 32;
    for (uint64_t i = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; i < a.groups * a.parts; i += warps) {
        const uint64_t group = i / a.parts, part = i % a.parts;
        const uint64_t end = a.words * (part + 1) / a.parts;
        unsigned long long count = 0, low = 0, high = 0;
        for (uint64_t w = a.words * part / a.parts + lane; w < end; w += 32) {
            uint64_t word = a.bits[group * a.words + w];
            const uint32_t bits = (uint32_t)__popcll((long long)word);
            count += bits;
            high += bits * (w * 64 >> 32);
            for (; a.adds && word; word &= word - 1)
                low += (uint32_t)(w * 64) + (63 - (uint32_t)__clzll((long long)(word & (0 - word))));
        }
        for (int by = 16; by > 0; by /= 2) {
            count += __shfl_down_sync(0xffffffffu, count, by);
            low += __shfl_down_sync(0xffffffffu, low, by);
            high += __shfl_down_sync(0xffffffffu, high, by);
        }
        if (lane == 0 && count) {
            atomicAdd((unsigned long long *)a.out + counted_words * group, count);
            atomicAdd((unsigned long long *)a.out + counted_words * group + 1, low);
            atomicAdd((unsigned long long *)a.out + counted_words * group + 2, high);
        }
    }
}

// A thread adds up what it has of one group until it meets another.
extern "C" __global__ void count_set(const CountSetArgument a) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t group = 0;
    unsigned long long count = 0, low = 0, high = 0;
    const auto put = [&] {
        unsigned long long *const out = (unsigned long long *)a.out + counted_words * group;
        if (count)
            atomicAdd(out, count);
        if (low)
            atomicAdd(out + 1, low);
        if (high)
            atomicAdd(out + 2, high);
        count = low = high = 0;
    };
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.slots; i += step) {
        if (a.set[i] == 0)
            continue;
        const uint64_t number = a.set[i] & ~in_set, of = number / a.values, place = number % a.values;
        if (of != group) {
            put();
            group = of;
        }
        ++count;
        if (a.adds) {
            low += (uint32_t)place;
            high += place >> 32;
        }
    }
    put();
}

#endif

} // namespace tables
} // namespace gpuscan
