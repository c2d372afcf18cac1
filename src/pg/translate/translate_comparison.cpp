// In which type are two values compared? A constant takes the column's type if it fits, else the wider type is taken;
// numerics meet at the larger scale. IS DISTINCT FROM, IN and ANY are comparisons and logic around them.
#include "pg/pg.h"

#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

constexpr int max_in_list = 256; // of what must be compared one by one
constexpr int min_in_table = 9;  // with fewer values comparisons are faster than a search

ir::Index order_node(Translation *t, SqlKind kind, ir::Index node) {
    ir::Function order;
    switch (kind) {
    case SqlKind::Oid:
        order = ir::Function::OidOrder;
        break;
    case SqlKind::Enum:
        order = ir::Function::EnumOrder;
        break;
    case SqlKind::Interval:
        order = ir::Function::IntervalSpan;
        break;
    default:
        return node;
    }
    return add_call(t, order, node);
}

// A value that was put between others may have an odd oid, and is a row error; a type that has one is not even tried.
bool has_plain_order(Oid typid) {
    CatCList *labels = SearchSysCacheList1(ENUMTYPOIDNAME, ObjectIdGetDatum(getBaseType(typid)));
    bool even = true;
    for (int i = 0; i < labels->n_members; ++i)
        even = even && (reinterpret_cast<Form_pg_enum>(GETSTRUCT(&labels->members[i]->tuple))->oid & 1) == 0;
    ReleaseCatCacheList(labels);
    return even || refuse("the order of an enum of which values have been inserted later");
}

bool translate_comparison(Translation *t, ir::Op op, const TypedExpr &a, const TypedExpr &b, TypedExpr *out) {
    Type type = a.type;
    int32 scale = 0;
    if (a.kind == SqlKind::Opaque || b.kind == SqlKind::Opaque)
        return refuse("a comparison of values that a device can only store and deliver");
    if (is_integer_kind(a.kind) && is_integer_kind(b.kind)) {
        // A constant that fits takes the column's type, so that the column need not be widened.
        if (a.literal && !b.literal && fits(a.literal_value, b.type))
            type = b.type;
        else if (!(b.literal && !a.literal && fits(b.literal_value, a.type)))
            type = static_cast<int>(a.type) > static_cast<int>(b.type) ? a.type : b.type;
    } else if (a.kind == SqlKind::Numeric && b.kind == SqlKind::Numeric) {
        scale = a.scale > b.scale ? a.scale : b.scale;
        int pa = a.precision - a.scale + scale, pb = b.precision - b.scale + scale;
        type = numeric_type(pa > pb ? pa : pb);
    } else if (is_float_kind(a.kind) && is_float_kind(b.kind)) {
        type = a.kind == SqlKind::Float8 || b.kind == SqlKind::Float8 ? Type::F64 : Type::F32;
    } else if (a.kind != b.kind) {
        return refuse("a comparison of different types");
    } else if (is_coded_kind(a.kind)) {
        return translate_text_comparison(t, op, a, b, out);
    }
    ir::Index left, right;
    if (!as_node(t, a, type, scale, &left) || !as_node(t, b, type, scale, &right))
        return false;
    if (a.kind == SqlKind::Interval || (op != ir::Op::Eq && op != ir::Op::Ne)) {
        left = order_node(t, a.kind, left);
        right = order_node(t, b.kind, right);
    }
    bool_value(out, add_expr(t, op, Type::Bool, left, right), a.nullable || b.nullable);
    return true;
}

bool equality_operator(Oid funcid, Oid collation, ir::Op *op) {
    return (comparison_operator(funcid, op) || (text_operator(funcid, op) && is_sound_collation(collation))) &&
           *op == ir::Op::Eq;
}

// a IS DISTINCT FROM b = NOT (both NULL OR (a = b) IS TRUE)
bool translate_distinct(Translation *t, const DistinctExpr *expr, TypedExpr *out) {
    ir::Op op;
    TypedExpr a, b, equal;
    ir::Index left, right, same;
    Oid funcid = OidIsValid(expr->opfuncid) ? expr->opfuncid : get_opcode(expr->opno);
    if (!equality_operator(funcid, expr->inputcollid, &op))
        return refuse("IS DISTINCT FROM by %s", format_procedure(funcid));
    if (!may_execute(t, funcid) || !translate(t, static_cast<Expr *>(linitial(expr->args)), &a) ||
        !translate(t, static_cast<Expr *>(lsecond(expr->args)), &b) || !translate_comparison(t, op, a, b, &equal) ||
        !as_own_node(t, a, &left) || !as_own_node(t, b, &right) || !as_own_node(t, equal, &same))
        return false;
    ir::Index nulls = add_expr(t, ir::Op::And, Type::Bool, add_expr(t, ir::Op::IsNull, Type::Bool, left),
                               add_expr(t, ir::Op::IsNull, Type::Bool, right));
    ir::Index either = add_expr(t, ir::Op::Or, Type::Bool, nulls, add_expr(t, ir::Op::IsTrue, Type::Bool, same));
    bool_value(out, add_expr(t, ir::Op::Not, Type::Bool, either), false);
    return true;
}

