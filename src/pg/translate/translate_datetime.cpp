// Dates and timestamps: their parts, their beginnings, and what is added to them.
//
// Infinity is neither an error nor a number: it stays where something is added, its parts that grow with the date are
// infinite numerics (a row error here), the others are NULL. Whatever could leave the range of a type is checked step by
// step, as PostgreSQL does, and is a row error. What depends on the session's time zone is refused.
#include "pg/pg.h"

#include "device/semantics.cuh"
#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

// ---- nodes ----

ir::Index choose(Translation *t, ir::Index condition, ir::Index a, ir::Index b) {
    return add_expr(t, ir::Op::Case, t->exprs[static_cast<int>(a)].type, condition, a, b);
}

ir::Index micros_constant(Translation *t, int64_t value) { return add_constant(t, Type::I64, value, false); }

// ---- dates and days ----

ir::Index binary(Translation *t, ir::Op op, ir::Index a, ir::Index b) { return add_expr(t, op, Type::Bool, a, b); }

static ir::Index date_constant(Translation *t, int64_t value) { return add_constant(t, Type::I32, value, false); }

ir::Index is_finite_date(Translation *t, ir::Index date) {
    return binary(t, ir::Op::And, binary(t, ir::Op::Gt, date, date_constant(t, DATEVAL_NOBEGIN)),
                  binary(t, ir::Op::Lt, date, date_constant(t, DATEVAL_NOEND)));
}

// date + n: infinity stays, and the result must be a date (IS_VALID_DATE).
static bool date_plus_days(Translation *t, ir::Op op, const TypedExpr &a, const TypedExpr &b, TypedExpr *out) {
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
    node_value(out, SqlKind::Date, Type::I32, result, a.nullable || b.nullable);
    return true;
}

static bool date_minus_date(Translation *t, const TypedExpr &a, const TypedExpr &b, TypedExpr *out) {
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
    node_value(out, SqlKind::Int4, Type::I32, result, a.nullable || b.nullable);
    return true;
}

// date::timestamp: infinities stay, days beyond the last timestamp are an error.
bool date_to_timestamp(Translation *t, const TypedExpr &a, TypedExpr *out) {
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
    node_value(out, SqlKind::Timestamp, Type::I64, result, a.nullable);
    return true;
}

ir::Index is_finite_timestamp(Translation *t, ir::Index time) {
    return binary(t, ir::Op::And, binary(t, ir::Op::Gt, time, micros_constant(t, DT_NOBEGIN)),
                  binary(t, ir::Op::Lt, time, micros_constant(t, DT_NOEND)));
}

// timestamp::date: the same for both infinities.
static bool timestamp_to_date(Translation *t, const TypedExpr &a, TypedExpr *out) {
    ir::Index time;
    if (!as_own_node(t, a, &time))
        return false;
    node_value(out, SqlKind::Date, Type::I32, add_call(t, ir::Function::FloorDay, time), a.nullable);
    return true;
}

static bool is_finite(Translation *t, const TypedExpr &a, TypedExpr *out) {
    ir::Index node;
    if (!as_own_node(t, a, &node))
        return false;
    bool_value(out, a.type == Type::I32 ? is_finite_date(t, node) : is_finite_timestamp(t, node), a.nullable);
    return true;
}

// ---- a date against a timestamp ----

