// Built-in functions and operators that a device evaluates, by OID. One table; what a row of it means depends on the
// arguments' types, so int4 + int8 and numeric + numeric are the same Add.
#include "pg/pg.h"

#include <algorithm>

#include "pg/plan/refusal.h"
#include "pg/plan/translate_parts.h"

namespace gpuscan {

enum class Form : uint8_t {
    Arithmetic, // a <op> b in the result's type
    Compare,
    Negate,
    Identity,     // unary plus
    Convert,      // to the result's type
    DatePlusDays, // also minus
    DateMinusDate,
    DateToTimestamp,
};

struct Builtin {
    Oid funcid;
    Form form;
    ir::Op op;
};

// clang-format off
#define ARITHMETIC(name, op) {F_##name, Form::Arithmetic, ir::Op::op}
#define CONVERT(name) {F_##name, Form::Convert, ir::Op::Cast}
#define COMPARISONS(prefix) \
    {F_##prefix##EQ, Form::Compare, ir::Op::Eq}, {F_##prefix##NE, Form::Compare, ir::Op::Ne}, \
    {F_##prefix##LT, Form::Compare, ir::Op::Lt}, {F_##prefix##LE, Form::Compare, ir::Op::Le}, \
    {F_##prefix##GT, Form::Compare, ir::Op::Gt}, {F_##prefix##GE, Form::Compare, ir::Op::Ge}

static const Builtin builtins[] = {
    COMPARISONS(INT2), COMPARISONS(INT4), COMPARISONS(INT8), COMPARISONS(INT24), COMPARISONS(INT42),
    COMPARISONS(INT28), COMPARISONS(INT82), COMPARISONS(INT48), COMPARISONS(INT84), COMPARISONS(BOOL),
    COMPARISONS(FLOAT4), COMPARISONS(FLOAT8), COMPARISONS(FLOAT48), COMPARISONS(FLOAT84),
    COMPARISONS(NUMERIC_), COMPARISONS(DATE_), COMPARISONS(TIMESTAMP_), COMPARISONS(TIMESTAMPTZ_),

    ARITHMETIC(INT2PL, Add), ARITHMETIC(INT4PL, Add), ARITHMETIC(INT8PL, Add), ARITHMETIC(INT24PL, Add),
    ARITHMETIC(INT42PL, Add), ARITHMETIC(INT28PL, Add), ARITHMETIC(INT82PL, Add), ARITHMETIC(INT48PL, Add),
    ARITHMETIC(INT84PL, Add), ARITHMETIC(FLOAT4PL, Add), ARITHMETIC(FLOAT8PL, Add), ARITHMETIC(FLOAT48PL, Add),
    ARITHMETIC(FLOAT84PL, Add), ARITHMETIC(NUMERIC_ADD, Add),
    ARITHMETIC(INT2MI, Sub), ARITHMETIC(INT4MI, Sub), ARITHMETIC(INT8MI, Sub), ARITHMETIC(INT24MI, Sub),
    ARITHMETIC(INT42MI, Sub), ARITHMETIC(INT28MI, Sub), ARITHMETIC(INT82MI, Sub), ARITHMETIC(INT48MI, Sub),
    ARITHMETIC(INT84MI, Sub), ARITHMETIC(FLOAT4MI, Sub), ARITHMETIC(FLOAT8MI, Sub), ARITHMETIC(FLOAT48MI, Sub),
    ARITHMETIC(FLOAT84MI, Sub), ARITHMETIC(NUMERIC_SUB, Sub),
    ARITHMETIC(INT2MUL, Mul), ARITHMETIC(INT4MUL, Mul), ARITHMETIC(INT8MUL, Mul), ARITHMETIC(INT24MUL, Mul),
    ARITHMETIC(INT42MUL, Mul), ARITHMETIC(INT28MUL, Mul), ARITHMETIC(INT82MUL, Mul), ARITHMETIC(INT48MUL, Mul),
    ARITHMETIC(INT84MUL, Mul), ARITHMETIC(FLOAT4MUL, Mul), ARITHMETIC(FLOAT8MUL, Mul), ARITHMETIC(FLOAT48MUL, Mul),
    ARITHMETIC(FLOAT84MUL, Mul), ARITHMETIC(NUMERIC_MUL, Mul),
    ARITHMETIC(INT2DIV, Div), ARITHMETIC(INT4DIV, Div), ARITHMETIC(INT8DIV, Div), ARITHMETIC(INT24DIV, Div),
    ARITHMETIC(INT42DIV, Div), ARITHMETIC(INT28DIV, Div), ARITHMETIC(INT82DIV, Div), ARITHMETIC(INT48DIV, Div),
    ARITHMETIC(INT84DIV, Div), ARITHMETIC(FLOAT4DIV, Div), ARITHMETIC(FLOAT8DIV, Div), ARITHMETIC(FLOAT48DIV, Div),
    ARITHMETIC(FLOAT84DIV, Div),
    ARITHMETIC(INT2MOD, Mod), ARITHMETIC(INT4MOD, Mod), ARITHMETIC(INT8MOD, Mod), ARITHMETIC(MOD_INT2_INT2, Mod),
    ARITHMETIC(MOD_INT4_INT4, Mod), ARITHMETIC(MOD_INT8_INT8, Mod),

    {F_INT2UM, Form::Negate, ir::Op::Neg}, {F_INT4UM, Form::Negate, ir::Op::Neg}, {F_INT8UM, Form::Negate, ir::Op::Neg},
    {F_FLOAT4UM, Form::Negate, ir::Op::Neg}, {F_FLOAT8UM, Form::Negate, ir::Op::Neg},
    {F_NUMERIC_UMINUS, Form::Negate, ir::Op::Neg},
    {F_INT2UP, Form::Identity, ir::Op::Neg}, {F_INT4UP, Form::Identity, ir::Op::Neg},
    {F_INT8UP, Form::Identity, ir::Op::Neg}, {F_FLOAT4UP, Form::Identity, ir::Op::Neg},
    {F_FLOAT8UP, Form::Identity, ir::Op::Neg}, {F_NUMERIC_UPLUS, Form::Identity, ir::Op::Neg},

    CONVERT(INT2_INT4), CONVERT(INT2_INT8), CONVERT(INT4_INT2), CONVERT(INT4_INT8), CONVERT(INT8_INT2),
    CONVERT(INT8_INT4), CONVERT(INT4_BOOL), CONVERT(FLOAT4_INT2), CONVERT(FLOAT4_INT4), CONVERT(FLOAT4_INT8),
    CONVERT(FLOAT8_INT2), CONVERT(FLOAT8_INT4), CONVERT(FLOAT8_INT8), CONVERT(FLOAT8_FLOAT4), CONVERT(FLOAT4_FLOAT8),
    CONVERT(INT2_FLOAT4), CONVERT(INT2_FLOAT8), CONVERT(INT4_FLOAT4), CONVERT(INT4_FLOAT8), CONVERT(INT8_FLOAT4),
    CONVERT(INT8_FLOAT8), CONVERT(NUMERIC_INT2), CONVERT(NUMERIC_INT4), CONVERT(NUMERIC_INT8),
    CONVERT(NUMERIC_NUMERIC_INT4), CONVERT(FLOAT8_NUMERIC),

    {F_DATE_PLI, Form::DatePlusDays, ir::Op::Add}, {F_DATE_MII, Form::DatePlusDays, ir::Op::Sub},
    {F_DATE_MI, Form::DateMinusDate, ir::Op::Sub}, {F_TIMESTAMP_DATE, Form::DateToTimestamp, ir::Op::Mul},
};
// clang-format on

static const Builtin *find_builtin(Oid funcid) {
    for (const Builtin &builtin : builtins)
        if (builtin.funcid == funcid)
            return &builtin;
    return nullptr;
}

bool is_device_function(Oid funcid) { return find_builtin(funcid) != nullptr; }

bool comparison_operator(Oid funcid, ir::Op *op) {
    const Builtin *builtin = find_builtin(funcid);
    if (builtin == nullptr || builtin->form != Form::Compare)
        return false;
    *op = builtin->op;
    return true;
}

bool is_hashable_equality(Oid funcid) {
    ir::Op op;
    if (!comparison_operator(funcid, &op) || op != ir::Op::Eq)
        return false;
    return funcid != F_FLOAT4EQ && funcid != F_FLOAT8EQ && funcid != F_FLOAT48EQ && funcid != F_FLOAT84EQ;
}

static void result_value(Value *out, SqlKind kind, Type type, ir::Index node, bool nullable) {
    *out = Value{};
    out->kind = kind;
    out->type = type;
    out->expr = node;
    out->nullable = nullable;
    if (is_integer_kind(kind))
        out->precision = integer_digits(kind);
}

// ---- arithmetic ----

// PostgreSQL's rules: the sum has the larger scale, the product both scales together; both are exact.
static bool numeric_arithmetic(Translation *t, ir::Op op, const Value &a, const Value &b, Value *out) {
    int32 scale_a = a.scale, scale_b = b.scale, scale, precision;
    if (op == ir::Op::Mul) {
        scale = a.scale + b.scale;
        precision = a.precision + b.precision;
    } else {
        scale = scale_a = scale_b = std::max(a.scale, b.scale);
        precision = std::max(a.precision - a.scale, b.precision - b.scale) + scale + 1;
    }
    if (scale > 38)
        return refuse("a numeric result has more than 38 digits after the point");
    Type type = numeric_type(precision);
    ir::Index left, right;
    if (!as_node(t, a, type, scale_a, &left) || !as_node(t, b, type, scale_b, &right))
        return false;
    result_value(out, SqlKind::Numeric, type, add_expr(t, op, type, left, right), a.nullable || b.nullable);
    out->scale = scale;
    out->precision = precision;
    out->mixed_scale = a.mixed_scale || b.mixed_scale;
    return true;
}

static bool arithmetic(Translation *t, ir::Op op, SqlKind kind, const Value &a, const Value &b, Value *out) {
    if (kind == SqlKind::Numeric)
        return numeric_arithmetic(t, op, a, b, out);
    Type type = engine_type(kind);
    ir::Index left, right;
    if (!as_node(t, a, type, 0, &left) || !as_node(t, b, type, 0, &right))
        return false;
    result_value(out, kind, type, add_expr(t, op, type, left, right), a.nullable || b.nullable);
    return true;
}

static bool negate(Translation *t, const Value &a, Value *out) {
    ir::Index node;
    if (!as_own_node(t, a, &node))
        return false;
    *out = a;
    out->literal = false;
    out->expr = add_expr(t, ir::Op::Neg, a.type, node);
    return true;
}

// ---- casts ----

static bool to_numeric(const Value &a, Value *out) {
    *out = a;
    out->kind = SqlKind::Numeric;
    out->scale = 0;
    return true;
}

// numeric -> numeric(p,s), only where nothing is rounded or out of range.
static bool numeric_to_typmod(const Value &a, const Const *typmod, Translation *t, Value *out) {
    int precision, scale;
    if (!IsA(typmod, Const) || typmod->constisnull ||
        !numeric_typmod(DatumGetInt32(typmod->constvalue), &precision, &scale))
        return refuse("a cast to numeric with a precision that is not constant");
    if (scale < a.scale || precision - scale < a.precision - a.scale || precision > 38)
        return refuse("a cast to numeric(%d,%d) that may round or overflow", precision, scale);
    Type type = numeric_type(precision);
    ir::Index node;
    if (!as_node(t, a, type, scale, &node))
        return false;
    result_value(out, SqlKind::Numeric, type, node, a.nullable);
    out->scale = scale;
    out->precision = precision;
    return true;
}

// Exact when both the integer and the power of ten are doubles without rounding: then one division rounds correctly.
static bool numeric_to_double(Translation *t, const Value &a, Value *out) {
    if (a.precision > 15 || a.scale > 22)
        return refuse("a cast from numeric with more than 15 digits to double precision");
    ir::Index node;
    if (!as_own_node(t, a, &node))
        return false;
    node = add_expr(t, ir::Op::Cast, Type::F64, node);
    if (a.scale > 0) {
        double divisor = 1;
        for (int i = 0; i < a.scale; ++i)
            divisor *= 10;
        uint64_t bits;
        memcpy(&bits, &divisor, sizeof bits);
        node = add_expr(t, ir::Op::Div, Type::F64, node, add_constant(t, Type::F64, static_cast<int128>(bits), false));
    }
    result_value(out, SqlKind::Float8, Type::F64, node, a.nullable);
    return true;
}

static bool convert(Translation *t, SqlKind kind, List *args, const Value &a, Value *out) {
    if (kind == SqlKind::Numeric) {
        if (a.kind != SqlKind::Numeric)
            return to_numeric(a, out);
        return numeric_to_typmod(a, static_cast<const Const *>(lsecond(args)), t, out);
    }
    if (a.kind == SqlKind::Numeric)
        return numeric_to_double(t, a, out);
    Type type = engine_type(kind);
    ir::Index node;
    if (!as_own_node(t, a, &node))
        return false;
    if (a.type != type)
        node = add_expr(t, ir::Op::Cast, type, node);
    result_value(out, kind, type, node, a.nullable);
    return true;
}

// ---- dates ----

// A node that raises a row error whenever it is evaluated: PostgreSQL's own error is then raised by its plan.
static ir::Index raise_node(Translation *t, Type type) {
    if (type == Type::I64) {
        ir::Index wide = add_constant(t, Type::I128, static_cast<int128>(1) << 100, false);
        return add_expr(t, ir::Op::Cast, Type::I64, wide);
    }
    return add_expr(t, ir::Op::Cast, Type::I32, add_constant(t, Type::I64, static_cast<int128>(1) << 40, false));
}

static ir::Index binary(Translation *t, ir::Op op, ir::Index a, ir::Index b) {
    return add_expr(t, op, Type::Bool, a, b);
}

static ir::Index date_constant(Translation *t, int64_t value) { return add_constant(t, Type::I32, value, false); }

static ir::Index is_finite_date(Translation *t, ir::Index date) {
    return binary(t, ir::Op::And, binary(t, ir::Op::Gt, date, date_constant(t, DATEVAL_NOBEGIN)),
                  binary(t, ir::Op::Lt, date, date_constant(t, DATEVAL_NOEND)));
}

// date + n: infinity stays, and the result must be a date (IS_VALID_DATE).
static bool date_plus_days(Translation *t, ir::Op op, const Value &a, const Value &b, Value *out) {
    ir::Index date, days;
    if (!as_own_node(t, a, &date) || !as_node(t, b, Type::I32, 0, &days))
        return false;
    ir::Index moved = add_expr(t, op, Type::I32, date, days);
    ir::Index valid = binary(t, ir::Op::And,
                             binary(t, ir::Op::Ge, moved, date_constant(t, DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)),
                             binary(t, ir::Op::Lt, moved, date_constant(t, DATE_END_JULIAN - POSTGRES_EPOCH_JDATE)));
    // NULL days must give NULL, not an error: a NULL condition takes the last arm.
    ir::Index checked = add_expr(t, ir::Op::Case, Type::I32, add_expr(t, ir::Op::Not, Type::Bool, valid),
                                 raise_node(t, Type::I32), moved);
    ir::Index result =
        add_expr(t, ir::Op::Case, Type::I32, is_finite_date(t, date), checked,
                 b.nullable ? add_expr(t, ir::Op::Case, Type::I32, add_expr(t, ir::Op::IsNull, Type::Bool, days),
                                       add_constant(t, Type::I32, 0, true), date)
                            : date);
    result_value(out, SqlKind::Date, Type::I32, result, a.nullable || b.nullable);
    return true;
}

static bool date_minus_date(Translation *t, const Value &a, const Value &b, Value *out) {
    ir::Index left, right;
    if (!as_own_node(t, a, &left) || !as_own_node(t, b, &right))
        return false;
    ir::Index infinite =
        add_expr(t, ir::Op::Not, Type::Bool, binary(t, ir::Op::And, is_finite_date(t, left), is_finite_date(t, right)));
    // NULL - infinity is NULL in PostgreSQL (strict), so the error needs both sides.
    ir::Index both = binary(t, ir::Op::And, add_expr(t, ir::Op::IsNotNull, Type::Bool, left),
                            add_expr(t, ir::Op::IsNotNull, Type::Bool, right));
    ir::Index result =
        add_expr(t, ir::Op::Case, Type::I32, binary(t, ir::Op::And, both, infinite), raise_node(t, Type::I32),
                 add_expr(t, ir::Op::Case, Type::I32, both, add_expr(t, ir::Op::Sub, Type::I32, left, right),
                          add_constant(t, Type::I32, 0, true)));
    result_value(out, SqlKind::Int4, Type::I32, result, a.nullable || b.nullable);
    return true;
}

// date::timestamp: infinities stay, days beyond the last timestamp are an error.
static bool date_to_timestamp(Translation *t, const Value &a, Value *out) {
    ir::Index date;
    if (!as_own_node(t, a, &date))
        return false;
    ir::Index micros = add_expr(t, ir::Op::Mul, Type::I64, add_expr(t, ir::Op::Cast, Type::I64, date),
                                add_constant(t, Type::I64, USECS_PER_DAY, false));
    ir::Index late = binary(t, ir::Op::Ge, date, date_constant(t, TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE));
    ir::Index checked = add_expr(t, ir::Op::Case, Type::I64, late, raise_node(t, Type::I64), micros);
    ir::Index upper = add_expr(t, ir::Op::Case, Type::I64, binary(t, ir::Op::Eq, date, date_constant(t, DATEVAL_NOEND)),
                               add_constant(t, Type::I64, DT_NOEND, false), checked);
    ir::Index result =
        add_expr(t, ir::Op::Case, Type::I64, binary(t, ir::Op::Eq, date, date_constant(t, DATEVAL_NOBEGIN)),
                 add_constant(t, Type::I64, DT_NOBEGIN, false), upper);
    result_value(out, SqlKind::Timestamp, Type::I64, result, a.nullable);
    return true;
}

// ---- the call ----

bool translate_function(Translation *t, Oid funcid, List *args, Expr *node, Value *out) {
    const Builtin *builtin = find_builtin(funcid);
    if (builtin == nullptr)
        return refuse("function %s with these arguments", format_procedure(funcid));
    if (!may_execute(t, funcid))
        return false;
    if (builtin->form == Form::Compare &&
        (is_unscaled(t, static_cast<Expr *>(linitial(args))) || is_unscaled(t, static_cast<Expr *>(lsecond(args)))))
        return translate_unscaled_comparison(t, builtin->op, args, out);
    SqlKind kind = sql_kind(exprType(reinterpret_cast<Node *>(node)));
    Value a, b;
    if (!translate(t, static_cast<Expr *>(linitial(args)), &a))
        return false;
    bool two = builtin->form == Form::Arithmetic || builtin->form == Form::Compare ||
               builtin->form == Form::DatePlusDays || builtin->form == Form::DateMinusDate;
    if (two && !translate(t, static_cast<Expr *>(lsecond(args)), &b))
        return false;

    switch (builtin->form) {
    case Form::Arithmetic:
        return arithmetic(t, builtin->op, kind, a, b, out);
    case Form::Compare:
        return translate_comparison(t, builtin->op, a, b, out);
    case Form::Negate:
        return negate(t, a, out);
    case Form::Identity:
        *out = a;
        return true;
    case Form::Convert:
        return convert(t, kind, args, a, out);
    case Form::DatePlusDays:
        return date_plus_days(t, builtin->op, a, b, out);
    case Form::DateMinusDate:
        return date_minus_date(t, a, b, out);
    case Form::DateToTimestamp:
        return date_to_timestamp(t, a, out);
    }
    pg_unreachable();
}

} // namespace gpuscan
