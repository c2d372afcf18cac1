// A correlated subquery is executed once for each row that asks, and the columns that the device lacks are brought once. How many
// executions there will be is not known when the subquery is planned. So its CPU plan answers the first ones, until they have taken as
// long as bringing the columns takes: the ski rental problem, whose classical answer takes at most twice what one who knows the number would
// (Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching", Algorithmica 3, 1988), and one execution more. Where that one
// is expected to take as long as bringing the columns, the device does it (fragment/path.cpp).
//
// What the CPU plan took in a statement that ends before that is noted as what columns in the cache would have saved
// (engine/store/admission_credits.hpp), so that a statement with few executions brings them when it comes often enough.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct GpuScanState;

struct CpuFirst {
    bool looked;       // at the plan and the cache: the rest is known
    double allowed_ns; // that the CPU plan may take; 0: the device answers
    double spent_ns;
    uint64 executions;
};

// Shall the CPU plan answer the execution that begins?
bool is_cpu_first(GpuScanState *state);

// The CPU plan's next row; its time is counted.
TupleTableSlot *next_of_cpu_first(GpuScanState *state);

void end_cpu_first(const GpuScanState *state); // with the node

} // namespace gpuscan
