#include "significance.hpp"

#include <cmath>

#include "bench/common/sample.hpp"

namespace calibrate {
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
    const double error = std::sqrt(squares / (n - 1) / n) * bench::t95(pairs.size() - 1);
    return Interval{std::exp(mean), std::exp(mean - error), std::exp(mean + error)};
}

} // namespace calibrate
