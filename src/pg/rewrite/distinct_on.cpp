// DISTINCT ON as the first row of each partition of a window:
//
//   SELECT DISTINCT ON (k) k, x FROM t ORDER BY k, d DESC LIMIT n
//       -> SELECT k, x FROM (SELECT k, x, d, row_number() OVER (PARTITION BY k ORDER BY d DESC) FROM (SELECT k, x, d FROM t) rows) numbered
//          WHERE row_number < 2 ORDER BY k, d DESC LIMIT n
//
// PostgreSQL sorts all rows and drops those that repeat a key; from a device they all would have to come. Of a window a device drops the
// others itself (fragment/windows_path.cpp). The innermost query is the one that was written: of rows PostgreSQL pulls it up, groups
// and windows stay a level of their own.
//
// Which of the rows that tie in ORDER BY comes first is open in both forms. Every expression that may raise an error is evaluated for the
// rows for which PostgreSQL evaluates it: all that there are before DISTINCT. What is pulled up would be evaluated for the first rows only,
// so the window is ordered by it, too, behind everything else: a window's keys are computed below it, and it decides among ties alone.
// (Costly expressions PostgreSQL may put off until a LIMIT or a cursor wants their rows, see make_sort_input_target, so these must be
// unable to raise an error.) Privileges belong to range table entries, which move as they are.
#include "pg/pg.h"

#include "pg/rewrite/distinct_on.h"

#include <algorithm>

#include "pg/refusal.h"
#include "pg/rewrite/error_free_expression.h"
#include "pg/rewrite/level_below.h"
#include "pg/rewrite/query_levels.h"

