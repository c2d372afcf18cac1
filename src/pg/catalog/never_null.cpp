// Which columns have no NULL in any row that the statement can see; see never_null.h.
#include "pg/pg.h"

#include "pg/catalog/never_null.h"

#include "pg/catalog/declared_for_snapshot.h"
#include "pg/compat.h"

namespace gpuscan {
namespace {

bool is_declared(HeapTuple tuple, Snapshot snapshot, Reliance reliance) {
    return reliance == Reliance::Plan ? is_declared_for_plans(tuple, snapshot) : is_declared_for(tuple, snapshot);
}

bool is_not_null_for(Oid relid, AttrNumber attnum, Snapshot snapshot, Reliance reliance) {
    HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attnum));
    if (!HeapTupleIsValid(tuple))
        return false;
    bool declared =
        reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple))->attnotnull && is_declared(tuple, snapshot, reliance);
    ReleaseSysCache(tuple);
    HeapTuple constraint = declared ? not_null_constraint(relid, attnum) : nullptr;
    return declared &&
           (constraint == nullptr || (constraint_is_valid(constraint) && is_declared(constraint, snapshot, reliance)));
}

} // namespace

bool is_never_null(Relation relation, AttrNumber attnum, bool children, Reliance reliance) {
    TupleDesc descriptor = RelationGetDescr(relation);
    if (!attribute_is_not_null(descriptor, attnum - 1) || !ActiveSnapshotSet())
        return false;
    Snapshot snapshot = GetActiveSnapshot();
    const Oid relid = RelationGetRelid(relation);
    if (!IsMVCCSnapshot(snapshot) || !is_not_null_for(relid, attnum, snapshot, reliance))
        return false;
    if (!children)
        return true;
    const char *name = NameStr(TupleDescAttr(descriptor, attnum - 1)->attname);
    ListCell *cell;
    foreach (cell, find_all_inheritors(relid, NoLock, nullptr)) {
        const Oid child = lfirst_oid(cell);
        if (child != relid && !is_not_null_for(child, get_attnum(child, name), snapshot, reliance))
            return false;
    }
    return true;
}

} // namespace gpuscan
