// AND, OR, NOT and tests for NULL and truth, and the question they depend on: which nodes can raise an error.
//
// PostgreSQL stops at the first operand that decides; a device evaluates both. That is the same answer unless the second
// one raises an error.
#include "pg/pg.h"

#include "pg/plan/refusal.h"
#include "pg/plan/translate_parts.h"

namespace gpuscan {

static bool is_demanded(const Translation *t, const ir::Expr &e) {
    return e.op == ir::Op::Lookup && t->lookups[static_cast<int>(e.b)].demanded;
}

bool is_demanded(const Translation *t, ir::Index node) {
    const ir::Expr &e = t->exprs[static_cast<int>(node)];
    bool demanded = is_demanded(t, e);
    ir::for_each_operand(e, [&](ir::Index operand) { demanded = demanded || is_demanded(t, operand); });
    return demanded;
}

bool may_raise(const Translation *t, ir::Index node) {
    const ir::Expr &e = t->exprs[static_cast<int>(node)];
    bool raises = ir::raises_itself(&t->exprs[0], e) || is_demanded(t, e);
    ir::for_each_operand(e, [&](ir::Index operand) { raises = raises || may_raise(t, operand); });
    return raises;
}

// a AND b, a OR b: PostgreSQL does not evaluate b where a decides. That shows if b can raise an error, and only then a
// CASE, whose arms are evaluated only where they are taken, stands around the plain operator.
ir::Index connect_conditions(Translation *t, BoolExprType type, ir::Index a, ir::Index b) {
    bool conjunction = type == AND_EXPR;
    ir::Index both = add_expr(t, conjunction ? ir::Op::And : ir::Op::Or, Type::Bool, a, b);
    if (!may_raise(t, b))
        return both;
    ir::Index decided = conjunction ? add_expr(t, ir::Op::Not, Type::Bool, a) : a;
    return add_expr(t, ir::Op::Case, Type::Bool, decided, add_constant(t, Type::Bool, conjunction ? 0 : 1, false),
                    both);
}

bool translate_bool(Translation *t, const BoolExpr *expr, Value *out) {
    ir::Index result = ir::none;
    bool nullable = false;
    ListCell *cell;
    foreach (cell, expr->args) {
        Value value;
        ir::Index node;
        if (!translate(t, static_cast<Expr *>(lfirst(cell)), &value) || !as_own_node(t, value, &node))
            return false;
        nullable |= value.nullable;
        if (expr->boolop == NOT_EXPR)
            result = add_expr(t, ir::Op::Not, Type::Bool, node);
        else if (result == ir::none)
            result = node;
        else
            result = connect_conditions(t, expr->boolop, result, node);
    }
    bool_value(out, result, nullable);
    return true;
}

bool translate_null_test(Translation *t, const NullTest *test, Value *out) {
    Value value;
    ir::Index node;
    if (test->argisrow)
        return refuse("IS NULL of a row");
    if (!translate(t, test->arg, &value) || !as_own_node(t, value, &node))
        return false;
    ir::Op op = test->nulltesttype == IS_NULL ? ir::Op::IsNull : ir::Op::IsNotNull;
    bool_value(out, add_expr(t, op, Type::Bool, node), false);
    return true;
}

bool translate_boolean_test(Translation *t, const BooleanTest *test, Value *out) {
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
