// Bounds of an expression's value, by interval arithmetic over the bounds of what it reads.
//
// Bounds decide the form of things, never a result: whether a group number can be computed from the keys, and whether
// 64 bits hold a sum. An unknown bound is always allowed.
#pragma once

#include <functional>

#include "engine/ir/program.hpp"

namespace gpuscan {

struct ValueRange {
    bool known = false;
    int128 min = 0; // of the values that are not NULL
    int128 max = 0;

    static ValueRange of(int128 min, int128 max) {
        ValueRange r;
        r.known = true;
        r.min = min;
        r.max = max;
        return r;
    }
};

// `column` and `lookup` answer for Op::Column nodes and for the entries of a lookup.
struct RangeSources {
    std::function<ValueRange(ir::Index step, ir::Index column)> column;
    std::function<ValueRange(ir::Index lookup)> lookup;
};

ValueRange value_range(const Program &program, ir::Index expr, const RangeSources &sources);

// Of what a function gives for an argument within `a`.
ValueRange call_range(ir::Function function, const ValueRange &a);

} // namespace gpuscan
