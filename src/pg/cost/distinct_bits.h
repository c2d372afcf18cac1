// What would a device note of the values of DISTINCT aggregates?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// By statistics; HUGE_VAL: some value has no small number, or nothing is known of its bounds. Keys and arguments: of Expr *.
struct NotedValues {
    double numbers; // of groups
    double bits;    // bytes: a bit for each group and value
};
NotedValues noted_values(PlannerInfo *root, const List *keys, const List *arguments, double rows);

} // namespace gpuscan
