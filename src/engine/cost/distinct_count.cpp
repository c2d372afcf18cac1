#include "engine/cost/distinct_count.hpp"

#include <algorithm>
#include <cmath>

namespace gpuscan {
namespace {

constexpr size_t frequent = 50; // values that occur more often count as they are

// Of the values that are not frequent.
struct Frequencies {
    double drawn, distinct, once, pairs; // pairs: of draws with the same value, each in both orders
};

double of_all(const Frequencies &f, double population) {
    const double share = f.drawn / population, seen = (f.drawn - f.once + f.once * share) / f.drawn,
                 if_equal = f.distinct / seen, // were they equally frequent
        variation =
            std::max(if_equal * f.pairs / (f.drawn * f.drawn) + if_equal / population - 1, 0.0); // squared coefficient
    return (f.distinct - f.once * (1 - share) * std::log1p(-share) * variation / share) / seen;
}

} // namespace

size_t count_singles(uint32_t *hashes, size_t n) {
    std::sort(hashes, hashes + n);
    size_t singles = 0;
    for (size_t i = 0; i < n; ++i)
        singles += (i == 0 || hashes[i - 1] != hashes[i]) && (i + 1 == n || hashes[i + 1] != hashes[i]) ? 1 : 0;
    return singles;
}

double distinct_count(uint32_t *hashes, size_t n, double population) {
    std::sort(hashes, hashes + n);
    Frequencies f{};
    double certain = 0;
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && hashes[next] == hashes[i];)
            ++next;
        const double times = static_cast<double>(next - i);
        if (next - i > frequent) {
            ++certain;
            continue;
        }
        f.drawn += times;
        ++f.distinct;
        f.once += next - i == 1 ? 1 : 0;
        f.pairs += times * (times - 1);
    }
    const double drawn = static_cast<double>(n);
    if (f.once == 0 || population <= drawn)
        return certain + f.distinct;
    return certain + std::clamp(of_all(f, population * f.drawn / drawn), f.distinct, population * f.drawn / drawn);
}

} // namespace gpuscan
