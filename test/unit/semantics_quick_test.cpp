// What device/semantics.cuh has in other words for kernels that are compiled quickly: quotients of 128 bits, bit by bit.
#define GPUSCAN_QUICK 1
#define gpuscan gpuscan_quick // beside the functions that other tests have
#include "device/semantics.cuh"
#undef gpuscan

#include <gtest/gtest.h>

#include <random>

namespace {

using gpuscan_quick::sem::i128;
using gpuscan_quick::sem::u128;
namespace sem = gpuscan_quick::sem;

TEST(SemanticsQuick, UnsignedQuotients) {
    std::mt19937_64 random(36);
    auto number = [&] { // of any length, and with runs of ones and zeros
        u128 v = (u128)random() << 64 | random();
        if (random() % 2)
            v |= (u128)(i128)-1 << random() % 128;
        return v >> random() % 128;
    };
    for (int i = 0; i < 200000; ++i) {
        const u128 a = number(), b = number();
        if (b != 0) {
            ASSERT_TRUE(sem::unsigned_quotient(a, b) == a / b) << i;
        }
    }
    const u128 most = ~(u128)0, half = (u128)1 << 127;
    for (u128 a : {(u128)0, (u128)1, (u128)1 << 64, half - 1, half, half + 1, most - 1, most})
        for (u128 b : {(u128)1, (u128)2, (u128)1 << 64, half - 1, half, half + 1, most - 1, most})
            ASSERT_TRUE(sem::unsigned_quotient(a, b) == a / b);
}

TEST(SemanticsQuick, Products) {
    int error = 0;
    const i128 most = sem::Limits<i128>::max, least = sem::Limits<i128>::min;
    EXPECT_TRUE(sem::mul(most, (i128)1, error) == most && sem::mul(least, (i128)1, error) == least);
    EXPECT_TRUE(sem::mul((i128)1 << 100, (i128)-5, error) == -((i128)5 << 100));
    EXPECT_EQ(0, error);
    sem::mul(least, (i128)-1, error);
    EXPECT_EQ(1, error);
    error = 0;
    sem::mul((i128)1 << 64, (i128)1 << 64, error);
    EXPECT_EQ(1, error);
}

} // namespace
