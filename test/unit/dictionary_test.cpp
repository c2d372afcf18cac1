// The dictionary: codes in order, views that stay, limits, many threads.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/dictionary.hpp"

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
    Dictionary bytes(100, 5);
    EXPECT_EQ(0u, bytes.intern("abc"));
    EXPECT_EQ(Dictionary::full, bytes.intern("def"));
    EXPECT_EQ(1u, bytes.intern("de"));
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

} // namespace
} // namespace gpuscan
