// Groups of a correlated subquery that the outer query asks for.
//
// Once a subquery is grouped by what correlates it, it has groups for every value, also for those of no row of the outer query. So what the
// outer query asks of its side of the correlation is asked of the subquery's rows, too: magic sets (decorrelate.cpp). Two forms of it:
// the conditions on a table that holds each value once, as `k IN (SELECT k FROM that table WHERE ...)`, and a copy of `x IN (...)`.
#include "pg/pg.h"

#include "pg/compat.h"
#include "pg/rewrite/decorrelate_parts.h"
#include "pg/rewrite/error_free_expression.h"
#include "pg/rewrite/error_free_query.h"

namespace gpuscan {

struct RelationWalk {
    int rti;
    bool others;
};

static bool note_relations(Node *node, void *context) {
    RelationWalk *walk = static_cast<RelationWalk *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Var) && static_cast<int>(reinterpret_cast<const Var *>(node)->varno) != walk->rti)
        walk->others = true;
    return walk_expression(node, note_relations, context);
}

static bool is_over(Node *node, int rti) {
    RelationWalk walk{rti, false};
    note_relations(node, &walk);
    return !walk.others && levels_of(node) == own_columns;
}

// Does the column hold each value once? Then a join with it costs little and drops what has no partner.
static bool is_unique(Oid relid, AttrNumber attribute) {
    Relation relation = table_open(relid, NoLock);
    bool unique = false;
    ListCell *cell;
    foreach (cell, RelationGetIndexList(relation)) {
        HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));
        if (!HeapTupleIsValid(tuple))
            continue;
        const FormData_pg_index *index = reinterpret_cast<const FormData_pg_index *>(GETSTRUCT(tuple));
        unique |= index->indisunique && index->indisvalid && index->indnkeyatts == 1 &&
                  index->indkey.values[0] == attribute && heap_attisnull(tuple, Anum_pg_index_indpred, nullptr);
        ReleaseSysCache(tuple);
    }
    table_close(relation, NoLock);
    return unique;
}

// key IN (...), as the parser writes it
static SubLink *make_in(Node *key, Oid equality, Query *values) {
    const TargetEntry *value = static_cast<const TargetEntry *>(linitial(values->targetList));
    const Node *expression = reinterpret_cast<const Node *>(value->expr);
    Param *param = makeNode(Param);
    param->paramkind = PARAM_SUBLINK;
    param->paramid = 1;
    param->paramtype = exprType(expression);
    param->paramtypmod = exprTypmod(expression);
    param->paramcollid = exprCollation(expression);
    SubLink *link = makeNode(SubLink);
    link->subLinkType = ANY_SUBLINK;
    link->testexpr = reinterpret_cast<Node *>(
        make_opclause(equality, BOOLOID, false, static_cast<Expr *>(copyObject(reinterpret_cast<Expr *>(key))),
                      reinterpret_cast<Expr *>(param), InvalidOid, InvalidOid));
    link->operName = list_make1(makeString(pstrdup("=")));
    link->subselect = reinterpret_cast<Node *>(values);
    link->location = -1;
    return link;
}

// The table is the only one of its query.
static bool renumber(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Var)) {
        Var *var = reinterpret_cast<Var *>(node);
        var->varno = 1;
        var->varnosyn = 1;
    }
    return walk_expression(node, renumber, context);
}

// Relations that no outer join can make NULL.
static Bitmapset *inner_relations(Node *from) {
    ListCell *cell;
    Bitmapset *result = nullptr;
    if (IsA(from, RangeTblRef))
        return bms_make_singleton(reinterpret_cast<RangeTblRef *>(from)->rtindex);
    if (IsA(from, FromExpr)) {
        foreach (cell, reinterpret_cast<FromExpr *>(from)->fromlist)
            result = bms_add_members(result, inner_relations(static_cast<Node *>(lfirst(cell))));
        return result;
    }
    const JoinExpr *join = reinterpret_cast<const JoinExpr *>(from);
    if (join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT)
        result = bms_add_members(result, inner_relations(join->larg));
    if (join->jointype == JOIN_INNER || join->jointype == JOIN_RIGHT)
        result = bms_add_members(result, inner_relations(join->rarg));
    return result;
}

bool is_inner(const Query *query, const Var *column) {
    return bms_is_member(static_cast<int>(column->varno), inner_relations(reinterpret_cast<Node *>(query->jointree)));
}

