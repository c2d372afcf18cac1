// Interval arithmetic over expressions; see value_range.hpp.
#include "engine/ir/value_range.hpp"

#include <algorithm>
#include <utility>

#include "device/semantics.cuh"
#include "engine/ir/expr_walk.hpp"

namespace gpuscan {

using namespace ir;

namespace {

constexpr int128 limit = static_cast<int128>(1) << 100; // of what is known: the sum of two cannot overflow 128 bits
constexpr int128 small_limit = static_cast<int128>(1) << 62; // the product of two cannot exceed it

struct Bounds {
    int128 min, max;
};

// Of each type's values; I128: of those that are known. Floats have none.
constexpr Bounds type_bounds[type_count] = {
    {0, 1}, {INT16_MIN, INT16_MAX}, {INT32_MIN, INT32_MAX}, {INT64_MIN, INT64_MAX}, {-limit, limit}, {0, 0},
    {0, 0}, {0, UINT32_MAX}};

bool small(const ValueRange &r) { return r.min > -small_limit && r.max < small_limit; }

ValueRange hull(const ValueRange &a, const ValueRange &b, bool null) {
    ValueRange r = !a.value ? b : a;
    if (a.value && b.value) {
        r.known = a.known && b.known;
        r.min = std::min(a.min, b.min);
        r.max = std::max(a.max, b.max);
    }
    r.null = null;
    return r;
}

// A function that grows, at both ends of its argument. (No pointer to it: it must be inlined, which compilers that instrument
// cannot then.)
template <Type argument, Image::Kind kind, class F> void set_ends(const ValueRange &a, ValueRange &r, F function) {
    if constexpr (kind == Image::Kind::Grows) {
        using T = typename ValueOf<argument>::T;
        int error = 0;
        r.min = function(static_cast<T>(a.min), error);
        r.max = function(static_cast<T>(a.max), error);
        r.known = error == 0;
    }
}

// `r`: of the call so far.
void call(Function function, const ValueRange &a, ValueRange &r) {
    const FunctionInfo &info = function_info(function);
    const Image &image = info.image;
    if (image.kind == Image::Kind::Within) {
        r.known = true;
        r.min = image.min;
        r.max = image.max;
        r.raises = info.raises;
    }
    if (image.kind != Image::Kind::Grows || !a.known || a.min < image.min || a.max > image.max)
        return;
    switch (function) {
#define GPUSCAN_FUNCTION(name, of, arguments, argument, result, raises, image_)                                        \
    case Function::name:                                                                                               \
        return set_ends<Type::argument, image::image_.kind>(a, r, [](auto x, int &error) { return sem::of(x, error); });
        GPUSCAN_FUNCTIONS(GPUSCAN_FUNCTION)
#undef GPUSCAN_FUNCTION
    }
}

} // namespace

ValueRange ValueRange::of(int128 min, int128 max, bool null) {
    ValueRange r;
    r.value = min <= max;
    r.known = true;
    r.null = null;
    r.min = r.value ? min : 0;
    r.max = r.value ? max : 0;
    return r;
}

ValueRange ValueRange::truth(bool can_be_true, bool can_be_false, bool can_be_null) {
    return of(can_be_false ? 0 : 1, can_be_true ? 1 : 0, can_be_null);
}

ValueRanges::ValueRanges(const Program &program, RangeSources sources)
    : program_(program), sources_(std::move(sources)), found_(program.exprs.size()), named_(program.exprs.size(), 0) {}

const ValueRange &ValueRanges::of(Index expr) {
    std::vector<Index> needed;
    for_each_needed(program_.exprs, {expr}, [&](Index node) {
        needed.push_back(node);
        return true;
    });
    evaluate(order(std::move(needed)));
    return found_[expr];
}

std::vector<Index> ValueRanges::order(std::vector<Index> nodes) {
    std::reverse(nodes.begin(), nodes.end());
    nodes.erase(
        std::remove_if(nodes.begin(), nodes.end(), [this](Index node) { return std::exchange(named_[node], 1) != 0; }),
        nodes.end());
    return nodes;
}

void ValueRanges::evaluate(const std::vector<Index> &nodes) {
    for (const Index node : nodes) {
        const Expr &e = program_.exprs[node];
        ValueRange &r = found_[node];
        r = exact(e);
        for_each_operand(e, [&](Index operand) { r.raises |= found_[operand].raises; });
        const Bounds &all = type_bounds[static_cast<int>(e.type)];
        if (r.known && r.min >= all.min && r.max <= all.max && !is_float(e.type))
            continue;
        r.raises = r.raises || raises_itself(program_.exprs.data(), e);
        const bool clipped = r.known && r.min <= all.max && r.max >= all.min; // values outside of the type are errors
        r.known = !is_float(e.type) && e.type != Type::I128;
        r.min = clipped ? std::max(r.min, all.min) : all.min;
        r.max = clipped ? std::min(r.max, all.max) : all.max;
    }
}

ValueRange ValueRanges::constant(const Expr &e) const {
    const Constant &c = program_.constants[e.a];
    if (c.null != 0)
        return ValueRange::of(1, 0);
    int128 v = static_cast<int64_t>(c.low);
    if (e.type == Type::I128)
        v = static_cast<int128>(static_cast<uint128>(static_cast<uint64_t>(c.high)) << 64 | c.low);
    else if (e.type == Type::Code)
        v = static_cast<uint32_t>(c.low);
    return ValueRange::of(v, v, false);
}

// As if there were no types. What is unknown here may raise, if the node can.
ValueRange ValueRanges::exact(const Expr &e) const {
    static const ValueRange neutral = ValueRange::of(0, 0, false); // stands for operands that there are not
    const int operands = operand_count(e);
    const ValueRange &a = operands >= 1 ? found_[e.a] : neutral, &b = operands >= 2 ? found_[e.b] : neutral;
    const bool both = a.value && b.value, null = a.null || b.null, bounds = a.known && b.known;
    ValueRange r; // of what is strict
    r.value = both;
    r.null = null;
    const auto computed = [&](int128 min, int128 max) {
        r.known = true;
        r.min = min;
        r.max = max;
        return r;
    };
    const auto compared = [&](bool can_be_true, bool can_be_false) {
        return ValueRange::truth(both && (!bounds || can_be_true), both && (!bounds || can_be_false), null);
    };
    const bool meet = a.min <= b.max && b.min <= a.max, same = a.min == a.max && b.min == b.max && a.min == b.min;
    switch (e.op) {
    case Op::Column:
        return sources_.column(e);
    case Op::Const:
        return constant(e);
    case Op::Lookup:
        return sources_.lookup(e, a);
    case Op::Add:
        return bounds ? computed(a.min + b.min, a.max + b.max) : r;
    case Op::Sub:
        return bounds ? computed(a.min - b.max, a.max - b.min) : r;
    case Op::Mul: {
        if (!bounds || !small(a) || !small(b))
            return r;
        const int128 corners[] = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
        return computed(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
    }
    case Op::Div: // one by zero has no bounds, so it may raise
        if (!bounds || b.min <= 0)
            return r;
        return computed(std::min(a.min / b.min, a.min / b.max), std::max(a.max / b.min, a.max / b.max));
    case Op::Mod:
        if (!bounds || b.min <= 0)
            return r;
        return computed(a.min < 0 ? 1 - b.max : 0, a.max > 0 ? b.max - 1 : 0);
    case Op::Neg:
        return bounds ? computed(-a.max, -a.min) : r;
    case Op::Eq:
        return compared(meet, !same);
    case Op::Ne:
        return compared(!same, meet);
    case Op::Lt:
        return compared(a.min < b.max, a.max >= b.min);
    case Op::Le:
        return compared(a.min <= b.max, a.max > b.min);
    case Op::Gt:
        return compared(a.max > b.min, a.min <= b.max);
    case Op::Ge:
        return compared(a.max >= b.min, a.min < b.max);
    case Op::And:
        return ValueRange::truth(a.can_be(true) && b.can_be(true), a.can_be(false) || b.can_be(false), null);
    case Op::Or:
        return ValueRange::truth(a.can_be(true) || b.can_be(true), a.can_be(false) && b.can_be(false), null);
    case Op::Not:
        return ValueRange::truth(a.can_be(false), a.can_be(true), null);
    case Op::IsNull:
        return ValueRange::truth(a.null, a.value, false);
    case Op::IsNotNull:
        return ValueRange::truth(a.value, a.null, false);
    case Op::IsTrue:
        return ValueRange::truth(a.can_be(true), a.can_be(false) || a.null, false);
    case Op::Case: {
        const ValueRange &c = found_[e.c];
        if (!a.can_be(true))
            return c;
        return !a.can_be(false) && !a.null ? b : hull(b, c, b.null || c.null);
    }
    case Op::Coalesce:
        return a.null ? hull(a, b, b.null) : a;
    case Op::Cast:
        return is_float(program_.exprs[e.a].type) || !a.known ? r : computed(a.min, a.max);
    case Op::Call:
        call(static_cast<Function>(e.c), a, r);
        return r;
    case Op::Search:
        return r;
    }
    return {};
}

} // namespace gpuscan
