// Plans as one HTML page that needs nothing else, no script either: the tree of each plan with the time of each node, and for GpuScan nodes
// what ran where, the time of each stage, and the work by tier.
#pragma once

#include <string>
#include <vector>

#include "plan.hpp"

namespace explain {

// `query`: the statement, if it is known.
std::string page_of(const std::vector<Plan> &plans, const std::string &query);

} // namespace explain
