#include "significance.hpp"

#include <cmath>

#include "bench/common/sample.hpp"

namespace calibrate {

std::optional<Interval> ratio_interval(const std::vector<Pair> &pairs) {
    if (pairs.size() < 2)
        return std::nullopt;
    std::vector<double> logarithms;
    for (const Pair &p : pairs)
        logarithms.push_back(std::log(p.after / p.before));
    const bench::Mean m = bench::mean(logarithms);
    return Interval{std::exp(m.value), std::exp(m.value - m.half), std::exp(m.value + m.half)};
}

} // namespace calibrate
