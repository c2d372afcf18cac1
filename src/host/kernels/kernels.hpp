// The inner loops of the host device: one operation over a whole vector.
//
// Compiled once per instruction set from kernels_body.hpp (base, AVX2, AVX-512); kernels() picks at run time. A constant
// operand is not broadcast. Operations that can meet an SQL error answer non-zero if a row that is not NULL met one.
#pragma once

#include <cstddef>

#include "engine/ir/ir.hpp"
#include "host/batch.hpp"
#include "host/kernels/small_numeric.hpp"

namespace gpuscan::host {

struct Kernels {
    const char *name;
    // out[i] = a op b (Add..Mod); `nulls` of the result, may be nullptr.
    int (*arithmetic)(ir::Op op, Type type, size_t n, Vec a, Vec b, const uint8_t *nulls, void *out);
    int (*negate)(Type type, size_t n, const void *a, const uint8_t *nulls, void *out);
    int (*cast)(Type from, Type to, size_t n, const void *a, const uint8_t *nulls, void *out);
    // `b` of a function of one: anything.
    int (*call)(ir::Function function, size_t n, Vec a, Vec b, const uint8_t *nulls, void *out);
    void (*compare)(ir::Op op, Type type, size_t n, Vec a, Vec b, uint8_t *out);
    // Three-valued And, Or over vectors that are not constant.
    void (*logic)(ir::Op op, size_t n, Vec a, Vec b, uint8_t *out, uint8_t *out_nulls);
    void (*either)(size_t n, const uint8_t *a, const uint8_t *b, uint8_t *out);  // a | b
    void (*both)(size_t n, const uint8_t *a, const uint8_t *b, uint8_t *out);    // a & b
    void (*and_not)(size_t n, const uint8_t *a, const uint8_t *b, uint8_t *out); // a & ~b (0 or 1 each)
    void (*invert)(size_t n, const uint8_t *a, uint8_t *out);                    // !a
    // out[i] = bit i of the words; n may be rounded up to 64.
    void (*expand)(size_t n, const uint64_t *words, uint8_t *out);
    // The positions i with truth[i] and not nulls[i] (may be nullptr), in order.
    uint32_t (*select)(uint32_t n, const uint8_t *truth, const uint8_t *nulls, uint32_t *positions);
    // out[i] = from[at[i]] for values of `width` bytes; out may be at or from when width is 4 and at[i] >= i.
    void (*gather)(size_t width, size_t n, const void *from, const uint32_t *at, void *out);
    // The same with narrow storage: out[i] = low + from[at[i]], `stored` bytes each widened to `width`; at may be nullptr:
    // consecutive rows.
    void (*gather_narrow)(size_t width, size_t stored, size_t n, const void *from, int64_t low, const uint32_t *at,
                          void *out);
    // Keys (integer, Bool, Code) whose bit `key - min` is set, for keys in [min, min + domain) that are not NULL.
    uint32_t (*probe_bitmap)(Type type, uint32_t n, const void *keys, const uint8_t *nulls, int64_t min,
                             uint64_t domain, const uint32_t *bitmap, uint32_t *positions, uint32_t *slots);
    // packed[i] += (key[i] - min) * stride; invalid[i] |= key[i] outside of [min, max] or NULL.
    void (*pack_key)(Type type, size_t n, const void *keys, const uint8_t *nulls, int64_t min, int64_t max,
                     uint64_t stride, uint64_t *packed, uint8_t *invalid);
    // ids[i] += (key[i] - min or, for NULL, null_index) * stride; answers 0 if a key was outside of [min, max].
    bool (*group_index)(Type type, size_t n, const void *keys, const uint8_t *nulls, int64_t min, int64_t max,
                        uint32_t null_index, uint32_t stride, uint32_t *ids);
    // The sum of n <= batch_rows values, those under a NULL left out.
    int128 (*sum)(Type type, size_t n, const void *values, const uint8_t *nulls);
    double (*sum_double)(size_t n, const double *values, const uint8_t *nulls);
    size_t (*count)(size_t n, const uint8_t *flags); // how many are 1
    // Numerics in page[at[i], at[i] + lengths[i]), 10 bytes behind each of which may be read, and their bounds: if the answer is 0,
    // all of them are what SmallNumeric::decode() makes of them, else at least one is not for that.
    uint64_t (*small_numerics)(const SmallNumeric &format, const uint8_t *page, uint32_t n, const uint32_t *at,
                               const uint32_t *lengths, int64_t *values, int64_t *least, int64_t *most);
};

const Kernels &kernels();

} // namespace gpuscan::host
