// From the records of groups to columns, one for each field that a later program reads: a key, a count, a finished aggregate.
//
// What cuda/group_values.cpp does on the host for groups that the backend gets. A record is the key's words, the entry of the group table, and
// where groups have numbers the group's (gather_groups.cuh). The structure is filled by the host (cuda/group_columns.cpp).
#pragma once

#include "device/column.cuh"
#include "device/status.cuh"

namespace gpuscan {
namespace group_columns {

// What a field's words are.
enum class Field : uint32_t {
    Part,     // of the group's number or code: a key
    Key,      // one word, a value as it is
    WideKey,  // two
    Count,    // one word
    Narrow,   // a sum in one word
    Halves,   // in two that carry 32 bits
    Digits,   // in four
    Double,   // of floats, and a word that says how many were infinite or -0.0
    Largest,  // an order-preserving code
    Smallest, // its complement
    Bits,     // of bit_or and bit_xor
    Unset,    // the complement, of bit_and
};

struct Argument {
    const uint64_t *records;
    uint64_t groups;
    uint32_t record_words;
    uint32_t rows;      // the word that counts the group's rows
    uint32_t word;      // the field's first; of Part the number
    uint32_t counted;   // the word that counts its values; 0 of them: NULL
    uint32_t null_word; // where a bit says that a key is NULL, none: no_word
    uint32_t null_bit;
    Field field;
    uint32_t from_type, type; // of the value, of the column: engine/ir/types.hpp's Type
    uint32_t refused;         // engine/ir/ir.hpp: refuse_infinite, refuse_zero
    uint64_t factor, modulus; // of Part
    sem::i128 least;          // likewise
    uint32_t nullable;        // likewise
    uint32_t averages;        // a sum of floats by its count
    sem::i128 limit;          // 0, or what integers stay below
    void *values;
    uint8_t *nulls; // null pointer: no value is NULL
    uint32_t *status;
};
constexpr uint32_t no_word = 0xffffffffu;

#ifdef __CUDACC__

__device__ __forceinline__ double float_of(uint64_t bits) { return __longlong_as_double((long long)bits); }

// The value of an order-preserving code (runtime.cuh: order_word).
__device__ __forceinline__ sem::i128 decoded(const Argument &a, const uint64_t *v) {
    const bool smallest = a.field == Field::Smallest;
    if (a.from_type == 4) { // behind a lock word
        const uint64_t high = (smallest ? ~v[1] : v[1]) ^ (1ULL << 63), low = smallest ? ~v[2] : v[2];
        return (sem::i128)((sem::u128)high << 64 | low);
    }
    const uint64_t code = smallest ? ~v[0] : v[0];
    if (a.from_type == 5 || a.from_type == 6) // bits of a double
        return (sem::i128)(sem::u128)(code >> 63 ? code & ~(1ULL << 63) : ~code);
    return a.from_type == 0 || a.from_type == 7 ? (sem::i128)(sem::u128)code
                                                : (sem::i128)(int64_t)(code ^ (1ULL << 63));
}

__device__ __forceinline__ sem::i128 integer_of(const Argument &a, const uint64_t *record, int &error) {
    const uint64_t *const v = record + a.word;
    switch (a.field) {
    case Field::Part: {
        const uint64_t field = (v[0] & ~(1ULL << 63)) / a.factor % a.modulus;
        return a.least + (sem::i128)field - (a.nullable ? 1 : 0);
    }
    case Field::WideKey:
        return (sem::i128)((sem::u128)v[1] << 64 | v[0]);
    case Field::Halves:
        return (sem::i128)(sem::u128)v[0] + (sem::i128)(int64_t)v[1] * ((sem::i128)1 << 32);
    case Field::Digits: {
        const uint64_t middle = v[1] + (v[0] >> 32), upper = v[2] + (middle >> 32);
        const sem::i128 top = (sem::i128)(int64_t)v[3] + (upper >> 32);
        error |= top != (int32_t)top; // more than 128 bits
        return (sem::i128)((sem::u128)top << 96 | (sem::u128)(uint32_t)upper << 64 | (uint64_t)(middle << 32) |
                           (uint32_t)v[0]);
    }
    case Field::Largest:
    case Field::Smallest:
        return decoded(a, v);
    case Field::Unset:
        return (int64_t)~v[0];
    default:
        return (int64_t)v[0];
    }
}

__device__ __forceinline__ double sum_of_floats(const Argument &a, const uint64_t *record, int &error) {
    const uint64_t *const v = record + a.word, count = record[a.counted];
    double sum = float_of(v[0]);
    error |= sum - sum != 0 && v[1] >> 44 == 0; // runtime.cuh: odd_value
    if (sum == 0 && v[1] == count)
        sum = -0.0; // it began with 0.0, but nothing but -0.0 was added
    return sum;
}

__device__ __forceinline__ void put_float(const Argument &a, const uint64_t *record, uint64_t i, int &error) {
    double value =
        a.field == Field::Double ? sum_of_floats(a, record, error) : float_of((uint64_t)integer_of(a, record, error));
    error |= (a.refused & 1) && sem::is_inf(value);
    error |= (a.refused & 2) && value == 0;
    if (a.averages)
        value = (value + 0.0) / (double)record[a.counted];
    if (a.type == 5)
        ((float *)a.values)[i] = (float)value;
    else
        ((double *)a.values)[i] = value;
}

__device__ __forceinline__ void put_value(const Argument &a, const uint64_t *record, uint64_t i, int &error) {
    const bool key = a.field == Field::Part || a.field == Field::Key; // of floats the bits
    if (key && a.type == 5) {
        ((uint32_t *)a.values)[i] = (uint32_t)integer_of(a, record, error);
        return;
    }
    if (key && a.type == 6) {
        ((uint64_t *)a.values)[i] = (uint64_t)integer_of(a, record, error);
        return;
    }
    if (a.type == 5 || a.type == 6)
        return put_float(a, record, i, error);
    error |= !store_integer(a.values, a.type, i, integer_of(a, record, error), a.limit);
}

__device__ __forceinline__ bool null_of(const Argument &a, const uint64_t *record) {
    if (a.field == Field::Part)
        return a.nullable && (record[a.word] & ~(1ULL << 63)) / a.factor % a.modulus == 0;
    if (a.field == Field::Key || a.field == Field::WideKey)
        return a.null_word != no_word && (record[a.null_word] >> a.null_bit & 1);
    return a.field != Field::Count && record[a.counted] == 0;
}

__device__ __forceinline__ void put_null(const Argument &a, uint64_t i) {
    if (a.type == 5)
        ((float *)a.values)[i] = 0;
    else if (a.type == 6)
        ((double *)a.values)[i] = 0;
    else
        store_integer(a.values, a.type, i, 0, 0);
}

extern "C" __global__ void group_column(const Argument a) {
    for (uint64_t i = first_index(); i < a.groups; i += index_step()) {
        const uint64_t *const record = a.records + i * a.record_words;
        const bool null = null_of(a, record);
        int error = record[a.rows] >> 32 != 0; // parts of sums have 32 bits
        if (a.nulls)
            a.nulls[i] = null;
        if (null)
            put_null(a, i);
        else
            put_value(a, record, i, error);
        if (error)
            atomicOr(a.status, status_row_error);
    }
}

#endif

} // namespace group_columns
} // namespace gpuscan
