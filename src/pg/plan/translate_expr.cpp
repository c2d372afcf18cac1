// The recursive part of the translator: leaves, logic, NULL tests, conditional expressions, comparisons.
//
// Rules that keep answers equal to PostgreSQL's:
//   - only functions known by OID are translated, never by name or by operator;
//   - a numeric is an integer scaled by a power of ten that is known at plan time; where branches of a CASE differ in
//     scale the value is right but its display scale is not one number, which `mixed_scale` remembers;
//   - whatever can raise an error becomes an IR node that can raise one: a row error makes PostgreSQL's plan run.
#include "pg/pg.h"

#include "pg/plan/refusal.h"
#include "pg/plan/translate.h"

namespace gpuscan {

constexpr int max_in_list = 256;

// ---- nodes and constants ----

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

static bool fits(int128 value, Type type) {
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

static void node_value(Value *out, SqlKind kind, Type type, ir::Index expr, bool nullable) {
    *out = Value{};
    out->kind = kind;
    out->type = type;
    out->expr = expr;
    out->nullable = nullable;
    if (is_integer_kind(kind))
        out->precision = integer_digits(kind);
}

static void bool_value(Value *out, ir::Index expr, bool nullable) {
    node_value(out, SqlKind::Bool, Type::Bool, expr, nullable);
}

Expr *strip_relabels(Expr *expr) {
    while (expr != nullptr && IsA(expr, RelabelType))
        expr = reinterpret_cast<RelabelType *>(expr)->arg;
    return expr;
}

// ---- leaves ----

static Codec codec_of(SqlKind kind) {
    switch (kind) {
    case SqlKind::Bool:
        return Codec::Bool;
    case SqlKind::Int2:
        return Codec::Int16;
    case SqlKind::Int4:
    case SqlKind::Date:
        return Codec::Int32;
    case SqlKind::Float4:
        return Codec::Float4;
    case SqlKind::Float8:
        return Codec::Float8;
    case SqlKind::Numeric:
        return Codec::Numeric;
    case SqlKind::Text:
    case SqlKind::Bpchar:
        return Codec::Text;
    default:
        return Codec::Int64;
    }
}

static bool describe_column(const Var *var, FragmentColumn *column) {
    *column = FragmentColumn{};
    column->typid = getBaseTypeAndTypmod(var->vartype, &(column->typmod = var->vartypmod));
    column->collation = var->varcollid;
    SqlKind kind = sql_kind(column->typid);
    if (kind == SqlKind::None)
        return refuse("a column has type %s, which no device knows", format_type_be(var->vartype));
    column->codec = codec_of(kind);
    if (kind == SqlKind::Numeric) {
        int precision, scale;
        if (!numeric_typmod(column->typmod, &precision, &scale))
            return refuse("a column has type numeric without precision and scale");
        if (precision > 36 || scale < 0 || scale > 36)
            return refuse("a column has type %s, which does not fit into 128 bits",
                          format_type_with_typemod(column->typid, column->typmod));
        column->type = numeric_type(precision);
        column->scale = scale;
        return true;
    }
    column->type = engine_type(kind);
    if (is_text_kind(kind)) {
        if (!OidIsValid(column->collation) || !get_collation_isdeterministic(column->collation))
            return refuse("a text column has a nondeterministic collation");
        if (kind == SqlKind::Bpchar && column->typmod < static_cast<int32>(VARHDRSZ))
            return refuse("a column has type character without a length");
    }
    return true;
}

static int find_source(Translation *t, Index rti) {
    for (int i = 0; i < t->nsources; ++i)
        if (t->sources[i].rti == rti)
            return i;
    return -1;
}

static int find_column(TranslatedSource *source, const Var *var, const FragmentColumn &described) {
    for (int i = 0; i < source->varattnos.count; ++i)
        if (source->varattnos[i] == var->varattno)
            return i;
    FragmentColumn column = described;
    column.attnum = var->varattno;
    column.nullable = true;
    if (source->is_relation)
        column.nullable = !bms_is_member(var->varattno, source->not_null);
    else {
        column.attnum = 0;
        for (int i = 0; i < list_length(source->child_attnos); ++i)
            if (list_nth_int(source->child_attnos, i) == var->varattno)
                column.attnum = static_cast<AttrNumber>(i + 1);
    }
    append(&source->varattnos, var->varattno);
    return append(&source->columns, column);
}

static int payload_position(TranslatedSource *source, int column) {
    for (int i = 0; i < source->payload.count; ++i)
        if (source->payload[i] == column)
            return i;
    return append(&source->payload, column);
}

bool translate_column(Translation *t, Var *var, Value *out) {
    if (var->varlevelsup != 0)
        return refuse("a column of an outer query");
    if (var->varattno == InvalidAttrNumber)
        return refuse("a whole row is needed");
    if (var->varattno < 0)
        return refuse("a system column is needed");
    FragmentColumn column;
    if (!describe_column(var, &column))
        return false;

    int source = t->probing ? 0 : find_source(t, static_cast<Index>(var->varno));
    if (source < 0)
        return refuse("a column of a relation outside of the fragment");
    int position = 0, step = 0;
    bool nullable = true;
    ir::Index at = 0;
    if (!t->probing) {
        TranslatedSource *s = &t->sources[source];
        position = find_column(s, var, column);
        nullable = s->columns[position].nullable;
        at = static_cast<ir::Index>(position);
        if (source != t->pipeline) {
            if (t->pipeline != 0)
                return refuse("a build side needs a column of another relation");
            step = source;
            at = static_cast<ir::Index>(payload_position(s, position));
        }
    }
    SqlKind kind = sql_kind(column.typid);
    node_value(out, kind, column.type, add_expr(t, ir::Op::Column, column.type, static_cast<ir::Index>(step), at),
               nullable);
    out->source = source;
    out->column = position;
    if (kind == SqlKind::Numeric) {
        int precision = 0, scale = 0;
        numeric_typmod(column.typmod, &precision, &scale);
        out->scale = scale;
        out->precision = precision;
    }
    return true;
}

static bool numeric_literal(Datum datum, Value *out) {
    char *text = DatumGetCString(DirectFunctionCall1(numeric_out, datum));
    int128 value = 0;
    int digits = 0, scale = 0;
    bool negative = *text == '-', point = false;
    for (const char *c = text + (negative ? 1 : 0); *c != '\0'; ++c) {
        if (*c == '.') {
            point = true;
            continue;
        }
        if (*c < '0' || *c > '9')
            return refuse("a numeric constant is NaN or infinite");
        if (__builtin_mul_overflow(value, static_cast<int128>(10), &value) ||
            __builtin_add_overflow(value, static_cast<int128>(*c - '0'), &value))
            return refuse("a numeric constant has more than 38 digits");
        if (value != 0)
            ++digits;
        if (point)
            ++scale;
    }
    pfree(text);
    out->literal_value = negative ? -value : value;
    out->scale = scale;
    out->precision = digits > scale ? digits : scale;
    out->type = numeric_type(out->precision);
    return true;
}

static bool translate_const(Translation *t, const Const *constant, Value *out) {
    SqlKind kind = sql_kind(constant->consttype);
    if (kind == SqlKind::None)
        return refuse("a constant has type %s, which no device knows", format_type_be(constant->consttype));
    if (is_text_kind(kind))
        return refuse("a text constant outside of a function of one text column");
    *out = Value{};
    out->kind = kind;
    out->expr = ir::none;
    out->literal = true;
    out->nullable = out->literal_null = constant->constisnull;
    if (kind == SqlKind::Numeric) {
        out->type = Type::I64;
        return constant->constisnull || numeric_literal(constant->constvalue, out);
    }
    out->type = engine_type(kind);
    if (is_integer_kind(kind))
        out->precision = integer_digits(kind);
    if (constant->constisnull)
        return true;
    switch (out->type) {
    case Type::Bool:
        out->literal_value = DatumGetBool(constant->constvalue) ? 1 : 0;
        break;
    case Type::I16:
        out->literal_value = DatumGetInt16(constant->constvalue);
        break;
    case Type::I32:
        out->literal_value = DatumGetInt32(constant->constvalue);
        break;
    case Type::I64:
        out->literal_value = DatumGetInt64(constant->constvalue);
        break;
    default: { // floats: a node at once
        uint64_t bits = 0;
        if (out->type == Type::F32) {
            float4 value = DatumGetFloat4(constant->constvalue);
            memcpy(&bits, &value, sizeof value);
        } else {
            float8 value = DatumGetFloat8(constant->constvalue);
            memcpy(&bits, &value, sizeof value);
        }
        out->literal = false;
        out->expr = add_constant(t, out->type, static_cast<int128>(bits), false);
    }
    }
    return true;
}

// A value that is known when the plan starts: PostgreSQL evaluates it, the program gets it as a constant.
static bool translate_late_constant(Translation *t, Expr *expr, Value *out) {
    Oid typid = exprType(reinterpret_cast<Node *>(expr));
    SqlKind kind = sql_kind(typid);
    if (kind == SqlKind::None)
        return refuse("a parameter has type %s, which no device knows", format_type_be(typid));
    if (is_text_kind(kind))
        return refuse("a text parameter outside of a function of one text column");
    if (kind == SqlKind::Numeric)
        return refuse("a parameter of type numeric, whose scale is not known at plan time");
    Type type = engine_type(kind);
    ir::Index node = add_constant(t, type, 0, true);
    FragmentConstant constant{};
    constant.index = static_cast<int>(t->exprs[static_cast<int>(node)].a);
    constant.expr = expr;
    constant.typid = typid;
    constant.type = type;
    append(&t->late_constants, constant);
    node_value(out, kind, type, node, true);
    return true;
}

static bool not_constant_walker(Node *node, void *context) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Const:
    case T_Param:
    case T_RelabelType:
    case T_SQLValueFunction:
        break;
    case T_FuncExpr:
        if (reinterpret_cast<FuncExpr *>(node)->funcid >= FirstNormalObjectId ||
            reinterpret_cast<FuncExpr *>(node)->funcretset)
            return true;
        break;
    case T_OpExpr:
        if (reinterpret_cast<OpExpr *>(node)->opno >= FirstNormalObjectId)
            return true;
        break;
    default:
        return true;
    }
    return walk_expression(node, not_constant_walker, context);
}

