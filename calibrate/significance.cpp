#include "significance.hpp"

#include <cmath>
#include <cstddef>

namespace calibrate {
namespace {

// The 97.5 % quantile of Student's t distribution; beyond the table the Cornish-Fisher expansion, right to four digits there.
double t_quantile(size_t degrees) {
    static const double table[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281};
    if (degrees <= 10)
        return table[degrees - 1];
    const double z = 1.959964, n = static_cast<double>(degrees);
    const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

} // namespace

std::optional<Interval> ratio_interval(const std::vector<Pair> &pairs) {
    if (pairs.size() < 2)
        return std::nullopt;
    const double n = static_cast<double>(pairs.size());
    double sum = 0, squares = 0;
    for (const Pair &p : pairs)
        sum += std::log(p.after / p.before);
    const double mean = sum / n;
    for (const Pair &p : pairs) {
        const double distance = std::log(p.after / p.before) - mean;
        squares += distance * distance;
    }
    const double error = std::sqrt(squares / (n - 1) / n) * t_quantile(pairs.size() - 1);
    return Interval{std::exp(mean), std::exp(mean - error), std::exp(mean + error)};
}

} // namespace calibrate
