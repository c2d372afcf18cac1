// Heap pages to columns on the GPU: one thread block per page, one thread per tuple.
//
// The block copies the page into shared memory with 16-byte loads, straight from shared_buffers over the link (or from a
// staged copy in device memory); everything after that reads only this copy, so that what was checked is what is used.
// Then it numbers the tuples that count (every LP_NORMAL line pointer, or those of the mask), and each thread walks its
// tuples by the rules of heap_page.cuh, dropping off the wanted columns on the way. The link delivers some 6 million
// pages a second at best, which leaves a block several hundred microseconds per page: simple code is fast enough.
//
// A page fails as a whole, with the status of its first failing row, and leaves NULL in all its rows. Text becomes codes
// by a hash table that mirrors the column's dictionary; texts that are not in it are listed for the host, which numbers
// them and has their codes put into the rows (put_codes). Only where the list was full the page is decoded again. Writes
// stay within rows [row_start, row_start + ntuples) whatever the page says.
//
// The structures are filled by the host (cuda/decode.cpp includes this file too).
#pragma once

#include "device/heap_page.cuh"

namespace gpuscan {
namespace decoding {

struct Attribute {
    int16_t length;
    uint8_t align;
    uint8_t unused;
    uint32_t fixed; // its offset in a tuple without NULLs, or unknown_offset behind a varlena
};
constexpr uint32_t unknown_offset = 0xffffffffu;

// A device's mirror of a dictionary. A slot holds 32 bits of hash and the code plus one.
struct Mirror {
    const uint64_t *slots;
    const uint64_t *places; // by code: offset of the text (low 40 bits) and its length
    const uint8_t *bytes;
    uint64_t mask;
    uint64_t key; // of text_hash()
};

struct Column {
    uint8_t *values;
    uint8_t *nulls;
    uint8_t codec, type, width, missing_null;
    int32_t scale;
    uint32_t attribute; // index of its own attribute
    uint32_t index;     // among the job's columns
    uint64_t missing[2];
    uint64_t limit[2]; // of numerics, without their sign; 0: none
    Mirror mirror;
};

// Columns whose attributes are prefixes of one list, in ascending order.
struct Walk {
    uint32_t attributes, first_column, ncolumns, unused;
};

struct Stats {
    uint32_t any_value, any_null;
    uint32_t any_wide; // a value beyond 64 bits; min and max are of the others
    uint32_t unused;
    int64_t min, max;
};

struct Page {
    const uint8_t *bytes;
    uint32_t row_start;
    uint16_t ntuples;
    uint16_t clear;  // 1: only write NULLs
    uint32_t mask;   // index into masks, or no_mask
    uint32_t number; // among the job's pages
};
constexpr uint32_t no_mask = 0xffffffffu;

struct Mask {
    uint64_t bits[5];
};

// A text that the mirror does not have.
struct Miss {
    uint32_t page, column;
    uint16_t offset, length;
    uint32_t row;
};

// The code of such a text and where it goes.
struct Code {
    uint32_t *to;
    uint32_t code, unused;
};

struct PutArgument {
    const Code *codes;
    uint32_t count, unused;
};

struct Argument {
    const Page *pages;
    const Mask *masks;
    const Walk *walks;
    const Column *columns;
    const Attribute *attributes;
    Stats *stats;    // per column of the job
    uint8_t *status; // per page of the job: PageStatus, or status_missed
    Miss *misses;
    uint32_t *nmisses;
    const uint32_t *cancel;
    uint32_t npages, nwalks, ncolumns, miss_room;
};

constexpr uint8_t status_ok = 0, status_needs_cpu = 1, status_broken = 2, status_unrepresentable = 3, status_missed = 4;

// Of length bytes of a page; for the mirror only, host and GPU must agree. Nobody who writes texts knows the key.
GPUSCAN_HD uint64_t text_hash(const uint8_t *page, uint32_t start, uint32_t length, uint64_t key) {
    uint64_t hash = sem::hash64(length + key);
    uint32_t at = start, left = length;
    for (; left >= 8; at += 8, left -= 8)
        hash = sem::hash64(hash ^ heap::load64(page, at)) + key;
    uint64_t tail = 0;
    for (uint32_t i = 0; i < left; ++i)
        tail |= (uint64_t)page[at + i] << (8 * i);
    return sem::hash64(hash ^ tail);
}

constexpr uint64_t place_offset_bits = 40;

constexpr uint32_t threads = 128;
constexpr uint32_t max_selected = 320; // bits of a mask

// A block's shared memory; behind it stand the statistics of every column.
struct Shared {
    uint8_t page[heap::bytes_per_page];
    uint16_t selected[max_selected];
    uint32_t warp_counts[threads / 32];
    uint32_t failure; // row * 8 + status of the first row that failed
    uint32_t missed;
};
constexpr uint32_t shared_bytes = (sizeof(Shared) + 15) / 16 * 16;

#ifdef __CUDACC__

__device__ __forceinline__ uint32_t find_code(const Mirror &mirror, const uint8_t *page, uint32_t start,
                                              uint32_t length) {
    const uint64_t hash = text_hash(page, start, length, mirror.key);
    uint64_t slot = hash & mirror.mask;
    for (uint64_t probes = 0; probes <= mirror.mask; ++probes) {
        const uint64_t found = mirror.slots[slot];
        if (found == 0)
            break;
        if ((found >> 32) == (hash >> 32)) {
            const uint32_t code = (uint32_t)found - 1;
            const uint64_t place = mirror.places[code];
            if ((place >> place_offset_bits) == length) {
                const uint8_t *const text = mirror.bytes + (place & ((1ULL << place_offset_bits) - 1));
                uint32_t i = 0;
                while (i < length && text[i] == page[start + i])
                    ++i;
                if (i == length)
                    return code;
            }
        }
        slot = (slot + 1) & mirror.mask;
    }
    return 0xffffffffu;
}

__device__ __forceinline__ void put(const Column &c, uint32_t row, uint64_t low, uint64_t high, bool null) {
    c.nulls[row] = null;
    switch (c.width) {
    case 1:
        c.values[row] = (uint8_t)low;
        break;
    case 2:
        ((uint16_t *)c.values)[row] = (uint16_t)low;
        break;
    case 4:
        ((uint32_t *)c.values)[row] = (uint32_t)low;
        break;
    case 8:
        ((uint64_t *)c.values)[row] = low;
        break;
    default:
        ((ulonglong2 *)c.values)[row] = make_ulonglong2(low, high);
    }
}

__device__ __forceinline__ void note_null(Stats &s) {
    if (!*(volatile uint32_t *)&s.any_null)
        s.any_null = 1;
}

__device__ __forceinline__ void note(Stats &s, int64_t v) {
    if (!*(volatile uint32_t *)&s.any_value)
        s.any_value = 1;
    if (v < *(volatile int64_t *)&s.min)
        atomicMin((long long *)&s.min, (long long)v);
    if (v > *(volatile int64_t *)&s.max)
        atomicMax((long long *)&s.max, (long long)v);
}

__device__ __forceinline__ void note_wide(Stats &s, sem::i128 v) {
    if (v == (int64_t)v) {
        note(s, (int64_t)v);
        return;
    }
    s.any_value = 1;
    s.any_wide = 1;
}

__device__ __forceinline__ void put_missing(const Column &c, uint32_t row, Stats &s) {
    put(c, row, c.missing_null ? 0 : c.missing[0], c.missing_null ? 0 : c.missing[1], c.missing_null);
    if (c.missing_null)
        note_null(s);
    else if (c.codec == 4 || c.codec == 5)
        s.any_value = 1;
    else if (c.width == 16)
        note_wide(s, (sem::i128)(((sem::u128)c.missing[1] << 64) | c.missing[0]));
    else
        note(s, c.width == 2  ? (int64_t)(int16_t)c.missing[0]
                : c.type == 2 ? (int64_t)(int32_t)c.missing[0]
                : c.type == 7 ? (int64_t)(uint32_t)c.missing[0]
                              : (int64_t)c.missing[0]);
}

__device__ __forceinline__ uint8_t put_value(const Argument &a, const Page &p, Shared &shared, const Column &c,
                                             heap::Place place, uint32_t row, Stats &s) {
    const uint8_t *const page = shared.page;
    switch (c.codec) {
    case 0: {
        const uint8_t v = page[place.at] != 0;
        put(c, row, v, 0, false);
        note(s, v);
        return status_ok;
    }
    case 1: {
        const int16_t v = (int16_t)heap::load16(page, place.at);
        put(c, row, (uint16_t)v, 0, false);
        note(s, v);
        return status_ok;
    }
    case 2: {
        const int32_t v = (int32_t)heap::load32(page, place.at);
        put(c, row, (uint32_t)v, 0, false);
        note(s, v);
        return status_ok;
    }
    case 3: {
        const int64_t v = (int64_t)heap::load64(page, place.at);
        put(c, row, (uint64_t)v, 0, false);
        note(s, v);
        return status_ok;
    }
    case 4:
        put(c, row, heap::load32(page, place.at), 0, false);
        s.any_value = 1;
        return status_ok;
    case 5:
        put(c, row, heap::load64(page, place.at), 0, false);
        s.any_value = 1;
        return status_ok;
    }
    if (c.codec == 8) {
        const sem::i128 v = heap::uuid_value(page, place.at);
        put(c, row, (uint64_t)v, (uint64_t)(v >> 64), false);
        note_wide(s, v);
        return status_ok;
    }
    if (c.codec == 10) {
        const sem::i128 v = heap::interval_value(page, place.at);
        put(c, row, (uint64_t)v, (uint64_t)(v >> 64), false);
        note_wide(s, v);
        return status_ok;
    }
    uint32_t start = place.at, length = place.next - place.at;
    if (c.codec != 9 && heap::varlena_bytes(page, place, start, length) != heap::Varlena::Inline)
        return status_needs_cpu;
    if (c.codec == 12) {
        int32_t scale;
        if (!heap::decode_numeric_scale(page, start, length, scale) || scale > 63)
            return status_unrepresentable;
        put(c, row, (uint32_t)scale, 0, false);
        note(s, scale);
        return status_ok;
    }
    if (c.codec == 6 || c.codec == 11) {
        sem::i128 v;
        if (!heap::decode_numeric(page, start, length, c.scale, c.codec == 11, v))
            return status_unrepresentable;
        const sem::i128 limit = (sem::i128)(((sem::u128)c.limit[1] << 64) | c.limit[0]);
        if (limit != 0 && (v >= limit || v <= -limit))
            return status_unrepresentable;
        if (c.width == 16) {
            put(c, row, (uint64_t)v, (uint64_t)(v >> 64), false);
            note_wide(s, v);
            return status_ok;
        }
        if (v != (int64_t)v)
            return status_unrepresentable;
        put(c, row, (uint64_t)v, 0, false);
        note(s, (int64_t)v);
        return status_ok;
    }
    const uint32_t code = find_code(c.mirror, page, start, length);
    if (code != 0xffffffffu) {
        put(c, row, code, 0, false);
        note(s, code);
        return status_ok;
    }
    put(c, row, 0, 0, false);
    const uint32_t at = atomicAdd(a.nmisses, 1u);
    if (at >= a.miss_room) {
        shared.missed = 1;
    } else {
        Miss miss;
        miss.page = p.number;
        miss.column = c.index;
        miss.offset = (uint16_t)start;
        miss.length = (uint16_t)length;
        miss.row = row;
        a.misses[at] = miss;
    }
    return status_ok;
}

__device__ __forceinline__ uint8_t decode_tuple(const Argument &a, const Page &p, Shared &shared, const Walk &walk,
                                                const heap::Tuple &tuple, uint32_t row, Stats *stats) {
    const Attribute *const attributes = a.attributes + walk.attributes;
    uint32_t attribute = 0;  // next to walk over
    uint32_t offset = 0;     // where it starts at the earliest
    heap::Place place{0, 0}; // of the attribute before, which may have another column (the scale of a numeric)
    bool null = false;
    for (uint32_t i = 0; i < walk.ncolumns; ++i) {
        const Column &c = a.columns[walk.first_column + i];
        Stats &s = stats[c.index];
        if (c.attribute >= tuple.attributes) {
            put_missing(c, row, s);
            continue;
        }
        const uint32_t fixed = attributes[c.attribute].fixed;
        if (tuple.nulls == 0 && fixed != unknown_offset) {
            attribute = c.attribute;
            offset = fixed;
        }
        for (; attribute <= c.attribute; ++attribute) {
            null = heap::is_null(shared.page, tuple, attribute);
            if (null)
                continue;
            const Attribute layout = attributes[attribute];
            if (!heap::find_attribute(shared.page, tuple, offset, layout.length, layout.align, place))
                return status_broken;
            offset = place.next - tuple.base;
        }
        if (null) {
            put(c, row, 0, 0, true);
            note_null(s);
            continue;
        }
        const uint8_t status = put_value(a, p, shared, c, place, row, s);
        if (status != status_ok)
            return status;
    }
    return status_ok;
}

// Numbers the tuples that count; returns how many there are. Every thread of the block comes here.
__device__ __forceinline__ uint32_t select_tuples(const Argument &a, const Page &p, Shared &shared) {
    const uint32_t lane = threadIdx.x & 31;
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t count = heap::line_pointer_count(shared.page);
    uint32_t base = 0;
    for (uint32_t start = 0; start < max_selected; start += threads) {
        const uint32_t i = start + threadIdx.x;
        bool wanted = false;
        if (i < max_selected) {
            if (p.mask != no_mask)
                wanted = a.masks[p.mask].bits[i / 64] >> (i % 64) & 1;
            else
                wanted = i < count && heap::line_pointer(shared.page, i).flags == heap::lp_normal;
        }
        const uint32_t votes = __ballot_sync(0xffffffffu, wanted);
        if (lane == 0)
            shared.warp_counts[warp] = __popc(votes);
        __syncthreads();
        uint32_t before = base;
        for (uint32_t w = 0; w < threads / 32; ++w) {
            if (w < warp)
                before += shared.warp_counts[w];
            base += shared.warp_counts[w];
        }
        if (wanted)
            shared.selected[before + __popc(votes & ((1u << lane) - 1))] = (uint16_t)i;
        __syncthreads();
    }
    return base;
}

extern "C" __global__ void __launch_bounds__(128) decode_pages(const Argument a) {
    extern __shared__ ulonglong2 memory[]; // Shared, then ncolumns times Stats
    Shared &shared = *(Shared *)memory;
    Stats *const stats = (Stats *)((uint8_t *)memory + shared_bytes);
    for (uint32_t c = threadIdx.x; c < a.ncolumns; c += threads)
        stats[c] = Stats{0, 0, 0, 0, 0x7fffffffffffffffLL, -0x7fffffffffffffffLL - 1};
    for (uint32_t number = blockIdx.x; number < a.npages; number += gridDim.x) {
        const Page p = a.pages[number];
        __syncthreads();
        if (threadIdx.x == 0) {
            shared.failure = 0xffffffffu;
            shared.missed = 0;
        }
        if (p.clear == 0) {
            uint4 parts[heap::bytes_per_page / 16 / threads];
#pragma unroll
            for (uint32_t i = 0; i < heap::bytes_per_page / 16 / threads; ++i)
                parts[i] = __ldcs((const uint4 *)p.bytes + i * threads + threadIdx.x);
#pragma unroll
            for (uint32_t i = 0; i < heap::bytes_per_page / 16 / threads; ++i)
                ((uint4 *)shared.page)[i * threads + threadIdx.x] = parts[i];
            __syncthreads();
            const uint32_t count = heap::line_pointer_count(shared.page);
            const uint32_t total = select_tuples(a, p, shared);
            for (uint32_t rank = threadIdx.x; rank < total; rank += threads) {
                uint8_t status = status_broken;
                const uint32_t index = shared.selected[rank];
                heap::Tuple tuple;
                if (rank < p.ntuples && index < count &&
                    heap::open_tuple(shared.page, heap::line_pointer(shared.page, index), tuple)) {
                    status = status_ok;
                    for (uint32_t w = 0; w < a.nwalks && status == status_ok; ++w)
                        status = decode_tuple(a, p, shared, a.walks[w], tuple, p.row_start + rank, stats);
                }
                if (status != status_ok)
                    atomicMin(&shared.failure, rank * 8 + status);
            }
            if (threadIdx.x == 0 && total < p.ntuples)
                atomicMin(&shared.failure, total * 8 + status_broken);
        }
        __syncthreads();
        const uint32_t failure = shared.failure;
        if (failure != 0xffffffffu || p.clear != 0)
            for (uint32_t c = 0; c < a.ncolumns; ++c)
                for (uint32_t r = threadIdx.x; r < p.ntuples; r += threads)
                    put(a.columns[c], p.row_start + r, 0, 0, true);
        if (threadIdx.x == 0 && p.clear == 0)
            a.status[p.number] = failure != 0xffffffffu ? (uint8_t)(failure & 7)
                                 : shared.missed        ? status_missed
                                                        : status_ok;
        if (*(const volatile uint32_t *)a.cancel)
            break;
    }
    __syncthreads();
    for (uint32_t c = threadIdx.x; c < a.ncolumns; c += threads) {
        if (stats[c].any_null)
            a.stats[c].any_null = 1;
        if (stats[c].any_wide)
            a.stats[c].any_wide = 1;
        if (stats[c].any_value) {
            a.stats[c].any_value = 1;
            atomicMin((long long *)&a.stats[c].min, (long long)stats[c].min);
            atomicMax((long long *)&a.stats[c].max, (long long)stats[c].max);
        }
    }
}

extern "C" __global__ void __launch_bounds__(128) put_codes(const PutArgument a) {
    for (uint32_t i = blockIdx.x * threads + threadIdx.x; i < a.count; i += gridDim.x * threads)
        *a.codes[i].to = a.codes[i].code;
}

#endif

} // namespace decoding
} // namespace gpuscan
