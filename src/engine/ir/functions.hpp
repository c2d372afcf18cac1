// The functions that Op::Call and Op::CallTwo name: what they take, what they give, which one of device/semantics.cuh it is.
//
// Dates are days and timestamps are microseconds since 2000-01-01, infinities the ends of their type, as in PostgreSQL.
#pragma once

#include "engine/ir/types.hpp"

namespace gpuscan::ir {

// X(name, function in sem, type of the argument, type of the result, may it raise a row error)
#define GPUSCAN_FUNCTIONS(X)                                                                                           \
    X(Year, date_year, I32, I64, true) /* infinity is a row error where the part grows with the date */                \
    X(IsoYear, date_iso_year, I32, I64, true)                                                                          \
    X(Decade, date_decade, I32, I64, true)                                                                             \
    X(Century, date_century, I32, I64, true)                                                                           \
    X(Millennium, date_millennium, I32, I64, true)                                                                     \
    X(Quarter, date_quarter, I32, I64, false)                                                                          \
    X(Month, date_month, I32, I64, false)                                                                              \
    X(Week, date_week, I32, I64, false)                                                                                \
    X(Day, date_day, I32, I64, false)                                                                                  \
    X(DayOfYear, date_day_of_year, I32, I64, false)                                                                    \
    X(DayOfWeek, date_day_of_week, I32, I64, false)        /* Sunday 0 */                                              \
    X(IsoDayOfWeek, date_iso_day_of_week, I32, I64, false) /* Sunday 7 */                                              \
    X(FloorDay, floor_day, I64, I32, false)                /* the day of a timestamp; infinity stays */                \
    X(CeilDay, ceil_day, I64, I32, false)                  /* the first day that does not begin before it */           \
    X(Hour, timestamp_hour, I64, I64, false)                                                                           \
    X(ClockHour, clock_hour, I64, I64, false) /* of a time, which may be 24:00; the other parts suit both */           \
    X(Minute, time_minute, I64, I64, false)                                                                            \
    X(MinuteMicros, time_minute_micros, I64, I64, false) /* since the minute began */                                  \
    X(YearStart, year_start, I32, I32, false)            /* the first day of it; not of infinity */                    \
    X(QuarterStart, quarter_start, I32, I32, false)                                                                    \
    X(MonthStart, month_start, I32, I32, false)                                                                        \
    X(WeekStart, week_start, I32, I32, false)                                                                          \
    X(HourStart, hour_start, I64, I64, false) /* of a timestamp; infinity stays */                                     \
    X(MinuteStart, minute_start, I64, I64, false)                                                                      \
    X(SecondStart, second_start, I64, I64, false)                                                                      \
    X(MillisecondStart, millisecond_start, I64, I64, false)                                                            \
    X(Absolute, absolute, F64, F64, false)                                                                             \
    X(Sign, sign, F64, F64, false)                                                                                     \
    X(Ceil, ceiling, F64, F64, false)                                                                                  \
    X(Floor, floor_of, F64, F64, false)                                                                                \
    X(Round, round_even, F64, F64, false)                                                                              \
    X(Truncate, truncate, F64, F64, false)                                                                             \
    X(SquareRoot, square_root, F64, F64, true)                                                                         \
    X(Moderate, moderate, F64, F64, true)     /* itself; a row error where what a product lacks may be no double */    \
    X(PlainZero, plain_zero, F64, F64, true)  /* itself; -0.0 is a row error */                                        \
    X(FloatBits, float_bits, F64, I64, false) /* equal bits for equal numbers */                                       \
    X(OidOrder, oid_order, I32, I64, false)   /* unsigned */                                                           \
    X(EnumOrder, enum_order, I32, I64, true)  /* the same of an enum's value; a row error if that has no order */      \
    X(IntervalSpan, interval_span, I128, I128, false) /* what intervals are compared by */                             \
    X(IntervalMonths, interval_months, I128, I32, false)                                                               \
    X(IntervalDays, interval_days, I128, I32, false)                                                                   \
    X(IntervalMicros, interval_micros, I128, I64, false)                                                               \
    X(FiniteInterval, finite_interval, I128, I128, true) /* itself; infinity is a row error */                         \
    X(IntervalRank, interval_rank, I128, I128, true)     /* by length, and of equal ones by how they are written */    \
    X(IntervalRankBack, interval_rank_back, I128, I128, true) /* the same, of equal ones the other way round */        \
    X(HighPart, high_part, I128, I64, true)                   /* high of high * 2^62 + low */                          \
    X(LowPart, low_part, I128, I64, false)

// The same of two arguments, both of the first type.
#define GPUSCAN_FUNCTIONS_OF_TWO(X)                                                                                    \
    X(AddMonths, add_months, I32, I32,                                                                                 \
      true) /* day, months: the same day of that month, or its last day; not of infinity */                            \
    X(ProductError, product_error, F64, F64, false) /* what the product lacks, of moderate numbers exactly */          \
    X(BitAnd, bit_and, I64, I64, false)                                                                                \
    X(BitOr, bit_or, I64, I64, false)                                                                                  \
    X(BitXor, bit_xor, I64, I64, false)                                                                                \
    X(ShiftLeft32, shift_left, I32, I32, true) /* a row error beyond the type's width */                               \
    X(ShiftRight32, shift_right, I32, I32, true)                                                                       \
    X(ShiftLeft64, shift_left, I64, I64, true)                                                                         \
    X(ShiftRight64, shift_right, I64, I64, true)                                                                       \
    X(TimestampMinus, timestamp_minus, I64, I128, true) /* an interval of days and microseconds */                     \
    X(TimestampAge, timestamp_age, I64, I128, true)     /* an interval of months, days and microseconds */             \
    X(IntervalPlus, interval_plus, I128, I128, true)                                                                   \
    X(IntervalMinus, interval_minus, I128, I128, true)                                                                 \
    X(QuotientScale, quotient_scale, I128, I32, false) /* decimals of a quotient of numerics in PostgreSQL */          \
    X(Quotient17, quotient_17, I128, I128, true)       /* cut off behind so many decimals */                           \
    X(Quotient21, quotient_21, I128, I128, true)                                                                       \
    X(Quotient25, quotient_25, I128, I128, true)                                                                       \
    X(Quotient29, quotient_29, I128, I128, true)                                                                       \
    X(WithoutDigits, without_digits, I128, I128, true) /* rounded to so many digits less */

enum class Function : uint32_t {
#define GPUSCAN_FUNCTION(name, function, argument, result, raises) name,
    GPUSCAN_FUNCTIONS(GPUSCAN_FUNCTION) GPUSCAN_FUNCTIONS_OF_TWO(GPUSCAN_FUNCTION)
#undef GPUSCAN_FUNCTION
};

struct FunctionInfo {
    const char *name;
    Type argument, result;
    bool raises;
    int arguments;
};

constexpr FunctionInfo function_infos[] = {
#define GPUSCAN_FUNCTION(name, function, argument, result, raises) {#function, Type::argument, Type::result, raises, 1},
    GPUSCAN_FUNCTIONS(GPUSCAN_FUNCTION)
#undef GPUSCAN_FUNCTION
#define GPUSCAN_FUNCTION(name, function, argument, result, raises) {#function, Type::argument, Type::result, raises, 2},
        GPUSCAN_FUNCTIONS_OF_TWO(GPUSCAN_FUNCTION)
#undef GPUSCAN_FUNCTION
};
constexpr uint32_t function_count = sizeof(function_infos) / sizeof(function_infos[0]);

constexpr const FunctionInfo &function_info(Function function) {
    return function_infos[static_cast<uint32_t>(function)];
}

} // namespace gpuscan::ir
