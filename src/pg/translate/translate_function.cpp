// Built-in functions and operators that a device evaluates, by OID. One table; what a row of it means depends on the
// arguments' types, so int4 + int8 and numeric + numeric are the same Add.
#include "pg/pg.h"

#include <algorithm>

#include "pg/catalog/function_index.h"
#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

// clang-format off
#define ARITHMETIC(name, op) {F_##name, Rule::Arithmetic, ir::Op::op, {}}
#define NUMBER(name, rule) {F_##name, Rule::rule, ir::Op::Call, {}}
#define FLOAT(name, function) {F_##name, Rule::OfFloat, ir::Op::Call, ir::Function::function}
#define BITS(name, function) {F_##name, Rule::Bits, ir::Op::Call, ir::Function::function}
#define TIME(name, rule) {F_##name, Rule::rule, ir::Op::Call, {}}
#define CONVERT(name) {F_##name, Rule::Convert, ir::Op::Cast, {}}
#define COMPARISONS(prefix) \
    {F_##prefix##EQ, Rule::Compare, ir::Op::Eq, {}}, {F_##prefix##NE, Rule::Compare, ir::Op::Ne, {}}, \
    {F_##prefix##LT, Rule::Compare, ir::Op::Lt, {}}, {F_##prefix##LE, Rule::Compare, ir::Op::Le, {}}, \
    {F_##prefix##GT, Rule::Compare, ir::Op::Gt, {}}, {F_##prefix##GE, Rule::Compare, ir::Op::Ge, {}}

#define INSTANTS(first, second) \
    {F_##first##_EQ_##second, Rule::Instants, ir::Op::Eq, {}}, {F_##first##_NE_##second, Rule::Instants, ir::Op::Ne, {}}, \
    {F_##first##_LT_##second, Rule::Instants, ir::Op::Lt, {}}, {F_##first##_LE_##second, Rule::Instants, ir::Op::Le, {}}, \
    {F_##first##_GT_##second, Rule::Instants, ir::Op::Gt, {}}, {F_##first##_GE_##second, Rule::Instants, ir::Op::Ge, {}}

#define EQUALITY(prefix) {F_##prefix##EQ, Rule::Compare, ir::Op::Eq, {}}, {F_##prefix##NE, Rule::Compare, ir::Op::Ne, {}}

static constexpr Builtin builtins[] = {
    COMPARISONS(INT2), COMPARISONS(INT4), COMPARISONS(INT8), COMPARISONS(INT24), COMPARISONS(INT42),
    COMPARISONS(INT28), COMPARISONS(INT82), COMPARISONS(INT48), COMPARISONS(INT84), COMPARISONS(BOOL),
    COMPARISONS(FLOAT4), COMPARISONS(FLOAT8), COMPARISONS(FLOAT48), COMPARISONS(FLOAT84),
    COMPARISONS(NUMERIC_), COMPARISONS(DATE_), COMPARISONS(TIMESTAMP_), COMPARISONS(TIMESTAMPTZ_),
    COMPARISONS(TIME_), COMPARISONS(CASH_), COMPARISONS(UUID_), COMPARISONS(INTERVAL_), COMPARISONS(OID), COMPARISONS(ENUM_), EQUALITY(BYTEA),
    EQUALITY(NETWORK_), EQUALITY(MACADDR_), EQUALITY(MACADDR8_), EQUALITY(TIMETZ_),

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
    ARITHMETIC(FLOAT84DIV, Div), ARITHMETIC(NUMERIC_DIV, Div),
    ARITHMETIC(INT2MOD, Mod), ARITHMETIC(INT4MOD, Mod), ARITHMETIC(INT8MOD, Mod), ARITHMETIC(MOD_INT2_INT2, Mod),
    ARITHMETIC(MOD_INT4_INT4, Mod), ARITHMETIC(MOD_INT8_INT8, Mod),

    ARITHMETIC(NUMERIC_MOD, Mod), ARITHMETIC(MOD_NUMERIC_NUMERIC, Mod),

    {F_TEXTEQ, Rule::CompareText, ir::Op::Eq, {}}, {F_TEXTNE, Rule::CompareText, ir::Op::Ne, {}},
    {F_BPCHAREQ, Rule::CompareText, ir::Op::Eq, {}}, {F_BPCHARNE, Rule::CompareText, ir::Op::Ne, {}},

    NUMBER(INT2ABS, Absolute), NUMBER(INT4ABS, Absolute), NUMBER(INT8ABS, Absolute), NUMBER(NUMERIC_ABS, Absolute),
    NUMBER(ABS_INT2, Absolute), NUMBER(ABS_INT4, Absolute), NUMBER(ABS_INT8, Absolute), NUMBER(ABS_NUMERIC, Absolute),
    NUMBER(SIGN_NUMERIC, Sign), NUMBER(ROUND_NUMERIC, Round), NUMBER(ROUND_NUMERIC_INT4, Round),
    NUMBER(TRUNC_NUMERIC, Truncate), NUMBER(TRUNC_NUMERIC_INT4, Truncate), NUMBER(CEIL_NUMERIC, Ceil),
    NUMBER(CEILING_NUMERIC, Ceil), NUMBER(FLOOR_NUMERIC, Floor),
    FLOAT(FLOAT8ABS, Absolute), FLOAT(ABS_FLOAT8, Absolute), FLOAT(SIGN_FLOAT8, Sign), FLOAT(CEIL_FLOAT8, Ceil),
    FLOAT(CEILING_FLOAT8, Ceil), FLOAT(FLOOR_FLOAT8, Floor), FLOAT(ROUND_FLOAT8, Round), FLOAT(TRUNC_FLOAT8, Truncate),
    FLOAT(FLOAT4ABS, Absolute), FLOAT(ABS_FLOAT4, Absolute), FLOAT(DROUND, Round), FLOAT(DTRUNC, Truncate),
    NUMBER(GCD_INT4_INT4, Gcd), NUMBER(GCD_INT8_INT8, Gcd), NUMBER(LCM_INT4_INT4, Lcm), NUMBER(LCM_INT8_INT8, Lcm),
    NUMBER(BOOL_INT4, ToTruth), NUMBER(OID, ToOid), NUMBER(TEXT_BOOL, BoolToText),
    FLOAT(SQRT_FLOAT8, SquareRoot), FLOAT(DSQRT, SquareRoot), FLOAT(DEGREES, Degrees), FLOAT(RADIANS, Radians),

    BITS(INT2AND, BitAnd), BITS(INT4AND, BitAnd), BITS(INT8AND, BitAnd), BITS(INT2OR, BitOr), BITS(INT4OR, BitOr),
    BITS(INT8OR, BitOr), BITS(INT2XOR, BitXor), BITS(INT4XOR, BitXor), BITS(INT8XOR, BitXor), BITS(INT2NOT, BitXor),
    BITS(INT4NOT, BitXor), BITS(INT8NOT, BitXor), BITS(INT2SHL, ShiftLeft32), BITS(INT4SHL, ShiftLeft32),
    BITS(INT8SHL, ShiftLeft64), BITS(INT2SHR, ShiftRight32), BITS(INT4SHR, ShiftRight32), BITS(INT8SHR, ShiftRight64),

    {F_INT2UM, Rule::Negate, ir::Op::Neg, {}}, {F_INT4UM, Rule::Negate, ir::Op::Neg, {}}, {F_INT8UM, Rule::Negate, ir::Op::Neg, {}},
    {F_FLOAT4UM, Rule::Negate, ir::Op::Neg, {}}, {F_FLOAT8UM, Rule::Negate, ir::Op::Neg, {}},
    {F_NUMERIC_UMINUS, Rule::Negate, ir::Op::Neg, {}},
    {F_INT2UP, Rule::Identity, ir::Op::Neg, {}}, {F_INT4UP, Rule::Identity, ir::Op::Neg, {}},
    {F_INT8UP, Rule::Identity, ir::Op::Neg, {}}, {F_FLOAT4UP, Rule::Identity, ir::Op::Neg, {}},
    {F_FLOAT8UP, Rule::Identity, ir::Op::Neg, {}}, {F_NUMERIC_UPLUS, Rule::Identity, ir::Op::Neg, {}},

    CONVERT(INT2_INT4), CONVERT(INT2_INT8), CONVERT(INT4_INT2), CONVERT(INT4_INT8), CONVERT(INT8_INT2),
    CONVERT(INT8_INT4), CONVERT(INT4_BOOL), CONVERT(FLOAT4_INT2), CONVERT(FLOAT4_INT4), CONVERT(FLOAT4_INT8),
    CONVERT(FLOAT8_INT2), CONVERT(FLOAT8_INT4), CONVERT(FLOAT8_INT8), CONVERT(FLOAT8_FLOAT4), CONVERT(FLOAT4_FLOAT8),
    CONVERT(INT2_FLOAT4), CONVERT(INT2_FLOAT8), CONVERT(INT4_FLOAT4), CONVERT(INT4_FLOAT8), CONVERT(INT8_FLOAT4),
    CONVERT(INT8_FLOAT8), CONVERT(NUMERIC_INT2), CONVERT(NUMERIC_INT4), CONVERT(NUMERIC_INT8),
    CONVERT(NUMERIC_NUMERIC_INT4), CONVERT(FLOAT8_NUMERIC), CONVERT(INT2_NUMERIC), CONVERT(INT4_NUMERIC),
    CONVERT(INT8_NUMERIC),

    {F_DATE_PLI, Rule::DatePlusDays, ir::Op::Add, {}}, {F_DATE_MII, Rule::DatePlusDays, ir::Op::Sub, {}},
    {F_DATE_MI, Rule::DateMinusDate, ir::Op::Sub, {}}, {F_TIMESTAMP_DATE, Rule::DateToTimestamp, ir::Op::Cast, {}},
    {F_DATE_TIMESTAMP, Rule::TimestampToDate, ir::Op::Cast, {}},
    {F_DATE_PL_INTERVAL, Rule::PlusInterval, ir::Op::Add, {}}, {F_DATE_MI_INTERVAL, Rule::PlusInterval, ir::Op::Sub, {}},
    {F_TIMESTAMP_PL_INTERVAL, Rule::PlusInterval, ir::Op::Add, {}}, {F_TIMESTAMP_MI_INTERVAL, Rule::PlusInterval, ir::Op::Sub, {}},
    {F_TIMESTAMPTZ_PL_INTERVAL, Rule::PlusInterval, ir::Op::Add, {}},
    {F_TIMESTAMPTZ_MI_INTERVAL, Rule::PlusInterval, ir::Op::Sub, {}},
    {F_TIMESTAMP_MI, Rule::OfTwoTimes, ir::Op::Call, ir::Function::TimestampMinus},
    {F_TIMESTAMPTZ_MI, Rule::OfTwoTimes, ir::Op::Call, ir::Function::TimestampMinus},
    {F_AGE_TIMESTAMP_TIMESTAMP, Rule::OfTwoTimes, ir::Op::Call, ir::Function::TimestampAge},
    {F_INTERVAL_PL, Rule::OfTwoTimes, ir::Op::Call, ir::Function::IntervalPlus},
    {F_INTERVAL_MI, Rule::OfTwoTimes, ir::Op::Call, ir::Function::IntervalMinus},
    {F_INTERVAL_UM, Rule::MinusInterval, ir::Op::Call, ir::Function::IntervalMinus},
    {F_EXTRACT_TEXT_INTERVAL, Rule::Extract, ir::Op::Call, {}}, {F_DATE_PART_TEXT_INTERVAL, Rule::Extract, ir::Op::Call, {}},
    {F_DATE_EQ_TIMESTAMP, Rule::DateTimestamp, ir::Op::Eq, {}}, {F_DATE_NE_TIMESTAMP, Rule::DateTimestamp, ir::Op::Ne, {}},
    {F_DATE_LT_TIMESTAMP, Rule::DateTimestamp, ir::Op::Lt, {}}, {F_DATE_LE_TIMESTAMP, Rule::DateTimestamp, ir::Op::Le, {}},
    {F_DATE_GT_TIMESTAMP, Rule::DateTimestamp, ir::Op::Gt, {}}, {F_DATE_GE_TIMESTAMP, Rule::DateTimestamp, ir::Op::Ge, {}},
    {F_TIMESTAMP_EQ_DATE, Rule::TimestampDate, ir::Op::Eq, {}}, {F_TIMESTAMP_NE_DATE, Rule::TimestampDate, ir::Op::Ne, {}},
    {F_TIMESTAMP_LT_DATE, Rule::TimestampDate, ir::Op::Lt, {}}, {F_TIMESTAMP_LE_DATE, Rule::TimestampDate, ir::Op::Le, {}},
    {F_TIMESTAMP_GT_DATE, Rule::TimestampDate, ir::Op::Gt, {}}, {F_TIMESTAMP_GE_DATE, Rule::TimestampDate, ir::Op::Ge, {}},
    INSTANTS(TIMESTAMPTZ, DATE), INSTANTS(DATE, TIMESTAMPTZ), INSTANTS(TIMESTAMPTZ, TIMESTAMP), INSTANTS(TIMESTAMP, TIMESTAMPTZ),
    {F_ISFINITE_DATE, Rule::IsFinite, ir::Op::And, {}}, {F_ISFINITE_TIMESTAMP, Rule::IsFinite, ir::Op::And, {}},
    {F_ISFINITE_TIMESTAMPTZ, Rule::IsFinite, ir::Op::And, {}},
    {F_EXTRACT_TEXT_DATE, Rule::Extract, ir::Op::Call, {}}, {F_EXTRACT_TEXT_TIMESTAMP, Rule::Extract, ir::Op::Call, {}},
    {F_EXTRACT_TEXT_TIMESTAMPTZ, Rule::Extract, ir::Op::Call, {}}, {F_DATE_PART_TEXT_TIMESTAMP, Rule::Extract, ir::Op::Call, {}},
    {F_DATE_TRUNC_TEXT_TIMESTAMP, Rule::DateTrunc, ir::Op::Call, {}},
    {F_DATE_PART_TEXT_TIMESTAMPTZ, Rule::Extract, ir::Op::Call, {}}, {F_DATE_TRUNC_TEXT_TIMESTAMPTZ, Rule::DateTrunc, ir::Op::Call, {}},
    {F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, Rule::DateTrunc, ir::Op::Call, {}},
    {F_TIMESTAMP_TIMESTAMPTZ, Rule::InstantToClock, ir::Op::Call, {}}, {F_TIMEZONE_TEXT_TIMESTAMPTZ, Rule::InstantToClock, ir::Op::Call, {}},
    {F_DATE_TIMESTAMPTZ, Rule::InstantToDate, ir::Op::Call, {}}, {F_TIMESTAMPTZ_TIMESTAMP, Rule::ClockToInstant, ir::Op::Call, {}},
    {F_TIMESTAMPTZ_DATE, Rule::ClockToInstant, ir::Op::Call, {}}, {F_TIMEZONE_TEXT_TIMESTAMP, Rule::ClockToInstant, ir::Op::Call, {}},
    TIME(OVERLAPS_TIMESTAMP_TIMESTAMP_TIMESTAMP_TIMESTAMP, Overlaps), TIME(OVERLAPS_TIME_TIME_TIME_TIME, Overlaps),
    TIME(OVERLAPS_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ, Overlaps),
    TIME(DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP, DateBin), TIME(DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ, DateBin),
    TIME(AGE_TIMESTAMPTZ_TIMESTAMPTZ, Age), TIME(MAKE_DATE, MakeDate), TIME(MAKE_TIME, MakeTime), TIME(MAKE_TIMESTAMP, MakeTimestamp),
    TIME(MAKE_TIMESTAMPTZ_INT4_INT4_INT4_INT4_INT4_FLOAT8, MakeTimestamp), TIME(MAKE_INTERVAL, MakeInterval),
    TIME(TO_TIMESTAMP_FLOAT8, EpochToInstant), TIME(TIME_TIMESTAMP, TimeOfDay), TIME(TIME_TIMESTAMPTZ, TimeOfDay),
    TIME(TIME_INTERVAL, TimeOfDay), TIME(DATETIME_PL, DatePlusTime), TIME(TIMESTAMP_DATE_TIME, DatePlusTime),
    {F_TIME_PL_INTERVAL, Rule::TimePlusInterval, ir::Op::Add, {}}, {F_TIME_MI_INTERVAL, Rule::TimePlusInterval, ir::Op::Sub, {}},
    TIME(TIME_MI_TIME, TimeMinusTime), TIME(INTERVAL_TIME, TimeToInterval), TIME(TIME_TIME_INT4, RoundTime),
    TIME(TIMESTAMP_TIMESTAMP_INT4, RoundTime), TIME(TIMESTAMPTZ_TIMESTAMPTZ_INT4, RoundTime),
    TIME(TIMEZONE_INTERVAL_TIMESTAMP, ByInterval), TIME(TIMEZONE_INTERVAL_TIMESTAMPTZ, ByInterval),
    TIME(DATE_TRUNC_TEXT_INTERVAL, TruncateInterval), TIME(INTERVAL_INTERVAL_INT4, RoundInterval), TIME(ISFINITE_INTERVAL, IsFiniteInterval),
    TIME(WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4, WidthBucket),
    {F_JUSTIFY_DAYS, Rule::OfInterval, ir::Op::Call, ir::Function::JustifyDays},
    {F_JUSTIFY_HOURS, Rule::OfInterval, ir::Op::Call, ir::Function::JustifyHours},
    {F_JUSTIFY_INTERVAL, Rule::OfInterval, ir::Op::Call, ir::Function::JustifyInterval},
    {F_INTERVAL_MUL, Rule::IntervalTimes, ir::Op::Mul, ir::Function::IntervalTimes},
    {F_MUL_D_INTERVAL, Rule::IntervalTimes, ir::Op::Mul, ir::Function::IntervalTimes},
    {F_INTERVAL_DIV, Rule::IntervalTimes, ir::Op::Div, ir::Function::IntervalBy},
    {F_EXTRACT_TEXT_TIME, Rule::Extract, ir::Op::Call, {}}, {F_DATE_PART_TEXT_TIME, Rule::Extract, ir::Op::Call, {}},
};
// clang-format on

static constexpr FunctionIndex builtin_index = index_functions(builtins);

static const Builtin *find_builtin(Oid funcid) { return find_function(builtin_index, builtins, funcid); }

bool is_device_function(Oid funcid) { return find_builtin(funcid) != nullptr; }

// x % c: as many on both sides of 0.
static double values_of_remainder(const List *args) {
    const Const *divisor = static_cast<const Const *>(lsecond(args));
    int64 number;
    if (!IsA(divisor, Const) || divisor->constisnull || !integer_of(divisor->consttype, divisor->constvalue, &number) ||
        number == 0)
        return HUGE_VAL;
    return 2 * std::abs(static_cast<double>(number)) - 1;
}

double values_of_call(Oid funcid, const List *args) {
    const Builtin *builtin = find_builtin(funcid);
    if (builtin != nullptr && builtin->rule == Rule::Extract)
        return values_of_part(args);
    return builtin != nullptr && builtin->rule == Rule::Arithmetic && builtin->op == ir::Op::Mod
               ? values_of_remainder(args)
               : HUGE_VAL;
}

bool comparison_operator(Oid funcid, ir::Op *op) {
    const Builtin *builtin = find_builtin(funcid);
    if (builtin == nullptr || builtin->rule != Rule::Compare)
        return false;
    *op = builtin->op;
    return true;
}

bool text_operator(Oid funcid, ir::Op *op) {
    const Builtin *builtin = find_builtin(funcid);
    if (builtin == nullptr || builtin->rule != Rule::CompareText)
        return false;
    *op = builtin->op;
    return true;
}

bool is_hashable_equality(Oid funcid) {
    ir::Op op;
    if (text_operator(funcid, &op))
        return op == ir::Op::Eq;
    return comparison_operator(funcid, &op) && op == ir::Op::Eq;
}

// ---- arithmetic ----

// PostgreSQL's rules: the sum has the larger scale, the product both scales together; both are exact.
static bool numeric_arithmetic(Translation *t, ir::Op op, const TypedExpr &a, const TypedExpr &b, TypedExpr *out) {
    int32 scale_a = a.scale, scale_b = b.scale, scale, precision;
    if (op == ir::Op::Mul) {
        scale = a.scale + b.scale;
        precision = a.precision + b.precision;
    } else {
        scale = scale_a = scale_b = std::max(a.scale, b.scale);
        precision = std::max(a.precision - a.scale, b.precision - b.scale) + scale + 1;
    }
    if (scale > 38)
        return refuse_with("round the operands first", "a numeric result has more than 38 digits after the point");
    Type type = numeric_type(precision);
    ir::Index left, right;
    if (!as_node(t, a, type, scale_a, &left) || !as_node(t, b, type, scale_b, &right))
        return false;
    node_value(out, SqlKind::Numeric, type, add_expr(t, op, type, left, right), a.nullable || b.nullable);
    out->scale = scale;
    out->precision = precision;
    out->mixed_scale = a.mixed_scale || b.mixed_scale;
    if ((a.mixed_scale && a.scale_node == ir::none) || (b.mixed_scale && b.scale_node == ir::none)) {
        out->scale_node = ir::none;
    } else if (out->mixed_scale) {
        ir::Index x = display_scale(t, a), y = display_scale(t, b);
        out->scale_node = op == ir::Op::Mul
                              ? add_expr(t, ir::Op::Add, Type::I32, x, y)
                              : add_expr(t, ir::Op::Case, Type::I32, add_expr(t, ir::Op::Gt, Type::Bool, x, y), x, y);
    }
    return true;
}

static bool arithmetic(Translation *t, ir::Op op, SqlKind kind, const TypedExpr &a, const TypedExpr &b,
                       TypedExpr *out) {
    if (kind == SqlKind::Numeric)
        return op == ir::Op::Div ? numeric_quotient(t, a, b, out) : numeric_arithmetic(t, op, a, b, out);
    Type type = engine_type(kind);
    ir::Index left, right;
    if (!as_node(t, a, type, 0, &left) || !as_node(t, b, type, 0, &right))
        return false;
    node_value(out, kind, type, add_expr(t, op, type, left, right), a.nullable || b.nullable);
    return true;
}

static bool negate(Translation *t, const TypedExpr &a, TypedExpr *out) {
    ir::Index node;
    if (!as_own_node(t, a, &node))
        return false;
    *out = a;
    out->literal = false;
    out->expr = add_expr(t, ir::Op::Neg, a.type, node);
    return true;
}

// In 64 bits; 2^63 is a row error, and so is what the result's type does not hold.
static bool common_multiple(Translation *t, bool least, SqlKind kind, const TypedExpr &a, const TypedExpr &b,
                            TypedExpr *out) {
    ir::Index left, right;
    if (!as_node(t, a, Type::I64, 0, &left) || !as_node(t, b, Type::I64, 0, &right))
        return false;
    const auto compared = [t](ir::Op op, ir::Index node) {
        return binary(t, op, node, add_constant(t, Type::I64, 0, false));
    };
    ir::Index node = add_call(t, ir::Function::Gcd, left, right);
    if (least) {
        ir::Index divisor = choose(t, compared(ir::Op::Eq, node), add_constant(t, Type::I64, 1, false), node);
        node = add_expr(t, ir::Op::Mul, Type::I64, add_expr(t, ir::Op::Div, Type::I64, left, divisor), right);
        node = choose(t, compared(ir::Op::Lt, node), add_expr(t, ir::Op::Neg, Type::I64, node), node);
    }
    const Type type = engine_type(kind);
    node_value(out, kind, type, type == Type::I64 ? node : add_expr(t, ir::Op::Cast, type, node),
               a.nullable || b.nullable);
    return true;
}

// ---- casts ----

static bool bool_to_text(Translation *t, List *args, Oid collation, TypedExpr *out) {
    Expr *truth = static_cast<Expr *>(linitial(args));
    const auto when = [collation](Expr *condition, const char *text) {
        CaseWhen *arm = makeNode(CaseWhen);
        arm->expr = condition;
        arm->result =
            reinterpret_cast<Expr *>(makeConst(TEXTOID, -1, collation, -1, CStringGetTextDatum(text), false, false));
        return arm;
    };
    CaseExpr *choice = makeNode(CaseExpr);
    choice->casetype = TEXTOID;
    choice->casecollid = collation;
    choice->args = list_make2(when(truth, "true"), when(make_notclause(truth), "false"));
    choice->defresult =
        reinterpret_cast<Expr *>(makeConst(TEXTOID, -1, collation, -1, static_cast<Datum>(0), true, false));
    return translate_case(t, choice, out);
}

static bool to_truth(Translation *t, const TypedExpr &a, TypedExpr *out) {
    ir::Index node;
    if (!as_own_node(t, a, &node))
        return false;
    bool_value(out, binary(t, ir::Op::Ne, node, add_constant(t, a.type, 0, false)), a.nullable);
    return true;
}

// Of a bigint; the device has oids in 32 bits with a sign.
static bool to_oid(Translation *t, const TypedExpr &a, TypedExpr *out) {
    ir::Index node;
    if (!as_node(t, a, Type::I64, 0, &node))
        return false;
    const auto constant = [t](int64_t value) { return add_constant(t, Type::I64, value, false); };
    ir::Index outside = binary(t, ir::Op::Or, binary(t, ir::Op::Lt, node, constant(0)),
                               binary(t, ir::Op::Gt, node, constant(PG_UINT32_MAX)));
    ir::Index wrapped = choose(t, binary(t, ir::Op::Gt, node, constant(PG_INT32_MAX)),
                               add_expr(t, ir::Op::Sub, Type::I64, node, constant(int64_t(PG_UINT32_MAX) + 1)), node);
    node_value(out, SqlKind::Oid, Type::I32,
               add_expr(t, ir::Op::Cast, Type::I32, choose(t, outside, raise_node(t, Type::I64), wrapped)), a.nullable);
    return true;
}

static bool to_numeric(const TypedExpr &a, TypedExpr *out) {
    *out = a;
    out->kind = SqlKind::Numeric;
    out->scale = 0;
    return true;
}

// numeric -> numeric(p,s): rounded; out of range is a row error.
static bool numeric_to_typmod(const TypedExpr &a, const Const *typmod, Translation *t, TypedExpr *out) {
    int precision, scale;
    if (!IsA(typmod, Const) || typmod->constisnull ||
        !numeric_typmod(DatumGetInt32(typmod->constvalue), &precision, &scale))
        return refuse("a cast to numeric with a precision that is not constant");
    if (precision > 36 || scale < 0 || scale > 36)
        return refuse("a cast to numeric(%d,%d)", precision, scale);
    TypedExpr rounded;
    ir::Index node;
    if (!rounded_numeric(t, a, scale, false, &rounded) || !as_own_node(t, rounded, &node))
        return false;
    Type type = rounded.type;
    if (rounded.precision > precision) {
        int128 end = 1;
        for (int i = 0; i < precision; ++i)
            end *= 10;
        if (fits(end, type)) {
            ir::Index below = add_expr(t, ir::Op::Lt, Type::Bool, node, add_constant(t, type, end, false));
            ir::Index above = add_expr(t, ir::Op::Gt, Type::Bool, node, add_constant(t, type, -end, false));
            node = add_expr(t, ir::Op::Case, type,
                            add_expr(t, ir::Op::Not, Type::Bool, add_expr(t, ir::Op::And, Type::Bool, below, above)),
                            raise_node(t, type), node);
        }
    }
    if (type != numeric_type(precision)) {
        type = numeric_type(precision);
        node = add_expr(t, ir::Op::Cast, type, node);
    }
    node_value(out, SqlKind::Numeric, type, node, a.nullable);
    out->scale = scale;
    out->precision = precision;
    return true;
}

// Exact when both the integer and the power of ten are doubles without rounding: then one division rounds correctly.
static bool numeric_to_double(Translation *t, const TypedExpr &a, TypedExpr *out) {
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
        node = add_expr(t, ir::Op::Div, Type::F64, node, float_constant(t, divisor));
    }
    node_value(out, SqlKind::Float8, Type::F64, node, a.nullable);
    out->precision = a.scale == 0 ? a.precision : 0;
    return true;
}

static bool convert_node(Translation *t, SqlKind kind, const TypedExpr &a, TypedExpr *out) {
    Type type = engine_type(kind);
    ir::Index node;
    if (!as_own_node(t, a, &node))
        return false;
    if (a.type != type)
        node = add_expr(t, ir::Op::Cast, type, node);
    node_value(out, kind, type, node, a.nullable);
    if (kind == SqlKind::Float8 && is_integer_kind(a.kind))
        out->precision = a.precision;
    return true;
}

static bool convert(Translation *t, SqlKind kind, List *args, const TypedExpr &a, TypedExpr *out) {
    if (kind == SqlKind::Numeric) {
        if (a.kind != SqlKind::Numeric)
            return to_numeric(a, out);
        return numeric_to_typmod(a, static_cast<const Const *>(lsecond(args)), t, out);
    }
    if (a.kind == SqlKind::Numeric && kind == SqlKind::Float8)
        return numeric_to_double(t, a, out);
    if (a.kind == SqlKind::Numeric) { // to an integer: rounded
        TypedExpr rounded;
        return rounded_numeric(t, a, 0, false, &rounded) && convert_node(t, kind, rounded, out);
    }
    return convert_node(t, kind, a, out);
}

// ---- the call ----

bool translate_function(Translation *t, Oid funcid, List *args, Expr *node, TypedExpr *out) {
    const Builtin *builtin = find_builtin(funcid);
    if (builtin == nullptr)
        return refuse("function %s", format_procedure(funcid));
    if (!may_execute(t, funcid))
        return false;
    if (builtin->rule == Rule::Compare &&
        (is_unscaled(t, static_cast<Expr *>(linitial(args))) || is_unscaled(t, static_cast<Expr *>(lsecond(args)))))
        return translate_unscaled_comparison(t, builtin->op, args, out);
    SqlKind kind = sql_kind(exprType(reinterpret_cast<Node *>(node)));
    if (builtin->rule >= Rule::Overlaps)
        return translate_time(t, *builtin, kind, args, out);
    if (builtin->rule >= Rule::DatePlusDays)
        return translate_datetime(t, *builtin, kind, args, out);
    if (builtin->rule == Rule::BoolToText)
        return bool_to_text(t, args, exprCollation(reinterpret_cast<Node *>(node)), out);
    TypedExpr a, b;
    if (!translate(t, static_cast<Expr *>(linitial(args)), &a))
        return false;
    bool two = builtin->rule == Rule::Arithmetic || builtin->rule == Rule::Compare ||
               builtin->rule == Rule::CompareText || builtin->rule == Rule::Gcd || builtin->rule == Rule::Lcm ||
               (builtin->rule == Rule::Bits && list_length(args) == 2);
    if (two && !translate(t, static_cast<Expr *>(lsecond(args)), &b))
        return false;

    if (a.kind == SqlKind::Opaque || (two && b.kind == SqlKind::Opaque))
        return refuse("%s of numeric without precision and scale", format_procedure(funcid));
    switch (builtin->rule) {
    case Rule::Arithmetic:
        return arithmetic(t, builtin->op, kind, a, b, out);
    case Rule::Compare:
        if (a.kind == SqlKind::Enum && builtin->op != ir::Op::Eq && builtin->op != ir::Op::Ne && !t->binding &&
            !has_plain_order(exprType(static_cast<Node *>(linitial(args)))))
            return false;
        return translate_comparison(t, builtin->op, a, b, out);
    case Rule::Bits:
        return translate_bits(t, *builtin, kind, a, two ? &b : nullptr, out);
    case Rule::CompareText:
        if (!is_sound_collation(exprInputCollation(reinterpret_cast<Node *>(node))))
            return refuse("a comparison under a nondeterministic collation");
        return translate_comparison(t, builtin->op, a, b, out);
    case Rule::Negate:
        return negate(t, a, out);
    case Rule::ToTruth:
        return to_truth(t, a, out);
    case Rule::ToOid:
        return to_oid(t, a, out);
    case Rule::Gcd:
    case Rule::Lcm:
        return common_multiple(t, builtin->rule == Rule::Lcm, kind, a, b, out);
    case Rule::Identity:
        *out = a;
        return true;
    case Rule::Convert:
        return convert(t, kind, args, a, out);
    default:
        return translate_math(t, *builtin, kind, args, a, out);
    }
}

} // namespace gpuscan
