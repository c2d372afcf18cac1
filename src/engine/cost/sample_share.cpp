#include "engine/cost/sample_share.hpp"

#include <algorithm>

namespace gpuscan {

constexpr int least_bounds = 10;   // fewer tell nothing
constexpr double nearly_all = 0.9; // of the rows have common values, or none: the others are like them

// Where none of the bounds passes, fewer rows do than lie between two of them, but how many fewer is not known: what is expected may
// be as right. Likewise where all pass.
static double share_between_bounds(const SampledShares &sampled, double expected) {
    const double one = 1.0 / (sampled.bounds - 1), share = sampled.bounds_passing * one;
    if (share <= 0)
        return std::min(expected, one);
    return share >= 1 ? std::max(expected, 1 - one) : share;
}

bool share_of_rows(const SampledShares &sampled, double expected, double *share) {
    const double known = sampled.common + sampled.null, others = std::max(1 - known, 0.0);
    double passing = 0;
    if (sampled.bounds >= least_bounds)
        passing = share_between_bounds(sampled, expected);
    else if (sampled.common > 0 && known >= nearly_all)
        passing = sampled.common_passing / sampled.common;
    else if (sampled.null < nearly_all)
        return false;
    else
        passing = expected;
    *share = std::clamp(sampled.null_passing + sampled.common_passing + others * passing, 0.0, 1.0);
    return true;
}

} // namespace gpuscan
