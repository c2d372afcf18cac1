// AND, OR, NOT and tests for NULL and truth.
//
// PostgreSQL stops at the first operand that decides; a device evaluates both. That is the same answer unless the second
// one raises an error.
#include "pg/pg.h"

#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

// a AND b, a OR b: PostgreSQL does not evaluate b where a decides. That shows if b can raise an error, and only then a
// CASE, whose arms are evaluated only where they are taken, stands around the plain operator.
static ir::Index connect_two(Translation *t, BoolExprType type, ir::Index a, ir::Index b) {
    bool conjunction = type == AND_EXPR;
    ir::Index both = add_expr(t, conjunction ? ir::Op::And : ir::Op::Or, Type::Bool, a, b);
    if (!may_raise(t, b))
        return both;
    ir::Index decided = conjunction ? add_expr(t, ir::Op::Not, Type::Bool, a) : a;
    return add_expr(t, ir::Op::Case, Type::Bool, decided, add_constant(t, Type::Bool, conjunction ? 0 : 1, false),
                    both);
}

// By halves, so that a thousand conditions are ten nodes deep: what decides in the first half keeps all of the second from being
// evaluated.
ir::Index connect_conditions(Translation *t, BoolExprType type, const ir::Index *conditions, int count) {
    if (count == 1)
        return conditions[0];
    const int first = (count + 1) / 2;
    const ir::Index a = connect_conditions(t, type, conditions, first);
    return connect_two(t, type, a, connect_conditions(t, type, conditions + first, count - first));
}

bool translate_bool(Translation *t, const BoolExpr *expr, TypedExpr *out) {
    Array<ir::Index> conditions{};
    bool nullable = false;
    ListCell *cell;
    foreach (cell, expr->args) {
        TypedExpr value;
        ir::Index node;
        if (!translate(t, static_cast<Expr *>(lfirst(cell)), &value) || !as_own_node(t, value, &node))
            return false;
        nullable |= value.nullable;
        append(&conditions, node);
    }
    const ir::Index result = expr->boolop == NOT_EXPR
                                 ? add_expr(t, ir::Op::Not, Type::Bool, conditions[0])
                                 : connect_conditions(t, expr->boolop, conditions.at, conditions.count);
    bool_value(out, result, nullable);
    return true;
}

bool translate_null_test(Translation *t, const NullTest *test, TypedExpr *out) {
    TypedExpr value;
    ir::Index node;
    if (test->argisrow)
        return refuse("IS NULL of a row");
    if (!translate(t, test->arg, &value) || !as_own_node(t, value, &node))
        return false;
    ir::Op op = test->nulltesttype == IS_NULL ? ir::Op::IsNull : ir::Op::IsNotNull;
    bool_value(out, add_expr(t, op, Type::Bool, node), false);
    return true;
}

bool translate_boolean_test(Translation *t, const BooleanTest *test, TypedExpr *out) {
    ir::Index a;
    if (!translate_condition(t, test->arg, &a))
        return false;
    auto node = [t](ir::Op op, ir::Index x) { return add_expr(t, op, Type::Bool, x); };
    ir::Index result = a;
    switch (test->booltesttype) {
    case IS_TRUE:
        result = node(ir::Op::IsTrue, a);
        break;
    case IS_NOT_TRUE:
        result = node(ir::Op::Not, node(ir::Op::IsTrue, a));
        break;
    case IS_FALSE:
        result = node(ir::Op::IsTrue, node(ir::Op::Not, a));
        break;
    case IS_NOT_FALSE:
        result = node(ir::Op::Not, node(ir::Op::IsTrue, node(ir::Op::Not, a)));
        break;
    case IS_UNKNOWN:
        result = node(ir::Op::IsNull, a);
        break;
    case IS_NOT_UNKNOWN:
        result = node(ir::Op::IsNotNull, a);
        break;
    }
    bool_value(out, result, false);
    return true;
}

} // namespace gpuscan
