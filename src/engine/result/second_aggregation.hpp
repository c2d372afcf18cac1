// The second grouping: DISTINCT aggregates and grouping sets from the groups that a device has made.
#pragma once

#include "engine/result/group_merge.hpp"

namespace gpuscan {

// The groups of the result of a program whose main pipeline has grouping sets, from all of that pipeline's groups. Throws
// RowError where a sum overflows.
GroupTable aggregate_again(const Program &program, const GroupTable &groups, const WorkMemoryRef &memory,
                           const std::atomic<uint32_t> *cancel);

} // namespace gpuscan
