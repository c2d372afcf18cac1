// The GPU measures itself: every pattern runs and ends, and gives numbers. Whether they are right is for a GPU to show.
#include <cmath>

#include "cuda_fixture.hpp"
#include "engine/cost/tier_measure.hpp"

namespace gpuscan::test {
namespace {

class CudaMeasureTest : public CudaTest {};

TEST_F(CudaMeasureTest, MeasuresMemoryAndLink) {
    using tier::Count;
    tier::Measurement measurement = {};
    ASSERT_TRUE(device().measure(measurement));
    for (const Count count :
         {Count::MemorySeqRead, Count::MemorySeqWrite, Count::MemoryRandomRead, Count::MemoryRandomReadCached,
          Count::MemoryRandomWrite, Count::MemoryRandomWriteCached, Count::LinkSeqRead, Count::LinkSeqWrite}) {
        EXPECT_TRUE(measurement.known[static_cast<int>(count)]) << tier::info(count).name;
        const double ns = measurement.weights.values[static_cast<int>(count)];
        EXPECT_TRUE(std::isfinite(ns) && ns > 0) << tier::info(count).name << ' ' << ns;
    }
    EXPECT_GT(measurement.weights.values[tier::near_cache], 0);
    EXPECT_GT(measurement.weights.values[tier::far_cache], 0);
}

} // namespace
} // namespace gpuscan::test
