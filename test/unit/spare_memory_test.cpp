// Does a large block that was left serve the next one, within the limit, and go back to the system when nobody takes it?
#include <gtest/gtest.h>

#include "engine/util/spare_memory.hpp"

namespace gpuscan {
namespace {

constexpr size_t megabyte = size_t(1) << 20;

TEST(SpareMemoryTest, ABlockServesWhoWantsAboutAsMuch) {
    SpareMemory spare;
    SpareMemory::Block first = spare.take(20 * megabyte);
    ASSERT_NE(first.memory.data(), nullptr);
    EXPECT_TRUE(first.zeros);
    const char *const place = first.memory.data();
    first.memory.data()[5] = 1;
    spare.put(std::move(first.memory));
    EXPECT_EQ(spare.bytes(), 20 * megabyte);
    EXPECT_NE(spare.take(21 * megabyte).memory.data(), place); // it is too small
    EXPECT_NE(spare.take(10 * megabyte).memory.data(), place); // it is much too large
    const SpareMemory::Block again = spare.take(19 * megabyte);
    EXPECT_EQ(again.memory.data(), place);
    EXPECT_FALSE(again.zeros);
    EXPECT_EQ(again.memory.data()[5], 1);
    EXPECT_EQ(spare.bytes(), 0u);
}

TEST(SpareMemoryTest, TheBestBlockIsTaken) {
    SpareMemory spare;
    HugeMemory large(22 * megabyte), fitting(20 * megabyte);
    const char *const place = fitting.data();
    spare.put(std::move(fitting));
    spare.put(std::move(large));
    EXPECT_EQ(spare.take(20 * megabyte).memory.data(), place);
}

TEST(SpareMemoryTest, TheOldestGoBeyondTheLimit) {
    SpareMemory spare;
    spare.set_limit(36 * megabyte);
    for (size_t size : {8, 10, 12, 14})
        spare.put(HugeMemory(size * megabyte));
    EXPECT_EQ(spare.bytes(), 36 * megabyte);
    spare.put(HugeMemory(37 * megabyte)); // more than there may be
    EXPECT_EQ(spare.bytes(), 36 * megabyte);
    EXPECT_TRUE(spare.take(8 * megabyte).zeros);
    EXPECT_FALSE(spare.take(10 * megabyte).zeros);
    spare.set_limit(14 * megabyte);
    EXPECT_EQ(spare.bytes(), 14 * megabyte);
    spare.set_limit(10 * megabyte);
    EXPECT_EQ(spare.bytes(), 0u);
}

TEST(SpareMemoryTest, WhatNobodyTakesGoesBack) {
    SpareMemory spare;
    spare.put(HugeMemory(4 * megabyte));
    spare.give_back();
    spare.put(HugeMemory(5 * megabyte));
    EXPECT_EQ(spare.bytes(), 9 * megabyte);
    spare.give_back();
    EXPECT_EQ(spare.bytes(), 5 * megabyte);
    spare.give_back();
    EXPECT_EQ(spare.bytes(), 0u);
}

} // namespace
} // namespace gpuscan
