// gpuscan.prewarm(regclass): brings a table's columns into the device's cache; of a partitioned table those of its leaves.
//
// It runs a fragment that counts the rows of those pages of the table that can be cached, and asks for the columns on the way. All
// columns of fixed width and numeric(p,s) go together; a text column goes alone, because one with too many different
// texts cannot be cached and shall not keep the others out.
#include "pg/exec/run.h"
#include "pg/fragment/column_form.h"

namespace gpuscan {
namespace {

constexpr int max_attempts = 4;

bool describe_attribute(Relation relation, int number, FragmentColumn *column) {
    TupleDesc descriptor = RelationGetDescr(relation);
    const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, number);
    SqlKind kind;
    if (attribute->attisdropped ||
        !describe_column(attribute->atttypid, attribute->atttypmod, attribute->attcollation,
                         {RelationGetRelid(relation), static_cast<uint32>(attribute->attnum), false}, column, &kind))
        return false;
    column->attnum = attribute->attnum;
    column->nullable = !attribute_is_not_null(descriptor, number);
    return true;
}

// Pages that are cached now; -1 with the reason when it did not work. `is_unfit`: because of a numeric, whose form is another one now.
int64 warm_columns(Relation relation, FragmentColumn *columns, int ncolumns, const char **reason, bool *is_unfit) {
    FragmentRun run = {};
    SourceRelations relations = {};
    FragmentSource source = {};
    source.is_relation = true;
    source.relid = RelationGetRelid(relation);
    source.child = -1;
    source.alias = RelationGetRelationName(relation);
    source.columns = {columns, ncolumns, ncolumns};
    run.fragment = assemble_count(&source);
    run.context = CurrentMemoryContext;
    run.snapshot = GetActiveSnapshot();
    use_relation(run.fragment, relation, &relations);
    run.relations = &relations;
    run.cacheable_only = true;
    if (run_fragment(&run))
        return run.report.pages_cached + run.report.pages_decoded;
    *is_unfit = note_unfit_columns(&run);
    *reason = run.failure;
    return -1;
}

Relation open_table(Oid relid) {
    Relation relation = try_relation_open(relid, AccessShareLock);
    if (relation == nullptr)
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relid)));
    char kind = relation->rd_rel->relkind;
    if (kind != RELKIND_RELATION && kind != RELKIND_MATVIEW && kind != RELKIND_PARTITIONED_TABLE)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("\"%s\" is not a table, materialized view, or partitioned table",
                               RelationGetRelationName(relation))));
    if (relid < FirstNormalObjectId)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("\"%s\" is a system catalog", RelationGetRelationName(relation)),
                        errdetail("Their columns are not cached.")));
    AclResult result = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
    if (result != ACLCHECK_OK)
        aclcheck_error(result, get_relkind_objtype(kind), RelationGetRelationName(relation));
    if (snapshots_can_be_too_old())
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("columns are not cached while old_snapshot_threshold is set")));
    return relation;
}

int64 warm_table(Relation relation) {
    TupleDesc desc = RelationGetDescr(relation);
    FragmentColumn *fixed = static_cast<FragmentColumn *>(palloc0(sizeof(FragmentColumn) * (2 * desc->natts + 1)));
    int64 pages = -1;
    const char *reason = nullptr;
    bool is_unfit = true;
    for (int attempts = 0; pages < 0 && is_unfit && attempts < max_attempts; ++attempts) {
        int nfixed = 0;
        for (int i = 0; i < desc->natts; ++i) {
            FragmentColumn column;
            if (!describe_attribute(relation, i, &column) || is_coded(column.codec))
                continue;
            fixed[nfixed++] = column;
            if (column.codec == Codec::MixedNumeric)
                fixed[nfixed++] = scale_of(column);
        }
        pages = warm_columns(relation, fixed, nfixed, &reason, &is_unfit);
    }
    if (pages < 0)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("could not cache columns of \"%s\" on a device", RelationGetRelationName(relation)),
                        errdetail("The reason is: %s.", reason)));
    for (int i = 0; i < desc->natts; ++i) {
        FragmentColumn column;
        if (!describe_attribute(relation, i, &column) || !is_coded(column.codec))
            continue;
        int64 staged = warm_columns(relation, &column, 1, &reason, &is_unfit);
        if (staged < 0)
            ereport(NOTICE,
                    (errmsg("column \"%s\" is left out: %s", NameStr(TupleDescAttr(desc, i)->attname), reason)));
        else if (staged > pages)
            pages = staged;
    }
    return pages;
}

// As for queries, the right to read a partitioned table is one to read its partitions.
int64 warm_leaves(Oid parent) {
    int64 pages = 0;
    ListCell *cell;
    foreach (cell, find_all_inheritors(parent, AccessShareLock, nullptr)) {
        Relation leaf = table_open(lfirst_oid(cell), NoLock);
        if (leaf->rd_rel->relkind == RELKIND_RELATION)
            pages += warm_table(leaf);
        table_close(leaf, NoLock);
    }
    return pages;
}

int64 prewarm(Oid relid) {
    Relation relation = open_table(relid);
    int64 pages = relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ? warm_leaves(relid) : warm_table(relation);
    table_close(relation, AccessShareLock);
    return pages;
}

} // namespace
} // namespace gpuscan

extern "C" {

PG_FUNCTION_INFO_V1(gpuscan_prewarm);
PGDLLEXPORT Datum gpuscan_prewarm(PG_FUNCTION_ARGS);

Datum gpuscan_prewarm(PG_FUNCTION_ARGS) { PG_RETURN_INT64(gpuscan::prewarm(PG_GETARG_OID(0))); }
}
