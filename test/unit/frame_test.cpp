// Frames: which one for which values, and moving rows between them on the host device.
#include <gtest/gtest.h>

#include "host/host_device.hpp"
#include "pack_check.hpp"

namespace gpuscan {
namespace {

ColumnStats bounds(int64_t min, int64_t max) {
    ColumnStats stats;
    stats.any_value = true;
    stats.min = min;
    stats.max = max;
    return stats;
}

void expect_frame(Type type, const ColumnStats &stats, unsigned width, int64_t base) {
    const Frame frame = frame_for(type, stats);
    EXPECT_EQ(frame.width, width);
    EXPECT_EQ(frame.base, base);
    EXPECT_TRUE(frame_holds(frame, stats));
}

TEST(Frame, IsTheNarrowestThatHoldsTheBounds) {
    expect_frame(Type::I32, bounds(7, 7), 0, 7);
    expect_frame(Type::I32, bounds(1, 50), 1, 0);
    expect_frame(Type::I32, bounds(19920101, 19920356), 1, 19920101);
    expect_frame(Type::I32, bounds(19920101, 19920357), 2, 19920101);
    expect_frame(Type::I32, bounds(-1, 65534), 2, -1);
    expect_frame(Type::I32, bounds(0, 65535), 2, 0);
    expect_frame(Type::I32, bounds(0, 65536), Frame::whole, 0);
    expect_frame(Type::I16, bounds(-128, 127), 1, -128);
    expect_frame(Type::I16, bounds(-128, 128), Frame::whole, 0);
    expect_frame(Type::I64, bounds(INT64_MAX - 255, INT64_MAX), 1, INT64_MAX - 255);
    expect_frame(Type::I64, bounds(INT64_MIN, INT64_MIN + 4294967295), 4, INT64_MIN);
    expect_frame(Type::I64, bounds(0, 4294967296), Frame::whole, 0);
    expect_frame(Type::I64, bounds(INT64_MIN, INT64_MAX), Frame::whole, 0);
    expect_frame(Type::I128, bounds(INT64_MIN, INT64_MAX), 8, INT64_MIN);
    expect_frame(Type::I128, bounds(-3, 3), 1, -3);
    expect_frame(Type::Code, bounds(0, 255), 1, 0);
    expect_frame(Type::Bool, bounds(1, 1), 0, 1);
    expect_frame(Type::Bool, bounds(0, 1), Frame::whole, 0);
    expect_frame(Type::I64, ColumnStats(), 0, 0); // nothing but NULLs
    expect_frame(Type::F64, bounds(0, 0), Frame::whole, 0);
    ColumnStats wide = bounds(1, 1);
    wide.any_wide = true;
    expect_frame(Type::I128, wide, Frame::whole, 0);
}

TEST(Frame, HoldsWhatLiesWithinIt) {
    const Frame bytes = {1, 100};
    EXPECT_TRUE(frame_holds(bytes, bounds(100, 355)));
    EXPECT_FALSE(frame_holds(bytes, bounds(99, 355)));
    EXPECT_FALSE(frame_holds(bytes, bounds(100, 356)));
    EXPECT_FALSE(frame_holds(bytes, bounds(INT64_MIN, INT64_MAX)));
    EXPECT_TRUE(frame_holds({0, 5}, bounds(5, 5)));
    EXPECT_FALSE(frame_holds({0, 5}, bounds(5, 6)));
    EXPECT_TRUE(frame_holds({0, 5}, ColumnStats()));
    ColumnStats wide;
    wide.any_value = wide.any_wide = true;
    EXPECT_FALSE(frame_holds({8, INT64_MIN}, wide));
    EXPECT_TRUE(frame_holds(Frame(), wide));
}

TEST(Frame, HostDevicePacks) {
    auto device = make_host_device(2);
    test::check_pack_all(*device);
}

TEST(Frame, LongRunsOnTheHost) { // more than a block and a task of the packing loop
    auto device = make_host_device(3);
    constexpr uint32_t rows = 200000;
    test::FramedColumn from{Type::I64, Frame(), nullptr, nullptr, {}, {}},
        to{Type::I64, {2, -9}, nullptr, nullptr, {}, {}};
    for (uint32_t r = 0; r < rows; ++r) {
        from.value.push_back(static_cast<int64_t>(r % 65536) - 9);
        to.value.push_back(-9);
    }
    from.upload(*device, false);
    to.upload(*device, false);
    PackJob job;
    job.type = Type::I64;
    job.to_frame = to.frame;
    job.from = from.values.get();
    job.to = to.values.get();
    job.runs = {{0, 0, rows}};
    device->pack({job});
    to.download(*device);
    EXPECT_TRUE(to.value == from.value);
}

TEST(Frame, RefusesWhatCannotBe) {
    auto device = make_host_device(1);
    BufferRef buffer = device->allocate(100);
    PackJob job;
    job.type = Type::I32;
    job.from = job.to = buffer.get();
    job.runs = {{0, 0, 26}};
    EXPECT_THROW(device->pack({job}), DeviceError);
    job.runs = {{0, 0, 25}};
    job.to_frame = {4, 0};
    EXPECT_THROW(device->pack({job}), DeviceError);
    job.to_frame = {1, 0};
    job.to = nullptr;
    EXPECT_THROW(device->pack({job}), DeviceError);
}

} // namespace
} // namespace gpuscan
