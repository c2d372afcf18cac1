// See group_columns.h.
#include "pg/pg.h"

#include "pg/rewrite/group_columns.h"

namespace gpuscan {
namespace {

struct Over {
    GroupColumns *groups;
    AggregateOverColumns aggregate;
    bool possible;
};

Node *over_columns(Node *node, void *context) {
    Over *over = static_cast<Over *>(context);
    if (node == nullptr || !over->possible)
        return node;
    for (int key = 0; key < over->groups->nkeys; ++key)
        if (equal(list_nth(over->groups->columns, key), node))
            return reinterpret_cast<Node *>(column_as_var(over->groups, key + 1));
    if (IsA(node, Aggref) && reinterpret_cast<const Aggref *>(node)->agglevelsup == 0) {
        Expr *value = over->aggregate(over->groups, reinterpret_cast<const Aggref *>(node));
        over->possible = value != nullptr;
        return reinterpret_cast<Node *>(value);
    }
    // (A column beside the keys depends on a primary key; a subquery sees this level from below.)
    if ((IsA(node, Var) && reinterpret_cast<const Var *>(node)->varlevelsup == 0) || IsA(node, SubLink) ||
        IsA(node, GroupingFunc)) {
        over->possible = false;
        return node;
    }
    return mutate_expression(node, over_columns, context);
}

} // namespace

int column_of(GroupColumns *groups, Node *expr) {
    ListCell *cell;
    foreach (cell, groups->columns)
        if (equal(lfirst(cell), expr))
            return foreach_current_index(cell) + 1;
    groups->columns = lappend(groups->columns, expr);
    return list_length(groups->columns);
}

Var *column_as_var(const GroupColumns *groups, int column) {
    const Node *expr = static_cast<const Node *>(list_nth(groups->columns, column - 1));
    return makeVar(groups->rti, static_cast<AttrNumber>(column), exprType(expr), exprTypmod(expr), exprCollation(expr),
                   0);
}

Node *other_aggregate(const Aggref *aggref, Oid function, Oid type) {
    Aggref *copy = static_cast<Aggref *>(copyObject(const_cast<Aggref *>(aggref)));
    copy->aggfnoid = function;
    copy->aggtype = type;
    copy->aggcollid = InvalidOid;
    return reinterpret_cast<Node *>(copy);
}

Oid sum_of_average(Oid function, Oid *type) {
    *type = function == F_AVG_INT8 || function == F_AVG_NUMERIC ? NUMERICOID : INT8OID;
    switch (function) {
    case F_AVG_INT2:
        return F_SUM_INT2;
    case F_AVG_INT4:
        return F_SUM_INT4;
    case F_AVG_INT8:
        return F_SUM_INT8;
    case F_AVG_NUMERIC:
        return F_SUM_NUMERIC;
    default:
        return InvalidOid;
    }
}

Expr *call_of(Oid function, Oid type, List *args) {
    return reinterpret_cast<Expr *>(makeFuncExpr(function, type, args, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
}

Aggref *make_aggregate(Oid function, Oid type, Oid collation, Expr *arg) {
    Aggref *result = makeNode(Aggref);
    const Node *node = reinterpret_cast<const Node *>(arg);
    result->aggfnoid = function;
    result->aggtype = type;
    result->aggcollid = collation;
    result->inputcollid = exprCollation(node);
    result->aggtranstype = InvalidOid; // the planner's
    result->aggargtypes = list_make1_oid(exprType(node));
    result->args = list_make1(makeTargetEntry(arg, 1, nullptr, false));
    result->aggkind = AGGKIND_NORMAL;
    result->aggsplit = AGGSPLIT_SIMPLE;
    result->aggno = result->aggtransno = -1;
    result->location = -1;
    return result;
}

bool over_group_columns(GroupColumns *groups, AggregateOverColumns aggregate, Node **expr) {
    Over over{groups, aggregate, true};
    *expr = over_columns(*expr, &over);
    return over.possible;
}

} // namespace gpuscan
