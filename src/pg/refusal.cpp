// Refusals: why a query level stays on PostgreSQL.
//
// While a level is planned many things are tried, and most of what is refused on the way (a join in the wrong order)
// does not matter in the end. So reasons are noted per query level, told when the level is finished without a device
// path, and forgotten when there is one. What has been told waits for the choice of the statement's plan, since a statement may
// be planned in several ways. Formatting costs more than planning some queries, so nothing is noted when nobody would see it. The
// lists belong to one call of the planner; nested calls have their own (see refusals_begin), and no listener.
#include "pg/pg.h"

#include "pg/refusal.h"

#include <utility>

#include "pg/refusal_state.h"

namespace gpuscan {

struct Refusal : ToldRefusal {
    const PlannerInfo *level;
    bool told;
};

static RefusalState *current = nullptr;
static RefusalListener next_listener = {}, listener = {};

RefusalState *refusals_begin(RefusalState *state) {
    RefusalState *outer = current;
    state->refusals = NIL;
    state->level = nullptr;
    state->context = CurrentMemoryContext;
    current = state;
    return outer;
}

void refusals_end(RefusalState *outer) { current = outer; }

RefusalListener refusals_begin_statement() { return std::exchange(listener, std::exchange(next_listener, {})); }

void refusals_end_statement(RefusalListener outer) { listener = outer; }

List **listen_to_refusals(List **to) { return std::exchange(next_listener, {to, CurrentMemoryContext}).to; }

bool refusals_wanted() {
    return listener.to != nullptr || next_listener.to != nullptr || message_level_is_interesting(DEBUG2);
}

static void report(const ToldRefusal *refusal) {
    ereport(DEBUG2, (errmsg_internal("gpuscan: not offloaded: %s", refusal->reason)));
    if (listener.to == nullptr)
        return;
    ListCell *cell;
    foreach (cell, *listener.to)
        if (strcmp(static_cast<const ToldRefusal *>(lfirst(cell))->reason, refusal->reason) == 0)
            return;
    MemoryContext before = MemoryContextSwitchTo(listener.context);
    ToldRefusal *told = static_cast<ToldRefusal *>(palloc(sizeof(ToldRefusal)));
    *told = {pstrdup(refusal->reason), refusal->change, refusal->tables ? pstrdup(refusal->tables) : nullptr};
    *listener.to = lappend(*listener.to, told);
    MemoryContextSwitchTo(before);
}

bool refusals_release(const RefusalState *state) {
    bool any = false;
    ListCell *cell;
    foreach (cell, state->refusals) {
        const Refusal *refusal = static_cast<const Refusal *>(lfirst(cell));
        if (refusal->told)
            report(refusal);
        any |= refusal->told;
    }
    return any;
}

void refuse_statement(const char *reason, const char *change) {
    const ToldRefusal refusal = {reason, change, nullptr};
    if (refusals_wanted())
        report(&refusal);
}

void refusals_level(const PlannerInfo *level) {
    if (current != nullptr)
        current->level = level;
}

static const char *tables_of(const PlannerInfo *level) {
    StringInfoData names;
    initStringInfo(&names);
    const ListCell *cell;
    foreach (cell, level != nullptr ? level->parse->rtable : NIL) {
        const RangeTblEntry *entry = static_cast<const RangeTblEntry *>(lfirst(cell));
        if (entry->rtekind == RTE_RELATION && entry->inFromCl)
            appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", quote_identifier(entry->eref->aliasname));
    }
    return names.len > 0 ? names.data : nullptr;
}

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
    refusal->tables = tables_of(current->level);
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

void refusals_tell() {
    if (current == nullptr)
        return;
    ListCell *cell;
    foreach (cell, current->refusals) {
        Refusal *refusal = static_cast<Refusal *>(lfirst(cell));
        refusal->told |= refusal->level == current->level;
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
