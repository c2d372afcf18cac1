// CASE, COALESCE, NULLIF, GREATEST, LEAST: of which type and scale is a value that may come from any of several branches?
//
// All branches are of one SQL type, but numerics differ in scale and digits: the result takes the largest scale and as
// many digits as any branch needs, and remembers how many each branch would be shown with. Texts become codes of one unified dictionary.
#include "pg/pg.h"

#include "pg/catalog/type_operators.h"
#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

// ---- values of one common shape ----

ir::Index display_scale(Translation *t, const TypedExpr &value) {
    if (value.mixed_scale && value.scale_node == scale_of_column)
        return column_scale(t, value);
    return value.mixed_scale ? value.scale_node : add_constant(t, Type::I32, value.scale, false);
}

struct Shape {
    SqlKind kind;
    Type type;
    int32 scale;
    int precision;
    bool mixed_scale;
    bool unknown_scale; // and nobody knows how many digits PostgreSQL would show
    bool nullable;
    int source, column, unified; // of texts, as in TypedExpr
};

// Texts of one column keep its codes; any others meet in a unified dictionary.
static void common_unified_dictionary(Translation *t, const TypedExpr *values, int count, Shape *shape) {
    const TypedExpr *first = nullptr;
    for (int i = 0; i < count; ++i) {
        const TypedExpr &v = values[i];
        if (v.literal_null)
            continue;
        bool same = v.text == nullptr && v.unified == 0 &&
                    (first == nullptr || (first->source == v.source && first->column == v.column));
        if (!same) {
            shape->unified = new_unified_dictionary(t);
            return;
        }
        first = &v;
    }
    if (first == nullptr) {
        shape->unified = new_unified_dictionary(t);
        return;
    }
    shape->source = first->source;
    shape->column = first->column;
}

// The type and scale that can hold every one of the values, which are of one SQL type.
static bool common_shape(Translation *t, const TypedExpr *values, int count, SqlKind kind, Shape *shape) {
    *shape = Shape{};
    shape->kind = kind;
    if (kind == SqlKind::None)
        return refuse("a conditional expression with a result of a type that no device knows");
    for (int i = 0; i < count; ++i) {
        if (values[i].kind == SqlKind::Opaque)
            return refuse("a conditional expression over values that a device can only store and deliver");
        shape->nullable |= values[i].nullable;
    }
    if (kind != SqlKind::Numeric) {
        shape->type = engine_type(kind);
        if (is_integer_kind(kind))
            shape->precision = integer_digits(kind);
        if (is_coded_kind(kind))
            common_unified_dictionary(t, values, count, shape);
        if (kind == SqlKind::Bpchar && shape->unified != 0)
            return refuse("a conditional expression of type character over more than one column");
        return true;
    }
    bool first = true;
    int whole = 0;
    for (int i = 0; i < count; ++i) {
        const TypedExpr &v = values[i];
        if (v.literal && v.literal_null)
            continue;
        shape->unknown_scale |= v.mixed_scale && v.scale_node == ir::none;
        shape->mixed_scale |= v.mixed_scale || (!first && v.scale != shape->scale);
        shape->scale = first ? v.scale : (v.scale > shape->scale ? v.scale : shape->scale);
        whole = v.precision - v.scale > whole ? v.precision - v.scale : whole;
        first = false;
    }
    shape->precision = whole + shape->scale;
    shape->type = numeric_type(shape->precision);
    return true;
}

static void shaped_value(TypedExpr *out, const Shape &shape, ir::Index node) {
    node_value(out, shape.kind, shape.type, node, shape.nullable);
    out->scale = shape.scale;
    out->precision = shape.precision;
    out->mixed_scale = shape.mixed_scale;
    out->source = shape.source;
    out->column = shape.column;
    out->unified = shape.unified;
}