// SELECT column FROM its table WHERE what the outer query asks of this table; NULL if it asks nothing.
static Query *asked_values(const Level *level, const Var *column) {
    const RangeTblEntry *rte = rt_fetch(column->varno, level->query->rtable);
    if (!is_inner(level->query, column) || rte->rtekind != RTE_RELATION || rte->relkind == RELKIND_VIEW ||
        rte->tablesample != nullptr || rte->securityQuals != NIL || column->varattno <= 0 ||
        !is_unique(rte->relid, column->varattno))
        return nullptr;
    List *asked = NIL;
    ListCell *cell;
    foreach (cell, level->conjuncts) {
        Node *conjunct = static_cast<Node *>(lfirst(cell));
        if (is_over(conjunct, static_cast<int>(column->varno)) && is_error_free(level->query, conjunct))
            asked = lappend(asked, copyObject(conjunct));
    }
    if (asked == NIL)
        return nullptr;
    Query *query = makeNode(Query);
    RangeTblEntry *copy = static_cast<RangeTblEntry *>(copyObject(const_cast<RangeTblEntry *>(rte)));
    Var *value = static_cast<Var *>(copyObject(const_cast<Var *>(column)));
    RangeTblRef *reference = makeNode(RangeTblRef);
    reference->rtindex = 1;
    renumber(reinterpret_cast<Node *>(value), nullptr);
    renumber(reinterpret_cast<Node *>(asked), nullptr);
    query->commandType = CMD_SELECT;
    query->canSetTag = true;
    query->rtable = list_make1(copy);
    copy_permissions(level->query, rte, query, copy);
    query->jointree = makeFromExpr(list_make1(reference), conjunction(asked));
    query->targetList = list_make1(makeTargetEntry(reinterpret_cast<Expr *>(value), 1, pstrdup("asked"), false));
    return query;
}

// x IN (SELECT ...) of the outer query, if a copy of it may stand in the subquery.
static Query *asked_list(Node *conjunct, const Var *column, Oid equality) {
    SubLink *link = reinterpret_cast<SubLink *>(conjunct);
    if (!IsA(conjunct, SubLink) || link->subLinkType != ANY_SUBLINK || !IsA(link->testexpr, OpExpr))
        return nullptr;
    const OpExpr *test = reinterpret_cast<const OpExpr *>(link->testexpr);
    Query *values = reinterpret_cast<Query *>(link->subselect);
    if (test->opno != equality || !equal(linitial(test->args), column) || !IsA(lsecond(test->args), Param))
        return nullptr;
    if (!reads_plain_tables(values) || values->hasAggs || list_length(values->targetList) != 1 ||
        !are_error_free(values, conjuncts_of(values)) ||
        !are_error_free(values, list_make1(static_cast<const TargetEntry *>(linitial(values->targetList))->expr)))
        return nullptr;
    return static_cast<Query *>(copyObject(values));
}

// The columns that the outer query says are equal to this one, itself among them.
static List *equal_columns(const Level *level, Var *column, Oid equality) {
    List *columns = list_make1(column);
    for (int before = 0; before < list_length(columns);) {
        before = list_length(columns);
        ListCell *cell;
        foreach (cell, level->conjuncts) {
            OpExpr *conjunct = static_cast<OpExpr *>(lfirst(cell));
            if (!IsA(conjunct, OpExpr) || conjunct->opno != equality || levels_of(conjunct) != own_columns ||
                !IsA(linitial(conjunct->args), Var) || !IsA(lsecond(conjunct->args), Var))
                continue;
            void *left = linitial(conjunct->args), *right = lsecond(conjunct->args);
            if (list_member(columns, left))
                columns = list_append_unique(columns, right);
            else if (list_member(columns, right))
                columns = list_append_unique(columns, left);
        }
    }
    return columns;
}

// Only where equal values are the same value.
void leave_out_groups(const Level *level, const Correlations *all, Query *grouped) {
    List *conjuncts = list_copy(all->kept);
    for (int i = 0; i < all->count; ++i) {
        const Correlation *pair = &all->pairs[i];
        Oid type = exprType(pair->inside), equality;
        if (!IsA(pair->outside, Var) || exprType(pair->outside) != type ||
            (type != INT2OID && type != INT4OID && type != INT8OID && type != DATEOID))
            continue;
        get_sort_group_operators(type, false, true, false, nullptr, &equality, nullptr, nullptr);
        if (pair->clause->opno != equality)
            continue;
        ListCell *cell, *other;
        foreach (cell, equal_columns(level, reinterpret_cast<Var *>(pair->outside), equality)) {
            const Var *column = static_cast<const Var *>(lfirst(cell));
            Query *values = asked_values(level, column);
            if (values != nullptr)
                conjuncts = lappend(conjuncts, make_in(pair->inside, equality, values));
            foreach (other, level->conjuncts) {
                values = asked_list(static_cast<Node *>(lfirst(other)), column, equality);
                if (values != nullptr)
                    conjuncts = lappend(conjuncts, make_in(pair->inside, equality, values));
            }
        }
    }
    grouped->hasSubLinks |= list_length(conjuncts) > list_length(all->kept);
    grouped->jointree->quals = conjunction(conjuncts);
}

} // namespace gpuscan
