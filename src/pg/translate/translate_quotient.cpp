// Quotients of numerics.
//
// How many decimals PostgreSQL gives a quotient depends on its operands: so many that there are 16 significant digits or more, counted
// in digits to the base of 10,000, and no fewer than either operand shows (numeric.c: select_div_scale). So a quotient is a numeric of
// mixed scale: a multiple of 10^-s with one s for all rows, which is as large as the operands' types let the decimals of a row become,
// and a node that has the row's own. Both operands are brought to one scale, a multiple of 4, so that the digits to the base of 10,000
// of the integers are those of the numbers, and
//
//     t = a / b cut off behind s + 1 decimals          exactly, by long division
//     r = max(quotient_scale(a, b), shown digits of a and of b)
//     q = t rounded half away from zero to r decimals  which is right because of a digit that is cut off none before it depends
//
// A row whose quotient has more decimals than s, or more than 38 digits with s decimals, is a row error, and so is division by zero.
// 0 has a weight of 0 in PostgreSQL, whatever its decimals, and fits every s.
#include "pg/pg.h"

#include <algorithm>

#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

constexpr int digits_of_quotient = 16; // NUMERIC_MIN_SIG_DIGITS
constexpr int32 max_operand_decimals = 28;
constexpr int max_digits = 38;

static const struct {
    int32 scale;
    ir::Function function; // with one decimal more
} known_quotients[] = {{16, ir::Function::Quotient17},
                       {20, ir::Function::Quotient21},
                       {24, ir::Function::Quotient25},
                       {28, ir::Function::Quotient29}};

static int digits_of(const TypedExpr &value) {
    if (!value.literal)
        return value.precision > 0 ? std::min(value.precision, max_digits) : max_digits;
    int digits = 0;
    for (int128 left = value.literal_value; left != 0; left /= 10)
        ++digits;
    return digits;
}

// The weight to the base of 10,000 of a number whose first decimal digit stands for 10^n.
static int weight_of(int n) { return n >= 0 ? n / 4 : -((3 - n) / 4); }

// The powers of ten that the first digits of the smallest number and of the largest one stand for; 0 apart.
static int least_power(const TypedExpr &value) {
    return value.literal && digits_of(value) > 0 ? digits_of(value) - 1 - value.scale : -value.scale;
}
static int largest_power(const TypedExpr &value) { return digits_of(value) - 1 - value.scale; }

static ir::Index larger(Translation *t, ir::Index a, ir::Index b) {
    return add_expr(t, ir::Op::Case, Type::I32, add_expr(t, ir::Op::Gt, Type::Bool, a, b), a, b);
}

// What neither operand shows fewer digits than.
static ir::Index shown_digits(Translation *t, const TypedExpr &a, const TypedExpr &b) {
    if (!a.mixed_scale && !b.mixed_scale)
        return add_constant(t, Type::I32, std::max(a.scale, b.scale), false);
    return larger(t, display_scale(t, a), display_scale(t, b));
}

bool numeric_quotient(Translation *t, const TypedExpr &a, const TypedExpr &b, TypedExpr *out) {
    const int32 common = (std::max(a.scale, b.scale) + 3) / 4 * 4;
    if (t->groups != nullptr) // where it is not known how large the operands are, and PostgreSQL does it anyway
        return refuse("a division of numerics in a condition over groups");
    if (common > max_operand_decimals)
        return refuse("a division of numerics with more than %d decimals", max_operand_decimals);
    if ((a.mixed_scale && a.scale_node == ir::none) || (b.mixed_scale && b.scale_node == ir::none))
        return refuse("a division of numerics of which it is not known with how many digits they are shown");
    const int quotient_weight = weight_of(least_power(a)) - weight_of(largest_power(b)) - 1; // at least
    const int32 most = std::max({digits_of_quotient - 4 * quotient_weight, a.scale, b.scale});
    const auto *known = std::begin(known_quotients);
    while (known + 1 != std::end(known_quotients) && known->scale < most)
        ++known;
    ir::Index x, y;
    if (!as_node(t, a, Type::I128, common, &x) || !as_node(t, b, Type::I128, common, &y))
        return false;
    const ir::Index zero = add_expr(t, ir::Op::Eq, Type::Bool, x, add_constant(t, Type::I128, 0, false));
    const ir::Index less_for_zero =
        add_expr(t, ir::Op::Case, Type::I32, zero, add_constant(t, Type::I32, common, false),
                 add_constant(t, Type::I32, 0, false));
    const ir::Index decimals =
        larger(t, add_expr(t, ir::Op::Sub, Type::I32, add_call(t, ir::Function::QuotientScale, x, y), less_for_zero),
               shown_digits(t, a, b));
    const ir::Index too_many =
        add_expr(t, ir::Op::Sub, Type::I32, add_constant(t, Type::I32, known->scale + 1, false), decimals);
    node_value(out, SqlKind::Numeric, Type::I128,
               add_call(t, ir::Function::WithoutDigits, add_call(t, known->function, x, y),
                        add_expr(t, ir::Op::Cast, Type::I128, too_many)),
               a.nullable || b.nullable);
    out->scale = known->scale;
    out->precision = known->scale + std::max(largest_power(a) - least_power(b) + 2, 1);
    out->mixed_scale = true;
    out->alike = b.literal && !a.mixed_scale; // equal ones are of equal numbers
    out->scale_node = decimals;
    return true;
}

} // namespace gpuscan
