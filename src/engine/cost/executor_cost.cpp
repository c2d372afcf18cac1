// The table of steps with their default rates, and the work of operators; see executor_cost.hpp.
//
// Rates are differences between pairs of queries that differ by one step, PostgreSQL 15.20 with its data in shared buffers, one process
// on a machine that does a scan's work in 0.76 of the time for which defaults are given: a device process scales them to its own machine
// (engine/cost/tier_measure.hpp), and `gpuscan-calibrate measure` finds those that differ. What ends in memory takes several times as long as what ends in a cache, a table of 190 MB
// ten times (4 kB pages; a miss of the translation buffer is in it).
#include "engine/cost/executor_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gpuscan::executor {

namespace {

using S = Setting;

// In the order of Step.
constexpr StepInfo table[steps] = {
    {"page_in_order", S::None, "page", "a page of a table in shared buffers", 530},
    {"page_out_of_order", S::None, "page", "a page in shared buffers that an index leads to", 300},
    {"page_far", S::None, "page", "what that takes more where the table is not in the caches", 950},
    {"page_again", S::None, "row", "a row of an index, the page being the one before", 66},
    {"page_touched", S::None, "page", "what a parallel worker's first look at a page in shared buffers takes more",
     1100},
    {"tuple", S::Tuple, "row", "a row that a scan hands on", 35},
    {"attribute", S::Tuple, "value", "a column that a row is taken apart for", 3.9},
    {"index_started", S::Operator, "descent", "from the root of an index to its first entry", 920},
    {"index_tuple", S::IndexTuple, "entry", "an index's next entry", 24},
    {"bitmap_tuple", S::IndexTuple, "entry", "an index's entry into a bitmap", 59},
    {"operation", S::Operator, "call", "an operator or function of fixed-length values", 8.5},
    {"numeric_compared", S::Operator, "call", "a comparison of numerics", 38},
    {"numeric_computed", S::Operator, "call", "arithmetic with numerics", 92},
    {"text_compared", S::Operator, "call", "an operator or function of texts", 37},
    {"text_matched", S::Operator, "call", "LIKE and regular expressions", 120},
    {"row_built", S::Tuple, "row", "a row into the hash table of a join", 110},
    {"row_built_far", S::Tuple, "row", "what that takes more where the table is not in the caches", 150},
    {"row_probed", S::Operator, "row", "a row looked up in a hash table", 46},
    {"row_probed_far", S::Operator, "row", "what that takes more where the table is not in the caches", 560},
    {"row_joined", S::Tuple, "row", "a row that a join hands on", 50},
    {"loop", S::Tuple, "loop", "beginning the inner side of a nested loop again", 33},
    {"row_looped", S::Tuple, "row", "a row of the inner side, kept in memory, once more", 26},
    {"row_memoized", S::Tuple, "row", "a row looked up in what was memoized", 190},
    {"transition", S::Operator, "row", "an aggregate's next value", 9.8},
    {"numeric_transition", S::Operator, "row", "the same of a numeric or a text", 51},
    {"row_grouped", S::Operator, "row", "a row looked up among groups", 120},
    {"row_grouped_far", S::Operator, "row", "what that takes more where the groups are not in the caches", 170},
    {"group_made", S::Tuple, "group", "a new group", 350},
    {"row_sorted", S::Tuple, "row", "a row into a sort and out of it", 180},
    {"comparison", S::Operator, "comparison", "of two rows while sorting", 11},
    {"text_comparison", S::Operator, "comparison", "the same, by a text", 39},
    {"row_kept", S::Tuple, "row", "a row written down in memory and read again", 190},
    {"row_windowed", S::Tuple, "row", "a row through a window", 260},
    {"row_gathered", S::ParallelTuple, "row", "a row from a parallel worker", 79},
    {"team_started", S::ParallelSetup, "team", "parallel workers, started and ended", 8.5e+06},
};

constexpr bool is_complete() {
    for (const StepInfo &row : table)
        if (row.name == nullptr)
            return false;
    return true;
}
static_assert(is_complete());

} // namespace

const StepInfo &info(Step step) { return table[static_cast<int>(step)]; }

const Rates &default_rates() {
    static const Rates rates = [] {
        Rates r{};
        for (int i = 0; i < steps; ++i)
            r.ns[i] = table[i].ns;
        return r;
    }();
    return rates;
}

double time_of(const Work &work, const Rates &rates) {
    double ns = work.other_ns;
    for (int i = 0; i < steps; ++i)
        ns += work.amount[i] * rates.ns[i];
    return ns;
}

double far_share(double bytes) {
    return bytes > near_bytes ? std::min(std::log(bytes / near_bytes) / std::log(far_bytes / near_bytes), 1.0) : 0;
}

void build(Work *work, double rows, double table_bytes) {
    add(work, Step::RowBuilt, rows);
    add(work, Step::RowBuiltFar, rows * far_share(table_bytes));
}

void probe(Work *work, double rows, double table_bytes) {
    add(work, Step::RowProbed, rows);
    add(work, Step::RowProbedFar, rows * far_share(table_bytes));
}

void group(Work *work, double rows, double groups, double group_bytes) {
    add(work, Step::RowGrouped, rows);
    add(work, Step::RowGroupedFar, rows * far_share(groups * group_bytes));
    add(work, Step::GroupMade, groups);
}

void sort(Work *work, double rows, double kept, bool texts) {
    // (a heap of those that are wanted, or the whole sort: PostgreSQL's own rule, costsize.c)
    const bool bounded = kept > 0 && kept < rows / 2;
    const double depth = std::log2(std::max(bounded ? 2 * kept : rows, 2.0));
    // (Most rows are compared with the last of those that are kept, and refused.)
    const double compared = bounded ? rows + kept * depth : rows * depth;
    add(work, Step::RowSorted, bounded ? kept + rows / 4 : rows);
    add(work, texts ? Step::TextComparison : Step::Comparison, compared);
}

} // namespace gpuscan::executor