// d < ts is d < the first day that does not begin before ts; d <= ts is d <= the day of ts. A date whose timestamp would be
// out of range is beyond every finite timestamp, and so it is here. A constant timestamp becomes a constant date.
static bool date_against_timestamp(Translation *t, ir::Op op, const TypedExpr &date, const TypedExpr &timestamp,
                                   TypedExpr *out) {
    const bool ceil = op == ir::Op::Lt || op == ir::Op::Ge;
    ir::Index day, floor_day, other;
    if (!as_own_node(t, date, &day))
        return false;
    if (timestamp.literal && !timestamp.literal_null) {
        int ignored = 0;
        int64_t time = static_cast<int64_t>(timestamp.literal_value);
        int32_t first = sem::floor_day(time, ignored), last = sem::ceil_day(time, ignored);
        if (first == last || (op != ir::Op::Eq && op != ir::Op::Ne)) {
            bool_value(out, binary(t, op, day, date_constant(t, ceil ? last : first)), date.nullable);
            return true;
        }
    }
    if (!as_own_node(t, timestamp, &other))
        return false;
    floor_day = add_call(t, ir::Function::FloorDay, other);
    ir::Index last = add_call(t, ir::Function::CeilDay, other), node;
    if (op == ir::Op::Eq)
        node = binary(t, ir::Op::And, binary(t, ir::Op::Eq, day, floor_day), binary(t, ir::Op::Eq, day, last));
    else if (op == ir::Op::Ne)
        node = binary(t, ir::Op::Or, binary(t, ir::Op::Ne, day, floor_day), binary(t, ir::Op::Ne, day, last));
    else
        node = binary(t, op, day, ceil ? last : floor_day);
    bool_value(out, node, date.nullable || timestamp.nullable);
    return true;
}

// ---- intervals ----

// The node, or a row error where it is no timestamp any more.
ir::Index checked_timestamp(Translation *t, ir::Index time) {
    ir::Index invalid = binary(t, ir::Op::Or, binary(t, ir::Op::Lt, time, micros_constant(t, MIN_TIMESTAMP)),
                               binary(t, ir::Op::Ge, time, micros_constant(t, END_TIMESTAMP)));
    return choose(t, invalid, raise_node(t, Type::I64), time); // NULL stays
}

ir::Index day_to_micros(Translation *t, ir::Index day) {
    return add_expr(t, ir::Op::Mul, Type::I64, add_expr(t, ir::Op::Cast, Type::I64, day),
                    micros_constant(t, USECS_PER_DAY));
}

// The same day some months later, at the same time of the day; of an instant, as the zone's clocks show it.
static ir::Index plus_months(Translation *t, const TimeZoneTables *zone, ir::Index time, ir::Index months) {
    if (zone != nullptr)
        return checked_timestamp(t, from_clock(t, zone, plus_months(t, nullptr, to_clock(t, zone, time), months)));
    ir::Index day = add_call(t, ir::Function::FloorDay, time);
    ir::Index rest = add_expr(t, ir::Op::Sub, Type::I64, time, day_to_micros(t, day));
    ir::Index moved = add_call(t, ir::Function::AddMonths, day, months);
    return checked_timestamp(t, add_expr(t, ir::Op::Add, Type::I64, day_to_micros(t, moved), rest));
}

static ir::Index plus_micros(Translation *t, ir::Index time, ir::Index micros) {
    return checked_timestamp(t, add_expr(t, ir::Op::Add, Type::I64, time, micros));
}

static ir::Index plus_days(Translation *t, const TimeZoneTables *zone, ir::Index time, ir::Index micros) {
    if (zone == nullptr)
        return plus_micros(t, time, micros);
    return checked_timestamp(t, from_clock(t, zone, plus_micros(t, to_clock(t, zone, time), micros)));
}

