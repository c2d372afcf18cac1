// Refusals: collects why a query stays on PostgreSQL, and tells each reason once per planned query.
//
// Reasons live in a list that hooks.cpp starts anew for every call of the planner (nested calls have lists of their own,
// see refusals_begin). Formatting costs more than planning some queries, so it is skipped when nobody would see it.
#include "pg/pg.h"

#include "pg/plan/refusal.h"

#include "pg/guc.h"
#include "pg/plan/refusal_state.h"

namespace gpuscan {

static RefusalState *current = nullptr;

RefusalState *refusals_begin(RefusalState *state) {
    RefusalState *outer = current;
    state->reasons = NIL;
    state->count = 0;
    state->context = CurrentMemoryContext;
    current = state;
    return outer;
}

void refusals_end(RefusalState *outer) {
    current = outer;
}

int refusals_count() {
    return current != nullptr ? current->count : 0;
}

bool refuse(const char *format, ...) {
    if (current == nullptr)
        return false;
    ++current->count;
    if (!guc_explain_refusals && !message_level_is_interesting(DEBUG2))
        return false;

    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);

    ListCell *cell;
    foreach (cell, current->reasons)
        if (strcmp(static_cast<const char *>(lfirst(cell)), reason) == 0)
            return false;
    MemoryContext before = MemoryContextSwitchTo(current->context);
    current->reasons = lappend(current->reasons, pstrdup(reason));
    MemoryContextSwitchTo(before);
    ereport(guc_explain_refusals ? NOTICE : DEBUG2, (errmsg("gpuscan: %s", reason)));
    return false;
}

} // namespace gpuscan
