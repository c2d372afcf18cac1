// Expressions over the groups of a result: HAVING, and sort keys. Their leaves are group keys and
// finished aggregates; everything else is translated as in expressions over rows.
//
// A sum is an exact integer with a scale, as a column of type numeric(p,s) is, so comparisons with it are exact. An average
// of integers or numerics is not: PostgreSQL divides and rounds, to a number of digits that depends on the operands. But the
// node's own test follows, so it is enough to let pass whatever may be true. With q the exact quotient, of n values that have
// s decimals, the rounded one differs from q by at most half of 10^-s (numeric_div keeps at least the decimals of the sum). So
//
//     avg > c, avg >= c    implies  2 sum + n >= 2 c n        (in units of 10^-s)
//     avg < c, avg <= c    implies  2 sum - n <= 2 c n
//     avg = c              implies  both
//
// which is only right where a condition that is true too often lets a group pass: in a conjunct and under AND and OR.
#include "pg/pg.h"

#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

constexpr int digits_of_sum = 38;

// ---- leaves ----

static const FragmentOutput *output_of(const Translation *t, const Expr *expr) {
    const FragmentSpec *b = t->groups->spec;
    int number = 0;
    for (const List *list : {b->keys, b->aggrefs}) {
        ListCell *cell;
        foreach (cell, list) {
            if (equal(lfirst(cell), expr))
                return &t->groups->outputs[number];
            ++number;
        }
    }
    return nullptr;
}

static bool value_of_key(Translation *t, const FragmentOutput *output, TypedExpr *out) {
    if (is_coded_kind(output->value_kind))
        return refuse("a text or the like in a condition over groups");
    ir::Index node = add_expr(t, ir::Op::Column, output->type, ir::group_keys, static_cast<ir::Index>(output->key));
    Type type = output->type;
    if (is_float_kind(output->value_kind) && is_integer(type)) // date_part() and the like
        node = add_expr(t, ir::Op::Cast, type = Type::F64, node);
    node_value(out, output->value_kind, type, node, true);
    if (output->value_kind == SqlKind::Numeric) {
        out->scale = output->scale;
        out->precision = type == Type::I128 ? digits_of_sum : 18;
        out->mixed_scale = output->largest >= 0;
        out->scale_node = ir::none;
    }
    return true;
}

static ir::Index state_node(Translation *t, const FragmentOutput *output, Type type) {
    return add_expr(t, ir::Op::Column, type, ir::group_values, static_cast<ir::Index>(output->agg));
}

static ir::Index count_node(Translation *t, const FragmentOutput *output) {
    return add_expr(t, ir::Op::Column, Type::I64, ir::group_counts, static_cast<ir::Index>(output->agg));
}

static void sum_value(Translation *t, const FragmentOutput *output, TypedExpr *out) {
    const bool narrow = t->groups->narrow[output->agg];
    ir::Index node = state_node(t, output, narrow ? Type::I64 : Type::I128);
    if (narrow)
        node = add_expr(t, ir::Op::Cast, Type::I128, node);
    node_value(out, SqlKind::Numeric, Type::I128, node, true);
    out->scale = output->scale;
    out->precision = digits_of_sum;
    out->mixed_scale = output->scale_agg >= 0;
    out->scale_node = ir::none;
}

