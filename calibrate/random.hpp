// Random numbers that are the same everywhere for a seed: the standard library's distributions are not.
#pragma once

#include <cmath>
#include <cstdint>

namespace calibrate {

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}

    // In (0, 1): never 0, so that its logarithm is finite.
    double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1.0p-53; }

    // Standard normal (Box and Muller 1958); the second number of each pair is not used.
    double normal() {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(6.283185307179586 * uniform());
    }

  private:
    uint64_t next() {
        uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }

    uint64_t state_;
};

} // namespace calibrate
