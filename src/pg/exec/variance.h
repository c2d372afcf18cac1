// Variances and standard deviations of integers and numerics.
#pragma once

#include "pg/pg.h"

#include "engine/ir/ir.hpp"
#include "pg/fragment/fragment.h"

namespace gpuscan {

// var_pop, var_samp, stddev_pop or stddev_samp (`kind`) of `count` > 0 values of `scale` decimals.
Datum variance_of(OutputKind kind, int64 count, int128 sum, int128 squares, int32 scale, bool *null);

} // namespace gpuscan
