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

bool is_not_null_for(Oid relid, const char *name, Snapshot snapshot, Reliance reliance) {
    HeapTuple tuple = SearchSysCacheAttName(relid, name);
    if (!HeapTupleIsValid(tuple))
        return false;
    const Form_pg_attribute attribute = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple));
    const AttrNumber attnum = attribute->attnum;
    const bool declared = attribute->attnotnull && is_declared(tuple, snapshot, reliance);
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
    const char *name = NameStr(TupleDescAttr(descriptor, attnum - 1)->attname);
    if (!IsMVCCSnapshot(snapshot) || !is_not_null_for(relid, name, snapshot, reliance))
        return false;
    if (!children)
        return true;
    ListCell *cell;
    foreach (cell, find_all_inheritors(relid, NoLock, nullptr)) {
        const Oid child = lfirst_oid(cell);
        if (child != relid && !is_not_null_for(child, name, snapshot, reliance))
            return false;
    }
    return true;
}

} // namespace gpuscan
