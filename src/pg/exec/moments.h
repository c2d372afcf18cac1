// Variances, covariances and regressions of floating-point numbers, from the device's sums.
#pragma once

#include "pg/pg.h"

#include "engine/ir/ir.hpp"
#include "pg/fragment/fragment.h"

namespace gpuscan {

// PostgreSQL's transition values: the count, the sums, and the sums of squares and products of the distances to the mean.
struct Moments {
    double n, x, xx, y, yy, xy;
};

// Those of an output over the states of one group, of which more than none was counted. False with a reason: PostgreSQL's own
// values are made of rounding errors alone and cannot be told from the sums.
bool moments_of(const FragmentOutput *output, const ir::AggregateState *states, Moments *out, const char **reason);

// The aggregate's result.
Datum show_moments(const FragmentOutput *output, const Moments *moments, bool *null);

} // namespace gpuscan
