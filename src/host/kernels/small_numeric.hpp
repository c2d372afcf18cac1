// Numerics of up to four base-10000 digits, without a branch and without a division.
//
// A column's values are integers times 10^-scale. With f = ceil(scale / 4) digits behind the point they are whole numbers of
// 10^-(4 f), which up to four digits are one word of memory, moved so that each digit stands where its weight is:
//
//     bits     0..15     16..31    32..47   48..63
//     counts   10^12     10^8      10^4     1         times 10^-(4 f); the first digit comes first
//     value    ((d0 * 10^4 + d1) * 10^8 + d2 * 10^4 + d3) / 10^pad    with pad = 4 f - scale in 0 .. 3
//
// and the division, of which nothing may remain, is one of the lower pair alone, because 10^pad divides 10^8: a multiplication
// by the reciprocal, rounded up (Granlund, Montgomery: "Division by invariant integers using multiplication", PLDI 1994). It is too
// large by less than 10^pad / 2^shift, which for pairs below 10^8 does not reach the next integer.
//
// The kernels (kernels.hpp) have a loop over values, with AVX2 four at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/heap_page.cuh"

namespace gpuscan {

struct SmallNumeric {
    uint32_t header = 0; // of such a value, but for its sign and weight: bits 10, 6 bits of scale, 7 bits of weight
    uint32_t header_bits = 0xdf80;      // what of a value's header must be that; of mixed scales not the scale
    uint32_t behind = 0;                // f
    uint32_t divisor = 1, upper = 0;    // 10^pad, 10^(8 - pad)
    uint32_t reciprocal = 0, shift = 0; // lower / divisor = lower * reciprocal >> shift

    // Of a column of values times 10^scale.
    explicit SmallNumeric(int32_t scale, bool mixed = false) {
        if (scale < 0 || scale > 63)
            return; // no short header has it
        static constexpr uint32_t power[4] = {1, 10, 100, 1000}, precise[4] = {0, 34, 37, 37};
        header = mixed ? 0x8000 : 0x8000 | static_cast<uint32_t>(scale) << 7;
        header_bits = mixed ? 0xc000 : 0xdf80;
        behind = (static_cast<uint32_t>(scale) + 3) / 4;
        const uint32_t pad = (0 - static_cast<uint32_t>(scale)) & 3;
        divisor = power[pad];
        upper = 100000000 / divisor;
        shift = precise[pad];
        reciprocal = static_cast<uint32_t>(((uint64_t(1) << shift) + divisor - 1) / divisor);
    }

    // What decode_numeric() (heap_page.cuh) says of page[start, start + length), if the answer is 0; else `value` is anything: ask
    // that. Reads up to 10 bytes from `start` on. Nothing is decided by a branch, so that a loop over values has many under way.
    uint64_t decode(const uint8_t *page, uint32_t start, uint32_t length, int64_t &value) const {
        static constexpr uint64_t kept[5] = {0, 0xffff, 0xffffffff, 0xffffffffffff, 0xffffffffffffffff};
        const uint32_t head = heap::load16(page, start);
        const uint32_t digits = (length - 2) / 2;
        const uint32_t first = (head & 0x3f) - (head & 0x40) + behind; // weight of the first digit, modulo 2^32
        const uint64_t stored = heap::load64(page, start + 2) & kept[std::min(digits, 4u)];
        const uint64_t word = stored << (16 * (3 - first) & 63);
        const uint64_t above_9999 = ((word & 0x7fff7fff7fff7fff) + 0x58f058f058f058f0) | word; // in the top bits of 16
        const uint64_t pairs = (word & 0x0000ffff0000ffff) * 10000 + (word >> 16 & 0x0000ffff0000ffff);
        const uint64_t lower = pairs >> 32, quotient = lower * reciprocal >> shift;
        const uint64_t sum = (pairs & 0xffffffff) * upper + quotient;
        const uint64_t sign = 0 - static_cast<uint64_t>(head >> 13 & 1);
        value = static_cast<int64_t>((sum ^ sign) - sign);
        return ((head & header_bits) ^ header) | (length & 1) | static_cast<uint32_t>(first > 3) |
               static_cast<uint32_t>(digits > first + 1) | (above_9999 & 0x8000800080008000) |
               (quotient * divisor ^ lower);
    }
};

} // namespace gpuscan
