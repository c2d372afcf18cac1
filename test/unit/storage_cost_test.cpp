// The page cost model's formulas: against the paper's equations with numbers worked out by hand, against PostgreSQL's formulas at
// the neutral point, and under substituted page costs.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/cost/storage_cost.hpp"

namespace gpuscan::storage {
namespace {

// An SSD whose writes are dear: c_sr, c_rr, c_sw, c_rw, and hash aggregation's.
constexpr PageCosts ssd{1, 2, 3, 7, 5};

TEST(StorageCost, PassesOfAMerge) {
    // Runs up to the merge order are merged at once, one more is a pass more.
    EXPECT_EQ(merge_passes(100, 100, 6), 1);
    EXPECT_EQ(merge_passes(600, 100, 6), 1);
    EXPECT_EQ(merge_passes(601, 100, 6), 2);
    EXPECT_EQ(merge_passes(3599, 100, 6), 2);
    EXPECT_EQ(merge_passes(3601, 100, 6), 3);
}

TEST(StorageCost, SortWritesAndReadsOncePerPass) {
    // (34) with 1,000 pages: c_sw + (L - 1) (c_sw + c_rw) / 2 + L (c_sr + c_rr) / 2 = 3 + (L - 1) 5 + L 1.5 for each.
    EXPECT_DOUBLE_EQ(sort(ssd, 1000, 1), 4500);
    EXPECT_DOUBLE_EQ(sort(ssd, 1000, 2), 11000);
    EXPECT_DOUBLE_EQ(sort(ssd, 1000, 3), 17500);
    EXPECT_DOUBLE_EQ(sort_page(ssd, 1), 4.5);
    EXPECT_DOUBLE_EQ(sort_page(ssd, 2), 5.5);
    // (33): 2 P L (3/4 c_s + 1/4 c_r).
    EXPECT_DOUBLE_EQ(stock_sort({1, 4}, 1000, 1), 3500);
    EXPECT_DOUBLE_EQ(stock_sort({1, 4}, 1000, 3), 10500);
}

TEST(StorageCost, HashJoinWritesBothSidesAtRandom) {
    // (36): c_rw Pi, and c_sr Pi + (c_rw + c_sr) Po.
    const FileCost cost = hash_join(ssd, 100, 1000);
    EXPECT_DOUBLE_EQ(cost.startup, 700);
    EXPECT_DOUBLE_EQ(cost.total, 700 + 100 + 8000);
    // (35): c_s Pi, and (Pi + 2 Po) c_s.
    const FileCost stock = stock_hash_join({1, 4}, 100, 1000);
    EXPECT_DOUBLE_EQ(stock.startup, 100);
    EXPECT_DOUBLE_EQ(stock.total, 100 + 2100);
}

TEST(StorageCost, RowsAreWrittenDownAndReadAgainInSequence) {
    EXPECT_DOUBLE_EQ(material(ssd, 1000), 3000); // (31) with c_sw
    EXPECT_DOUBLE_EQ(rescan(ssd, 1000), 1000);   // (32) with c_sr
}

TEST(StorageCost, HashAggregateHasAWriteCostOfItsOwn) {
    const FileCost cost = hash_aggregate(ssd, 1000);
    EXPECT_DOUBLE_EQ(cost.startup, 5000);
    EXPECT_DOUBLE_EQ(cost.total, 6000);
    const FileCost stock = stock_hash_aggregate({1, 4}, 1000);
    EXPECT_DOUBLE_EQ(stock.startup, 4000);
    EXPECT_DOUBLE_EQ(stock.total, 5000);
}

TEST(StorageCost, NeutralCostsGivePostgresFormulas) {
    for (const Surrogate page_costs : {Surrogate{1, 4}, Surrogate{0.25, 1.5}, Surrogate{1.1, 1.3}, Surrogate{3, 2}}) {
        const PageCosts costs = neutral_costs(page_costs.seq, page_costs.random);
        for (double passes = 1; passes <= 4; ++passes)
            EXPECT_DOUBLE_EQ(sort(costs, 12345, passes), stock_sort(page_costs, 12345, passes));
        EXPECT_DOUBLE_EQ(hash_join(costs, 7, 31).startup, stock_hash_join(page_costs, 7, 31).startup);
        EXPECT_DOUBLE_EQ(hash_join(costs, 7, 31).total, stock_hash_join(page_costs, 7, 31).total);
        EXPECT_DOUBLE_EQ(material(costs, 7), page_costs.seq * 7);
        EXPECT_DOUBLE_EQ(rescan(costs, 7), page_costs.seq * 7);
        EXPECT_DOUBLE_EQ(hash_aggregate(costs, 7).startup, stock_hash_aggregate(page_costs, 7).startup);
        EXPECT_DOUBLE_EQ(hash_aggregate(costs, 7).total, stock_hash_aggregate(page_costs, 7).total);
    }
}

// Not nearly the same: a cost that differs in its last bit may decide between two plans of equal cost.
TEST(StorageCost, SurrogatesOfNeutralCostsAreThePageCostsThemselves) {
    std::mt19937_64 engine(1);
    std::uniform_real_distribution<double> exponent(-3, 4);
    for (int i = 0; i < 10000; ++i) {
        const PageCosts costs = neutral_costs(std::exp(exponent(engine)), std::exp(exponent(engine)));
        const double page = sort_page(costs, 1 + i % 3);
        for (const Surrogate found : {for_joins(costs), for_groups(costs, page), for_material(costs, page)}) {
            EXPECT_EQ(found.seq, costs.seq_read);
            EXPECT_EQ(found.random, costs.random_read);
        }
    }
}

TEST(StorageCost, SurrogatesAreExactWhereTheySaySo) {
    std::mt19937_64 engine(2);
    std::uniform_real_distribution<double> exponent(-3, 4);
    const auto cost = [&] { return std::exp(exponent(engine)); };
    for (int i = 0; i < 1000; ++i) {
        const PageCosts costs{cost(), cost(), cost(), cost(), cost()};
        const double scale =
            costs.seq_read + costs.random_read + costs.seq_write + costs.random_write + costs.hashagg_write;
        for (double passes = 1; passes <= 3; ++passes) {
            const double page = sort_page(costs, passes), sorted = sort(costs, 100, passes);
            const double near = 1e-9 * 100 * passes * scale;
            const Surrogate groups = for_groups(costs, page), material_costs = for_material(costs, page);
            for (const Surrogate found : {groups, material_costs, for_sorts_alone(page)})
                EXPECT_NEAR(stock_sort(found, 100, passes), sorted, near);
            EXPECT_NEAR(stock_hash_aggregate(groups, 100).total, hash_aggregate(costs, 100).total, near);
            EXPECT_NEAR(material_costs.seq * 100, material(costs, 100), near);
        }
    }
}

TEST(StorageCost, NoFileOfAJoinIsTooCheapWhileJoinsAreMade) {
    std::mt19937_64 engine(3);
    std::uniform_real_distribution<double> exponent(-3, 4);
    const auto cost = [&] { return std::exp(exponent(engine)); };
    for (int i = 0; i < 1000; ++i) {
        const PageCosts costs{cost(), cost(), cost(), cost(), cost()};
        const Surrogate found = for_joins(costs);
        const auto at_least = [](double value) { return value * (1 - 1e-12); };
        for (double passes = 1; passes <= 3; ++passes)
            EXPECT_GE(stock_sort(found, 100, passes), at_least(sort(costs, 100, passes)));
        EXPECT_GE(stock_hash_join(found, 30, 70).startup, at_least(hash_join(costs, 30, 70).startup));
        EXPECT_GE(stock_hash_join(found, 30, 70).total, at_least(hash_join(costs, 30, 70).total));
        EXPECT_GE(stock_hash_aggregate(found, 30).startup, at_least(hash_aggregate(costs, 30).startup));
        EXPECT_GE(stock_hash_aggregate(found, 30).total, at_least(hash_aggregate(costs, 30).total));
        EXPECT_GE(found.seq * 30, at_least(material(costs, 30)));
        EXPECT_GE(found.seq * 30, at_least(rescan(costs, 30)));
    }
}

} // namespace
} // namespace gpuscan::storage
