// See rowwise_pages.h. A count has the pages in its upper half, so that who needs a slot displaces the relation with the fewest, and in the
// lower one the transaction that was the next to begin.
#include "pg/pg.h"

#include "pg/cost/rowwise_pages.h"

#include <algorithm>

#include "pg/cost/planning_inputs.h"
#include "pg/service/area.h"

namespace gpuscan {

static uint64 fingerprint(Oid relid) { return uint64(MyDatabaseId) << 32 | relid; }

void note_rowwise_pages(Oid relid, uint64 pages) {
    protocol::Area *area = service_area();
    if (area == nullptr)
        return;
    auto *slot = area->rowwise_pages.find(fingerprint(relid));
    if (pages > 0)
        area->rowwise_pages.take(slot != nullptr ? slot : area->rowwise_pages.least(fingerprint(relid)),
                                 fingerprint(relid),
                                 std::min<uint64>(pages, PG_UINT32_MAX) << 32 | ReadNextTransactionId());
    else if (slot != nullptr)
        area->rowwise_pages.take(slot, 0, 0);
}

static uint64 rowwise_pages_now(const FigureKey &key) {
    const Oid relid = key.words[0];
    const protocol::Area *area = service_area();
    const uint64 count = area != nullptr ? area->rowwise_pages.count(fingerprint(relid)) : 0;
    if (count == 0)
        return 0;
    const Relation relation = table_open(relid, NoLock);
    // (A parent has no pages of its own; for it other databases' snapshots count, too.)
    const bool is_parent = !RELKIND_HAS_STORAGE(relation->rd_rel->relkind);
    const TransactionId horizon = GetOldestNonRemovableTransactionId(is_parent ? nullptr : relation);
    table_close(relation, NoLock);
    return TransactionIdPrecedes(horizon, static_cast<TransactionId>(count)) ? count >> 32 : 0;
}

// (Who writes changes them by the moment. To read a fiftieth row by row takes far less than PostgreSQL takes for all.)
double rowwise_pages(Oid relid, double pages) {
    return static_cast<double>(planning_input_of_table(rowwise_pages_now, relid, static_cast<uint64>(pages / 50)));
}

} // namespace gpuscan
