// The reasons of one call of the planner; only statement.cpp begins and ends one.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct RefusalState {
    List *refusals; // of Refusal *
    const PlannerInfo *level;
    MemoryContext context;
};

// Who is told the reasons of a statement (to: NULL: nobody).
struct RefusalListener {
    List **to;
    MemoryContext context;
};

// The statement that is planned now gets the listener that waits; those that are planned meanwhile, for functions, get none. Returns
// the one of before, which refusals_end_statement takes back.
RefusalListener refusals_begin_statement();
void refusals_end_statement(RefusalListener outer);

// Makes `state` the current one and returns the one before, which refusals_end takes back.
RefusalState *refusals_begin(RefusalState *state);
void refusals_end(RefusalState *outer);

// The query level that the following refusals belong to.
void refusals_level(const PlannerInfo *level);

// The level has no device path: its reasons count.
void refusals_tell();

// The level has one, or what was refused was only one way to it.
void refusals_forget();

// Tells the reasons, once it is known that this is the plan. Returns whether there are any.
bool refusals_release(const RefusalState *state);

// Tells why no part of the statement can run on a device.
void refuse_statement(const char *reason, const char *change);

} // namespace gpuscan
