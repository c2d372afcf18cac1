// Ranks of a dictionary's texts: against std::sort, with texts that share long beginnings, end in zeros or blanks, and come later.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/device.hpp"
#include "engine/store/text_order.hpp"

namespace gpuscan {
namespace {

const RunTasks two_threads = [](size_t count, const std::function<void(size_t)> &task) {
    std::thread other([&] {
        for (size_t i = 1; i < count; i += 2)
            task(i);
    });
    for (size_t i = 0; i < count; i += 2)
        task(i);
    other.join();
};

const RunTasks one_thread = [](size_t count, const std::function<void(size_t)> &task) {
    for (size_t i = 0; i < count; ++i)
        task(i);
};

std::string trimmed(std::string text, bool without_blanks) {
    while (without_blanks && !text.empty() && text.back() == ' ')
        text.pop_back();
    return text;
}

void expect_ranks(const Dictionary &dictionary, const LookupTable &table, bool without_blanks) {
    const size_t n = table.entries;
    std::vector<std::string> sorted;
    for (uint32_t code = 0; code < n; ++code)
        sorted.push_back(trimmed(std::string(dictionary.entry(code)), without_blanks));
    std::sort(sorted.begin(), sorted.end());
    const int32_t *const ranks = reinterpret_cast<const int32_t *>(table.values.data());
    ASSERT_EQ(n, table.by_rank.size());
    for (uint32_t code = 0; code < n; ++code) {
        const std::string text = trimmed(std::string(dictionary.entry(code)), without_blanks);
        ASSERT_EQ(std::lower_bound(sorted.begin(), sorted.end(), text) - sorted.begin(), ranks[code]) << text;
        ASSERT_EQ(text, trimmed(std::string(dictionary.entry(table.by_rank[static_cast<size_t>(ranks[code])])),
                                without_blanks));
        ASSERT_EQ(0, table.nulls[code]);
    }
    ASSERT_EQ(1, table.nulls[n]);
}

std::string random_text(std::mt19937 &random) {
    static const std::string beginnings[] = {"", "https://www.example.org/",
                                             "https://www.example.org/category/7?session=", "\xc3\xa4"};
    static const char letters[] = {'\0', ' ', 'a', 'b', '\x7f', '\xff'};
    std::string text = beginnings[random() % 4];
    for (size_t length = random() % 20; length > 0; --length)
        text += letters[random() % sizeof letters];
    return text + std::string(random() % 3 == 0 ? random() % 10 : 0, ' ');
}

class TextOrderTest : public testing::TestWithParam<bool> {};

TEST_P(TextOrderTest, IsThatOfSort) {
    std::mt19937 random(7);
    for (size_t n : {0, 1, 2, 17, 300, 5000, 200000}) {
        Dictionary dictionary(1u << 20, size_t(1) << 30);
        for (size_t i = 0; i < n; ++i)
            dictionary.intern(random_text(random));
        LookupTable table(Type::I32, dictionary.size());
        rank_by_bytes(table, {dictionary, GetParam()}, nullptr, nullptr, two_threads, nullptr);
        expect_ranks(dictionary, table, GetParam());
    }
}

TEST_P(TextOrderTest, TakesNewTextsIn) {
    std::mt19937 random(8);
    Dictionary dictionary(1u << 20, size_t(1) << 30);
    for (size_t i = 0; i < 20000; ++i)
        dictionary.intern(random_text(random));
    auto known = std::make_unique<LookupTable>(Type::I32, dictionary.size());
    rank_by_bytes(*known, {dictionary, GetParam()}, nullptr, nullptr, two_threads, nullptr);
    for (size_t more : {0, 1, 100, 10000}) {
        for (size_t i = 0; i < more; ++i)
            dictionary.intern(random_text(random));
        auto table = std::make_unique<LookupTable>(Type::I32, dictionary.size());
        rank_by_bytes(*table, {dictionary, GetParam()}, known.get(), nullptr, two_threads, nullptr);
        expect_ranks(dictionary, *table, GetParam());
        known = std::move(table);
    }
}

// Texts of a range are equal or behind all of the range before, and what is sharpened is as if all had been sorted.
TEST_P(TextOrderTest, IsRoughFirst) {
    std::mt19937 random(9);
    for (size_t n : {0, 1, 3, 3000, 200000}) {
        Dictionary dictionary(1u << 20, size_t(1) << 30);
        for (size_t i = 0; i < n; ++i)
            dictionary.intern(random_text(random));
        const TextOrder order = {dictionary, GetParam()};
        LookupTable whole(Type::I32, dictionary.size()), table(Type::I32, dictionary.size());
        rank_by_bytes(whole, order, nullptr, nullptr, two_threads, nullptr);
        rank_roughly(table, order, nullptr, two_threads, nullptr);
        const int32_t *const ranks = reinterpret_cast<const int32_t *>(table.values.data());
        const int32_t *const right = reinterpret_cast<const int32_t *>(whole.values.data());
        EXPECT_TRUE(n < 3000 || !table.rough.empty());
        for (size_t round = 0; round < 3; ++round) {
            std::vector<uint32_t> first(table.entries); // of the rough range that has a rank, else that rank
            for (size_t i = 0; i < first.size(); ++i)
                first[i] = static_cast<uint32_t>(i);
            for (const RoughRanks &range : table.rough)
                std::fill(first.begin() + range.first, first.begin() + range.last, range.first);
            for (uint32_t code = 0; code < table.entries; ++code) {
                const size_t rank = static_cast<size_t>(right[code]);
                ASSERT_EQ(first[rank], static_cast<uint32_t>(ranks[code]));
            }
            std::vector<size_t> which; // every third, then all that are left
            for (size_t i = 0; i < table.rough.size(); i += round == 0 ? 3 : 1)
                which.push_back(i);
            sharpen(table, order, which, nullptr, two_threads, nullptr);
        }
        EXPECT_TRUE(table.rough.empty());
        expect_ranks(dictionary, table, GetParam());
    }
}

TEST_P(TextOrderTest, CompletesNoRoughRanksByAFewTexts) {
    std::mt19937 random(10);
    Dictionary dictionary(1u << 20, size_t(1) << 30);
    for (size_t i = 0; i < 20000; ++i)
        dictionary.intern(random_text(random));
    const TextOrder order = {dictionary, GetParam()};
    LookupTable known(Type::I32, dictionary.size());
    rank_roughly(known, order, nullptr, two_threads, nullptr);
    dictionary.intern("https://www.example.org/new");
    LookupTable table(Type::I32, dictionary.size());
    rank_by_bytes(table, order, &known, nullptr, two_threads, nullptr);
    expect_ranks(dictionary, table, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Blanks, TextOrderTest, testing::Bool());

TEST(TextOrder, EqualBeginningsOfManyTexts) {
    Dictionary dictionary(1u << 20, size_t(1) << 30);
    const std::string beginning(1000, 'x');
    for (int i = 0; i < 70000; ++i)
        dictionary.intern(beginning + std::to_string(i * 7919 % 70000));
    dictionary.intern(beginning.substr(0, 8));
    LookupTable table(Type::I32, dictionary.size());
    rank_by_bytes(table, {dictionary, false}, nullptr, nullptr, two_threads, nullptr);
    expect_ranks(dictionary, table, false);
}

TEST(TextOrder, IsCharged) {
    auto memory = std::make_shared<WorkMemory>();
    Dictionary dictionary(1u << 20, size_t(1) << 30);
    for (int i = 0; i < 1000; ++i)
        dictionary.intern(std::to_string(i));
    {
        LookupTable table(Type::I32, dictionary.size(), memory);
        rank_by_bytes(table, {dictionary, false}, nullptr, memory, one_thread, nullptr);
        EXPECT_GE(memory->used(), 1000u * (4 + 1 + 4));
        EXPECT_LT(memory->used(), 1000u * 16);
    }
    EXPECT_EQ(0u, memory->used());
    memory->set_limit(1000 * 16);
    LookupTable table(Type::I32, dictionary.size(), memory);
    EXPECT_THROW(rank_by_bytes(table, {dictionary, false}, nullptr, memory, one_thread, nullptr), OutOfWorkMemory);
    std::atomic<uint32_t> cancel{1};
    memory->set_limit(1000 * 100);
    EXPECT_THROW(rank_by_bytes(table, {dictionary, false}, nullptr, memory, one_thread, &cancel), Cancelled);
}

TEST(TextOrder, InvertsRanks) {
    LookupTable table(Type::I32, 4);
    const int32_t ranks[] = {2, 0, 0, 3};
    memcpy(table.values.data(), ranks, sizeof ranks);
    invert_ranks(table);
    EXPECT_EQ(1u, table.by_rank[0]);
    EXPECT_EQ(0u, table.by_rank[2]);
    EXPECT_EQ(3u, table.by_rank[3]);
}

} // namespace
} // namespace gpuscan
