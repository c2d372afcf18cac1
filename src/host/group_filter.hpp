// Which groups of a result are wanted: HAVING, and the first ones of ORDER BY ... LIMIT.
//
// Of many groups a query often shows few. A group that nobody wants costs ten times as much on its way to a tuple as the
// device needed to make it, so they are dropped where they are: in the device process, when they are complete (the last
// pass is merged, and DISTINCT and grouping sets have been dealt with).
//
//   conditions   a batch of groups becomes a batch of columns, those that somebody asks for, and the host device's own
//                pipeline (pipeline.hpp) tests the conditions on it: the same three-valued logic, order of evaluation and
//                errors as for rows
//   first ones   each thread keeps the best groups of its slice and throws away the others from time to time; how good a
//                group is is a number for each key, of the same order; what the last of the best ones is, all threads know
//
// What a dropped group would have made PostgreSQL say is not lost: a sum that its type does not hold, and an infinite sum of
// floats (did it overflow, which is an error, or was infinity among the values?) are row errors of the fragment.
#pragma once

#include <atomic>
#include <memory>

#include "engine/device.hpp"

namespace gpuscan::host {

class GroupFilter {
  public:
    // For a program of which filters_groups() is true. Both of the others may be nullptr.
    GroupFilter(const Program &program, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel);
    ~GroupFilter();

    // Takes some of the result's groups, all of which are different. Throws RowError, Cancelled, OutOfWorkMemory.
    void add(GroupTable &&groups);
    // Those of all groups that are wanted, in no particular order.
    GroupTable finish();
    uint64_t groups_seen() const { return seen_; }

  private:
    struct Plan;
    class SliceFilter;

    GroupTable filter(GroupTable &&groups) const;

    const std::unique_ptr<const Plan> plan_;
    const WorkMemoryRef memory_;
    const std::atomic<uint32_t> *const cancel_;
    GroupTable kept_;
    uint64_t seen_ = 0;
    bool several_ = false; // tables have come
};

} // namespace gpuscan::host
