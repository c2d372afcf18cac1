// Window functions over groups, with the groups made in a subquery:
//
//   SELECT k, sum(x), rank() OVER (ORDER BY sum(x)) FROM t GROUP BY k HAVING h
//       -> SELECT k, s, rank() OVER (ORDER BY s) FROM (SELECT k, sum(x) AS s FROM t GROUP BY k HAVING h) groups
//
// PostgreSQL plans both in the same way. But a subquery's groups can stay in the device process (fragment/stage.h), where the windows
// then find them as rows (fragment/windows_path.cpp). An average of integers or numerics, which only PostgreSQL finishes, becomes the
// quotient of a sum and a count, as numeric.c divides them.
//
// Every expression is evaluated for the groups for which it was before, so that errors are the same, too. Privileges belong to range table
// entries, which move as they are. What stands above the windows (DISTINCT, ORDER BY, LIMIT) stays there.
#include "pg/pg.h"

#include "pg/rewrite/grouped_windows.h"

#include "pg/refusal.h"
#include "pg/rewrite/group_columns.h"
#include "pg/rewrite/level_below.h"
#include "pg/rewrite/query_levels.h"

namespace gpuscan {
namespace {

// As a numeric.
Expr *as_numeric(GroupColumns *groups, const Aggref *aggref, Oid function, Oid type) {
    Expr *value =
        reinterpret_cast<Expr *>(column_as_var(groups, column_of(groups, other_aggregate(aggref, function, type))));
    return type == NUMERICOID ? value : call_of(F_NUMERIC_INT8, NUMERICOID, list_make1(value));
}

// An average that is a quotient of numerics stays one over sum and count, which can be handed over.
Expr *value_of(GroupColumns *groups, const Aggref *aggref) {
    const bool plain = aggref->aggkind == AGGKIND_NORMAL && aggref->aggdistinct == NIL && aggref->aggorder == NIL;
    Oid type, sum = sum_of_average(aggref->aggfnoid, &type);
    if (!plain || !OidIsValid(sum))
        return reinterpret_cast<Expr *>(
            column_as_var(groups, column_of(groups, reinterpret_cast<Node *>(const_cast<Aggref *>(aggref)))));
    Expr *total = as_numeric(groups, aggref, sum, type);
    return call_of(F_NUMERIC_DIV, NUMERICOID, list_make2(total, as_numeric(groups, aggref, F_COUNT_ANY, INT8OID)));
}

// Does something above the groups refer to the target, or show it?
bool is_wanted(const Query *query, const TargetEntry *target) {
    if (!target->resjunk)
        return true;
    List *clauses = list_concat(list_copy(query->sortClause), query->distinctClause);
    ListCell *cell;
    foreach (cell, query->windowClause) {
        const WindowClause *window = lfirst_node(WindowClause, cell);
        clauses = list_concat(list_concat(clauses, window->partitionClause), window->orderClause);
    }
    foreach (cell, clauses)
        if (lfirst_node(SortGroupClause, cell)->tleSortGroupRef == target->ressortgroupref)
            return true;
    return false;
}

List *wanted_targets(const Query *query) {
    List *result = NIL;
    ListCell *cell;
    foreach (cell, query->targetList)
        if (is_wanted(query, lfirst_node(TargetEntry, cell))) {
            TargetEntry *target = lfirst_node(TargetEntry, cell);
            result = lappend(result, target);
            target->resno = static_cast<AttrNumber>(list_length(result));
        }
    return result;
}

// As the query's own result might be called.
char *name_of(const Query *query, const Node *expr, int number) {
    const char *name = nullptr;
    if (const Var *var = reinterpret_cast<const Var *>(expr); IsA(expr, Var) && var->varlevelsup == 0)
        name = get_rte_attribute_name(rt_fetch(var->varno, query->rtable), var->varattno);
    else if (IsA(expr, Aggref))
        name = get_func_name(reinterpret_cast<const Aggref *>(expr)->aggfnoid);
    return name != nullptr ? pstrdup(name) : psprintf("column%d", number);
}

// Of the query as it was; its range table, conditions and groups are the subquery's.
Query *make_subquery(const Query *query, const GroupColumns *groups) {
    Query *below = level_below(query);
    below->hasWindowFuncs = false;
    below->windowClause = NIL;
    below->targetList = below->groupClause = NIL;
    ListCell *cell;
    foreach (cell, groups->columns) {
        const int number = foreach_current_index(cell) + 1;
        TargetEntry *target =
            makeTargetEntry(static_cast<Expr *>(copyObject(lfirst(cell))), static_cast<AttrNumber>(number),
                            name_of(query, static_cast<const Node *>(lfirst(cell)), number), false);
        if (number <= groups->nkeys) {
            SortGroupClause *clause = static_cast<SortGroupClause *>(
                copyObject(list_nth_node(SortGroupClause, query->groupClause, number - 1)));
            target->ressortgroupref = clause->tleSortGroupRef = static_cast<Index>(number);
            below->groupClause = lappend(below->groupClause, clause);
        }
        below->targetList = lappend(below->targetList, target);
    }
    IncrementVarSublevelsUp(reinterpret_cast<Node *>(below), 1, 1);
    return below;
}

bool is_grouped_with_windows(const Query *query) {
    return query->commandType == CMD_SELECT && query->hasWindowFuncs && query->groupClause != NIL &&
           query->groupingSets == NIL && query->setOperations == nullptr && !query->hasTargetSRFs &&
           query->rowMarks == NIL && !query->hasModifyingCTE && !limits_by_subquery(query);
}

bool lift_level(Query *query) {
    if (!is_grouped_with_windows(query))
        return false;
    resolve_group_references(query);
    GroupColumns groups{1, NIL, 0, nullptr};
    ListCell *cell;
    foreach (cell, query->groupClause)
        groups.columns =
            lappend(groups.columns, get_sortgroupclause_expr(lfirst_node(SortGroupClause, cell), query->targetList));
    groups.nkeys = list_length(groups.columns);
    if (contain_volatile_functions(reinterpret_cast<Node *>(groups.columns)))
        return refuse("windows over groups by volatile functions");
    // (Frames' offsets read no row, and stay constants though a key be the same one.)
    Node *targets = reinterpret_cast<Node *>(query->targetList);
    if (!over_group_columns(&groups, value_of, &targets) || list_length(groups.columns) > MaxTupleAttributeNumber)
        return refuse("windows over groups beside subqueries, GROUPING() or columns that depend on a primary key");

    Query *below = make_subquery(query, &groups);
    query->targetList = reinterpret_cast<List *>(targets);
    query->targetList = wanted_targets(query);
    read_subquery(query, below, "groups");
    return true;
}

} // namespace

bool may_have_grouped_windows(const Query *query) { return has_level(query, is_grouped_with_windows); }

bool lift_grouped_windows(Query *query) { return rewrite_levels(query, lift_level); }

} // namespace gpuscan
