// SHA-256 as the standard has it; see sha256.hpp.
#include "engine/util/sha256.hpp"

#include <cstring>

namespace gpuscan {
namespace {

constexpr size_t block_bytes = 64;
constexpr size_t length_bytes = 8; // of the message's length, at the end of the last block

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t rotated(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

void take_block(uint32_t (&state)[8], const uint8_t *block) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i)
        w[i] = static_cast<uint32_t>(block[4 * i]) << 24 | static_cast<uint32_t>(block[4 * i + 1]) << 16 |
               static_cast<uint32_t>(block[4 * i + 2]) << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; ++i) {
        const uint32_t s0 = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
        const uint32_t s1 = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; ++i) {
        const uint32_t s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
        const uint32_t first = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
        const uint32_t s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
        const uint32_t second = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i)
        state[i] += sums[i];
}

} // namespace

Sha256 sha256(const std::string &bytes) {
    // The first 32 bits of the fractional parts of the square roots of the first 8 primes.
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *const data = reinterpret_cast<const uint8_t *>(bytes.data());
    const size_t whole = bytes.size() / block_bytes * block_bytes, rest = bytes.size() - whole;
    for (size_t at = 0; at < whole; at += block_bytes)
        take_block(state, data + at);

    uint8_t end[2 * block_bytes] = {}; // what is left, a one, zeros, the length in bits
    memcpy(end, data + whole, rest);
    end[rest] = 0x80;
    const size_t size = rest + 1 + length_bytes <= block_bytes ? block_bytes : 2 * block_bytes;
    for (size_t i = 0; i < length_bytes; ++i)
        end[size - 1 - i] = static_cast<uint8_t>(static_cast<uint64_t>(bytes.size()) * 8 >> (8 * i));
    for (size_t at = 0; at < size; at += block_bytes)
        take_block(state, end + at);

    Sha256 hash;
    for (size_t i = 0; i < hash.size(); ++i)
        hash[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
    return hash;
}

} // namespace gpuscan