// An interval that the device must look into.
static bool plus_any_interval(Translation *t, bool minus, const TypedExpr &a, Expr *argument, TypedExpr *out) {
    TypedExpr start = a, b;
    ir::Index first, interval;
    const TimeZoneTables *zone = nullptr;
    if (a.kind == SqlKind::Timestamptz && (zone = time_zone_tables(t, session_timezone)) == nullptr)
        return false;
    if ((a.kind == SqlKind::Date && !date_to_timestamp(t, a, &start)) || !as_own_node(t, start, &first) ||
        !translate(t, argument, &b) || !as_own_node(t, b, &interval))
        return false;
    ir::Index finite = minus ? add_call(t, ir::Function::IntervalMinus, add_constant(t, Type::I128, 0, false), interval)
                             : add_call(t, ir::Function::FiniteInterval, interval);
    ir::Index time = plus_months(t, zone, first, add_call(t, ir::Function::IntervalMonths, finite));
    time = plus_days(t, zone, time, day_to_micros(t, add_call(t, ir::Function::IntervalDays, finite)));
    time = plus_micros(t, time, add_call(t, ir::Function::IntervalMicros, finite));
    // From version 17 on an interval that cannot be negated is an error for infinity, too.
    ir::Index infinite = choose(t, add_expr(t, ir::Op::IsNull, Type::Bool, minus ? finite : interval),
                                add_constant(t, Type::I64, 0, true), first);
    node_value(out, a.kind == SqlKind::Timestamptz ? SqlKind::Timestamptz : SqlKind::Timestamp, Type::I64,
               choose(t, is_finite_timestamp(t, first), time, infinite), a.nullable || b.nullable);
    return true;
}

// Months, then days, then microseconds, each of them checked.
static bool plus_interval(Translation *t, bool minus, const TypedExpr &a, Expr *argument, TypedExpr *out) {
    const Const *constant = reinterpret_cast<const Const *>(argument);
    if (!IsA(constant, Const) || constant->constisnull)
        return plus_any_interval(t, minus, a, argument, out);
    const Interval *interval = DatumGetIntervalP(constant->constvalue);
    int128 months = interval->month, days = interval->day, micros = interval->time;
    if (interval->month == PG_INT32_MAX || interval->month == PG_INT32_MIN)
        return refuse("an infinite interval");
    if (minus) {
        months = -months;
        days = -days;
        micros = -micros;
    }
    days *= USECS_PER_DAY;
    if (!fits(days, Type::I64) || !fits(micros, Type::I64))
        return refuse("an interval that is too long");
    TypedExpr start = a;
    const TimeZoneTables *zone = nullptr;
    if (a.kind == SqlKind::Timestamptz && (months != 0 || days != 0) &&
        (zone = time_zone_tables(t, session_timezone)) == nullptr)
        return false;
    if (a.kind == SqlKind::Date && !date_to_timestamp(t, a, &start))
        return false;
    ir::Index first;
    if (!as_own_node(t, start, &first))
        return false;
    ir::Index time = first;
    if (months != 0)
        time = plus_months(t, zone, time, add_constant(t, Type::I32, months, false));
    if (days != 0)
        time = plus_days(t, zone, time, micros_constant(t, static_cast<int64_t>(days)));
    if (micros != 0)
        time = plus_micros(t, time, micros_constant(t, static_cast<int64_t>(micros)));
    node_value(out, a.kind == SqlKind::Timestamptz ? SqlKind::Timestamptz : SqlKind::Timestamp, Type::I64,
               time == first ? first : choose(t, is_finite_timestamp(t, first), time, first), a.nullable);
    return true;
}

static bool of_two_times(Translation *t, ir::Function function, const TypedExpr &a, const TypedExpr &b,
                         TypedExpr *out) {
    ir::Index left, right;
    if (!as_own_node(t, a, &left) || !as_own_node(t, b, &right))
        return false;
    node_value(out, SqlKind::Interval, Type::I128, add_call(t, function, left, right), a.nullable || b.nullable);
    return true;
}

static bool minus_interval(Translation *t, const TypedExpr &a, TypedExpr *out) {
    ir::Index node;
    if (!as_own_node(t, a, &node))
        return false;
    node_value(out, SqlKind::Interval, Type::I128,
               add_call(t, ir::Function::IntervalMinus, add_constant(t, Type::I128, 0, false), node), a.nullable);
    return true;
}

// ---- extract, date_part, date_trunc ----

