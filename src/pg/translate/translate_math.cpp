// Functions of one number: of integers and numerics by exact arithmetic of scaled integers, of float8 by IEEE 754.
//
// What libm may round differently from machine to machine (power, exp, ln, the trigonometric ones) stays with PostgreSQL.
#include "pg/pg.h"

#include <algorithm>

#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

static ir::Index constant_of(Translation *t, Type type, int128 value) { return add_constant(t, type, value, false); }

static ir::Index binary(Translation *t, ir::Op op, Type type, ir::Index a, ir::Index b) {
    return add_expr(t, op, type, a, b);
}

static ir::Index choose(Translation *t, Type type, ir::Index condition, ir::Index a, ir::Index b) {
    return add_expr(t, ir::Op::Case, type, condition, a, b);
}

static int128 power_of_ten(int exponent) {
    int128 power = 1;
    for (int i = 0; i < exponent; ++i)
        power *= 10;
    return power;
}

bool rounded_numeric(Translation *t, const TypedExpr &a, int32 scale, bool cut, TypedExpr *out) {
    const int whole = a.precision - a.scale;
    ir::Index node;
    if (scale >= a.scale) {
        Type type = numeric_type(whole + scale);
        if (!as_node(t, a, type, scale, &node))
            return false;
        node_value(out, SqlKind::Numeric, type, node, a.nullable);
        out->scale = scale;
        out->precision = whole + scale;
        return true;
    }
    const int128 power = power_of_ten(a.scale - scale);
    const Type type = a.type == Type::I128 || a.precision > 17 ? Type::I128 : Type::I64;
    if (!fits(power, type))
        return refuse("numeric scales are too far apart");
    if (!as_node(t, a, type, a.scale, &node))
        return false;
    if (!cut) {
        ir::Index half = constant_of(t, type, power / 2);
        node = choose(t, type, binary(t, ir::Op::Lt, Type::Bool, node, constant_of(t, type, 0)),
                      binary(t, ir::Op::Sub, type, node, half), binary(t, ir::Op::Add, type, node, half));
    }
    node_value(out, SqlKind::Numeric, type, binary(t, ir::Op::Div, type, node, constant_of(t, type, power)),
               a.nullable);
    out->scale = scale;
    out->precision = (whole > 0 ? whole : 0) + scale + 1;
    return true;
}

static bool round_to(Translation *t, List *args, const TypedExpr &a, bool cut, TypedExpr *out) {
    int32 scale = 0;
    if (list_length(args) > 1) {
        const Const *digits = reinterpret_cast<const Const *>(strip_relabels(static_cast<Expr *>(lsecond(args))));
        if (!IsA(digits, Const) || digits->constisnull)
            return refuse("round or trunc to a number of digits that is not constant");
        scale = DatumGetInt32(digits->constvalue);
        if (scale < -18 || scale > 30)
            return refuse("round or trunc to %d digits", scale);
    }
    if (scale >= 0)
        return rounded_numeric(t, a, scale, cut, out);
    TypedExpr rounded;
    ir::Index node;
    const int precision = std::max(a.precision - a.scale, -scale) + 1; // hundreds, shown without decimals
    const Type type = numeric_type(precision);
    if (!rounded_numeric(t, a, scale, cut, &rounded))
        return false;
    rounded.scale = 0;
    if (!as_own_node(t, rounded, &node))
        return false;
    if (rounded.type != type)
        node = add_expr(t, ir::Op::Cast, type, node);
    node_value(out, SqlKind::Numeric, type,
               binary(t, ir::Op::Mul, type, node, constant_of(t, type, power_of_ten(-scale))), a.nullable);
    out->precision = precision;
    return true;
}

