#include "engine/util/text_hash.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <ctime>

#include "device/semantics.cuh"

namespace gpuscan {

TextHashKeys make_text_hash_keys(uint64_t seed) {
    constexpr int min_ones = 24, max_ones = 40; // of 64: a factor of few ones hardly mixes
    uint64_t state = seed;
    auto next = [&state] {
        uint64_t key;
        do
            key = sem::hash64(state += 0x9e3779b97f4a7c15ull) | 1;
        while (__builtin_popcountll(key) < min_ones || __builtin_popcountll(key) > max_ones);
        return key;
    };
    TextHashKeys keys;
    keys.first = next();
    keys.length = next();
    keys.factor = next();
    return keys;
}

static TextHashKeys draw_keys() {
    uint64_t seed[3];
    if (getrandom(seed, sizeof seed, 0) !=
        static_cast<ssize_t>(sizeof seed)) { // (a kernel without it, or a forbidden call)
        timespec now = {};
        clock_gettime(CLOCK_REALTIME, &now);
        seed[0] = static_cast<uint64_t>(now.tv_sec) << 30 ^ static_cast<uint64_t>(now.tv_nsec);
        seed[1] = static_cast<uint64_t>(getpid());
        seed[2] = reinterpret_cast<uintptr_t>(&make_text_hash_keys); // (where the system has put the library)
    }
    // Each of the keys has a seed of its own, so that 64 bits that become known do not tell the others.
    return {make_text_hash_keys(seed[0]).first, make_text_hash_keys(seed[1]).length,
            make_text_hash_keys(seed[2]).factor};
}

const TextHashKeys text_hash_keys = draw_keys();

} // namespace gpuscan
