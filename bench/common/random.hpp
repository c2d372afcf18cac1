// Random numbers for data that are a function of (seed, table, row) alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bench {

// SplitMix64 (Steele, Lea, Flood 2014): small, and good enough to be started anew for every row.
class Random {
  public:
    Random(uint64_t seed, uint64_t stream, uint64_t row) : state_(mix(mix(seed + golden * stream) + golden * row)) {}

    // Uniform in low..high, both included.
    int32_t between(int32_t low, int32_t high) {
        const uint64_t n = static_cast<uint64_t>(static_cast<int64_t>(high) - low + 1);
        return low + static_cast<int32_t>(((next() >> 32) * n) >> 32);
    }

    template <size_t N> std::string_view pick(const std::string_view (&list)[N]) {
        return list[between(0, static_cast<int32_t>(N) - 1)];
    }

  private:
    static constexpr uint64_t golden = 0x9E3779B97F4A7C15ULL;

    static uint64_t mix(uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }

    uint64_t next() { return mix(state_ += golden); }

    uint64_t state_;
};

} // namespace bench
