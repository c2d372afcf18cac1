#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "engine/cost/distinct_count.hpp"

using gpuscan::distinct_count;

namespace {

double count(std::vector<uint32_t> hashes, double population) {
    return distinct_count(hashes.data(), hashes.size(), population);
}

// n draws of so many equally frequent values.
double count_of(uint32_t values, size_t n, double population) {
    std::mt19937 random(7);
    std::vector<uint32_t> drawn(n);
    for (uint32_t &hash : drawn)
        hash = random() % values * 2654435761u;
    return distinct_count(drawn.data(), n, population);
}

} // namespace

TEST(DistinctCount, NothingWasDrawn) { EXPECT_EQ(count({}, 100), 0); }

// All the same, or each more than once: there are no others.
TEST(DistinctCount, NoneOccursOnce) {
    EXPECT_EQ(count({5, 5, 5}, 1e6), 1);
    EXPECT_EQ(count({5, 7, 7, 5}, 1e6), 2);
}

// Each once: as many as there can be.
TEST(DistinctCount, EachOccursOnce) {
    EXPECT_DOUBLE_EQ(count({1, 2, 3, 4}, 1000), 1000);
    EXPECT_EQ(count({1, 2, 3, 4}, 4), 4);
    EXPECT_EQ(count({1, 2, 3, 4}, 0), 4); // a population that is smaller than the sample cannot be
}

TEST(DistinctCount, Formula) {
    // n = 5, d = 4, f1 = 3, N = 100: 5 * 4 / (5 - 3 + 3 * 5 / 100)
    EXPECT_DOUBLE_EQ(count({1, 2, 3, 9, 9}, 100), 20 / 2.15);
}

TEST(DistinctCount, Singles) {
    std::vector<uint32_t> drawn = {3, 1, 3, 0, 2, 2, 9};
    EXPECT_EQ(gpuscan::count_singles(drawn.data(), drawn.size()), 3u);
    EXPECT_EQ(gpuscan::count_singles(drawn.data(), 0), 0u);
    EXPECT_EQ(gpuscan::count_singles(drawn.data(), 1), 1u);
}

TEST(DistinctCount, RandomDraws) {
    for (const uint32_t values : {1u, 2u, 24u, 200u, 1400u, 4000u}) {
        const double estimated = count_of(values, 1000, 1e6);
        EXPECT_GE(estimated, values * 0.8) << values;
        EXPECT_LE(estimated, values * 1.25) << values;
    }
}

// The k-th of them 1 / k times as often as the first.
TEST(DistinctCount, UnequallyFrequent) {
    for (const double values : {250.0, 5000.0, 50000.0}) {
        std::mt19937 random(7);
        std::uniform_real_distribution<double> share(0, 1);
        std::vector<uint32_t> drawn(1000);
        for (uint32_t &hash : drawn)
            hash = static_cast<uint32_t>(std::exp(share(random) * std::log(values))) * 2654435761u;
        const double estimated = distinct_count(drawn.data(), drawn.size(), 1e6);
        EXPECT_GE(estimated, values / 7) << values;
        EXPECT_LE(estimated, values * 2) << values;
    }
}

// Those that were drawn often are there, whatever the others are.
TEST(DistinctCount, FrequentOnes) {
    std::vector<uint32_t> drawn(1000, 1);
    std::fill(drawn.begin() + 500, drawn.begin() + 900, 2);
    for (uint32_t i = 0; i < 100; ++i)
        drawn[900 + i] = 3 + i / 2;
    EXPECT_DOUBLE_EQ(count(drawn, 1e6), 52);
}
