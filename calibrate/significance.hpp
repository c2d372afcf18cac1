// Is a gain more than noise? Pairs of total times, old and new, measured in turns; of the logarithms of their ratios the confidence
// interval by Student's t distribution.
#pragma once

#include <optional>
#include <vector>

namespace calibrate {

struct Interval {
    double ratio;     // geometric mean of new / old
    double low, high; // of its 95 % confidence interval

    bool is_gain() const { return high < 1; }
};

struct Pair {
    double before, after;
};

// Nothing for fewer than two pairs.
std::optional<Interval> ratio_interval(const std::vector<Pair> &pairs);

} // namespace calibrate
