// See value_bound.h. By classes of functions:
//
//   truth values            2
//   parts, remainders       as the catalogue of device functions says (values_of_call)
//   one of its arguments    CASE, COALESCE, GREATEST, LEAST: their sum
//   any other function      the product over its arguments, of which a constant has 1 and a column what statistics say
#include "pg/pg.h"

#include "pg/cost/value_bound.h"

#include <algorithm>
#include <cmath>

#include "pg/page_costs/planner_formulas.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

double of_column(PlannerInfo *root, const Var *column) {
    if (column->varlevelsup > 0)
        return HUGE_VAL;
    bool is_guess;
    const double values = distinct_values(root, reinterpret_cast<const Node *>(column), &is_guess);
    return is_guess ? HUGE_VAL : values + 1;
}

double sum_over(PlannerInfo *root, const List *nodes) {
    double sum = 0;
    ListCell *cell;
    foreach (cell, nodes)
        sum += value_bound(root, static_cast<const Node *>(lfirst(cell)));
    return sum;
}

double product_over(PlannerInfo *root, const List *nodes) {
    double product = 1;
    ListCell *cell;
    foreach (cell, nodes)
        product *= value_bound(root, static_cast<const Node *>(lfirst(cell)));
    return product;
}

double of_case(PlannerInfo *root, const CaseExpr *expression) {
    double sum = expression->defresult != nullptr ? 0 : 1;
    ListCell *cell;
    foreach (cell, expression->args)
        sum += value_bound(root, reinterpret_cast<const Node *>(lfirst_node(CaseWhen, cell)->result));
    return sum + sum_over(root, expression->defresult != nullptr ? list_make1(expression->defresult) : NIL);
}

double of_call(PlannerInfo *root, Oid function, const List *args) {
    if (func_volatile(function) == PROVOLATILE_VOLATILE || get_func_retset(function))
        return HUGE_VAL;
    return std::min(values_of_call(function, args) + 1, product_over(root, args));
}

} // namespace

double value_bound(PlannerInfo *root, const Node *expression) {
    check_stack_depth();
    if (exprType(expression) == BOOLOID && !expression_returns_set(const_cast<Node *>(expression)))
        return 3;
    switch (nodeTag(expression)) {
    case T_Const:
    case T_Param:
    case T_SQLValueFunction:
        return 1;
    case T_Var:
        return of_column(root, reinterpret_cast<const Var *>(expression));
    case T_RelabelType:
        return value_bound(root,
                           reinterpret_cast<const Node *>(reinterpret_cast<const RelabelType *>(expression)->arg));
    case T_CoerceViaIO:
        return value_bound(root,
                           reinterpret_cast<const Node *>(reinterpret_cast<const CoerceViaIO *>(expression)->arg));
    case T_FuncExpr: {
        const FuncExpr *call = reinterpret_cast<const FuncExpr *>(expression);
        return of_call(root, call->funcid, call->args);
    }
    case T_OpExpr: {
        const OpExpr *call = reinterpret_cast<const OpExpr *>(expression);
        return of_call(root, get_opcode(call->opno), call->args);
    }
    case T_NullIfExpr:
        return value_bound(
                   root, static_cast<const Node *>(linitial(reinterpret_cast<const NullIfExpr *>(expression)->args))) +
               1;
    case T_CaseExpr:
        return of_case(root, reinterpret_cast<const CaseExpr *>(expression));
    case T_CoalesceExpr:
        return sum_over(root, reinterpret_cast<const CoalesceExpr *>(expression)->args);
    case T_MinMaxExpr:
        return sum_over(root, reinterpret_cast<const MinMaxExpr *>(expression)->args);
    default:
        return HUGE_VAL;
    }
}

} // namespace gpuscan
