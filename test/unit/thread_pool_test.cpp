// Who does the work of the host device: as many threads as there are tasks.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "host/thread_pool.hpp"

namespace gpuscan {
namespace {

// Tasks that wait for each other end only if each has a thread of its own; nobody waits for ever, since they give up.
bool meet(ThreadPool &pool, unsigned count) {
    std::atomic<unsigned> here{0};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    pool.run(count, [&](size_t, unsigned) {
        ++here;
        while (here < count && std::chrono::steady_clock::now() < end)
            std::this_thread::yield();
        if (std::chrono::steady_clock::now() >= end)
            here = 2 * count; // the others need not wait as long
    });
    return here == count;
}

TEST(ThreadPoolTest, WakesAThreadForEachTask) {
    constexpr unsigned threads = 5;
    ThreadPool pool(threads);
    for (int round = 0; round < 200; ++round)
        for (unsigned count = 1; count <= threads; ++count)
            ASSERT_TRUE(meet(pool, count)) << count;
}

TEST(ThreadPoolTest, DoesEachTaskOnceWhateverTheirNumber) {
    ThreadPool pool(4);
    for (size_t count = 0; count < 40; ++count) {
        std::vector<std::atomic<int>> done(count);
        pool.run(count, [&](size_t task, unsigned) {
            ++done[task];
            pool.run(2, [](size_t, unsigned) {}); // from within
        });
        for (const std::atomic<int> &times : done)
            EXPECT_EQ(times, 1);
    }
}

} // namespace
} // namespace gpuscan