static bool value_of_aggregate(Translation *t, const FragmentOutput *output, TypedExpr *out) {
    switch (output->kind) {
    case OutputKind::Count:
        node_value(out, SqlKind::Int8, Type::I64, count_node(t, output), false);
        return true;
    case OutputKind::SumInt8:
        node_value(out, output->typid == MONEYOID ? SqlKind::Money : SqlKind::Int8, Type::I64,
                   state_node(t, output, Type::I64), true);
        return true;
    case OutputKind::SumNumeric:
        if (output->low_agg >= 0)
            return refuse("a sum with many decimals in a condition over groups");
        sum_value(t, output, out);
        return true;
    case OutputKind::SumFloat8:
        node_value(out, SqlKind::Float8, Type::F64, state_node(t, output, Type::F64), true);
        return true;
    case OutputKind::AvgFloat8: {
        const ir::Index count = add_expr(t, ir::Op::Cast, Type::F64, count_node(t, output));
        node_value(out, SqlKind::Float8, Type::F64,
                   add_expr(t, ir::Op::Div, Type::F64, state_node(t, output, Type::F64), count), true);
        return true;
    }
    case OutputKind::StateValue: {
        const SqlKind kind = sql_kind(output->typid);
        if (output->rank_lookup >= 0 || output->type == Type::Code || kind == SqlKind::None)
            return refuse("a minimum or maximum of texts in a condition over groups");
        node_value(out, kind, output->type, state_node(t, output, output->type), true);
        if (kind == SqlKind::Numeric) {
            out->scale = output->scale;
            out->precision = output->type == Type::I128 ? digits_of_sum : 18;
        }
        return true;
    }
    default:
        return refuse("an average or variance of numerics in a condition over groups");
    }
}

bool translate_of_group(Translation *t, Expr *expr, TypedExpr *out, bool *translated) {
    const FragmentOutput *output = output_of(t, expr);
    if (output != nullptr) {
        *translated =
            output->kind == OutputKind::GroupKey ? value_of_key(t, output, out) : value_of_aggregate(t, output, out);
        return true;
    }
    if (!IsA(expr, Var) && !IsA(expr, Aggref) && !IsA(expr, GroupingFunc) && !IsA(expr, PlaceHolderVar))
        return false;
    *translated = refuse("GROUPING() or a part of a group key in a condition over groups");
    return true;
}

// ---- averages ----

static bool is_average(const Translation *t, const Expr *expr) {
    const FragmentOutput *output = output_of(t, expr);
    return output != nullptr && output->kind == OutputKind::AvgNumeric;
}

// 2 sum + n >= 2 c n, or 2 sum - n <= 2 c n.
static ir::Index bound_of_average(Translation *t, const FragmentOutput *average, bool above, ir::Index bound) {
    TypedExpr sum;
    sum_value(t, average, &sum);
    const ir::Index count = add_expr(t, ir::Op::Cast, Type::I128, count_node(t, average));
    const ir::Index left = add_expr(t, above ? ir::Op::Add : ir::Op::Sub, Type::I128,
                                    add_expr(t, ir::Op::Add, Type::I128, sum.expr, sum.expr), count);
    const ir::Index product = add_expr(t, ir::Op::Mul, Type::I128, bound, count);
    return add_expr(t, above ? ir::Op::Ge : ir::Op::Le, Type::Bool, left,
                    add_expr(t, ir::Op::Add, Type::I128, product, product));
}

// The other side as a multiple of 10^-s: what is known when the plan starts is rounded away from the average.
static bool bound_node(Translation *t, const FragmentOutput *average, Expr *other, bool above, ir::Index *node) {
    const int32 scale = average->scale;
    if (is_unscaled(t, other))
        return add_rounded_constant(t, strip_relabels(other), Type::I128, scale, above ? Rounding::Down : Rounding::Up,
                                    node);
    TypedExpr value;
    if (!translate(t, other, &value))
        return false;
    if (value.kind != SqlKind::Numeric)
        return refuse("a comparison of an average with something else than a numeric");
    for (; value.literal && !value.literal_null && value.scale > scale; --value.scale) {
        const int128 digit = value.literal_value % 10;
        value.literal_value = value.literal_value / 10 + (above && digit < 0 ? -1 : !above && digit > 0 ? 1 : 0);
    }
    if (value.scale > scale)
        return refuse("a comparison of an average with a numeric of more decimals");
    return as_node(t, value, Type::I128, scale, node);
}

