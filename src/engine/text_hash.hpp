// A 64-bit hash of a byte string: 8 bytes a step through a 64x64 -> 128 bit multiplication, in the manner of wyhash.
#pragma once

#include <cstdint>
#include <cstring>

namespace gpuscan {

inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
    unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr uint64_t hash_k0 = 0xa0761d6478bd642full, hash_k1 = 0xe7037ed1a0b428dbull;

// The low `length` bytes of a word, fewer than 8.
inline uint64_t low_bytes(uint64_t word, size_t length) { return word & ((uint64_t(1) << (8 * length)) - 1); }

// text_hash() of fewer than 8 bytes, which are the low ones of `word`; its other ones are 0.
inline uint64_t short_text_hash(uint64_t word, size_t length) {
    const uint64_t hash = length * hash_k1 ^ hash_k0;
    return fold_multiply(hash ^ word, hash_k1) ^ hash;
}

// The same hash where 8 bytes behind the text may be read.
inline uint64_t padded_text_hash(const char *data, size_t length) {
    uint64_t hash = length * hash_k1 ^ hash_k0, word;
    for (; length >= 8; data += 8, length -= 8) {
        memcpy(&word, data, 8);
        hash = fold_multiply(hash ^ word, hash_k0);
    }
    memcpy(&word, data, 8);
    return fold_multiply(hash ^ low_bytes(word, length), hash_k1) ^ hash;
}

inline uint64_t text_hash(const char *data, size_t length) {
    uint64_t hash = length * hash_k1 ^ hash_k0;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        hash = fold_multiply(hash ^ word, hash_k0);
        data += 8;
        length -= 8;
    }
    uint64_t tail = 0;
    if (length > 0)
        memcpy(&tail, data, length);
    return fold_multiply(hash ^ tail, hash_k1) ^ hash;
}

} // namespace gpuscan