static bool as_shape_node(Translation *t, const TypedExpr &value, const Shape &shape, ir::Index *out) {
    if (shape.unified != 0)
        return as_unified_node(t, value, shape.unified, false, out);
    return as_node(t, value, shape.type, shape.scale, out);
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

// An arm for PostgreSQL's plan (translate.h). It has no value, so the others alone say of which type and scale the CASE is.
static bool is_for_cpu_plan(const CaseExpr *expr, const Expr *result) {
    return expr->location == location_of_guard && IsA(result, SubPlan);
}

static bool translate_result(Translation *t, const CaseExpr *expr, Expr *result, TypedExpr *out) {
    if (!is_for_cpu_plan(expr, result))
        return translate(t, result, out);
    *out = TypedExpr{};
    out->kind = SqlKind::Numeric;
    out->literal = out->literal_null = true;
    return true;
}

bool translate_case(Translation *t, const CaseExpr *expr, TypedExpr *out) {
    int count = list_length(expr->args);
    ir::Index *conditions = static_cast<ir::Index *>(palloc(sizeof(ir::Index) * static_cast<Size>(count)));
    TypedExpr *results = static_cast<TypedExpr *>(palloc(sizeof(TypedExpr) * static_cast<Size>(count + 1)));
    for (int i = 0; i < count; ++i) {
        const CaseWhen *when = static_cast<const CaseWhen *>(list_nth(expr->args, i));
        Expr *condition = when->expr;
        if (expr->arg != nullptr) {
            CaseTest test{expr->arg};
            condition = reinterpret_cast<Expr *>(replace_case_test(reinterpret_cast<Node *>(condition), &test));
        }
        if (!translate_condition(t, condition, &conditions[i]) || !translate_result(t, expr, when->result, &results[i]))
            return false;
    }
    Shape shape;
    if (!translate(t, expr->defresult, &results[count]) ||
        !common_shape(t, results, count + 1, sql_kind(expr->casetype), &shape))
        return false;
    ir::Index node;
    if (!as_shape_node(t, results[count], shape, &node))
        return false;
    for (int i = count; i-- > 0;) {
        ir::Index taken;
        if (is_for_cpu_plan(expr, static_cast<const CaseWhen *>(list_nth(expr->args, i))->result))
            taken = raise_node(t, shape.type);
        else if (!as_shape_node(t, results[i], shape, &taken))
            return false;
        node = add_expr(t, ir::Op::Case, shape.type, conditions[i], taken, node);
    }
    shaped_value(out, shape, node);
    out->scale_node = ir::none;
    if (shape.mixed_scale && !shape.unknown_scale) {
        out->scale_node = display_scale(t, results[count]);
        for (int i = count; i-- > 0;)
            out->scale_node =
                add_expr(t, ir::Op::Case, Type::I32, conditions[i], display_scale(t, results[i]), out->scale_node);
    }
    return true;
}

bool translate_coalesce(Translation *t, const CoalesceExpr *expr, TypedExpr *out) {
    int count = list_length(expr->args);
    TypedExpr *values = static_cast<TypedExpr *>(palloc(sizeof(TypedExpr) * static_cast<Size>(count)));
    for (int i = 0; i < count; ++i)
        if (!translate(t, static_cast<Expr *>(list_nth(expr->args, i)), &values[i]))
            return false;
    Shape shape;
    if (!common_shape(t, values, count, sql_kind(expr->coalescetype), &shape))
        return false;
    ir::Index node = ir::none, scale = ir::none;
    shape.nullable = true;
    for (int i = count; i-- > 0;) {
        ir::Index value;
        if (!as_shape_node(t, values[i], shape, &value))
            return false;
        if (shape.mixed_scale && !shape.unknown_scale) {
            ir::Index own = display_scale(t, values[i]);
            scale = scale == ir::none ? own
                                      : add_expr(t, ir::Op::Case, Type::I32,
                                                 add_expr(t, ir::Op::IsNotNull, Type::Bool, value), own, scale);
        }
        node = node == ir::none ? value : add_expr(t, ir::Op::Coalesce, shape.type, value, node);
        shape.nullable &= values[i].nullable;
    }
    shaped_value(out, shape, node);
    out->scale_node = scale;
    return true;
}

bool translate_nullif(Translation *t, const NullIfExpr *expr, TypedExpr *out) {
    ir::Op op;
    TypedExpr a, b, equal;
    ir::Index node, condition;
    Oid funcid = OidIsValid(expr->opfuncid) ? expr->opfuncid : get_opcode(expr->opno);
    if (!equality_operator(funcid, expr->inputcollid, &op))
        return refuse("NULLIF by %s", format_procedure(funcid));
    if (!may_execute(t, funcid) || !translate(t, static_cast<Expr *>(linitial(expr->args)), &a) ||
        !make_text_node(t, &a) || !translate(t, static_cast<Expr *>(lsecond(expr->args)), &b) ||
        !translate_comparison(t, op, a, b, &equal) || !as_own_node(t, a, &node) || !as_own_node(t, equal, &condition))
        return false;
    *out = a;
    out->literal = false;
    out->nullable = true;
    out->expr = add_expr(t, ir::Op::Case, a.type, condition, add_constant(t, a.type, 0, true), node);
    return true;
}

struct Candidate {
    ir::Index value, scale; // scale: the digits that it is shown with; none: nobody asks
};

struct Contest {
    SqlKind kind;
    Type type;
    ir::Op loses; // a value to a later one
};

// By halves, as conditions are connected.
static Candidate best_of(Translation *t, const Contest &contest, const Candidate *candidates, int count) {
    if (count == 1)
        return candidates[0];
    const int half = (count + 1) / 2;
    const Candidate first = best_of(t, contest, candidates, half);
    const Candidate second = best_of(t, contest, candidates + half, count - half);
    const ir::Index beaten = add_expr(t, ir::Op::Or, Type::Bool, add_expr(t, ir::Op::IsNull, Type::Bool, first.value),
                                      add_expr(t, contest.loses, Type::Bool, order_node(t, contest.kind, first.value),
                                               order_node(t, contest.kind, second.value)));
    const ir::Index taken =
        add_expr(t, ir::Op::And, Type::Bool, add_expr(t, ir::Op::IsNotNull, Type::Bool, second.value), beaten);
    Candidate best{add_expr(t, ir::Op::Case, contest.type, taken, second.value, first.value), ir::none};
    if (first.scale != ir::none)
        best.scale = add_expr(t, ir::Op::Case, Type::I32, taken, second.scale, first.scale);
    return best;
}

// The largest or smallest of the values that are not NULL; the first one of equal ones.
bool translate_min_max(Translation *t, const MinMaxExpr *expr, TypedExpr *out) {
    int count = list_length(expr->args);
    TypedExpr *values = static_cast<TypedExpr *>(palloc(sizeof(TypedExpr) * static_cast<Size>(count)));
    for (int i = 0; i < count; ++i)
        if (!translate(t, static_cast<Expr *>(list_nth(expr->args, i)), &values[i]))
            return false;
    Oid compare = lookup_type_cache(expr->minmaxtype, TYPECACHE_CMP_PROC)->cmp_proc;
    Shape shape;
    SqlKind kind = sql_kind(expr->minmaxtype);
    if (is_coded_kind(kind) || kind == SqlKind::None)
        return refuse("GREATEST or LEAST of values of type %s", format_type_be(expr->minmaxtype));
    if (!has_device_comparison(expr->minmaxtype)) {
        if (!t->binding || kind != SqlKind::Enum)
            return refuse("GREATEST or LEAST by %s", format_procedure(compare));
        // An enum has got a default class since the plan was made, and PostgreSQL asks for it when a plan starts: its plan runs.
        node_value(out, kind, Type::I32, raise_node(t, Type::I32), true);
        return true;
    }
    if (kind == SqlKind::Enum && !t->binding && !has_plain_order(expr->minmaxtype))
        return false;
    if (!may_execute(t, compare) || !common_shape(t, values, count, sql_kind(expr->minmaxtype), &shape))
        return false;
    Candidate *candidates = static_cast<Candidate *>(palloc(sizeof(Candidate) * static_cast<Size>(count)));
    bool nullable = true;
    for (int i = 0; i < count; ++i) {
        if (!as_node(t, values[i], shape.type, shape.scale, &candidates[i].value))
            return false;
        candidates[i].scale = shape.mixed_scale && !shape.unknown_scale ? display_scale(t, values[i]) : ir::none;
        nullable &= values[i].nullable;
    }
    const Contest contest{kind, shape.type, expr->op == IS_GREATEST ? ir::Op::Lt : ir::Op::Gt};
    const Candidate best = best_of(t, contest, candidates, count);
    shape.nullable = nullable;
    shaped_value(out, shape, best.value);
    out->scale_node = best.scale;
    return true;
}

} // namespace gpuscan
