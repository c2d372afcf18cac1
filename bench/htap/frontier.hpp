// The throughput frontier: how much of one kind of work a system does beside how much of the other.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

struct Throughput {
    double transactions = 0, queries = 0; // a second
};

struct Frontier {
    double tmax = 0, amax = 0;  // the corners of the bounding box
    std::vector<size_t> points; // those that no other point is above in both, from the one with the most queries on
    // a/amax + t/tmax where the frontier crosses the diagonal of the bounding box, between points along a line: 1 on the
    // proportional line (time is divided), 2 in the box's corner (neither kind of work costs the other anything).
    double middle = 0;
};

// Of points of which at least one has no queries and one has no transactions.
Frontier frontier_of(const std::vector<Throughput> &points);

} // namespace bench
