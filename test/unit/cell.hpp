// One value of any type, as tests compute with it and as rows hold it.
#pragma once

#include <cstring>

#include "engine/ir/types.hpp"

namespace gpuscan::test {

struct Cell {
    bool null = false;
    int128 i = 0;
    double f = 0;
};

// As a column of this type holds it.
inline void store(const Cell &cell, Type type, uint8_t *to) {
    with_type(type, [&](auto one) {
        one = is_float(type) ? static_cast<decltype(one)>(cell.f) : static_cast<decltype(one)>(cell.i);
        memcpy(to, &one, sizeof one);
    });
}

} // namespace gpuscan::test
