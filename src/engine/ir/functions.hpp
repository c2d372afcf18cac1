// The functions that Op::Call names: what they take, what they give, which one of device/semantics.cuh it is. All of them are strict.
//
// From a row of the table follow how both devices and the tests call the function, and what value_range.cpp knows of its values.
//
// Dates are days and timestamps are microseconds since 2000-01-01, infinities the ends of their type, as in PostgreSQL.
#pragma once

#include "engine/ir/types.hpp"

namespace gpuscan::ir {

// What is known of a function's values. (Of what lies outside of the calendar nothing is.)
struct Image {
    enum class Kind : uint8_t {
        Any,
        Within, // they lie between min and max
        Grows,  // of an argument between min and max: they grow with it, and none is a row error
    };
    Kind kind = Kind::Any;
    int64_t min = 0, max = 0;
};
namespace image {
constexpr Image any;
constexpr Image within(int64_t min, int64_t max) { return {Image::Kind::Within, min, max}; }
constexpr Image grows_with_day{Image::Kind::Grows, -1000000, 1000000}; // more than 2,700 years on both sides of 2000
constexpr Image grows_with_time{Image::Kind::Grows, -86400000000000000, 86400000000000000};
} // namespace image

// X(name, function in sem, how many arguments (1, 2), their type, type of the result, may it raise a row error, image)
// clang-format off
#define GPUSCAN_FUNCTIONS(X) \
    X(Year, date_year, 1, I32, I64, true, grows_with_day) /* infinity is a row error where the part grows with the date */ \
    X(IsoYear, date_iso_year, 1, I32, I64, true, grows_with_day) \
    X(Decade, date_decade, 1, I32, I64, true, grows_with_day) \
    X(Century, date_century, 1, I32, I64, true, grows_with_day) \
    X(Millennium, date_millennium, 1, I32, I64, true, grows_with_day) \
    X(Quarter, date_quarter, 1, I32, I64, false, within(1, 4)) \
    X(Month, date_month, 1, I32, I64, false, within(1, 12)) \
    X(Week, date_week, 1, I32, I64, false, within(1, 53)) \
    X(Day, date_day, 1, I32, I64, false, within(1, 31)) \
    X(DayOfYear, date_day_of_year, 1, I32, I64, false, within(1, 366)) \
    X(DayOfWeek, date_day_of_week, 1, I32, I64, false, within(0, 6)) /* Sunday 0 */ \
    X(IsoDayOfWeek, date_iso_day_of_week, 1, I32, I64, false, within(1, 7)) /* Sunday 7 */ \
    X(FloorDay, floor_day, 1, I64, I32, false, grows_with_time) /* the day of a timestamp; infinity stays */ \
    X(CeilDay, ceil_day, 1, I64, I32, false, grows_with_time) /* the first day that does not begin before it */ \
    X(Hour, timestamp_hour, 1, I64, I64, false, within(0, 23)) \
    X(ClockHour, clock_hour, 1, I64, I64, false, grows_with_time) /* of a time, which may be 24:00; the other parts suit both */ \
    X(Minute, time_minute, 1, I64, I64, false, within(0, 59)) \
    X(MinuteMicros, time_minute_micros, 1, I64, I64, false, within(0, 59999999)) /* since the minute began */ \
    X(YearStart, year_start, 1, I32, I32, false, grows_with_day) /* the first day of it; not of infinity */ \
    X(QuarterStart, quarter_start, 1, I32, I32, false, grows_with_day) \
    X(MonthStart, month_start, 1, I32, I32, false, grows_with_day) \
    X(WeekStart, week_start, 1, I32, I32, false, grows_with_day) \
    X(HourStart, hour_start, 1, I64, I64, false, grows_with_time) /* of a timestamp; infinity stays */ \
    X(MinuteStart, minute_start, 1, I64, I64, false, grows_with_time) \
    X(SecondStart, second_start, 1, I64, I64, false, grows_with_time) \
    X(MillisecondStart, millisecond_start, 1, I64, I64, false, grows_with_time) \
    X(Absolute, absolute, 1, F64, F64, false, any) \
    X(Sign, sign, 1, F64, F64, false, any) \
    X(Ceil, ceiling, 1, F64, F64, false, any) \
    X(Floor, floor_of, 1, F64, F64, false, any) \
    X(Round, round_even, 1, F64, F64, false, any) \
    X(Truncate, truncate, 1, F64, F64, false, any) \
    X(SquareRoot, square_root, 1, F64, F64, true, any) \
    X(Degrees, degrees, 1, F64, F64, true, any) \
    X(Radians, radians, 1, F64, F64, true, any) \
    X(Bounded, bounded, 1, F64, F64, true, any) /* itself; a row error beyond 1e140, for avg */ \
    X(Moderate, moderate, 1, F64, F64, true, any) /* itself; a row error where what a product lacks may be no double */ \
    X(PlainZero, plain_zero, 1, F64, F64, true, any) /* itself; -0.0 is a row error */ \
    X(FloatBits, float_bits, 1, F64, I64, false, any) /* equal bits for equal numbers */ \
    X(OidOrder, oid_order, 1, I32, I64, false, within(0, UINT32_MAX)) /* unsigned */ \
    X(EnumOrder, enum_order, 1, I32, I64, true, any) /* the same of an enum's value; a row error if that has no order */ \
    X(IntervalSpan, interval_span, 1, I128, I128, false, any) /* what intervals are compared by */ \
    X(IntervalMonths, interval_months, 1, I128, I32, false, any) \
    X(IntervalDays, interval_days, 1, I128, I32, false, any) \
    X(IntervalMicros, interval_micros, 1, I128, I64, false, any) \
    X(FiniteInterval, finite_interval, 1, I128, I128, true, any) /* itself; infinity is a row error */ \
    X(IntervalRank, interval_rank, 1, I128, I128, true, any) /* by length, and of equal ones by how they are written */ \
    X(IntervalRankBack, interval_rank_back, 1, I128, I128, true, any) /* the same, of equal ones the other way round */ \
    X(MonthsInterval, months_interval, 1, I32, I128, false, any) \
    X(DaysInterval, days_interval, 1, I32, I128, false, any) \
    X(MicrosInterval, micros_interval, 1, I64, I128, false, any) \
    X(JustifyDays, justify_days, 1, I128, I128, true, any) \
    X(JustifyHours, justify_hours, 1, I128, I128, true, any) \
    X(JustifyInterval, justify_interval, 1, I128, I128, true, any) \
    X(HighPart, high_part, 1, I128, I64, true, any) /* high of high * 2^62 + low */ \
    X(LowPart, low_part, 1, I128, I64, false, within(0, (int64_t(1) << 62) - 1)) \
    X(AddMonths, add_months, 2, I32, I32, true, any) /* day, months: the same day of that month, or its last day; not of infinity */ \
    X(ProductError, product_error, 2, F64, F64, false, any) /* what the product lacks, of moderate numbers exactly */ \
    X(BitAnd, bit_and, 2, I64, I64, false, any) \
    X(BitOr, bit_or, 2, I64, I64, false, any) \
    X(BitXor, bit_xor, 2, I64, I64, false, any) \
    X(ShiftLeft32, shift_left, 2, I32, I32, true, any) /* a row error beyond the type's width */ \
    X(ShiftRight32, shift_right, 2, I32, I32, true, any) \
    X(ShiftLeft64, shift_left, 2, I64, I64, true, any) \
    X(ShiftRight64, shift_right, 2, I64, I64, true, any) \
    X(TimestampMinus, timestamp_minus, 2, I64, I128, true, any) /* an interval of days and microseconds */ \
    X(TimestampAge, timestamp_age, 2, I64, I128, true, any) /* an interval of months, days and microseconds */ \
    X(IntervalPlus, interval_plus, 2, I128, I128, true, any) \
    X(IntervalMinus, interval_minus, 2, I128, I128, true, any) \
    X(IntervalTimes, interval_times, 2, I128, I128, true, any) /* by the float8 of these bits */ \
    X(IntervalBy, interval_by, 2, I128, I128, true, any) /* divided by it */ \
    X(Gcd, gcd, 2, I64, I64, true, any) /* a row error where it is 2^63 */ \
    X(QuotientScale, quotient_scale, 2, I128, I32, false, any) /* decimals of a quotient of numerics in PostgreSQL */ \
    X(Quotient17, quotient_17, 2, I128, I128, true, any) /* cut off behind so many decimals */ \
    X(Quotient21, quotient_21, 2, I128, I128, true, any) \
    X(Quotient25, quotient_25, 2, I128, I128, true, any) \
    X(Quotient29, quotient_29, 2, I128, I128, true, any) \
    X(WithoutDigits, without_digits, 2, I128, I128, true, any) /* rounded to so many digits less */
// clang-format on

enum class Function : uint32_t {
#define GPUSCAN_FUNCTION(name, ...) name,
    GPUSCAN_FUNCTIONS(GPUSCAN_FUNCTION)
#undef GPUSCAN_FUNCTION
};

struct FunctionInfo {
    const char *name;
    int arguments;
    Type argument, result;
    bool raises;
    Image image;
};

constexpr FunctionInfo function_infos[] = {
#define GPUSCAN_FUNCTION(name, function, arguments, argument, result, raises, image_)                                  \
    {#function, arguments, Type::argument, Type::result, raises, image::image_},
    GPUSCAN_FUNCTIONS(GPUSCAN_FUNCTION)
#undef GPUSCAN_FUNCTION
};
constexpr uint32_t function_count = sizeof(function_infos) / sizeof(function_infos[0]);

constexpr const FunctionInfo &function_info(Function function) {
    return function_infos[static_cast<uint32_t>(function)];
}

} // namespace gpuscan::ir
