// Sets of pairs of a group and a value, by one thread: no pair is lost or there twice in the end, and repetitions take no memory for long.
#include <gtest/gtest.h>

#include <set>

#include "host/value_set.hpp"

namespace gpuscan::host {
namespace {

using Pair = std::tuple<uint32_t, uint64_t, uint64_t>;

// Adds `values` values `rounds` times; answers the pairs that are there in the end.
std::multiset<Pair> collect(uint32_t values, int rounds, size_t *kept) {
    ThreadPool pool(1);
    const WorkContext work{pool, nullptr, std::make_shared<WorkMemory>()};
    std::multiset<Pair> all;
    {
        ValueSet set(work, 42);
        for (int round = 0; round < rounds; ++round)
            for (uint32_t i = 0; i < values; ++i)
                set.add(i % 5, i / 5 * 0x9e3779b97f4a7c15u, i % 3 == 0 ? UINT64_MAX : 0);
        set.end();
        *kept = 0;
        WorkArray<uint32_t> slots;
        CancelPoint cancel;
        for (size_t part = 0; part < ValueSet::parts; ++part) {
            WorkArray<ValuePair> pairs;
            pairs.append(set.part(part).data(), set.part(part).size());
            *kept += pairs.size();
            remove_repetitions(pairs, slots, cancel);
            for (const ValuePair &pair : pairs)
                all.emplace(pair.group - 1, pair.low, pair.high);
        }
    }
    EXPECT_EQ(0u, work.memory->used());
    return all;
}

TEST(ValueSet, PairsOnce) {
    for (uint32_t values : {0u, 1u, 2047u, 5000u, 300000u}) {
        SCOPED_TRACE(values);
        size_t kept = 0;
        const std::multiset<Pair> got = collect(values, 3, &kept);
        std::multiset<Pair> want;
        for (uint32_t i = 0; i < values; ++i)
            want.emplace(i % 5, i / 5 * 0x9e3779b97f4a7c15u, i % 3 == 0 ? UINT64_MAX : 0);
        EXPECT_TRUE(want == got);
    }
}

TEST(ValueSet, RepetitionsGo) {
    size_t kept = 0;
    EXPECT_EQ(50000u, collect(50000, 100, &kept).size());
    EXPECT_LE(kept, 4096 * ValueSet::parts + 4096); // of 5,000,000
}

TEST(ValueSet, Cancel) {
    WorkArray<ValuePair> pairs;
    for (uint32_t i = 0; i < 100000; ++i)
        pairs.push_back({i, 0, 1, i});
    WorkArray<uint32_t> slots;
    const std::atomic<uint32_t> cancelled{1};
    CancelPoint cancel(&cancelled);
    EXPECT_THROW(remove_repetitions(pairs, slots, cancel), Cancelled);
}

} // namespace
} // namespace gpuscan::host
