// How many bits have groups and the values of DISTINCT aggregates, if a device has one for each?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Bytes, by statistics; HUGE_VAL: some value has no small number, or nothing is known of its bounds. Keys and arguments: of Expr *.
double distinct_bits(PlannerInfo *root, const List *keys, const List *arguments, double rows);

} // namespace gpuscan
