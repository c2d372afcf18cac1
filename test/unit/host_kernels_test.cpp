// The host device's inner loops exist once per instruction set, some with code of their own: all must agree with the
// plain ones on the same vectors.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "host/batch.hpp"
#include "host/kernels/kernel_tables.hpp"

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

TEST(HostKernels, CountAgrees) {
    std::mt19937 random(1);
    for (const Kernels *k : others())
        for (uint32_t n : lengths) {
            std::vector<uint8_t> flags(n);
            for (uint8_t &flag : flags)
                flag = random() % 2;
            ASSERT_EQ(base::table.count(n, flags.data()), k->count(n, flags.data())) << k->name << " " << n;
        }
}

TEST(HostKernels, ExpandAgrees) {
    std::mt19937_64 random(1);
    for (const Kernels *k : others())
        for (uint32_t n : lengths) {
            std::vector<uint64_t> words(n / 64 + 1);
            for (uint64_t &word : words)
                word = random();
            std::vector<uint8_t> expected(n + batch_slack), got(n + batch_slack);
            base::table.expand(n, words.data(), expected.data());
            k->expand(n, words.data(), got.data());
            expected.resize(n);
            got.resize(n);
            ASSERT_EQ(expected, got) << k->name << " " << n;
        }
}

// Numerics of a column in any mixture, and bytes that are none: the same answer, and where all are small the same values and
// bounds.
TEST(HostKernels, SmallNumericsAgree) {
    std::mt19937_64 random(1);
    for (const Kernels *k : others())
        for (int round = 0; round < 40000; ++round) {
            const int scale = static_cast<int>(random() % 70) - 1;
            const SmallNumeric format(scale);
            const uint32_t n = static_cast<uint32_t>(random() % 20);
            const bool damaged = random() % 2;
            std::vector<uint8_t> page(n * 24 + 16);
            std::vector<uint32_t> at(n), lengths(n);
            for (uint8_t &byte : page)
                byte = static_cast<uint8_t>(random() % 4 ? random() % 40 : random());
            for (uint32_t i = 0; i < n; ++i) {
                at[i] = i * 24 + static_cast<uint32_t>(random() % 8);
                const int behind = (scale + 3) / 4;
                const uint32_t digits = static_cast<uint32_t>(random() % 5);
                // The last digit counts 10^-(4 * behind) or more; its zeros are those that the scale does not have.
                const int weight = static_cast<int>(digits) - behind - 1 + static_cast<int>(random() % (5 - digits));
                const uint16_t header = static_cast<uint16_t>(0x8000 | (random() & 0x2000) | (scale & 63) << 7 |
                                                              (digits == 0 ? 0 : weight & 0x7f));
                memcpy(&page[at[i]], &header, 2);
                for (uint32_t d = 0; d < digits; ++d) {
                    static constexpr uint32_t unit[4] = {1, 10, 100, 1000};
                    uint16_t digit = static_cast<uint16_t>(random() % 10000);
                    digit = static_cast<uint16_t>(digit - digit % unit[(4 * behind - scale) & 3]);
                    memcpy(&page[at[i] + 2 + 2 * d], &digit, 2);
                }
                lengths[i] = 2 + 2 * digits;
                if (damaged && random() % 8 == 0)
                    lengths[i] = static_cast<uint32_t>(random() % 16);
                if (damaged && random() % 8 == 0)
                    page[at[i] + random() % 10] = static_cast<uint8_t>(random());
            }
            std::vector<int64_t> want(n), got(n);
            int64_t want_least, want_most, least, most;
            const uint64_t wrong = base::table.small_numerics(format, page.data(), n, at.data(), lengths.data(),
                                                              want.data(), &want_least, &want_most);
            const uint64_t wrong_too =
                k->small_numerics(format, page.data(), n, at.data(), lengths.data(), got.data(), &least, &most);
            ASSERT_EQ(wrong == 0, wrong_too == 0) << k->name << " round " << round;
            if (!damaged && scale >= 0 && scale <= 12) {
                ASSERT_EQ(0u, wrong) << "scale " << scale;
            }
            if (wrong != 0)
                continue;
            ASSERT_EQ(want, got) << k->name << " round " << round;
            ASSERT_EQ(want_least, least);
            ASSERT_EQ(want_most, most);
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