// Built-in functions of constants and parameters, none of them volatile.
static bool is_late_constant(Expr *expr) {
    Node *node = reinterpret_cast<Node *>(expr);
    return !not_constant_walker(node, nullptr) && !contain_volatile_functions(node);
}

bool may_execute(const Translation *t, Oid funcid) {
    AclResult result = function_aclcheck(funcid, GetUserId());
    if (result == ACLCHECK_OK)
        return true;
    if (t->binding)
        aclcheck_error(result, OBJECT_FUNCTION, get_func_name(funcid));
    return refuse("no privilege to execute %s", format_procedure(funcid));
}

// ---- logic ----

static bool is_widening(Type from, Type to) {
    if (is_integer(to))
        return from == Type::Bool || (is_integer(from) && type_width(from) <= type_width(to));
    return is_integer(from) || (from == Type::F32 && to == Type::F64);
}

bool may_raise(const Translation *t, ir::Index node) {
    const ir::Expr &e = t->exprs[static_cast<int>(node)];
    switch (e.op) {
    case ir::Op::Column:
    case ir::Op::Const:
        return false;
    case ir::Op::Add:
    case ir::Op::Sub:
    case ir::Op::Mul:
    case ir::Op::Div:
    case ir::Op::Mod:
    case ir::Op::Neg:
    case ir::Op::Bounded:
        return true;
    case ir::Op::Cast:
        return !is_widening(t->exprs[static_cast<int>(e.a)].type, e.type) || may_raise(t, e.a);
    case ir::Op::Lookup: // b is no node
        return may_raise(t, e.a);
    default:
        return may_raise(t, e.a) || (e.b != ir::none && may_raise(t, e.b)) || (e.c != ir::none && may_raise(t, e.c));
    }
}

