// Whether two lists of times differ: the U-test of Wilcoxon, Mann and Whitney, and the mean of ratios with its interval.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

struct UTest {
    double u = 0;       // how often a value of the first list is larger than one of the second; ties count half
    double p = 1;       // two-sided
    bool exact = false; // else by the normal distribution with corrections for ties and continuity
};

// Exact where no two values are equal and the lists are not long.
UTest u_test(const std::vector<double> &a, const std::vector<double> &b);

// Geometric mean of ratios, and its 95 % interval by Student's t over logarithms (a factor to divide and to multiply by; 0: too few).
struct Ratio {
    double value = 1, factor = 0;
    size_t pairs = 0;
};
Ratio ratio_of(const std::vector<double> &ratios);

} // namespace bench
