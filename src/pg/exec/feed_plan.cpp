// Feeding from a CPU plan: its rows, batched.
#include "pg/exec/run.h"

namespace gpuscan {

bool feed_plan(FragmentRun *run, int source) {
    const FragmentSource *from = &run->fragment->sources[source];
    PlanState *child = run->children[source];
    Datum *row = static_cast<Datum *>(palloc((from->ncolumns + 1) * sizeof(Datum)));
    bool *nulls = static_cast<bool *>(palloc((from->ncolumns + 1) * sizeof(bool)));
    MemoryContext context = AllocSetContextCreate(run->context, "GpuScan row", ALLOCSET_DEFAULT_SIZES);

    batch_begin(run, source);
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        // What the plan allocates when it starts (a table scan does) has to survive this run: rescans use it.
        MemoryContext old = MemoryContextSwitchTo(run->parent->state->es_query_cxt);
        TupleTableSlot *slot = ExecProcNode(child);
        MemoryContextSwitchTo(old);
        if (TupIsNull(slot))
            break;
        for (int i = 0; i < from->ncolumns; ++i)
            row[i] = slot_getattr(slot, from->columns[i].attnum, &nulls[i]);
        MemoryContextSwitchTo(context);
        bool added = batch_add(run, row, nulls);
        MemoryContextSwitchTo(old);
        MemoryContextReset(context);
        if (!added)
            return false;
    }
    MemoryContextDelete(context);
    pfree(row);
    pfree(nulls);
    return batch_flush(run);
}

} // namespace gpuscan
