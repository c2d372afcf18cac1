// bench/regret/statistics.hpp and plan_tree.hpp: what bench/regret.sh says of choices, at values that were computed by hand.
#include <gtest/gtest.h>

#include "../../bench/regret/plan_tree.cpp"
#include "../../bench/regret/statistics.hpp"

namespace bench {
namespace {

TEST(RegretStatistics, MedianOfOddAndEvenNumbersOfTimes) {
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_EQ(median({7}), 7);
}

// Distances to the median 12: 2, 1, 0, 1, 20; their median 1.
TEST(RegretStatistics, OneDisturbedRunIsNoNoise) {
    EXPECT_NEAR(median_error({10, 11, 12, 13, 32}), 1.2533 * 1.4826 / std::sqrt(5.0), 1e-12);
    EXPECT_EQ(median_error({5}), 0);
}

TEST(RegretStatistics, WrongIsATenthMoreAndMoreThanTheFloorAndThanNoise) {
    const Tolerance tolerance; // a tenth, 0.5 ms
    EXPECT_FALSE(judge({110, 110, 110}, {100, 100, 100}, tolerance).wrong);
    EXPECT_TRUE(judge({111, 111, 111}, {100, 100, 100}, tolerance).wrong);
    EXPECT_FALSE(judge({1.4, 1.4, 1.4}, {1, 1, 1}, tolerance).wrong);
    EXPECT_TRUE(judge({1.6, 1.6, 1.6}, {1, 1, 1}, tolerance).wrong);
    EXPECT_FALSE(judge({120, 90, 150}, {100, 70, 130}, tolerance).wrong); // errors of 32 each
}

TEST(RegretStatistics, TheBestIsTheBetterOfTheTwo) {
    const Verdict v = judge({90}, {100}, Tolerance());
    EXPECT_FALSE(v.wrong);
    EXPECT_EQ(v.best_ms, 90);
    EXPECT_EQ(v.ratio(), 1);
    EXPECT_EQ(judge({150}, {100}, Tolerance()).ratio(), 1.5);
}

TEST(RegretStatistics, RankCorrelationOfKnownOrders) {
    const auto correlation = [](std::vector<Ranked> plans) { return rank_correlation(plans, 0).value_or(-9); };
    EXPECT_EQ(correlation({{1, 10, false}, {2, 20, false}, {3, 30, false}}), 1);
    EXPECT_EQ(correlation({{3, 10, false}, {2, 20, false}, {1, 30, false}}), -1);
    // Kendall's tau of 1 2 3 4 against 1 3 2 4: five pairs of six agree.
    EXPECT_NEAR(correlation({{1, 1, false}, {3, 2, false}, {2, 3, false}, {4, 4, false}}), 4.0 / 6, 1e-12);
    EXPECT_EQ(correlation({{5, 10, false}, {5, 20, false}}), 0); // equal costs say nothing
    EXPECT_EQ(correlation({{1, 10, false}}), -9);                // no pair
}

// Stopped plans: known to be slower than what was faster than their limits, and nothing else.
TEST(RegretStatistics, StoppedPlansCountAgainstFasterOnes) {
    EXPECT_EQ(rank_correlation({{1, 10, false}, {9, 30, true}}, 0).value(), 1);
    EXPECT_FALSE(rank_correlation({{1, 30, true}, {2, 60, true}}, 0));
    EXPECT_FALSE(rank_correlation({{1, 40, false}, {2, 30, true}}, 0)); // may take 31 or 1000
    // Two stopped ones beside one that is faster than both limits: two pairs, one of which is the wrong way round.
    EXPECT_EQ(rank_correlation({{5, 10, false}, {9, 30, true}, {1, 30, true}}, 0).value(), 0);
}

TEST(RegretStatistics, TimesThatAreAsGoodAsEqualAreNoPair) {
    EXPECT_FALSE(rank_correlation({{2, 100, false}, {1, 104, false}}, 0.05));
    EXPECT_EQ(rank_correlation({{2, 100, false}, {1, 106, false}}, 0.05).value(), -1);
}

TEST(RegretStatistics, RegretIsARatioOfSums) {
    Summary s;
    s.add(judge({100, 100}, {100, 100}, Tolerance()), 1.0);
    s.add(judge({60, 60}, {20, 20}, Tolerance()), std::nullopt);
    s.add(judge({1, 1}, {1, 1}, Tolerance()), 0.5);
    EXPECT_EQ(s.cases, 3);
    EXPECT_EQ(s.wrong, 1);
    EXPECT_NEAR(s.wrong_percent(), 100.0 / 3, 1e-12);
    EXPECT_NEAR(s.regret(), 161.0 / 121, 1e-12);
    EXPECT_EQ(s.worst_ratio, 3);
    EXPECT_EQ(s.correlation(), 0.75);
}

// ---- plans ----

std::string plan(const std::string &cost, const std::string &workers, const std::string &device) {
    return R"j([{"Plan": {"Node Type": "Gather", "Plan Rows": 3, "Workers Planned": )j" + workers +
           R"j(, "Total Cost": )j" + cost +
           R"j(, "Plans": [{"Node Type": "Custom Scan", "Custom Plan Provider": "GpuScan", "Device": ")j" + device +
           R"j(", "Steps": [{"Step": "Scan", "Source": "orders o", "Filter": "(o.a = \"x\")"}]}]}}])j";
}

TEST(RegretPlans, EstimatesBelongToNoPlan) {
    const PlanTree a = read_plan(plan("12.50", "2", "host"));
    EXPECT_EQ(a.text, read_plan(plan("99", "2", "host")).text);
    EXPECT_NE(a.text, read_plan(plan("12.50", "1", "host")).text);
    EXPECT_NE(a.text, read_plan(plan("12.50", "2", "cuda")).text);
    EXPECT_EQ(a.cost, 12.5);
    EXPECT_EQ(a.device_nodes, 1);
    EXPECT_EQ(a.outline, "Gather(GpuScan(orders o))");
    EXPECT_TRUE(a.honest);
    EXPECT_FALSE(read_plan(plan("10000000012.5", "2", "host")).honest); // something was disabled
}

TEST(RegretPlans, WhatIsNoPlanIsRefused) {
    for (const char *text :
         {"", "[", "[]", "[{}]", R"([{"Plan": {"a": }}])", R"([{"Plan": {}}] x)", R"([{"Plan": "a}])"})
        EXPECT_THROW(read_plan(text), std::runtime_error) << text;
}

// FNV-1a's published values.
TEST(RegretPlans, HashesOfKnownTexts) {
    EXPECT_EQ(hash_of(""), "cbf29ce484222325");
    EXPECT_EQ(hash_of("foobar"), "85944171f73967e8");
}

} // namespace
} // namespace bench
