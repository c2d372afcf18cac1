// The dictionary: codes in order, views that stay, limits, many threads.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/store/dictionary.hpp"
#include "engine/util/text_hash.hpp"

namespace gpuscan {
namespace {

TEST(Dictionary, CodesInOrderOfAppearance) {
    Dictionary d(1000, 1 << 20);
    EXPECT_EQ(0u, d.size());
    EXPECT_EQ(0u, d.intern("b"));
    EXPECT_EQ(1u, d.intern(""));
    EXPECT_EQ(2u, d.intern("a"));
    EXPECT_EQ(0u, d.intern("b"));
    EXPECT_EQ(3u, d.intern(std::string_view("b\0", 2)));
    EXPECT_EQ(4u, d.size());
    EXPECT_EQ("a", d.entry(2));
    EXPECT_EQ("", d.entry(1));
    EXPECT_EQ(2u, d.find("a"));
    EXPECT_EQ(Dictionary::full, d.find("c"));
    EXPECT_EQ(4u, d.size());
}

TEST(Dictionary, GrowsAndKeepsViews) {
    Dictionary d(1 << 20, 64 << 20);
    std::vector<std::string_view> views;
    for (uint32_t i = 0; i < 100000; ++i) {
        ASSERT_EQ(i, d.intern("entry " + std::to_string(i)));
        views.push_back(d.entry(i));
    }
    for (uint32_t i = 0; i < 100000; ++i) {
        ASSERT_EQ("entry " + std::to_string(i), views[i]);
        ASSERT_EQ(views[i].data(), d.entry(i).data());
        ASSERT_EQ(i, d.find(views[i]));
    }
    EXPECT_GT(d.bytes(), 100000u * 8);
}

TEST(Dictionary, LongTexts) {
    Dictionary d(100, 10 << 20);
    std::string small = "s", large(1 << 20, 'l');
    EXPECT_EQ(0u, d.intern(small));
    EXPECT_EQ(1u, d.intern(large));
    EXPECT_EQ(2u, d.intern("t"));
    EXPECT_EQ("s", d.entry(0));
    EXPECT_EQ(large, d.entry(1));
    EXPECT_EQ("t", d.entry(2));
}

TEST(Dictionary, Limits) {
    Dictionary entries(2, 1000);
    EXPECT_EQ(0u, entries.intern("a"));
    EXPECT_EQ(1u, entries.intern("b"));
    EXPECT_EQ(Dictionary::full, entries.intern("c"));
    EXPECT_EQ(1u, entries.intern("b"));
    EXPECT_TRUE(entries.is_full());
    Dictionary bytes(100, 5 + 2 * Dictionary::entry_bytes);
    EXPECT_EQ(0u, bytes.intern("abc"));
    EXPECT_FALSE(bytes.is_full());
    EXPECT_EQ(Dictionary::full, bytes.intern("def"));
    EXPECT_TRUE(bytes.is_full());
    EXPECT_EQ(1u, bytes.intern("de"));
}

TEST(Dictionary, TakesMoreUnderAHigherLimit) {
    Dictionary d(100, 3 + Dictionary::entry_bytes);
    EXPECT_EQ(0u, d.intern("abc"));
    EXPECT_EQ(Dictionary::full, d.intern("def"));
    d.set_limit(9 + 3 * Dictionary::entry_bytes);
    EXPECT_FALSE(d.is_full());
    EXPECT_EQ(1u, d.intern("def"));
    d.set_limit(1); // what is there stays
    EXPECT_EQ(Dictionary::full, d.intern("ghi"));
    EXPECT_TRUE(d.is_full());
    EXPECT_EQ(1u, d.intern("def"));
    EXPECT_EQ("def", d.entry(1));
}

TEST(Dictionary, IdsDiffer) {
    Dictionary a(1, 1), b(1, 1);
    EXPECT_NE(a.id(), b.id());
    struct Mirror : Dictionary::DeviceMirror {};
    auto mirror = std::make_shared<Mirror>();
    a.set_mirror(mirror);
    EXPECT_EQ(mirror, a.mirror());
    EXPECT_EQ(nullptr, b.mirror());
}

TEST(Dictionary, ManyThreads) {
    Dictionary d(1 << 20, 64 << 20);
    constexpr int distinct = 20000;
    std::vector<std::vector<uint32_t>> codes(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < codes.size(); ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            codes[t].assign(distinct, Dictionary::full);
            for (int i = 0; i < 200000; ++i) {
                unsigned v = random() % distinct;
                uint32_t code = d.intern("value " + std::to_string(v));
                ASSERT_TRUE(codes[t][v] == Dictionary::full || codes[t][v] == code);
                codes[t][v] = code;
                ASSERT_EQ("value " + std::to_string(v), d.entry(code));
            }
        });
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(static_cast<uint32_t>(distinct), d.size());
    for (int v = 0; v < distinct; ++v)
        for (auto &own : codes)
            ASSERT_TRUE(own[static_cast<size_t>(v)] == Dictionary::full ||
                        own[static_cast<size_t>(v)] == d.find("value " + std::to_string(v)));
}

std::vector<Dictionary::Text> texts_of(const std::vector<std::string> &from) {
    std::vector<Dictionary::Text> texts;
    for (const std::string &text : from)
        texts.push_back({text.data(), static_cast<uint32_t>(text.size()), 0, text_hash(text.data(), text.size())});
    return texts;
}

// Every text of a batch has the code that one call for it answers, whatever repeats and whatever was there.
TEST(Dictionary, Batches) {
    std::mt19937 random(7);
    Dictionary d(1 << 20, 64 << 20);
    for (size_t count : {0, 1, 2, 63, 64, 65, 1000, 30000}) {
        std::vector<std::string> from;
        for (size_t i = 0; i < count; ++i)
            from.push_back(std::string(random() % 90, 'x') + std::to_string(random() % (1 + 2 * count)));
        std::vector<Dictionary::Text> texts = texts_of(from);
        d.intern_many(texts.data(), texts.size());
        for (size_t i = 0; i < count; ++i) {
            ASSERT_LT(texts[i].code, d.size());
            ASSERT_EQ(from[i], d.entry(texts[i].code));
            ASSERT_EQ(texts[i].code, d.find(from[i]));
        }
    }
    for (uint32_t code = 0; code < d.size(); ++code) // each number once
        ASSERT_EQ(code, d.find(d.entry(code)));
}

TEST(Dictionary, BatchBeyondLimits) {
    Dictionary d(50, 1 << 20);
    std::vector<std::string> from;
    for (int round = 0; round < 2; ++round)
        for (int i = 0; i < 1000; ++i)
            from.push_back("text " + std::to_string(i));
    std::vector<Dictionary::Text> texts = texts_of(from);
    d.intern_many(texts.data(), texts.size());
    EXPECT_EQ(50u, d.size());
    EXPECT_TRUE(d.is_full());
    size_t refused = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
        refused += texts[i].code == Dictionary::full;
        ASSERT_EQ(texts[i].code, d.find(from[i]));
    }
    EXPECT_EQ(2u * (1000 - 50), refused);
}

