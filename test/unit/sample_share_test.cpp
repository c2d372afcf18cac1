#include <gtest/gtest.h>

#include "engine/cost/sample_share.hpp"

namespace gpuscan {
namespace {

double share(const SampledShares &sampled, double expected) {
    double result = -1;
    return share_of_rows(sampled, expected, &result) ? result : -1;
}

SampledShares histogram(int bounds, double passing) {
    SampledShares sampled;
    sampled.bounds = bounds;
    sampled.bounds_passing = passing;
    return sampled;
}

TEST(SampleShare, CountsBounds) {
    EXPECT_DOUBLE_EQ(share(histogram(101, 28), 0.005), 0.28);
    EXPECT_DOUBLE_EQ(share(histogram(101, 0.5), 0.005), 0.005);
    EXPECT_DOUBLE_EQ(share(histogram(11, 5), 0.9), 0.5);
}

TEST(SampleShare, KeepsWhatIsExpectedBetweenBounds) {
    EXPECT_DOUBLE_EQ(share(histogram(101, 0), 0.005), 0.005);
    EXPECT_DOUBLE_EQ(share(histogram(101, 0), 1 / 3.0), 0.01);
    EXPECT_DOUBLE_EQ(share(histogram(101, 100), 0.995), 0.995);
    EXPECT_DOUBLE_EQ(share(histogram(101, 100), 1 / 3.0), 0.99);
}

TEST(SampleShare, AddsCommonValuesAndNulls) {
    SampledShares sampled = histogram(101, 50);
    sampled.common = 0.5;
    sampled.common_passing = 0.3;
    sampled.null = 0.1;
    EXPECT_NEAR(share(sampled, 0.005), 0.3 + 0.4 * 0.5, 1e-12);
    sampled.null_passing = 0.1;
    EXPECT_NEAR(share(sampled, 0.005), 0.1 + 0.3 + 0.4 * 0.5, 1e-12);
}

TEST(SampleShare, TakesOthersForCommonValues) {
    SampledShares sampled;
    sampled.common = 0.9;
    sampled.common_passing = 0.45;
    EXPECT_NEAR(share(sampled, 0.005), 0.5, 1e-12);
    sampled.bounds = 9; // too few
    sampled.bounds_passing = 8;
    EXPECT_NEAR(share(sampled, 0.005), 0.5, 1e-12);
}

TEST(SampleShare, NeedsEnough) {
    SampledShares sampled;
    EXPECT_EQ(share(sampled, 0.005), -1);
    sampled.common = sampled.common_passing = 0.5;
    EXPECT_EQ(share(sampled, 0.005), -1);
    EXPECT_EQ(share(histogram(9, 5), 0.005), -1);
}

TEST(SampleShare, OfNullsOnly) {
    SampledShares sampled;
    sampled.null = 1;
    EXPECT_DOUBLE_EQ(share(sampled, 0.005), 0);
    sampled.null = 0.95;
    EXPECT_NEAR(share(sampled, 0.2), 0.01, 1e-12);
}

TEST(SampleShare, StaysBetweenNoneAndAll) { // frequencies are rounded
    SampledShares sampled;
    sampled.common = sampled.common_passing = 1.0000004;
    EXPECT_DOUBLE_EQ(share(sampled, 0.005), 1);
}

} // namespace
} // namespace gpuscan
