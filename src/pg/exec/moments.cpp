// Variances, covariances and regressions of floating-point numbers, from the device's sums.
//
// The device has the sums of x and of x * x in twice the precision of a double; the sum of the squared distances to the mean is
// sum(x * x) - sum(x)^2 / n, computed with as many digits, of which the subtraction may cost half. PostgreSQL adds up the
// distances row by row and rounds in each of them, so the last digits differ, as those of sums of floats do.
//
// What PostgreSQL computes of numbers that are all the same is not zero but what its roundings leave over, and some results
// are NULL only of zero. So this is repeated step by step, which does not need the rows. Where numbers differ so little
// that PostgreSQL's result consists of roundings, it depends on the order of the rows, and the CPU plan shall say what it is.
#include "pg/exec/moments.h"

#include <cmath>

#include "device/semantics.cuh"
#include "pg/catalog/encode.h"

namespace gpuscan {
namespace {

constexpr double vague = 1e-24; // distances below 1e-12 of the mean: of sixteen digits PostgreSQL has four left at best
constexpr double max_steps = 1e7;

// A number in twice the precision; `rest` is below half a unit in the last place of `sum`.
struct Long {
    double sum, rest;
};

Long normal(double sum, double rest) {
    const double all = sum + rest;
    return {all, sem::sum_error(sum, rest, all)};
}

double real_of(uint64 bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

Long long_sum(const ir::AggregateState *state) {
    return normal(real_of(state->low), real_of(static_cast<uint64>(state->high)));
}

Long long_sum(const ir::AggregateState *states, int products, int lost) {
    const ir::AggregateState *state = &states[products];
    return normal(real_of(state->low), real_of(static_cast<uint64>(state->high)) + real_of(states[lost].low));
}

Long product(Long a, Long b) {
    int ignored = 0;
    const double p = a.sum * b.sum;
    return normal(p, sem::product_error(a.sum, b.sum, ignored) + (a.sum * b.rest + a.rest * b.sum));
}

Long quotient(Long a, double b) {
    const double q = a.sum / b;
    return normal(q, (std::fma(-q, b, a.sum) + a.rest) / b);
}

Long difference(Long a, Long b) {
    const double d = a.sum - b.sum;
    return normal(d, sem::sum_error(a.sum, -b.sum, d) + (a.rest - b.rest));
}

// The sum of the products of the distances to both means.
double central(Long products, Long a, Long b, double n) { return difference(products, quotient(product(a, b), n)).sum; }

// One variable as the sums know it.
struct Variable {
    Long sum;
    bool finite;
    bool constant;  // every value is the same
    double squares; // of the distances; not of a constant
};

// Is n times the rounded mean the sum, exactly?
bool is_multiple(Long sum, double n) {
    int ignored = 0;
    const double value = sum.sum / n, all = value * n;
    return all == sum.sum && sem::product_error(value, n, ignored) == sum.rest;
}

bool look_at(Long sum, Long squares, double n, Variable *out, const char **reason) {
    out->sum = sum;
    out->finite = std::isfinite(sum.sum);
    out->constant = n == 1;
    out->squares = 0;
    if (!out->finite || out->constant)
        return true;
    out->squares = central(squares, sum, sum, n);
    if (out->squares > squares.sum * vague)
        return true;
    out->constant = is_multiple(sum, n);
    if (!out->constant)
        *reason = "floats of a variance differ by less than their rounding errors";
    return out->constant;
}

// Has no multiple of the value up to n times it more bits than a double holds? Then PostgreSQL rounds nothing.
bool is_short(double value, double n) {
    int exponent;
    const int64 digits = static_cast<int64>(std::ldexp(std::frexp(value, &exponent), 53));
    const int bits = digits == 0 ? 0 : 53 - __builtin_ctzll(static_cast<uint64>(digits));
    return bits + std::ilogb(n) + 1 <= 53;
}

// What PostgreSQL's steps (float8_accum, float8_regr_accum) leave over of n times the same values.
bool repeat_steps(double n, double x, double y, bool pair, Moments *out, const char **reason) {
    out->xx = out->yy = out->xy = 0;
    if (is_short(x, n) && is_short(y, n))
        return true;
    if (n > max_steps) {
        *reason = "too many equal floats";
        return false;
    }
    double sum_x = x, sum_y = y;
    for (double i = 2; i <= n; i += 1) {
        sum_x += x;
        sum_y += y;
        const double from_x = x * i - sum_x, from_y = y * i - sum_y;
        if (!pair) {
            out->xx += from_x * from_x / (i * (i - 1));
            continue;
        }
        const double scale = 1.0 / (i * (i - 1));
        out->xx += from_x * from_x * scale;
        out->yy += from_y * from_y * scale;
        out->xy += from_x * from_y * scale;
    }
    return true;
}

bool fill_squares(double n, const Variable &v, bool pair, double *squares, const char **reason) {
    *squares = v.finite ? v.squares : std::nan("");
    if (!v.finite || !v.constant)
        return true;
    Moments left{};
    if (!repeat_steps(n, v.sum.sum / n, 0, pair, &left, reason))
        return false;
    *squares = left.xx;
    return true;
}

} // namespace

bool moments_of(const FragmentOutput *output, const ir::AggregateState *states, Moments *out, const char **reason) {
    const MomentStates *m = &output->moments;
    const bool pair = m->y >= 0;
    *out = Moments{};
    out->n = static_cast<double>(states[m->x].count);
    const Long sum_x = long_sum(&states[m->x]), sum_y = pair ? long_sum(&states[m->y]) : Long{0, 0};
    out->x = real_of(states[m->x].low) - real_of(states[m->x].low) != 0 ? real_of(states[m->x].low) : sum_x.sum;
    if (pair)
        out->y = real_of(states[m->y].low) - real_of(states[m->y].low) != 0 ? real_of(states[m->y].low) : sum_y.sum;
    Variable x{}, y{};
    if ((output->sums & MomentSquaresX) &&
        (!look_at(sum_x, long_sum(states, m->xx, m->lost_of_xx), out->n, &x, reason) ||
         !fill_squares(out->n, x, pair, &out->xx, reason)))
        return false;
    if ((output->sums & MomentSquaresY) &&
        (!look_at(sum_y, long_sum(states, m->yy, m->lost_of_yy), out->n, &y, reason) ||
         !fill_squares(out->n, y, pair, &out->yy, reason)))
        return false;
    if (!(output->sums & MomentProducts))
        return true;
    if (!x.finite || !y.finite) {
        out->xy = std::nan("");
    } else if (x.constant && y.constant) {
        Moments left{};
        if (!repeat_steps(out->n, sum_x.sum / out->n, sum_y.sum / out->n, true, &left, reason))
            return false;
        out->xy = left.xy;
    } else if (x.constant || y.constant) {
        if ((x.constant ? out->xx : out->yy) != 0) {
            *reason = "a regression by equal floats consists of rounding errors";
            return false;
        }
    } else {
        out->xy = central(long_sum(states, m->xy, m->lost_of_xy), sum_x, sum_y, out->n);
    }
    return true;
}

Datum show_moments(const FragmentOutput *output, const Moments *moments, bool *null) {
    const double values[] = {moments->n, moments->x, moments->xx, moments->y, moments->yy, moments->xy};
    const int count = output->moments.y >= 0 ? 6 : 3;
    Datum datums[6];
    for (int i = 0; i < count; ++i)
        datums[i] = Float8GetDatum(values[i]);
    ArrayType *transition = construct_array(datums, count, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
    LOCAL_FCINFO(call, 1);
    InitFunctionCallInfoData(*call, nullptr, 1, InvalidOid, nullptr, nullptr);
    call->args[0].value = PointerGetDatum(transition);
    call->args[0].isnull = false;
    const Datum result = output->final(call);
    *null = call->isnull;
    return result;
}

} // namespace gpuscan
