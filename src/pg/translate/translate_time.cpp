// Times, timestamps and intervals that are made of something else: of numbers, of their parts, of bins and digits; in which bin a
// number is; and whether two periods overlap.
//
// PostgreSQL's error is a row error here, and so is what differs between versions. Nearly all is made of arithmetic that checks itself.
#include "pg/pg.h"

#include "pg/compat.h"
#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {
namespace {

constexpr int max_arguments = 7;

// The arguments as nodes, each in its own type.
struct Arguments {
    TypedExpr values[max_arguments];
    ir::Index nodes[max_arguments];
    int count;
};

ir::Index arithmetic(Translation *t, ir::Op op, ir::Index a, ir::Index b) {
    return add_expr(t, op, t->exprs[static_cast<int>(a)].type, a, b);
}

// a <op> a number
ir::Index with_number(Translation *t, ir::Op op, ir::Index a, int64_t number) {
    return arithmetic(t, op, a, add_constant(t, t->exprs[static_cast<int>(a)].type, number, false));
}
ir::Index compared(Translation *t, ir::Op op, ir::Index a, int64_t number) {
    return binary(t, op, a, add_constant(t, t->exprs[static_cast<int>(a)].type, number, false));
}

ir::Index null_of(Translation *t, Type type) { return add_constant(t, type, 0, true); }

ir::Index is_null(Translation *t, ir::Index node) { return add_expr(t, ir::Op::IsNull, Type::Bool, node); }

// The node, or a row error where it is not sound.
ir::Index checked(Translation *t, ir::Index is_sound, ir::Index node) {
    return choose(t, is_sound, node, raise_node(t, t->exprs[static_cast<int>(node)].type));
}

// NULL where an argument is; elsewhere the node, which alone may raise an error. Arguments are worked out before it, all of them: one may
// raise an error where another is NULL.
bool strict(Translation *t, const Arguments &args, SqlKind kind, ir::Index node, TypedExpr *out) {
    const Type type = t->exprs[static_cast<int>(node)].type;
    bool nullable = false;
    ir::Index nothing = null_of(t, type); // works out the arguments behind one that is NULL
    for (int i = args.count; i-- > 0;) {
        const ir::Index argument = args.nodes[i];
        const bool raises = may_raise(t, argument);
        nullable |= args.values[i].nullable;
        if (args.values[i].nullable || (raises && nullable))
            node = choose(t, is_null(t, argument), nothing, node);
        if (raises)
            nothing = choose(t, is_null(t, argument), nothing, nothing);
    }
    node_value(out, kind, type, node, nullable);
    return true;
}

bool constant_number(List *args, int position, int32 *number) {
    const Const *constant =
        reinterpret_cast<const Const *>(strip_relabels(static_cast<Expr *>(list_nth(args, position))));
    if (!IsA(constant, Const) || constant->constisnull)
        return refuse("a number of digits that is not constant");
    *number = DatumGetInt32(constant->constvalue);
    return true;
}

// What a clock shows at this instant; infinity stays.
bool clock_of(Translation *t, ir::Index instant, ir::Index *clock) {
    const TimeZoneTables *zone = time_zone_tables(t, session_timezone);
    if (zone == nullptr)
        return false;
    *clock = choose(t, is_finite_timestamp(t, instant), to_clock(t, zone, instant), instant);
    return true;
}

// ---- what is left below a unit, and what is rounded to one ----

// At least 0 and less than the unit.
ir::Index rest_of(Translation *t, ir::Index micros, ir::Index unit) {
    ir::Index rest = arithmetic(t, ir::Op::Mod, micros, unit);
    return choose(t, compared(t, ir::Op::Lt, rest, 0), arithmetic(t, ir::Op::Add, rest, unit), rest);
}

ir::Index rest_of_day(Translation *t, ir::Index micros) {
    return rest_of(t, micros, micros_constant(t, USECS_PER_DAY));
}

// Cut off behind the unit.
ir::Index cut(Translation *t, ir::Index number, int64_t unit) {
    return unit == 1 ? number : with_number(t, ir::Op::Mul, with_number(t, ir::Op::Div, number, unit), unit);
}

// Microseconds rounded to so many digits of a second, half away from zero.
bool rounded_micros(Translation *t, ir::Index micros, int32 digits, ir::Index *out) {
    if (digits < 0 || digits > MAX_TIMESTAMP_PRECISION)
        return refuse("%d digits of a second", digits);
    int64_t unit = 1;
    for (int32 i = digits; i < MAX_TIMESTAMP_PRECISION; ++i)
        unit *= 10;
    *out = unit == 1 ? micros
                     : cut(t,
                           choose(t, compared(t, ir::Op::Lt, micros, 0), with_number(t, ir::Op::Sub, micros, unit / 2),
                                  with_number(t, ir::Op::Add, micros, unit / 2)),
                           unit);
    return true;
}

bool round_time(Translation *t, List *list, const Arguments &args, TypedExpr *out) {
    int32 digits = 0;
    ir::Index time = args.nodes[0], rounded;
    if (!constant_number(list, 1, &digits) || !rounded_micros(t, time, digits, &rounded))
        return false;
    return strict(t, args, args.values[0].kind, choose(t, is_finite_timestamp(t, time), rounded, time), out);
}

// ---- bins ----

// PostgreSQL's minor versions from before 2024 put the beginning of a bin before the origin into the bin before.
bool begins_bins_below_origin() {
    Interval hour{};
    hour.time = USECS_PER_HOUR;
    return DatumGetTimestamp(DirectFunctionCall3(timestamp_bin, IntervalPGetDatum(&hour),
                                                 TimestampGetDatum(-USECS_PER_HOUR), TimestampGetDatum(0))) ==
           -USECS_PER_HOUR;
}

// The length of a bin in microseconds; a row error for one that is none.
bool bin_length(Translation *t, Expr *argument, ir::Index interval, ir::Index *length) {
    const Const *constant = reinterpret_cast<const Const *>(argument);
    if (IsA(constant, Const) && !constant->constisnull) {
        const Interval *stride = DatumGetIntervalP(constant->constvalue);
        const int128 micros = static_cast<int128>(stride->day) * USECS_PER_DAY + stride->time;
        if (stride->month != 0 || micros <= 0 || !fits(micros, Type::I64))
            return refuse("bins of months, or of no time");
        *length = micros_constant(t, static_cast<int64_t>(micros));
        return true;
    }
    interval = add_call(t, ir::Function::FiniteInterval, interval);
    ir::Index micros = arithmetic(t, ir::Op::Add, day_to_micros(t, add_call(t, ir::Function::IntervalDays, interval)),
                                  add_call(t, ir::Function::IntervalMicros, interval));
    *length =
        checked(t,
                binary(t, ir::Op::And, compared(t, ir::Op::Eq, add_call(t, ir::Function::IntervalMonths, interval), 0),
                       compared(t, ir::Op::Gt, micros, 0)),
                micros);
    return true;
}

bool date_bin(Translation *t, List *list, const Arguments &args, TypedExpr *out) {
    const ir::Index time = args.nodes[1], origin = args.nodes[2];
    ir::Index length = ir::none;
    if (!bin_length(t, static_cast<Expr *>(linitial(list)), args.nodes[0], &length))
        return false;
    ir::Index since = arithmetic(t, ir::Op::Sub, time, origin), rest = rest_of(t, since, length);
    ir::Index begin = checked_timestamp(t, arithmetic(t, ir::Op::Sub, time, rest));
    if (!begins_bins_below_origin())
        begin = choose(t, binary(t, ir::Op::And, compared(t, ir::Op::Lt, since, 0), compared(t, ir::Op::Eq, rest, 0)),
                       raise_node(t, Type::I64), begin);
    begin = checked(t, is_finite_timestamp(t, origin), begin);
    return strict(t, args, args.values[1].kind, choose(t, is_finite_timestamp(t, time), begin, time), out);
}

// PostgreSQL's minor versions multiply before or after they divide, which 29 of 100 tells apart.
bool divides_before_it_multiplies() {
    return DatumGetInt32(DirectFunctionCall4(width_bucket_float8, Float8GetDatum(29), Float8GetDatum(0),
                                             Float8GetDatum(100), Int32GetDatum(100))) == 29;
}

// In which of `count` equal parts from one bound to the other; the bounds may come either way round.
bool width_bucket(Translation *t, const Arguments &args, TypedExpr *out) {
    const ir::Index value = args.nodes[0], first = args.nodes[1], last = args.nodes[2], count = args.nodes[3];
    const auto either = [t](ir::Index condition, ir::Op a, ir::Op b, ir::Index x, ir::Index y) {
        return choose(t, condition, binary(t, a, x, y), binary(t, b, x, y));
    };
    const auto is_finite = [t](ir::Index node) { // infinity is below NaN
        return binary(t, ir::Op::And, binary(t, ir::Op::Gt, node, float_constant(t, -HUGE_VAL)),
                      binary(t, ir::Op::Lt, node, float_constant(t, HUGE_VAL)));
    };
    ir::Index sound = binary(t, ir::Op::And, is_finite(first), is_finite(last));
    sound = binary(t, ir::Op::And, sound, binary(t, ir::Op::Le, value, float_constant(t, HUGE_VAL)));
    sound = binary(t, ir::Op::And, sound,
                   binary(t, ir::Op::And, binary(t, ir::Op::Ne, first, last), compared(t, ir::Op::Gt, count, 0)));
    // Both differences are exactly the negative ones where the bounds fall.
    ir::Index part = arithmetic(t, ir::Op::Sub, value, first), whole = arithmetic(t, ir::Op::Sub, last, first);
    const ir::Index parts = add_expr(t, ir::Op::Cast, Type::F64, count), one = float_constant(t, 1);
    part = divides_before_it_multiplies() ? arithmetic(t, ir::Op::Mul, parts, arithmetic(t, ir::Op::Div, part, whole))
                                          : arithmetic(t, ir::Op::Div, arithmetic(t, ir::Op::Mul, parts, part), whole);
    // (Versions also differ about a quotient that is rounded to the next whole number.)
    const ir::Index number = arithmetic(t, ir::Op::Add, add_call(t, ir::Function::Truncate, part), one);
    const ir::Index other = add_call(t, ir::Function::Truncate, arithmetic(t, ir::Op::Add, part, one));
    ir::Index bucket =
        checked(t, binary(t, ir::Op::And, binary(t, ir::Op::Eq, number, other), binary(t, ir::Op::Le, number, parts)),
                add_expr(t, ir::Op::Cast, Type::I32, number));
    const ir::Index rises = binary(t, ir::Op::Lt, first, last);
    bucket =
        choose(t, either(rises, ir::Op::Ge, ir::Op::Le, value, last), with_number(t, ir::Op::Add, count, 1), bucket);
    bucket =
        choose(t, either(rises, ir::Op::Lt, ir::Op::Gt, value, first), add_constant(t, Type::I32, 0, false), bucket);
    return strict(t, args, SqlKind::Int4, checked(t, sound, bucket), out);
}

// ---- of numbers ----

// A day by its year, month and day; years before Christ are negative, and there is no year 0.
ir::Index day_of(Translation *t, ir::Index year, ir::Index month, ir::Index day) {
    year = add_expr(t, ir::Op::Cast, Type::I64, year);
    month = add_expr(t, ir::Op::Cast, Type::I64, month);
    ir::Index is_month = binary(t, ir::Op::And, compared(t, ir::Op::Ge, month, 1), compared(t, ir::Op::Le, month, 12));
    ir::Index sound = binary(t, ir::Op::And, is_month, compared(t, ir::Op::Ne, year, 0));
    year = choose(t, compared(t, ir::Op::Lt, year, 0), with_number(t, ir::Op::Add, year, 1), year);
    ir::Index months =
        arithmetic(t, ir::Op::Add, with_number(t, ir::Op::Mul, with_number(t, ir::Op::Sub, year, 2000), 12),
                   with_number(t, ir::Op::Sub, month, 1));
    months = add_expr(t, ir::Op::Cast, Type::I32, months);
    ir::Index epoch = add_constant(t, Type::I32, 0, false); // 2000-01-01
    ir::Index first = add_call(t, ir::Function::AddMonths, epoch, months);
    ir::Index next = add_call(t, ir::Function::AddMonths, epoch, with_number(t, ir::Op::Add, months, 1));
    ir::Index date = arithmetic(t, ir::Op::Add, first, with_number(t, ir::Op::Sub, day, 1));
    ir::Index in_month = binary(t, ir::Op::And, compared(t, ir::Op::Ge, day, 1), binary(t, ir::Op::Lt, date, next));
    ir::Index in_calendar =
        binary(t, ir::Op::And, compared(t, ir::Op::Ge, date, DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE),
               compared(t, ir::Op::Lt, date, DATE_END_JULIAN - POSTGRES_EPOCH_JDATE));
    return checked(t, sound, checked(t, binary(t, ir::Op::And, in_month, in_calendar), date));
}

// Microseconds of a day, as float_time_overflows() allows them; seconds may be 60, and the whole 24:00.
ir::Index time_of(Translation *t, ir::Index hour, ir::Index minute, ir::Index second) {
    const auto within = [t](ir::Index node, int64_t max) {
        return binary(t, ir::Op::And, compared(t, ir::Op::Ge, node, 0), compared(t, ir::Op::Le, node, max));
    };
    ir::Index micros =
        add_expr(t, ir::Op::Cast, Type::I64,
                 arithmetic(t, ir::Op::Mul, second, float_constant(t, static_cast<double>(USECS_PER_SEC))));
    ir::Index sound = binary(t, ir::Op::And, within(hour, HOURS_PER_DAY), within(minute, MINS_PER_HOUR - 1));
    sound = binary(t, ir::Op::And, sound, within(micros, USECS_PER_MINUTE));
    const auto of = [t](ir::Index number, int64_t unit) {
        return with_number(t, ir::Op::Mul, add_expr(t, ir::Op::Cast, Type::I64, number), unit);
    };
    ir::Index whole = arithmetic(
        t, ir::Op::Add, arithmetic(t, ir::Op::Add, of(hour, USECS_PER_HOUR), of(minute, USECS_PER_MINUTE)), micros);
    return checked(t, binary(t, ir::Op::And, sound, compared(t, ir::Op::Le, whole, USECS_PER_DAY)), whole);
}

bool make_timestamp(Translation *t, SqlKind kind, const Arguments &args, TypedExpr *out) {
    const ir::Index *n = args.nodes;
    ir::Index node = checked_timestamp(
        t, arithmetic(t, ir::Op::Add, day_to_micros(t, day_of(t, n[0], n[1], n[2])), time_of(t, n[3], n[4], n[5])));
    TypedExpr clock;
    if (kind != SqlKind::Timestamptz)
        return strict(t, args, kind, node, out);
    return strict(t, args, SqlKind::Timestamp, node, &clock) && clock_to_instant(t, session_timezone, clock, out);
}

ir::Index interval_of(Translation *t, ir::Index months, ir::Index days, ir::Index micros) {
    ir::Index interval = add_call(t, ir::Function::IntervalPlus, add_call(t, ir::Function::MonthsInterval, months),
                                  add_call(t, ir::Function::DaysInterval, days));
    return add_call(t, ir::Function::IntervalPlus, interval, add_call(t, ir::Function::MicrosInterval, micros));
}

// Of years, months, weeks, days, hours, minutes and seconds.
bool make_interval(Translation *t, const Arguments &args, TypedExpr *out) {
    const ir::Index *n = args.nodes;
    const auto micros_of = [t](ir::Index number, int64_t unit) {
        return with_number(t, ir::Op::Mul, add_expr(t, ir::Op::Cast, Type::I64, number), unit);
    };
    ir::Index months = arithmetic(t, ir::Op::Add, with_number(t, ir::Op::Mul, n[0], MONTHS_PER_YEAR), n[1]);
    ir::Index days = arithmetic(t, ir::Op::Add, with_number(t, ir::Op::Mul, n[2], 7), n[3]);
    ir::Index seconds =
        add_expr(t, ir::Op::Cast, Type::I64,
                 arithmetic(t, ir::Op::Mul, n[6], float_constant(t, static_cast<double>(USECS_PER_SEC))));
    ir::Index micros = arithmetic(t, ir::Op::Add, micros_of(n[4], USECS_PER_HOUR), micros_of(n[5], USECS_PER_MINUTE));
    micros = arithmetic(t, ir::Op::Add, micros, seconds);
    return strict(t, args, SqlKind::Interval, interval_of(t, months, days, micros), out);
}

// to_timestamp(seconds since 1970)
bool epoch_to_instant(Translation *t, const Arguments &args, TypedExpr *out) {
    constexpr double day = SECS_PER_DAY, epoch = static_cast<double>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * day;
    const ir::Index seconds = args.nodes[0];
    const auto is_infinite = [t, seconds](double sign) {
        return binary(t, ir::Op::Eq, seconds, float_constant(t, sign * HUGE_VAL));
    };
    ir::Index in_range =
        binary(t, ir::Op::And,
               binary(t, ir::Op::Ge, seconds, float_constant(t, day * (DATETIME_MIN_JULIAN - UNIX_EPOCH_JDATE))),
               binary(t, ir::Op::Lt, seconds, float_constant(t, day * (TIMESTAMP_END_JULIAN - UNIX_EPOCH_JDATE))));
    ir::Index micros = arithmetic(t, ir::Op::Mul, arithmetic(t, ir::Op::Sub, seconds, float_constant(t, epoch)),
                                  float_constant(t, static_cast<double>(USECS_PER_SEC)));
    ir::Index time = checked(t, in_range, checked_timestamp(t, add_expr(t, ir::Op::Cast, Type::I64, micros)));
    time = choose(t, is_infinite(1), micros_constant(t, DT_NOEND),
                  choose(t, is_infinite(-1), micros_constant(t, DT_NOBEGIN), time));
    return strict(t, args, SqlKind::Timestamptz, time, out);
}

// ---- times of the day ----

// Of a timestamp, as the clocks show it, NULL where it is infinite; of an interval without its days and months.
bool time_of_day(Translation *t, const Arguments &args, TypedExpr *out) {
    ir::Index node = args.nodes[0];
    if (args.values[0].kind == SqlKind::Interval) {
        ir::Index micros = add_call(t, ir::Function::IntervalMicros, add_call(t, ir::Function::FiniteInterval, node));
        // (The smallest number cannot be negated, which PostgreSQL does.)
        return strict(t, args, SqlKind::Time,
                      checked(t, compared(t, ir::Op::Gt, micros, PG_INT64_MIN + USECS_PER_DAY), rest_of_day(t, micros)),
                      out);
    }
    if (args.values[0].kind == SqlKind::Timestamptz && !clock_of(t, node, &node))
        return false;
    node_value(out, SqlKind::Time, Type::I64,
               choose(t, is_finite_timestamp(t, node), rest_of_day(t, node), null_of(t, Type::I64)), true);
    return true;
}

bool date_plus_time(Translation *t, const Arguments &args, TypedExpr *out) {
    TypedExpr start;
    ir::Index midnight;
    if (!date_to_timestamp(t, args.values[0], &start) || !as_own_node(t, start, &midnight))
        return false;
    ir::Index time = checked_timestamp(t, arithmetic(t, ir::Op::Add, midnight, args.nodes[1]));
    return strict(t, args, SqlKind::Timestamp, choose(t, is_finite_timestamp(t, midnight), time, midnight), out);
}

bool time_plus_interval(Translation *t, ir::Op op, const Arguments &args, TypedExpr *out) {
    ir::Index micros =
        add_call(t, ir::Function::IntervalMicros, add_call(t, ir::Function::FiniteInterval, args.nodes[1]));
    return strict(t, args, SqlKind::Time, rest_of_day(t, arithmetic(t, op, args.nodes[0], micros)), out);
}

// ---- instants ----

// As the clocks show them. PostgreSQL asks the instants which of them is earlier, which clocks that are put back may show otherwise.
bool age(Translation *t, const Arguments &args, TypedExpr *out) {
    ir::Index a, b;
    if (!clock_of(t, args.nodes[0], &a) || !clock_of(t, args.nodes[1], &b))
        return false;
    ir::Index same_order =
        binary(t, ir::Op::Eq, binary(t, ir::Op::Lt, args.nodes[0], args.nodes[1]), binary(t, ir::Op::Lt, a, b));
    return strict(t, args, SqlKind::Interval, checked(t, same_order, add_call(t, ir::Function::TimestampAge, a, b)),
                  out);
}

// AT TIME ZONE an interval, which is whole seconds to the east.
bool by_interval(Translation *t, const Arguments &args, TypedExpr *out) {
    const bool instant = args.values[1].kind == SqlKind::Timestamptz;
    const ir::Index time = args.nodes[1], zone = add_call(t, ir::Function::FiniteInterval, args.nodes[0]);
    ir::Index offset = cut(t, add_call(t, ir::Function::IntervalMicros, zone), USECS_PER_SEC);
    ir::Index sound =
        binary(t, ir::Op::And, compared(t, ir::Op::Eq, add_call(t, ir::Function::IntervalMonths, zone), 0),
               compared(t, ir::Op::Eq, add_call(t, ir::Function::IntervalDays, zone), 0));
    // (PostgreSQL keeps the seconds in 32 bits.)
    sound = binary(t, ir::Op::And, sound,
                   binary(t, ir::Op::And, compared(t, ir::Op::Gt, offset, -USECS_PER_DAY * 366),
                          compared(t, ir::Op::Lt, offset, USECS_PER_DAY * 366)));
    ir::Index moved = arithmetic(t, instant ? ir::Op::Add : ir::Op::Sub, time, offset);
    moved = checked(t, sound, checked_timestamp(t, moved));
    return strict(t, args, instant ? SqlKind::Timestamp : SqlKind::Timestamptz,
                  choose(t, is_finite_timestamp(t, time), moved, time), out);
}

// ---- intervals ----

struct IntervalUnit {
    const char *name;
    int64_t months, micros; // one of them; neither: of a day
};

const IntervalUnit interval_units[] = {
    {"millennium", 12000, 0},
    {"century", 1200, 0},
    {"decade", 120, 0},
    {"year", 12, 0},
    {"quarter", 3, 0},
    {"month", 1, 0},
    {"day", 0, 0},
    {"hour", 0, USECS_PER_HOUR},
    {"minute", 0, USECS_PER_MINUTE},
    {"second", 0, USECS_PER_SEC},
    {"milliseconds", 0, 1000},
    {"microseconds", 0, 1},
};

bool truncate_interval(Translation *t, List *list, const Arguments &args, TypedExpr *out) {
    char *name = nullptr;
    if (!unit_name(static_cast<Expr *>(linitial(list)), &name))
        return false;
    const ir::Index interval = add_call(t, ir::Function::FiniteInterval, args.nodes[1]);
    const ir::Index months = add_call(t, ir::Function::IntervalMonths, interval);
    const ir::Index days = add_call(t, ir::Function::IntervalDays, interval);
    const ir::Index none = micros_constant(t, 0);
    for (const IntervalUnit &unit : interval_units) {
        if (pg_strcasecmp(name, unit.name) != 0)
            continue;
        ir::Index node;
        if (unit.months > 0)
            node = interval_of(t, cut(t, months, unit.months), add_constant(t, Type::I32, 0, false), none);
        else
            node = interval_of(
                t, months, days,
                unit.micros == 0 ? none : cut(t, add_call(t, ir::Function::IntervalMicros, interval), unit.micros));
        return strict(t, args, SqlKind::Interval, node, out);
    }
    return refuse("date_trunc by \"%s\"", name);
}

// A cast to interval(p).
bool round_interval(Translation *t, List *list, const Arguments &args, TypedExpr *out) {
    int32 typmod = 0;
    if (!constant_number(list, 1, &typmod))
        return false;
    if (typmod < 0 || INTERVAL_RANGE(typmod) != INTERVAL_FULL_RANGE)
        return refuse("a cast to an interval of some fields");
    const ir::Index interval = add_call(t, ir::Function::FiniteInterval, args.nodes[0]);
    ir::Index micros = add_call(t, ir::Function::IntervalMicros, interval);
    if (!rounded_micros(t, micros, INTERVAL_PRECISION(typmod), &micros))
        return false;
    return strict(t, args, SqlKind::Interval,
                  interval_of(t, add_call(t, ir::Function::IntervalMonths, interval),
                              add_call(t, ir::Function::IntervalDays, interval), micros),
                  out);
}

// A product, or a quotient. The number goes in as its bits.
bool interval_times(Translation *t, ir::Function function, const Arguments &args, TypedExpr *out) {
    const int factor = args.values[0].kind == SqlKind::Interval ? 1 : 0;
    ir::Index bits = add_expr(t, ir::Op::Cast, Type::I128, add_call(t, ir::Function::FloatBits, args.nodes[factor]));
    return strict(t, args, SqlKind::Interval, add_call(t, function, args.nodes[1 - factor], bits), out);
}

// ---- periods ----

struct Period {
    ir::Index begin, end; // the end may be NULL, and the beginning is if both are
};

Period period_of(Translation *t, ir::Index a, ir::Index b) {
    ir::Index swapped = binary(t, ir::Op::Gt, a, b), none = is_null(t, a);
    return {choose(t, none, b, choose(t, swapped, b, a)),
            choose(t, none, null_of(t, Type::I64), choose(t, swapped, a, b))};
}

// (a, b) OVERLAPS (c, d), as the standard says it of ends that are not known.
bool overlaps(Translation *t, const Arguments &args, TypedExpr *out) {
    const Period x = period_of(t, args.nodes[0], args.nodes[1]), y = period_of(t, args.nodes[2], args.nodes[3]);
    const ir::Index yes = add_constant(t, Type::Bool, 1, false), no = add_constant(t, Type::Bool, 0, false);
    const ir::Index unknown = null_of(t, Type::Bool);
    const ir::Index open = binary(t, ir::Op::Or, is_null(t, x.end), is_null(t, y.end));
    // Of the later period's beginning and the earlier one's end.
    const auto reaches = [&](ir::Index begin, ir::Index end) {
        return choose(t, binary(t, ir::Op::Lt, begin, end), yes, choose(t, open, unknown, no));
    };
    ir::Index node =
        choose(t, binary(t, ir::Op::Lt, x.begin, y.begin), reaches(y.begin, x.end), choose(t, open, unknown, yes));
    bool_value(out, choose(t, binary(t, ir::Op::Gt, x.begin, y.begin), reaches(x.begin, y.end), node), true);
    return true;
}

bool take_arguments(Translation *t, List *list, int first, Arguments *args) {
    args->count = list_length(list);
    for (int i = first; i < args->count; ++i)
        if (!translate(t, static_cast<Expr *>(list_nth(list, i)), &args->values[i]) ||
            !as_own_node(t, args->values[i], &args->nodes[i]))
            return false;
    return true;
}

} // namespace

