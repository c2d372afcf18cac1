// The calibrator's annealer on functions whose optimum is known, with fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "../../calibrate/annealer.hpp"

namespace calibrate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

using Function = std::function<double(const Point &)>;

// The distance of two points, in powers of ten of the coordinate that differs most.
double decades(const Point &a, const Point &b) {
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i)
        most = std::max(most, std::abs(std::log10(a[i] / b[i])));
    return most;
}

Bounds wide(size_t n) { return {Point(n, 1e-5), Point(n, 1e5)}; }

Annealer walk(const Function &f, const Point &start, size_t proposals, uint64_t seed, const Schedule &schedule = {}) {
    Annealer annealer(wide(start.size()), start, f(start), schedule, seed);
    for (size_t i = 0; i < proposals; ++i)
        annealer.observe(f(annealer.propose()));
    return annealer;
}

const Point target = {0.01, 4, 30, 0.0025, 70, 1, 0.5};

double bowl(const Point &p) {
    double value = 1;
    for (size_t i = 0; i < p.size(); ++i)
        value += std::pow(std::log(p[i] / target[i]), 2);
    return value;
}

// Rastrigin's function of the logarithms: a local minimum in each coordinate at every power of e.
double ripples(const Point &p) {
    double value = 1;
    for (size_t i = 0; i < 3; ++i) {
        const double x = std::log(p[i] / target[i]);
        value += x * x + 5 * (1 - std::cos(2 * M_PI * x));
    }
    return value;
}

// As planners have it: nothing changes between thresholds, and some plans never end.
double terraces(const Point &p) {
    double value = 1;
    for (size_t i = 0; i < p.size(); ++i) {
        const double x = std::round(2 * std::log10(p[i] / target[i]));
        if (std::abs(x) > 6)
            return infinite;
        value += std::abs(x);
    }
    return value;
}

TEST(CalibrateAnnealer, FindsTheBottomOfABowlFromFarAway) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        Point start = target;
        for (size_t i = 0; i < start.size(); ++i)
            start[i] *= i % 2 ? 100 : 0.01;
        const Annealer a = walk(bowl, start, 3000, seed);
        EXPECT_LT(a.best_value(), 1.1) << seed;
        EXPECT_LT(decades(a.best(), target), 0.15) << seed;
    }
}

TEST(CalibrateAnnealer, LeavesLocalMinima) {
    int found = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed)
        found += walk(ripples, {target[0] * 50, target[1] / 50, target[2] * 20}, 4000, seed).best_value() < 1.5;
    EXPECT_GE(found, 9); // (the next best minimum is at 2)
}

TEST(CalibrateAnnealer, ClimbsDownTerraces) {
    int found = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        Point start = target;
        for (double &x : start)
            x *= 30;
        found += walk(terraces, start, 2000, seed).best_value() == 1;
    }
    EXPECT_GE(found, 9);
}

TEST(CalibrateAnnealer, ComesOutOfWhatNeverEnds) {
    Point start = target;
    start[0] *= 1e4; // infinite
    const Annealer a = walk(terraces, start, 2000, 7);
    EXPECT_EQ(a.best_value(), 1);
}

TEST(CalibrateAnnealer, IsAFunctionOfItsSeed) {
    const Point start(7, 1);
    const auto trace = [&](uint64_t seed) {
        std::vector<Point> points;
        Annealer a(wide(7), start, bowl(start), Schedule(), seed);
        for (int i = 0; i < 500; ++i) {
            points.push_back(a.propose());
            a.observe(bowl(points.back()));
        }
        return points;
    };
    EXPECT_EQ(trace(3), trace(3));
    EXPECT_NE(trace(3), trace(4));
}

TEST(CalibrateAnnealer, KeepsToItsBoundsAndItsAnchor) {
    Bounds bounds{{1, 0.5, 1e-3}, {1, 2, 1e3}};
    const Point start = {1, 1, 1};
    const auto toward_the_edge = [](const Point &p) { return 1 / p[1] + p[2]; };
    Annealer a(bounds, start, toward_the_edge(start), Schedule(), 11);
    for (int i = 0; i < 2000; ++i) {
        const Point p = a.propose();
        for (size_t c = 0; c < p.size(); ++c) {
            ASSERT_GE(p[c], bounds.low[c] * (1 - 1e-12));
            ASSERT_LE(p[c], bounds.high[c] * (1 + 1e-12));
        }
        a.observe(toward_the_edge(p));
    }
    EXPECT_EQ(a.best()[0], 1);
    EXPECT_NEAR(a.best()[1], 2, 0.1);
    EXPECT_LT(a.best()[2], 0.0015);
}

// Who knows that a value exceeds bound() need not evaluate it to the end.
TEST(CalibrateAnnealer, TellsBeforehandWhatItWillAccept) {
    const Point start(7, 1);
    Annealer a(wide(7), start, bowl(start), Schedule(), 5);
    Annealer b(wide(7), start, bowl(start), Schedule(), 5);
    int accepted = 0;
    for (int i = 0; i < 1000; ++i) {
        const double value = bowl(a.propose());
        EXPECT_EQ(a.bound(), (b.propose(), b.bound()));
        const bool below = value <= a.bound();
        EXPECT_EQ(a.observe(value), below);
        EXPECT_EQ(b.observe(below ? value : infinite), below);
        accepted += below;
    }
    EXPECT_GT(accepted, 100);
    EXPECT_LT(accepted, 900);
    EXPECT_EQ(a.best(), b.best());
}

TEST(CalibrateAnnealer, AcceptsLessAsItCools) {
    Schedule schedule;
    schedule.period = 2000;
    schedule.chains = 1;
    const Point start = target;
    Annealer a(wide(7), start, bowl(start), schedule, 9);
    int worse_early = 0, worse_late = 0;
    double stands = bowl(start);
    for (size_t i = 0; i < schedule.period; ++i) {
        const double value = bowl(a.propose());
        const bool worse = value > stands;
        if (a.observe(value)) {
            (i < schedule.period / 2 ? worse_early : worse_late) += worse;
            stands = value;
        }
    }
    EXPECT_GT(worse_early, 0);
    EXPECT_GT(a.best_value(), 0.999);
    EXPECT_LT(stands, 1.2);
    EXPECT_TRUE(a.period_ended());
}

// Without anything to go by, coordinates wander but have no direction: medians of factors are 1.
TEST(CalibrateAnnealer, DoesNotDrift) {
    const Point start(2, 1);
    const auto flat = [](const Point &) { return 1.0; };
    double sum = 0;
    constexpr int walks = 200;
    for (uint64_t seed = 1; seed <= walks; ++seed) {
        Annealer a({Point(2, 1e-9), Point(2, 1e9)}, start, 1, Schedule(), seed);
        Point p = start;
        for (int i = 0; i < 90; ++i) {
            p = a.propose();
            a.observe(flat(p));
        }
        sum += std::log(p[0]) + std::log(p[1]);
    }
    EXPECT_LT(std::abs(sum / (2 * walks)), 0.6);
}

TEST(CalibrateAnnealer, GoesOnFromWhereItIsTold) {
    const Point start(7, 1);
    Annealer a(wide(7), start, bowl(start), Schedule(), 5);
    for (int i = 0; i < 150; ++i)
        a.observe(bowl(a.propose()));
    a.restart(target, 1.25); // measured again, it is not as good as it was
    EXPECT_EQ(a.best(), target);
    EXPECT_EQ(a.best_value(), 1.25);
    a.observe(bowl(a.propose()));
    EXPECT_LE(a.best_value(), 1.25);
}

} // namespace
} // namespace calibrate
