// Which ranks of texts shows the result of a program that needs only the first or the last of them: min, max, ORDER BY ... LIMIT?
//
// To sort all texts of a dictionary takes a first execution longer than all else that it does with them, and such a program shows but
// few. So it runs over rough ranks (text_order.hpp): ranges of texts of which nobody knows yet which comes first, but that all
// come behind those of the range before. What it then shows lies in few of these ranges. Only they are sorted, and it runs
// again, until everything that it shows has a rank of its own. Then the result is right: a text that is not shown lies in another range
// than each one that is, or is told apart from it, so that its true rank compares with theirs as the rough one did. What was sorted is
// kept, so that the dictionary's order is completed as far as queries ask for it (Idreos, Kersten and Manegold, "Database cracking",
// CIDR 2007).
//
// A rank may be compared with ranks alone: as the argument of min or max, or as a key of ORDER BY of rows.
#pragma once

#include "engine/device.hpp"
#include "engine/ir/program.hpp"
#include "engine/store/lookup_table.hpp"

namespace gpuscan {

class ExtremeRanks {
  public:
    ExtremeRanks() = default;
    explicit ExtremeRanks(const Program &program);

    // Are rough ranks of this lookup enough, where it has so many entries?
    bool may_be_rough(ir::Index lookup, size_t entries) const;

    // The rough ranges of the table (numbers of its `rough`) in which texts lie that the result shows, ascending. Of rows: of all their
    // payload.
    std::vector<size_t> shown(ir::Index lookup, const LookupTable &table, const GroupTable &groups) const;
    std::vector<size_t> shown(ir::Index lookup, const LookupTable &table, const RowTable &rows) const;

  private:
    std::vector<std::vector<ir::Index>>
        places_; // by lookup: the aggregates or columns of rows that it is; none: all ranks are needed
    size_t naggregates_ = 0;
    uint64_t wanted_ = 1; // texts that the result shows, or a multiple
};

} // namespace gpuscan
