// Moving rows of a column into another frame on the CPU: by way of a small block of 64-bit values, so that there is one
// loop for every width on either side.
#include "host/pack.hpp"

#include <algorithm>
#include <cstring>

#include "engine/device.hpp"

namespace gpuscan {
namespace {

constexpr uint32_t block_rows = 2048;
constexpr uint32_t task_rows = 64 * 1024;

template <class Stored> void add_base(const uint8_t *from, uint32_t n, int64_t base, int64_t *values) {
    const Stored *x = reinterpret_cast<const Stored *>(from);
    for (uint32_t i = 0; i < n; ++i)
        values[i] =
            static_cast<int64_t>(static_cast<uint64_t>(base) + static_cast<uint64_t>(static_cast<int64_t>(x[i])));
}

// What 64 bits do not hold becomes `other`.
void narrow_wide(const uint8_t *from, uint32_t n, int64_t other, int64_t *values) {
    const int128 *x = reinterpret_cast<const int128 *>(from);
    for (uint32_t i = 0; i < n; ++i)
        values[i] = x[i] == static_cast<int64_t>(x[i]) ? static_cast<int64_t>(x[i]) : other;
}

void load(Frame frame, Type type, const uint8_t *from, uint32_t n, int64_t other, int64_t *values) {
    switch (frame.width) {
    case 0:
        std::fill_n(values, n, frame.base);
        return;
    case 1:
        return add_base<uint8_t>(from, n, frame.base, values);
    case 2:
        return add_base<uint16_t>(from, n, frame.base, values);
    case 4:
        return add_base<uint32_t>(from, n, frame.base, values);
    case 8:
        return add_base<uint64_t>(from, n, frame.base, values);
    default:
        break;
    }
    switch (type) {
    case Type::Bool:
        return add_base<uint8_t>(from, n, 0, values);
    case Type::I16:
        return add_base<int16_t>(from, n, 0, values);
    case Type::I32:
        return add_base<int32_t>(from, n, 0, values);
    case Type::Code:
        return add_base<uint32_t>(from, n, 0, values);
    case Type::I128:
        return narrow_wide(from, n, other, values);
    default:
        return add_base<int64_t>(from, n, 0, values);
    }
}

template <class Stored> void take_base(const int64_t *values, uint32_t n, int64_t base, uint8_t *to) {
    Stored *x = reinterpret_cast<Stored *>(to);
    constexpr uint64_t most = static_cast<uint64_t>(static_cast<Stored>(-1));
    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t d = static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(base);
        x[i] = (values[i] >= base) & (d <= most) ? static_cast<Stored>(d) : Stored(0);
    }
}

template <class T> void store_whole(const int64_t *values, uint32_t n, uint8_t *to) {
    T *x = reinterpret_cast<T *>(to);
    for (uint32_t i = 0; i < n; ++i)
        x[i] = static_cast<T>(values[i]);
}

void store(Frame frame, Type type, const int64_t *values, uint32_t n, uint8_t *to) {
    switch (frame.width) {
    case 0:
        return;
    case 1:
        return take_base<uint8_t>(values, n, frame.base, to);
    case 2:
        return take_base<uint16_t>(values, n, frame.base, to);
    case 4:
        return take_base<uint32_t>(values, n, frame.base, to);
    case 8:
        return take_base<uint64_t>(values, n, frame.base, to);
    default:
        break;
    }
    switch (type_width(type)) {
    case 1:
        return store_whole<uint8_t>(values, n, to);
    case 2:
        return store_whole<int16_t>(values, n, to);
    case 4:
        return store_whole<int32_t>(values, n, to);
    case 8:
        return store_whole<int64_t>(values, n, to);
    default:
        return store_whole<int128>(values, n, to);
    }
}

void move_rows(const PackJob &job, RowRun run) {
    const size_t from_bytes = job.from_frame.bytes(job.type), to_bytes = job.to_frame.bytes(job.type);
    if (to_bytes > 0) {
        const uint8_t *from =
            from_bytes == 0 ? nullptr : static_cast<const uint8_t *>(job.from->data) + size_t(run.from) * from_bytes;
        uint8_t *to = static_cast<uint8_t *>(job.to->data) + size_t(run.to) * to_bytes;
        if (job.from_frame == job.to_frame) {
            memcpy(to, from, size_t(run.count) * to_bytes);
        } else {
            alignas(64) int64_t values[block_rows];
            for (uint32_t done = 0; done < run.count; done += block_rows) {
                const uint32_t n = std::min(block_rows, run.count - done);
                load(job.from_frame, job.type, from == nullptr ? nullptr : from + done * from_bytes, n,
                     job.to_frame.base, values);
                store(job.to_frame, job.type, values, n, to + done * to_bytes);
            }
        }
    }
    if (job.to_nulls == nullptr)
        return;
    uint8_t *nulls = static_cast<uint8_t *>(job.to_nulls->data) + run.to;
    if (job.from_nulls != nullptr)
        memcpy(nulls, static_cast<const uint8_t *>(job.from_nulls->data) + run.from, run.count);
    else
        memset(nulls, 0, run.count);
}

} // namespace

void pack_rows(ThreadPool &pool, const PackJob &job) {
    check_pack(job);
    std::vector<RowRun> tasks;
    for (const RowRun &run : job.runs)
        for (uint32_t done = 0; done < run.count; done += task_rows)
            tasks.push_back({run.from + done, run.to + done, std::min(task_rows, run.count - done)});
    pool.run(tasks.size(), [&](size_t task, unsigned) { move_rows(job, tasks[task]); });
}

} // namespace gpuscan