TEST(Dictionary, CountsItsMemory) {
    auto account = std::make_shared<std::atomic<size_t>>(5);
    {
        Dictionary d(1 << 20, 64 << 20, account);
        for (int i = 0; i < 20000; ++i)
            d.intern("some text " + std::to_string(i));
        EXPECT_EQ(5 + d.bytes(), account->load());
        EXPECT_GT(d.bytes(), 20000u * 10);
    }
    EXPECT_EQ(5u, account->load());
}

TEST(Dictionary, BatchesOfManyThreads) {
    Dictionary d(1 << 24, size_t(1) << 30);
    constexpr int distinct = 100000;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            for (int batch = 0; batch < 100; ++batch) {
                std::vector<std::string> from;
                for (int i = 0; i < 2000; ++i)
                    from.push_back("value " + std::to_string(random() % distinct));
                std::vector<Dictionary::Text> texts = texts_of(from);
                d.intern_many(texts.data(), texts.size());
                const uint32_t size = d.size();
                for (size_t i = 0; i < texts.size(); ++i) {
                    ASSERT_LT(texts[i].code, size);
                    ASSERT_EQ(from[i], d.entry(texts[i].code));
                }
            }
        });
    for (std::thread &t : threads)
        t.join();
    for (uint32_t code = 0; code < d.size(); ++code)
        ASSERT_EQ(code, d.find(d.entry(code)));
}

} // namespace
} // namespace gpuscan
