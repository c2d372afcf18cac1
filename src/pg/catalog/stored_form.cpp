#include "pg/pg.h"

#include "pg/catalog/stored_form.h"

namespace gpuscan {
namespace {

constexpr char name_part[] = "pg_column_";

struct FormWalk {
    List *seen; // users' functions, each of which is looked at once
};

bool finds_looker(Node *node, void *context);

// Of a fixed length there is one form only.
bool has_forms(const List *args) {
    ListCell *cell;
    foreach (cell, args)
        if (get_typlen(exprType(static_cast<const Node *>(lfirst(cell)))) < 0)
            return true;
    return false;
}

bool looks_itself(Oid funcid) {
    switch (funcid) {
    case F_PG_COLUMN_SIZE:
    case F_PG_COLUMN_COMPRESSION:
#ifdef F_PG_COLUMN_TOAST_CHUNK_ID
    case F_PG_COLUMN_TOAST_CHUNK_ID:
#endif
        return true;
    default:
        return false;
    }
}

bool mentions(const char *source) {
    for (; *source != '\0'; ++source)
        if ((*source | 0x20) == name_part[0] && pg_strncasecmp(source, name_part, sizeof name_part - 1) == 0)
            return true;
    return false;
}

// A function that is not PostgreSQL's own: by its text, or by what its body (BEGIN ATOMIC) calls.
bool calls_looker(Oid funcid, FormWalk *walk) {
    if (funcid < FirstNormalObjectId || list_member_oid(walk->seen, funcid))
        return false;
    CHECK_FOR_INTERRUPTS();
    walk->seen = lappend_oid(walk->seen, funcid);
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
    if (!HeapTupleIsValid(tuple))
        return false;
    bool is_null;
    bool found = false;
    const Datum source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &is_null);
    if (!is_null)
        found = mentions(TextDatumGetCString(source));
    const Datum body = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosqlbody, &is_null);
    if (!found && !is_null)
        found = finds_looker(static_cast<Node *>(stringToNode(TextDatumGetCString(body))), walk);
    ReleaseSysCache(tuple);
    return found;
}

bool looks(Oid funcid, const List *args, FormWalk *walk) {
    return (looks_itself(funcid) && has_forms(args)) || calls_looker(funcid, walk);
}

bool aggregate_looks(Oid aggregate, FormWalk *walk) {
    if (aggregate < FirstNormalObjectId)
        return false;
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
    if (!HeapTupleIsValid(tuple)) // a window function
        return calls_looker(aggregate, walk);
    const Oid transition = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple))->aggtransfn;
    ReleaseSysCache(tuple);
    return looks_itself(transition) || calls_looker(transition, walk);
}

bool operator_looks(Oid opno, const List *args, FormWalk *walk) {
    return opno >= FirstNormalObjectId && looks(get_opcode(opno), args, walk);
}

// A cast to a domain asks its checks.
bool domain_looks(Oid domain, void *context) {
    DomainConstraintRef *constraints = static_cast<DomainConstraintRef *>(palloc0(sizeof(DomainConstraintRef)));
    InitDomainConstraintRef(domain, constraints, CurrentMemoryContext, false);
    ListCell *cell;
    foreach (cell, constraints->constraints) {
        const DomainConstraintState *constraint = static_cast<const DomainConstraintState *>(lfirst(cell));
        if (finds_looker(reinterpret_cast<Node *>(constraint->check_expr), context))
            return true;
    }
    return false;
}

bool finds_looker(Node *node, void *context) {
    FormWalk *walk = static_cast<FormWalk *>(context);
    if (node == nullptr)
        return false;
    check_stack_depth();
    switch (nodeTag(node)) {
    case T_Query:
        return walk_query(reinterpret_cast<Query *>(node), finds_looker, context);
    case T_FuncExpr: {
        const FuncExpr *call = reinterpret_cast<const FuncExpr *>(node);
        if (looks(call->funcid, call->args, walk))
            return true;
        break;
    }
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr: {
        const OpExpr *call = reinterpret_cast<const OpExpr *>(node);
        if (operator_looks(call->opno, call->args, walk))
            return true;
        break;
    }
    case T_ScalarArrayOpExpr: {
        const ScalarArrayOpExpr *call = reinterpret_cast<const ScalarArrayOpExpr *>(node);
        if (operator_looks(call->opno, call->args, walk))
            return true;
        break;
    }
    case T_Aggref:
        if (aggregate_looks(reinterpret_cast<const Aggref *>(node)->aggfnoid, walk))
            return true;
        break;
    case T_WindowFunc:
        if (aggregate_looks(reinterpret_cast<const WindowFunc *>(node)->winfnoid, walk))
            return true;
        break;
    case T_CoerceToDomain:
        if (domain_looks(reinterpret_cast<const CoerceToDomain *>(node)->resulttype, context))
            return true;
        break;
    default:
        break;
    }
    return walk_expression(node, finds_looker, context);
}

// ---- what is written to ----

// (The parser, or whoever has made the query, has locked it.)
bool target_looks(const Query *query, FormWalk *walk) {
    if (query->resultRelation == 0)
        return false;
    const RangeTblEntry *entry = rt_fetch(query->resultRelation, query->rtable);
    if (entry->rtekind != RTE_RELATION)
        return false;
    Relation relation = table_open(entry->relid, NoLock);
    const TupleConstr *constraints = RelationGetDescr(relation)->constr;
    bool found = false;
    for (int i = 0; constraints != nullptr && !found && i < constraints->num_check; ++i)
        found = finds_looker(static_cast<Node *>(stringToNode(constraints->check[i].ccbin)), walk);
    for (int i = 0;
         constraints != nullptr && constraints->has_generated_stored && !found && i < constraints->num_defval; ++i)
        found = finds_looker(static_cast<Node *>(stringToNode(constraints->defval[i].adbin)), walk);
    for (int i = 0; relation->trigdesc != nullptr && !found && i < relation->trigdesc->numtriggers; ++i)
        found = calls_looker(relation->trigdesc->triggers[i].tgfoid, walk);
    table_close(relation, NoLock);
    return found;
}

// A row that is written out goes nowhere near a device.
bool reads_tables(const Query *query) {
    if (query->cteList != NIL || query->hasSubLinks)
        return true;
    ListCell *cell;
    foreach (cell, query->rtable) {
        const RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);
        if (entry->rtekind == RTE_SUBQUERY || (entry->rtekind == RTE_RELATION && entry->inFromCl))
            return true;
    }
    return false;
}

bool finds_writer(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, Query))
        return false;
    const Query *query = reinterpret_cast<const Query *>(node);
    ListCell *cell;
    if (query->commandType != CMD_SELECT && reads_tables(query) &&
        target_looks(query, static_cast<FormWalk *>(context)))
        return true;
    foreach (cell, query->cteList)
        if (finds_writer(lfirst_node(CommonTableExpr, cell)->ctequery, context))
            return true;
    return false;
}

} // namespace

bool looks_at_stored_form(Query *statement) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpuscan functions' bodies", ALLOCSET_DEFAULT_SIZES);
    MemoryContext old = MemoryContextSwitchTo(context);
    FormWalk walk{NIL};
    const bool found = finds_looker(reinterpret_cast<Node *>(statement), &walk) ||
                       finds_writer(reinterpret_cast<Node *>(statement), &walk);
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
    return found;
}

} // namespace gpuscan
