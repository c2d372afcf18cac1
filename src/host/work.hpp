// What a step of an execution needs to spread its work over the device's threads, to count its memory and to be stopped.
#pragma once

#include <algorithm>
#include <atomic>

#include "engine/device.hpp"
#include "host/thread_pool.hpp"

namespace gpuscan::host {

// Rows, groups or slots of one task: nowhere more than some milliseconds, so that a cancel is noticed in time.
constexpr size_t piece_rows = 64 * 1024;

struct WorkContext {
    ThreadPool &pool;
    const std::atomic<uint32_t> *cancel; // may be nullptr
    WorkMemoryRef memory;

    void check_cancel() const {
        if (cancel != nullptr && cancel->load(std::memory_order_relaxed) != 0)
            throw Cancelled();
    }

    // Calls task(begin, end) for pieces of [0, count), by all threads.
    template <class Task> void pieces(size_t count, size_t piece, Task task) const {
        pool.run((count + piece - 1) / piece, [&](size_t index, unsigned) {
            check_cancel();
            task(index * piece, std::min(count, (index + 1) * piece));
        });
    }

    // Calls take(), which charges no more than so many bytes, for what is of use but not needed; false where there is no room for them.
    template <class Take> bool if_there_is_room(size_t bytes, Take take) const {
        if (!memory->has_room(bytes))
            return false;
        try {
            take();
            return true;
        } catch (const OutOfWorkMemory &) {
            return false;
        }
    }

    // Makes the array `size` long, every value `value`; what it held is lost.
    template <class T> void fill(WorkArray<T> &array, size_t size, T value) const {
        array.release();
        array.reserve(size);
        array.resize(size);
        pieces(size, size_t(1) << 20,
               [&](size_t begin, size_t end) { std::fill(array.begin() + begin, array.begin() + end, value); });
    }
};

} // namespace gpuscan::host
