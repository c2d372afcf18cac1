// Variances and standard deviations of integers and numerics.
#pragma once

#include "pg/pg.h"

#include "engine/ir/ir.hpp"
#include "pg/fragment/fragment.h"

namespace gpuscan {

// var_pop, var_samp, stddev_pop or stddev_samp (`kind`) of `count` > 0 values of `scale` decimals, of which the last ones are zeros beyond
// those that the value has which is shown with the most of them: `shown`.
Datum variance_of(OutputKind kind, int64 count, Datum sum, Datum squares, int32 scale, int32 shown, bool *null);

} // namespace gpuscan
