#include "engine/cost/distinct_count.hpp"

#include <algorithm>

namespace gpuscan {

double distinct_count(uint32_t *hashes, size_t n, double population) {
    std::sort(hashes, hashes + n);
    size_t distinct = 0, once = 0;
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && hashes[next] == hashes[i];)
            ++next;
        ++distinct;
        once += next == i + 1 ? 1 : 0;
    }
    const double drawn = static_cast<double>(n), all = std::max(population, drawn);
    if (n == 0)
        return 0;
    const double of_one = static_cast<double>(once);
    return std::min(drawn * static_cast<double>(distinct) / (drawn - of_one + of_one * drawn / all), all);
}

} // namespace gpuscan
