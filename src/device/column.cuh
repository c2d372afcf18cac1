// A column whose values lie one after the other, each as wide as its type, and reading it.
#pragma once

#include "device/semantics.cuh"

namespace gpuscan {

// `type` is engine/ir/types.hpp's Type.
struct FlatColumn {
    const void *values;
    const uint8_t *nulls; // null pointer: no NULLs
    uint32_t type;
    uint32_t unused;
};

#ifdef __CUDACC__

template <class T> __device__ __forceinline__ T value_at(const FlatColumn &column, uint64_t row) {
    return ((const T *)column.values)[row];
}

__device__ __forceinline__ bool is_null(const FlatColumn &column, uint64_t row) {
    return column.nulls && column.nulls[row];
}

// A value of at most 64 bits, sign-extended. Codes and Bool are unsigned.
__device__ __forceinline__ int64_t integer_at(const FlatColumn &column, uint64_t row) {
    switch (column.type) {
    case 0:
        return value_at<uint8_t>(column, row);
    case 1:
        return value_at<int16_t>(column, row);
    case 2:
        return value_at<int32_t>(column, row);
    case 3:
        return value_at<int64_t>(column, row);
    default:
        return value_at<uint32_t>(column, row);
    }
}

// A value of any integer type.
__device__ __forceinline__ sem::i128 wide_at(const FlatColumn &column, uint64_t row) {
    return column.type == 4 ? value_at<sem::i128>(column, row) : (sem::i128)integer_at(column, row);
}

template <class T> __device__ __forceinline__ bool store_as(void *values, uint64_t row, sem::i128 value) {
    ((T *)values)[row] = (T)value;
    return (sem::i128)(T)value == value;
}

// As a value of this type; false: it is none, or not below the limit (0: anything is).
__device__ __forceinline__ bool store_integer(void *values, uint32_t type, uint64_t row, sem::i128 value,
                                              sem::i128 limit) {
    const bool below = limit == 0 || (value < limit && value > -limit);
    switch (type) {
    case 0:
        return store_as<uint8_t>(values, row, value) && below;
    case 1:
        return store_as<int16_t>(values, row, value) && below;
    case 2:
        return store_as<int32_t>(values, row, value) && below;
    case 3:
        return store_as<int64_t>(values, row, value) && below;
    case 4:
        return store_as<sem::i128>(values, row, value) && below;
    default:
        return store_as<uint32_t>(values, row, value) && below;
    }
}

__device__ __forceinline__ double float_at(const FlatColumn &column, uint64_t row) {
    return column.type == 5 ? (double)value_at<float>(column, row) : value_at<double>(column, row);
}

__device__ __forceinline__ uint64_t first_index() { return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ uint64_t index_step() { return (uint64_t)gridDim.x * blockDim.x; }

#endif

} // namespace gpuscan
