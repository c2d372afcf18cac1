#include "u_test.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sample.hpp"

namespace bench {
namespace {

// How many ways there are to get each U from lists of n and m values without ties: with the largest of all values in the first
// list it beats all m of the second, else it does nothing (Mann and Whitney 1947, equation 2). Doubles are exact enough.
std::vector<double> ways_of(size_t n, size_t m) {
    std::vector<std::vector<double>> column(m + 1); // for lists of i and j values, j = 0 .. m
    for (size_t j = 0; j <= m; ++j)
        column[j] = {1};
    for (size_t i = 1; i <= n; ++i) {
        std::vector<std::vector<double>> next(m + 1);
        next[0] = {1};
        for (size_t j = 1; j <= m; ++j) {
            next[j].assign(i * j + 1, 0);
            for (size_t u = 0; u < column[j].size(); ++u)
                next[j][u + j] += column[j][u];
            for (size_t u = 0; u < next[j - 1].size(); ++u)
                next[j][u] += next[j - 1][u];
        }
        column = std::move(next);
    }
    return column[m];
}

} // namespace

UTest u_test(const std::vector<double> &a, const std::vector<double> &b) {
    UTest t;
    if (a.empty() || b.empty())
        return t;
    std::map<double, double> of_value;
    for (double x : a)
        ++of_value[x];
    for (double y : b)
        ++of_value[y];
    for (double x : a)
        for (double y : b)
            t.u += x > y ? 1 : x == y ? 0.5 : 0;
    const double n = a.size(), m = b.size(), all = n + m;
    double ties = 0;
    for (const auto &[value, count] : of_value)
        ties += count * count * count - count;
    if (ties == 0 && n * m <= 10000) {
        const std::vector<double> ways = ways_of(a.size(), b.size());
        double total = 0, low = 0;
        const double least = std::min(t.u, n * m - t.u);
        for (size_t u = 0; u < ways.size(); ++u) {
            total += ways[u];
            if (u <= least)
                low += ways[u];
        }
        t.p = std::min(1.0, 2 * low / total);
        t.exact = true;
        return t;
    }
    const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    if (variance > 0) {
        const double z = std::max(0.0, std::fabs(t.u - n * m / 2) - 0.5) / std::sqrt(variance);
        t.p = std::erfc(z / std::sqrt(2.0));
    }
    return t;
}

Ratio ratio_of(const std::vector<double> &ratios) {
    Ratio r;
    r.pairs = ratios.size();
    std::vector<double> logs;
    for (double x : ratios)
        logs.push_back(std::log(x));
    const Mean m = mean(logs);
    r.value = std::exp(m.value);
    if (logs.size() >= 2)
        r.factor = std::exp(m.half);
    return r;
}

} // namespace bench
