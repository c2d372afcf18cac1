// Comparisons with a numeric whose scale nobody knows before it is there: a parameter, the result of a subquery that runs
// once, a column that a CPU plan computes (an average).
//
// The other side x is a numeric of scale s, so among its values the comparison with y is one with a multiple of 10^-s:
//
//     x < y  and  x >= y     with y rounded up
//     x <= y  and  x > y     with y rounded down
//     x = y  and  x <> y     with y if it is such a multiple; else with a number that x never is
//
// What rounds is the encoding of the constant or column for this one comparison (encode.h); numbers beyond every x, NaN
// (larger than all numbers in PostgreSQL's order) and the infinities become numbers beyond every x. So nothing is inexact and
// nothing has to be given up.
#include "pg/pg.h"

#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

bool is_bare_numeric(const Expr *expr) {
    int precision, scale;
    Node *node = reinterpret_cast<Node *>(const_cast<Expr *>(expr));
    return getBaseType(exprType(node)) == NUMERICOID && !numeric_typmod(exprTypmod(node), &precision, &scale);
}

// The source of the column, if it comes from a CPU plan; else -1.
static int plan_source_of(const Translation *t, const Expr *expr) {
    const Var *var = reinterpret_cast<const Var *>(expr);
    if (!IsA(expr, Var) || t->probing || t->groups != nullptr || var->varlevelsup != 0 || var->varattno <= 0)
        return -1;
    for (int i = 0; i < t->nsources; ++i)
        if (!t->sources[i].is_relation && t->sources[i].stage_columns == NIL &&
            static_cast<int>(t->sources[i].rti) == static_cast<int>(var->varno))
            return i;
    return -1;
}

bool is_unscaled(const Translation *t, Expr *expr) {
    Expr *bare = strip_relabels(expr);
    if (bare == nullptr || IsA(bare, Const) || !is_bare_numeric(bare))
        return false;
    return plan_source_of(t, bare) >= 0 || is_late_constant(bare);
}

static Rounding rounding_for(ir::Op op, bool unscaled_right) {
    switch (op) {
    case ir::Op::Lt:
    case ir::Op::Ge:
        return unscaled_right ? Rounding::Up : Rounding::Down;
    case ir::Op::Le:
    case ir::Op::Gt:
        return unscaled_right ? Rounding::Down : Rounding::Up;
    default:
        return Rounding::OrElsewhere;
    }
}

bool translate_unscaled_comparison(Translation *t, ir::Op op, List *args, TypedExpr *out) {
    Expr *left = static_cast<Expr *>(linitial(args)), *right = static_cast<Expr *>(lsecond(args));
    bool unscaled_right = is_unscaled(t, right);
    if (unscaled_right && is_unscaled(t, left))
        return refuse_with("declare one of the columns as numeric(precision, scale)",
                           "a comparison of two numerics without precision and scale");
    TypedExpr known;
    if (!translate(t, unscaled_right ? left : right, &known))
        return false;
    if (known.kind != SqlKind::Numeric)
        return refuse_with("declare the column as numeric(precision, scale)",
                           "a comparison with a numeric without precision and scale");
    Type type = known.precision <= 18 && known.type == Type::I64 && !known.literal ? Type::I64 : Type::I128;
    ir::Index known_node, unscaled_node;
    if (!as_node(t, known, type, known.scale, &known_node))
        return false;
    Expr *unscaled = strip_relabels(unscaled_right ? right : left);
    Rounding rounding = rounding_for(op, unscaled_right);
    int source = plan_source_of(t, unscaled);
    bool found = source >= 0 ? add_rounded_column(t, source, reinterpret_cast<Var *>(unscaled), type, known.scale,
                                                  rounding, &unscaled_node)
                             : add_rounded_constant(t, unscaled, type, known.scale, rounding, &unscaled_node);
    if (!found)
        return false;
    bool_value(out,
               unscaled_right ? add_expr(t, op, Type::Bool, known_node, unscaled_node)
                              : add_expr(t, op, Type::Bool, unscaled_node, known_node),
               true);
    return true;
}

} // namespace gpuscan
