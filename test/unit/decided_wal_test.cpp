// Which WAL was written by transactions that are over? Moments are forgotten, the older the more, and IDs come round.
#include <gtest/gtest.h>

#include "server/decided_wal.hpp"

namespace gpuscan {
namespace {

TEST(DecidedWal, WhatEarlierTransactionsHaveDone) {
    DecidedWal wal;
    EXPECT_EQ(wal.before(100), 0u);
    wal.note(1000, 50);
    wal.note(2000, 60);
    wal.note(2500, 60); // nobody has begun meanwhile
    wal.note(3000, 70);
    EXPECT_EQ(wal.before(49), 0u);
    EXPECT_EQ(wal.before(50), 1000u);
    EXPECT_EQ(wal.before(59), 1000u);
    EXPECT_EQ(wal.before(60), 2500u);
    EXPECT_EQ(wal.before(1000), 3000u);
    wal.note(2900, 80); // told late: WAL was there when more IDs were gone
    wal.note(3100, 65);
    EXPECT_EQ(wal.before(1000), 3000u);
}

TEST(DecidedWal, TransactionIdsComeRound) {
    DecidedWal wal;
    wal.note(1000, UINT32_MAX - 10);
    wal.note(2000, 5);
    EXPECT_EQ(wal.before(UINT32_MAX - 11), 0u);
    EXPECT_EQ(wal.before(UINT32_MAX), 1000u);
    EXPECT_EQ(wal.before(4), 1000u);
    EXPECT_EQ(wal.before(5), 2000u);
}

// What is answered is never too much, and of lately exact.
TEST(DecidedWal, ForgetsMomentsOfLongAgo) {
    DecidedWal wal;
    constexpr uint32_t moments = 100000;
    for (uint32_t i = 1; i <= moments; ++i)
        wal.note(10 * i, i);
    for (uint32_t i = moments - 100; i <= moments; ++i)
        EXPECT_EQ(wal.before(i), 10 * i);
    for (uint32_t i = 1; i <= moments; i += 7) {
        EXPECT_LE(wal.before(i), 10 * i);
        EXPECT_GE(wal.before(i) + (10 * moments - wal.before(i)) / 8, 10 * i);
    }
}

} // namespace
} // namespace gpuscan
