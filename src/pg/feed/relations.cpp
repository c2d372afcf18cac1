// Which relations does a source read, and where are its columns in each of them?
//
// A source that is a parent reads the relations that hold its rows: partitions, or the tables that inherit from it and
// itself. Each has the parent's columns, by name and with the same types, but in an order of its own and among others
// (dropped ones, or a child's own), so columns are looked up in each. PostgreSQL has locked them all, and its plan is
// made anew when one comes or goes or changes. Open stays what PostgreSQL's scans keep open, and no other relation: DDL of the same
// session is refused for a relation that is in use (CheckTableNotInUse), and Append leaves a parent to it.
//
// Texts have the codes of a dictionary, and rows of one source must have those of the same one. So the columns of a
// table with partitions share dictionaries, named for the root of the partitions and the column: whether a query reads the root,
// a part of the tree or one leaf, it finds the same cached columns. A name that is given anew to other columns does no
// harm: a dictionary is a set of texts, not a meaning.
#include "pg/exec/run.h"

namespace gpuscan {
namespace {

// The relation whose columns name the dictionaries; InvalidOid: this source's columns have their own. A partition that is being
// detached concurrently has no ancestors any more, though it is one still.
Oid dictionary_owner(Relation relation, bool is_parent) {
    if (relation->rd_rel->relispartition) {
        const List *ancestors = get_partition_ancestors(RelationGetRelid(relation));
        if (ancestors != NIL)
            return llast_oid(ancestors);
    }
    return is_parent ? RelationGetRelid(relation) : InvalidOid;
}

// Column `attnum` of `parent` in one of its children.
AttrNumber attnum_in(TupleDesc child, TupleDesc parent, AttrNumber attnum) {
    Form_pg_attribute wanted = TupleDescAttr(parent, attnum - 1);
    for (int i = 0; i < child->natts; ++i) {
        int at = (attnum - 1 + i) % child->natts; // mostly the same
        Form_pg_attribute found = TupleDescAttr(child, at);
        if (found->attisdropped || strcmp(NameStr(found->attname), NameStr(wanted->attname)) != 0)
            continue;
        if (found->atttypid != wanted->atttypid || found->atttypmod != wanted->atttypmod ||
            found->attcollation != wanted->attcollation)
            break;
        return static_cast<AttrNumber>(at + 1);
    }
    elog(ERROR, "gpuscan: a child has no column \"%s\" like its parent's", NameStr(wanted->attname));
    pg_unreachable();
}

struct ChildColumns {
    TupleDesc child, parent;
};

bool use_child_columns(Node *node, void *context) {
    const ChildColumns *columns = static_cast<const ChildColumns *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Var)) {
        Var *var = reinterpret_cast<Var *>(node);
        var->varno = 1;
        if (columns->child != columns->parent)
            var->varattno = attnum_in(columns->child, columns->parent, var->varattno);
    }
    return walk_expression(node, use_child_columns, context);
}

// An expression over columns of `parent`, over those of one of its children.
Expr *expression_in(TupleDesc child, TupleDesc parent, const Expr *expr) {
    Node *copy = reinterpret_cast<Node *>(copyObject(const_cast<Expr *>(expr)));
    ChildColumns columns{child, parent};
    use_child_columns(copy, &columns);
    fix_opfuncids(copy);
    return reinterpret_cast<Expr *>(copy);
}

// `parent`: the columns of the relation that the query names; of `relation` itself, where that is the one.
void add_relation(const FragmentSource *source, TupleDesc parent, Relation relation, uint32 feed,
                  SourceRelations *relations) {
    SourceRelation *to = &relations->at[relations->count++];
    TupleDesc desc = RelationGetDescr(relation);
    to->relation = relation;
    to->feed = feed;
    to->scans = to->rows = 0;
    to->attnums = static_cast<AttrNumber *>(palloc(sizeof(AttrNumber) * (source->columns.count + 1)));
    to->expressions = NIL;
    for (int i = 0; i < source->columns.count; ++i) {
        const FragmentColumn *column = &source->columns[i];
        to->attnums[i] = 0;
        if (column->expr) {
            to->expressions = lappend(to->expressions, expression_in(desc, parent, column->expr));
            continue;
        }
        AttrNumber attnum = desc == parent ? column->attnum : attnum_in(desc, parent, column->attnum);
        if (!column->nullable && !attribute_is_not_null(desc, attnum - 1))
            elog(ERROR, "gpuscan: a child's column \"%s\" may be NULL, its parent's may not",
                 NameStr(TupleDescAttr(desc, attnum - 1)->attname));
        to->attnums[i] = attnum;
    }
    to->asked_quals = NIL;
    for (int i = 0; i < source->asked_quals; ++i)
        to->asked_quals = lappend(to->asked_quals,
                                  expression_in(desc, parent, static_cast<const Expr *>(list_nth(source->quals, i))));
}

// As ExecOpenScanRelation().
void require_populated(const EState *estate, Relation relation) {
    if (!RelationIsScannable(relation) && !(estate->es_top_eflags & EXEC_FLAG_WITH_NO_DATA))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("materialized view \"%s\" has not been populated", RelationGetRelationName(relation)),
                        errhint("Use the REFRESH MATERIALIZED VIEW command.")));
}

// What is needed of a relation that is not scanned itself, and so is closed at once.
void look_at(EState *estate, Index rti, bool is_parent, SourceRelations *relations) {
    const RangeTblEntry *rte = exec_rt_fetch(rti, estate);
    Relation relation = table_open(rte->relid, IsParallelWorker() ? rte->rellockmode : NoLock);
    relations->named = CreateTupleDescCopy(RelationGetDescr(relation));
    relations->dictionary_owner = dictionary_owner(relation, is_parent);
    table_close(relation, NoLock);
}

} // namespace

void open_relations(const Fragment *fragment, int source, EState *estate, const Bitmapset *pruned, uint32 *feeds,
                    SourceRelations *relations) {
    const FragmentSource *from = &fragment->sources[source];
    relations->at = static_cast<SourceRelation *>(palloc(sizeof(SourceRelation) * (list_length(from->leaves) + 1)));
    if (from->is_empty || from->leaves != NIL) {
        look_at(estate, from->rti, from->leaves != NIL, relations);
    } else {
        Relation relation = executor_relation(estate, from->rti);
        require_populated(estate, relation);
        relations->named = RelationGetDescr(relation);
        relations->dictionary_owner = dictionary_owner(relation, false);
        add_relation(from, relations->named, relation, source, relations);
    }
    ListCell *cell;
    foreach (cell, from->leaves) {
        Index rti = static_cast<Index>(lfirst_int(cell));
        if (!from->is_empty && !is_pruned(estate, rti) && !bms_is_member(lfirst_int(cell), pruned))
            add_relation(from, relations->named, executor_relation(estate, rti),
                         relations->count == 0 ? source : (*feeds)++, relations);
    }
}

void use_relation(const Fragment *fragment, Relation relation, SourceRelations *relations) {
    relations->at = static_cast<SourceRelation *>(palloc(sizeof(SourceRelation)));
    relations->named = RelationGetDescr(relation);
    relations->dictionary_owner = dictionary_owner(relation, false);
    add_relation(&fragment->sources[0], relations->named, relation, 0, relations);
}

} // namespace gpuscan
