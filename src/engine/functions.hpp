// The functions that Op::Call and Op::CallTwo name: what they take, what they give, which one of cuda/semantics.cuh it is.
//
// Dates are days and timestamps are microseconds since 2000-01-01, infinities the ends of their type, as in PostgreSQL.
#pragma once

#include "engine/types.hpp"

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
    X(FloatBits, float_bits, F64, I64, false) /* equal numbers have equal bits: one zero, one NaN */

// The same of two arguments, both of the first type.
#define GPUSCAN_FUNCTIONS_OF_TWO(X)                                                                                    \
    X(AddMonths, add_months, I32, I32,                                                                                 \
      true) /* day, months: the same day of that month, or its last day; not of infinity */

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