// The whole number below (or above): what is cut off, and one more where it was cut in the wrong direction.
static bool whole_number(Translation *t, const TypedExpr &a, bool up, TypedExpr *out) {
    TypedExpr cut;
    ir::Index node, whole;
    if (!rounded_numeric(t, a, 0, true, &cut))
        return false;
    *out = cut;
    if (a.scale == 0)
        return true;
    const Type type = cut.type;
    if (!as_node(t, a, type, a.scale, &node) || !as_own_node(t, cut, &whole))
        return false;
    ir::Index back = binary(t, ir::Op::Mul, type, whole, constant_of(t, type, power_of_ten(a.scale)));
    ir::Index wrong = binary(t, up ? ir::Op::Gt : ir::Op::Lt, Type::Bool, node, back);
    out->literal = false;
    out->expr =
        choose(t, type, wrong, binary(t, up ? ir::Op::Add : ir::Op::Sub, type, whole, constant_of(t, type, 1)), whole);
    return true;
}

// Bits of a shorter integer are those of a longer one, signs included. A shift to the left loses what a smallint has no bits for.
bool translate_bits(Translation *t, const Builtin &builtin, SqlKind kind, const TypedExpr &a, const TypedExpr *b,
                    TypedExpr *out) {
    const Type width = ir::function_info(builtin.function).argument;
    ir::Index left, right;
    if (!as_node(t, a, width, 0, &left))
        return false;
    if (b == nullptr)
        right = constant_of(t, width, -1);
    else if (!as_node(t, *b, width, 0, &right))
        return false;
    ir::Index node = add_call(t, builtin.function, left, right);
    const Type type = engine_type(kind);
    if (type == Type::I16 && builtin.function == ir::Function::ShiftLeft32)
        node = add_call(t, ir::Function::ShiftRight32,
                        add_call(t, ir::Function::ShiftLeft32, node, constant_of(t, width, 16)),
                        constant_of(t, width, 16));
    if (type != width)
        node = add_expr(t, ir::Op::Cast, type, node);
    node_value(out, kind, type, node, a.nullable || (b != nullptr && b->nullable));
    return true;
}

bool translate_math(Translation *t, const Builtin &builtin, SqlKind kind, List *args, const TypedExpr &a,
                    TypedExpr *out) {
    ir::Index node;
    if (builtin.rule == Rule::Round || builtin.rule == Rule::Truncate)
        return round_to(t, args, a, builtin.rule == Rule::Truncate, out);
    if (builtin.rule == Rule::Ceil || builtin.rule == Rule::Floor)
        return whole_number(t, a, builtin.rule == Rule::Ceil, out);
    if (!as_own_node(t, a, &node))
        return false;
    if (builtin.rule == Rule::OfFloat) {
        if (!is_float_kind(a.kind))
            return refuse("a function of a floating-point number");
        const bool narrow = kind == SqlKind::Float4;
        node = add_call(t, builtin.function, narrow ? add_expr(t, ir::Op::Cast, Type::F64, node) : node);
        node_value(out, kind, a.type, narrow ? add_expr(t, ir::Op::Cast, Type::F32, node) : node, a.nullable);
        return true;
    }
    ir::Index zero = constant_of(t, a.type, 0);
    ir::Index negative = binary(t, ir::Op::Lt, Type::Bool, node, zero);
    if (builtin.rule == Rule::Absolute) {
        *out = a;
        out->literal = false;
        out->expr = choose(t, a.type, negative, add_expr(t, ir::Op::Neg, a.type, node), node);
        return true;
    }
    ir::Index positive = binary(t, ir::Op::Gt, Type::Bool, node, zero);
    ir::Index sign = choose(t, Type::I64, negative, constant_of(t, Type::I64, -1),
                            choose(t, Type::I64, positive, constant_of(t, Type::I64, 1),
                                   choose(t, Type::I64, add_expr(t, ir::Op::IsNull, Type::Bool, node),
                                          add_constant(t, Type::I64, 0, true), constant_of(t, Type::I64, 0))));
    node_value(out, SqlKind::Numeric, Type::I64, sign, a.nullable);
    out->precision = 1;
    return true;
}

} // namespace gpuscan
