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

} // namespace gpuscan
