// Refusals: why a query level stays on PostgreSQL.
//
// While a level is planned many things are tried, and most of what is refused on the way (a join in the wrong order)
// does not matter in the end. So reasons are noted per query level, told when the level is finished without a device
// path, and forgotten when there is one. Formatting costs more than planning some queries, so nothing is noted when
// nobody would see it. The lists belong to one call of the planner; nested calls have their own (see refusals_begin).
#include "pg/pg.h"

#include "pg/refusal.h"

#include "pg/attempt.h"
#include "pg/guc.h"
#include "pg/refusal_state.h"

namespace gpuscan {

struct Refusal {
    const void *level;
    const char *reason, *change;
    bool told;
};

static RefusalState *current = nullptr;
static List **listener = nullptr;
static MemoryContext listener_context = nullptr;

RefusalState *refusals_begin(RefusalState *state) {
    RefusalState *outer = current;
    state->refusals = NIL;
    state->level = nullptr;
    state->context = CurrentMemoryContext;
    current = state;
    return outer;
}

void refusals_end(RefusalState *outer) { current = outer; }

static void tell_listener(const Refusal *refusal) {
    MemoryContext before = MemoryContextSwitchTo(listener_context);
    ToldRefusal *told = static_cast<ToldRefusal *>(palloc(sizeof(ToldRefusal)));
    told->reason = pstrdup(refusal->reason);
    told->change = refusal->change;
    *listener = lappend(*listener, told);
    MemoryContextSwitchTo(before);
}

static void report(const Refusal *refusal) {
    if (listener != nullptr && !is_attempt_running())
        return tell_listener(refusal);
    ereport(guc_explain_refusals && !is_attempt_running() ? NOTICE : DEBUG2,
            (errmsg("gpuscan: not offloaded: %s", refusal->reason)));
}

void refusals_release(RefusalState *state) {
    state->held = false;
    ListCell *cell;
    foreach (cell, state->refusals)
        if (static_cast<const Refusal *>(lfirst(cell))->told)
            report(static_cast<const Refusal *>(lfirst(cell)));
}

void refusals_level(const void *level) {
    if (current != nullptr)
        current->level = level;
}

List **listen_to_refusals(List **to) {
    List **before = listener;
    listener = to;
    listener_context = CurrentMemoryContext;
    return before;
}

bool refusals_wanted() { return listener != nullptr || guc_explain_refusals || message_level_is_interesting(DEBUG2); }

static void note(const char *change, const char *format, va_list arguments) pg_attribute_printf(2, 0);

static void note(const char *change, const char *format, va_list arguments) {
    if (current == nullptr || !refusals_wanted())
        return;
    char reason[512];
    vsnprintf(reason, sizeof reason, format, arguments);

    ListCell *cell;
    foreach (cell, current->refusals) {
        const Refusal *noted = static_cast<const Refusal *>(lfirst(cell));
        if (strcmp(noted->reason, reason) == 0 && (noted->told || noted->level == current->level))
            return;
    }
    MemoryContext before = MemoryContextSwitchTo(current->context);
    Refusal *refusal = static_cast<Refusal *>(palloc(sizeof(Refusal)));
    refusal->level = current->level;
    refusal->reason = pstrdup(reason);
    refusal->change = change;
    refusal->told = false;
    current->refusals = lappend(current->refusals, refusal);
    MemoryContextSwitchTo(before);
}

bool refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    note(nullptr, format, arguments);
    va_end(arguments);
    return false;
}

bool refuse_with(const char *change, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    note(change, format, arguments);
    va_end(arguments);
    return false;
}

void refusals_tell(const char *otherwise) {
    if (current == nullptr)
        return;
    int count = 0;
    ListCell *cell;
    foreach (cell, current->refusals)
        count += static_cast<const Refusal *>(lfirst(cell))->level == current->level ? 1 : 0;
    if (count == 0 && otherwise != nullptr)
        refuse("%s", otherwise);
    foreach (cell, current->refusals) {
        Refusal *refusal = static_cast<Refusal *>(lfirst(cell));
        if (refusal->level != current->level || refusal->told)
            continue;
        refusal->told = true;
        if (!current->held)
            report(refusal);
    }
}

void refusals_forget() {
    if (current == nullptr)
        return;
    ListCell *cell;
    foreach (cell, current->refusals)
        if (static_cast<const Refusal *>(lfirst(cell))->level == current->level)
            current->refusals = foreach_delete_current(current->refusals, cell);
}

} // namespace gpuscan
