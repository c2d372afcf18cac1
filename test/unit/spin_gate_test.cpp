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
    gate.note_looks(now - 5 * microsecond, now);
    EXPECT_TRUE(gate.is_open(now, 8));
    gate.note_looks(now - 100 * microsecond, now); // another thread had the core
    EXPECT_FALSE(gate.is_open(now, 8));
    EXPECT_FALSE(gate.is_open(now + 10 * millisecond, 8));
    EXPECT_TRUE(gate.is_open(now + 30 * millisecond, 8));
    gate.note_looks(now + 29 * millisecond, now + 30 * millisecond);
    EXPECT_FALSE(gate.is_open(now + 45 * millisecond, 8));
}

TEST(SpinGateTest, LooksAtLeastOnceAndNotForLong) {
    SpinGate gate;
    EXPECT_TRUE(gate.spin([] { return true; }));
    int looks = 0;
    EXPECT_TRUE(gate.spin([&] { return ++looks == 1; })); // with two cores that is the only one
    const uint64_t start = monotonic_ns();
    looks = 0;
    EXPECT_FALSE(gate.spin([&] { return ++looks < 0; }));
    EXPECT_GE(looks, 1);
    EXPECT_LT(monotonic_ns() - start, 10000 * millisecond); // (whatever else runs here)
}

} // namespace
} // namespace gpuscan