bool unit_name(Expr *argument, char **name) {
    const Const *constant = reinterpret_cast<const Const *>(strip_relabels(argument));
    if (!IsA(constant, Const) || constant->constisnull)
        return refuse("a unit of time that is not constant");
    *name = TextDatumGetCString(constant->constvalue);
    return true;
}

struct DatePart {
    const char *name;
    ir::Function function;
};

// Parts of the day; of infinity they are NULL, or an infinite number where the function raises an error.
static const DatePart day_parts[] = {
    {"year", ir::Function::Year},
    {"isoyear", ir::Function::IsoYear},
    {"decade", ir::Function::Decade},
    {"century", ir::Function::Century},
    {"millennium", ir::Function::Millennium},
    {"quarter", ir::Function::Quarter},
    {"month", ir::Function::Month},
    {"week", ir::Function::Week},
    {"day", ir::Function::Day},
    {"doy", ir::Function::DayOfYear},
    {"dow", ir::Function::DayOfWeek},
    {"isodow", ir::Function::IsoDayOfWeek},
};

struct TimePart {
    const char *name;
    ir::Function function;
    int32 scale; // of the numeric
};

static const TimePart time_parts[] = {
    {"hour", ir::Function::Hour, 0},
    {"minute", ir::Function::Minute, 0},
    {"second", ir::Function::MinuteMicros, 6},
    {"milliseconds", ir::Function::MinuteMicros, 3},
    {"microseconds", ir::Function::MinuteMicros, 0},
};

