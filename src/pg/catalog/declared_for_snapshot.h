// Was something declared before the rows that a snapshot sees? The catalogs describe the newest rows: a statement with an older snapshot
// (repeatable read) may see rows for which a declaration was never checked.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// `tuple` is a catalog's. (Of what this transaction has written itself: under a snapshot of the transaction it was checked for other rows.)
inline bool is_declared_for(HeapTuple tuple, Snapshot snapshot) {
    const TransactionId writer = HeapTupleHeaderGetXmin(tuple->t_data);
    if (!TransactionIdIsNormal(writer))
        return true;
    if (IsolationUsesXactSnapshot() && TransactionIdIsCurrentTransactionId(writer))
        return false;
    return !XidInMVCCSnapshot(writer, snapshot);
}

// The same for a plan, which may be kept and executed under another snapshot: one that this session holds already (a cursor's, whose
// statement calls a function), or one that is imported. None of the first kind may be older than the declaration; for the second
// kind the plan cache makes the plan anew when the session's oldest snapshot is another one (PlannedStmt.transientPlan, as for
// indexes that not every snapshot may use), unless no snapshot anywhere is so old.
bool is_declared_for_plans(HeapTuple tuple, Snapshot snapshot);

// A plan relies on the declaration: it is made anew for snapshots that are imported, as above.
void note_reliance(HeapTuple tuple);

// Has a plan relied on such a declaration since this was set last? Statements are planned within others', so each puts back what it found.
bool exchange_transience(bool now);

} // namespace gpuscan
