#include "pg/pg.h"

#include "pg/catalog/unique_keys.h"

#include "pg/catalog/declared_for_snapshot.h"

namespace gpuscan {

static bool is_newer(Oid index, Snapshot snapshot) {
    HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
    if (!HeapTupleIsValid(tuple))
        return true;
    const bool declared = is_declared_for(tuple, snapshot);
    ReleaseSysCache(tuple);
    return !declared;
}

bool has_newer_unique_key(const PlannerInfo *root, Relids relations) {
    if (!IsolationUsesXactSnapshot() || !ActiveSnapshotSet() || !IsMVCCSnapshot(GetActiveSnapshot()))
        return false;
    for (int number = -1; (number = bms_next_member(relations, number)) >= 0;) {
        const RelOptInfo *rel = number < root->simple_rel_array_size ? root->simple_rel_array[number] : nullptr;
        ListCell *cell;
        foreach (cell, rel != nullptr ? rel->indexlist : NIL) {
            const IndexOptInfo *index = static_cast<const IndexOptInfo *>(lfirst(cell));
            if (index->unique && is_newer(index->indexoid, GetActiveSnapshot()))
                return true;
        }
    }
    return false;
}

} // namespace gpuscan
