// The reasons of one call of the planner; only statement.cpp begins and ends one.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct RefusalState {
    List *refusals; // of Refusal *
    const void *level;
    MemoryContext context;
    bool held; // what is told waits for refusals_release
};

// Makes `state` the current one and returns the one before, which refusals_end takes back.
RefusalState *refusals_begin(RefusalState *state);
void refusals_end(RefusalState *outer);

// The query level (a PlannerInfo) that the following refusals belong to.
void refusals_level(const void *level);

// The level has no device path: tells its reasons, or `otherwise` (if not NULL) if there is none.
void refusals_tell(const char *otherwise);

// Tells what was held, once it is known that this is the plan.
void refusals_release(RefusalState *state);

// The level has one.
void refusals_forget();

} // namespace gpuscan
