// Slices by threads of a moment (engine/util/in_parallel.hpp), where the system gives them and where it does not.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>

#include "engine/util/in_parallel.hpp"

namespace gpuscan {
namespace {

// How many of n numbers have been in a slice, each of which has come once.
uint64_t covered(unsigned threads, uint64_t n) {
    std::vector<std::pair<uint64_t, uint64_t>> slices(threads);
    in_slices(threads, n, [&](unsigned t, uint64_t first, uint64_t last) { slices.at(t) = {first, last}; });
    uint64_t end = 0;
    for (const auto &[first, last] : slices) {
        EXPECT_EQ(end, first);
        end = last;
    }
    return end;
}

TEST(InParallel, SlicesCoverAll) {
    for (const unsigned threads : {1u, 2u, 7u})
        for (const uint64_t n : {uint64_t(0), uint64_t(1), uint64_t(6), uint64_t(1000003)})
            EXPECT_EQ(n, covered(threads, n));
}

TEST(InParallel, ErrorsGoOn) {
    EXPECT_THROW(in_slices(3, 3,
                           [](unsigned t, uint64_t, uint64_t) {
                               if (t == 2)
                                   throw std::runtime_error("of a helper");
                           }),
                 std::runtime_error);
}

// In a process of its own that has room for the stack of one thread more.
void work_with_one_helper() {
    constexpr size_t stack = size_t(1) << 30;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    pthread_setattr_default_np(&attributes);
    size_t pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    const int read = fscanf(statm, "%zu", &pages);
    const rlim_t bytes = pages * 4096 + stack * 3 / 2;
    const rlimit limit{bytes, bytes};
    if (read != 1 || setrlimit(RLIMIT_AS, &limit) != 0)
        _exit(2);
    std::atomic<unsigned> helped{0};
    const pthread_t self = pthread_self();
    std::atomic<uint64_t> done{0};
    in_slices(4, 1000, [&](unsigned, uint64_t first, uint64_t last) {
        done += last - first;
        helped += !pthread_equal(self, pthread_self());
    });
    _exit(done == 1000 && helped == 1 ? 0 : 1);
}

TEST(InParallel, ThreadsThatCannotBeStartedAreNotMissed) {
    EXPECT_EXIT(work_with_one_helper(), testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace gpuscan
