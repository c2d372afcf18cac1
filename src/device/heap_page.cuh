// How to read a heap page: line pointers, tuples, attributes and the values in them, for host and device decoders.
//
// The page may hold any bytes at all. Every function works on offsets into the page, checks them against `limit` (the
// end of the tuple, at most 8192) before it reads, and answers false or a status where something does not fit. The
// page must not change meanwhile: a decoder first takes a copy (8 KB in L1, or in shared memory on a GPU), so that what
// was checked is what is used.
//
// Formats: bufpage.h, itemid.h, htup_details.h, tupmacs.h, varatt.h and numeric.c of PostgreSQL 15 to 18, little-endian.
//
//     page:  header 24 bytes (pd_lower at 12) | line pointers, 4 bytes each | ... | tuples
//     tuple: header (t_infomask2 at 18, t_infomask at 20, t_hoff at 22, NULL bitmap at 23) | attributes from t_hoff
#pragma once

#include "device/semantics.cuh"

namespace gpuscan {
namespace heap {

constexpr uint32_t bytes_per_page = 8192;
constexpr uint32_t page_header = 24;
constexpr uint32_t max_line_pointers = 291; // MaxHeapTuplesPerPage
constexpr uint32_t lp_normal = 1;
constexpr uint32_t tuple_header = 23;

// ---- loads; the offset was checked by the caller ----

#ifdef __CUDACC__
GPUSCAN_HD uint32_t load16(const uint8_t *page, uint32_t at) { return page[at] | (uint32_t)page[at + 1] << 8; }
GPUSCAN_HD uint32_t load32(const uint8_t *page, uint32_t at) { return load16(page, at) | load16(page, at + 2) << 16; }
GPUSCAN_HD uint64_t load64(const uint8_t *page, uint32_t at) {
    return load32(page, at) | (uint64_t)load32(page, at + 4) << 32;
}
#else
GPUSCAN_HD uint32_t load16(const uint8_t *page, uint32_t at) {
    uint16_t v;
    memcpy(&v, page + at, sizeof(v));
    return v;
}
GPUSCAN_HD uint32_t load32(const uint8_t *page, uint32_t at) {
    uint32_t v;
    memcpy(&v, page + at, sizeof(v));
    return v;
}
GPUSCAN_HD uint64_t load64(const uint8_t *page, uint32_t at) {
    uint64_t v;
    memcpy(&v, page + at, sizeof(v));
    return v;
}
#endif

// ---- line pointers ----

// How many line pointers the page has; 0 when its header makes no sense.
GPUSCAN_HD uint32_t line_pointer_count(const uint8_t *page) {
    uint32_t lower = load16(page, 12);
    if (lower < page_header || lower > bytes_per_page)
        return 0;
    uint32_t count = (lower - page_header) / 4;
    return count <= max_line_pointers ? count : 0;
}

struct LinePointer {
    uint32_t offset, flags, length;
};

// Line pointer `index`, counted from 0 and below line_pointer_count().
GPUSCAN_HD LinePointer line_pointer(const uint8_t *page, uint32_t index) {
    uint32_t bits = load32(page, page_header + 4 * index);
    return {bits & 0x7fff, (bits >> 15) & 3, bits >> 17};
}

// ---- tuples ----

struct Tuple {
    uint32_t base;       // where the attributes start
    uint32_t limit;      // where the tuple ends
    uint32_t nulls;      // where the NULL bitmap starts, 0: no NULL in this tuple
    uint32_t attributes; // how many it holds; those beyond have their default (ALTER TABLE ADD COLUMN)
};

GPUSCAN_HD bool open_tuple(const uint8_t *page, LinePointer pointer, Tuple &tuple) {
    uint32_t end = pointer.offset + pointer.length;
    if (pointer.flags != lp_normal || pointer.offset < page_header || pointer.length < tuple_header ||
        end > bytes_per_page)
        return false;
    uint32_t hoff = page[pointer.offset + 22];
    tuple.attributes = load16(page, pointer.offset + 18) & 0x07ff;
    bool has_nulls = load16(page, pointer.offset + 20) & 0x0001;
    if (hoff < tuple_header + (has_nulls ? (tuple.attributes + 7) / 8 : 0) || hoff > pointer.length)
        return false;
    tuple.base = pointer.offset + hoff;
    tuple.limit = end;
    tuple.nulls = has_nulls ? pointer.offset + tuple_header : 0;
    return true;
}

// Is attribute `index` (from 0, below tuple.attributes) NULL? A set bit means that it is not.
GPUSCAN_HD bool is_null(const uint8_t *page, const Tuple &tuple, uint32_t index) {
    return tuple.nulls != 0 && !(page[tuple.nulls + index / 8] >> (index % 8) & 1);
}

// ---- attributes ----

// Where an attribute lies: [at, next) of the page.
struct Place {
    uint32_t at, next;
};

GPUSCAN_HD uint32_t align_up(uint32_t offset, uint32_t align) { return (offset + align - 1) & ~(align - 1); }

// Bytes that the varlena at `at` takes, header included; 0 when it makes no sense. VARSIZE_ANY of varatt.h.
GPUSCAN_HD uint32_t varlena_size(const uint8_t *page, uint32_t at, uint32_t limit) {
    if (at >= limit)
        return 0;
    uint32_t first = page[at];
    if (first == 0x01) // external: only the on-disk toast pointer (tag 18, 16 bytes) belongs on a page
        return at + 1 < limit && page[at + 1] == 18 ? 18 : 0;
    if (first & 0x01)
        return first >> 1;
    if (at + 4 > limit)
        return 0;
    uint32_t size = load32(page, at) >> 2;
    return size >= 4 ? size : 0;
}

// Finds an attribute that is not NULL and starts at or after tuple.base + `offset`. attlen and align as in pg_attribute.
// Alignment counts from tuple.base. A varlena with a short header stands unaligned; padding bytes are zero, so a byte
// that is not zero is the header itself (att_align_pointer of tupmacs.h).
GPUSCAN_HD bool find_attribute(const uint8_t *page, const Tuple &tuple, uint32_t offset, int32_t attlen, uint32_t align,
                               Place &place) {
    uint32_t at = tuple.base + offset;
    if (attlen > 0) {
        at = tuple.base + align_up(offset, align);
        place = {at, at + (uint32_t)attlen};
        return place.next <= tuple.limit;
    }
    if (attlen == -1) {
        if (at >= tuple.limit)
            return false;
        if (page[at] == 0)
            at = tuple.base + align_up(offset, align);
        uint32_t size = varlena_size(page, at, tuple.limit);
        place = {at, at + size};
        return size != 0 && size <= tuple.limit - at;
    }
    if (attlen != -2)
        return false;
    at = tuple.base + align_up(offset, align);
    uint32_t end = at;
    while (end < tuple.limit && page[end] != 0)
        ++end;
    place = {at, end + 1};
    return end < tuple.limit;
}

// A uuid as an integer of the same order: its bytes as a number, from the middle of the range.
GPUSCAN_HD sem::i128 uuid_value(const uint8_t *page, uint32_t at) {
    sem::u128 number = 0;
    for (uint32_t i = 0; i < 16; ++i)
        number = number << 8 | page[at + i];
    return (sem::i128)(number ^ (sem::u128)1 << 127);
}

// An interval's fields, each at its place.
GPUSCAN_HD sem::i128 interval_value(const uint8_t *page, uint32_t at) {
    return (sem::i128)((sem::u128)load64(page, at + 8) << 64 | load64(page, at));
}

// The bytes inside a varlena found above.
enum class Varlena : uint8_t { Inline, Compressed, External };
GPUSCAN_HD Varlena varlena_bytes(const uint8_t *page, Place place, uint32_t &start, uint32_t &length) {
    uint32_t first = page[place.at];
    if (first == 0x01)
        return Varlena::External;
    if ((first & 0x03) == 0x02)
        return Varlena::Compressed;
    uint32_t header = first & 0x01 ? 1 : 4;
    start = place.at + header;
    length = place.next - place.at - header;
    return Varlena::Inline;
}

// ---- numeric ----

GPUSCAN_HD uint64_t power_of_ten(uint32_t exponent) { // up to 10^19; without a branch
    return (exponent & 1 ? 10u : 1u) * (uint64_t)(exponent & 2 ? 100u : 1u) * (exponent & 4 ? 10000u : 1u) *
           (exponent & 8 ? 100000000u : 1u) * (exponent & 16 ? 10000000000000000u : 1u);
}

// With how many digits after the point the numeric in page[start, start + length) is shown. False for NaN and infinities.
GPUSCAN_HD bool decode_numeric_scale(const uint8_t *page, uint32_t start, uint32_t length, int32_t &scale) {
    const uint32_t header = length < 2 ? 0xc000 : load16(page, start);
    scale = (int32_t)(header & 0x8000 ? (header & 0x1f80) >> 7 : header & 0x3fff);
    return (header & 0xc000) != 0xc000;
}

// The numeric in page[start, start + length) times 10^scale. False when that is not an exact integer of at most 127
// bits, for NaN and infinities, and, unless `mixed`, when the display scale is not `scale`.
// |value| = sum of digit[i] * 10000^(weight - i); so with f digits behind the point the scaled value is the integer of
// all digits times 10^(scale - 4 f), where a negative exponent takes zeros off the last digit.
GPUSCAN_HD bool decode_numeric(const uint8_t *page, uint32_t start, uint32_t length, int32_t scale, bool mixed,
                               sem::i128 &value) {
    if (length < 2 || scale < 0)
        return false;
    uint32_t header = load16(page, start);
    if ((header & 0xc000) == 0xc000) // NaN, Infinity, -Infinity
        return false;
    bool negative;
    int32_t dscale, weight;
    uint32_t first;
    if (header & 0x8000) { // short
        negative = header & 0x2000;
        dscale = (header & 0x1f80) >> 7;
        weight = (int32_t)(header & 0x3f) - (int32_t)(header & 0x40);
        first = 2;
    } else {
        if (length < 4)
            return false;
        negative = header & 0x4000;
        dscale = header & 0x3fff;
        weight = (int16_t)load16(page, start + 2);
        first = 4;
    }
    if ((dscale != scale && !mixed) || ((length - first) & 1))
        return false;
    int32_t ndigits = (int32_t)((length - first) / 2);
    if (ndigits == 0) {
        value = 0;
        return true;
    }
    uint32_t digits = start + first;
    int32_t drop = 4 * (ndigits - 1 - weight) - scale; // decimal digits that the last base-10000 digit has too many
    if (drop >= 4 || ndigits > 11 || drop < -44)
        return false;
    uint32_t last = load16(page, digits + 2 * (uint32_t)(ndigits - 1)), weight_of_last = 10000;
    if (last > 9999)
        return false;
    if (drop > 0) {
        const uint32_t divisor = (uint32_t)power_of_ten((uint32_t)drop);
        if (last % divisor)
            return false;
        last /= divisor;
        weight_of_last /= divisor;
    }
    uint64_t leading = 0; // of up to three digits, and then the last: below 10^16
    int32_t i = 0;
    for (; i < 3 && i < ndigits - 1; ++i) {
        uint32_t digit = load16(page, digits + 2 * (uint32_t)i);
        if (digit > 9999)
            return false;
        leading = leading * 10000 + digit;
    }
    int error = 0;
    sem::i128 sum = (sem::i128)leading;
    for (; i < ndigits - 1; ++i) {
        uint32_t digit = load16(page, digits + 2 * (uint32_t)i);
        if (digit > 9999)
            return false;
        sum = sem::add(sem::mul(sum, (sem::i128)10000, error), (sem::i128)digit, error);
    }
    if (ndigits <= 4) {
        leading = leading * weight_of_last + last;
        if (drop < 0 && drop > -4) { // (64 bits do)
            leading *= power_of_ten((uint32_t)-drop);
            drop = 0;
        }
        sum = (sem::i128)leading;
    } else {
        sum = sem::add(sem::mul(sum, (sem::i128)weight_of_last, error), (sem::i128)last, error);
    }
    while (drop < 0 && !error) {
        const int32_t zeros = drop > -18 ? -drop : 18;
        sum = sem::mul(sum, (sem::i128)power_of_ten((uint32_t)zeros), error);
        drop += zeros;
    }
    value = negative ? -sum : sum;
    return !error;
}

} // namespace heap
} // namespace gpuscan
