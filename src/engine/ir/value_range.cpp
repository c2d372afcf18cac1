// Interval arithmetic over expressions; see value_range.hpp.
#include "engine/ir/value_range.hpp"

#include <algorithm>
#include <unordered_map>

#include "device/semantics.cuh"

namespace gpuscan {
namespace {

using namespace ir;

constexpr int128 limit = static_cast<int128>(1) << 100; // beyond, nobody asks: sums and products cannot overflow below

ValueRange of_type(Type type) {
    switch (type) {
    case Type::Bool:
        return ValueRange::of(0, 1);
    case Type::I16:
        return ValueRange::of(INT16_MIN, INT16_MAX);
    case Type::I32:
        return ValueRange::of(INT32_MIN, INT32_MAX);
    case Type::I64:
        return ValueRange::of(INT64_MIN, INT64_MAX);
    case Type::Code:
        return ValueRange::of(0, UINT32_MAX);
    default:
        return {};
    }
}

ValueRange bounded(ValueRange r) { return r.known && r.min >= -limit && r.max <= limit ? r : ValueRange{}; }

// Values that do not fit the type are row errors.
ValueRange clip(ValueRange r, Type type) {
    const ValueRange all = of_type(type);
    r = bounded(r);
    if (!all.known)
        return r;
    if (!r.known)
        return all;
    r.min = std::max(r.min, all.min);
    r.max = std::min(r.max, all.max);
    return r.min <= r.max ? r : all;
}

ValueRange hull(const ValueRange &a, const ValueRange &b) {
    return a.known && b.known ? ValueRange::of(std::min(a.min, b.min), std::max(a.max, b.max)) : ValueRange{};
}

ValueRange corners(int128 a, int128 b, int128 c, int128 d) {
    return ValueRange::of(std::min({a, b, c, d}), std::max({a, b, c, d}));
}

bool small(const ValueRange &r) {
    const int128 half = static_cast<int128>(1) << 62;
    return r.min >= -half && r.max <= half;
}

// Of a function that grows with its argument. (No pointer to it: it must be inlined, which compilers that instrument cannot then.)
template <class From, auto function> ValueRange of_ends(ValueRange a, int128 limit) {
    int error = 0;
    if (!a.known || a.min < -limit || a.max > limit)
        return {};
    return ValueRange::of(function(static_cast<From>(a.min), error), function(static_cast<From>(a.max), error));
}

} // namespace

ValueRange call_range(Function function, const ValueRange &a) {
    constexpr int128 days = 1000000, micros = days * sem::micros_per_day; // more than 2,700 years on both sides of 2000
    switch (function) {
    case Function::Year:
        return of_ends<int32_t, sem::date_year>(a, days);
    case Function::YearStart:
        return of_ends<int32_t, sem::year_start>(a, days);
    case Function::QuarterStart:
        return of_ends<int32_t, sem::quarter_start>(a, days);
    case Function::MonthStart:
        return of_ends<int32_t, sem::month_start>(a, days);
    case Function::WeekStart:
        return of_ends<int32_t, sem::week_start>(a, days);
    case Function::FloorDay:
        return of_ends<int64_t, sem::floor_day>(a, micros);
    case Function::CeilDay:
        return of_ends<int64_t, sem::ceil_day>(a, micros);
    case Function::Quarter:
        return ValueRange::of(1, 4);
    case Function::Month:
        return ValueRange::of(1, 12);
    case Function::Week:
        return ValueRange::of(1, 53);
    case Function::Day:
        return ValueRange::of(1, 31);
    case Function::DayOfYear:
        return ValueRange::of(1, 366);
    case Function::DayOfWeek:
    case Function::IsoDayOfWeek:
        return ValueRange::of(0, 7);
    case Function::Hour:
        return ValueRange::of(0, 23);
    case Function::ClockHour:
        return a.known && a.min >= 0 && a.max <= sem::micros_per_day ? ValueRange::of(0, 24) : ValueRange{};
    case Function::Minute:
        return ValueRange::of(0, 59);
    default:
        return {};
    }
}

namespace {

class Ranger {
  public:
    Ranger(const Program &program, const RangeSources &sources) : program(program), sources(sources) {}

    ValueRange operand(Index index) {
        const auto known = known_.find(index);
        if (known != known_.end())
            return known->second;
        const ValueRange range = of_node(index);
        known_.emplace(index, range);
        return range;
    }

  private:
    ValueRange of_node(Index index);

    const Program &program;
    const RangeSources &sources;
    std::unordered_map<Index, ValueRange> known_;
};

ValueRange Ranger::of_node(Index index) {
    const Expr &e = program.exprs[index];
    if (is_float(e.type))
        return {};
    switch (e.op) {
    case Op::Column:
        return clip(sources.column(e.a, e.b), e.type);
    case Op::Const: {
        const Constant &c = program.constants[e.a];
        if (c.null)
            return ValueRange::of(0, 0);
        int128 v = static_cast<int128>((static_cast<uint128>(static_cast<uint64_t>(c.high)) << 64) | c.low);
        if (e.type != Type::I128)
            v = e.type == Type::Code ? static_cast<int128>(static_cast<uint32_t>(c.low))
                                     : static_cast<int128>(static_cast<int64_t>(c.low));
        return clip(ValueRange::of(v, v), e.type);
    }
    case Op::Lookup:
        return clip(sources.lookup(e.b), e.type);
    case Op::Add:
    case Op::Sub:
    case Op::Mul: {
        const ValueRange a = operand(e.a);
        const ValueRange b = operand(e.b);
        if (!a.known || !b.known)
            return of_type(e.type);
        if (e.op == Op::Add)
            return clip(ValueRange::of(a.min + b.min, a.max + b.max), e.type);
        if (e.op == Op::Sub)
            return clip(ValueRange::of(a.min - b.max, a.max - b.min), e.type);
        if (!small(a) || !small(b))
            return of_type(e.type);
        return clip(corners(a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max), e.type);
    }
    case Op::Div: {
        const ValueRange a = operand(e.a);
        const ValueRange b = operand(e.b);
        if (!a.known || !b.known || b.min <= 0)
            return of_type(e.type);
        return clip(corners(a.min / b.min, a.min / b.max, a.max / b.min, a.max / b.max), e.type);
    }
    case Op::Mod: {
        const ValueRange a = operand(e.a);
        const ValueRange b = operand(e.b);
        if (!a.known || !b.known || b.min <= 0)
            return of_type(e.type);
        return clip(ValueRange::of(a.min < 0 ? -(b.max - 1) : 0, a.max > 0 ? b.max - 1 : 0), e.type);
    }
    case Op::Neg: {
        const ValueRange a = operand(e.a);
        return a.known ? clip(ValueRange::of(-a.max, -a.min), e.type) : of_type(e.type);
    }
    case Op::Call:
        return clip(call_range(static_cast<Function>(e.c), operand(e.a)), e.type);
    case Op::Case:
        return clip(hull(operand(e.b), operand(e.c)), e.type);
    case Op::Coalesce:
        return clip(hull(operand(e.a), operand(e.b)), e.type);
    case Op::Cast:
        return is_float(program.exprs[e.a].type) ? of_type(e.type) : clip(operand(e.a), e.type);
    default:
        return of_type(e.type);
    }
}

} // namespace

ValueRange value_range(const Program &program, Index expr, const RangeSources &sources) {
    return Ranger(program, sources).operand(expr);
}

} // namespace gpuscan
