// Feeding from a CPU plan: its rows, batched.
#include "pg/exec/error_free_plan.h"
#include "pg/exec/run.h"
#include "pg/exec/trial.h"

namespace gpuscan {
namespace {

struct PlanFeed {
    FragmentRun *run;
    int source;
    bool fed;
};

void feed_rows_of(PlanState *plan, void *argument) {
    PlanFeed *feed = static_cast<PlanFeed *>(argument);
    FragmentRun *run = feed->run;
    const FragmentSource *from = &run->fragment->sources[feed->source];
    Datum *row = static_cast<Datum *>(palloc((from->columns.count + 1) * sizeof(Datum)));
    bool *nulls = static_cast<bool *>(palloc((from->columns.count + 1) * sizeof(bool)));
    MemoryContext context = AllocSetContextCreate(run->context, "GpuScan row", ALLOCSET_DEFAULT_SIZES);

    batch_begin(run, feed->source);
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        // What the plan allocates when it starts (a table scan does) has to survive this run: rescans use it.
        MemoryContext old = MemoryContextSwitchTo(plan->state->es_query_cxt);
        TupleTableSlot *slot = ExecProcNode(plan);
        MemoryContextSwitchTo(old);
        if (TupIsNull(slot))
            break;
        for (int i = 0; i < from->columns.count; ++i)
            row[i] = slot_getattr(slot, from->columns[i].attnum, &nulls[i]);
        MemoryContextSwitchTo(context);
        const bool added = batch_add(run, row, nulls);
        MemoryContextSwitchTo(old);
        MemoryContextReset(context);
        if (!added)
            return;
    }
    MemoryContextDelete(context);
    pfree(row);
    pfree(nulls);
    feed->fed = batch_flush(run);
}

} // namespace

bool feed_plan(FragmentRun *run, int source) {
    EState *estate = run->parent->state;
    PlanState *child = run->children[source];
    PlanFeed feed{run, source, false};
    if (is_error_free_plan(estate, child->plan)) {
        feed_rows_of(child, &feed);
        return feed.fed;
    }
    if (!evaluate_plan_params(run, child->plan))
        return false;
    switch (try_plan(estate, child, feed_rows_of, &feed)) {
    case Attempt::Done:
        return feed.fed;
    case Attempt::Failed:
        return give_up(
            run, "a plan that feeds the device raises an error or sends a message, which no row may have asked for");
    default:
        return give_up(run, "a plan that may raise an error cannot be tried now");
    }
}

} // namespace gpuscan
