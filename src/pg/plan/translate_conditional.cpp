// CASE, COALESCE, NULLIF: of which type and scale is a value that may come from any of several branches?
//
// All branches are of one SQL type, but numerics differ in scale and digits: the result takes the largest scale and as
// many digits as any branch needs.
#include "pg/pg.h"

#include "pg/plan/refusal.h"
#include "pg/plan/translate_parts.h"

namespace gpuscan {

// ---- values of one common shape ----

struct Shape {
    SqlKind kind;
    Type type;
    int32 scale;
    int precision;
    bool mixed_scale;
    bool nullable;
};

// The type and scale that can hold every one of the values, which are of one SQL type.
static bool common_shape(const Value *values, int count, SqlKind kind, Shape *shape) {
    *shape = Shape{};
    shape->kind = kind;
    if (kind == SqlKind::None || is_text_kind(kind))
        return refuse("a conditional expression with a result of type text or of a type that no device knows");
    for (int i = 0; i < count; ++i)
        shape->nullable |= values[i].nullable;
    if (kind != SqlKind::Numeric) {
        shape->type = engine_type(kind);
        if (is_integer_kind(kind))
            shape->precision = integer_digits(kind);
        return true;
    }
    bool first = true;
    int whole = 0;
    for (int i = 0; i < count; ++i) {
        const Value &v = values[i];
        if (v.literal && v.literal_null)
            continue;
        shape->mixed_scale |= v.mixed_scale || (!first && v.scale != shape->scale);
        shape->scale = first ? v.scale : (v.scale > shape->scale ? v.scale : shape->scale);
        whole = v.precision - v.scale > whole ? v.precision - v.scale : whole;
        first = false;
    }
    shape->precision = whole + shape->scale;
    shape->type = numeric_type(shape->precision);
    return true;
}

static void shaped_value(Value *out, const Shape &shape, ir::Index node) {
    node_value(out, shape.kind, shape.type, node, shape.nullable);
    out->scale = shape.scale;
    out->precision = shape.precision;
    out->mixed_scale = shape.mixed_scale;
}

// ---- conditional expressions ----

struct CaseTest {
    Expr *arg;
};

// CASE x WHEN a: the comparison reads x as a CaseTestExpr; a nested CASE with an argument has its own.
static Node *replace_case_test(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (IsA(node, CaseTestExpr))
        return reinterpret_cast<Node *>(copyObject(static_cast<CaseTest *>(context)->arg));
    if (IsA(node, CaseExpr) && reinterpret_cast<CaseExpr *>(node)->arg != nullptr) {
        CaseExpr *copy = static_cast<CaseExpr *>(copyObject(reinterpret_cast<CaseExpr *>(node)));
        copy->arg = reinterpret_cast<Expr *>(replace_case_test(reinterpret_cast<Node *>(copy->arg), context));
        return reinterpret_cast<Node *>(copy);
    }
    return mutate_expression(node, replace_case_test, context);
}

bool translate_case(Translation *t, const CaseExpr *expr, Value *out) {
    int count = list_length(expr->args);
    ir::Index *conditions = static_cast<ir::Index *>(palloc(sizeof(ir::Index) * static_cast<Size>(count)));
    Value *results = static_cast<Value *>(palloc(sizeof(Value) * static_cast<Size>(count + 1)));
    for (int i = 0; i < count; ++i) {
        const CaseWhen *when = static_cast<const CaseWhen *>(list_nth(expr->args, i));
        Expr *condition = when->expr;
        if (expr->arg != nullptr) {
            CaseTest test{expr->arg};
            condition = reinterpret_cast<Expr *>(replace_case_test(reinterpret_cast<Node *>(condition), &test));
        }
        if (!translate_condition(t, condition, &conditions[i]) || !translate(t, when->result, &results[i]))
            return false;
    }
    Shape shape;
    if (!translate(t, expr->defresult, &results[count]) ||
        !common_shape(results, count + 1, sql_kind(expr->casetype), &shape))
        return false;
    ir::Index node;
    if (!as_node(t, results[count], shape.type, shape.scale, &node))
        return false;
    for (int i = count; i-- > 0;) {
        ir::Index taken;
        if (!as_node(t, results[i], shape.type, shape.scale, &taken))
            return false;
        node = add_expr(t, ir::Op::Case, shape.type, conditions[i], taken, node);
    }
    shaped_value(out, shape, node);
    return true;
}

bool translate_coalesce(Translation *t, const CoalesceExpr *expr, Value *out) {
    int count = list_length(expr->args);
    Value *values = static_cast<Value *>(palloc(sizeof(Value) * static_cast<Size>(count)));
    for (int i = 0; i < count; ++i)
        if (!translate(t, static_cast<Expr *>(list_nth(expr->args, i)), &values[i]))
            return false;
    Shape shape;
    if (!common_shape(values, count, sql_kind(expr->coalescetype), &shape))
        return false;
    ir::Index node = ir::none;
    shape.nullable = true;
    for (int i = count; i-- > 0;) {
        ir::Index value;
        if (!as_node(t, values[i], shape.type, shape.scale, &value))
            return false;
        node = node == ir::none ? value : add_expr(t, ir::Op::Coalesce, shape.type, value, node);
        shape.nullable &= values[i].nullable;
    }
    shaped_value(out, shape, node);
    return true;
}

bool translate_nullif(Translation *t, const NullIfExpr *expr, Value *out) {
    ir::Op op;
    Value a, b, equal;
    ir::Index node, condition;
    Oid funcid = OidIsValid(expr->opfuncid) ? expr->opfuncid : get_opcode(expr->opno);
    if (!comparison_operator(funcid, &op) || op != ir::Op::Eq)
        return refuse("NULLIF by %s", format_procedure(funcid));
    if (!may_execute(t, funcid) || !translate(t, static_cast<Expr *>(linitial(expr->args)), &a) ||
        !translate(t, static_cast<Expr *>(lsecond(expr->args)), &b) || !translate_comparison(t, op, a, b, &equal) ||
        !as_own_node(t, a, &node) || !as_own_node(t, equal, &condition))
        return false;
    *out = a;
    out->literal = false;
    out->nullable = true;
    out->expr = add_expr(t, ir::Op::Case, a.type, condition, add_constant(t, a.type, 0, true), node);
    return true;
}

} // namespace gpuscan
