// CTEs that are read more than once, as subqueries.
//
// PostgreSQL evaluates such a CTE once and keeps its rows, unless NOT MATERIALIZED is written. A device makes its groups in a fraction of
// the time that rows of them take on their way through PostgreSQL, and as a subquery's they can stay with it (fragment/stage.h). So the
// rewriting says NOT MATERIALIZED; planner/statement.cpp keeps the plan that takes less time.
//
// Nobody may notice. So: it is nobody's word that the rows be kept (MATERIALIZED); the CTE groups the rows of plain tables, and nothing of
// it can raise an error, since conditions of the places may move into it (error_free_expression.h); and both times its rows are the same to
// the last bit: equal keys are the same value, and no aggregate depends on the order of its rows, as sums of floats do. What else forbids
// it (volatile functions, recursion, changes of data) PostgreSQL looks for itself.
#include "pg/pg.h"

#include "pg/rewrite/inline_ctes.h"

#include "pg/rewrite/decorrelate.h"
#include "pg/rewrite/error_free_expression.h"
#include "pg/rewrite/error_free_query.h"
#include "pg/rewrite/query_levels.h"
#include "pg/rewrite/set_operations.h"

namespace gpuscan {
namespace {

// Does the aggregate give one value, as it is shown, in whatever order its rows come?
bool is_same_in_any_order(const Aggref *aggref) {
    const bool picks = aggref->aggfnoid == F_MIN_NUMERIC || aggref->aggfnoid == F_MAX_NUMERIC;
    if (aggref->aggtype == NUMERICOID && !picks)
        return true;
    const TargetEntry *argument = picks ? linitial_node(TargetEntry, aggref->args) : nullptr;
    Node *value =
        reinterpret_cast<Node *>(picks ? argument->expr : reinterpret_cast<Expr *>(const_cast<Aggref *>(aggref)));
    return equal_is_same(value);
}

bool depends_on_order(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Aggref))
        return !is_same_in_any_order(reinterpret_cast<Aggref *>(node));
    return walk_expression(node, depends_on_order, context);
}

// It raises no error, and is the same each time.
bool is_repeatable(const Query *query, Node *expression, bool aggregates) {
    if (expression == nullptr)
        return true;
    Node *value = folded(expression);
    return value != nullptr && is_error_free(query, value, aggregates) && !depends_on_order(value, nullptr);
}

// Of the level's rows, before they are grouped.
bool reads_repeatably(const Query *query) {
    Query rows = *query;
    rows.groupClause = NIL;
    rows.sortClause = NIL;
    rows.havingQual = nullptr;
    return reads_plain_tables(&rows) && is_repeatable(query, query->jointree->quals, false);
}

bool has_same_groups_each_time(const Query *grouped) {
    const Query *query = without_group_entry(grouped);
    if ((!query->hasAggs && query->groupClause == NIL) || !reads_repeatably(query) ||
        !is_repeatable(query, query->havingQual, true))
        return false;
    ListCell *cell;
    foreach (cell, query->targetList)
        if (!is_repeatable(query, reinterpret_cast<Node *>(lfirst_node(TargetEntry, cell)->expr), true))
            return false;
    foreach (cell, query->groupClause)
        if (!equal_is_same(get_sortgroupclause_expr(lfirst_node(SortGroupClause, cell), query->targetList)))
            return false;
    return true;
}

bool inline_level(Query *query) {
    bool changed = false;
    ListCell *cell;
    foreach (cell, query->cteList) {
        CommonTableExpr *cte = lfirst_node(CommonTableExpr, cell);
        const Query *of = reinterpret_cast<const Query *>(cte->ctequery);
        if (cte->ctematerialized != CTEMaterializeDefault || cte->cterecursive || cte->cterefcount < 2 ||
            !IsA(of, Query) || !has_same_groups_each_time(of))
            continue;
        cte->ctematerialized = CTEMaterializeNever;
        changed = true;
    }
    return changed;
}

bool shares_a_cte(const Query *query) {
    ListCell *cell;
    foreach (cell, query->cteList)
        if (lfirst_node(CommonTableExpr, cell)->cterefcount > 1)
            return true;
    return false;
}

} // namespace

bool may_have_grouped_ctes(const Query *query) { return has_level(query, shares_a_cte); }

bool inline_grouped_ctes(Query *query) { return rewrite_levels(query, inline_level); }

} // namespace gpuscan
