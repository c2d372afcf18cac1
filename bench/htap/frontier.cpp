#include "frontier.hpp"

#include <algorithm>
#include <numeric>

namespace bench {

Frontier frontier_of(const std::vector<Throughput> &points) {
    Frontier f;
    for (const Throughput &p : points) {
        if (p.queries == 0)
            f.tmax = std::max(f.tmax, p.transactions);
        if (p.transactions == 0)
            f.amax = std::max(f.amax, p.queries);
    }
    std::vector<size_t> by_transactions(points.size());
    std::iota(by_transactions.begin(), by_transactions.end(), 0);
    std::sort(by_transactions.begin(), by_transactions.end(), [&](size_t a, size_t b) {
        return points[a].transactions != points[b].transactions ? points[a].transactions > points[b].transactions
                                                                : points[a].queries > points[b].queries;
    });
    double most = -1;
    for (size_t i : by_transactions)
        if (points[i].queries > most) {
            most = points[i].queries;
            f.points.push_back(i);
        }
    std::reverse(f.points.begin(), f.points.end());

    // From point to point the share of transactions grows and that of queries falls: `beyond` changes its sign once.
    double t = 0, beyond = -1; // the frontier begins in (0, amax), or above it
    for (size_t i : f.points) {
        const double next_t = points[i].transactions / f.tmax;
        const double next_beyond = next_t - points[i].queries / f.amax;
        if (next_beyond >= 0) {
            const double part = -beyond / (next_beyond - beyond);
            f.middle = 2 * (t + part * (next_t - t));
            break;
        }
        t = next_t, beyond = next_beyond;
    }
    return f;
}

} // namespace bench
