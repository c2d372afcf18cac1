// The list of reasons of one call of the planner; only hooks.cpp begins and ends one.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct RefusalState {
    List *reasons; // of char *
    int count;     // refusals, told or not
    MemoryContext context;
};

// Makes `state` the current one and returns the one before, which refusals_end takes back.
RefusalState *refusals_begin(RefusalState *state);
void refusals_end(RefusalState *outer);

// How many refusals there were since refusals_begin.
int refusals_count();

} // namespace gpuscan