static void epoch_of(Translation *t, const TypedExpr &a, ir::Index node, TypedExpr *out) {
    ir::Index seconds = node;
    if (a.kind == SqlKind::Date) {
        ir::Index day = add_expr(t, ir::Op::Add, Type::I64, add_expr(t, ir::Op::Cast, Type::I64, node),
                                 micros_constant(t, POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE));
        seconds = add_expr(t, ir::Op::Mul, Type::I64, day, micros_constant(t, SECS_PER_DAY));
        seconds = choose(t, is_finite_date(t, node), seconds,
                         choose(t, add_expr(t, ir::Op::IsNull, Type::Bool, node), seconds, raise_node(t, Type::I64)));
    } else if (a.kind != SqlKind::Time) {
        seconds = add_expr(t, ir::Op::Add, Type::I64, node,
                           micros_constant(t, int64_t(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY));
        seconds = choose(t, is_finite_timestamp(t, node), seconds,
                         choose(t, add_expr(t, ir::Op::IsNull, Type::Bool, node), seconds, raise_node(t, Type::I64)));
    }
    node_value(out, SqlKind::Numeric, Type::I64, seconds, a.nullable);
    out->scale = a.kind == SqlKind::Date ? 0 : 6;
    out->precision = 19;
}

// Parts of an interval are those of its months, or of its microseconds: so many whole ones, less whole ones of a larger unit.
struct IntervalPart {
    const char *name;
    ir::Function of;
    int64_t unit, larger; // larger: 0 if there is none
    int32 scale;
};

static const IntervalPart interval_parts[] = {
    {"millennium", ir::Function::IntervalMonths, 12000, 0, 0},
    {"century", ir::Function::IntervalMonths, 1200, 0, 0},
    {"decade", ir::Function::IntervalMonths, 120, 0, 0},
    {"year", ir::Function::IntervalMonths, 12, 0, 0},
    {"month", ir::Function::IntervalMonths, 1, 12, 0},
    {"day", ir::Function::IntervalDays, 1, 0, 0},
    {"hour", ir::Function::IntervalMicros, USECS_PER_HOUR, 0, 0},
    {"minute", ir::Function::IntervalMicros, USECS_PER_MINUTE, USECS_PER_HOUR, 0},
    {"second", ir::Function::IntervalMicros, 1, USECS_PER_MINUTE, 6},
    {"milliseconds", ir::Function::IntervalMicros, 1, USECS_PER_MINUTE, 3},
    {"microseconds", ir::Function::IntervalMicros, 1, USECS_PER_MINUTE, 0},
};

static double values_of(ir::Function function) {
    const ir::Image &image = ir::function_info(function).image;
    return image.kind == ir::Image::Kind::Within ? static_cast<double>(image.max - image.min) + 1 : HUGE_VAL;
}

double values_of_part(const List *args) {
    const Const *unit = reinterpret_cast<const Const *>(strip_relabels(static_cast<Expr *>(linitial(args))));
    if (!IsA(unit, Const) || unit->constisnull)
        return HUGE_VAL;
    const char *name = TextDatumGetCString(unit->constvalue);
    if (exprType(static_cast<const Node *>(lsecond(args))) == INTERVALOID) {
        for (const IntervalPart &part : interval_parts)
            if (pg_strcasecmp(name, part.name) == 0 && part.larger > 0)
                return 2 * static_cast<double>(part.larger) / static_cast<double>(part.unit) - 1; // on both sides of 0
        return HUGE_VAL;
    }
    for (const DatePart &part : day_parts)
        if (pg_strcasecmp(name, part.name) == 0)
            return values_of(part.function);
    for (const TimePart &part : time_parts)
        if (pg_strcasecmp(name, part.name) == 0)
            return values_of(part.function);
    return HUGE_VAL;
}

static ir::Index times(Translation *t, ir::Op op, ir::Index node, int64_t by) {
    return by == 1 ? node : add_expr(t, op, Type::I64, node, micros_constant(t, by));
}

// A year has 365.25 days, a month 30; in quarters of a day everything is whole.
static ir::Index interval_micros(Translation *t, ir::Index interval) {
    auto part = [=](ir::Function function) {
        return add_expr(t, ir::Op::Cast, Type::I64, add_call(t, function, interval));
    };
    ir::Index months = part(ir::Function::IntervalMonths);
    ir::Index quarters = times(t, ir::Op::Mul, times(t, ir::Op::Div, months, 12), 1461);
    quarters =
        add_expr(t, ir::Op::Add, Type::I64, quarters, times(t, ir::Op::Mul, times(t, ir::Op::Mod, months, 12), 120));
    quarters =
        add_expr(t, ir::Op::Add, Type::I64, quarters, times(t, ir::Op::Mul, part(ir::Function::IntervalDays), 4));
    return add_expr(t, ir::Op::Add, Type::I64, times(t, ir::Op::Mul, quarters, USECS_PER_DAY / 4),
                    add_call(t, ir::Function::IntervalMicros, interval));
}

ir::Index float_constant(Translation *t, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return add_constant(t, Type::F64, static_cast<int128>(bits), false);
}

// A part with `scale` decimals as date_part() has it: of whole seconds, and what is left, each a float.
static void float_part(Translation *t, ir::Index part, int32 scale, bool nullable, TypedExpr *out) {
    const auto as_float = [t](ir::Index node) { return add_expr(t, ir::Op::Cast, Type::F64, node); };
    const auto scaled = [t](ir::Op op, ir::Index node, int32 digits) {
        return add_expr(t, op, Type::F64, node, float_constant(t, digits == 3 ? 1e3 : 1e6));
    };
    ir::Index node = as_float(part);
    if (scale != 0) {
        ir::Index seconds = as_float(times(t, ir::Op::Div, part, USECS_PER_SEC));
        node = add_expr(t, ir::Op::Add, Type::F64, scale == 6 ? seconds : scaled(ir::Op::Mul, seconds, 6 - scale),
                        scaled(ir::Op::Div, as_float(times(t, ir::Op::Mod, part, USECS_PER_SEC)), scale));
    }
    node_value(out, SqlKind::Float8, Type::F64, node, nullable);
    out->precision = scale == 0 ? 12 : 0;
}

static bool extract_from_interval(Translation *t, SqlKind result, const char *name, const TypedExpr &a, ir::Index node,
                                  TypedExpr *out) {
    ir::Index interval = add_call(t, ir::Function::FiniteInterval, node), part = ir::none;
    int32 scale = 0;
    if (pg_strcasecmp(name, "epoch") == 0) {
        part = interval_micros(t, interval);
        scale = 6;
    }
    for (const IntervalPart &known : interval_parts) {
        if (pg_strcasecmp(name, known.name) != 0)
            continue;
        part = add_call(t, known.of, interval);
        if (known.of != ir::Function::IntervalMicros)
            part = add_expr(t, ir::Op::Cast, Type::I64, part);
        if (known.larger != 0)
            part = times(t, ir::Op::Mod, part, known.larger);
        part = times(t, ir::Op::Div, part, known.unit);
        scale = known.scale;
    }
    if (part == ir::none)
        return refuse("the part \"%s\" of an interval", name);
    if (result == SqlKind::Float8) {
        if (pg_strcasecmp(name, "epoch") == 0)
            return refuse("the part \"%s\" as a floating-point number", name);
        float_part(t, part, scale, a.nullable, out);
        return true;
    }
    node_value(out, SqlKind::Numeric, Type::I64, part, a.nullable);
    out->scale = scale;
    out->precision = 19;
    return true;
}

// The numeric of extract(); date_part() has the same number as a float.
static bool extract(Translation *t, SqlKind result, Expr *unit, const TypedExpr &a, TypedExpr *out) {
    char *name = nullptr;
    ir::Index node;
    if (!unit_name(unit, &name) || !as_own_node(t, a, &node))
        return false;
    if (a.kind == SqlKind::Interval)
        return extract_from_interval(t, result, name, a, node, out);
    if (pg_strcasecmp(name, "epoch") == 0) {
        epoch_of(t, a, node, out);
        if (result == SqlKind::Numeric)
            return true;
        ir::Index seconds = add_expr(t, ir::Op::Cast, Type::F64, out->expr);
        node_value(out, SqlKind::Float8, Type::F64,
                   add_expr(t, ir::Op::Div, Type::F64, seconds, float_constant(t, 1e6)), a.nullable);
        return true;
    }
    if (a.kind == SqlKind::Timestamptz) {
        const TimeZoneTables *zone = time_zone_tables(t, session_timezone);
        if (zone == nullptr)
            return false;
        node = choose(t, is_finite_timestamp(t, node), to_clock(t, zone, node), node);
    }
    const bool is_date = a.kind == SqlKind::Date;
    ir::Index part = ir::none;
    int32 scale = 0;
    bool nullable = a.nullable;
    for (const DatePart &known : day_parts) {
        if (a.kind == SqlKind::Time || pg_strcasecmp(name, known.name) != 0)
            continue;
        part = add_call(t, known.function, is_date ? node : add_call(t, ir::Function::FloorDay, node));
        if (ir::function_info(known.function).raises)
            break;
        nullable = true;
        part = choose(t, is_date ? is_finite_date(t, node) : is_finite_timestamp(t, node), part,
                      add_constant(t, Type::I64, 0, true));
    }
    for (const TimePart &known : time_parts)
        if (!is_date && pg_strcasecmp(name, known.name) == 0) {
            nullable = true;
            const bool clock = a.kind == SqlKind::Time && known.function == ir::Function::Hour;
            part = choose(t, is_finite_timestamp(t, node),
                          add_call(t, clock ? ir::Function::ClockHour : known.function, node),
                          add_constant(t, Type::I64, 0, true));
            scale = known.scale;
        }
    if (part == ir::none)
        return refuse("the part \"%s\" of a date or timestamp", name);
    if (result == SqlKind::Float8) {
        float_part(t, part, scale, nullable, out);
        return true;
    }
    node_value(out, SqlKind::Numeric, Type::I64, part, nullable);
    out->scale = scale;
    out->precision = 12;
    return true;
}

static const DatePart day_starts[] = {
    {"year", ir::Function::YearStart},
    {"quarter", ir::Function::QuarterStart},
    {"month", ir::Function::MonthStart},
    {"week", ir::Function::WeekStart},
};

static const DatePart time_starts[] = {
    {"hour", ir::Function::HourStart},
    {"minute", ir::Function::MinuteStart},
    {"second", ir::Function::SecondStart},
    {"milliseconds", ir::Function::MillisecondStart},
};

// Of an instant, as a zone's clocks show it: hours and what is shorter begin with the same offset, days by the clock.
static bool truncate(Translation *t, Expr *unit, const TypedExpr &a, pg_tz *in_time_zone, TypedExpr *out) {
    char *name = nullptr;
    ir::Index instant, start = ir::none;
    const TimeZoneTables *zone = nullptr;
    if (!unit_name(unit, &name) || !as_own_node(t, a, &instant) ||
        (a.kind == SqlKind::Timestamptz && (zone = time_zone_tables(t, in_time_zone)) == nullptr))
        return false;
    ir::Index time =
        zone == nullptr ? instant : choose(t, is_finite_timestamp(t, instant), to_clock(t, zone, instant), instant);
    if (pg_strcasecmp(name, "microseconds") == 0)
        start = time;
    for (const DatePart &known : time_starts)
        if (pg_strcasecmp(name, known.name) == 0)
            start = add_call(t, known.function, time);
    if (start != ir::none && zone != nullptr)
        start = choose(t, is_finite_timestamp(t, instant),
                       add_expr(t, ir::Op::Sub, Type::I64, start, time_zone_offset(t, zone, instant)), instant);
    ir::Index day = add_call(t, ir::Function::FloorDay, time), first = ir::none;
    if (pg_strcasecmp(name, "day") == 0)
        first = day;
    for (const DatePart &known : day_starts)
        if (pg_strcasecmp(name, known.name) == 0)
            first = add_call(t, known.function, day);
    if (first != ir::none) {
        ir::Index begin = day_to_micros(t, first);
        if (zone != nullptr)
            begin = from_clock(t, zone, begin);
        start = choose(t, is_finite_timestamp(t, instant), checked_timestamp(t, begin), instant);
    }
    if (start == ir::none)
        return refuse("date_trunc by \"%s\"", name);
    node_value(out, a.kind, Type::I64, start, a.nullable);
    return true;
}

// ---- between instants and clocks ----

static bool instant_to_clock(Translation *t, pg_tz *in_time_zone, const TypedExpr &a, TypedExpr *out) {
    ir::Index node;
    const TimeZoneTables *zone = time_zone_tables(t, in_time_zone);
    if (zone == nullptr || !as_own_node(t, a, &node))
        return false;
    node_value(out, SqlKind::Timestamp, Type::I64,
               choose(t, is_finite_timestamp(t, node), checked_timestamp(t, to_clock(t, zone, node)), node),
               a.nullable);
    return true;
}

bool clock_to_instant(Translation *t, pg_tz *in_time_zone, const TypedExpr &a, TypedExpr *out) {
    TypedExpr start = a;
    ir::Index node;
    const TimeZoneTables *zone = time_zone_tables(t, in_time_zone);
    if (zone == nullptr || (a.kind == SqlKind::Date && !date_to_timestamp(t, a, &start)) ||
        !as_own_node(t, start, &node))
        return false;
    node_value(out, SqlKind::Timestamptz, Type::I64,
               choose(t, is_finite_timestamp(t, node), checked_timestamp(t, from_clock(t, zone, node)), node),
               a.nullable);
    return true;
}

// PostgreSQL compares a timestamptz with the instant that a date or a timestamp is in the session's zone. (One beyond all instants is an
// error of the cast alone: PostgreSQL's plan compares it.) A constant is made an instant once.
static Expr *as_instant(Expr *clock) {
    const Oid type = exprType(reinterpret_cast<Node *>(clock));
    if (type == TIMESTAMPTZOID)
        return clock;
    return reinterpret_cast<Expr *>(makeFuncExpr(type == DATEOID ? F_TIMESTAMPTZ_DATE : F_TIMESTAMPTZ_TIMESTAMP,
                                                 TIMESTAMPTZOID, list_make1(clock), InvalidOid, InvalidOid,
                                                 COERCE_EXPLICIT_CAST));
}

static bool compare_instants(Translation *t, ir::Op op, Expr *first, Expr *second, TypedExpr *out) {
    TypedExpr a, b;
    ir::Index left, right;
    if (!translate(t, as_instant(first), &a) || !translate(t, as_instant(second), &b) || !as_own_node(t, a, &left) ||
        !as_own_node(t, b, &right))
        return false;
    bool_value(out, binary(t, op, left, right), a.nullable || b.nullable);
    return true;
}

// AT TIME ZONE has the zone first.
static bool between_time_zones(Translation *t, Rule rule, List *args, TypedExpr *out) {
    TypedExpr a, clock;
    pg_tz *zone = session_timezone;
    if (list_length(args) > 1 && (zone = named_time_zone(static_cast<Expr *>(linitial(args)))) == nullptr)
        return false;
    if (!translate(t, static_cast<Expr *>(llast(args)), &a))
        return false;
    if (rule == Rule::ClockToInstant)
        return clock_to_instant(t, zone, a, out);
    if (rule == Rule::InstantToClock)
        return instant_to_clock(t, zone, a, out);
    return instant_to_clock(t, zone, a, &clock) && timestamp_to_date(t, clock, out);
}

// ---- the call ----

bool translate_datetime(Translation *t, const Builtin &builtin, SqlKind kind, List *args, TypedExpr *out) {
    TypedExpr a, b;
    Expr *first = static_cast<Expr *>(linitial(args));
    Expr *second = list_length(args) > 1 ? static_cast<Expr *>(lsecond(args)) : nullptr;
    if (builtin.rule == Rule::Extract)
        return translate(t, second, &a) && extract(t, kind, first, a, out);
    if (builtin.rule == Rule::DateTrunc) {
        pg_tz *zone = session_timezone;
        if (list_length(args) > 2 && (zone = named_time_zone(static_cast<Expr *>(lthird(args)))) == nullptr)
            return false;
        return translate(t, second, &a) && truncate(t, first, a, zone, out);
    }
    if (builtin.rule == Rule::InstantToClock || builtin.rule == Rule::InstantToDate ||
        builtin.rule == Rule::ClockToInstant)
        return between_time_zones(t, builtin.rule, args, out);
    if (builtin.rule == Rule::Instants)
        return compare_instants(t, builtin.op, first, second, out);
    if (!translate(t, first, &a))
        return false;
    if (builtin.rule == Rule::PlusInterval)
        return plus_interval(t, builtin.op == ir::Op::Sub, a, second, out);
    if (second != nullptr && !translate(t, second, &b))
        return false;
    switch (builtin.rule) {
    case Rule::DatePlusDays:
        return date_plus_days(t, builtin.op, a, b, out);
    case Rule::OfTwoTimes:
        return of_two_times(t, builtin.function, a, b, out);
    case Rule::MinusInterval:
        return minus_interval(t, a, out);
    case Rule::DateMinusDate:
        return date_minus_date(t, a, b, out);
    case Rule::DateToTimestamp:
        return date_to_timestamp(t, a, out);
    case Rule::TimestampToDate:
        return timestamp_to_date(t, a, out);
    case Rule::DateTimestamp:
        return date_against_timestamp(t, builtin.op, a, b, out);
    case Rule::TimestampDate:
        return date_against_timestamp(t, ir::mirrored(builtin.op), b, a, out);
    default:
        return is_finite(t, a, out);
    }
}

} // namespace gpuscan
