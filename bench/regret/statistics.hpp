// How good are choices among plans whose times are known? Arithmetic only.
//
// *Wrong choices* and *regret* are those of plan-quality metrics such as P-Error (Han et al., PVLDB 15(4), 2022), with times for
// costs: the time of the plan that was chosen against that of the best one.
//
// *Rank correlation* says whether dearer plans are slower: Kendall's tau over the pairs of a query's plans whose order in time is
// known, that is (concordant - discordant) / pairs, where equal costs count for neither; as in TAQO (Gu, Soliman, Waas, DBTest
// 2012), which ranks plans of one query by measured time. A plan that was stopped is only known to take longer than its limit, so
// its pairs count where the other one has finished before that (Harrell's index of concordance for censored times), and pairs
// whose times lie within `tie` of each other do not count: nobody could tell which of them is to be preferred.
//
// *Noise.* The standard error of a median of n times is 1.2533 sigma / sqrt(n), with sigma taken as 1.4826 times the median
// distance to the median, so that one run that was disturbed does not count. Two medians differ by more than noise if they differ
// by more than two standard errors of their difference and by more than `floor_ms`, what a client sees of the scheduler.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "../common/sample.hpp"

namespace bench {

// Of the median of these times; 0 for one time.
inline double median_error(const std::vector<double> &times) {
    const double center = median(times);
    std::vector<double> distances;
    for (double t : times)
        distances.push_back(std::abs(t - center));
    return 1.2533 * 1.4826 * median(distances) / std::sqrt(static_cast<double>(times.size()));
}

struct Tolerance {
    double share = 0.1;    // a choice is wrong if it takes so much more than the best
    double floor_ms = 0.5; // and so much longer
};

struct Verdict {
    double chosen_ms, best_ms;
    bool wrong;

    double ratio() const { return chosen_ms / best_ms; }
};

// Of the plan that was chosen and the one that seemed best, by times that were measured in turns: which was the best is decided by
// them, too.
inline Verdict judge(const std::vector<double> &chosen, const std::vector<double> &best, const Tolerance &tolerance) {
    Verdict v{median(chosen), median(best), false};
    const double more = v.chosen_ms - v.best_ms;
    v.wrong = more > tolerance.share * v.best_ms && more > tolerance.floor_ms &&
              more > 2 * std::hypot(median_error(chosen), median_error(best));
    v.best_ms = std::min(v.best_ms, v.chosen_ms);
    return v;
}

struct Ranked {
    double cost, ms;
    bool censored; // takes `ms` at least
};

// From -1 to 1; nothing if there is no pair whose order is known. `tie`: see the head of this file, as a share of the smaller time.
inline std::optional<double> rank_correlation(const std::vector<Ranked> &plans, double tie) {
    long score = 0, pairs = 0;
    for (size_t i = 0; i < plans.size(); ++i)
        for (size_t j = 0; j < plans.size(); ++j) {
            const Ranked &fast = plans[i], &slow = plans[j];
            if (fast.censored || slow.ms <= fast.ms * (1 + tie))
                continue;
            ++pairs;
            score += (fast.cost < slow.cost) - (fast.cost > slow.cost);
        }
    if (pairs == 0)
        return std::nullopt;
    return static_cast<double>(score) / static_cast<double>(pairs);
}

struct Summary {
    int cases = 0, wrong = 0;
    double chosen_ms = 0, best_ms = 0, worst_ratio = 1;
    double correlations = 0;
    int correlated = 0; // cases that have a rank correlation

    void add(const Verdict &v, std::optional<double> correlation) {
        ++cases;
        wrong += v.wrong;
        chosen_ms += v.chosen_ms;
        best_ms += v.best_ms;
        worst_ratio = std::max(worst_ratio, v.ratio());
        correlations += correlation.value_or(0);
        correlated += correlation.has_value();
    }
    double wrong_percent() const { return cases > 0 ? 100.0 * wrong / cases : 0; }
    double regret() const { return best_ms > 0 ? chosen_ms / best_ms : 1; }
    double correlation() const { return correlated > 0 ? correlations / correlated : 0; }
};

} // namespace bench
