// Which frame for which values; see frame.hpp.
#include "engine/store/frame.hpp"

#include "engine/device.hpp"

namespace gpuscan {
namespace {

// The largest number that so many bytes store.
uint64_t largest(unsigned width) { return width >= 8 ? UINT64_MAX : (uint64_t(1) << 8 * width) - 1; }

} // namespace

Frame frame_for(Type type, const ColumnStats &stats) {
    if (is_float(type) || stats.any_wide)
        return {};
    if (!stats.any_value || stats.min > stats.max)
        return {0, 0};
    const uint64_t span = static_cast<uint64_t>(stats.max) - static_cast<uint64_t>(stats.min);
    if (span == 0)
        return {0, stats.min};
    for (uint8_t width : {1, 2, 4, 8}) {
        if (width >= type_width(type))
            break;
        if (span > largest(width))
            continue;
        const bool from_zero = stats.min >= 0 && static_cast<uint64_t>(stats.max) <= largest(width);
        return {width, from_zero ? 0 : stats.min};
    }
    return {};
}

bool frame_holds(Frame frame, const ColumnStats &stats) {
    if (frame.is_whole() || !stats.any_value || stats.min > stats.max)
        return frame.is_whole() || !stats.any_wide;
    const uint64_t above = static_cast<uint64_t>(stats.max) - static_cast<uint64_t>(frame.base);
    return !stats.any_wide && stats.min >= frame.base && above <= largest(frame.width);
}

void check_pack(const PackJob &job) {
    auto valid = [&](Frame frame) {
        const bool narrow =
            frame.width == 0 || frame.width == 1 || frame.width == 2 || frame.width == 4 || frame.width == 8;
        return frame.is_whole() || (narrow && frame.width < type_width(job.type) && !is_float(job.type));
    };
    if (!valid(job.from_frame) || !valid(job.to_frame))
        throw DeviceError("a frame does not fit its column's type");
    const size_t from_bytes = job.from_frame.bytes(job.type), to_bytes = job.to_frame.bytes(job.type);
    if ((from_bytes > 0 && job.from == nullptr) || (to_bytes > 0 && job.to == nullptr))
        throw DeviceError("a frame without a buffer");
    for (const RowRun &run : job.runs) {
        const size_t from = size_t(run.from) + run.count, to = size_t(run.to) + run.count;
        if ((from_bytes > 0 && from > job.from->size / from_bytes) || (to_bytes > 0 && to > job.to->size / to_bytes) ||
            (job.from_nulls != nullptr && job.to_nulls != nullptr && from > job.from_nulls->size) ||
            (job.to_nulls != nullptr && to > job.to_nulls->size))
            throw DeviceError("a run of rows reaches beyond its buffer");
    }
}

} // namespace gpuscan
