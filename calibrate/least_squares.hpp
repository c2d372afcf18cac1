// Weights from times: each equation says that so much of each kind of work took so long. Pure arithmetic.
//
// Least squares, each equation weighted by its error, over the logarithms of the *factors* by which weights differ from what was known of
// them before: weights are positive, and of quite different magnitudes. What was known counts as much as a measurement that leaves the
// logarithm open by a given spread: too little to be noticed where equations say anything, and enough to decide where they do not.
// So a weight that no equation has stays what it is, and weights that always come together move together (a ridge towards what is known; Hoerl
// and Kennard, Technometrics 1970). Steps are Levenberg's and Marquardt's.
//
// Equations that fit badly count less (Huber's weights), as a time that somebody else's work has spoilt should. Intervals are Student's, from
// what the fit leaves unexplained, so they cover noise as well as what the equations leave out.
#pragma once

#include <string>
#include <vector>

namespace calibrate {

struct Equation {
    std::vector<double> amounts; // by weight
    double time;
    double error; // of `time`, on the same scale for all equations, above 0
};

enum class Verdict {
    Measured,
    Together, // its value is new, but only a sum with others is told well
    Unseen    // kept: the equations say too little of it
};
const char *words_of(Verdict verdict);

struct FittedWeight {
    double value, low, high; // of what is kept: what was known before, three times
    Verdict verdict;
};

constexpr double open_spread = 2.3; // of a logarithm: it may be ten times as much, or a tenth
constexpr double doubtful = 1;      // half of a logarithm's interval, beyond which only sums are told

// One weight for each of `known`, which are above 0 (or 0: then it is kept). `spreads` of their logarithms; none: open_spread.
// Weights that, as they were known, take less than `least_share` of the time in every equation are kept.
std::vector<FittedWeight> fit_weights(const std::vector<Equation> &equations, const std::vector<double> &known,
                                      std::vector<double> spreads = {}, double least_share = 0.01);

// An amount that was measured directly: a middle and its interval, which is a point for fewer than two values.
struct Estimate {
    double value = 0, low = 0, high = 0;
};
Estimate mean_of(const std::vector<double> &values);
// The median, in Student's interval of the mean's width.
Estimate median_of(const std::vector<double> &values);

// Of executions that others can make slower, never faster: the lower quartile (of five, the second fastest). 0 for none.
double undisturbed(std::vector<double> times);

} // namespace calibrate
