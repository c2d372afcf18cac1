// The recursive part of the translator: which file translates a node, and how nodes and values are made. The kinds of
// nodes are in translate_leaf.cpp, translate_logic.cpp, translate_comparison.cpp, translate_conditional.cpp and
// translate_function.cpp.
//
// Rules that keep answers equal to PostgreSQL's:
//   - only functions known by OID are translated, never by name or by operator;
//   - a numeric is an integer scaled by a power of ten that is known at plan time; where branches of a CASE differ in
//     scale the value is right but its display scale is not one number, which `mixed_scale` remembers;
//   - whatever can raise an error becomes an IR node that can raise one: a row error makes PostgreSQL's plan run.
#include "pg/pg.h"

#include "pg/plan/refusal.h"
#include "pg/plan/translate_parts.h"

namespace gpuscan {

// ---- nodes and values ----

// Equal nodes are one node. Constants never are: which of them happen to be equal must not shape the kernel.
ir::Index add_expr(Translation *t, ir::Op op, Type type, ir::Index a, ir::Index b, ir::Index c) {
    if (op != ir::Op::Const)
        for (int i = 0; i < t->exprs.count; ++i) {
            const ir::Expr &e = t->exprs[i];
            if (e.op == op && e.type == type && e.a == a && e.b == b && e.c == c)
                return static_cast<ir::Index>(i);
        }
    ir::Expr e{};
    e.op = op;
    e.type = type;
    e.a = a;
    e.b = b;
    e.c = c;
    return static_cast<ir::Index>(append(&t->exprs, e));
}

ir::Index add_constant(Translation *t, Type type, int128 value, bool null) {
    ir::Constant constant{};
    constant.type = type;
    constant.null = null ? 1 : 0;
    constant.low = static_cast<uint64_t>(value);
    constant.high = static_cast<int64_t>(value >> 64);
    ir::Index index = static_cast<ir::Index>(append(&t->constants, constant));
    return add_expr(t, ir::Op::Const, type, index);
}

bool fits(int128 value, Type type) {
    switch (type) {
    case Type::Bool:
        return value == 0 || value == 1;
    case Type::I16:
        return value >= PG_INT16_MIN && value <= PG_INT16_MAX;
    case Type::I32:
        return value >= PG_INT32_MIN && value <= PG_INT32_MAX;
    case Type::I64:
        return value >= PG_INT64_MIN && value <= PG_INT64_MAX;
    default:
        return true;
    }
}

static bool power_of_ten(int exponent, int128 *out) {
    if (exponent < 0 || exponent > 38)
        return false;
    *out = 1;
    for (int i = 0; i < exponent; ++i)
        *out *= 10;
    return true;
}

bool as_node(Translation *t, const Value &value, Type type, int32 scale, ir::Index *out) {
    int128 factor = 1;
    if (value.text != nullptr) // nobody needs to know which space it is in
        return as_space_node(t, value, new_space(t), false, out);
    if (value.kind == SqlKind::Numeric && scale > value.scale && !power_of_ten(scale - value.scale, &factor))
        return refuse("numeric scales are too far apart");

    if (value.literal) {
        int128 scaled = value.literal_value;
        if (value.literal_null)
            scaled = 0;
        else if (__builtin_mul_overflow(scaled, factor, &scaled) || !fits(scaled, type))
            return refuse("a constant is too large for the type that it is compared or computed with");
        if (is_float(type)) { // only NULL has no value of its own there
            if (!value.literal_null)
                return refuse("integer constant as a float");
        }
        *out = add_constant(t, type, scaled, value.literal_null);
        return true;
    }
    ir::Index node = value.expr;
    if (value.type != type)
        node = add_expr(t, ir::Op::Cast, type, node);
    if (factor != 1)
        node = add_expr(t, ir::Op::Mul, type, node, add_constant(t, type, factor, false));
    *out = node;
    return true;
}

bool as_own_node(Translation *t, const Value &value, ir::Index *out) {
    return as_node(t, value, value.type, value.scale, out);
}

void node_value(Value *out, SqlKind kind, Type type, ir::Index expr, bool nullable) {
    *out = Value{};
    out->kind = kind;
    out->type = type;
    out->expr = expr;
    out->nullable = nullable;
    if (is_integer_kind(kind))
        out->precision = integer_digits(kind);
}

void bool_value(Value *out, ir::Index expr, bool nullable) {
    node_value(out, SqlKind::Bool, Type::Bool, expr, nullable);
}

ir::Index raise_node(Translation *t, Type type) {
    if (type == Type::I128)
        return add_expr(t, ir::Op::Cast, Type::I128, raise_node(t, Type::I64));
    if (type == Type::I64) {
        ir::Index wide = add_constant(t, Type::I128, static_cast<int128>(1) << 100, false);
        return add_expr(t, ir::Op::Cast, Type::I64, wide);
    }
    return add_expr(t, ir::Op::Cast, Type::I32, add_constant(t, Type::I64, static_cast<int128>(1) << 40, false));
}

Expr *strip_relabels(Expr *expr) {
    while (expr != nullptr && IsA(expr, RelabelType))
        expr = reinterpret_cast<RelabelType *>(expr)->arg;
    return expr;
}

// ---- the walk ----

static bool translate_call(Translation *t, Oid funcid, List *args, Expr *expr, Value *out) {
    if (is_late_constant(expr)) {
        SqlKind kind = sql_kind(exprType(reinterpret_cast<Node *>(expr)));
        if (kind != SqlKind::None && kind != SqlKind::Opaque && kind != SqlKind::Numeric &&
            (contain_mutable_functions(reinterpret_cast<Node *>(expr)) || !is_device_function(funcid)))
            return translate_late_constant(t, expr, out);
    }
    return translate_function(t, funcid, args, expr, out);
}

bool translate(Translation *t, Expr *expr, Value *out) {
    check_stack_depth();
    bool translated;
    if (t->groups != nullptr && translate_of_group(t, expr, out, &translated))
        return translated;
    if (IsA(expr, Var))
        return translate_column(t, reinterpret_cast<Var *>(expr), out);
    if (t->groups == nullptr && is_dictionary_expression(t, expr))
        return translate_lookup(t, expr, out);
    if (t->groups == nullptr && is_demand(t, expr))
        return translate_demand(t, expr, out);

    switch (nodeTag(expr)) {
    case T_Const:
        return translate_const(t, reinterpret_cast<Const *>(expr), out);
    case T_Param:
        if (reinterpret_cast<Param *>(expr)->paramkind != PARAM_EXTERN &&
            reinterpret_cast<Param *>(expr)->paramkind != PARAM_EXEC)
            return refuse("a parameter that only UPDATE has");
        return translate_late_constant(t, expr, out);
    case T_SQLValueFunction:
        return translate_late_constant(t, expr, out);
    case T_RelabelType: {
        // Binary compatible: same value, another name.
        const RelabelType *relabel = reinterpret_cast<const RelabelType *>(expr);
        if (!translate(t, relabel->arg, out))
            return false;
        SqlKind kind = sql_kind(relabel->resulttype);
        if (kind != out->kind)
            return refuse("a cast to %s", format_type_be(relabel->resulttype));
        if (out->text != nullptr)
            out->text = expr;
        if (is_text_kind(kind) &&
            (!OidIsValid(relabel->resultcollid) || !get_collation_isdeterministic(relabel->resultcollid)))
            return refuse("a nondeterministic collation");
        return true;
    }
    case T_BoolExpr:
        return translate_bool(t, reinterpret_cast<BoolExpr *>(expr), out);
    case T_NullTest:
        return translate_null_test(t, reinterpret_cast<NullTest *>(expr), out);
    case T_BooleanTest:
        return translate_boolean_test(t, reinterpret_cast<BooleanTest *>(expr), out);
    case T_CaseExpr:
        return translate_case(t, reinterpret_cast<CaseExpr *>(expr), out);
    case T_CoalesceExpr:
        return translate_coalesce(t, reinterpret_cast<CoalesceExpr *>(expr), out);
    case T_NullIfExpr:
        return translate_nullif(t, reinterpret_cast<NullIfExpr *>(expr), out);
    case T_DistinctExpr:
        return translate_distinct(t, reinterpret_cast<DistinctExpr *>(expr), out);
    case T_ScalarArrayOpExpr:
        return translate_array_comparison(t, reinterpret_cast<ScalarArrayOpExpr *>(expr), out);
    case T_FuncExpr: {
        FuncExpr *call = reinterpret_cast<FuncExpr *>(expr);
        return translate_call(t, call->funcid, call->args, expr, out);
    }
    case T_OpExpr: {
        OpExpr *call = reinterpret_cast<OpExpr *>(expr);
        Oid funcid = OidIsValid(call->opfuncid) ? call->opfuncid : get_opcode(call->opno);
        return translate_call(t, funcid, call->args, expr, out);
    }
    case T_SubPlan:
    case T_AlternativeSubPlan:
        return refuse("a subquery that is evaluated per row");
    case T_PlaceHolderVar:
        return refuse("an expression that an outer join or a lateral subquery computes");
    case T_CoerceToDomain:
        return refuse("a cast to a domain");
    case T_CoerceViaIO:
        return refuse("a cast through text");
    case T_MinMaxExpr:
        return translate_min_max(t, reinterpret_cast<MinMaxExpr *>(expr), out);
    default:
        return refuse("an expression of a kind that no device knows (%d)", static_cast<int>(nodeTag(expr)));
    }
}

bool translate_condition(Translation *t, Expr *expr, ir::Index *out) {
    Value value;
    if (!translate(t, expr, &value))
        return false;
    if (value.kind != SqlKind::Bool)
        return refuse("a condition is not boolean");
    return as_own_node(t, value, out);
}

} // namespace gpuscan