// a AND b, a OR b: PostgreSQL does not evaluate b where a decides. That shows if b can raise an error, and only then a
// CASE, whose arms are evaluated only where they are taken, stands around the plain operator.
static ir::Index connect(Translation *t, BoolExprType type, ir::Index a, ir::Index b) {
    bool conjunction = type == AND_EXPR;
    ir::Index both = add_expr(t, conjunction ? ir::Op::And : ir::Op::Or, Type::Bool, a, b);
    if (!may_raise(t, b))
        return both;
    ir::Index decided = conjunction ? add_expr(t, ir::Op::Not, Type::Bool, a) : a;
    return add_expr(t, ir::Op::Case, Type::Bool, decided, add_constant(t, Type::Bool, conjunction ? 0 : 1, false),
                    both);
}

bool translate_condition(Translation *t, Expr *expr, ir::Index *out) {
    Value value;
    if (!translate(t, expr, &value))
        return false;
    if (value.kind != SqlKind::Bool)
        return refuse("a condition is not boolean");
    return as_own_node(t, value, out);
}

static bool translate_bool(Translation *t, const BoolExpr *expr, Value *out) {
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
            result = connect(t, expr->boolop, result, node);
    }
    bool_value(out, result, nullable);
    return true;
}

static bool translate_null_test(Translation *t, const NullTest *test, Value *out) {
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

static bool translate_boolean_test(Translation *t, const BooleanTest *test, Value *out) {
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

static bool translate_case(Translation *t, const CaseExpr *expr, Value *out) {
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

static bool translate_coalesce(Translation *t, const CoalesceExpr *expr, Value *out) {
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

// ---- comparisons ----

bool translate_comparison(Translation *t, ir::Op op, const Value &a, const Value &b, Value *out) {
    Type type = a.type;
    int32 scale = 0;
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
    } else if (is_text_kind(a.kind)) {
        return refuse("a comparison of two text columns");
    }
    ir::Index left, right;
    if (!as_node(t, a, type, scale, &left) || !as_node(t, b, type, scale, &right))
        return false;
    bool_value(out, add_expr(t, op, Type::Bool, left, right), a.nullable || b.nullable);
    return true;
}

static bool translate_nullif(Translation *t, const NullIfExpr *expr, Value *out) {
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

// a IS DISTINCT FROM b = NOT (both NULL OR (a = b) IS TRUE)
static bool translate_distinct(Translation *t, const DistinctExpr *expr, Value *out) {
    ir::Op op;
    Value a, b, equal;
    ir::Index left, right, same;
    Oid funcid = OidIsValid(expr->opfuncid) ? expr->opfuncid : get_opcode(expr->opno);
    if (!comparison_operator(funcid, &op) || op != ir::Op::Eq)
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

// x = ANY ('{...}') and x <> ALL ('{...}'): a chain of comparisons.
static bool translate_array_comparison(Translation *t, const ScalarArrayOpExpr *expr, Value *out) {
    ir::Op op;
    Oid funcid = OidIsValid(expr->opfuncid) ? expr->opfuncid : get_opcode(expr->opno);
    if (!comparison_operator(funcid, &op))
        return refuse("IN or ANY by %s", format_procedure(funcid));
    const Const *array = static_cast<const Const *>(lsecond(expr->args));
    if (!IsA(array, Const) || array->constisnull)
        return refuse("IN or ANY with an array that is not constant");
    Value x;
    ir::Index node;
    if (!may_execute(t, funcid) || !translate(t, static_cast<Expr *>(linitial(expr->args)), &x) ||
        !as_own_node(t, x, &node))
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
    if (count > max_in_list)
        return refuse("IN or ANY with more than %d values", max_in_list);
    if (count == 0 && may_raise(t, node)) // PostgreSQL computes the left side all the same
        return refuse("IN or ANY with no values");

    ir::Index result = ir::none;
    for (int i = 0; i < count; ++i) {
        Const *element = makeConst(type, -1, InvalidOid, length, values[i], nulls[i], by_value);
        Value value, compared;
        if (!translate_const(t, element, &value) || !translate_comparison(t, op, x, value, &compared))
            return false;
        result = result == ir::none
                     ? compared.expr
                     : add_expr(t, expr->useOr ? ir::Op::Or : ir::Op::And, Type::Bool, result, compared.expr);
    }
    if (result == ir::none)
        result = add_constant(t, Type::Bool, expr->useOr ? 0 : 1, false);
    bool_value(out, result, true);
    return true;
}

// ---- the walk ----

static bool translate_call(Translation *t, Oid funcid, List *args, Expr *expr, Value *out) {
    if (is_late_constant(expr)) {
        SqlKind kind = sql_kind(exprType(reinterpret_cast<Node *>(expr)));
        if (kind != SqlKind::None && kind != SqlKind::Numeric && !is_text_kind(kind) &&
            (contain_mutable_functions(reinterpret_cast<Node *>(expr)) || !is_device_function(funcid)))
            return translate_late_constant(t, expr, out);
    }
    return translate_function(t, funcid, args, expr, out);
}

bool translate(Translation *t, Expr *expr, Value *out) {
    check_stack_depth();
    if (IsA(expr, Var))
        return translate_column(t, reinterpret_cast<Var *>(expr), out);
    if (is_dictionary_expression(t, expr))
        return translate_lookup(t, expr, out);

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
        return refuse("GREATEST or LEAST");
    default:
        return refuse("an expression of a kind that no device knows (%d)", static_cast<int>(nodeTag(expr)));
    }
}

} // namespace gpuscan
