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
         {Count::Launch, Count::DeviceSeqRead, Count::DeviceSeqWrite, Count::DeviceReadNear, Count::DeviceReadFar,
          Count::DeviceReadMemory, Count::DeviceWriteFar, Count::DeviceWriteMemory, Count::LinkSeqRead,
          Count::LinkSeqWrite, Count::LinkRandomRead}) {
        EXPECT_TRUE(measurement.known[static_cast<int>(count)]) << tier::info(count).name;
        const double ns = measurement.weights.ns[static_cast<int>(count)];
        EXPECT_TRUE(std::isfinite(ns) && ns > 0) << tier::info(count).name << ' ' << ns;
    }
    EXPECT_GT(measurement.weights.near_bytes, 0);
    EXPECT_GT(measurement.weights.far_bytes, 0);
}

} // namespace
} // namespace gpuscan::test
