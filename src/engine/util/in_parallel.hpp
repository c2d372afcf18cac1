// Work on groups, or on texts, by several threads of a moment: for what happens once in an execution, or with a window of pages, and is
// worth the starting of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "engine/util/crash_handler.hpp"

namespace gpuscan {

constexpr uint64_t groups_per_thread = 8 * 1024; // of 20 to 60 ns each, while a thread takes some 30 us to start

// How many threads so many groups, or whatever else there is `per_thread` of, are worth.
inline unsigned threads_worth(uint64_t n, uint64_t per_thread = groups_per_thread) {
    constexpr unsigned most = 8;
    static const unsigned cores = std::max(1u, std::min(most, std::thread::hardware_concurrency()));
    return static_cast<unsigned>(std::min<uint64_t>(cores, n / per_thread + 1));
}

// work(thread, first, last) over `threads` slices of 0..n-1, in their order, with thread = 0 .. threads - 1. Where the system gives no
// more threads, this one does what is left. The first exception goes on.
template <class Work> void in_slices(unsigned threads, uint64_t n, const Work &work) {
    std::vector<std::exception_ptr> errors(threads);
    auto run = [&, slot = working_for()](unsigned t) {
        const WorkingFor working(slot);
        try {
            work(t, n * t / threads, n * (t + 1) / threads);
        } catch (...) {
            errors[t] = std::current_exception();
        }
    };
    std::vector<std::thread> helpers;
    helpers.reserve(threads);
    unsigned next = 1;
    try {
        for (; next < threads; ++next)
            helpers.emplace_back(run, next);
    } catch (const std::exception &) {
    }
    run(0);
    for (; next < threads; ++next)
        run(next);
    for (std::thread &helper : helpers)
        helper.join();
    for (const std::exception_ptr &error : errors)
        if (error)
            std::rethrow_exception(error);
}

} // namespace gpuscan
