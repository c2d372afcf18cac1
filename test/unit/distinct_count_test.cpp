#include <gtest/gtest.h>

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

TEST(DistinctCount, RandomDraws) {
    for (const uint32_t values : {1u, 2u, 24u, 200u, 1400u, 4000u}) {
        const double estimated = count_of(values, 1000, 1e6);
        EXPECT_GE(estimated, values * 0.8) << values;
        EXPECT_LE(estimated, values * 1.25) << values;
    }
}
