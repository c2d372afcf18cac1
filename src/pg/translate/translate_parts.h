// Between the files that translate(): which node kinds each of them takes, and what they make values with. Everybody else
// includes translate.h only.
#pragma once

#include "pg/fragment/column_form.h"
#include "pg/translate/translate.h"

namespace gpuscan {

// Does a literal fit a type?
bool fits(int128 value, Type type);

// *out = the node `expr` as a value of `kind`; without scale and precision where it is a numeric.
void node_value(TypedExpr *out, SqlKind kind, Type type, ir::Index expr, bool nullable);
void bool_value(TypedExpr *out, ir::Index expr, bool nullable);

// A node that raises a row error whenever it is evaluated: PostgreSQL's own error is then raised by its plan.
ir::Index raise_node(Translation *t, Type type);

// What a built-in function is to the translator; what it does depends on the arguments' types.
enum class Rule : uint8_t {
    Arithmetic, // a <op> b in the result's type
    Compare,
    CompareText,
    Negate,
    Identity, // unary plus
    Convert,  // to the result's type
    // translate_math.cpp
    Absolute,
    Sign,
    Round, // with a second argument: to so many digits
    Truncate,
    Ceil,
    Floor,
    OfFloat, // a function of one float, in double precision
    Gcd,
    Lcm,
    ToTruth, // of an integer
    ToOid,
    BoolToText,
    Bits, // of two integers, or of one: not
    // translate_datetime.cpp
    DatePlusDays, // also minus
    DateMinusDate,
    DateToTimestamp,
    TimestampToDate,
    InstantToClock, // timestamptz -> timestamp, also AT TIME ZONE
    InstantToDate,
    ClockToInstant, // timestamp or date -> timestamptz, also AT TIME ZONE
    PlusInterval,   // also minus; of a date, too
    OfTwoTimes,     // timestamps or intervals; an interval
    MinusInterval,  // of one
    DateTimestamp,  // date <op> timestamp
    TimestampDate,  // timestamp <op> date
    Instants,       // timestamptz <op> date or timestamp, either way round
    IsFinite,
    Extract, // also date_part
    DateTrunc,
    // translate_time.cpp
    Overlaps,
    DateBin,
    Age, // of instants
    MakeDate,
    MakeTime,
    MakeTimestamp, // also with time zone
    MakeInterval,
    EpochToInstant,
    TimeOfDay, // of a timestamp or an interval
    DatePlusTime,
    TimePlusInterval, // also minus
    TimeMinusTime,
    TimeToInterval,
    RoundTime,  // to so many digits of a second
    ByInterval, // AT TIME ZONE an interval
    TruncateInterval,
    RoundInterval,
    OfInterval,    // an interval of one
    IntervalTimes, // float8 <op> interval, either way round
    IsFiniteInterval,
    WidthBucket, // of floats
};

struct Builtin {
    Oid funcid;
    Rule rule;
    ir::Op op;
    ir::Function function; // OfFloat, Bits, OfTwoTimes, OfInterval, IntervalTimes
};

// Functions of numbers (translate_math.cpp).
bool translate_math(Translation *t, const Builtin &builtin, SqlKind kind, List *args, const TypedExpr &a,
                    TypedExpr *out);
// A numeric with `scale` digits after the point, rounded half away from zero or cut off.
bool rounded_numeric(Translation *t, const TypedExpr &a, int32 scale, bool cut, TypedExpr *out);

// a / b of numerics (translate_quotient.cpp).
bool numeric_quotient(Translation *t, const TypedExpr &a, const TypedExpr &b, TypedExpr *out);

// & | # ~ << >> of integers (translate_math.cpp).
bool translate_bits(Translation *t, const Builtin &builtin, SqlKind kind, const TypedExpr &a, const TypedExpr *b,
                    TypedExpr *out);

// Dates and timestamps (translate_datetime.cpp).
bool translate_datetime(Translation *t, const Builtin &builtin, SqlKind kind, List *args, TypedExpr *out);
// Those that make a time, a timestamp, an interval or a bin of something else (translate_time.cpp).
bool translate_time(Translation *t, const Builtin &builtin, SqlKind kind, List *args, TypedExpr *out);

// Nodes of dates and timestamps (translate_datetime.cpp).
ir::Index choose(Translation *t, ir::Index condition, ir::Index a, ir::Index b);
ir::Index binary(Translation *t, ir::Op op, ir::Index a, ir::Index b); // a truth
ir::Index micros_constant(Translation *t, int64_t value);
ir::Index float_constant(Translation *t, double value);
ir::Index is_finite_date(Translation *t, ir::Index date);
ir::Index is_finite_timestamp(Translation *t, ir::Index time);
ir::Index checked_timestamp(Translation *t, ir::Index time); // a row error where it is no timestamp; NULL stays
ir::Index day_to_micros(Translation *t, ir::Index day);
bool date_to_timestamp(Translation *t, const TypedExpr &a, TypedExpr *out);
bool clock_to_instant(Translation *t, pg_tz *in_time_zone, const TypedExpr &a, TypedExpr *out);
bool unit_name(Expr *argument, char **name); // false with a reason: it is not constant
// How many values extract() or date_part() has at most; HUGE_VAL: not known.
double values_of_part(const List *args);

// Time zones (translate_time_zone.cpp): nullptr with a reason. The nodes are finite timestamps.
const TimeZoneTables *time_zone_tables(Translation *t, pg_tz *zone);
pg_tz *named_time_zone(Expr *name);
ir::Index time_zone_offset(Translation *t, const TimeZoneTables *zone, ir::Index instant); // microseconds east
ir::Index to_clock(Translation *t, const TimeZoneTables *zone, ir::Index instant);
ir::Index from_clock(Translation *t, const TimeZoneTables *zone, ir::Index clock);

// Leaves (translate_leaf.cpp). Late constants are built-in functions of constants and parameters, none of them volatile.
bool translate_const(Translation *t, const Const *constant, TypedExpr *out);
bool translate_late_constant(Translation *t, Expr *expr, TypedExpr *out);
bool is_late_constant(Expr *expr);

// Expressions that the cache holds as columns (expression_column.cpp). False: it can be none.
bool translate_expression_column(Translation *t, Expr *expr, TypedExpr *out);
// The same of values that are only handed through.
bool translate_stored_expression(Translation *t, Expr *expr, TypedExpr *out);
// Only whether there is such a value: a bool that is NULL where it is NULL.
bool translate_presence(Translation *t, Expr *expr, TypedExpr *out);
// Is what PostgreSQL's functions of any type do with values of this type no longer PostgreSQL's own matter, or one of the catalogs?
bool is_foreign_type(Oid type);
// It can, and rather so than as a function of the different values of a column.
bool is_better_a_column(const Translation *t, Expr *expr);
// Where the column of that relation is; of a CPU plan's rows nowhere.
TableColumn place_of(const Translation *t, Index relation, uint32 number);
TableColumn place_of(const Translation *t, const Var *var);
// What a subquery that is a stage computes as this column (pg/fragment/stage.h); of anything else itself.
Expr *seen_through(const Translation *t, Expr *expr);
// A numeric whose type does not say its scale.
bool is_bare_numeric(const Expr *expr);
// The column of that relation (translate_leaf.cpp).
bool is_nulled_relation(const Translation *t, Index relation); // by an outer join on its way to the pipeline at hand
bool add_expression_column(Translation *t, Index relation, Expr *expr, TypedExpr *out, bool as_stored = false);

// A numeric that is encoded for one comparison: a late constant, or a column of a CPU plan.
bool add_rounded_constant(Translation *t, Expr *expr, Type type, int32 scale, Rounding rounding, ir::Index *node);
bool add_rounded_column(Translation *t, int source, const Var *var, Type type, int32 scale, Rounding rounding,
                        ir::Index *node);

// = between texts whose collation says what bytes say, and between everything else that has an =; false without a reason.
bool equality_operator(Oid funcid, Oid collation, ir::Op *op);

// TypedExpr::scale_node of a column of mixed scales: a column beside it says it, which is read only where somebody asks.
constexpr ir::Index scale_of_column = ir::none - 1;
ir::Index column_scale(Translation *t, const TypedExpr &value);

// The display scale of a numeric as a node.
ir::Index display_scale(Translation *t, const TypedExpr &value);

// Logic (translate_logic.cpp).
// a AND b AND ..., a OR b OR ..., where none is evaluated that may raise an error if one before it decides.
ir::Index connect_conditions(Translation *t, BoolExprType type, const ir::Index *conditions, int count);
bool translate_bool(Translation *t, const BoolExpr *expr, TypedExpr *out);
bool translate_null_test(Translation *t, const NullTest *test, TypedExpr *out);
bool translate_boolean_test(Translation *t, const BooleanTest *test, TypedExpr *out);

// Comparisons (translate_comparison.cpp).
bool translate_distinct(Translation *t, const DistinctExpr *expr, TypedExpr *out);
bool translate_array_comparison(Translation *t, const ScalarArrayOpExpr *expr, TypedExpr *out);

// Comparisons of a numeric with one that has no scale of its own (translate_unscaled.cpp).
bool is_unscaled(const Translation *t, Expr *expr);
bool translate_unscaled_comparison(Translation *t, ir::Op op, List *args, TypedExpr *out);

// Conditional expressions (translate_conditional.cpp).
bool translate_case(Translation *t, const CaseExpr *expr, TypedExpr *out);
bool translate_coalesce(Translation *t, const CoalesceExpr *expr, TypedExpr *out);
bool translate_nullif(Translation *t, const NullIfExpr *expr, TypedExpr *out);
bool translate_min_max(Translation *t, const MinMaxExpr *expr, TypedExpr *out);

} // namespace gpuscan
