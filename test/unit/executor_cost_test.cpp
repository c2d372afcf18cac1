// The executor's steps: names are unique, work adds up, and the work of operators grows as it should.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/cost/executor_cost.hpp"
#include "profile_name.hpp"

namespace gpuscan::executor {
namespace {

double amount(const Work &work, Step step) { return work.amount[static_cast<int>(step)]; }

#define GPUSCAN_NAME(name, ...) #name,
TEST(ExecutorCost, EveryStepHasANameAndARate) {
    const char *const enumerators[] = {GPUSCAN_EXECUTOR_STEPS(GPUSCAN_NAME)};
    std::set<std::string> names;
    for (int i = 0; i < steps; ++i) {
        const StepInfo &step = info(static_cast<Step>(i));
        EXPECT_TRUE(names.insert(step.name).second) << step.name;
        EXPECT_EQ(step.name, profile_name(enumerators[i]));
        EXPECT_GT(step.ns, 0) << step.name;
        EXPECT_EQ(step.ns, default_rates().ns[i]) << step.name;
        EXPECT_NE(std::string(step.meaning), "") << step.name;
        EXPECT_NE(std::string(step.unit), "") << step.name;
    }
}

TEST(ExecutorCost, TimeIsTheSumOfStepsAndOfWhatIsKnownAsTime) {
    Rates rates{};
    rates.ns[static_cast<int>(Step::Tuple)] = 20;
    rates.ns[static_cast<int>(Step::Operation)] = 5;
    Work work{};
    EXPECT_EQ(time_of(work, rates), 0);
    add(&work, Step::Tuple, 100);
    add(&work, Step::Tuple, 50);
    add(&work, Step::Operation, 300);
    work.other_ns = 7;
    EXPECT_DOUBLE_EQ(time_of(work, rates), 150 * 20 + 300 * 5 + 7);
}

TEST(ExecutorCost, WorkIsAddedWithItsTime) {
    Work child{}, sum{};
    add(&child, Step::Tuple, 10);
    child.other_ns = 100;
    add(&sum, Step::Tuple, 1);
    add(&sum, child, 0.5);
    EXPECT_DOUBLE_EQ(amount(sum, Step::Tuple), 6);
    EXPECT_DOUBLE_EQ(sum.other_ns, 50);
}

TEST(ExecutorCost, WhatBeginsAnExecutionDoesNotGrowWithItsRows) {
    for (int i = 0; i < steps; ++i) {
        const StepInfo &step = info(static_cast<Step>(i));
        const bool begins = std::string(step.unit) == "team" || std::string(step.unit) == "descent";
        EXPECT_EQ(step.per == Per::Execution, begins) << step.name;
    }
}

TEST(ExecutorCost, ATableWithinTheCachesIsNeverFar) {
    EXPECT_EQ(far_share(0), 0);
    EXPECT_EQ(far_share(near_bytes), 0);
    EXPECT_DOUBLE_EQ(far_share(10 * near_bytes), 0.5);
    EXPECT_DOUBLE_EQ(far_share(far_bytes), 1);
    EXPECT_EQ(far_share(100 * far_bytes), 1);
    Work near{}, far{};
    probe(&near, 1000, near_bytes / 2);
    probe(&far, 1000, near_bytes * 10);
    EXPECT_EQ(amount(near, Step::RowHashed), 1000);
    EXPECT_EQ(amount(near, Step::CacheMiss), 0);
    EXPECT_EQ(amount(far, Step::RowHashed), 1000);
    EXPECT_DOUBLE_EQ(amount(far, Step::CacheMiss), 500);
    // Nothing waits for the rows of a table that is built.
    Work built{};
    build(&built, 1000, near_bytes * 10);
    EXPECT_EQ(amount(built, Step::RowHashed), 1000 * hashed_rows);
    EXPECT_DOUBLE_EQ(amount(built, Step::CacheMiss), 500 * overlapped);
}

TEST(ExecutorCost, GroupsAreLookedUpByEachRowAndMadeOnce) {
    Work work{};
    group(&work, 1000, 10, 100);
    EXPECT_EQ(amount(work, Step::RowHashed), 1000 * hashed_rows);
    EXPECT_EQ(amount(work, Step::CacheMiss), 0);
    EXPECT_EQ(amount(work, Step::GroupMade), 10);
}

TEST(ExecutorCost, ASortComparesByItsRows) {
    Work all{}, first{}, texts{};
    sort(&all, 1024, 0, false);
    EXPECT_EQ(amount(all, Step::RowKept), 1024);
    EXPECT_DOUBLE_EQ(amount(all, Step::Operation), 10240);
    // Eight rows of them are kept in a heap; the others are compared with the last of these.
    sort(&first, 1024, 8, false);
    EXPECT_LT(amount(first, Step::RowKept), 1024);
    EXPECT_DOUBLE_EQ(amount(first, Step::Operation), 1024 + 8 * 4);
    sort(&texts, 1024, 0, true);
    EXPECT_EQ(amount(texts, Step::Operation), 0);
    EXPECT_DOUBLE_EQ(amount(texts, Step::Text), 10240);
    Work one{};
    sort(&one, 1, 0, false);
    EXPECT_EQ(amount(one, Step::Operation), 1);
}

} // namespace
} // namespace gpuscan::executor