// Values that are integers of up to 64 bits in a list of such are looked for in a table. False without a reason if there is
// another value.
static bool list_as_table(Translation *t, const TypedExpr &x, Oid type, const Datum *values, const bool *nulls,
                          int count, ir::Index *out) {
    if (x.type == Type::Bool || !is_integer(x.type) || x.type == Type::I128 || x.mixed_scale)
        return false;
    ir::Index node;
    int64 *numbers = static_cast<int64 *>(palloc(sizeof(int64) * static_cast<Size>(count)));
    uint32 found = 0;
    bool any_null = false;
    for (int i = 0; i < count; ++i) {
        Const element{};
        element.xpr.type = T_Const;
        element.consttype = type;
        element.consttypmod = -1;
        element.constlen = get_typlen(type);
        element.constbyval = get_typbyval(type);
        element.constvalue = values[i];
        element.constisnull = nulls[i];
        any_null = any_null || nulls[i];
        if (nulls[i])
            continue;
        TypedExpr value;
        if (!translate_const(t, &element, &value) || !value.literal || value.text != nullptr)
            return false;
        if (value.kind != x.kind && !(is_integer_kind(value.kind) && is_integer_kind(x.kind)))
            return false;
        int128 number = value.literal_value;
        bool exact = true;
        for (int32 scale = value.scale; scale > x.scale && exact; --scale) {
            exact = number % 10 == 0;
            number /= 10;
        }
        for (int32 scale = value.scale; scale < x.scale && exact; ++scale)
            exact = !__builtin_mul_overflow(number, static_cast<int128>(10), &number);
        if (exact && fits(number, Type::I64)) // nothing of x's type equals any other
            numbers[found++] = static_cast<int64>(number);
    }
    if (!as_node(t, x, Type::I64, x.scale, &node))
        return false;
    *out = found == 0 ? add_expr(t, ir::Op::Ne, Type::Bool, node, node) : is_one_of(t, node, numbers, found);
    pfree(numbers);
    if (any_null)
        *out = add_expr(t, ir::Op::Or, Type::Bool, *out, add_constant(t, Type::Bool, 0, true));
    return true;
}

// x = ANY ('{...}') and x <> ALL ('{...}'): a search, or a chain of comparisons.
bool translate_array_comparison(Translation *t, const ScalarArrayOpExpr *expr, TypedExpr *out) {
    ir::Op op;
    Oid funcid = OidIsValid(expr->opfuncid) ? expr->opfuncid : get_opcode(expr->opno);
    if (!comparison_operator(funcid, &op) && !(text_operator(funcid, &op) && is_sound_collation(expr->inputcollid)))
        return refuse("IN or ANY by %s", format_procedure(funcid));
    const Const *array = static_cast<const Const *>(lsecond(expr->args));
    if (!IsA(array, Const) || array->constisnull)
        return refuse("IN or ANY with an array that is not constant");
    TypedExpr x;
    ir::Index node;
    if (!may_execute(t, funcid) || !translate(t, static_cast<Expr *>(linitial(expr->args)), &x) ||
        !make_text_node(t, &x) || !as_own_node(t, x, &node))
        return false;
    if (x.literal) { // evaluated once
        x.literal = false;
        x.expr = node;
    }

    ArrayType *elements = DatumGetArrayTypeP(array->constvalue);
    Oid type = ARR_ELEMTYPE(elements);
    int16 length;
    bool by_value;
    char align;
    Datum *values;
    bool *nulls;
    int count;
    get_typlenbyvalalign(type, &length, &by_value, &align);
    deconstruct_array(elements, type, length, by_value, align, &values, &nulls, &count);
    const bool is_list = expr->useOr ? op == ir::Op::Eq : op == ir::Op::Ne;
    ir::Index listed;
    if (is_list && count >= min_in_table && !is_coded_kind(x.kind) &&
        list_as_table(t, x, type, values, nulls, count, &listed)) {
        bool_value(out, expr->useOr ? listed : add_expr(t, ir::Op::Not, Type::Bool, listed), true);
        return true;
    }
    if (count > max_in_list)
        return refuse("IN or ANY with more than %d values", max_in_list);
    if (count == 0 && may_raise(t, node)) // PostgreSQL computes the left side all the same
        return refuse("IN or ANY with no values");

    Array<ir::Index> comparisons{};
    for (int i = 0; i < count; ++i) {
        Const *element = makeConst(type, -1, InvalidOid, length, values[i], nulls[i], by_value);
        TypedExpr value, compared;
        if (!translate_const(t, element, &value) || !translate_comparison(t, op, x, value, &compared))
            return false;
        append(&comparisons, compared.expr);
    }
    const ir::Index result = count == 0
                                 ? add_constant(t, Type::Bool, expr->useOr ? 0 : 1, false)
                                 : connect_conditions(t, expr->useOr ? OR_EXPR : AND_EXPR, comparisons.at, count);
    bool_value(out, result, true);
    return true;
}

} // namespace gpuscan
