// Which of many weights that are about as good as the best ones to take. Knows nothing of databases.
//
// Between two thresholds of the planner nothing changes, so the best weights are not a point but a plateau, and the search keeps the
// first point of it that it met, perhaps at its very edge, where a query with other parameters gets another plan already. What is
// taken instead is the centre of what is plausible: the mean, in logarithms, of
//
//   prior(weights) * exp(-excess(weights))
//
// The prior is log-normal around the present settings: what the measurements do not speak against stays near what it is. The excess is
// how much worse than the best weights they are, in units of the noise of the best value: what cannot be told from the best counts, and
// what is clearly worse does not. A weight that decides nothing so comes back to where it was; one that decides goes to the middle of
// where it is right, and not to the edge that is nearest to the present settings.
//
// The mean is taken over a random walk (Metropolis, Rosenbluth, Rosenbluth, Teller, Teller 1953) from the best point. Its first third
// finds the step width, for which some 30 % of the proposals are accepted, and does not count. A plateau need not be convex, so its
// mean may lie outside: who uses it looks, and comes back towards the best point as far as needed (`towards`).
#pragma once

#include <cstddef>
#include <cstdint>

#include "annealer.hpp"

namespace calibrate {

class Plateau {
  public:
    // From `best`, for so many steps; `prior` is the centre of the prior, `spread` the standard deviation of its logarithms.
    Plateau(Bounds bounds, Point best, Point prior, double spread, size_t steps, uint64_t seed);

    // The next point whose excess is wanted; to be followed by observe().
    const Point &propose();
    // At least 0 for the best point; infinite for what is not known or does not end.
    void observe(double excess);

    // Of what counted until now; the best point, if nothing did.
    Point mean() const;
    // From `a` towards `b` by a share of the way, in logarithms.
    static Point towards(const Point &a, const Point &b, double share);

  private:
    double misfit(const Point &point) const; // -log of the prior, but for a constant

    const Bounds bounds_;
    const Point best_, prior_;
    const double spread_;
    const size_t steps_;
    Random random_;
    Point at_, proposal_, sum_;
    double excess_ = 0, width_ = 0.5;
    size_t observed_ = 0, counted_ = 0;
};

} // namespace calibrate
