// Which rows was a join table made of, and what is left of them when some have gone?
//
//   drop_rows  one thread per row that has gone looks for an equal one, key and payload, that nobody else has claimed, and claims it by a
//              bit. An entry has no mark of the row that it was, so any equal one will do. Who finds none says so, and the table is built
//   keep_rows  writes all others as a build collects rows: one array per key and payload column. One atomic per warp finds room for its rows
//
// A packed table has no rows but its entries: they are read back from them, key and payload. What tables look like: device/tables.cuh.
// The structure is filled by the host (cuda/joins/join_change.cpp).
#pragma once

#include "device/tables.cuh"

namespace gpuscan {
namespace tables {

struct RowsArgument {
    BuildArgument table;         // as it was built; its rows are `own`, not keys and payload
    uint64_t values[max_keys];   // Packed, Rows: how many each key may take
    uint64_t masks[max_packed];  // Packed: of a field
    uint64_t any_null;           // Packed: bits by payload column: its field may be 0, which is NULL
    const FlatColumn *own;       // Rows, Hash: keys, then payload, by row
    const FlatColumn *gone;      // the same of the rows that have gone
    const FlatColumn *left;      // and of those that stay; they are written
    uint64_t rows, gone_rows;    // Packed: entries
    uint32_t *dropped;           // bits by row (Packed: by entry); null pointer: none has gone
    unsigned long long *counter; // of rows that stay
    uint32_t ncolumns, unused;
};

#ifdef __CUDACC__

__device__ __forceinline__ bool claim(uint32_t *dropped, uint64_t at) {
    const uint32_t bit = 1u << (at % 32);
    return (atomicOr(dropped + at / 32, bit) & bit) == 0;
}

__device__ __forceinline__ bool is_claimed(const uint32_t *dropped, uint64_t at) {
    return dropped && (dropped[at / 32] >> (at % 32) & 1);
}

// The number of the key of a row; false: no row of the table has it.
__device__ __forceinline__ bool number_of(const RowsArgument &a, uint64_t row, uint64_t &number) {
    number = 0;
    for (uint32_t i = 0; i < a.table.nkeys; ++i) {
        const uint64_t part = (uint64_t)integer_at(a.gone[i], row) - a.table.min[i];
        if (part >= a.values[i])
            return false;
        number += part * a.table.stride[i];
    }
    return true;
}

__device__ __forceinline__ bool same_value(const FlatColumn &left, uint64_t l, const FlatColumn &right, uint64_t r) {
    if (is_null(left, l) || is_null(right, r))
        return is_null(left, l) && is_null(right, r);
    if (left.type == 4)
        return value_at<sem::i128>(left, l) == value_at<sem::i128>(right, r);
    if (left.type == 5) // (floats by their bits)
        return value_at<uint32_t>(left, l) == value_at<uint32_t>(right, r);
    if (left.type == 6)
        return value_at<uint64_t>(left, l) == value_at<uint64_t>(right, r);
    return integer_at(left, l) == integer_at(right, r);
}

__device__ __forceinline__ bool same_columns(const RowsArgument &a, uint64_t own, uint64_t gone, uint32_t first,
                                             uint32_t end) {
    bool same = true;
    for (uint32_t c = first; same && c < end; ++c)
        same = same_value(a.own[c], own, a.gone[c], gone);
    return same;
}

// One of the rows of a chain, all of which have the key. Of a long one not all are looked at: many rows of one key would look at each
// other's again and again.
constexpr uint32_t longest_walk = 1024;

__device__ __forceinline__ bool drop_of_chain(const RowsArgument &a, uint64_t gone, uint32_t first) {
    uint32_t steps = 0;
    for (uint32_t next = first; next != 0 && steps < longest_walk; next = a.table.next[next - 1], ++steps)
        if (same_columns(a, next - 1, gone, a.table.nkeys, a.ncolumns) && claim(a.dropped, next - 1))
            return true;
    return false;
}

__device__ __forceinline__ bool drop_packed(const RowsArgument &a, uint64_t gone) {
    uint64_t number;
    if (!number_of(a, gone, number))
        return false;
    uint64_t packed = 0;
    for (uint32_t i = 0; i < a.table.npayload; ++i) {
        const FlatColumn column = a.gone[a.table.nkeys + i];
        const bool nullable = a.any_null >> i & 1, null = is_null(column, gone);
        const uint64_t field = null ? 0 : (uint64_t)integer_at(column, gone) - a.table.bias[i];
        if (field > a.masks[i] || (null ? !nullable : nullable && field == 0))
            return false;
        packed |= field << a.table.shift[i];
    }
    return packed_entry(a.table.entries, a.table.entry_bytes, number) == packed + 1 && claim(a.dropped, number);
}

__device__ __forceinline__ bool drop_hashed(const RowsArgument &a, uint64_t gone) {
    BuildArgument other = a.table;
    for (uint32_t i = 0; i < other.nkeys; ++i)
        other.keys[i] = a.gone[i];
    const uint64_t hash = hash_row(other, gone);
    const uint32_t tag = other.exact_tag ? (uint32_t)integer_at(other.keys[0], gone) : (uint32_t)hash;
    const unsigned long long *const slots = (const unsigned long long *)other.entries;
    uint64_t slot = (hash >> 32) & other.mask;
    for (uint64_t probes = 0; probes <= other.mask; ++probes, slot = (slot + 1) & other.mask) {
        const unsigned long long found = slots[slot];
        if (found == 0)
            return false;
        if ((uint32_t)(found >> 32) == tag &&
            (other.exact_tag || same_columns(a, (uint32_t)found - 1, gone, 0, other.nkeys)))
            return drop_of_chain(a, gone, (uint32_t)found);
    }
    return false;
}

extern "C" __global__ void drop_rows(const RowsArgument a) {
    bool found = true;
    for (uint64_t row = first_index(); row < a.gone_rows; row += index_step()) {
        if (a.table.kind == 0) {
            found &= drop_packed(a, row);
        } else if (a.table.kind == 2) {
            found &= drop_hashed(a, row);
        } else {
            uint64_t number;
            found &= number_of(a, row, number) && drop_of_chain(a, row, ((const uint32_t *)a.table.entries)[number]);
        }
    }
    if (!found)
        atomicOr(a.table.status, status_no_such_row);
}

// Row `from` of a table that has rows.
__device__ __forceinline__ void copy_row(const RowsArgument &a, uint64_t from, uint64_t to) {
    for (uint32_t c = 0; c < a.ncolumns; ++c) {
        const FlatColumn &in = a.own[c], &out = a.left[c];
        if (out.nulls)
            const_cast<uint8_t *>(out.nulls)[to] = is_null(in, from);
        void *const values = const_cast<void *>(out.values);
        if (in.type == 4)
            ((sem::i128 *)values)[to] = value_at<sem::i128>(in, from);
        else if (in.type == 6)
            ((uint64_t *)values)[to] = value_at<uint64_t>(in, from);
        else if (in.type == 5)
            ((uint32_t *)values)[to] = value_at<uint32_t>(in, from);
        else
            store_integer(values, in.type, to, integer_at(in, from), 0);
    }
}

// The row that a packed entry was.
__device__ __forceinline__ void unpack_row(const RowsArgument &a, uint64_t number, uint64_t entry, uint64_t to) {
    for (uint32_t i = 0; i < a.table.nkeys; ++i) {
        const uint64_t part = number / a.table.stride[i] % a.values[i];
        store_integer(const_cast<void *>(a.left[i].values), a.left[i].type, to, (int64_t)(a.table.min[i] + part), 0);
    }
    for (uint32_t i = 0; i < a.table.npayload; ++i) {
        const FlatColumn &out = a.left[a.table.nkeys + i];
        const uint64_t field = (entry - 1) >> a.table.shift[i] & a.masks[i];
        const bool null = (a.any_null >> i & 1) && field == 0;
        if (out.nulls)
            const_cast<uint8_t *>(out.nulls)[to] = null;
        store_integer(const_cast<void *>(out.values), out.type, to, null ? 0 : (int64_t)(field + a.table.bias[i]), 0);
    }
}

extern "C" __global__ void keep_rows(const RowsArgument a) {
    const uint32_t lane = threadIdx.x & 31;
    const uint64_t end = (a.rows + 31) / 32 * 32; // (warps stay together)
    for (uint64_t row = first_index(); row < end; row += index_step()) {
        uint64_t entry = 1;
        if (a.table.kind == 0 && row < a.rows)
            entry = packed_entry(a.table.entries, a.table.entry_bytes, row);
        const bool stays = row < a.rows && entry != 0 && !is_claimed(a.dropped, row);
        const uint32_t all = __ballot_sync(0xffffffffu, stays);
        unsigned long long first = 0;
        if (lane == 0 && all)
            first = atomicAdd(a.counter, (unsigned long long)__popc((int)all));
        first = __shfl_sync(0xffffffffu, first, 0);
        if (!stays)
            continue;
        const uint64_t to = first + (uint32_t)__popc((int)(all & ((1u << lane) - 1)));
        if (a.table.kind == 0)
            unpack_row(a, row, entry, to);
        else
            copy_row(a, row, to);
    }
}

#endif

} // namespace tables
} // namespace gpuscan
