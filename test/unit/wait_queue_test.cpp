// Backends that wait for a request slot are served in the order in which they came, whoever leaves and whenever.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "server/wait_queue.hpp"

namespace gpuscan {
namespace {

// (In the shared area all is zero at first.)
std::unique_ptr<WaitQueue> empty_queue() { return std::make_unique<WaitQueue>(); }

TEST(WaitQueue, OrderOfArrival) {
    const auto queue = empty_queue();
    const uint32_t first = queue->enter(), second = queue->enter(), third = queue->enter();
    EXPECT_EQ(queue->before(first), 0u);
    EXPECT_EQ(queue->before(second), 1u);
    EXPECT_EQ(queue->before(third), 2u);
    queue->leave(second);
    EXPECT_EQ(queue->before(third), 1u);
    const uint32_t fourth = queue->enter(); // in the entry that has become free
    EXPECT_EQ(fourth, second);
    EXPECT_EQ(queue->before(fourth), 2u);
    queue->leave(first);
    EXPECT_EQ(queue->before(third), 0u);
    EXPECT_EQ(queue->length(), 2u);
}

TEST(WaitQueue, OnlyTheFirstIsWoken) {
    const auto queue = empty_queue();
    const uint32_t first = queue->enter(), second = queue->enter();
    const uint32_t of_first = queue->wakes(first), of_second = queue->wakes(second);
    queue->wake_first();
    EXPECT_EQ(queue->wakes(first), of_first + 1);
    EXPECT_EQ(queue->wakes(second), of_second);
    queue->leave(first); // wakes the next
    EXPECT_EQ(queue->wakes(second), of_second + 1);
}

TEST(WaitQueue, Full) {
    const auto queue = empty_queue();
    std::vector<uint32_t> entries;
    for (uint32_t i = 0; i < WaitQueue::capacity; ++i)
        entries.push_back(queue->enter());
    EXPECT_EQ(queue->enter(), WaitQueue::no_entry);
    EXPECT_EQ(queue->length(), WaitQueue::capacity);
    queue->leave(entries[7]);
    EXPECT_EQ(queue->enter(), entries[7]);
}

// Threads share one slot: each that is first takes it when it is free. Nobody overtakes, nobody sleeps for ever.
TEST(WaitQueue, OneSlotForManyThreads) {
    const auto queue = empty_queue();
    std::atomic<int> holders{0}, turns{0};
    std::atomic<bool> overlap{false};
    constexpr int threads = 8, rounds = 200;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                const uint32_t entry = queue->enter();
                for (;;) {
                    const uint32_t seen = queue->wakes(entry);
                    int none = 0;
                    if (queue->before(entry) == 0 && holders.compare_exchange_strong(none, 1))
                        break;
                    queue->sleep(entry, seen, 1000);
                }
                queue->leave(entry);
                if (holders.load() != 1)
                    overlap = true;
                ++turns;
                holders.store(0);
                queue->wake_first();
            }
        });
    for (std::thread &thread : all)
        thread.join();
    EXPECT_EQ(turns.load(), threads * rounds);
    EXPECT_FALSE(overlap.load());
    EXPECT_EQ(queue->length(), 0u);
}

} // namespace
} // namespace gpuscan
