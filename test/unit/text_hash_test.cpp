// Texts that somebody has chosen, and texts as people have them, under the hash of dictionaries.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "device/decode.cuh"
#include "device/heap_page.cuh"
#include "device/semantics.cuh"
#include "engine/store/dictionary.hpp"
#include "engine/util/text_hash.hpp"

namespace gpuscan {
namespace {

uint64_t hash_of(const std::string &text, const TextHashKeys &keys) {
    return text_hash(text.data(), text.size(), keys);
}

std::string bytes_of(uint64_t word) { return {reinterpret_cast<const char *>(&word), sizeof word}; }

// All of one hash, if the keys were the constants that they were once: a second word that is the state after the first one made the
// state 0.
std::vector<std::string> chosen_texts(size_t count) {
    constexpr uint64_t k0 = 0xa0761d6478bd642full, k1 = 0xe7037ed1a0b428dbull;
    std::vector<std::string> texts;
    const uint64_t begin = 24 * k1 ^ k0;
    for (uint64_t i = 0; i < count; ++i)
        texts.push_back(bytes_of(i) + bytes_of(fold_multiply(begin ^ i, k0)) + "the same");
    return texts;
}

TEST(TextHash, ChosenTexts) {
    const std::vector<std::string> texts = chosen_texts(200000);
    // A hash table uses the lowest or the highest bits. Of 200,000 numbers drawn from 2^20, 182,000 (+- 150) differ.
    std::unordered_set<uint64_t> hashes, lowest, highest;
    std::vector<Dictionary::Text> asked;
    for (const std::string &text : texts) {
        asked.push_back({text.data(), static_cast<uint32_t>(text.size()), 0, text_hash(text.data(), text.size())});
        hashes.insert(asked.back().hash);
        lowest.insert(asked.back().hash & 0xfffff);
        highest.insert(asked.back().hash >> 44);
    }
    EXPECT_GT(lowest.size(), 180000u);
    EXPECT_GT(highest.size(), 180000u);
    Dictionary d(1 << 20, size_t(1) << 30);
    d.intern_many(asked.data(), asked.size());
    EXPECT_EQ(texts.size(), hashes.size());
    EXPECT_EQ(texts.size(), d.size());
}

// Whoever knew the keys could make a factor 0; what stands before and behind it tells texts apart all the same.
TEST(TextHash, ZeroFactors) {
    const TextHashKeys keys = make_text_hash_keys(1);
    for (size_t length : {24, 32, 40, 47}) {
        std::set<uint64_t> hashes;
        const uint64_t begin = text_hashing::begin(length, keys);
        size_t texts = 0;
        for (const std::string &zero : {bytes_of(keys.factor) + bytes_of(7), bytes_of(7) + bytes_of(begin)})
            for (uint64_t i = 0; i < 1000; ++i, ++texts) {
                std::string text = zero + bytes_of(i);
                text.resize(length, 'x');
                hashes.insert(hash_of(text, keys));
            }
        EXPECT_EQ(texts, hashes.size()) << length;
    }
    std::set<uint64_t> after; // different beginnings, then a factor of 0
    for (uint64_t i = 0; i < 1000; ++i)
        after.insert(hash_of(bytes_of(i) + bytes_of(i * i) + bytes_of(keys.factor) + bytes_of(0) + "end", keys));
    EXPECT_EQ(1000u, after.size());
}

TEST(TextHash, KeysDiffer) {
    const TextHashKeys a = make_text_hash_keys(1), b = make_text_hash_keys(2);
    size_t same = 0;
    for (int i = 0; i < 1000; ++i)
        same += hash_of(std::to_string(i), a) % 1024 == hash_of(std::to_string(i), b) % 1024;
    EXPECT_LT(same, 10u);
    EXPECT_EQ(1u, text_hash_keys.factor & 1);
    EXPECT_EQ(1u, text_hash_keys.length & 1);
}

TEST(TextHash, OneHashHoweverItIsRead) {
    std::mt19937_64 random(3);
    for (uint64_t seed : {1, 2, 3})
        for (size_t length = 0; length < 100; ++length) {
            const TextHashKeys keys = make_text_hash_keys(seed);
            std::string text(length + 8, '\0');
            for (char &byte : text)
                byte = static_cast<char>(random());
            const uint64_t hash = text_hash(text.data(), length, keys);
            EXPECT_EQ(hash, hash_of_sketch(padded_text_sketch(text.data(), length, keys), keys)) << length;
            std::string other = text; // what stands behind it makes no difference
            for (size_t i = length; i < other.size(); ++i)
                other[i] = static_cast<char>(random());
            EXPECT_EQ(hash, hash_of_sketch(padded_text_sketch(other.data(), length, keys), keys)) << length;
            uint64_t word;
            memcpy(&word, text.data(), sizeof word);
            if (length < 8) {
                EXPECT_EQ(hash, hash_of_sketch(short_text_sketch(low_bytes(word, length), length, keys), keys));
            }
        }
}

struct Family {
    const char *name;
    std::function<std::string(unsigned)> text;
};

const std::vector<Family> families = {
    {"numbers", [](unsigned i) { return std::to_string(i); }},
    {"padded numbers",
     [](unsigned i) {
         return std::string(9 - std::min<size_t>(9, std::to_string(i).size()), '0') + std::to_string(i);
     }},
    {"words and numbers", [](unsigned i) { return "customer#" + std::to_string(i); }},
    {"long beginnings",
     [](unsigned i) { return "https://www.example.com/a/path/of/some/length?id=" + std::to_string(i); }},
    {"long ends", [](unsigned i) { return std::to_string(i) + " and then something that is always the same"; }},
    {"every sixteenth", [](unsigned i) { return bytes_of(uint64_t(i) << 4) + "12345678"; }},
    {"upper bits", [](unsigned i) { return bytes_of(uint64_t(i) << 44); }},
    {"both halves", [](unsigned i) { return bytes_of(i) + bytes_of(i); }},
    {"blanks", [](unsigned i) { return std::string(i % 200, ' ') + std::to_string(i / 200); }},
    {"dates",
     [](unsigned i) {
         return std::to_string(1900 + i / 360) + "-" + std::to_string(i / 30 % 12 + 1) + "-" +
                std::to_string(i % 30 + 1);
     }},
};

// How far from even `values` are spread over 2^bits places: about 1.
double spread(const std::vector<uint64_t> &values, int shift, int bits) {
    std::vector<double> counts(size_t(1) << bits);
    for (uint64_t value : values)
        ++counts[value >> shift & (counts.size() - 1)];
    const double expected = static_cast<double>(values.size()) / static_cast<double>(counts.size());
    double sum = 0;
    for (double count : counts)
        sum += (count - expected) * (count - expected) / expected;
    return sum / static_cast<double>(counts.size() - 1);
}

// Shards and the decoder's cache go by the lower bits, places and what is compared by the upper half.
TEST(TextHash, Spread) {
    constexpr unsigned count = 60000;
    for (const Family &family : families)
        for (uint64_t seed = 1; seed <= 3; ++seed) {
            const TextHashKeys keys = make_text_hash_keys(seed);
            std::vector<uint64_t> hashes;
            std::unordered_set<uint64_t> different, upper;
            for (unsigned i = 0; i < count; ++i) {
                hashes.push_back(hash_of(family.text(i), keys));
                different.insert(hashes.back());
                upper.insert(hashes.back() >> 32);
            }
            EXPECT_EQ(count, different.size()) << family.name << ", keys " << seed;
            EXPECT_GT(upper.size(), count - 10) << family.name << ", keys " << seed; // (by chance there are 0.4 pairs)
            for (int shift : {0, 6, 16, 32, 38, 54})
                EXPECT_LT(spread(hashes, shift, 10), 1.5)
                    << family.name << ", keys " << seed << ", bits from " << shift;
        }
}

// The GPU's mirror of a dictionary has a hash of its own, with a key as well.
TEST(TextHash, MirrorHash) {
    for (const Family &family : families) {
        std::vector<uint64_t> hashes;
        std::unordered_set<uint64_t> with_other_key;
        for (unsigned i = 0; i < 20000; ++i) {
            const std::string text = family.text(i);
            const uint8_t *bytes = reinterpret_cast<const uint8_t *>(text.data());
            hashes.push_back(decoding::text_hash(bytes, 0, static_cast<uint32_t>(text.size()), 1));
            with_other_key.insert(decoding::text_hash(bytes, 0, static_cast<uint32_t>(text.size()), 2));
        }
        EXPECT_LT(spread(hashes, 0, 10), 1.5) << family.name;
        EXPECT_LT(spread(hashes, 32, 10), 1.5) << family.name;
        EXPECT_EQ(20000u, with_other_key.size());
        EXPECT_EQ(0u, with_other_key.count(hashes[0]));
    }
}

} // namespace
} // namespace gpuscan