namespace gpuscan {
namespace {

bool is_distinct_on(const Query *query) {
    return query->commandType == CMD_SELECT && query->hasDistinctOn && query->setOperations == nullptr &&
           !query->hasTargetSRFs && query->rowMarks == NIL && !query->hasModifyingCTE;
}

// As make_sort_input_target has it, to which a subquery is costly.
bool may_be_put_off(const TargetEntry *target) {
    Node *expr = folded(reinterpret_cast<const Node *>(target->expr));
    if (expr == nullptr || contain_subplans(expr))
        return true;
    QualCost cost;
    cost_qual_eval_node(&cost, expr, nullptr);
    return cost.per_tuple > 10 * cpu_operator_cost;
}

bool is_pulled_up(const Query *query) {
    return !query->hasAggs && !query->hasWindowFuncs && query->groupClause == NIL && query->groupingSets == NIL;
}

// Is to be evaluated for rows that are not shown.
bool may_raise(const Query *query, const TargetEntry *target) {
    return target->ressortgroupref == 0 && !is_error_free(query, reinterpret_cast<Node *>(target->expr), true);
}

Oid order_of(const TargetEntry *target) {
    return lookup_type_cache(exprType(reinterpret_cast<Node *>(target->expr)), TYPECACHE_LT_OPR)->lt_opr;
}

bool is_possible(const Query *query) {
    if (contain_volatile_functions(reinterpret_cast<Node *>(query->targetList)))
        return refuse("DISTINCT ON beside volatile functions");
    if (limits_by_subquery(query))
        return refuse("DISTINCT ON with a subquery in LIMIT or OFFSET");
    ListCell *cell;
    foreach (cell, query->targetList) {
        const TargetEntry *target = lfirst_node(TargetEntry, cell);
        if (!may_raise(query, target))
            continue;
        if (may_be_put_off(target))
            return refuse("DISTINCT ON beside a costly expression that may raise an error");
        if (order_of(target) == InvalidOid)
            return refuse("DISTINCT ON beside an expression that may raise an error, of a type without an order");
    }
    return true;
}

// The columns of a subquery that has these targets.
List *columns_of(const List *targets) {
    List *columns = NIL;
    ListCell *cell;
    foreach (cell, targets) {
        const TargetEntry *target = lfirst_node(TargetEntry, cell);
        TargetEntry *column = flatCopyTargetEntry(const_cast<TargetEntry *>(target));
        column->expr = reinterpret_cast<Expr *>(makeVarFromTargetEntry(1, const_cast<TargetEntry *>(target)));
        columns = lappend(columns, column);
    }
    return columns;
}

// Of the subquery's targets; `query` is the level as it was written.
void order_by_what_may_raise(const Query *query, List *targets, WindowClause *window) {
    Index last = 0;
    ListCell *cell, *written;
    foreach (cell, targets)
        last = std::max(last, lfirst_node(TargetEntry, cell)->ressortgroupref);
    forboth (cell, targets, written, query->targetList) {
        if (!may_raise(query, lfirst_node(TargetEntry, written)))
            continue;
        TargetEntry *target = lfirst_node(TargetEntry, cell);
        SortGroupClause *clause = makeNode(SortGroupClause);
        target->ressortgroupref = clause->tleSortGroupRef = ++last;
        clause->sortop = order_of(target);
        clause->eqop = get_equality_op_for_ordering_op(clause->sortop, nullptr);
        window->orderClause = lappend(window->orderClause, clause);
    }
}

// Shows all of its targets, also those that are only sorted by.
void show_all(Query *query) {
    ListCell *cell;
    foreach (cell, query->targetList) {
        TargetEntry *target = lfirst_node(TargetEntry, cell);
        target->resjunk = false;
        if (target->resname == nullptr)
            target->resname = psprintf("column%d", target->resno);
    }
}

// ORDER BY begins with DISTINCT ON's columns, or is a part of them.
WindowClause *window_of(const Query *query) {
    WindowClause *window = makeNode(WindowClause);
    window->winref = 1;
    window->frameOptions = FRAMEOPTION_DEFAULTS;
    window->partitionClause = static_cast<List *>(copyObject(query->distinctClause));
    ListCell *cell;
    foreach (cell, query->sortClause) {
        const SortGroupClause *clause = lfirst_node(SortGroupClause, cell);
        if (get_sortgroupref_clause_noerr(clause->tleSortGroupRef, query->distinctClause) == nullptr)
            window->orderClause = lappend(window->orderClause, copyObject(const_cast<SortGroupClause *>(clause)));
    }
    return window;
}

TargetEntry *row_number(int column) {
    WindowFunc *function = makeNode(WindowFunc);
    function->winfnoid = F_ROW_NUMBER;
    function->wintype = INT8OID;
    function->winref = 1;
    function->location = -1;
    return makeTargetEntry(reinterpret_cast<Expr *>(function), static_cast<AttrNumber>(column), pstrdup("row_number"),
                           false);
}

Node *is_first(const TargetEntry *number) {
    Const *two = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(2), false, FLOAT8PASSBYVAL);
    Var *column = makeVarFromTargetEntry(1, const_cast<TargetEntry *>(number));
    Expr *test = make_opclause(Int8LessOperator, BOOLOID, false, reinterpret_cast<Expr *>(column),
                               reinterpret_cast<Expr *>(two), InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr *>(test));
    return reinterpret_cast<Node *>(test);
}

// The query as it was, of all rows and in no order, for two levels above.
Query *rows_below(const Query *query) {
    Query *below = level_below(query);
    below->targetList = static_cast<List *>(copyObject(query->targetList));
    show_all(below);
    IncrementVarSublevelsUp(reinterpret_cast<Node *>(below), 2, 1);
    return below;
}

bool number_level(Query *query) {
    if (!is_distinct_on(query) || !is_possible(query))
        return false;
    Query *below = rows_below(query);
    Query *numbered = makeNode(Query);
    numbered->commandType = CMD_SELECT;
    numbered->canSetTag = query->canSetTag;
    numbered->hasWindowFuncs = true;
    WindowClause *window = window_of(query);
    numbered->windowClause = list_make1(window);
    numbered->targetList = columns_of(below->targetList);
    if (is_pulled_up(query))
        order_by_what_may_raise(query, numbered->targetList, window);
    read_subquery(numbered, below, "rows");
    TargetEntry *number = row_number(list_length(numbered->targetList) + 1);
    numbered->targetList = lappend(numbered->targetList, number);

    ListCell *shown, *cell;
    List *targets = columns_of(below->targetList);
    forboth (cell, targets, shown, query->targetList)
        lfirst_node(TargetEntry, cell)->resjunk = lfirst_node(TargetEntry, shown)->resjunk;
    query->targetList = targets;
    query->hasWindowFuncs = query->hasDistinctOn = false;
    query->windowClause = query->distinctClause = NIL;
    read_subquery(query, numbered, "numbered");
    query->jointree->quals = is_first(number);
    return true;
}

} // namespace

bool may_have_distinct_on(const Query *query) { return has_level(query, is_distinct_on); }

bool number_distinct_rows(Query *query) { return rewrite_levels(query, number_level); }

} // namespace gpuscan
