// The host device's inner loops exist once per instruction set, some with code of their own: all must agree with the
// plain ones on the same vectors.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "engine/host/batch.hpp"
#include "engine/host/kernel_tables.hpp"

namespace gpuscan::host {

namespace {

// The tables that this machine can run, but for the plain one.
std::vector<const Kernels *> others() {
    std::vector<const Kernels *> tables;
#ifdef __x86_64__
    if (avx2::can_run())
        tables.push_back(&avx2::table);
    if (avx512::can_run())
        tables.push_back(&avx512::table);
#endif
    return tables;
}

const uint32_t lengths[] = {0, 1, 15, 16, 17, 31, 32, 33, 100, batch_rows - 1, batch_rows};

std::vector<uint32_t> positions() { return std::vector<uint32_t>(batch_rows + batch_slack); }

TEST(HostKernels, SelectAgrees) {
    std::mt19937 random(1);
    for (const Kernels *k : others())
        for (uint32_t n : lengths)
            for (unsigned share : {0u, 1u, 50u, 100u}) { // per cent that are true
                std::vector<uint8_t> truth(n), nulls(n);
                for (uint32_t i = 0; i < n; ++i) {
                    truth[i] = random() % 100 < share;
                    nulls[i] = random() % 4 == 0;
                }
                for (bool with_nulls : {false, true}) {
                    const uint8_t *absent = with_nulls ? nulls.data() : nullptr;
                    std::vector<uint32_t> expected = positions(), got = positions();
                    const uint32_t count = base::table.select(n, truth.data(), absent, expected.data());
                    ASSERT_EQ(count, k->select(n, truth.data(), absent, got.data())) << k->name << " " << n;
                    expected.resize(count);
                    got.resize(count);
                    ASSERT_EQ(expected, got) << k->name << " " << n;
                }
            }
}

// Keys below, in and above the domain, at both ends of the type too: none may wrap into it.
TEST(HostKernels, ProbeBitmapAgrees) {
    struct Domain {
        int64_t min;
        uint64_t size;
    };
    const Domain domains[] = {
        {0, 1},        {1, 1000}, {-500, 1000}, {INT32_MIN, 1000}, {INT32_MIN, 1 << 20}, {INT32_MAX - 999, 1000},
        {INT32_MAX, 1}};
    std::mt19937 random(2);
    for (const Kernels *k : others())
        for (const Domain &d : domains) {
            std::vector<uint32_t> bitmap(d.size / 32 + 1);
            for (uint32_t &word : bitmap)
                word = static_cast<uint32_t>(random());
            if (d.size % 32 != 0)
                bitmap.back() &= (1u << d.size % 32) - 1;
            else
                bitmap.back() = 0;
            for (uint32_t n : lengths) {
                std::vector<int32_t> keys(n);
                std::vector<uint8_t> nulls(n);
                for (uint32_t i = 0; i < n; ++i) {
                    const int32_t extremes[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX - 1, INT32_MAX};
                    const int64_t near = d.min - 2 + static_cast<int64_t>(random() % (d.size + 4));
                    keys[i] = random() % 8 == 0 ? extremes[random() % 7] : static_cast<int32_t>(near);
                    nulls[i] = random() % 4 == 0;
                }
                for (bool with_nulls : {false, true}) {
                    const uint8_t *absent = with_nulls ? nulls.data() : nullptr;
                    std::vector<uint32_t> expected = positions(), got = positions();
                    std::vector<uint32_t> expected_slots = positions(), got_slots = positions();
                    const uint32_t count =
                        base::table.probe_bitmap(Type::I32, n, keys.data(), absent, d.min, d.size, bitmap.data(),
                                                 expected.data(), expected_slots.data());
                    ASSERT_EQ(count, k->probe_bitmap(Type::I32, n, keys.data(), absent, d.min, d.size, bitmap.data(),
                                                     got.data(), got_slots.data()))
                        << k->name << " " << n << " from " << d.min;
                    for (auto *v : {&expected, &got, &expected_slots, &got_slots})
                        v->resize(count);
                    ASSERT_EQ(expected, got) << k->name << " " << n << " from " << d.min;
                    ASSERT_EQ(expected_slots, got_slots) << k->name << " " << n << " from " << d.min;
                }
            }
        }
}

} // namespace
} // namespace gpuscan::host
