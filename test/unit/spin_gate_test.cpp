// Who looks at a word before sleeping, and who does not.
#include <gtest/gtest.h>

#include "engine/util/spin.hpp"

namespace gpuscan {
namespace {

constexpr uint64_t microsecond = 1000, millisecond = 1000000, now = 5000 * millisecond;

TEST(SpinGateTest, OpenOnlyWithCoresToSpare) {
    const SpinGate gate;
    EXPECT_FALSE(gate.is_open(now, 1));
    EXPECT_FALSE(gate.is_open(now, 2));
    EXPECT_TRUE(gate.is_open(now, 3));
}

TEST(SpinGateTest, ClosedForAWhileByWhoWasStopped) {
    SpinGate gate;
    gate.note_gap(now - 5 * microsecond, now);
    EXPECT_TRUE(gate.is_open(now, 8));
    gate.note_gap(now - 100 * microsecond, now); // another thread had the core
    EXPECT_FALSE(gate.is_open(now, 8));
    EXPECT_FALSE(gate.is_open(now + 10 * millisecond, 8));
    EXPECT_TRUE(gate.is_open(now + 30 * millisecond, 8));
    gate.note_gap(now + 29 * millisecond, now + 30 * millisecond);
    EXPECT_FALSE(gate.is_open(now + 45 * millisecond, 8));
}

TEST(SpinGateTest, LooksOnceWhereItIsClosed) {
    SpinGate gate;
    gate.note_gap(0, monotonic_ns() + 10000 * millisecond);
    int looks = 0;
    EXPECT_FALSE(gate.spin([&] { return ++looks < 0; }));
    EXPECT_EQ(1, looks);
    EXPECT_TRUE(gate.spin([] { return true; }));
}

TEST(SpinGateTest, GivesUp) {
    SpinGate gate;
    int looks = 0;
    EXPECT_FALSE(gate.spin([&] { return ++looks < 0; })); // (for ever, if nothing ended it)
    EXPECT_GE(looks, 1);
    EXPECT_TRUE(gate.spin([&] { return ++looks > 1; }));
}

} // namespace
} // namespace gpuscan
