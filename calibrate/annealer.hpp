// Simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983) as Bausch, Petrov and Buchmann use it to calibrate a cost model (DaMoN 2012,
// section 4.2), with parallel tempering on top (Swendsen and Wang 1986; Geyer 1991). Knows nothing of databases.
//
// A *step* multiplies coordinates by log-normal random numbers, since weights differ by magnitudes; their median is 1, so nothing
// drifts. Of the coordinates a random half moves, at least one. A step that leaves the bounds is reflected there, in logarithms.
//
// A proposal that is better than where its chain stands is accepted, a worse one with probability exp(-excess / (temperature *
// scale)), where the scale is the best value so far: temperatures are shares of it, whatever the unit is. The draw is made together
// with the proposal, so bound() is known before the proposal is evaluated: who finds half way that a value will exceed it can stop.
//
// Temperature and step width fall geometrically through a *period*. Then all chains go on from the best point that was seen, hot
// again, so that a local optimum can be left by a big step (the paper's restarts).
//
// Several *chains* take turns: each one is hotter than the one before it by a factor. From time to time neighbours exchange places,
// with the probability that keeps each chain at its temperature: what a hot chain finds is refined by a cold one.
//
// The walk is a function of seed, start and observed values. Infinite values (a plan that was stopped) are never accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "random.hpp"

namespace calibrate {

using Point = std::vector<double>;

// Of positive numbers. Equal bounds: this coordinate stays.
struct Bounds {
    Point low, high;
};

// A random half of the coordinates that may move, at least one, times log-normal numbers of this width; reflected at the bounds.
void step(Point &point, const Bounds &bounds, double width, Random &random);

struct Schedule {
    size_t period = 100;              // proposals between two reheatings
    double hot = 0.1, cold = 0.001;   // temperatures at its beginning and end, as shares of the best value
    double wide = 1.2, narrow = 0.08; // the same for the standard deviation of a factor's logarithm
    size_t chains = 4;
    double ladder = 2.5;  // a chain's temperature over that of the one before
    size_t exchange = 10; // steps of each chain between exchanges
};

class Annealer {
  public:
    // `start` has the value `value`, perhaps infinite.
    Annealer(Bounds bounds, Point start, double value, const Schedule &schedule, uint64_t seed);

    // The next point to be evaluated; to be followed by observe().
    const Point &propose();
    // A proposal with a value above this will not be accepted.
    double bound() const { return bound_; }
    // Whether the proposal was accepted. A value above bound() may be given as any other value above it.
    bool observe(double value);

    // Whether the last observe() was the end of a period, and the next propose() reheats from the best point.
    bool period_ended() const { return at_ == 0 && observed_ > 0; }
    // Reheats from here, whatever was seen before.
    void restart(const Point &point, double value);

    const Point &best() const { return best_; }
    double best_value() const { return best_value_; }

  private:
    struct Chain {
        Point point;
        double value;
    };

    double temperature(size_t chain) const;
    double width(size_t chain) const;
    double scale() const;
    void exchange();

    const Bounds bounds_;
    const Schedule schedule_;
    Random random_;
    std::vector<Chain> chains_;
    Point best_, proposal_;
    double best_value_, bound_ = 0;
    size_t observed_ = 0, at_ = 0, turn_ = 0; // proposals in all, in this period, and whose turn it is
};

} // namespace calibrate
