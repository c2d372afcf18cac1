#include "pg/pg.h"

#include "pg/catalog/declared_for_snapshot.h"

#include <utility>

namespace gpuscan {

static bool plans_are_transient = false;

bool is_declared_for_plans(HeapTuple tuple, Snapshot snapshot) {
    const TransactionId writer = HeapTupleHeaderGetXmin(tuple->t_data);
    if (!is_declared_for(tuple, snapshot))
        return false;
    if (TransactionIdIsNormal(writer) && !TransactionIdPrecedes(writer, TransactionXmin))
        return false;
    note_reliance(tuple);
    return true;
}

void note_reliance(HeapTuple tuple) {
    const TransactionId writer = HeapTupleHeaderGetXmin(tuple->t_data);
    if (!TransactionIdIsNormal(writer))
        return;
    // (Of all databases: what a snapshot of any could still see.)
    plans_are_transient =
        plans_are_transient || !TransactionIdPrecedes(writer, GetOldestNonRemovableTransactionId(nullptr));
}

bool exchange_transience(bool now) { return std::exchange(plans_are_transient, now); }

} // namespace gpuscan
