// See error_free_query.h.
#include "pg/pg.h"

#include "pg/rewrite/error_free_query.h"

#include "pg/catalog/sql_type.h"
#include "pg/compat.h"
#include "pg/rewrite/decorrelate_parts.h"
#include "pg/rewrite/error_free_expression.h"

namespace gpuscan {

// ---- what is read ----

static bool is_source(const Query *query, const RangeTblEntry *rte, bool subqueries) {
    if (rte->rtekind == RTE_SUBQUERY
            ? !subqueries || rte->lateral || !is_error_free_subquery(rte->subquery)
            : rte->rtekind != RTE_RELATION || rte->relkind == RELKIND_VIEW || rte->tablesample != nullptr)
        return false;
    ListCell *cell;
    foreach (cell, rte->securityQuals)
        if (!is_error_free(query, static_cast<Node *>(lfirst(cell))))
            return false;
    return true;
}

static bool joins_are_error_free(const Query *query, Node *from, bool subqueries) {
    ListCell *cell;
    switch (nodeTag(from)) {
    case T_RangeTblRef:
        return is_source(query, rt_fetch(reinterpret_cast<RangeTblRef *>(from)->rtindex, query->rtable), subqueries);
    case T_FromExpr:
        foreach (cell, reinterpret_cast<FromExpr *>(from)->fromlist)
            if (!joins_are_error_free(query, static_cast<Node *>(lfirst(cell)), subqueries))
                return false;
        return true; // its quals: whoever asks
    case T_JoinExpr: {
        JoinExpr *join = reinterpret_cast<JoinExpr *>(from);
        return join->jointype == JOIN_INNER && is_error_free(query, join->quals) &&
               levels_of(join->quals) < outer_columns && joins_are_error_free(query, join->larg, subqueries) &&
               joins_are_error_free(query, join->rarg, subqueries);
    }
    default:
        return false;
    }
}

bool is_never_true(const Query *query) {
    if (query->jointree->quals == nullptr)
        return false;
    const Const *quals = reinterpret_cast<const Const *>(folded(query->jointree->quals));
    return quals == nullptr || (IsA(quals, Const) && (quals->constisnull || !DatumGetBool(quals->constvalue)));
}

static bool reads_sources(const Query *query, bool subqueries) {
    if (query->commandType != CMD_SELECT || query->hasSubLinks || query->hasWindowFuncs || query->hasTargetSRFs ||
        query->cteList != NIL || query->groupClause != NIL || query->groupingSets != NIL ||
        query->havingQual != nullptr || query->distinctClause != NIL || query->sortClause != NIL ||
        query->limitCount != nullptr || query->limitOffset != nullptr || query->rowMarks != NIL ||
        query->setOperations != nullptr || query->jointree->fromlist == NIL)
        return false;
    return !is_never_true(query) && joins_are_error_free(query, reinterpret_cast<Node *>(query->jointree), subqueries);
}

bool reads_plain_tables(const Query *query) { return reads_sources(query, false); }

bool reads_error_free_sources(const Query *query) { return reads_sources(query, true); }

// ---- subqueries ----

// Keys of a range table entry of their own are resolved in a copy (compat.h), whose entry is nobody's.
Query *without_group_entry(const Query *query) {
    Query *copy = static_cast<Query *>(copyObject(const_cast<Query *>(query)));
    resolve_group_references(copy);
    if (has_group_entry(copy))
        copy->rtable = list_delete_last(copy->rtable);
    return copy;
}

static bool own_and_error_free(const Query *query, Node *expression) {
    return levels_of(expression) <= own_columns && is_error_free(query, expression, true);
}

// Users' types may be compared by functions of theirs.
static bool are_keys_error_free(const Query *query, const List *clauses) {
    ListCell *cell;
    foreach (cell, clauses) {
        const Node *key = get_sortgroupclause_expr(lfirst_node(SortGroupClause, cell), query->targetList);
        if (lfirst_node(SortGroupClause, cell)->eqop >= FirstNormalObjectId || sql_kind(exprType(key)) == SqlKind::None)
            return false;
    }
    return true;
}

bool is_error_free_subquery(const Query *subquery) {
    if (subquery->hasDistinctOn || subquery->groupingSets != NIL)
        return false;
    Query *query = without_group_entry(subquery);
    if (!are_keys_error_free(query, query->groupClause) || !are_keys_error_free(query, query->distinctClause) ||
        !are_keys_error_free(query, query->sortClause))
        return false;
    ListCell *cell;
    foreach (cell, query->targetList)
        if (!own_and_error_free(query, reinterpret_cast<Node *>(lfirst_node(TargetEntry, cell)->expr)))
            return false;
    if (!own_and_error_free(query, query->havingQual) || !own_and_error_free(query, query->jointree->quals))
        return false;
    query->groupClause = query->distinctClause = query->sortClause = NIL;
    query->havingQual = nullptr;
    return reads_error_free_sources(query);
}

// ---- CTEs ----

constexpr int max_ctes_in_place = 64; // CTEs that read others twice would become more and more

static const CommonTableExpr *find_cte(const Query *owner, const char *name) {
    ListCell *cell;
    foreach (cell, owner->cteList)
        if (strcmp(lfirst_node(CommonTableExpr, cell)->ctename, name) == 0)
            return lfirst_node(CommonTableExpr, cell);
    return nullptr;
}

static const Query *put_in_place(const Query *query, const Query *owner, int depth, int *left);

// What stands for this entry `depth` levels below the owner; NULL: the entry itself.
static RangeTblEntry *in_place(const RangeTblEntry *rte, const Query *owner, int depth, int *left) {
    const Query *below = nullptr;
    if (rte->rtekind == RTE_SUBQUERY) {
        below = put_in_place(rte->subquery, owner, depth + 1, left);
        if (below == rte->subquery)
            return nullptr;
    } else if (rte->rtekind == RTE_CTE && static_cast<int>(rte->ctelevelsup) == depth) {
        const CommonTableExpr *cte = find_cte(owner, rte->ctename);
        if (cte == nullptr || cte->cterecursive || !IsA(cte->ctequery, Query) || --*left < 0)
            return nullptr;
        below = put_in_place(reinterpret_cast<const Query *>(cte->ctequery), owner, 1, left);
    } else {
        return nullptr;
    }
    RangeTblEntry *subquery = static_cast<RangeTblEntry *>(palloc(sizeof *subquery));
    *subquery = *rte;
    subquery->rtekind = RTE_SUBQUERY;
    subquery->subquery = const_cast<Query *>(below);
    return subquery;
}

static const Query *put_in_place(const Query *query, const Query *owner, int depth, int *left) {
    List *rtable = NIL;
    bool changed = false;
    ListCell *cell;
    foreach (cell, query->rtable) {
        RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell), *instead = in_place(rte, owner, depth, left);
        changed |= instead != nullptr;
        rtable = lappend(rtable, instead != nullptr ? instead : rte);
    }
    if (!changed)
        return query;
    Query *copy = static_cast<Query *>(palloc(sizeof *copy));
    *copy = *query;
    copy->rtable = rtable;
    return copy;
}

const Query *with_ctes_in_place(const Query *query, const Query *owner, int depth) {
    if (owner->cteList == NIL)
        return query;
    int left = max_ctes_in_place;
    return put_in_place(query, owner, depth, &left);
}

} // namespace gpuscan
