// The values of a build side's columns (see build_values.hpp).
#include "host/build_values.hpp"

namespace gpuscan::host {

namespace {

template <class T> Bounds bounds_of(const uint8_t *values, const uint8_t *nulls, size_t n) {
    const T *x = reinterpret_cast<const T *>(values);
    size_t i = 0;
    while (i < n && nulls != nullptr && nulls[i])
        ++i;
    if (i == n)
        return {};
    T min = x[i], max = x[i];
    for (; i < n; ++i) {
        const bool skip = nulls != nullptr && nulls[i];
        min = !skip && x[i] < min ? x[i] : min;
        max = !skip && x[i] > max ? x[i] : max;
    }
    return {static_cast<int128>(min), static_cast<int128>(max)};
}

template <class T, class S>
void store(const uint8_t *values, size_t n, int64_t low, const uint32_t *place, uint8_t *out) {
    const T *x = reinterpret_cast<const T *>(values);
    S *to = reinterpret_cast<S *>(out);
    const T minus = static_cast<T>(static_cast<int128>(low));
    if (place == nullptr)
        for (size_t i = 0; i < n; ++i)
            to[i] = static_cast<S>(static_cast<T>(x[i] - minus));
    else
        for (size_t i = 0; i < n; ++i)
            to[place[i]] = static_cast<S>(static_cast<T>(x[i] - minus));
}

template <class T>
void store_as(size_t stored, const uint8_t *values, size_t n, int64_t low, const uint32_t *place, uint8_t *out) {
    switch (stored) {
    case 1:
        return store<T, uint8_t>(values, n, low, place, out);
    case 2:
        return store<T, uint16_t>(values, n, low, place, out);
    case 4:
        return store<T, uint32_t>(values, n, low, place, out);
    case 8:
        return store<T, uint64_t>(values, n, low, place, out);
    default:
        return store<T, uint128>(values, n, low, place, out);
    }
}

} // namespace

Bounds bounds_of(Type type, const uint8_t *values, const uint8_t *nulls, size_t n) {
    switch (type) {
    case Type::Bool:
        return bounds_of<uint8_t>(values, nulls, n);
    case Type::I16:
        return bounds_of<int16_t>(values, nulls, n);
    case Type::I32:
        return bounds_of<int32_t>(values, nulls, n);
    case Type::I64:
        return bounds_of<int64_t>(values, nulls, n);
    case Type::I128:
        return bounds_of<int128>(values, nulls, n);
    case Type::Code:
        return bounds_of<uint32_t>(values, nulls, n);
    default:
        return {};
    }
}

void store_values(size_t width, size_t stored, const uint8_t *values, size_t n, int64_t low, const uint32_t *place,
                  uint8_t *out) {
    switch (width) {
    case 1:
        return store_as<uint8_t>(stored, values, n, low, place, out);
    case 2:
        return store_as<uint16_t>(stored, values, n, low, place, out);
    case 4:
        return store_as<uint32_t>(stored, values, n, low, place, out);
    case 8:
        return store_as<uint64_t>(stored, values, n, low, place, out);
    default:
        return store_as<uint128>(stored, values, n, low, place, out);
    }
}

} // namespace gpuscan::host
