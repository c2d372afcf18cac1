// What a few timed runs say: their middle, and how far their mean is to be trusted.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

// 0 for no values.
inline double median(std::vector<double> values) {
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// The 97.5 % quantile of Student's t distribution (two-sided 95 %), by degrees of freedom, at least 1; beyond the table the
// Cornish-Fisher expansion around the normal quantile, right to four digits there.
inline double t95(size_t freedom) {
    constexpr double table[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281};
    if (freedom <= sizeof table / sizeof *table)
        return table[freedom - 1];
    const double z = 1.959964, n = static_cast<double>(freedom);
    const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

struct Mean {
    double value = 0;
    double half = 0; // of its 95 % confidence interval by Student's t distribution; 0 for fewer than two values
};
inline Mean mean(const std::vector<double> &values) {
    if (values.empty())
        return {};
    const double n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double v : values)
        sum += v;
    const double middle = sum / n;
    for (const double v : values)
        squares += (v - middle) * (v - middle);
    return {middle, values.size() < 2 ? 0 : t95(values.size() - 1) * std::sqrt(squares / (n - 1) / n)};
}

} // namespace bench
