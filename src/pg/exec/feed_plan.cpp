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
        TupleTableSlot *slot = ExecProcNode(child);
        if (TupIsNull(slot))
            break;
        for (int i = 0; i < from->ncolumns; ++i)
            row[i] = slot_getattr(slot, from->columns[i].attnum, &nulls[i]);
        MemoryContext old = MemoryContextSwitchTo(context);
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
