// Do arrays of working memory keep their values while they grow, and does the account have what they take?
#include <gtest/gtest.h>

#include "engine/device.hpp"
#include "engine/util/work_memory.hpp"

namespace gpuscan {
namespace {

class WorkArrayTest : public ::testing::Test {
  protected:
    const WorkMemoryRef memory = std::make_shared<WorkMemory>();
};

// As small ones and large ones do.
TEST_F(WorkArrayTest, GrowsWithItsValues) {
    WorkArray<uint32_t> array(memory), other(memory);
    size_t filled = 0;
    for (size_t n : {size_t(0), size_t(1), size_t(1000), size_t(1) << 20, (size_t(1) << 20) + 1, size_t(3) << 20,
                     size_t(20000003)}) {
        array.reserve(n);
        EXPECT_EQ(memory->used(), array.bytes());
        array.resize(n);
        for (; filled < n; ++filled)
            array[filled] = static_cast<uint32_t>(filled * 2654435761u);
        other.resize(other.size() + (size_t(1) << 21)); // lies in the way of one that would grow where it is
        for (size_t i = 0; i < n; ++i)
            ASSERT_EQ(array[i], static_cast<uint32_t>(i * 2654435761u)) << n;
        other.release();
    }
    array.release();
    EXPECT_EQ(memory->used(), 0u);
}

TEST_F(WorkArrayTest, ZerosReplaceWhatItHeld) {
    WorkArray<uint64_t> array(memory);
    for (size_t n : {100, 5000000, 7, 600000, 0}) {
        array.assign_zeros(n);
        ASSERT_EQ(array.size(), n);
        EXPECT_EQ(memory->used(), array.bytes());
        for (uint64_t &value : array) {
            ASSERT_EQ(value, 0u);
            value = ~uint64_t(0);
        }
    }
}

TEST_F(WorkArrayTest, BeyondTheLimitNothingChanges) {
    WorkArray<uint64_t> array(memory);
    memory->set_limit(size_t(16) << 20);
    array.resize(1000000, 7);
    EXPECT_THROW(array.resize(3000000), OutOfWorkMemory);
    EXPECT_EQ(array.size(), 1000000u);
    EXPECT_EQ(array[999999], 7u);
    EXPECT_EQ(memory->used(), array.bytes());
}

} // namespace
} // namespace gpuscan
