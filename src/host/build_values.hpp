// The values of a build side's columns: between which bounds they lie, and storing them in as few bytes as that takes.
#pragma once

#include "device/semantics.cuh"
#include "engine/ir/types.hpp"

namespace gpuscan::host {

struct Bounds {
    int128 min = sem::Limits<int128>::max, max = sem::Limits<int128>::min;
    void add(Bounds o) {
        min = o.min < min ? o.min : min;
        max = o.max > max ? o.max : max;
    }
};

// Of n values that are not NULL (integers, Bool, Code; floats have none).
Bounds bounds_of(Type type, const uint8_t *values, const uint8_t *nulls, size_t n);

// Narrows values of `width` bytes to `stored` into their places: out[place[i]] = value - low; without `place`, out[i].
void store_values(size_t width, size_t stored, const uint8_t *values, size_t n, int64_t low, const uint32_t *place,
                  uint8_t *out);

} // namespace gpuscan::host
