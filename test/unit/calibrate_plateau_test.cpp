// Which point of a plateau the calibrator takes, on plateaus whose shape is known, with fixed seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "../../calibrate/plateau.hpp"

namespace calibrate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

using Excess = std::function<double(const Point &)>;

Point centre(const Bounds &bounds, const Point &best, const Point &prior, const Excess &excess, size_t steps,
             uint64_t seed) {
    Plateau plateau(bounds, best, prior, 2, steps, seed);
    for (size_t i = 0; i < steps; ++i)
        plateau.observe(excess(plateau.propose()));
    return plateau.mean();
}

bool within(const Point &p, size_t i, double low, double high) { return p[i] >= low && p[i] <= high; }

double decades(double a, double b) { return std::abs(std::log10(a / b)); }

// The best point that was met is at the edge; what decides is the first coordinate alone.
TEST(CalibratePlateau, GoesToTheMiddleOfWhatDecidesAndLeavesTheRestWhereItWas) {
    const Bounds bounds{{0.01, 1e-5, 1}, {1000, 1, 1}};
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        const Point p = centre(
            bounds, {10.1, 0.9, 1}, {4, 0.01, 1}, [](const Point &x) { return within(x, 0, 10, 100) ? 0 : infinite; },
            2000, seed);
        EXPECT_TRUE(within(p, 0, 15, 45)) << seed << ": " << p[0];
        EXPECT_LT(decades(p[1], 0.01), 0.5) << seed << ": " << p[1];
        EXPECT_EQ(p[2], 1) << seed;
    }
}

TEST(CalibratePlateau, KeepsThePresentSettingsWhereNothingSpeaksAgainstThem) {
    const Bounds bounds{{0.01, 0.01}, {1000, 1000}};
    const Point p = centre(
        bounds, {300, 0.05}, {4, 1}, [](const Point &) { return 0; }, 3000, 7);
    EXPECT_LT(decades(p[0], 4), 0.3) << p[0];
    EXPECT_LT(decades(p[1], 1), 0.3) << p[1];
}

// Two terraces: what is three times the noise worse counts e^-3 as much.
TEST(CalibratePlateau, CountsWhatIsWorseByHowMuchWorseItIs) {
    const Bounds bounds{{0.01}, {1000}};
    const auto terraces = [](double height) { return [height](const Point &x) { return x[0] > 4 ? 0 : height; }; };
    const Point clear = centre(bounds, {20}, {4}, terraces(6), 4000, 3),
                doubtful = centre(bounds, {20}, {4}, terraces(0.2), 4000, 3);
    EXPECT_GT(clear[0], 8);
    EXPECT_LT(doubtful[0], 8);
    EXPECT_GT(doubtful[0], 3);
}

TEST(CalibratePlateau, StaysWhereAllElseIsWorse) {
    const Bounds bounds{{0.01, 0.01}, {1000, 1000}};
    const Point best{50, 2};
    EXPECT_EQ(centre(
                  bounds, best, {4, 1}, [](const Point &) { return infinite; }, 300, 1),
              centre(
                  bounds, best, {4, 1}, [](const Point &) { return infinite; }, 300, 2));
    const Point p = centre(
        bounds, best, {4, 1}, [](const Point &) { return infinite; }, 300, 1);
    EXPECT_NEAR(p[0], 50, 1e-9);
    EXPECT_NEAR(p[1], 2, 1e-9);
    EXPECT_EQ(centre(
                  bounds, best, {4, 1}, [](const Point &) { return 0; }, 0, 1),
              best);
}

TEST(CalibratePlateau, TheSameSeedGivesTheSameWalk) {
    const Bounds bounds{{0.01, 0.01}, {1000, 1000}};
    const auto flat = [](const Point &) { return 0.0; };
    EXPECT_EQ(centre(bounds, {50, 2}, {4, 1}, flat, 200, 5), centre(bounds, {50, 2}, {4, 1}, flat, 200, 5));
    EXPECT_NE(centre(bounds, {50, 2}, {4, 1}, flat, 200, 5), centre(bounds, {50, 2}, {4, 1}, flat, 200, 6));
}

TEST(CalibratePlateau, GoesBackByLogarithms) {
    const Point p = Plateau::towards({1, 100}, {100, 1}, 0.5);
    EXPECT_NEAR(p[0], 10, 1e-9);
    EXPECT_NEAR(p[1], 10, 1e-9);
    EXPECT_EQ(Plateau::towards({3, 4}, {3, 5}, 0), (Point{3, 4}));
}

} // namespace
} // namespace calibrate
