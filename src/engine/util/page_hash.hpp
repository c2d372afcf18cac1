// A 64-bit hash of a heap page under keys that nobody knows: that of texts (text_hash.hpp), in lanes whose multiplications do not wait
// for one another. 0.3 us a page, of which one in memory takes three times as long unless it was fetched ahead.
//
// The page may be changing meanwhile. Each word of it is read once, so what is hashed are 8192 bytes that stood there, if not all at the
// same time.
#pragma once

#include "engine/util/text_hash.hpp"

namespace gpuscan {

// `page`: 8192 bytes, aligned to 8. `next`, if there is one, is fetched meanwhile.
inline uint64_t page_hash(const void *page, const void *next = nullptr) {
    constexpr size_t lanes = 4, words = 8192 / sizeof(uint64_t);
    const TextHashKeys &keys = text_hash_keys;
    const auto *const word = static_cast<const volatile uint64_t *>(page);
    uint64_t hash[lanes];
    for (size_t lane = 0; lane < lanes; ++lane)
        hash[lane] = text_hashing::begin(lane, keys);
    const char *const ahead = static_cast<const char *>(next != nullptr ? next : page);
    for (size_t i = 0; i < words; i += 2 * lanes) {
        __builtin_prefetch(ahead + i * sizeof(uint64_t));
        for (size_t lane = 0; lane < lanes; ++lane) {
            const uint64_t first = word[i + 2 * lane], second = word[i + 2 * lane + 1];
            hash[lane] = text_hashing::step(hash[lane], first, second, keys);
        }
    }
    return text_hash(reinterpret_cast<const char *>(hash), sizeof hash, keys);
}

} // namespace gpuscan
