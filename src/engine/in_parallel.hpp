// Work on groups, or on texts, by several threads of a moment: for what happens once in an execution, or with a window of pages, and is
// worth the starting of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace gpuscan {

constexpr uint64_t groups_per_thread = 64 * 1024;
constexpr unsigned most_group_threads = 8;

// How many threads so many groups, or whatever else there is `per_thread` of, are worth.
inline unsigned group_threads(uint64_t n, uint64_t per_thread = groups_per_thread) {
    const unsigned cores = std::max(1u, std::min(most_group_threads, std::thread::hardware_concurrency()));
    return static_cast<unsigned>(std::min<uint64_t>(cores, n / per_thread + 1));
}

// work(thread, first, last) over slices of 0..n-1, in their order. The first exception goes on.
template <class Work> void in_slices(uint64_t n, const Work &work, uint64_t per_thread = groups_per_thread) {
    const unsigned threads = group_threads(n, per_thread);
    std::vector<std::exception_ptr> errors(threads);
    auto run = [&](unsigned t) {
        try {
            work(t, n * t / threads, n * (t + 1) / threads);
        } catch (...) {
            errors[t] = std::current_exception();
        }
    };
    std::vector<std::thread> helpers;
    for (unsigned t = 1; t < threads; ++t)
        helpers.emplace_back(run, t);
    run(0);
    for (std::thread &helper : helpers)
        helper.join();
    for (const std::exception_ptr &error : errors)
        if (error)
            std::rethrow_exception(error);
}

} // namespace gpuscan
