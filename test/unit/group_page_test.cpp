// Replies hold groups in as few bytes as their values need, and give back what they were.
#include <random>

#include "device_client.hpp"

namespace gpuscan {
namespace {

using namespace protocol;
using namespace test;

TEST(GroupPage, GivesBackWhatItWasGiven) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 60; ++round) {
        const uint32_t nkeys = static_cast<uint32_t>(random() % 4), naggregates = static_cast<uint32_t>(random() % 4);
        GroupTable groups;
        groups.ngroups = round < 4 ? static_cast<size_t>(round) : random() % 3000;
        if (round == 59) // more than a reply
            groups.ngroups = 200000;
        groups.keys.resize(groups.ngroups * nkeys);
        groups.key_nulls.resize(groups.ngroups * nkeys);
        groups.states.resize(groups.ngroups * naggregates);
        // Per column: a byte, some bits, everything, negative numbers, floats' bits, constants.
        auto value = [&random](unsigned kind, uint64_t *low, int64_t *high) {
            const uint64_t bits = random();
            *low = kind == 0   ? bits % 256
                   : kind == 1 ? 1000000 + bits % 100000
                   : kind == 2 ? bits
                   : kind == 3 ? static_cast<uint64_t>(-static_cast<int64_t>(bits % 1000))
                   : kind == 4 ? bits | uint64_t(1) << 63
                               : 42;
            *high = kind == 2 ? static_cast<int64_t>(random()) : kind == 3 && static_cast<int64_t>(*low) < 0 ? -1 : 0;
        };
        for (uint32_t k = 0; k < nkeys; ++k) {
            const unsigned kind = static_cast<unsigned>(random() % 6);
            const bool nulls = random() % 2 == 0;
            for (size_t g = 0; g < groups.ngroups; ++g) {
                ir::Value &v = groups.keys[g * nkeys + k];
                value(kind, &v.low, &v.high);
                groups.key_nulls[g * nkeys + k] = nulls && random() % 3 == 0;
            }
        }
        for (uint32_t a = 0; a < naggregates; ++a) {
            const unsigned kind = static_cast<unsigned>(random() % 6);
            for (size_t g = 0; g < groups.ngroups; ++g) {
                ir::AggregateState &s = groups.states[g * naggregates + a];
                s.count = static_cast<int64_t>(random() % (kind == 1 ? 1 : 1000));
                value(kind, &s.low, &s.high);
            }
        }
        size_t done = 0;
        do {
            std::vector<uint8_t> buffer(slot_buffer_size);
            MessageWriter out(buffer.data(), buffer.size());
            const size_t n = write_group_page(groups, done, nkeys, naggregates, out);
            ASSERT_TRUE(n > 0 || groups.ngroups == 0);
            Answer answer;
            answer.bytes.assign(reinterpret_cast<const char *>(buffer.data()), out.size());
            ASSERT_EQ(answer.head<FetchReply>().ngroups, n);
            const UnpackedGroups got = unpack(answer, nkeys, naggregates);
            for (size_t i = 0; i < n * nkeys; ++i) {
                const size_t at = done * nkeys + i;
                ASSERT_EQ(got.key_nulls[i], groups.key_nulls[at]);
                if (got.key_nulls[i] != 0)
                    continue;
                ASSERT_EQ(got.keys[i].low, groups.keys[at].low);
                ASSERT_EQ(got.keys[i].high, groups.keys[at].high);
            }
            for (size_t i = 0; i < n * naggregates; ++i)
                ASSERT_EQ(memcmp(&got.states[i], &groups.states[done * naggregates + i], sizeof got.states[i]), 0);
            done += n;
        } while (done < groups.ngroups);
    }
}

TEST(GroupPage, RefusesOtherForms) {
    GroupTable groups;
    groups.ngroups = 100;
    groups.keys.resize(100);
    groups.key_nulls.resize(100, 0);
    groups.states.resize(100);
    for (size_t g = 0; g < 100; ++g) {
        groups.keys[g] = {g * 1000, 0};
        groups.states[g] = {int64_t(g), g, 0};
    }
    std::vector<uint8_t> buffer(slot_buffer_size);
    MessageWriter out(buffer.data(), buffer.size());
    ASSERT_EQ(write_group_page(groups, 0, 1, 1, out), 100u);
    std::vector<GroupPart> parts(8);
    EXPECT_TRUE(open_group_page(buffer.data(), out.size(), 1, 1, parts.data()));
    EXPECT_FALSE(open_group_page(buffer.data(), out.size(), 2, 1, parts.data()));
    EXPECT_FALSE(open_group_page(buffer.data(), out.size() - 8, 1, 1, parts.data()));
    EXPECT_FALSE(open_group_page(buffer.data(), 8, 1, 1, parts.data()));
    buffer[sizeof(FetchReply) + offsetof(GroupColumn, width)] = 3;
    EXPECT_FALSE(open_group_page(buffer.data(), out.size(), 1, 1, parts.data()));
}

} // namespace
} // namespace gpuscan
