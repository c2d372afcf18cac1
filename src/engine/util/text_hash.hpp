// A 64-bit hash of a byte string under keys that nobody knows: 16 bytes a step through a 64x64 -> 128 bit multiplication, in the
// manner of wyhash (Wang Yi, "wyhash", 2019).
//
// Whoever knows the hash can write texts that all have the same one, and a table of 200,000 of them takes a minute. So the keys are
// drawn when the library is loaded. That is once, by the postmaster: backends and the device process are its forks, and agree. Nothing that
// outlives the server may depend on a hash.
//
// A multiplication by 0 forgets its other factor, so the sum of both goes beside their product: a 0 swallows neither what came before
// it nor what comes after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpuscan {

struct TextHashKeys {
    uint64_t first, length, factor; // the last two are odd
};

// Keys that depend on the seed alone; no bits of them repeat in a way that multiplications would notice.
TextHashKeys make_text_hash_keys(uint64_t seed);

// Of this process and of all with which it exchanges hashes.
extern const TextHashKeys text_hash_keys;

inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
    unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The low `length` bytes of a word, fewer than 8.
inline uint64_t low_bytes(uint64_t word, size_t length) { return word & ((uint64_t(1) << (8 * length)) - 1); }

namespace text_hashing {

inline uint64_t load(const char *data) {
    uint64_t word;
    memcpy(&word, data, 8);
    return word;
}

// Fewer than 8 bytes, of a text that has no more.
inline uint64_t load_few(const char *data, size_t length) {
    if (length >= 4) {
        uint32_t low, high;
        memcpy(&low, data, 4);
        memcpy(&high, data + length - 4, 4);
        return low | static_cast<uint64_t>(high) << (8 * (length - 4));
    }
    if (length == 0)
        return 0;
    const auto byte = [data](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(data[i])) << (8 * i); };
    return byte(0) | byte(length / 2) | byte(length - 1);
}

inline uint64_t begin(size_t length, const TextHashKeys &keys) { return length * keys.length + keys.first; }

// (The sum keeps what a factor of 0 would lose.)
inline uint64_t mix(uint64_t a, uint64_t b) { return fold_multiply(a, b) ^ (a + b); }

// 16 bytes that are not the last ones.
inline uint64_t step(uint64_t hash, uint64_t first, uint64_t second, const TextHashKeys &keys) {
    return mix(first ^ keys.factor, second ^ hash);
}

// The last bytes of a text, fewer than 8 of them: `word`.
inline uint64_t end_short(uint64_t hash, uint64_t word, const TextHashKeys &keys) {
    return fold_multiply(hash ^ word, keys.factor) ^ hash;
}

// ... or 8 and, in `rest`, fewer than 8.
inline uint64_t end_long(uint64_t hash, uint64_t word, uint64_t rest, const TextHashKeys &keys) {
    return mix(word ^ keys.factor, rest ^ hash);
}

} // namespace text_hashing

// A sketch of a text tells it from others as well as its hash does, but with some factors it leaves numbers in a row unevenly spread:
// enough for a cache. One more multiplication makes the hash of it.
inline uint64_t hash_of_sketch(uint64_t sketch, const TextHashKeys &keys = text_hash_keys) {
    return fold_multiply(sketch, keys.factor) ^ sketch;
}

// Of fewer than 8 bytes, which are the low ones of `word`; its other ones are 0.
inline uint64_t short_text_sketch(uint64_t word, size_t length, const TextHashKeys &keys = text_hash_keys) {
    return text_hashing::end_short(text_hashing::begin(length, keys), word, keys);
}

// Where 8 bytes behind the text may be read.
inline uint64_t padded_text_sketch(const char *data, size_t length, const TextHashKeys &keys = text_hash_keys) {
    using namespace text_hashing;
    uint64_t hash = begin(length, keys);
    for (; length >= 16; data += 16, length -= 16)
        hash = step(hash, load(data), load(data + 8), keys);
    if (length < 8)
        return end_short(hash, low_bytes(load(data), length), keys);
    return end_long(hash, load(data), low_bytes(load(data + 8), length - 8), keys);
}

inline uint64_t text_sketch(const char *data, size_t length, const TextHashKeys &keys = text_hash_keys) {
    using namespace text_hashing;
    uint64_t hash = begin(length, keys);
    if (length < 8)
        return end_short(hash, load_few(data, length), keys);
    for (; length >= 16; data += 16, length -= 16)
        hash = step(hash, load(data), load(data + 8), keys);
    // (Before the last ones lie others, by which a whole word can be read.)
    const size_t few = length % 8;
    const uint64_t last = few == 0 ? 0 : load(data + length - 8) >> (8 * (8 - few));
    return length < 8 ? end_short(hash, last, keys) : end_long(hash, load(data), last, keys);
}

inline uint64_t text_hash(const char *data, size_t length, const TextHashKeys &keys = text_hash_keys) {
    return hash_of_sketch(text_sketch(data, length, keys), keys);
}

} // namespace gpuscan
