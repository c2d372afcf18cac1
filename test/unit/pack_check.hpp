// Rows moved between frames by a device, against values worked out one by one.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "engine/device.hpp"

namespace gpuscan::test {

// A column of a device in some frame, and what each of its rows means.
struct FramedColumn {
    Type type = Type::I32;
    Frame frame;
    BufferRef values, nulls;
    std::vector<int128> value;
    std::vector<uint8_t> null;

    void upload(Device &device, bool with_nulls) {
        const size_t width = frame.bytes(type), rows = value.size();
        std::vector<uint8_t> bytes(rows * width + 64, 0xab);
        for (size_t r = 0; r < rows; ++r) {
            const int128 stored = frame.is_whole() ? value[r] : value[r] - frame.base;
            memcpy(bytes.data() + r * width, &stored, width);
        }
        if (width > 0) {
            values = device.allocate(bytes.size());
            device.upload(*values, 0, bytes.data(), bytes.size());
        }
        if (!with_nulls)
            return;
        std::vector<uint8_t> flags = null;
        flags.resize(rows + 64, 0);
        nulls = device.allocate(flags.size());
        device.upload(*nulls, 0, flags.data(), flags.size());
    }

    void download(Device &device) {
        const size_t width = frame.bytes(type), rows = value.size();
        std::vector<uint8_t> bytes(rows * width);
        if (width > 0)
            device.download(bytes.data(), *values, 0, bytes.size());
        for (size_t r = 0; r < rows; ++r) {
            uint128 stored = 0;
            if (width > 0)
                memcpy(&stored, bytes.data() + r * width, width);
            const unsigned shift = 128 - 8 * static_cast<unsigned>(std::max<size_t>(width, 1));
            const bool is_signed = type != Type::Bool && type != Type::Code; // (bits of floats are taken as integers)
            value[r] = !frame.is_whole() ? static_cast<int128>(stored) + frame.base
                       : is_signed       ? static_cast<int128>(stored << shift) >> shift
                                         : static_cast<int128>(stored);
        }
        if (nulls)
            device.download(null.data(), *nulls, 0, rows);
    }
};

inline std::vector<Frame> frames_of(Type type, int64_t base) {
    std::vector<Frame> frames = {Frame()};
    if (is_float(type))
        return frames;
    for (uint8_t width : {0, 1, 2, 4, 8})
        if (width < type_width(type) && (width == 8 || base <= INT64_MAX - ((int64_t(1) << 8 * width) - 1)))
            frames.push_back({width, base});
    return frames;
}

struct PackCheck {
    FramedColumn source, target;
    std::vector<int128> want;
    std::vector<uint8_t> want_null;
    PackJob job;
};

// All at once, some of which have nothing to do.
inline void check_packs(Device &device, std::vector<std::unique_ptr<PackCheck>> &checks) {
    std::vector<PackJob> jobs;
    for (const std::unique_ptr<PackCheck> &check : checks) {
        PackJob nothing = check->job;
        nothing.runs.clear();
        jobs.push_back(nothing);
        jobs.push_back(check->job);
    }
    device.pack(jobs);
    for (const std::unique_ptr<PackCheck> &check : checks) {
        SCOPED_TRACE("from " + std::to_string(check->source.frame.width) + " to " +
                     std::to_string(check->target.frame.width));
        check->target.download(device);
        for (size_t r = 0; r < check->want.size(); ++r) {
            ASSERT_TRUE(check->target.value[r] == check->want[r]) << "row " << r;
            ASSERT_EQ(check->target.null[r], check->want_null[r]) << "row " << r;
        }
    }
    checks.clear();
}

// Every type, from every frame into every frame, values at the edges of both.
inline void check_pack_all(Device &device) {
    std::mt19937_64 random(7);
    const std::vector<std::pair<int64_t, int64_t>> bases = {
        {0, 0}, {-5, 3}, {INT64_MIN, INT64_MIN}, {INT64_MAX - 300, INT64_MAX - 255}, {1000, 1000}};
    for (int t = 0; t < type_count; ++t)
        for (const auto &base : bases) {
            const Type type = static_cast<Type>(t);
            const bool unsigned_type = type == Type::Bool || type == Type::Code;
            const size_t bits = type_width(type) * 8;
            // Bounds of the type; bases outside of them cannot be.
            const int128 top = unsigned_type ? (static_cast<int128>(1) << (type == Type::Bool ? 1 : 32)) - 1
                                             : static_cast<int128>((static_cast<uint128>(1) << (bits - 1)) - 1);
            const int128 bottom = unsigned_type ? 0 : -top - 1;
            if (base.first < bottom || base.first > top || base.second < bottom || base.second > top)
                continue;
            SCOPED_TRACE("type " + std::to_string(t) + " base " + std::to_string(base.first));
            std::vector<std::unique_ptr<PackCheck>> checks;
            for (Frame from : frames_of(type, base.first))
                for (Frame to : frames_of(type, base.second)) {
                    if (is_float(type) && (!from.is_whole() || !to.is_whole()))
                        continue;
                    constexpr uint32_t rows = 300;
                    auto check = std::make_unique<PackCheck>();
                    FramedColumn &source = check->source, &target = check->target;
                    source.type = target.type = type;
                    source.frame = from;
                    target.frame = to;
                    const int128 from_low = from.is_whole() ? bottom : from.base;
                    const int128 span = from.is_whole() ? top - bottom : (static_cast<int128>(1) << 8 * from.width) - 1;
                    const int128 from_high = std::min<int128>(top, from_low + span);
                    for (uint32_t r = 0; r < rows; ++r) {
                        const int128 near[] = {from_low,
                                               from_high,
                                               to.base,
                                               int128(to.base) + 255,
                                               int128(to.base) + 256,
                                               int128(to.base) + 65536,
                                               int128(to.base) - 1,
                                               from_low + static_cast<int128>(random() % 1000)};
                        int128 v = near[random() % 8];
                        v = std::max(from_low, std::min(from_high, v));
                        // No frame of a column has a base that 64 bits do not hold beside values that they do not.
                        if (!to.is_whole() || !from.is_whole())
                            v = std::max<int128>(INT64_MIN, std::min<int128>(INT64_MAX, v));
                        source.value.push_back(v);
                        source.null.push_back(random() % 4 == 0);
                        target.value.push_back(to.is_whole() ? 0 : to.base);
                        target.null.push_back(1);
                    }
                    const bool nulls = random() % 2 == 0;
                    source.upload(device, nulls);
                    target.upload(device, true);
                    PackJob &job = check->job;
                    job.type = type;
                    job.from_frame = from;
                    job.to_frame = to;
                    job.from = source.values.get();
                    job.to = target.values.get();
                    job.from_nulls = source.nulls.get();
                    job.to_nulls = target.nulls.get();
                    job.runs = {{0, 100, 50}, {60, 3, 33}, {200, 200, 100}, {50, 99, 1}};
                    std::vector<int128> &want = check->want = target.value;
                    std::vector<uint8_t> &want_null = check->want_null = target.null;
                    for (const RowRun &run : job.runs)
                        for (uint32_t i = 0; i < run.count; ++i) {
                            const int128 v = source.value[run.from + i];
                            const int128 most = to.is_whole() ? 0 : (static_cast<int128>(1) << 8 * to.width) - 1;
                            const bool fits = to.is_whole() || (v >= to.base && v - to.base <= most);
                            want[run.to + i] = fits ? v : to.base;
                            want_null[run.to + i] = nulls ? source.null[run.from + i] : 0;
                        }
                    checks.push_back(std::move(check));
                }
            check_packs(device, checks);
        }
}

} // namespace gpuscan::test