bool translate_time(Translation *t, const Builtin &builtin, SqlKind kind, List *list, TypedExpr *out) {
    Arguments args{}; // (A unit is no value.)
    if (!take_arguments(t, list, builtin.rule == Rule::TruncateInterval ? 1 : 0, &args))
        return false;
    const ir::Index *n = args.nodes;
    switch (builtin.rule) {
    case Rule::Overlaps:
        return overlaps(t, args, out);
    case Rule::DateBin:
        return date_bin(t, list, args, out);
    case Rule::Age:
        return age(t, args, out);
    case Rule::MakeDate:
        return strict(t, args, kind, day_of(t, n[0], n[1], n[2]), out);
    case Rule::MakeTime:
        return strict(t, args, kind, time_of(t, n[0], n[1], n[2]), out);
    case Rule::MakeTimestamp:
        return make_timestamp(t, kind, args, out);
    case Rule::MakeInterval:
        return make_interval(t, args, out);
    case Rule::EpochToInstant:
        return epoch_to_instant(t, args, out);
    case Rule::TimeOfDay:
        return time_of_day(t, args, out);
    case Rule::DatePlusTime:
        return date_plus_time(t, args, out);
    case Rule::TimePlusInterval:
        return time_plus_interval(t, builtin.op, args, out);
    case Rule::TimeMinusTime:
        return strict(t, args, kind, add_call(t, ir::Function::MicrosInterval, arithmetic(t, ir::Op::Sub, n[0], n[1])),
                      out);
    case Rule::TimeToInterval:
        return strict(t, args, kind, add_call(t, ir::Function::MicrosInterval, n[0]), out);
    case Rule::RoundTime:
        return round_time(t, list, args, out);
    case Rule::ByInterval:
        return by_interval(t, args, out);
    case Rule::TruncateInterval:
        return truncate_interval(t, list, args, out);
    case Rule::RoundInterval:
        return round_interval(t, list, args, out);
    case Rule::WidthBucket:
        return width_bucket(t, args, out);
    case Rule::OfInterval:
        return strict(t, args, kind, add_call(t, builtin.function, n[0]), out);
    case Rule::IntervalTimes:
        return interval_times(t, builtin.function, args, out);
    default: { // isfinite: an infinite one is a row error, which versions differ about
        ir::Index finite = add_call(t, ir::Function::FiniteInterval, n[0]);
        bool_value(out, binary(t, ir::Op::Eq, finite, finite), args.values[0].nullable);
        return true;
    }
    }
}

} // namespace gpuscan