static bool compare_average(Translation *t, ir::Op op, Expr *average, Expr *other, ir::Index *out) {
    const FragmentOutput *output = output_of(t, average);
    const bool above = op == ir::Op::Gt || op == ir::Op::Ge, equal = op == ir::Op::Eq;
    if (op == ir::Op::Ne)
        return refuse("a comparison of an average for inequality");
    if (output->scale_agg >= 0) // it may be divided with fewer decimals
        return refuse("a comparison of an average of numerics of different scales");
    ir::Index result = ir::none;
    for (bool side : {true, false}) {
        if (!equal && side != above)
            continue;
        ir::Index bound;
        if (!bound_node(t, output, other, side, &bound))
            return false;
        const ir::Index node = bound_of_average(t, output, side, bound);
        result = result == ir::none ? node : add_expr(t, ir::Op::And, Type::Bool, result, node);
    }
    *out = result;
    return true;
}

// ---- conditions ----

static bool is_average_comparison(const Translation *t, const Expr *expr, ir::Op *op) {
    const OpExpr *call = reinterpret_cast<const OpExpr *>(expr);
    if (!IsA(expr, OpExpr) || list_length(call->args) != 2)
        return false;
    const Oid funcid = OidIsValid(call->opfuncid) ? call->opfuncid : get_opcode(call->opno);
    return comparison_operator(funcid, op) && (is_average(t, static_cast<const Expr *>(linitial(call->args))) ||
                                               is_average(t, static_cast<const Expr *>(lsecond(call->args))));
}

bool translate_group_condition(Translation *t, Expr *expr, ir::Index *out, bool *exact) {
    ir::Op op;
    const BoolExpr *logic = reinterpret_cast<const BoolExpr *>(expr);
    if (is_average_comparison(t, expr, &op)) {
        const OpExpr *call = reinterpret_cast<const OpExpr *>(expr);
        Expr *left = static_cast<Expr *>(linitial(call->args)), *right = static_cast<Expr *>(lsecond(call->args));
        *exact = false;
        return is_average(t, left) ? compare_average(t, op, left, right, out)
                                   : compare_average(t, ir::mirrored(op), right, left, out);
    }
    if (!IsA(expr, BoolExpr) || logic->boolop == NOT_EXPR)
        return translate_condition(t, expr, out);
    Array<ir::Index> parts{};
    ListCell *cell;
    foreach (cell, logic->args) {
        ir::Index part;
        if (!translate_group_condition(t, static_cast<Expr *>(lfirst(cell)), &part, exact))
            return false;
        append(&parts, part);
    }
    *out = connect_conditions(t, logic->boolop, parts.at, parts.count);
    return true;
}

// ---- sort keys ----

// By its rank in the dictionary.
static bool order_of_text(Translation *t, const FragmentOutput *output, Oid collation, ir::Index *out) {
    TypedExpr text, rank;
    int lookup;
    if (output->kind != OutputKind::GroupKey || output->unified != 0)
        return refuse("groups in the order of a text that is not a column's");
    const ir::Index node = add_expr(t, ir::Op::Column, Type::Code, ir::group_keys, static_cast<ir::Index>(output->key));
    node_value(&text, output->value_kind, Type::Code, node, true);
    text.source = output->source;
    text.column = output->column;
    return translate_rank(t, text, collation, output->typid, &lookup, &rank) && as_own_node(t, rank, out);
}

bool translate_group_order(Translation *t, Expr *expr, bool exactly, ir::Index *out) {
    const FragmentOutput *output = exactly ? output_of(t, expr) : nullptr;
    if (output != nullptr && is_text_kind(output->value_kind))
        return order_of_text(t, output, exprCollation(reinterpret_cast<Node *>(expr)), out);
    TypedExpr value;
    if (!translate(t, expr, &value))
        return false;
    if (!is_in_order(value.kind) || (exactly && value.kind == SqlKind::Uuid))
        return refuse("groups in an order that is not that of the device's values");
    return as_own_node(t, value, out);
}

} // namespace gpuscan
