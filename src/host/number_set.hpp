// Is a number one of a list of numbers?
//
// A bit for each part of the list's range says that a number of the list lies there. There are many times more parts than numbers, and
// few enough for a core's cache, so one look answers for almost all rows. What is left is searched for (step_table.hpp), unless a part
// is one number. The idea is Bloom's ("Space/time trade-offs in hash coding with allowable errors", 1970), with the distance from the
// lowest number as the hash.
#pragma once

#include <cstdint>
#include <vector>

#include "host/step_table.hpp"

namespace gpuscan::host {

class NumberSet {
  public:
    // numbers: ascending, each once, at least one.
    explicit NumberSet(const std::vector<int64_t> &numbers);

    // out[i]: 1 if values[i] is one of them, else 0.
    void find(const int64_t *values, uint32_t n, uint8_t *out) const;
    // How many entries are filled before the first value is looked up, where there are so many numbers.
    static size_t cost(size_t numbers);

  private:
    const StepNumbers numbers_;
    const int64_t low_;
    const uint64_t span_; // from the lowest number to the highest
    unsigned shift_ = 0;  // of a number's distance from the lowest one: its part
    std::vector<uint64_t> parts_;
};

} // namespace gpuscan::host
